package orrery;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.azure.cosmos.CosmosContainer;
import com.azure.cosmos.models.ChangeFeedPolicy;
import com.azure.cosmos.models.CosmosChangeFeedRequestOptions;
import com.azure.cosmos.models.CosmosContainerProperties;
import com.azure.cosmos.models.FeedRange;
import com.azure.cosmos.models.FeedResponse;
import com.azure.cosmos.models.PartitionKey;
import com.fasterxml.jackson.databind.JsonNode;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

class ChangeFeedTest {
    private static final PartitionKey A = new PartitionKey("a");
    private String continuation;

    private List<JsonNode> drain(CosmosContainer container, CosmosChangeFeedRequestOptions options) {
        List<JsonNode> seen = new ArrayList<>();
        for (FeedResponse<JsonNode> page : container.queryChangeFeed(options, JsonNode.class).iterableByPage()) {
            continuation = page.getContinuationToken();
            if (page.getResults().isEmpty()) {
                break;
            }
            seen.addAll(page.getResults());
        }
        return seen;
    }

    @Test
    void latestVersionsFromTheBeginningAndOnwards() {
        CosmosContainer container = Server.container();
        for (int i = 0; i < 30; i++) {
            container.createItem(Server.item("i" + i, "k" + i));
        }
        container.upsertItem(Server.item("i3", "k3").put("v", 2));
        container.deleteItem("i4", new PartitionKey("k4"), null);
        FeedRange all = FeedRange.forFullRange();
        List<JsonNode> first = drain(container, CosmosChangeFeedRequestOptions.createForProcessingFromBeginning(all));
        assertEquals(29, first.size());
        container.upsertItem(Server.item("i5", "k5").put("v", 2));
        List<JsonNode> next =
                drain(container, CosmosChangeFeedRequestOptions.createForProcessingFromContinuation(continuation));
        assertEquals(1, next.size());
        assertEquals("i5", next.get(0).get("id").asText());
    }

    @Test
    void oneLogicalPartitionInOrder() {
        CosmosContainer container = Server.container();
        for (int i = 0; i < 10; i++) {
            container.createItem(Server.item("i" + i, i % 2 == 0 ? "a" : "b"));
        }
        List<JsonNode> seen = drain(container,
                CosmosChangeFeedRequestOptions.createForProcessingFromBeginning(FeedRange.forLogicalPartition(A)));
        assertEquals(List.of("i0", "i2", "i4", "i6", "i8"), seen.stream().map(n -> n.get("id").asText()).toList());
    }

    @Test
    void nowSeesOnlyLaterChanges() {
        CosmosContainer container = Server.container();
        container.createItem(Server.item("before", "a"));
        List<JsonNode> none = drain(container,
                CosmosChangeFeedRequestOptions.createForProcessingFromNow(FeedRange.forFullRange()));
        assertTrue(none.isEmpty());
        container.createItem(Server.item("after", "a"));
        List<JsonNode> next =
                drain(container, CosmosChangeFeedRequestOptions.createForProcessingFromContinuation(continuation));
        assertEquals(1, next.size());
    }

    @Test
    void allVersionsAndDeletes() {
        CosmosContainerProperties properties = new CosmosContainerProperties(Server.unique("c"), "/pk");
        properties.setChangeFeedPolicy(ChangeFeedPolicy.createAllVersionsAndDeletesPolicy(Duration.ofMinutes(10)));
        CosmosContainer container = Server.container(properties);
        CosmosChangeFeedRequestOptions now =
                CosmosChangeFeedRequestOptions.createForProcessingFromNow(FeedRange.forFullRange());
        now.allVersionsAndDeletes();
        assertTrue(drain(container, now).isEmpty());
        container.createItem(Server.item("1", "a").put("v", 1));
        container.upsertItem(Server.item("1", "a").put("v", 2));
        container.deleteItem("1", A, null);
        CosmosChangeFeedRequestOptions onwards =
                CosmosChangeFeedRequestOptions.createForProcessingFromContinuation(continuation);
        onwards.allVersionsAndDeletes();
        List<JsonNode> seen = drain(container, onwards);
        assertEquals(List.of("create", "replace", "delete"),
                seen.stream().map(n -> n.get("metadata").get("operationType").asText()).toList());
        assertEquals(2, seen.get(1).get("current").get("v").asInt());
    }
}
