package orrery;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.azure.cosmos.CosmosContainer;
import com.azure.cosmos.models.CosmosBatch;
import com.azure.cosmos.models.CosmosBatchResponse;
import com.azure.cosmos.models.CosmosBulkOperations;
import com.azure.cosmos.models.CosmosItemOperation;
import com.azure.cosmos.models.CosmosPatchItemRequestOptions;
import com.azure.cosmos.models.CosmosPatchOperations;
import com.azure.cosmos.models.PartitionKey;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

class PatchAndBatchTest {
    private static final PartitionKey A = new PartitionKey("a");

    @Test
    void everyKindOfPatchWorks() {
        CosmosContainer container = Server.container();
        ObjectNode item = Server.item("1", "a").put("n", 1).put("gone", true).put("old", "o");
        item.putObject("in").put("x", 1);
        item.putArray("list").add(1).add(3);
        container.createItem(item);
        CosmosPatchOperations patch = CosmosPatchOperations.create()
                .add("/fresh", "f")
                .set("/in/y", 2)
                .replace("/old", "new")
                .remove("/gone")
                .increment("/n", 41L)
                .add("/list/1", 2)
                .move("/in/x", "/moved");
        JsonNode got = container.patchItem("1", A, patch, JsonNode.class).getItem();
        assertEquals("f", got.get("fresh").asText());
        assertEquals(2, got.get("in").get("y").asInt());
        assertEquals("new", got.get("old").asText());
        assertFalse(got.has("gone"));
        assertEquals(42, got.get("n").asInt());
        assertEquals("[1,2,3]", got.get("list").toString());
        assertEquals(1, got.get("moved").asInt());
        assertFalse(got.get("in").has("x"));
    }

    @Test
    void patchConditionsAndMistakesAreRefused() {
        CosmosContainer container = Server.container();
        container.createItem(Server.item("1", "a").put("n", 1));
        CosmosPatchItemRequestOptions onlyIf = new CosmosPatchItemRequestOptions();
        onlyIf.setFilterPredicate("from c where c.n = 2");
        CosmosPatchOperations set = CosmosPatchOperations.create().set("/n", 5);
        Server.fails(412, () -> container.patchItem("1", A, set, onlyIf, JsonNode.class));
        onlyIf.setFilterPredicate("from c where c.n = 1");
        assertEquals(200, container.patchItem("1", A, set, onlyIf, JsonNode.class).getStatusCode());
        Server.fails(400, () -> container.patchItem("1", A,
                CosmosPatchOperations.create().replace("/none", 1), JsonNode.class));
        Server.fails(400, () -> container.patchItem("1", A,
                CosmosPatchOperations.create().set("/pk", "b"), JsonNode.class));
        Server.fails(404, () -> container.patchItem("2", A, set, JsonNode.class));
        CosmosPatchOperations eleven = CosmosPatchOperations.create();
        for (int i = 0; i < 11; i++) {
            eleven.set("/p" + i, i);
        }
        Server.fails(400, () -> container.patchItem("1", A, eleven, JsonNode.class));
    }

    @Test
    void batchesAreAllOrNothing() {
        CosmosContainer container = Server.container();
        container.createItem(Server.item("there", "a").put("n", 1));
        CosmosBatch good = CosmosBatch.createCosmosBatch(A);
        good.createItemOperation(Server.item("1", "a"));
        good.upsertItemOperation(Server.item("2", "a"));
        good.readItemOperation("there");
        good.replaceItemOperation("there", Server.item("there", "a").put("n", 2));
        good.patchItemOperation("there", CosmosPatchOperations.create().increment("/n", 1L));
        good.deleteItemOperation("2");
        CosmosBatchResponse response = container.executeCosmosBatch(good);
        assertTrue(response.isSuccessStatusCode(), response.getErrorMessage());
        assertEquals(List.of(201, 201, 200, 200, 200, 204),
                response.getResults().stream().map(r -> r.getStatusCode()).toList());
        assertEquals(3, container.readItem("there", A, JsonNode.class).getItem().get("n").asInt());

        CosmosBatch bad = CosmosBatch.createCosmosBatch(A);
        bad.createItemOperation(Server.item("3", "a"));
        bad.createItemOperation(Server.item("1", "a"));
        bad.deleteItemOperation("there");
        CosmosBatchResponse refused = container.executeCosmosBatch(bad);
        assertFalse(refused.isSuccessStatusCode());
        assertEquals(List.of(424, 409, 424), refused.getResults().stream().map(r -> r.getStatusCode()).toList());
        Server.fails(404, () -> container.readItem("3", A, JsonNode.class));
        assertEquals(200, container.readItem("there", A, JsonNode.class).getStatusCode());
    }

    @Test
    void bulkWritesReachEveryRange() {
        CosmosContainer container = Server.container();
        List<CosmosItemOperation> operations = new ArrayList<>();
        for (int i = 0; i < 200; i++) {
            operations.add(CosmosBulkOperations.getCreateItemOperation(
                    Server.item("i" + i, "k" + i % 50), new PartitionKey("k" + i % 50)));
        }
        int[] created = {0};
        container.executeBulkOperations(operations).forEach(result -> {
            assertEquals(201, result.getResponse().getStatusCode());
            created[0]++;
        });
        assertEquals(200, created[0]);
        assertEquals(4, container.readAllItems(new PartitionKey("k7"), JsonNode.class).stream().count());
    }
}
