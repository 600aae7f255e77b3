"""What may change in a container after its creation, and what may not."""

import pytest
from azure.cosmos import PartitionKey

from support import BY_PK, fails, unique, with_header, write


async def test_replace_changes_the_indexing_policy_and_keeps_the_identity(database, container):
    await write(container, {"id": "1", "pk": "a"})
    before = await container.read()
    policy = {
        "indexingMode": "consistent",
        "automatic": True,
        "includedPaths": [{"path": "/*"}],
        "excludedPaths": [{"path": "/big/*"}, {"path": '/"_etag"/?'}],
    }
    await database.replace_container(container.id, BY_PK, indexing_policy=policy)
    after = await container.read()
    assert after["indexingPolicy"] == policy
    assert after["_rid"] == before["_rid"]
    assert after["_etag"] != before["_etag"]
    assert (await container.read_item("1", "a"))["id"] == "1"


async def test_replace_sets_and_drops_the_default_ttl(database, container):
    await database.replace_container(container.id, BY_PK, default_ttl=60)
    assert (await container.read())["defaultTtl"] == 60
    await database.replace_container(container.id, BY_PK)
    assert "defaultTtl" not in await container.read()


async def test_replace_changes_computed_properties(database, container):
    computed = [{"name": "lowerName", "query": "SELECT VALUE LOWER(c.name) FROM c"}]
    await database.replace_container(container.id, BY_PK, computed_properties=computed)
    assert (await container.read())["computedProperties"] == computed
    await database.replace_container(container.id, BY_PK)
    assert not (await container.read()).get("computedProperties")


@pytest.mark.parametrize("definition", [PartitionKey("/other"), PartitionKey(["/pk", "/other"])])
async def test_partition_key_cannot_be_changed(database, container, definition):
    before = await container.read()
    with fails(400):
        await database.replace_container(container.id, definition)
    assert await container.read() == before


async def test_conflict_policy_cannot_be_changed(database, container):
    with fails(400):
        await database.replace_container(
            container.id,
            BY_PK,
            conflict_resolution_policy={"mode": "LastWriterWins", "conflictResolutionPath": "/version"},
        )


async def test_unique_keys_cannot_be_dropped(database, new_container):
    container = await new_container(unique_key_policy={"uniqueKeys": [{"paths": ["/email"]}]})
    # This SDK cannot name unique keys in a replace, so that every replace drops them.
    with fails(403, "The unique index cannot be modified"):
        await database.replace_container(container.id, BY_PK, default_ttl=60)
    assert "defaultTtl" not in await container.read()


async def test_invalid_policy_changes_nothing(database, container):
    before = await container.read()
    with fails(400):
        await database.replace_container(container.id, BY_PK, default_ttl=0)
    with fails(400):
        await database.replace_container(container.id, BY_PK, indexing_policy={"indexingMode": "sometimes"})
    assert await container.read() == before


async def test_replace_honours_if_match(database, container):
    with fails(412, "One of the specified pre-condition is not met"):
        await database.replace_container(container.id, BY_PK, default_ttl=60, **with_header("If-Match", '"another"'))
    etag = (await container.read())["_etag"]
    await database.replace_container(container.id, BY_PK, default_ttl=60, **with_header("If-Match", etag))
    assert (await container.read())["defaultTtl"] == 60


async def test_missing_container_cannot_be_replaced(database):
    with fails(404):
        await database.replace_container(unique("missing"), BY_PK)
