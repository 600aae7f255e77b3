"""Items: create, read, replace, upsert, delete."""

import asyncio

from support import Wire, collect, fails, ids, write


async def test_created_item_comes_back_with_system_properties(container):
    made = await container.create_item({"id": "1", "pk": "a", "nested": {"list": [1, None, {"deep": True}]}})
    owner = await container.read()
    assert {name: made[name] for name in ("id", "pk", "nested")} == {
        "id": "1",
        "pk": "a",
        "nested": {"list": [1, None, {"deep": True}]},
    }
    assert made["_self"] == f"{owner['_self']}docs/{made['_rid']}/"
    assert len(made["_rid"]) == 24
    assert made["_attachments"] == "attachments/"
    assert isinstance(made["_ts"], int)
    assert await container.read_item("1", "a") == made


async def test_write_response_carries_the_headers_sdks_need(container):
    wire = Wire()
    made = await container.create_item({"id": "1", "pk": "a"}, raw_response_hook=wire)
    owner = await container.read()
    assert wire.status == 201
    assert wire.headers["etag"] == made["_etag"]
    assert float(wire.headers["x-ms-request-charge"]) > 0
    assert "#" in wire.headers["x-ms-session-token"].split(":", 1)[1]
    assert wire.headers["x-ms-session-token"].split(":")[0] == wire.headers["x-ms-documentdb-partitionkeyrangeid"]
    assert wire.headers["x-ms-content-path"] == owner["_rid"]
    assert wire.headers["x-ms-alt-content-path"].endswith(f"/colls/{container.id}")
    assert wire.headers["x-ms-activity-id"]
    assert wire.headers["lsn"].isdigit()


async def test_property_order_and_names_are_kept(container):
    names = ["z", "a", "_private", "$dollar", "with space", "ünï", "", "0", "__proto__"]
    body = {"id": "1", "pk": "a", **{name: position for position, name in enumerate(names)}}
    await container.create_item(body)
    found = await container.read_item("1", "a")
    assert [name for name in found if name in body] == list(body)
    assert all(found[name] == value for name, value in body.items())


async def test_system_properties_of_the_client_are_ignored(container):
    sent = {"id": "1", "pk": "a", "_rid": "mine", "_self": "mine", "_etag": "mine", "_ts": 1, "_attachments": "mine"}
    made = await container.create_item(dict(sent))
    assert all(made[name] != sent[name] for name in ("_rid", "_self", "_etag", "_ts", "_attachments"))


async def test_second_item_of_an_id_is_a_conflict(container):
    await write(container, {"id": "1", "pk": "a", "n": 1})
    with fails(409, "already exists"):
        await container.create_item({"id": "1", "pk": "a", "n": 2})
    assert (await container.read_item("1", "a"))["n"] == 1


async def test_id_is_unique_only_within_a_logical_partition(container):
    await write(container, {"id": "1", "pk": "a", "n": 1}, {"id": "1", "pk": "b", "n": 2})
    assert (await container.read_item("1", "a"))["n"] == 1
    assert (await container.read_item("1", "b"))["n"] == 2


async def test_missing_item_is_not_found(container):
    await write(container, {"id": "1", "pk": "a"})
    with fails(404, "Entity with the specified id does not exist in the system."):
        await container.read_item("2", "a")
    with fails(404):
        await container.read_item("1", "b")
    with fails(404):
        await container.replace_item("2", {"id": "2", "pk": "a"})
    with fails(404):
        await container.delete_item("2", "a")
    with fails(404):
        await container.patch_item("2", "a", [{"op": "set", "path": "/n", "value": 1}])


async def test_replace_swaps_the_whole_item(container):
    [made] = await write(container, {"id": "1", "pk": "a", "old": True})
    replaced = await container.replace_item("1", {"id": "1", "pk": "a", "new": True})
    assert "old" not in replaced and replaced["new"] is True
    assert replaced["_rid"] == made["_rid"]
    assert replaced["_etag"] != made["_etag"]
    assert await container.read_item("1", "a") == replaced


async def test_replace_accepts_the_item_that_was_read(container):
    """Then the SDK addresses the item by its rid instead of its name."""
    await write(container, {"id": "1", "pk": "a", "n": 1})
    item = await container.read_item("1", "a")
    item["n"] = 2
    assert (await container.replace_item(item, item))["n"] == 2
    await container.delete_item(item, "a")
    with fails(404):
        await container.read_item("1", "a")


async def test_replace_may_rename_within_the_logical_partition(container):
    [made, _] = await write(container, {"id": "1", "pk": "a"}, {"id": "taken", "pk": "a"})
    renamed = await container.replace_item("1", {"id": "one", "pk": "a"})
    assert renamed["_rid"] == made["_rid"]
    assert ids(await collect(container.read_all_items())) == ["one", "taken"]
    with fails(409):
        await container.replace_item("one", {"id": "taken", "pk": "a"})


async def test_upsert_creates_then_replaces(container):
    wire = Wire()
    made = await container.upsert_item({"id": "1", "pk": "a", "n": 1}, raw_response_hook=wire)
    assert wire.status == 201
    replaced = await container.upsert_item({"id": "1", "pk": "a", "m": 2}, raw_response_hook=wire)
    assert wire.status == 200
    assert "n" not in replaced
    assert replaced["_rid"] == made["_rid"]
    assert replaced["_etag"] != made["_etag"]


async def test_upsert_with_another_key_makes_a_second_item(container):
    await container.upsert_item({"id": "1", "pk": "a"})
    await container.upsert_item({"id": "1", "pk": "b"})
    assert ids(await collect(container.read_all_items())) == ["1", "1"]


async def test_deleted_item_is_gone_and_its_id_is_free(container):
    [made] = await write(container, {"id": "1", "pk": "a"})
    wire = Wire()
    await container.delete_item("1", "a", raw_response_hook=wire)
    assert wire.status == 204
    with fails(404):
        await container.read_item("1", "a")
    again = await container.create_item({"id": "1", "pk": "a"})
    assert again["_rid"] != made["_rid"]


async def test_sdk_can_make_up_the_id(container):
    made = await container.create_item({"pk": "a"}, enable_automatic_id_generation=True)
    assert (await container.read_item(made["id"], "a")) == made


async def test_item_needs_an_id(container):
    with fails(400, "The input content is invalid because the required properties - 'id; ' - are missing"):
        await container.create_item({"pk": "a"})


async def test_concurrent_creates_of_an_id_give_one_item(container):
    answers = await asyncio.gather(
        *(container.create_item({"id": "1", "pk": "a", "n": n}) for n in range(12)), return_exceptions=True
    )
    winners = [answer for answer in answers if not isinstance(answer, Exception)]
    assert len(winners) == 1
    assert {answer.status_code for answer in answers if isinstance(answer, Exception)} == {409}
    assert (await container.read_item("1", "a"))["n"] == winners[0]["n"]


async def test_concurrent_writers_lose_nothing(container):
    await asyncio.gather(*(container.create_item({"id": str(n), "pk": str(n % 7)}) for n in range(60)))
    assert len(await collect(container.read_all_items())) == 60


async def test_rids_grow_in_insertion_order(container):
    made = await write(container, *({"id": str(n), "pk": "a"} for n in range(5)))
    assert [item["_rid"] for item in made] == [
        item["_rid"] for item in await collect(container.read_all_items())
    ]
    assert len({item["_rid"] for item in made}) == 5
