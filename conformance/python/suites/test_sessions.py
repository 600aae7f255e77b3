"""Session tokens and consistency levels."""

import pytest

from driver import connect
from support import Wire, fails, write


def parts(token):
    """Range, version and position of a token that names one range."""
    owner, vector = token.split(":")
    version, position = vector.split("#")[:2]
    return owner, int(version), int(position)


async def written(container, body):
    wire = Wire()
    await container.upsert_item(body, raw_response_hook=wire)
    return wire.headers["x-ms-session-token"]


async def test_token_grows_with_every_write_of_a_range(container):
    first = parts(await written(container, {"id": "1", "pk": "a"}))
    second = parts(await written(container, {"id": "2", "pk": "a"}))
    assert second[:2] == first[:2]
    assert second[2] > first[2]


async def test_batch_is_one_step(container):
    before = parts(await written(container, {"id": "0", "pk": "a"}))
    answers = await container.execute_item_batch(
        [("create", ({"id": str(n), "pk": "a"},)) for n in range(1, 6)], "a"
    )
    after = parts(answers.get_response_headers()["x-ms-session-token"])
    assert after == (before[0], before[1], before[2] + 1)


async def test_reads_with_a_genuine_token_succeed(flavour, database, container):
    token = await written(container, {"id": "1", "pk": "a"})
    async with connect(flavour) as other:
        things = other.get_database_client(database.id).get_container_client(container.id)
        assert (await things.read_item("1", "a", session_token=token))["id"] == "1"


async def test_token_from_the_future_is_not_served(container):
    owner, version, position = parts(await written(container, {"id": "1", "pk": "a"}))
    future = f"{owner}:{version}#{position + 1000}"
    with fails(404, "The read session is not available for the input session token.", sub=1002):
        await container.read_item("1", "a", session_token=future)


async def test_tokens_of_unknown_ranges_are_ignored(container):
    await write(container, {"id": "1", "pk": "a"})
    found = await container.read_item("1", "a", session_token="987654:-1#5")
    assert found["id"] == "1"


async def test_malformed_token_is_refused(container):
    await write(container, {"id": "1", "pk": "a"})
    with fails(400, "is invalid"):
        await container.read_item("1", "a", session_token="nonsense")


async def test_failed_operations_carry_a_token_too(container):
    await write(container, {"id": "1", "pk": "a"})
    with fails(409) as conflict:
        await container.create_item({"id": "1", "pk": "a"})
    assert "#" in conflict.value.headers["x-ms-session-token"]
    with fails(404) as missing:
        await container.read_item("2", "a")
    assert "#" in missing.value.headers["x-ms-session-token"]


async def test_latest_token_of_a_feed_range_can_be_chosen(container):
    tokens = [await written(container, {"id": str(n), "pk": "a"}) for n in range(3)]
    scope = await container.feed_range_from_partition_key("a")
    latest = await container.get_latest_session_token([(scope, token) for token in tokens], scope)
    assert parts(latest) == parts(tokens[-1])


@pytest.mark.parametrize("level", ["Session", "ConsistentPrefix", "Eventual"])
async def test_level_up_to_the_account_default_is_served(flavour, database, container, level):
    await write(container, {"id": "1", "pk": "a"})
    async with connect(flavour, consistency_level=level) as client:
        things = client.get_database_client(database.id).get_container_client(container.id)
        assert (await things.read_item("1", "a"))["id"] == "1"


@pytest.mark.parametrize("level", ["Strong", "BoundedStaleness"])
async def test_level_above_the_account_default_is_refused(flavour, database, container, level):
    await write(container, {"id": "1", "pk": "a"})
    with fails(400):
        async with connect(flavour, consistency_level=level) as client:
            things = client.get_database_client(database.id).get_container_client(container.id)
            await things.read_item("1", "a")
