package orrery;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.azure.cosmos.CosmosContainer;
import com.azure.cosmos.models.CompositePath;
import com.azure.cosmos.models.CompositePathSortOrder;
import com.azure.cosmos.models.CosmosContainerProperties;
import com.azure.cosmos.models.CosmosItemIdentity;
import com.azure.cosmos.models.CosmosQueryRequestOptions;
import com.azure.cosmos.models.ExcludedPath;
import com.azure.cosmos.models.FeedResponse;
import com.azure.cosmos.models.IncludedPath;
import com.azure.cosmos.models.IndexingPolicy;
import com.azure.cosmos.models.PartitionKey;
import com.azure.cosmos.models.PartitionKeyBuilder;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.ArrayList;
import java.util.Collections;
import java.util.Comparator;
import java.util.List;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

/** Ordering, grouping, aggregates and paging through the SDK, against answers worked out here. */
class QueryLanguageTest {
    private static final List<ObjectNode> ITEMS = IntStream.range(0, 60).mapToObj(QueryLanguageTest::make).toList();
    private static final List<ObjectNode> OF_KEY_3 = ITEMS.stream().filter(it -> it.get("pk").asText().equals("key3")).toList();
    /** One container for all tests here, which only read. */
    private static final CosmosContainer RICH = fill();

    /** A part of the data, and the options that ask for it. */
    private record Scope(String key, List<ObjectNode> items) {
        CosmosQueryRequestOptions options() {
            CosmosQueryRequestOptions options = new CosmosQueryRequestOptions();
            return key == null ? options : options.setPartitionKey(new PartitionKey(key));
        }

        List<JsonNode> ask(String text) {
            return RICH.queryItems(text, options(), JsonNode.class).stream().toList();
        }
    }

    private static final List<Scope> SCOPES = List.of(new Scope(null, ITEMS), new Scope("key3", OF_KEY_3));

    /** Item n; `mixed` has every type that can be a sort key, and is missing now and then. */
    private static ObjectNode make(int n) {
        ObjectNode item = Server.item(String.format("%03d", n), "key" + n % 7)
                .put("n", n).put("team", "t" + n % 4).put("a", n % 5).put("b", n * 17 % 60);
        switch (n % 6) {
            case 0 -> item.putNull("mixed");
            case 1 -> item.put("mixed", n % 4 == 1);
            case 2 -> item.put("mixed", n / 4.0);
            case 3 -> item.put("mixed", String.format("text%02d", n));
            case 4 -> item.put("mixed", -n);
            default -> { }
        }
        return item;
    }

    private static CompositePath path(String path, CompositePathSortOrder order) {
        return new CompositePath().setPath(path).setOrder(order);
    }

    private static CosmosContainer fill() {
        CosmosContainerProperties properties = new CosmosContainerProperties(Server.unique("rich"), "/pk");
        CompositePath a = path("/a", CompositePathSortOrder.ASCENDING);
        properties.setIndexingPolicy(new IndexingPolicy()
                .setIncludedPaths(List.of(new IncludedPath("/*")))
                .setExcludedPaths(List.of(new ExcludedPath("/\"_etag\"/?")))
                .setCompositeIndexes(List.of(
                        List.of(a, path("/b", CompositePathSortOrder.DESCENDING)),
                        List.of(a, path("/b", CompositePathSortOrder.ASCENDING)))));
        CosmosContainer container = Server.container(properties);
        ITEMS.forEach(container::createItem);
        return container;
    }

    private static List<String> ids(List<? extends JsonNode> rows) {
        return rows.stream().map(row -> row.get("id").asText()).toList();
    }

    private static List<String> ids(List<ObjectNode> items, Comparator<ObjectNode> order) {
        return ids(items.stream().sorted(order).toList());
    }

    private static Comparator<ObjectNode> by(String name) {
        return Comparator.comparing(item -> item.get(name).asInt());
    }

    @Test
    void ordersByOneKey() {
        for (Scope scope : SCOPES) {
            assertEquals(ids(scope.items, by("b")), ids(scope.ask("SELECT * FROM c ORDER BY c.b")));
            assertEquals(ids(scope.items, by("b").reversed()), ids(scope.ask("SELECT c.id FROM c ORDER BY c.b DESC")));
            List<ObjectNode> some = scope.items.stream().filter(it -> it.get("n").asInt() >= 20).toList();
            assertEquals(ids(some, by("b")), ids(scope.ask("SELECT * FROM c WHERE c.n >= 20 ORDER BY c.b")));
        }
    }

