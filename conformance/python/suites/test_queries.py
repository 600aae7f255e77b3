"""The queries that the SDK itself depends on, and the plainest ones of an application."""

import pytest
import pytest_asyncio
from azure.cosmos import PartitionKey

from support import collect, collect_pages, fails, ids, write


@pytest.fixture
def across(flavour):
    """The option for a query without a partition key: the asynchronous client has it on at all times."""
    return {} if flavour == "async" else {"enable_cross_partition_query": True}


@pytest_asyncio.fixture
async def things(container):
    await write(container, *({"id": f"{n:03}", "pk": f"key{n % 10}", "n": n} for n in range(50)))
    return container


async def test_every_item_is_found_across_partitions(things, across):
    found = await collect(things.query_items("SELECT * FROM c", **across))
    assert ids(found) == [f"{n:03}" for n in range(50)]


async def test_filter_and_parameters_apply(things, across):
    query = "SELECT VALUE c.id FROM c WHERE c.n >= @low AND c.n < @high"
    parameters = [{"name": "@low", "value": 10}, {"name": "@high", "value": 13}]
    found = await collect(things.query_items(query, parameters=parameters, **across))
    assert sorted(found) == ["010", "011", "012"]


async def test_partition_key_scopes_a_query(things):
    found = await collect(things.query_items("SELECT * FROM c", partition_key="key3"))
    assert ids(found) == ["003", "013", "023", "033", "043"]


async def test_pages_resume_from_their_token(things):
    query = {"query": "SELECT * FROM c", "partition_key": "key3", "max_item_count": 2}
    pages = things.query_items(**query).by_page()
    first = [item async for item in await pages.__anext__()]
    assert len(first) == 2
    rest = await collect_pages(things.query_items(**query), pages.continuation_token)
    assert ids(first + [item for page in rest for item in page]) == ["003", "013", "023", "033", "043"]


@pytest.mark.parametrize(
    "query, expected",
    [
        ("SELECT VALUE COUNT(1) FROM c", [50]),
        ("SELECT VALUE SUM(c.n) FROM c", [1225]),
        ("SELECT VALUE MAX(c.n) FROM c", [49]),
        ("SELECT VALUE AVG(c.n) FROM c", [24.5]),
    ],
)
async def test_aggregates_go_through_the_plan(things, across, query, expected):
    assert await collect(things.query_items(query, **across)) == expected


async def test_order_by_goes_through_the_plan(things, across):
    query = "SELECT c.id FROM c ORDER BY c.n DESC OFFSET 1 LIMIT 3"
    found = await collect(things.query_items(query, **across))
    assert [item["id"] for item in found] == ["048", "047", "046"]


async def test_feed_ranges_divide_a_query(things):
    ranges = await collect(things.read_feed_ranges())
    parts = [await collect(things.query_items("SELECT * FROM c", feed_range=one)) for one in ranges]
    assert ids(item for part in parts for item in part) == [f"{n:03}" for n in range(50)]


async def test_many_items_are_read_by_their_identities(things):
    wanted = [(f"{n:03}", f"key{n % 10}") for n in range(0, 50, 3)]
    assert ids(await things.read_items(wanted)) == [name for name, _ in wanted]
    one = await things.read_items([("003", "key3")])
    assert ids(one) == ["003"]
    assert ids(await things.read_items([("003", "key3"), ("missing", "key3"), ("013", "key3")])) == ["003", "013"]


async def test_many_items_are_read_where_id_is_the_key(new_container):
    container = await new_container(PartitionKey("/id"))
    await write(container, *({"id": str(n)} for n in range(10)))
    assert ids(await container.read_items([(str(n), str(n)) for n in range(5)])) == ["0", "1", "2", "3", "4"]


async def test_prefix_of_a_hierarchical_key_scopes_a_query(new_container):
    container = await new_container(PartitionKey(["/tenant", "/user"]))
    await write(
        container,
        {"id": "1", "tenant": "t1", "user": "a"},
        {"id": "2", "tenant": "t1", "user": "b"},
        {"id": "3", "tenant": "t2", "user": "a"},
    )
    assert ids(await collect(container.query_items("SELECT * FROM c", partition_key=["t1"]))) == ["1", "2"]
    assert ids(await collect(container.query_items("SELECT * FROM c", partition_key=["t1", "b"]))) == ["2"]
    found = await container.read_items([("1", ["t1", "a"]), ("3", ["t2", "a"])])
    assert ids(found) == ["1", "3"]


async def test_metadata_can_be_queried(client, new_database, across):
    database = await new_database()
    await database.create_container("things", PartitionKey("/pk"))
    await database.create_container("others", PartitionKey("/pk"))
    user = await database.create_user({"id": "ann"})
    await user.create_permission(
        {"id": "p1", "permissionMode": "Read", "resource": f"dbs/{database.id}/colls/things"}
    )
    by_id = "SELECT * FROM root r WHERE r.id=@id"

    def named(name):
        return {"query": by_id, "parameters": [{"name": "@id", "value": name}]}

    assert ids(await collect(client.query_databases(**named(database.id)))) == [database.id]
    assert ids(await collect(database.query_containers(**named("things")))) == ["things"]
    assert ids(await collect(database.query_users(**named("ann")))) == ["ann"]
    assert ids(await collect(user.query_permissions(**named("p1")))) == ["p1"]
    things = database.get_container_client("things")
    assert await collect(things.query_conflicts("SELECT * FROM root r", **across)) == []


async def test_syntax_error_is_reported(things, across):
    with fails(400, "SC1001"):
        await collect(things.query_items("SELECT * FROMM c", **across))


async def test_numbers_keep_their_text_in_results(container):
    await write(container, {"id": "1", "pk": "a", "n": 9007199254740993, "f": 1.5})
    [found] = await collect(container.query_items("SELECT * FROM c", partition_key="a"))
    assert (found["n"], found["f"]) == (9007199254740993, 1.5)
