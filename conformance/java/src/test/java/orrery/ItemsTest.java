package orrery;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.azure.cosmos.CosmosAsyncClient;
import com.azure.cosmos.CosmosAsyncContainer;
import com.azure.cosmos.CosmosContainer;
import com.azure.cosmos.models.CosmosContainerProperties;
import com.azure.cosmos.models.CosmosItemIdentity;
import com.azure.cosmos.models.CosmosItemRequestOptions;
import com.azure.cosmos.models.CosmosItemResponse;
import com.azure.cosmos.models.FeedResponse;
import com.azure.cosmos.models.PartitionKey;
import com.azure.cosmos.models.PartitionKeyBuilder;
import com.azure.cosmos.models.UniqueKey;
import com.azure.cosmos.models.UniqueKeyPolicy;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import org.junit.jupiter.api.Test;
import reactor.core.publisher.Flux;

class ItemsTest {
    private static final PartitionKey A = new PartitionKey("a");

    private static CosmosItemResponse<JsonNode> read(CosmosContainer container, String id, PartitionKey key) {
        return container.readItem(id, key, JsonNode.class);
    }

    @Test
    void createReadReplaceUpsertDelete() {
        CosmosContainer container = Server.container();
        CosmosItemResponse<ObjectNode> created = container.createItem(Server.item("1", "a").put("n", 1));
        assertEquals(201, created.getStatusCode());
        assertTrue(created.getRequestCharge() > 0);
        assertEquals(1, created.getItem().get("n").asInt());
        Server.fails(409, () -> container.createItem(Server.item("1", "a")));

        assertEquals(200, container.replaceItem(Server.item("1", "a").put("n", 2), "1", A, null).getStatusCode());
        assertEquals(200, container.upsertItem(Server.item("1", "a").put("n", 3)).getStatusCode());
        assertEquals(201, container.upsertItem(Server.item("2", "a")).getStatusCode());
        assertEquals(3, read(container, "1", A).getItem().get("n").asInt());
        assertEquals(204, container.deleteItem("1", A, null).getStatusCode());
        Server.fails(404, () -> read(container, "1", A));
        Server.fails(404, () -> container.deleteItem("1", A, null));
        Server.fails(404, () -> container.replaceItem(Server.item("1", "a"), "1", A, null));
    }

    /** Answers that are ready together reach the client at once; each must still be read by itself. */
    @Test
    void manyReadsAtOnceEachGetTheirItem() {
        CosmosContainer container = Server.container();
        for (int n = 0; n < 100; n++) {
            container.createItem(Server.item("" + n, "a").put("text", "x".repeat(n)));
        }
        try (CosmosAsyncClient client = Server.builder(Server.KEY).buildAsyncClient()) {
            CosmosAsyncContainer items = client.getDatabase(Server.DATABASE.getId()).getContainer(container.getId());
            List<String> others = Flux.range(0, 5000).map(n -> "" + n % 100)
                    .flatMap(id -> items.readItem(id, A, JsonNode.class)
                            .map(answer -> answer.getItem().path("id").asText())
                            .filter(found -> !found.equals(id)), 64)
                    .collectList().block();
            assertEquals(List.of(), others);
        }
    }

    @Test
    void preconditionsAreChecked() {
        CosmosContainer container = Server.container();
        String first = container.createItem(Server.item("1", "a")).getETag();
        String second = container.upsertItem(Server.item("1", "a").put("n", 1)).getETag();
        assertNotEquals(first, second);
        CosmosItemRequestOptions stale = new CosmosItemRequestOptions().setIfMatchETag(first);
        Server.fails(412, () -> container.replaceItem(Server.item("1", "a"), "1", A, stale));
        Server.fails(412, () -> container.deleteItem("1", A, stale));
        CosmosItemRequestOptions unchanged = new CosmosItemRequestOptions().setIfNoneMatchETag(second);
        assertEquals(304, container.readItem("1", A, unchanged, JsonNode.class).getStatusCode());
        CosmosItemRequestOptions fresh = new CosmosItemRequestOptions().setIfMatchETag(second);
        assertEquals(200, container.replaceItem(Server.item("1", "a"), "1", A, fresh).getStatusCode());
    }

    @Test
    void minimalResponsesHaveNoItem() {
        CosmosContainer container = Server.container();
        CosmosItemRequestOptions minimal = new CosmosItemRequestOptions().setContentResponseOnWriteEnabled(false);
        CosmosItemResponse<ObjectNode> created = container.createItem(Server.item("1", "a"), A, minimal);
        assertEquals(201, created.getStatusCode());
        assertNull(created.getItem());
        assertTrue(created.getETag().length() > 10);
    }

    @Test
    void undefinedNullAndValuesAreDifferentKeys() {
        CosmosContainer container = Server.container();
        ObjectNode missing = Server.JSON.createObjectNode().put("id", "x").put("which", "missing");
        ObjectNode nothing = Server.JSON.createObjectNode().put("id", "x").putNull("pk").put("which", "null");
        ObjectNode empty = Server.item("x", "").put("which", "empty");
        container.createItem(missing, PartitionKey.NONE, null);
        container.createItem(nothing, new PartitionKeyBuilder().addNullValue().build(), null);
        container.createItem(empty, new PartitionKey(""), null);
        assertEquals("missing", read(container, "x", PartitionKey.NONE).getItem().get("which").asText());
        assertEquals("null", read(container, "x", new PartitionKeyBuilder().addNullValue().build())
                .getItem().get("which").asText());
        assertEquals("empty", read(container, "x", new PartitionKey("")).getItem().get("which").asText());
    }

