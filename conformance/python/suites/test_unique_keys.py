"""Unique keys."""

import pytest
import pytest_asyncio
from azure.cosmos.exceptions import CosmosBatchOperationError

from support import collect, fails, ids, write


@pytest_asyncio.fixture
async def people(new_container):
    return await new_container(
        unique_key_policy={"uniqueKeys": [{"paths": ["/email"]}, {"paths": ["/name/first", "/name/last"]}]}
    )


def person(name, email, first, last, pk="a"):
    return {"id": name, "pk": pk, "email": email, "name": {"first": first, "last": last}}


async def test_second_item_with_the_values_is_a_conflict(people):
    await write(people, person("1", "x@y", "Ann", "Lee"))
    with fails(409):
        await people.create_item(person("2", "x@y", "Bob", "Ray"))
    with fails(409):
        await people.create_item(person("2", "z@y", "Ann", "Lee"))
    await people.create_item(person("2", "z@y", "Ann", "Ray"))
    assert ids(await collect(people.read_all_items())) == ["1", "2"]


async def test_scope_is_the_logical_partition(people):
    await write(people, person("1", "x@y", "Ann", "Lee"), person("2", "x@y", "Ann", "Lee", pk="b"))
    assert len(await collect(people.read_all_items())) == 2


async def test_replace_upsert_and_patch_are_checked(people):
    await write(people, person("1", "x@y", "Ann", "Lee"), person("2", "z@y", "Bob", "Ray"))
    with fails(409):
        await people.replace_item("2", person("2", "x@y", "Bob", "Ray"))
    with fails(409):
        await people.upsert_item(person("3", "x@y", "Cid", "Fox"))
    with fails(409):
        await people.patch_item("2", "a", [{"op": "set", "path": "/email", "value": "x@y"}])
    await people.replace_item("2", {**person("2", "z@y", "Bob", "Ray"), "same": True})
    assert (await people.read_item("2", "a"))["email"] == "z@y"


async def test_values_are_free_after_a_change_or_delete(people):
    await write(people, person("1", "x@y", "Ann", "Lee"))
    await people.replace_item("1", person("1", "new@y", "Ann", "Lee"))
    await write(people, person("2", "x@y", "Bob", "Ray"))
    await people.delete_item("2", "a")
    await write(people, person("3", "x@y", "Bob", "Ray"))
    assert ids(await collect(people.read_all_items())) == ["1", "3"]


async def test_missing_values_count_as_one_value(people):
    await write(people, {"id": "1", "pk": "a"})
    with fails(409):
        await people.create_item({"id": "2", "pk": "a"})
    with fails(409):
        await people.create_item({"id": "2", "pk": "a", "email": None})
    await write(people, {"id": "2", "pk": "b"})


async def test_batch_is_checked_as_a_whole(people):
    await write(people, person("1", "x@y", "Ann", "Lee"))
    with pytest.raises(CosmosBatchOperationError) as caught:
        await people.execute_item_batch(
            [
                ("create", (person("2", "z@y", "Bob", "Ray"),)),
                ("create", (person("3", "z@y", "Cid", "Fox"),)),
            ],
            "a",
        )
    assert [answer["statusCode"] for answer in caught.value.operation_responses] == [424, 409]
    # Within a batch a value may move from one item to another.
    await people.execute_item_batch(
        [("delete", ("1",)), ("create", (person("2", "x@y", "Ann", "Lee"),))], "a"
    )
    assert ids(await collect(people.read_all_items())) == ["2"]
