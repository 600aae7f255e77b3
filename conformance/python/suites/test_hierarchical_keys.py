"""Hierarchical partition keys."""

import pytest_asyncio
from azure.cosmos import PartitionKey

from support import collect, fails, ids, write


@pytest_asyncio.fixture
async def sessions(new_container):
    return await new_container(PartitionKey(["/tenant", "/user", "/session"]))


def item(name, *key):
    return {"id": name, **dict(zip(("tenant", "user", "session"), key))}


async def test_full_key_addresses_an_item(sessions):
    await write(sessions, item("1", "t", "u", "s"), item("1", "t", "u", "other"))
    assert (await sessions.read_item("1", ["t", "u", "s"]))["session"] == "s"
    await sessions.upsert_item({**item("1", "t", "u", "s"), "n": 1})
    await sessions.replace_item("1", {**item("1", "t", "u", "s"), "n": 2})
    patched = await sessions.patch_item("1", ["t", "u", "s"], [{"op": "incr", "path": "/n", "value": 1}])
    assert patched["n"] == 3
    await sessions.delete_item("1", ["t", "u", "s"])
    with fails(404):
        await sessions.read_item("1", ["t", "u", "s"])
    assert (await sessions.read_item("1", ["t", "u", "other"]))["id"] == "1"


async def test_components_of_every_type_are_different_keys(sessions):
    keys = [("t", 1, True), ("t", 1, False), ("t", "1", True), ("t", None, True), ("t", 1.5, "")]
    for number, key in enumerate(keys):
        await sessions.create_item({**item("1", *key), "number": number})
    for number, key in enumerate(keys):
        assert (await sessions.read_item("1", list(key)))["number"] == number


async def test_part_of_a_key_is_not_enough_for_an_item(sessions):
    await write(sessions, item("1", "t", "u", "s"))
    with fails(400, sub=1001):
        await sessions.read_item("1", ["t", "u"])
    with fails(400, sub=1001):
        await sessions.delete_item("1", ["t"])


async def test_prefix_scopes_the_change_feed(sessions):
    await write(
        sessions,
        item("1", "t1", "u1", "s"),
        item("2", "t1", "u2", "s"),
        item("3", "t1", "u2", "s2"),
        item("4", "t2", "u1", "s"),
    )

    async def changes(key):
        return ids(await collect(sessions.query_items_change_feed(start_time="Beginning", partition_key=key)))

    assert await changes(["t1"]) == ["1", "2", "3"]
    assert await changes(["t1", "u2"]) == ["2", "3"]
    assert await changes(["t1", "u2", "s2"]) == ["3"]
    assert await changes(["t3"]) == []


async def test_logical_partition_of_a_full_key_can_be_deleted(sessions):
    await write(sessions, item("1", "t", "u", "s"), item("2", "t", "u", "s"), item("3", "t", "u", "s2"))
    await sessions.delete_all_items_by_partition_key(["t", "u", "s"])
    assert ids(await collect(sessions.read_all_items())) == ["3"]
