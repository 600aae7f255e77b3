"""Time to live. The clock of the server is the real one, so the waiting tests are few and short."""

import asyncio

import pytest

from support import collect, fails, ids, write


async def test_expired_items_vanish(new_container):
    """Own time, default time, never, renewed by a write, and no time at all where TTL is off: one wait for all.

    Times count from `_ts`, in whole seconds: an item may go up to a second early, never late.
    """
    timed = await new_container(default_ttl=3)
    enabled = await new_container(default_ttl=-1)
    disabled = await new_container()
    await write(
        timed,
        {"id": "default", "pk": "a"},
        {"id": "longer", "pk": "a", "ttl": 3600},
        {"id": "never", "pk": "a", "ttl": -1},
        {"id": "renewed", "pk": "a"},
    )
    await write(enabled, {"id": "own", "pk": "a", "ttl": 1}, {"id": "none", "pk": "a"})
    await write(disabled, {"id": "ignored", "pk": "a", "ttl": 1})
    await asyncio.sleep(1.5)
    await timed.replace_item("renewed", {"id": "renewed", "pk": "a"})
    await asyncio.sleep(1.6)

    assert ids(await collect(timed.read_all_items())) == ["longer", "never", "renewed"]
    assert ids(await collect(enabled.read_all_items())) == ["none"]
    assert ids(await collect(disabled.read_all_items())) == ["ignored"]
    with fails(404):
        await timed.read_item("default", "a")
    with fails(404):
        await timed.replace_item("default", {"id": "default", "pk": "a"})
    with fails(404):
        await enabled.delete_item("own", "a")
    changes = await collect(timed.query_items_change_feed(start_time="Beginning"))
    assert ids(changes) == ["longer", "never", "renewed"]
    # The id of an expired item is free at once.
    await write(timed, {"id": "default", "pk": "a", "again": True})
    assert (await timed.read_item("default", "a"))["again"] is True


@pytest.mark.parametrize("ttl", [0, -2, 1.5, "10", True, 2**31])
async def test_invalid_ttl_of_an_item_is_refused(new_container, ttl):
    container = await new_container(default_ttl=-1)
    with fails(400):
        await container.create_item({"id": "1", "pk": "a", "ttl": ttl})
    with fails(400):
        await container.upsert_item({"id": "1", "pk": "a", "ttl": ttl})
    assert await collect(container.read_all_items()) == []


async def test_switching_ttl_on_counts_from_the_last_write(database, container):
    await write(container, {"id": "1", "pk": "a"}, {"id": "2", "pk": "a", "ttl": -1})
    await asyncio.sleep(2.1)
    await database.replace_container(container.id, (await container.read())["partitionKey"], default_ttl=1)
    with fails(404):
        await container.read_item("1", "a")
    assert (await container.read_item("2", "a"))["ttl"] == -1
