package orrery;

import static org.junit.jupiter.api.Assertions.assertEquals;

import com.azure.cosmos.CosmosContainer;
import com.azure.cosmos.CosmosException;
import com.azure.cosmos.models.PartitionKey;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.time.Duration;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledIfEnvironmentVariable;

/**
 * What the application sees of each failure in direct mode: what the SDK tries again, and what it hands over. It waits
 * for many seconds where an answer lacks a position, so the time counts as well.
 */
@EnabledIfEnvironmentVariable(named = "ORRERY_CONNECTION_MODE", matches = "direct", disabledReason = "direct mode only")
class FailuresTest {
    private static final Duration AT_ONCE = Duration.ofSeconds(4);

    private final CosmosContainer container = Server.container();
    private final PartitionKey key = new PartitionKey("a");
    private int n;

    @BeforeEach
    void warmUp() {
        container.createItem(Server.item("1", "a"));
        container.readItem("1", key, ObjectNode.class);
    }

    @AfterEach
    void clear() {
        Management.delete("/_orrery/faults");
    }

    /** The next request of the kind fails, so many times. */
    private void fail(String action, int status, int substatus, int times) {
        ObjectNode rule = Server.JSON.createObjectNode();
        rule.putObject("match")
                .put("action", action)
                .put("path", "dbs/" + Server.DATABASE.getId() + "/colls/" + container.getId());
        rule.put("status", status).put("subStatus", substatus).put("times", times);
        if (status == 429) {
            rule.put("retryAfterMs", 20);
        }
        Management.post("/_orrery/faults", rule);
    }

    /** What a call came to: "ok", or status and sub-status. */
    private String outcome(boolean isRead, int status, int substatus, int times) {
        fail(isRead ? "item_read" : "item_create", status, substatus, times);
        long begin = System.nanoTime();
        String outcome = "ok";
        try {
            if (isRead) {
                container.readItem("1", key, ObjectNode.class);
            } else {
                container.createItem(Server.item("made-" + n++, "a"));
            }
        } catch (CosmosException failed) {
            outcome = failed.getStatusCode() + "/" + failed.getSubStatusCode();
        }
        Duration took = Duration.ofNanos(System.nanoTime() - begin);
        Server.check(took.compareTo(AT_ONCE) < 0, status + "/" + substatus + " took " + took);
        Management.delete("/_orrery/faults");
        return outcome;
    }

    private void bothAre(String expected, int status, int substatus) {
        for (boolean isRead : new boolean[] {true, false}) {
            assertEquals(expected, outcome(isRead, status, substatus, 1), (isRead ? "a read, " : "a write, ") + status + "/" + substatus);
        }
    }

    @Test
    void whatPassesIsTriedAgain() {
        int[][] table = {{410, 0}, {410, 1000}, {410, 1007}, {410, 1008}, {429, 3200}, {449, 0}, {403, 3}};
        for (int[] row : table) {
            bothAre("ok", row[0], row[1]);
        }
        assertEquals("ok", outcome(true, 404, 1002, 1));
        assertEquals("ok", outcome(true, 408, 0, 1));
    }

    @Test
    void whatStaysIsHandedOverAtOnce() {
        int[][] table = {{400, 0}, {401, 0}, {403, 0}, {404, 0}, {409, 0}, {412, 0}, {413, 0}, {423, 0}, {500, 0}, {410, 1002}};
        for (int[] row : table) {
            bothAre(row[0] + "/" + row[1], row[0], row[1]);
        }
        bothAre("503/21008", 503, 0);
        assertEquals("408/21010", outcome(false, 408, 0, 1));
    }
}