    @Test
    void aKeyThatDoesNotMatchTheBodyIsRefused() {
        CosmosContainer container = Server.container();
        assertEquals(1001, Server.fails(400, () ->
                container.createItem(Server.item("1", "a"), new PartitionKey("b"), null)).getSubStatusCode());
    }

    @Test
    void numbersKeepTheirValue() {
        CosmosContainer container = Server.container();
        ObjectNode item = Server.item("1", "a").put("big", 9007199254740993L).put("small", 1.0e-7).put("exact", 0.1);
        container.createItem(item);
        JsonNode got = read(container, "1", A).getItem();
        assertEquals(9007199254740993L, got.get("big").asLong());
        assertEquals(1.0e-7, got.get("small").asDouble());
        assertEquals(0.1, got.get("exact").asDouble());
    }

    @Test
    void oddIdsAreAddressable() {
        CosmosContainer container = Server.container();
        for (String id : List.of("with space", "100%", "Größe-日本", "a+b", "q'uote(s)", "semi;colon,comma")) {
            container.createItem(Server.item(id, "a"));
            assertEquals(id, read(container, id, A).getItem().get("id").asText());
            container.deleteItem(id, A, null);
        }
    }

    @Test
    void tooLargeItemsAreRefused() {
        CosmosContainer container = Server.container();
        String blob = "x".repeat(2 * 1024 * 1024 + 1);
        Server.fails(413, () -> container.createItem(Server.item("1", "a").put("blob", blob)));
    }

    @Test
    void readManyFindsItemsInAllRanges() {
        CosmosContainer container = Server.container();
        List<CosmosItemIdentity> wanted = new ArrayList<>();
        for (int i = 0; i < 40; i++) {
            container.createItem(Server.item("i" + i, "k" + i));
            if (i % 2 == 0) {
                wanted.add(new CosmosItemIdentity(new PartitionKey("k" + i), "i" + i));
            }
        }
        assertEquals(20, container.readMany(wanted, JsonNode.class).getResults().size());
    }

    @Test
    void readAllItemsOfOneLogicalPartitionPages() {
        CosmosContainer container = Server.container();
        for (int i = 0; i < 25; i++) {
            container.createItem(Server.item("i" + i, "a"));
            container.createItem(Server.item("i" + i, "b"));
        }
        Set<String> seen = new HashSet<>();
        int pages = 0;
        for (FeedResponse<JsonNode> page : container.readAllItems(A, JsonNode.class).iterableByPage(10)) {
            pages++;
            page.getResults().forEach(item -> Server.check(seen.add(item.get("id").asText()), "each item once"));
        }
        assertEquals(25, seen.size());
        assertTrue(pages >= 3);
    }

    @Test
    void allItemsOfOneKeyCanBeDeleted() {
        CosmosContainer container = Server.container();
        for (int i = 0; i < 5; i++) {
            container.createItem(Server.item("i" + i, "a"));
            container.createItem(Server.item("i" + i, "b"));
        }
        container.deleteAllItemsByPartitionKey(A, new CosmosItemRequestOptions());
        assertEquals(0, container.readAllItems(A, JsonNode.class).stream().count());
        assertEquals(5, container.readAllItems(new PartitionKey("b"), JsonNode.class).stream().count());
    }

    @Test
    void uniqueKeysHoldWithinALogicalPartition() {
        CosmosContainerProperties properties = new CosmosContainerProperties(Server.unique("c"), "/pk");
        properties.setUniqueKeyPolicy(new UniqueKeyPolicy().setUniqueKeys(List.of(new UniqueKey(List.of("/mail")))));
        CosmosContainer container = Server.container(properties);
        container.createItem(Server.item("1", "a").put("mail", "m"));
        Server.fails(409, () -> container.createItem(Server.item("2", "a").put("mail", "m")));
        container.createItem(Server.item("2", "b").put("mail", "m"));
    }

    @Test
    void itemsExpire() throws InterruptedException {
        CosmosContainerProperties properties = new CosmosContainerProperties(Server.unique("c"), "/pk");
        properties.setDefaultTimeToLiveInSeconds(-1);
        CosmosContainer container = Server.container(properties);
        container.createItem(Server.item("stays", "a"));
        container.createItem(Server.item("goes", "a").put("ttl", 1));
        Thread.sleep(2500);
        Server.fails(404, () -> read(container, "goes", A));
        assertEquals(200, read(container, "stays", A).getStatusCode());
        Server.fails(400, () -> container.createItem(Server.item("bad", "a").put("ttl", 0)));
    }

    @Test
    void hierarchicalKeysNeedAllLevels() {
        CosmosContainer container = Server.container(Server.hierarchical("/tenant", "/user", "/session"));
        ObjectNode item = Server.JSON.createObjectNode()
                .put("id", "1").put("tenant", "t").put("user", "u").put("session", "s");
        container.createItem(item);
        PartitionKey key = new PartitionKeyBuilder().add("t").add("u").add("s").build();
        assertEquals("1", read(container, "1", key).getItem().get("id").asText());
        PartitionKey other = new PartitionKeyBuilder().add("t").add("u").add("z").build();
        Server.fails(404, () -> read(container, "1", other));
    }

    @Test
    void idCanBeThePartitionKey() {
        CosmosContainer container = Server.container(new CosmosContainerProperties(Server.unique("c"), "/id"));
        container.createItem(Server.JSON.createObjectNode().put("id", "only"));
        assertEquals("only", read(container, "only", new PartitionKey("only")).getItem().get("id").asText());
    }
}
