"""Master keys: right, wrong, missing, read-only."""

import base64

import pytest

from driver import READ_ONLY_KEY, account_of, connect
from support import BY_PK, collect, fails, ids, unique, write

WRONG_KEY = base64.b64encode(b"not the key of this account, but of the right length for one....").decode()

needs_read_only_key = pytest.mark.skipif(not READ_ONLY_KEY, reason="ORRERY_READ_ONLY_KEY is not set")


async def test_wrong_key_is_refused(flavour):
    with fails(401, "The wrong key is being used"):
        async with connect(flavour, WRONG_KEY) as client:
            await account_of(client)


async def test_missing_authorization_is_refused(flavour):
    # The client asks for the account when it is made.
    with fails(401, "Required Header authorization is missing"):
        async with connect(flavour, {}) as client:
            await collect(client.list_databases())


async def test_wrong_key_changes_nothing(flavour, client):
    name = unique("refused")
    with fails(401):
        async with connect(flavour, WRONG_KEY) as stranger:
            await stranger.create_database(name)
    assert name not in ids(await collect(client.list_databases()))


@needs_read_only_key
async def test_read_only_key_reads(flavour, database, container):
    await write(container, {"id": "1", "pk": "a"})
    async with connect(flavour, READ_ONLY_KEY) as reader:
        seen = reader.get_database_client(database.id).get_container_client(container.id)
        assert (await seen.read())["id"] == container.id
        assert (await seen.read_item("1", "a"))["id"] == "1"
        assert ids(await collect(seen.read_all_items())) == ["1"]
        assert ids(await collect(seen.query_items_change_feed(start_time="Beginning"))) == ["1"]
        assert len(await collect(seen.read_feed_ranges())) >= 1


@needs_read_only_key
async def test_read_only_key_does_not_write(flavour, database, container):
    await write(container, {"id": "1", "pk": "a"})
    async with connect(flavour, READ_ONLY_KEY) as reader:
        seen_database = reader.get_database_client(database.id)
        seen = seen_database.get_container_client(container.id)
        with fails(403):
            await reader.create_database(unique("refused"))
        with fails(403):
            await seen_database.create_container(unique("refused"), BY_PK)
        with fails(403):
            await seen.create_item({"id": "2", "pk": "a"})
        with fails(403):
            await seen.upsert_item({"id": "1", "pk": "a", "changed": True})
        with fails(403):
            await seen.replace_item("1", {"id": "1", "pk": "a", "changed": True})
        with fails(403):
            await seen.patch_item("1", "a", [{"op": "set", "path": "/changed", "value": True}])
        with fails(403):
            await seen.execute_item_batch([("create", ({"id": "3", "pk": "a"},))], "a")
        with fails(403):
            await seen.delete_item("1", "a")
        with fails(403):
            await seen.delete_all_items_by_partition_key("a")
        with fails(403):
            await seen_database.delete_container(container.id)
    assert "changed" not in await container.read_item("1", "a")
    assert ids(await collect(container.read_all_items())) == ["1"]
