"""Deleting a whole logical partition at once."""

from azure.cosmos.partition_key import NonePartitionKeyValue

from support import collect, fails, ids, with_header, write


async def test_items_of_the_key_vanish_and_no_others(container):
    await write(container, *({"id": str(n), "pk": "a"} for n in range(20)), {"id": "x", "pk": "b"})
    await container.delete_all_items_by_partition_key("a")
    assert ids(await collect(container.read_all_items())) == ["x"]
    with fails(404):
        await container.read_item("1", "a")


async def test_later_items_of_the_key_stay(container):
    await write(container, {"id": "1", "pk": "a"})
    await container.delete_all_items_by_partition_key("a")
    await write(container, {"id": "1", "pk": "a", "again": True})
    assert (await container.read_item("1", "a"))["again"] is True


async def test_empty_partition_can_be_deleted(container):
    await container.delete_all_items_by_partition_key("nothing here")


async def test_missing_and_null_keys_can_be_deleted(container):
    await write(container, {"id": "1"}, {"id": "2", "pk": None})
    await container.delete_all_items_by_partition_key(NonePartitionKeyValue)
    assert ids(await collect(container.read_all_items())) == ["2"]
    await container.delete_all_items_by_partition_key(None)
    assert await collect(container.read_all_items()) == []


async def test_delete_needs_a_whole_key(container):
    await write(container, {"id": "1", "pk": "a"})
    with fails(400):
        await container.delete_all_items_by_partition_key(
            "a", **with_header("x-ms-documentdb-partitionkey", "[]")
        )
    assert ids(await collect(container.read_all_items())) == ["1"]