    /** Where `mixed` sorts: by type, then by value. */
    private static int type(JsonNode item) {
        JsonNode value = item.get("mixed");
        if (value == null) {
            return 0;
        }
        return value.isNull() ? 1 : value.isBoolean() ? 2 : value.isNumber() ? 3 : 4;
    }

    private static int compareMixed(JsonNode left, JsonNode right) {
        int types = Integer.compare(type(left), type(right));
        if (types != 0 || type(left) < 2) {
            return types;
        }
        JsonNode a = left.get("mixed");
        JsonNode b = right.get("mixed");
        return switch (type(left)) {
            case 2 -> Boolean.compare(a.asBoolean(), b.asBoolean());
            case 3 -> Double.compare(a.asDouble(), b.asDouble());
            default -> a.asText().compareTo(b.asText());
        };
    }

    @Test
    void typesComeBeforeValues() {
        for (Scope scope : SCOPES) {
            List<JsonNode> found = scope.ask("SELECT * FROM c ORDER BY c.mixed");
            assertEquals(scope.items.size(), found.size());
            for (int at = 1; at < found.size(); at++) {
                assertTrue(compareMixed(found.get(at - 1), found.get(at)) <= 0, found.get(at - 1) + " " + found.get(at));
            }
        }
    }

    @Test
    void ordersBySeveralKeys() {
        for (Scope scope : SCOPES) {
            Comparator<ObjectNode> mixed = by("a").thenComparing(by("b").reversed());
            assertEquals(ids(scope.items, mixed), ids(scope.ask("SELECT * FROM c ORDER BY c.a ASC, c.b DESC")));
            assertEquals(ids(scope.items, mixed.reversed()), ids(scope.ask("SELECT * FROM c ORDER BY c.a DESC, c.b ASC")));
            Comparator<ObjectNode> both = by("a").thenComparing(by("b"));
            assertEquals(ids(scope.items, both), ids(scope.ask("SELECT * FROM c ORDER BY c.a, c.b")));
        }
        Server.fails(400, () -> SCOPES.get(1).ask("SELECT * FROM c ORDER BY c.n, c.b"));
    }

    @Test
    void offsetLimitAndTopCut() {
        for (Scope scope : SCOPES) {
            List<Integer> down = new ArrayList<>(scope.items.stream().map(it -> it.get("n").asInt()).toList());
            down.sort(Collections.reverseOrder());
            List<Integer> cut = numbers(scope.ask("SELECT VALUE c.n FROM c ORDER BY c.n DESC OFFSET 2 LIMIT 4"));
            assertEquals(down.subList(2, 6), cut);
            assertEquals(down.subList(0, 5), numbers(scope.ask("SELECT TOP 5 VALUE c.n FROM c ORDER BY c.n DESC")));
            assertEquals(3, scope.ask("SELECT TOP 3 * FROM c").size());
            assertEquals(3, scope.ask("SELECT * FROM c OFFSET 1 LIMIT 3").size());
        }
    }

    private static List<Integer> numbers(List<JsonNode> rows) {
        return rows.stream().map(JsonNode::asInt).toList();
    }

    @Test
    void distinctValuesComeOnce() {
        for (Scope scope : SCOPES) {
            TreeSet<String> teams = new TreeSet<>(scope.items.stream().map(it -> it.get("team").asText()).toList());
            List<String> found = scope.ask("SELECT DISTINCT VALUE c.team FROM c").stream().map(JsonNode::asText).sorted().toList();
            assertEquals(List.copyOf(teams), found);
            List<String> ordered = scope.ask("SELECT DISTINCT VALUE c.team FROM c ORDER BY c.team")
                    .stream().map(JsonNode::asText).toList();
            assertEquals(List.copyOf(teams), ordered);
        }
    }

    @Test
    void aggregatesAddUp() {
        for (Scope scope : SCOPES) {
            int[] n = scope.items.stream().mapToInt(it -> it.get("n").asInt()).toArray();
            int sum = IntStream.of(n).sum();
            assertEquals(n.length, scope.ask("SELECT VALUE COUNT(1) FROM c").get(0).asInt());
            assertEquals(sum, scope.ask("SELECT VALUE SUM(c.n) FROM c").get(0).asInt());
            assertEquals((double) sum / n.length, scope.ask("SELECT VALUE AVG(c.n) FROM c").get(0).asDouble(), 1e-9);
            assertEquals(IntStream.of(n).min().getAsInt(), scope.ask("SELECT VALUE MIN(c.n) FROM c").get(0).asInt());
            assertEquals(IntStream.of(n).max().getAsInt(), scope.ask("SELECT VALUE MAX(c.n) FROM c").get(0).asInt());
            long defined = scope.items.stream().filter(it -> it.has("mixed")).count();
            assertEquals(defined, scope.ask("SELECT VALUE COUNT(c.mixed) FROM c").get(0).asLong());
        }
    }

