package orrery;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.azure.cosmos.ChangeFeedProcessor;
import com.azure.cosmos.ChangeFeedProcessorBuilder;
import com.azure.cosmos.CosmosAsyncClient;
import com.azure.cosmos.CosmosAsyncContainer;
import com.azure.cosmos.CosmosContainer;
import com.azure.cosmos.models.ChangeFeedPolicy;
import com.azure.cosmos.models.ChangeFeedProcessorItem;
import com.azure.cosmos.models.ChangeFeedProcessorOptions;
import com.azure.cosmos.models.CosmosContainerProperties;
import com.azure.cosmos.models.PartitionKey;
import com.fasterxml.jackson.databind.JsonNode;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Queue;
import java.util.Set;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.function.BooleanSupplier;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** Processors with leases: the documented one, the older one by ranges, and the one for all versions. */
class ChangeFeedProcessorTest {
    private static final Duration PATIENCE = Duration.ofSeconds(60);
    private static final CosmosAsyncClient CLIENT = Server.builder(Server.KEY).buildAsyncClient();

    private final List<ChangeFeedProcessor> running = new ArrayList<>();

    @AfterEach
    void stopAll() {
        running.forEach(processor -> processor.stop().block());
    }

    @AfterAll
    static void close() {
        CLIENT.close();
    }

    private static CosmosAsyncContainer async(CosmosContainer container) {
        return CLIENT.getDatabase(Server.DATABASE.getId()).getContainer(container.getId());
    }

    private static CosmosContainer leases() {
        return Server.container(new CosmosContainerProperties(Server.unique("leases"), "/id"));
    }

    private static ChangeFeedProcessorBuilder builder(String host, CosmosContainer feed, CosmosContainer leases) {
        ChangeFeedProcessorOptions options = new ChangeFeedProcessorOptions()
                .setFeedPollDelay(Duration.ofMillis(200))
                .setLeaseAcquireInterval(Duration.ofSeconds(1))
                .setLeaseRenewInterval(Duration.ofSeconds(1))
                .setLeaseExpirationInterval(Duration.ofSeconds(6))
                .setMaxItemCount(10);
        return new ChangeFeedProcessorBuilder()
                .hostName(host)
                .feedContainer(async(feed))
                .leaseContainer(async(leases))
                .options(options.setStartFromBeginning(true));
    }

    private ChangeFeedProcessor start(ChangeFeedProcessorBuilder builder) {
        ChangeFeedProcessor processor = builder.buildChangeFeedProcessor();
        processor.start().block();
        running.add(processor);
        return processor;
    }

    private void stop(ChangeFeedProcessor processor) {
        // The position of the last batch is written after the batch was handed over.
        pause(2000);
        running.remove(processor);
        processor.stop().block();
        // A poll that is under way still hands over what it finds.
        pause(3000);
    }

    private ChangeFeedProcessor latest(String host, CosmosContainer feed, CosmosContainer leases, Queue<String> seen) {
        return start(builder(host, feed, leases).handleLatestVersionChanges(
                items -> items.forEach(item -> seen.add(item.getCurrent().get("id").asText()))));
    }

    private static void until(String what, BooleanSupplier claim) {
        long end = System.nanoTime() + PATIENCE.toNanos();
        while (!claim.getAsBoolean()) {
            assertTrue(System.nanoTime() < end, what);
            pause(100);
        }
    }

    private static void pause(long millis) {
        try {
            Thread.sleep(millis);
        } catch (InterruptedException interrupted) {
            throw new IllegalStateException(interrupted);
        }
    }

    private static void fill(CosmosContainer container, String prefix, int n) {
        for (int i = 0; i < n; i++) {
            container.createItem(Server.item(prefix + i, "k" + i % 12));
        }
    }

    /** Nothing may come twice: a batch that is not followed by the next one comes for ever. */
    private static void sawEachOnce(Queue<String> seen, int n) {
        until("only " + seen.size() + " of " + n, () -> seen.size() >= n);
        pause(1500);
        assertEquals(n, seen.size(), "each change once: " + seen);
        assertEquals(n, new HashSet<>(seen).size());
    }

    @Test
    void latestVersionsComeOnceAndGoOnAfterARestart() {
        CosmosContainer feed = Server.container();
        CosmosContainer leases = leases();
        fill(feed, "a", 45);
        Queue<String> first = new ConcurrentLinkedQueue<>();
        ChangeFeedProcessor processor = latest("one", feed, leases, first);
        sawEachOnce(first, 45);
        fill(feed, "b", 5);
        sawEachOnce(first, 50);
        stop(processor);
        fill(feed, "c", 20);
        Queue<String> second = new ConcurrentLinkedQueue<>();
        latest("one", feed, leases, second);
        sawEachOnce(second, 20);
        assertTrue(second.stream().allMatch(id -> id.startsWith("c")));
    }

