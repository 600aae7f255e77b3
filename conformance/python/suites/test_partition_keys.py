"""Partition keys: values of every type, missing, null, id as key, nested paths, mismatch."""

import pytest
from azure.cosmos import PartitionKey
from azure.cosmos.partition_key import NonePartitionKeyValue, NullPartitionKeyValue

from support import collect, fails, ids, with_header, write

HEADER = "x-ms-documentdb-partitionkey"
VALUES = ["a", "", "1", 1, -1.5, 0, 1e100, True, False, None, "東京", "🚀", "a\nb", 'quote"d', "x" * 2000]


async def test_every_type_of_value_is_a_key_of_its_own(container):
    for value in VALUES:
        await container.create_item({"id": "1", "pk": value, "kind": repr(value)})
    for value in VALUES:
        assert (await container.read_item("1", value))["kind"] == repr(value)
    assert len(await collect(container.read_all_items())) == len(VALUES)


@pytest.mark.parametrize("version", [1, 2])
async def test_both_hash_versions_place_and_find_items(new_container, version):
    container = await new_container(PartitionKey("/pk", version=version))
    for value in ["a", "b", 1, 10.0, True, None, "é" * 120, "x" * 100]:
        await container.create_item({"id": "1", "pk": value, "kind": repr(value)})
        assert (await container.read_item("1", value))["kind"] == repr(value)


async def test_integers_and_floats_of_one_value_are_one_key(container):
    await write(container, {"id": "1", "pk": 1})
    assert (await container.read_item("1", 1.0))["id"] == "1"
    with fails(409):
        await container.create_item({"id": "1", "pk": 1.0})


async def test_missing_and_null_are_different_keys(container):
    await write(container, {"id": "1", "which": "missing"}, {"id": "1", "pk": None, "which": "null"})
    assert (await container.read_item("1", NonePartitionKeyValue))["which"] == "missing"
    assert (await container.read_item("1", NullPartitionKeyValue))["which"] == "null"
    assert (await container.read_item("1", None))["which"] == "null"
    found = await container.read_item("1", NonePartitionKeyValue)
    assert "pk" not in found


async def test_empty_key_is_neither_missing_nor_null(container):
    await write(container, {"id": "1"}, {"id": "1", "pk": None})
    with fails(400, "fewer components than defined", sub=1001):
        await container.read_item("1", "a", **with_header(HEADER, "[]"))


async def test_item_without_key_can_be_replaced_patched_and_deleted(container):
    await write(container, {"id": "1"})
    await container.replace_item("1", {"id": "1", "n": 1})
    patched = await container.patch_item("1", NonePartitionKeyValue, [{"op": "incr", "path": "/n", "value": 1}])
    assert patched["n"] == 2
    await container.delete_item("1", NonePartitionKeyValue)
    assert await collect(container.read_all_items()) == []


@pytest.mark.parametrize("value", [{"an": "object"}, ["an", "array"]])
async def test_objects_and_arrays_are_no_keys(container, value):
    with fails(400):
        await container.create_item({"id": "1", "pk": value}, **with_header(HEADER, '["a"]'))


async def test_key_longer_than_two_kilobytes_is_refused(container):
    with fails(400):
        await container.create_item({"id": "1", "pk": "x" * 2049})


async def test_id_can_be_the_key(new_container):
    container = await new_container(PartitionKey("/id"))
    await write(container, {"id": "1", "n": 1}, {"id": "2", "n": 2})
    assert (await container.read_item("1", "1"))["n"] == 1
    with fails(409):
        await container.create_item({"id": "1"})
    await container.replace_item("1", {"id": "1", "n": 3})
    assert (await container.read_item("1", "1"))["n"] == 3
    await container.delete_item("2", "2")
    assert ids(await collect(container.read_all_items())) == ["1"]


async def test_key_can_be_nested(new_container):
    container = await new_container(PartitionKey("/address/zip"))
    await write(container, {"id": "1", "address": {"zip": "0150"}}, {"id": "1", "address": {}}, {"id": "2"})
    assert (await container.read_item("1", "0150"))["address"] == {"zip": "0150"}
    assert (await container.read_item("1", NonePartitionKeyValue))["address"] == {}
    assert (await container.read_item("2", NonePartitionKeyValue))["id"] == "2"


async def test_key_path_can_be_quoted(new_container):
    container = await new_container(PartitionKey('/"my key"/"a/b"'))
    assert (await container.read())["partitionKey"]["paths"] == ['/"my key"/"a/b"']
    await write(container, {"id": "1", "my key": {"a/b": "x"}})
    assert (await container.read_item("1", "x"))["id"] == "1"


async def test_key_of_header_and_body_must_agree(container):
    mismatch = "doesn't match"
    with fails(400, mismatch, sub=1001):
        await container.create_item({"id": "1", "pk": "a"}, **with_header(HEADER, '["b"]'))
    with fails(400, mismatch, sub=1001):
        await container.upsert_item({"id": "1", "pk": "a"}, **with_header(HEADER, '["b"]'))
    assert await collect(container.read_all_items()) == []


async def test_key_of_an_item_cannot_be_changed(container):
    await write(container, {"id": "1", "pk": "a"})
    with fails(400, sub=1001):
        await container.replace_item("1", {"id": "1", "pk": "b"}, **with_header(HEADER, '["a"]'))
    # With the header that the SDK takes from the new body the item is not found.
    with fails(404):
        await container.replace_item("1", {"id": "1", "pk": "b"})
    assert (await container.read_item("1", "a"))["pk"] == "a"


@pytest.mark.parametrize("header", ["a", '"a"', "[", "{}", '["a"', '[["a"]]', '[{"a":1}]'])
async def test_malformed_key_header_is_refused(container, header):
    with fails(400):
        await container.read_item("1", "a", **with_header(HEADER, header))


async def test_too_many_components_are_refused(container):
    with fails(400):
        await container.read_item("1", ["a", "b"])
