package orrery;

import static org.junit.jupiter.api.Assertions.assertEquals;

import com.azure.cosmos.CosmosClient;
import com.azure.cosmos.CosmosContainer;
import com.azure.cosmos.CosmosException;
import com.azure.cosmos.ThrottlingRetryOptions;
import com.azure.cosmos.models.CosmosItemResponse;
import com.azure.cosmos.models.CosmosQueryRequestOptions;
import com.azure.cosmos.models.ThroughputProperties;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledIfEnvironmentVariable;

/** A burst over the provisioned throughput, against a server that enforces it; the SDK retries as it does by default. */
@EnabledIfEnvironmentVariable(named = "ORRERY_THROTTLED", matches = "1", disabledReason = "needs a server that throttles")
class ThrottlingTest {
    private static final int UNITS = 400;

    /** Few and large, so that a busy machine is fast enough as well. */
    private static final int WRITES = 150;
    private static final int ITEM_BYTES = 200_000;
    private static final int WRITERS = 16;

    private static CosmosContainer container() {
        String id = Server.unique("throttled");
        Server.DATABASE.createContainer(id, "/pk", ThroughputProperties.createManualThroughput(UNITS));
        return Server.DATABASE.getContainer(id);
    }

    private static ObjectNode item(int n, String key, int size) {
        return Server.item(String.format("%05d", n), key).put("note", "x".repeat(size));
    }

    @Test
    void aBurstCompletesAtTheProvisionedRate() throws Exception {
        CosmosContainer container = container();
        AtomicInteger next = new AtomicInteger();
        AtomicInteger refused = new AtomicInteger();
        long begin = System.nanoTime();
        ExecutorService writers = Executors.newFixedThreadPool(WRITERS);
        List<Future<Double>> charges = new ArrayList<>();
        for (int writer = 0; writer < WRITERS; writer++) {
            charges.add(writers.submit(() -> {
                double charge = 0;
                for (int n = next.getAndIncrement(); n < WRITES; n = next.getAndIncrement()) {
                    CosmosItemResponse<ObjectNode> made = container.createItem(item(n, "k" + n % 97, ITEM_BYTES));
                    charge += made.getRequestCharge();
                    if (made.getDiagnostics().toString().contains("\"statusCode\":429")) {
                        refused.incrementAndGet();
                    }
                }
                return charge;
            }));
        }
        writers.shutdown();
        double charge = 0;
        for (Future<Double> part : charges) {
            charge += part.get();
        }
        double seconds = (System.nanoTime() - begin) / 1e9;
        System.out.printf("%.0f RU in %.1f s, %d were refused at first%n", charge, seconds, refused.get());
        Server.check(refused.get() > 0, "nothing was refused: is --enforce-throughput on?");
        double rate = charge / seconds;
        Server.check(rate >= 0.9 * UNITS && rate <= 1.1 * UNITS, rate + " RU/s");
        long stored = container
                .queryItems("SELECT c.id FROM c", new CosmosQueryRequestOptions(), ObjectNode.class)
                .stream()
                .count();
        assertEquals(WRITES, stored);
    }

    /** Without retries the application sees 429 and when to come again. */
    @Test
    void withoutRetriesARefusalSaysWhenToComeAgain() {
        String id = container().getId();
        ThrottlingRetryOptions none = new ThrottlingRetryOptions().setMaxRetryAttemptsOnThrottledRequests(0);
        try (CosmosClient client = Server.builder(Server.KEY).throttlingRetryOptions(none).buildClient()) {
            CosmosContainer container = client.getDatabase(Server.DATABASE.getId()).getContainer(id);
            CosmosException refused = Server.fails(429, () -> {
                for (int n = 0; n < 50; n++) {
                    container.createItem(item(n, "a", ITEM_BYTES));
                }
            });
            assertEquals(3200, refused.getSubStatusCode());
            Server.check(refused.getRetryAfterDuration().compareTo(Duration.ZERO) > 0, "when to come again");
        }
    }
}
