"""Change feed, all versions and deletes."""

import asyncio

import pytest_asyncio

from support import collect, fails, write

MODE = "AllVersionsAndDeletes"


@pytest_asyncio.fixture
async def retained(new_container):
    return await new_container(change_feed_policy={"retentionDuration": 10}, default_ttl=-1)


async def position(container, **scope):
    """The continuation of a feed that starts now."""
    assert await collect(container.query_items_change_feed(mode=MODE, start_time="Now", **scope)) == []
    return container.client_connection.last_response_headers["etag"]


async def versions(container, continuation):
    return await collect(container.query_items_change_feed(mode=MODE, continuation=continuation))


def kinds(entries):
    return [entry["metadata"]["operationType"] for entry in entries]


async def test_every_version_and_the_delete_appear(retained):
    start = await position(retained, partition_key="a")
    await write(retained, {"id": "1", "pk": "a", "n": 1})
    await retained.upsert_item({"id": "1", "pk": "a", "n": 2})
    await retained.patch_item("1", "a", [{"op": "incr", "path": "/n", "value": 1}])
    await retained.delete_item("1", "a")
    await write(retained, {"id": "other", "pk": "b"})

    entries = await versions(retained, start)
    assert kinds(entries) == ["create", "replace", "replace", "delete"]
    assert [entry["current"]["n"] for entry in entries[:3]] == [1, 2, 3]
    assert entries[3]["previous"]["n"] == 3
    assert not entries[3].get("current")
    lsns = [entry["metadata"]["lsn"] for entry in entries]
    assert lsns == sorted(lsns) and len(set(lsns)) == 4
    assert all(entry["metadata"]["crts"] > 0 for entry in entries)
    assert [entry["metadata"]["previousImageLSN"] for entry in entries[1:]] == lsns[:3]
    assert entries[3]["metadata"].get("timeToLiveExpired", False) is False


async def test_feed_of_the_whole_container_covers_all_ranges(retained):
    start = await position(retained)
    await write(retained, *({"id": str(n), "pk": f"key{n}"} for n in range(20)))
    for n in range(20):
        await retained.delete_item(str(n), f"key{n}")
    entries = await versions(retained, start)
    assert sorted(kinds(entries)) == ["create"] * 20 + ["delete"] * 20


async def test_feed_can_be_scoped_to_a_feed_range(retained):
    scope = await retained.feed_range_from_partition_key("a")
    start = await position(retained, feed_range=scope)
    await write(retained, {"id": "1", "pk": "a"}, {"id": "2", "pk": "b"})
    entries = await versions(retained, start)
    assert [entry["current"]["id"] for entry in entries] == ["1"]


async def test_expiry_appears_as_a_delete(retained):
    start = await position(retained)
    await write(retained, {"id": "1", "pk": "a", "ttl": 1})
    entries = []
    for _ in range(40):
        entries = await versions(retained, start)
        if len(entries) == 2:
            break
        await asyncio.sleep(0.25)
    assert kinds(entries) == ["create", "delete"]
    assert entries[1]["metadata"]["timeToLiveExpired"] is True


async def test_container_must_retain_versions(container):
    with fails(400, "All Versions and Deletes", "must be enabled"):
        await collect(container.query_items_change_feed(mode=MODE, start_time="Now"))


async def test_mixed_modes_do_not_disturb_each_other(retained):
    start = await position(retained)
    await write(retained, {"id": "1", "pk": "a", "n": 1})
    await retained.replace_item("1", {"id": "1", "pk": "a", "n": 2})
    latest = await collect(retained.query_items_change_feed(start_time="Beginning"))
    assert [item["n"] for item in latest] == [2]
    assert kinds(await versions(retained, start)) == ["create", "replace"]
