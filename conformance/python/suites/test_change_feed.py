"""Change feed, latest version: starts, scopes, pages, resumption."""

import asyncio
from datetime import datetime, timezone

import pytest
from azure.cosmos.partition_key import NonePartitionKeyValue, NullPartitionKeyValue

from driver import MIN_PARTITIONS
from support import collect, collect_pages, fails, ids, write


async def changes(container, **options):
    """The changes and the continuation after them."""
    items = await collect(container.query_items_change_feed(**options))
    return items, container.client_connection.last_response_headers["etag"]


def many(count, keys=11):
    return [{"id": f"{n:03}", "pk": f"key{n % keys}"} for n in range(count)]


async def test_feed_from_the_beginning_holds_every_item_once(container):
    made = await write(container, *many(40))
    found, _ = await changes(container, start_time="Beginning")
    assert ids(found) == ids(made)
    assert all(isinstance(item["_lsn"], int) for item in found)
    by_id = {item["id"]: item for item in made}
    assert all(item["_etag"] == by_id[item["id"]]["_etag"] for item in found)


async def test_feed_shows_the_newest_version_and_no_deletes(container):
    await write(container, {"id": "1", "pk": "a", "n": 1}, {"id": "2", "pk": "a"}, {"id": "3", "pk": "a"})
    await container.replace_item("1", {"id": "1", "pk": "a", "n": 2})
    await container.delete_item("2", "a")
    found, _ = await changes(container, start_time="Beginning", partition_key="a")
    assert [item["id"] for item in found] == ["3", "1"]
    assert found[1]["n"] == 2


async def test_feed_from_now_shows_later_changes_only(container):
    await write(container, *many(10))
    found, position = await changes(container, start_time="Now")
    assert found == []
    await write(container, {"id": "new", "pk": "a"})
    await container.upsert_item({"id": "003", "pk": "key3", "changed": True})
    found, position = await changes(container, continuation=position)
    assert ids(found) == ["003", "new"]
    found, _ = await changes(container, continuation=position)
    assert found == []


async def test_feed_starts_now_by_default(container):
    await write(container, *many(3))
    found, _ = await changes(container)
    assert found == []


async def test_feed_from_a_time_shows_later_changes_only(container):
    await write(container, {"id": "before", "pk": "a"}, {"id": "before too", "pk": "b"})
    await asyncio.sleep(2.1)
    [after, *_] = await write(container, {"id": "after", "pk": "a"}, {"id": "after too", "pk": "b"})
    start = datetime.fromtimestamp(after["_ts"] - 1, tz=timezone.utc)
    found, _ = await changes(container, start_time=start)
    assert ids(found) == ["after", "after too"]


async def test_feed_of_a_partition_key_holds_its_items_in_order(container):
    await write(container, *many(30, keys=3))
    found, position = await changes(container, start_time="Beginning", partition_key="key1")
    assert [item["id"] for item in found] == [f"{n:03}" for n in range(1, 30, 3)]
    await write(container, {"id": "x", "pk": "key1"}, {"id": "y", "pk": "key2"})
    found, _ = await changes(container, continuation=position)
    assert ids(found) == ["x"]


async def test_feed_of_the_null_and_of_the_missing_key_differ(container):
    await write(container, {"id": "missing"}, {"id": "null", "pk": None}, {"id": "text", "pk": "a"})
    # As a scope of the feed the SDK takes None for "no scope", so both keys go through their feed ranges.
    for key, expected in [(NullPartitionKeyValue, "null"), (NonePartitionKeyValue, "missing"), ("a", "text")]:
        scope = await container.feed_range_from_partition_key(key)
        assert ids((await changes(container, start_time="Beginning", feed_range=scope))[0]) == [expected]


async def test_feeds_of_the_ranges_tile_the_container(container):
    await write(container, *many(60, keys=60))
    ranges = await collect(container.read_feed_ranges())
    assert len(ranges) >= MIN_PARTITIONS
    parts = [(await changes(container, start_time="Beginning", feed_range=one))[0] for one in ranges]
    assert ids(item for part in parts for item in part) == [f"{n:03}" for n in range(60)]


async def test_feed_of_a_keys_feed_range_holds_its_items(container):
    """The feed range is one point inside a range: the SDK adds the effective-partition-key headers."""
    await write(container, *many(40, keys=8))
    for key in range(8):
        scope = await container.feed_range_from_partition_key(f"key{key}")
        found, position = await changes(container, start_time="Beginning", feed_range=scope)
        assert ids(found) == [f"{n:03}" for n in range(key, 40, 8)]
    await write(container, {"id": "x", "pk": "key7"}, {"id": "y", "pk": "key6"})
    found, _ = await changes(container, continuation=position)
    assert ids(found) == ["x"]


async def test_pages_hold_what_was_asked_for(container):
    await write(container, *many(20, keys=1))
    feed = container.query_items_change_feed(start_time="Beginning", max_item_count=6, partition_key="key0")
    pages = await collect_pages(feed)
    assert [len(page) for page in pages] == [6, 6, 6, 2]


async def test_batch_is_never_divided_over_pages(container):
    await container.execute_item_batch([("create", ({"id": str(n), "pk": "a"},)) for n in range(5)], "a")
    await write(container, {"id": "after", "pk": "a"})
    feed = container.query_items_change_feed(start_time="Beginning", max_item_count=1, partition_key="a")
    pages = await collect_pages(feed)
    assert [ids(page) for page in pages] == [["0", "1", "2", "3", "4"], ["after"]]
    assert len({item["_lsn"] for item in pages[0]}) == 1


async def test_page_token_resumes_the_feed(container):
    await write(container, *many(10, keys=1))
    scope = {"partition_key": "key0"}  # The SDK cannot resume a token some of whose ranges it has not read yet.
    pages = container.query_items_change_feed(start_time="Beginning", max_item_count=4, **scope).by_page()
    first = [item async for item in await pages.__anext__()]
    rest, _ = await changes(container, continuation=pages.continuation_token)
    assert [item["id"] for item in first + rest] == [f"{n:03}" for n in range(10)]


async def test_position_survives_deletes_and_rewrites(container):
    await write(container, *many(6, keys=1))
    _, position = await changes(container, start_time="Beginning")
    await container.delete_item("000", "key0")
    await container.replace_item("001", {"id": "001", "pk": "key0", "n": 1})
    await container.replace_item("001", {"id": "001", "pk": "key0", "n": 2})
    found, _ = await changes(container, continuation=position)
    assert [(item["id"], item["n"]) for item in found] == [("001", 2)]


async def test_feed_of_a_missing_container_is_not_found(database):
    with fails(404):
        await changes(database.get_container_client("missing"), start_time="Beginning")


@pytest.mark.parametrize("start", ["Beginning", "Now"])
async def test_feed_of_an_empty_container_is_empty(container, start):
    found, position = await changes(container, start_time=start)
    assert found == []
    await write(container, {"id": "1", "pk": "a"})
    assert ids((await changes(container, continuation=position))[0]) == ["1"]
