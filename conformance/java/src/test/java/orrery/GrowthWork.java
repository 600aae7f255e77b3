package orrery;

import static org.junit.jupiter.api.Assertions.assertEquals;

import com.azure.cosmos.CosmosContainer;
import com.azure.cosmos.CosmosException;
import com.azure.cosmos.models.CosmosBatch;
import com.azure.cosmos.models.CosmosBatchResponse;
import com.azure.cosmos.models.CosmosChangeFeedRequestOptions;
import com.azure.cosmos.models.CosmosItemRequestOptions;
import com.azure.cosmos.models.CosmosItemResponse;
import com.azure.cosmos.models.CosmosPatchOperations;
import com.azure.cosmos.models.CosmosQueryRequestOptions;
import com.azure.cosmos.models.FeedRange;
import com.azure.cosmos.models.FeedResponse;
import com.azure.cosmos.models.PartitionKey;
import com.fasterxml.jackson.databind.JsonNode;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentSkipListMap;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.IntStream;

/**
 * What goes on while the ranges of a container move; every worker checks what it sees as it goes. A worker that gets
 * an error ends the test: the SDK's own retries are all the help an application has while its container grows.
 */
final class GrowthWork {
    private static final int KEYS = 48;
    private static final int FIXED_ITEMS = 240;

    /** What the service said of an item that must exist. */
    record Acknowledged(String key, int version, String token) {}

    private final CosmosContainer container;
    private final CosmosContainer other;
    private final Map<String, Acknowledged> live = new ConcurrentSkipListMap<>();
    private final Map<String, Integer> seen = new HashMap<>();
    final AtomicInteger written = new AtomicInteger();
    final AtomicInteger reads = new AtomicInteger();
    final AtomicInteger pages = new AtomicInteger();
    final AtomicInteger changes = new AtomicInteger();
    volatile boolean isOver;
    volatile boolean isMerging;

    /** The other is the same container through another client, with a session of its own. */
    GrowthWork(CosmosContainer container, CosmosContainer other) {
        this.container = container;
        this.other = other;
    }

    private static PartitionKey key(String value) {
        return new PartitionKey(value);
    }

    void fill() {
        IntStream.range(0, FIXED_ITEMS).parallel().forEach(rank ->
                container.createItem(Server.item("f" + rank, "k" + rank % KEYS).put("fixed", true).put("rank", rank)));
    }

    /** One writer's life: every kind of write, on items that are its own. */
    void write(int writer) {
        for (int n = 0; !isOver; n++) {
            String id = "w" + writer + "-" + n;
            String key = "k" + (n * 31 + writer * 7) % KEYS;
            lifeOfAnItem(id, key, n % 3 != 0);
            batch(id, key);
        }
    }

    private void lifeOfAnItem(String id, String key, boolean isKept) {
        put(id, key, 1, container.createItem(Server.item(id, key).put("version", 1)));
        put(id, key, 2, container.upsertItem(Server.item(id, key).put("version", 2)));
        put(id, key, 3, container.replaceItem(Server.item(id, key).put("version", 3), id, key(key), null));
        CosmosPatchOperations increment = CosmosPatchOperations.create().increment("/version", 1L);
        CosmosItemResponse<JsonNode> patched = container.patchItem(id, key(key), increment, JsonNode.class);
        assertEquals(4, patched.getItem().get("version").asInt(), id + " was patched from another version");
        put(id, key, 4, patched);
        if (!isKept) {
            live.remove(id); // Readers stop looking before it goes.
            container.deleteItem(id, key(key), null);
            written.incrementAndGet();
        }
    }

    private void batch(String id, String key) {
        CosmosBatch batch = CosmosBatch.createCosmosBatch(key(key));
        for (int n = 0; n < 3; n++) {
            batch.createItemOperation(Server.item(id + "-b" + n, key).put("version", 1));
        }
        batch.upsertItemOperation(Server.item(id + "-b0", key).put("version", 2));
        CosmosBatchResponse response = container.executeCosmosBatch(batch);
        List<Integer> statuses = response.getResults().stream().map(it -> it.getStatusCode()).toList();
        assertEquals(List.of(201, 201, 201, 200), statuses, "batch of " + id);
        for (int n = 0; n < 3; n++) {
            put(id + "-b" + n, key, n == 0 ? 2 : 1, response.getSessionToken());
        }
    }

    private void put(String id, String key, int version, CosmosItemResponse<?> response) {
        put(id, key, version, response.getSessionToken());
    }

    private void put(String id, String key, int version, String token) {
        live.put(id, new Acknowledged(key, version, token));
        written.incrementAndGet();
    }