    @Test
    void metadataOfLatestVersions() {
        CosmosContainer feed = Server.container();
        feed.createItem(Server.item("1", "a").put("v", 1));
        feed.upsertItem(Server.item("1", "a").put("v", 2));
        Queue<ChangeFeedProcessorItem> seen = new ConcurrentLinkedQueue<>();
        start(builder("one", feed, leases()).handleLatestVersionChanges(seen::addAll));
        until("no change", () -> !seen.isEmpty());
        ChangeFeedProcessorItem item = seen.peek();
        assertEquals(2, item.getCurrent().get("v").asInt());
        assertTrue(item.getChangeFeedMetaData().getLogSequenceNumber() > 0);
        assertTrue(item.getChangeFeedMetaData().getConflictResolutionTimestamp().getEpochSecond() > 0);
    }

    @Test
    void leasesByRangesComeOnceAndGoOnAfterARestart() {
        CosmosContainer feed = Server.container();
        CosmosContainer leases = leases();
        fill(feed, "a", 30);
        Queue<String> seen = new ConcurrentLinkedQueue<>();
        ChangeFeedProcessor first = start(byRanges(feed, leases, seen));
        sawEachOnce(seen, 30);
        stop(first);
        fill(feed, "b", 7);
        start(byRanges(feed, leases, seen));
        sawEachOnce(seen, 37);
    }

    private ChangeFeedProcessorBuilder byRanges(CosmosContainer feed, CosmosContainer leases, Queue<String> seen) {
        return builder("one", feed, leases)
                .handleChanges((List<JsonNode> items) -> items.forEach(item -> seen.add(item.get("id").asText())));
    }

    @Test
    void allVersionsAndDeletesComeOnceAndGoOnAfterARestart() {
        CosmosContainerProperties properties = new CosmosContainerProperties(Server.unique("c"), "/pk");
        properties.setChangeFeedPolicy(ChangeFeedPolicy.createAllVersionsAndDeletesPolicy(Duration.ofMinutes(10)));
        CosmosContainer feed = Server.container(properties);
        CosmosContainer leases = leases();
        Queue<String> seen = new ConcurrentLinkedQueue<>();
        ChangeFeedProcessor first = start(allVersions(feed, leases, seen));
        // Such a feed begins now: each range is asked once before there is something to see.
        pause(4000);
        feed.createItem(Server.item("1", "a").put("v", 1));
        feed.upsertItem(Server.item("1", "a").put("v", 2));
        feed.deleteItem("1", new PartitionKey("a"), null);
        until("only " + seen, () -> seen.size() >= 3);
        assertEquals(List.of("CREATE 1", "REPLACE 2", "DELETE"), List.copyOf(seen));
        // Until the lease has its position, a restart tells the same again.
        pause(1500);
        stop(first);
        feed.createItem(Server.item("2", "b").put("v", 3));
        start(allVersions(feed, leases, seen));
        until("only " + seen, () -> seen.size() >= 4);
        pause(1500);
        assertEquals(List.of("CREATE 1", "REPLACE 2", "DELETE", "CREATE 3"), List.copyOf(seen));
    }

    private ChangeFeedProcessorBuilder allVersions(CosmosContainer feed, CosmosContainer leases, Queue<String> seen) {
        return builder("one", feed, leases)
                .options(new ChangeFeedProcessorOptions()
                        .setFeedPollDelay(Duration.ofMillis(200))
                        .setLeaseAcquireInterval(Duration.ofSeconds(1)))
                .handleAllVersionsAndDeletesChanges(items -> {
                    for (ChangeFeedProcessorItem item : items) {
                        JsonNode current = item.getCurrent();
                        String value = current != null && current.has("v") ? " " + current.get("v") : "";
                        seen.add(item.getChangeFeedMetaData().getOperationType() + value);
                    }
                });
    }

    @Test
    void twoWorkersShareTheRangesAndOneTakesOver() {
        CosmosContainer feed = Server.container();
        CosmosContainer leases = leases();
        fill(feed, "a", 60);
        Queue<String> one = new ConcurrentLinkedQueue<>();
        Queue<String> two = new ConcurrentLinkedQueue<>();
        ChangeFeedProcessor first = latest("one", feed, leases, one);
        latest("two", feed, leases, two);
        until("not all seen", () -> ids(one, two).size() == 60);
        if (Server.MIN_PARTITIONS > 1) {
            until("one worker owns all", () -> owners(leases).size() == 2);
        }
        stop(first);
        one.clear();
        two.clear();
        fill(feed, "b", 24);
        until("not all taken over", () -> ids(two).stream().filter(id -> id.startsWith("b")).count() == 24);
        assertTrue(one.isEmpty());
    }

    @SafeVarargs
    private static Set<String> ids(Queue<String>... queues) {
        Set<String> ids = new HashSet<>();
        for (Queue<String> queue : queues) {
            ids.addAll(queue);
        }
        return ids;
    }

    private static Set<String> owners(CosmosContainer leases) {
        Set<String> owners = new HashSet<>();
        leases.queryItems("SELECT * FROM c WHERE IS_DEFINED(c.Owner)", null, JsonNode.class)
                .forEach(lease -> owners.add(lease.get("Owner").asText()));
        return owners;
    }
}
