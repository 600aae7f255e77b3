package orrery;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.azure.cosmos.CosmosAsyncClient;
import com.azure.cosmos.CosmosAsyncUser;
import com.azure.cosmos.CosmosClient;
import com.azure.cosmos.CosmosContainer;
import com.azure.cosmos.CosmosDatabase;
import com.azure.cosmos.CosmosException;
import com.azure.cosmos.models.CompositePath;
import com.azure.cosmos.models.CompositePathSortOrder;
import com.azure.cosmos.models.ComputedProperty;
import com.azure.cosmos.models.CosmosContainerProperties;
import com.azure.cosmos.models.CosmosPermissionProperties;
import com.azure.cosmos.models.CosmosUserProperties;
import com.azure.cosmos.models.ExcludedPath;
import com.azure.cosmos.models.FeedRange;
import com.azure.cosmos.models.IncludedPath;
import com.azure.cosmos.models.IndexingMode;
import com.azure.cosmos.models.IndexingPolicy;
import com.azure.cosmos.models.PartitionKeyDefinition;
import com.azure.cosmos.models.PermissionMode;
import com.azure.cosmos.models.ThroughputProperties;
import com.azure.cosmos.models.ThroughputResponse;
import com.azure.cosmos.models.UniqueKey;
import com.azure.cosmos.models.UniqueKeyPolicy;
import java.util.List;
import org.junit.jupiter.api.Test;

class AccountTest {
    @Test
    void databasesAreCreatedReadListedAndDeleted() {
        String id = Server.unique("db");
        assertEquals(201, Server.CLIENT.createDatabase(id).getStatusCode());
        Server.fails(409, () -> Server.CLIENT.createDatabase(id));
        assertEquals(id, Server.CLIENT.getDatabase(id).read().getProperties().getId());
        assertTrue(Server.CLIENT.readAllDatabases().stream().anyMatch(d -> d.getId().equals(id)));
        assertTrue(Server.CLIENT
                .queryDatabases("SELECT * FROM r WHERE r.id = '" + id + "'", null)
                .stream()
                .anyMatch(d -> d.getId().equals(id)));
        assertEquals(204, Server.CLIENT.getDatabase(id).delete().getStatusCode());
        Server.fails(404, () -> Server.CLIENT.getDatabase(id).read());
    }

    @Test
    void createIfNotExistsAnswersTheSameDatabase() {
        String id = Server.unique("db");
        Server.CLIENT.createDatabaseIfNotExists(id);
        String rid = Server.CLIENT.getDatabase(id).read().getProperties().getResourceId();
        Server.CLIENT.createDatabaseIfNotExists(id);
        assertEquals(rid, Server.CLIENT.getDatabase(id).read().getProperties().getResourceId());
        Server.CLIENT.getDatabase(id).delete();
    }

    @Test
    void containersKeepTheirPropertiesAndDefaults() {
        CosmosContainerProperties wanted = new CosmosContainerProperties(Server.unique("c"), "/tenant/id");
        IndexingPolicy policy = new IndexingPolicy();
        policy.setIndexingMode(IndexingMode.CONSISTENT);
        policy.setIncludedPaths(List.of(new IncludedPath("/*")));
        policy.setExcludedPaths(List.of(new ExcludedPath("/blob/*")));
        policy.setCompositeIndexes(List.of(List.of(
                new CompositePath().setPath("/a").setOrder(CompositePathSortOrder.ASCENDING),
                new CompositePath().setPath("/b").setOrder(CompositePathSortOrder.DESCENDING))));
        wanted.setIndexingPolicy(policy);
        wanted.setDefaultTimeToLiveInSeconds(3600);
        wanted.setUniqueKeyPolicy(new UniqueKeyPolicy().setUniqueKeys(List.of(new UniqueKey(List.of("/email")))));
        wanted.setComputedProperties(List.of(new ComputedProperty("lower", "SELECT VALUE LOWER(c.name) FROM c")));
        CosmosContainer container = Server.container(wanted);
        CosmosContainerProperties got = container.read().getProperties();
        assertEquals(List.of("/tenant/id"), got.getPartitionKeyDefinition().getPaths());
        assertEquals(3600, got.getDefaultTimeToLiveInSeconds());
        assertEquals(List.of("/email"), List.copyOf(got.getUniqueKeyPolicy().getUniqueKeys()).get(0).getPaths());
        assertEquals(2, got.getIndexingPolicy().getCompositeIndexes().get(0).size());
        assertTrue(got.getIndexingPolicy().getExcludedPaths().stream()
                .anyMatch(p -> p.getPath().equals("/\"_etag\"/?")));
        assertEquals("lower", List.copyOf(got.getComputedProperties()).get(0).getName());
    }

    @Test
    void replacingAContainerChangesWhatMayChangeOnly() {
        CosmosContainer container = Server.container();
        CosmosContainerProperties properties = container.read().getProperties();
        properties.setDefaultTimeToLiveInSeconds(60);
        assertEquals(60, container.replace(properties).getProperties().getDefaultTimeToLiveInSeconds());
        properties.setDefaultTimeToLiveInSeconds(null);
        assertNull(container.replace(properties).getProperties().getDefaultTimeToLiveInSeconds());
        PartitionKeyDefinition other = new PartitionKeyDefinition();
        other.setPaths(List.of("/other"));
        properties.setPartitionKeyDefinition(other);
        Server.fails(400, () -> container.replace(properties));
    }

