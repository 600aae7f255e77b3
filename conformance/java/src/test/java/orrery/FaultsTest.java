package orrery;

import static org.junit.jupiter.api.Assertions.assertEquals;

import com.azure.cosmos.CosmosClient;
import com.azure.cosmos.CosmosContainer;
import com.azure.cosmos.models.CosmosQueryRequestOptions;
import com.azure.cosmos.models.PartitionKey;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.time.Duration;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.condition.EnabledIfEnvironmentVariable;

/** What an application sees when its server goes away, or falls silent: its SDK recovers by itself. */
@EnabledIfEnvironmentVariable(named = "ORRERY_BINARY", matches = ".+", disabledReason = "starts servers of its own")
@Timeout(120)
class FaultsTest {
    private static final PartitionKey KEY = new PartitionKey("a");

    private static CosmosClient client(int port) {
        return Server.builder(Server.KEY).endpoint("https://localhost:" + port + "/").buildClient();
    }

    private static CosmosContainer container(CosmosClient client) {
        client.createDatabaseIfNotExists("faults");
        client.getDatabase("faults").createContainerIfNotExists("c", "/pk");
        CosmosContainer container = client.getDatabase("faults").getContainer("c");
        container.upsertItem(Server.item("1", "a"));
        return container;
    }

    private static Set<String> ids(CosmosContainer container) {
        return container
                .queryItems("SELECT * FROM c", new CosmosQueryRequestOptions(), ObjectNode.class)
                .stream()
                .map(item -> item.get("id").asText())
                .collect(Collectors.toSet());
    }

    private static Duration timed(Runnable call) {
        long begin = System.nanoTime();
        call.run();
        return Duration.ofNanos(System.nanoTime() - begin);
    }

    /** As soon as the server is back the same client works, and everything acknowledged is there. */
    @Test
    void aClientOutlivesItsServer() throws Exception {
        try (OwnServer server = new OwnServer(); CosmosClient client = client(server.port)) {
            CosmosContainer container = container(client);
            container.createItem(Server.item("kept", "a"));
            server.kill();
            GrowthWork.pause(1500);
            server.start();
            Duration back = timed(() -> container.readItem("kept", KEY, ObjectNode.class));
            Server.check(back.toSeconds() < 10, "it took " + back);
            container.createItem(Server.item("after", "a"));
            assertEquals(Set.of("1", "kept", "after"), ids(container));
        }
    }

    /**
     * A pause that is shorter than the time limit is only slow; in a longer one a write is given up, a read is sent again.
     * One call after the other, for a call that waits for a new connection was not sent and is tried again.
     */
    @Test
    void silenceIsSlowAndThenATimeout() throws Exception {
        try (OwnServer server = new OwnServer(); CosmosClient client = client(server.port)) {
            CosmosContainer container = container(client);
            CompletableFuture<Void> silence = server.beSilent(3000);
            Duration slow = timed(() -> container.createItem(Server.item("2", "a")));
            Server.check(slow.toSeconds() >= 1, "it was silent, " + slow);
            silence.join();
            silence = server.beSilent(12_000);
            Duration given = timed(() -> Server.fails(408, () -> container.createItem(Server.item("3", "a"))));
            Server.check(given.toSeconds() < 8, "given up after " + given);
            container.readItem("1", KEY, ObjectNode.class);
            silence.join();
            container.upsertItem(Server.item("3", "a"));
        }
    }

    /** Who checks certificates, and does not know this one, gets nothing over either protocol. */
    @Test
    void aCertificateThatNobodyTrustsIsRefused() throws Exception {
        String option = "COSMOS.EMULATOR_SERVER_CERTIFICATE_VALIDATION_DISABLED";
        try (OwnServer server = new OwnServer()) {
            System.setProperty(option, "false");
            try (CosmosClient client = client(server.port)) {
                Server.fails(503, () -> client.createDatabase("untrusted"));
            } catch (RuntimeException refused) {
                Server.check(refused.toString().contains("endpoint"), refused.toString());
            } finally {
                System.setProperty(option, "true");
            }
            try (CosmosClient client = client(server.port)) {
                container(client);
            }
        }
    }
}
