"""Policies of a container: validated, completed, kept, returned."""

import pytest
from azure.cosmos import PartitionKey

from support import BY_PK, fails, unique

ETAG_PATH = {"path": '/"_etag"/?'}


async def test_partial_indexing_policy_is_completed(new_container):
    container = await new_container(indexing_policy={"excludedPaths": [{"path": "/secret/?"}]})
    policy = (await container.read())["indexingPolicy"]
    assert policy["indexingMode"] == "consistent"
    assert policy["automatic"] is True
    assert policy["includedPaths"] == [{"path": "/*"}]
    assert policy["excludedPaths"] == [{"path": "/secret/?"}, ETAG_PATH]


async def test_indexing_mode_is_normalised_to_lower_case(new_container):
    container = await new_container(indexing_policy={"indexingMode": "Consistent", "automatic": True})
    assert (await container.read())["indexingPolicy"]["indexingMode"] == "consistent"


async def test_indexing_can_be_switched_off(new_container):
    container = await new_container(indexing_policy={"indexingMode": "none", "automatic": False})
    policy = (await container.read())["indexingPolicy"]
    assert policy["indexingMode"] == "none"
    assert policy["automatic"] is False
    assert policy.get("includedPaths", []) == []
    assert policy.get("excludedPaths", []) == []


async def test_composite_and_spatial_indexes_are_kept(new_container):
    composite = [
        [{"path": "/name", "order": "ascending"}, {"path": "/age", "order": "descending"}],
        [{"path": "/a/b", "order": "descending"}, {"path": "/c", "order": "ascending"}],
    ]
    spatial = [{"path": "/place/*", "types": ["Point", "LineString", "Polygon", "MultiPolygon"]}]
    container = await new_container(
        indexing_policy={
            "includedPaths": [{"path": "/*"}],
            "compositeIndexes": composite,
            "spatialIndexes": spatial,
        }
    )
    policy = (await container.read())["indexingPolicy"]
    assert policy["compositeIndexes"] == composite
    assert policy["spatialIndexes"] == spatial


async def test_order_of_a_composite_path_defaults_to_ascending(new_container):
    container = await new_container(
        indexing_policy={"compositeIndexes": [[{"path": "/a"}, {"path": "/b", "order": "descending"}]]}
    )
    assert (await container.read())["indexingPolicy"]["compositeIndexes"] == [
        [{"path": "/a", "order": "ascending"}, {"path": "/b", "order": "descending"}]
    ]


async def test_legacy_index_kinds_are_dropped(new_container):
    container = await new_container(
        indexing_policy={
            "includedPaths": [
                {"path": "/*", "indexes": [{"kind": "Range", "dataType": "String", "precision": -1}]},
            ]
        }
    )
    included = (await container.read())["indexingPolicy"]["includedPaths"]
    assert [path["path"] for path in included] == ["/*"]
    assert not included[0].get("indexes")


@pytest.mark.parametrize(
    "policy, text",
    [
        ({"includedPaths": [{"path": "/a/?"}]}, "The special mandatory indexing path"),
        ({"includedPaths": [{"path": "/*"}, {"path": "/a"}]}, ""),
        ({"indexingMode": "none", "automatic": True}, ""),
        ({"indexingMode": "sometimes"}, ""),
        ({"compositeIndexes": [[{"path": "/a"}]]}, ""),
        ({"spatialIndexes": [{"path": "/place/*", "types": []}]}, "The spatial data types array cannot be empty"),
    ],
)
async def test_invalid_indexing_policy_is_refused(database, policy, text):
    with fails(400, text):
        await database.create_container(unique("refused"), BY_PK, indexing_policy=policy)


async def test_unique_keys_are_kept(new_container):
    policy = {"uniqueKeys": [{"paths": ["/email"]}, {"paths": ["/name", "/address/zip"]}]}
    container = await new_container(unique_key_policy=policy)
    assert (await container.read())["uniqueKeyPolicy"] == policy


@pytest.mark.parametrize(
    "policy",
    [
        {"uniqueKeys": [{"paths": [f"/p{n}"]} for n in range(11)]},
        {"uniqueKeys": [{"paths": [f"/p{n}" for n in range(17)]}]},
        {"uniqueKeys": [{"paths": ["no-slash"]}]},
    ],
)
async def test_invalid_unique_keys_are_refused(database, policy):
    with fails(400):
        await database.create_container(unique("refused"), BY_PK, unique_key_policy=policy)