    @Test
    void recreatedContainersGetANewRid() {
        CosmosContainer container = Server.container();
        String before = container.read().getProperties().getResourceId();
        container.delete();
        Server.DATABASE.createContainer(new CosmosContainerProperties(container.getId(), "/pk"));
        assertNotEquals(before, container.read().getProperties().getResourceId());
    }

    @Test
    void manualAndAutoscaleThroughputAreReadAndReplaced() {
        String manual = Server.unique("c");
        Server.DATABASE.createContainer(
                new CosmosContainerProperties(manual, "/pk"), ThroughputProperties.createManualThroughput(500));
        CosmosContainer container = Server.DATABASE.getContainer(manual);
        ThroughputResponse read = container.readThroughput();
        assertEquals(500, read.getProperties().getManualThroughput());
        assertTrue(read.getMinThroughput() >= 400);
        container.replaceThroughput(ThroughputProperties.createManualThroughput(800));
        assertEquals(800, container.readThroughput().getProperties().getManualThroughput());

        String auto = Server.unique("c");
        Server.DATABASE.createContainer(
                new CosmosContainerProperties(auto, "/pk"), ThroughputProperties.createAutoscaledThroughput(4000));
        CosmosContainer scaled = Server.DATABASE.getContainer(auto);
        assertEquals(4000, scaled.readThroughput().getProperties().getAutoscaleMaxThroughput());
        scaled.replaceThroughput(ThroughputProperties.createAutoscaledThroughput(5000));
        assertEquals(5000, scaled.readThroughput().getProperties().getAutoscaleMaxThroughput());
    }

    @Test
    void databasesShareThroughput() {
        String id = Server.unique("db");
        Server.CLIENT.createDatabase(id, ThroughputProperties.createManualThroughput(400));
        CosmosDatabase database = Server.CLIENT.getDatabase(id);
        assertEquals(400, database.readThroughput().getProperties().getManualThroughput());
        database.createContainer("shared", "/pk");
        // The SDK itself answers 400 when the offers feed holds nothing for a container.
        CosmosException none = Server.fails(400, () -> database.getContainer("shared").readThroughput());
        assertTrue(none.getMessage().contains("No offers found"));
        database.delete();
    }

    @Test
    void throughputBelowTheMinimumIsRefused() {
        Server.fails(400, () -> Server.DATABASE.createContainer(
                new CosmosContainerProperties(Server.unique("c"), "/pk"),
                ThroughputProperties.createManualThroughput(100)));
    }

    @Test
    void feedRangesTileTheContainer() {
        CosmosContainer container = Server.container();
        List<FeedRange> ranges = container.getFeedRanges();
        assertEquals(Server.MIN_PARTITIONS, ranges.size());
    }

    @Test
    void usersAndPermissionsGrantWhatTheySayOnly() {
        CosmosContainer container = Server.container();
        container.createItem(Server.item("1", "a"));
        container.createItem(Server.item("2", "b"));
        String user = Server.unique("u");
        Server.DATABASE.createUser(new CosmosUserProperties().setId(user));
        CosmosPermissionProperties permission = new CosmosPermissionProperties()
                .setId("p")
                .setPermissionMode(PermissionMode.READ)
                .setContainerName(container.getId());
        // Permissions are offered by the asynchronous client only.
        CosmosAsyncClient asynchronous = Server.builder(Server.KEY).buildAsyncClient();
        CosmosAsyncUser grantee = asynchronous.getDatabase(Server.DATABASE.getId()).getUser(user);
        grantee.createPermission(permission, null).block();
        CosmosPermissionProperties granted = grantee.getPermission("p").read(null).block().getProperties();
        try (CosmosClient client = Server.builder()
                .resourceToken(granted.getToken())
                .buildClient()) {
            CosmosContainer seen = client.getDatabase(Server.DATABASE.getId()).getContainer(container.getId());
            assertEquals("1", seen.readItem("1", new com.azure.cosmos.models.PartitionKey("a"),
                    com.fasterxml.jackson.databind.JsonNode.class).getItem().get("id").asText());
            Server.fails(403, () -> seen.createItem(Server.item("3", "a")));
        }
        assertEquals(1, grantee.readAllPermissions().count().block());
        asynchronous.close();
        Server.DATABASE.getUser(user).delete();
        assertFalse(Server.DATABASE.readAllUsers().stream().anyMatch(u -> u.getId().equals(user)));
    }

    @Test
    void aWrongKeyIsRefused() {
        String wrong = java.util.Base64.getEncoder().encodeToString(new byte[64]);
        RuntimeException refused = assertThrows(RuntimeException.class, () -> Server.client(wrong));
        assertEquals(401, ((CosmosException) refused.getCause()).getStatusCode());
    }
}
