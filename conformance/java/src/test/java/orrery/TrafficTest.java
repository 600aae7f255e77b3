package orrery;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.azure.cosmos.CosmosClient;
import com.azure.cosmos.CosmosContainer;
import com.azure.cosmos.models.CosmosQueryRequestOptions;
import com.azure.cosmos.models.PartitionKey;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;

/** What a client of direct mode asks for besides its work: addresses once for each range, and nothing to wait for replicas. */
class TrafficTest {
    /** Answered requests of an action, of all clients. */
    private static int count(String action) {
        Matcher lines = Pattern.compile("orrery_requests_total\\{action=\"" + action + "\"[^}]*\\} (\\d+)")
                .matcher(Management.text("/metrics"));
        int total = 0;
        while (lines.find()) {
            total += Integer.parseInt(lines.group(1));
        }
        return total;
    }

    @Test
    void addressesAreAskedForOncePerRangeAndNoBarrierIsSent() {
        String id = Server.container().getId();
        int addresses = count("addresses");
        int barriers = count("barrier");
        int ranges;
        try (CosmosClient client = Server.client(Server.KEY)) {
            CosmosContainer container =
                    client.getDatabase(Server.DATABASE.getId()).getContainer(id);
            ranges = container.getFeedRanges().size();
            for (int round = 0; round < 3; round++) {
                for (int n = 0; n < 60; n++) {
                    container.upsertItem(Server.item("i" + n, "k" + n));
                    container.readItem("i" + n, new PartitionKey("k" + n), ObjectNode.class);
                }
                long found = container
                        .queryItems("SELECT * FROM c ORDER BY c.id", new CosmosQueryRequestOptions(), ObjectNode.class)
                        .stream()
                        .count();
                assertEquals(60, found);
                client.getDatabase(Server.DATABASE.getId()).read();
            }
        }
        int asked = count("addresses") - addresses;
        // The ranges of the container, and the partition of metadata.
        assertEquals(Server.IS_DIRECT ? ranges + 1 : 0, asked, ranges + " ranges");
        assertEquals(barriers, count("barrier"), "barriers");
        assertTrue(ranges >= Server.MIN_PARTITIONS, "ranges");
    }
}
