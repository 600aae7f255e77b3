package orrery;

import static org.junit.jupiter.api.Assertions.assertEquals;

import com.azure.cosmos.CosmosContainer;
import com.azure.cosmos.models.CosmosQueryRequestOptions;
import com.azure.cosmos.models.PartitionKey;
import com.azure.cosmos.models.SqlParameter;
import com.azure.cosmos.models.SqlQuerySpec;
import com.fasterxml.jackson.databind.JsonNode;
import java.util.List;
import org.junit.jupiter.api.Test;

class QueryBasicsTest {
    private static CosmosContainer filled() {
        CosmosContainer container = Server.container();
        for (int i = 0; i < 30; i++) {
            container.createItem(Server.item("i" + i, "k" + i % 10).put("n", i));
        }
        return container;
    }

    private static List<JsonNode> rows(CosmosContainer container, String text) {
        return container.queryItems(text, new CosmosQueryRequestOptions(), JsonNode.class).stream().toList();
    }

    @Test
    void filtersAcrossPartitions() {
        CosmosContainer container = filled();
        assertEquals(30, rows(container, "SELECT * FROM c").size());
        assertEquals(10, rows(container, "SELECT VALUE c.id FROM c WHERE c.n >= 20").size());
    }

    @Test
    void filtersInsideOnePartition() {
        CosmosContainer container = filled();
        SqlQuerySpec spec = new SqlQuerySpec("SELECT * FROM c WHERE c.n > @n", new SqlParameter("@n", 5));
        CosmosQueryRequestOptions options = new CosmosQueryRequestOptions().setPartitionKey(new PartitionKey("k3"));
        assertEquals(2, container.queryItems(spec, options, JsonNode.class).stream().count());
    }

    @Test
    void aggregatesAndOrderGoThroughThePlan() {
        CosmosContainer container = filled();
        assertEquals(30, rows(container, "SELECT VALUE COUNT(1) FROM c").get(0).asInt());
        List<Integer> top = rows(container, "SELECT TOP 3 VALUE c.n FROM c ORDER BY c.n DESC")
                .stream().map(JsonNode::asInt).toList();
        assertEquals(List.of(29, 28, 27), top);
    }

    @Test
    void badQueriesAreRefused() {
        CosmosContainer container = Server.container();
        Server.fails(400, () -> rows(container, "SELEC nothing"));
    }
}