    /** Reads what was acknowledged: by the writers' session, or with the token of the write in another one. */
    void read(boolean isOwn) {
        for (int n = 0; !isOver; n++) {
            List<String> ids = List.copyOf(live.keySet());
            String id = ids.isEmpty() ? "" : ids.get((int) (n * 7919L % ids.size()));
            Acknowledged item = live.get(id);
            if (item == null) {
                pause(5);
                continue;
            }
            CosmosItemRequestOptions options = new CosmosItemRequestOptions();
            if (!isOwn) {
                options.setSessionToken(item.token());
            }
            int version;
            try {
                CosmosContainer reader = isOwn ? container : other;
                version = reader.readItem(id, key(item.key()), options, JsonNode.class)
                        .getItem().get("version").asInt();
            } catch (CosmosException error) {
                // It may have been deleted meanwhile, and only then be missing.
                if (error.getStatusCode() == 404 && !live.containsKey(id)) {
                    continue;
                }
                throw error;
            }
            Server.check(version >= item.version(), id + ": " + version + " after " + item.version());
            reads.incrementAndGet();
        }
    }

    /** The fixed items over all ranges: all of them, once, in order, however the ranges move. */
    void queryInOrder() {
        List<Integer> expected = IntStream.range(0, FIXED_ITEMS).boxed().toList();
        for (int n = 0; !isOver; n++) {
            checkRanks(expected, new CosmosQueryRequestOptions(), 25, n % 2 == 0, "all ranges");
        }
    }

    /** One logical partition. */
    void queryOneKey() {
        for (int n = 0; !isOver; n++) {
            int number = n * 17 % KEYS;
            CosmosQueryRequestOptions options = new CosmosQueryRequestOptions();
            options.setPartitionKey(key("k" + number));
            List<Integer> expected =
                    IntStream.range(0, FIXED_ITEMS).filter(rank -> rank % KEYS == number).boxed().toList();
            checkRanks(expected, options, 2, n % 2 == 0, "k" + number);
        }
    }

    /**
     * Resumed with a token of a range that was merged since, this SDK asks the new range twice: for the part that the
     * token names, and whole as one of those beside it. Its rows come twice, whatever the service answers.
     */
    private void checkRanks(
            List<Integer> expected, CosmosQueryRequestOptions options, int size, boolean isResumed, String what) {
        List<Integer> ranks = ranks(options, size, isResumed);
        if (!(isResumed && isMerging)) {
            assertEquals(expected, ranks, what);
        }
    }

    /** Page by page, each by a new query, so that only the token carries over, or all by one. */
    private List<Integer> ranks(CosmosQueryRequestOptions options, int size, boolean isResumed) {
        String text = "SELECT c.id, c.rank FROM c WHERE c.fixed = true ORDER BY c.rank";
        List<Integer> ranks = new ArrayList<>();
        String token = null;
        do {
            for (FeedResponse<JsonNode> page :
                    container.queryItems(text, options, JsonNode.class).iterableByPage(token, size)) {
                page.getResults().forEach(row -> ranks.add(row.get("rank").asInt()));
                token = page.getContinuationToken();
                pages.incrementAndGet();
                pause(20);
                if (isResumed) {
                    break;
                }
            }
        } while (isResumed && token != null);
        return ranks;
    }

    /** Follows the change feed from the beginning; stops when the writers have and nothing is new. */
    void follow() {
        CosmosChangeFeedRequestOptions options =
                CosmosChangeFeedRequestOptions.createForProcessingFromBeginning(FeedRange.forFullRange());
        while (true) {
            boolean isLast = isOver;
            boolean isNew = false;
            try {
                for (FeedResponse<JsonNode> page : other.queryChangeFeed(options, JsonNode.class).iterableByPage()) {
                    // A new reader goes on from here: only the token carries over.
                    String token = page.getContinuationToken();
                    options = CosmosChangeFeedRequestOptions.createForProcessingFromContinuation(token);
                    if (page.getResults().isEmpty()) {
                        break;
                    }
                    isNew = true;
                    page.getResults().forEach(this::see);
                }
            } catch (CosmosException gone) {
                // In direct mode the SDK gives up when a second range goes while it asks for one page.
                if (!Server.IS_DIRECT || gone.getStatusCode() != 410) {
                    throw gone;
                }
                isNew = true;
            }
            if (isLast && !isNew) {
                return;
            }
            pause(20);
        }
    }

    private void see(JsonNode item) {
        changes.incrementAndGet();
        String id = item.get("id").asText();
        int version = item.path("version").asInt(0);
        Integer before = seen.put(id, version);
        Server.check(before == null || version > before, id + ": version " + version + " in the feed after " + before);
    }

    /** At the end: the container, the change feed and the ledger agree. */
    void check() {
        String text = "SELECT c.id, c.version FROM c WHERE NOT IS_DEFINED(c.fixed)";
        Map<String, Integer> stored = new TreeMap<>();
        for (JsonNode row : container.queryItems(text, new CosmosQueryRequestOptions(), JsonNode.class)) {
            Integer twice = stored.put(row.get("id").asText(), row.get("version").asInt());
            Server.check(twice == null, row.get("id") + " is stored twice");
        }
        Map<String, Integer> expected = new TreeMap<>();
        live.forEach((id, item) -> expected.put(id, item.version()));
        assertEquals(expected, stored);
        expected.forEach((id, version) -> assertEquals(version, seen.get(id), id + " in the change feed"));
    }

    static void pause(long milliseconds) {
        try {
            Thread.sleep(milliseconds);
        } catch (InterruptedException error) {
            throw new IllegalStateException(error);
        }
    }
}