    @Test
    void groupsAddUp() {
        for (Scope scope : SCOPES) {
            TreeMap<String, List<Integer>> expected = new TreeMap<>();
            for (ObjectNode item : scope.items) {
                List<Integer> group = expected.computeIfAbsent(item.get("team").asText(), team -> new ArrayList<>(List.of(0, 0)));
                group.set(0, group.get(0) + 1);
                group.set(1, group.get(1) + item.get("n").asInt());
            }
            TreeMap<String, List<Integer>> found = new TreeMap<>();
            for (JsonNode row : scope.ask("SELECT c.team, COUNT(1) AS n, SUM(c.n) AS s FROM c GROUP BY c.team")) {
                found.put(row.get("team").asText(), List.of(row.get("n").asInt(), row.get("s").asInt()));
            }
            assertEquals(expected, found);
        }
    }

    @Test
    void orderedPagesResumeFromTheirToken() {
        for (Scope scope : SCOPES) {
            for (String direction : List.of("ASC", "DESC")) {
                List<String> found = new ArrayList<>();
                String token = null;
                do {
                    // Every page by a query of its own, as a web page would do it.
                    FeedResponse<JsonNode> page = RICH
                            .queryItems("SELECT * FROM c ORDER BY c.b " + direction, scope.options(), JsonNode.class)
                            .iterableByPage(token, 7).iterator().next();
                    assertTrue(page.getResults().size() <= 7);
                    found.addAll(ids(page.getResults()));
                    token = page.getContinuationToken();
                } while (token != null);
                Comparator<ObjectNode> order = direction.equals("ASC") ? by("b") : by("b").reversed();
                assertEquals(ids(scope.items, order), found);
            }
        }
    }

    @Test
    void plainPagesResumeFromTheirToken() {
        List<String> found = new ArrayList<>();
        String token = null;
        do {
            FeedResponse<JsonNode> page = RICH.queryItems("SELECT * FROM c", SCOPES.get(0).options(), JsonNode.class)
                    .iterableByPage(token, 4).iterator().next();
            found.addAll(ids(page.getResults()));
            token = page.getContinuationToken();
        } while (token != null);
        Collections.sort(found);
        assertEquals(ids(ITEMS), found);
    }

    @Test
    void aPrefixOfAHierarchicalKeyOrdersAndCounts() {
        CosmosContainer container = Server.container(Server.hierarchical("/tenant", "/user", "/session"));
        List<ObjectNode> items = IntStream.range(0, 24).mapToObj(n -> Server.JSON.createObjectNode()
                .put("id", String.format("%02d", n)).put("tenant", "t" + n % 2).put("user", "u" + n % 3)
                .put("session", "s" + n).put("n", n * 7 % 24)).toList();
        items.forEach(container::createItem);
        for (List<String> prefix : List.of(List.of("t1"), List.of("t1", "u2"))) {
            PartitionKeyBuilder key = new PartitionKeyBuilder();
            prefix.forEach(key::add);
            CosmosQueryRequestOptions options = new CosmosQueryRequestOptions().setPartitionKey(key.build());
            List<ObjectNode> inside = items.stream().filter(it -> it.get("tenant").asText().equals("t1")
                    && (prefix.size() == 1 || it.get("user").asText().equals("u2"))).toList();
            List<JsonNode> found =
                    container.queryItems("SELECT * FROM c ORDER BY c.n", options, JsonNode.class).stream().toList();
            assertEquals(ids(inside, by("n")), ids(found));
            List<Integer> count = container.queryItems("SELECT VALUE COUNT(1) FROM c", options, Integer.class).stream().toList();
            assertEquals(List.of(inside.size()), count);
        }
    }

    @Test
    void manyItemsAreReadAtOnce() {
        List<ObjectNode> wanted = ITEMS.stream().filter(it -> it.get("n").asInt() % 2 == 0).toList();
        List<CosmosItemIdentity> identities = wanted.stream()
                .map(it -> new CosmosItemIdentity(new PartitionKey(it.get("pk").asText()), it.get("id").asText())).toList();
        FeedResponse<JsonNode> found = RICH.readMany(identities, JsonNode.class);
        assertEquals(ids(wanted), ids(found.getResults()).stream().sorted().toList());
    }
}