@pytest.mark.parametrize("ttl", [-1, 1, 2147483647])
async def test_default_ttl_is_kept(new_container, ttl):
    assert (await (await new_container(default_ttl=ttl)).read())["defaultTtl"] == ttl


@pytest.mark.parametrize("ttl", [0, -2, 1.5, "10"])
async def test_invalid_default_ttl_is_refused(database, ttl):
    with fails(400):
        await database.create_container(unique("refused"), BY_PK, default_ttl=ttl)


async def test_analytical_ttl_is_kept(new_container):
    container = await new_container(analytical_storage_ttl=-1)
    assert (await container.read())["analyticalStorageTtl"] == -1


async def test_conflict_policy_by_path_is_kept(new_container):
    container = await new_container(
        conflict_resolution_policy={"mode": "LastWriterWins", "conflictResolutionPath": "/version"}
    )
    policy = (await container.read())["conflictResolutionPolicy"]
    assert policy["mode"] == "LastWriterWins"
    assert policy["conflictResolutionPath"] == "/version"


async def test_conflict_policy_by_procedure_is_kept(database, new_container):
    link = f"dbs/{database.id}/colls/things/sprocs/resolve"
    container = await new_container(
        conflict_resolution_policy={"mode": "Custom", "conflictResolutionProcedure": link}
    )
    policy = (await container.read())["conflictResolutionPolicy"]
    assert policy["mode"] == "Custom"
    assert policy["conflictResolutionProcedure"] == link


async def test_unknown_conflict_mode_is_refused(database):
    with fails(400):
        await database.create_container(unique("refused"), BY_PK, conflict_resolution_policy={"mode": "FirstWins"})


async def test_computed_properties_are_kept(new_container):
    computed = [
        {"name": "lowerName", "query": "SELECT VALUE LOWER(c.name) FROM c"},
        {"name": "total", "query": "SELECT VALUE c.price * 2 FROM c"},
    ]
    container = await new_container(computed_properties=computed)
    assert (await container.read())["computedProperties"] == computed


@pytest.mark.parametrize(
    "computed",
    [
        [{"name": "id", "query": "SELECT VALUE LOWER(c.name) FROM c"}],
        [{"name": "a", "query": "SELECT VALUE 1 FROM c"}, {"name": "a", "query": "SELECT VALUE 2 FROM c"}],
        [{"name": "a", "query": "SELECT VALUE LOWER(c.name) FROM c WHERE c.x = 1"}],
        [{"name": f"a{n}", "query": "SELECT VALUE LOWER(c.name) FROM c"} for n in range(21)],
    ],
)
async def test_invalid_computed_properties_are_refused(database, computed):
    with fails(400):
        await database.create_container(unique("refused"), BY_PK, computed_properties=computed)


async def test_change_feed_policy_is_kept(new_container):
    container = await new_container(change_feed_policy={"retentionDuration": 10})
    assert (await container.read())["changeFeedPolicy"] == {"retentionDuration": 10}


async def test_hierarchical_definition_is_kept(new_container):
    container = await new_container(PartitionKey(["/tenant", "/user", "/session"]))
    assert (await container.read())["partitionKey"] == {
        "paths": ["/tenant", "/user", "/session"],
        "kind": "MultiHash",
        "version": 2,
    }


async def test_first_version_of_the_hash_is_kept(new_container):
    container = await new_container(PartitionKey("/pk", version=1))
    found = (await container.read())["partitionKey"]
    assert found["paths"] == ["/pk"]
    assert found.get("version", 1) == 1


@pytest.mark.parametrize(
    "definition, text",
    [
        (PartitionKey(["/a", "/b", "/c", "/d"]), "Too many partition key paths"),
        (PartitionKey("pk"), ""),
        (PartitionKey("/pk/?"), ""),
        (PartitionKey("/pk", version=3), ""),
        (PartitionKey(["/a", "/b"], kind="MultiHash", version=1), ""),
        (PartitionKey([], kind="Hash"), ""),
        (PartitionKey("/pk", kind="Random"), ""),
    ],
)
async def test_invalid_partition_key_definition_is_refused(database, definition, text):
    with fails(400, text):
        await database.create_container(unique("refused"), definition)
