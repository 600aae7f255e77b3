"""Users and their permissions as resources."""

import pytest_asyncio

from support import collect, fails, ids, unique


@pytest_asyncio.fixture
async def owner(new_database):
    return await new_database()


def permission(name, resource, mode="Read", **more):
    return {"id": name, "permissionMode": mode, "resource": resource, **more}


async def test_user_is_created_read_listed_and_deleted(owner):
    user = await owner.create_user({"id": "ann"})
    found = await user.read()
    database = await owner.read()
    assert found["id"] == "ann"
    assert found["_self"] == f"dbs/{database['_rid']}/users/{found['_rid']}/"
    assert found["_permissions"] == "permissions/"
    assert found["_etag"] and isinstance(found["_ts"], int)

    await owner.create_user({"id": "bob"})
    assert ids(await collect(owner.list_users())) == ["ann", "bob"]
    await owner.delete_user("ann")
    assert ids(await collect(owner.list_users())) == ["bob"]
    with fails(404):
        await user.read()


async def test_second_user_of_a_name_is_a_conflict(owner):
    await owner.create_user({"id": "ann"})
    with fails(409):
        await owner.create_user({"id": "ann"})


async def test_missing_user_is_not_found(owner):
    with fails(404):
        await owner.get_user_client("nobody").read()
    with fails(404):
        await owner.delete_user("nobody")


async def test_upsert_creates_then_replaces_a_user(owner):
    await owner.upsert_user({"id": "ann"})
    before = await owner.get_user_client("ann").read()
    await owner.upsert_user({"id": "ann"})
    after = await owner.get_user_client("ann").read()
    assert after["_rid"] == before["_rid"]
    assert ids(await collect(owner.list_users())) == ["ann"]


async def test_replace_renames_a_user(owner):
    user = await owner.create_user({"id": "ann"})
    before = await user.read()
    renamed = await owner.replace_user("ann", {"id": "anna"})
    assert (await renamed.read())["_rid"] == before["_rid"]
    assert ids(await collect(owner.list_users())) == ["anna"]
    await owner.create_user({"id": "bob"})
    with fails(409):
        await owner.replace_user("bob", {"id": "anna"})


async def test_permission_is_created_read_listed_and_deleted(owner):
    user = await owner.create_user({"id": "ann"})
    made = await user.create_permission(permission("p1", f"dbs/{owner.id}/colls/things"))
    assert made.properties["_token"].startswith("type=resource&ver=1")
    found = await user.get_permission("p1")
    assert found.permission_mode == "Read"
    assert found.resource_link == f"dbs/{owner.id}/colls/things"
    assert "/permissions/" in found.properties["_self"]
    assert found.properties["_etag"]

    await user.create_permission(permission("p2", f"dbs/{owner.id}/colls/others", "All"))
    assert ids(await collect(user.list_permissions())) == ["p1", "p2"]
    await user.delete_permission("p1")
    assert ids(await collect(user.list_permissions())) == ["p2"]
    with fails(404):
        await user.get_permission("p1")


async def test_second_permission_of_a_name_or_on_a_resource_is_a_conflict(owner):
    user = await owner.create_user({"id": "ann"})
    await user.create_permission(permission("p1", f"dbs/{owner.id}/colls/things"))
    with fails(409):
        await user.create_permission(permission("p1", f"dbs/{owner.id}/colls/others"))
    with fails(409):
        await user.create_permission(permission("p2", f"dbs/{owner.id}/colls/things"))


async def test_permissions_on_two_keys_of_a_container_live_together(owner):
    user = await owner.create_user({"id": "ann"})
    link = f"dbs/{owner.id}/colls/things"
    await user.create_permission(permission("p1", link, resourcePartitionKey=["a"]))
    await user.create_permission(permission("p2", link, resourcePartitionKey=["b"]))
    found = await user.get_permission("p2")
    assert found.properties["resourcePartitionKey"] == ["b"]
    with fails(409):
        await user.create_permission(permission("p3", link, resourcePartitionKey=["a"]))


async def test_upsert_and_replace_change_a_permission(owner):
    user = await owner.create_user({"id": "ann"})
    link = f"dbs/{owner.id}/colls/things"
    await user.upsert_permission(permission("p1", link))
    await user.upsert_permission(permission("p1", link, "All"))
    assert (await user.get_permission("p1")).permission_mode == "All"
    replaced = await user.replace_permission("p1", permission("p9", link))
    assert (replaced.id, replaced.permission_mode) == ("p9", "Read")
    assert ids(await collect(user.list_permissions())) == ["p9"]


async def test_invalid_permissions_are_refused(owner):
    user = await owner.create_user({"id": "ann"})
    with fails(400):
        await user.create_permission(permission("p1", f"dbs/{owner.id}/colls/things", "Write"))
    with fails(400):
        await user.create_permission({"id": "p1", "permissionMode": "Read"})
    with fails(400):
        await user.create_permission(
            permission("p1", f"dbs/{owner.id}/colls/things"), resource_token_expiry_seconds=86401
        )
    assert await collect(user.list_permissions()) == []


async def test_permissions_need_their_user(owner):
    nobody = owner.get_user_client(unique("nobody"))
    with fails(404):
        await nobody.create_permission(permission("p1", f"dbs/{owner.id}/colls/things"))
