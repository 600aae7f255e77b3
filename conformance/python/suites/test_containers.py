"""Containers: create, read, list, delete, recreate, ranges."""

import asyncio

from azure.cosmos import PartitionKey

from driver import MIN_PARTITIONS, connect
from support import BY_PK, collect, collect_pages, fails, ids, unique


async def test_created_container_is_completed_with_the_defaults(new_container):
    container = await new_container()
    found = await container.read()
    assert found["id"] == container.id
    assert found["partitionKey"] == {"paths": ["/pk"], "kind": "Hash", "version": 2}
    assert found["indexingPolicy"] == {
        "indexingMode": "consistent",
        "automatic": True,
        "includedPaths": [{"path": "/*"}],
        "excludedPaths": [{"path": '/"_etag"/?'}],
    }
    assert found["conflictResolutionPolicy"] == {
        "mode": "LastWriterWins",
        "conflictResolutionPath": "/_ts",
        "conflictResolutionProcedure": "",
    }
    assert found["geospatialConfig"] == {"type": "Geography"}
    for absent in ("defaultTtl", "computedProperties", "vectorEmbeddingPolicy", "fullTextPolicy", "changeFeedPolicy"):
        assert absent not in found


async def test_created_container_has_the_system_properties(database, new_container):
    container = await new_container()
    found = await container.read()
    owner = await database.read()
    assert len(found["_rid"]) == 12
    assert found["_self"] == f"dbs/{owner['_rid']}/colls/{found['_rid']}/"
    assert found["_docs"] == "docs/"
    assert found["_sprocs"] == "sprocs/"
    assert found["_triggers"] == "triggers/"
    assert found["_udfs"] == "udfs/"
    assert found["_conflicts"] == "conflicts/"
    assert isinstance(found["_ts"], int)
    assert found.get_response_headers()["etag"] == found["_etag"]


async def test_second_container_of_a_name_is_a_conflict(database, container):
    with fails(409, "already exists"):
        await database.create_container(container.id, BY_PK)


async def test_missing_container_is_not_found(database):
    name = unique("missing")
    with fails(404, "Resource Not Found"):
        await database.get_container_client(name).read()
    with fails(404):
        await database.delete_container(name)
    with fails(404):
        await database.get_container_client(name).read_item("1", "a")


async def test_container_needs_its_database(client):
    with fails(404):
        await client.get_database_client(unique("missing")).create_container("things", BY_PK)


async def test_container_needs_a_partition_key(database):
    with fails(400):
        await database.create_container(unique("container"), None)


async def test_longest_container_name_is_255_characters(database):
    with fails(400, "Ensure to provide a unique non-empty string less than '255' characters."):
        await database.create_container("x" * 256, BY_PK)


async def test_containers_are_listed_in_pages(new_database):
    database = await new_database()
    made = [(await database.create_container(f"container{n}", BY_PK)).id for n in range(3)]
    pages = await collect_pages(database.list_containers(max_item_count=2))
    assert all(len(page) <= 2 for page in pages)
    assert sorted(container["id"] for page in pages for container in page) == made


async def test_deleted_container_is_gone(database, new_container):
    container = await new_container()
    await database.delete_container(container.id)
    with fails(404):
        await container.read()
    assert container.id not in ids(await collect(database.list_containers()))


async def test_create_if_not_exists_keeps_what_exists(database, new_container):
    container = await new_container()
    again = await database.create_container_if_not_exists(container.id, PartitionKey("/other"))
    assert (await again.read())["partitionKey"]["paths"] == ["/pk"]


async def test_concurrent_create_if_not_exists_creates_one_container(database):
    name = unique("container")
    answers = await asyncio.gather(
        *(database.create_container_if_not_exists(name, BY_PK) for _ in range(8)), return_exceptions=True
    )
    failures = [answer for answer in answers if isinstance(answer, Exception)]
    assert len(failures) < len(answers)
    assert {failure.status_code for failure in failures} <= {409}
    assert ids(await collect(database.list_containers())).count(name) == 1
    await database.delete_container(name)


async def test_client_notices_that_a_container_was_recreated(flavour, database, new_container):
    """The SDK sends the rid it knows; the server answers 400/1024, and the SDK refreshes and repeats."""
    container = await new_container()
    await container.create_item({"id": "1", "pk": "a"})
    before = await container.read()
    async with connect(flavour) as other:
        elsewhere = other.get_database_client(database.id)
        await elsewhere.delete_container(container.id)
        await elsewhere.create_container(container.id, PartitionKey("/pk"))

    await container.create_item({"id": "2", "pk": "a"})
    assert (await container.read_item("2", "a"))["id"] == "2"
    with fails(404):
        await container.read_item("1", "a")
    assert (await container.read())["_rid"] != before["_rid"]


async def test_quota_and_usage_are_reported_on_request(container):
    await container.create_item({"id": "1", "pk": "a"})
    headers = (await container.read(populate_quota_info=True)).get_response_headers()
    assert "documentsCount=1" in headers["x-ms-resource-usage"]
    assert "collectionSize=" in headers["x-ms-resource-quota"]
    assert headers["x-ms-documentdb-collection-index-transformation-progress"] == "100"


async def test_partition_statistics_are_reported_on_request(container):
    await container.create_item({"id": "1", "pk": "a"})
    found = await container.read(populate_partition_key_range_statistics=True)
    assert sum(entry["documentCount"] for entry in found["statistics"]) == 1


async def test_fresh_container_has_the_configured_number_of_ranges(container):
    assert len(await collect(container.read_feed_ranges())) >= MIN_PARTITIONS


async def test_throughput_decides_the_number_of_ranges(new_container):
    container = await new_container(offer_throughput=18000)
    assert len(await collect(container.read_feed_ranges())) >= 3


async def test_feed_range_of_a_partition_key_lies_in_exactly_one_range(container):
    ranges = await collect(container.read_feed_ranges(force_refresh=True))
    for value in ["a", "b", 1, 1.5, True, None, "東京"]:
        one = await container.feed_range_from_partition_key(value)
        inside = [await container.is_feed_range_subset(whole, one) for whole in ranges]
        assert inside.count(True) == 1


async def test_conflicts_feed_is_empty(container):
    assert await collect(container.list_conflicts()) == []
    with fails(404):
        await container.get_conflict("missing", "a")
    with fails(404):
        await container.delete_conflict("missing", "a")
