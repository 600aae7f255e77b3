package orrery;

import static org.junit.jupiter.api.Assertions.assertEquals;

import com.azure.cosmos.CosmosContainer;
import com.azure.cosmos.models.CosmosContainerProperties;
import com.azure.cosmos.models.CosmosFullTextIndex;
import com.azure.cosmos.models.CosmosFullTextPath;
import com.azure.cosmos.models.CosmosFullTextPolicy;
import com.azure.cosmos.models.CosmosQueryRequestOptions;
import com.azure.cosmos.models.CosmosVectorDataType;
import com.azure.cosmos.models.CosmosVectorDistanceFunction;
import com.azure.cosmos.models.CosmosVectorEmbedding;
import com.azure.cosmos.models.CosmosVectorEmbeddingPolicy;
import com.azure.cosmos.models.CosmosVectorIndexSpec;
import com.azure.cosmos.models.CosmosVectorIndexType;
import com.azure.cosmos.models.ExcludedPath;
import com.azure.cosmos.models.IncludedPath;
import com.azure.cosmos.models.IndexingPolicy;
import com.azure.cosmos.models.PartitionKey;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import java.util.function.Predicate;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

/** Vector, full-text and hybrid search through the SDK, against rankings worked out here. */
class SearchTest {
    private static final double[] TARGET = {0.5, -0.25, 1.0, 0.125};
    private static final String VECTOR = Arrays.toString(TARGET);
    private static final List<ObjectNode> ITEMS = IntStream.range(0, 24).mapToObj(SearchTest::make).toList();
    private static final CosmosContainer LIBRARY = fill();

    /** Item n: a vector, and a text of constant length that says "comet" once more than the item before. */
    private static ObjectNode make(int n) {
        ObjectNode item = Server.item(String.format("%02d", n), "key" + n % 5).put("n", n);
        ArrayNode vector = item.putArray("v");
        for (int axis = 0; axis < TARGET.length; axis++) {
            vector.add(Math.sin(n * 0.7 + axis) * (1 + n % 3));
        }
        int said = n % 12 + 1;
        List<String> words = new ArrayList<>();
        for (int k = 0; k < 24; k++) {
            words.add(k < said ? "comet" : "filler" + (k - said));
        }
        if (n % 2 == 1) {
            words.set(23, "harbour");
        }
        return item.put("text", String.join(" ", words)).put("said", said);
    }

    private static CosmosContainer fill() {
        CosmosContainerProperties properties = new CosmosContainerProperties(Server.unique("library"), "/pk");
        CosmosVectorIndexSpec index = new CosmosVectorIndexSpec();
        index.setPath("/v");
        index.setType(CosmosVectorIndexType.FLAT.toString());
        properties.setIndexingPolicy(new IndexingPolicy()
                .setIncludedPaths(List.of(new IncludedPath("/*")))
                .setExcludedPaths(List.of(new ExcludedPath("/\"_etag\"/?")))
                .setVectorIndexes(List.of(index))
                .setCosmosFullTextIndexes(List.of(new CosmosFullTextIndex().setPath("/text"))));
        CosmosVectorEmbedding embedding = new CosmosVectorEmbedding();
        embedding.setPath("/v");
        embedding.setDataType(CosmosVectorDataType.FLOAT32);
        embedding.setEmbeddingDimensions(TARGET.length);
        embedding.setDistanceFunction(CosmosVectorDistanceFunction.EUCLIDEAN);
        CosmosVectorEmbeddingPolicy vectors = new CosmosVectorEmbeddingPolicy();
        vectors.setCosmosVectorEmbeddings(List.of(embedding));
        properties.setVectorEmbeddingPolicy(vectors);
        properties.setFullTextPolicy(new CosmosFullTextPolicy().setDefaultLanguage("en-US")
                .setPaths(List.of(new CosmosFullTextPath().setPath("/text").setLanguage("en-US"))));
        CosmosContainer container = Server.container(properties);
        ITEMS.forEach(container::createItem);
        return container;
    }

    private static double distance(JsonNode item) {
        double sum = 0;
        for (int axis = 0; axis < TARGET.length; axis++) {
            sum += Math.pow(item.get("v").get(axis).asDouble() - TARGET[axis], 2);
        }
        return Math.sqrt(sum);
    }

    private static List<JsonNode> ask(String text, CosmosQueryRequestOptions options) {
        return LIBRARY.queryItems(text, options, JsonNode.class).stream().toList();
    }

    private static List<JsonNode> ask(String text) {
        return ask(text, new CosmosQueryRequestOptions());
    }

    private static List<String> ids(List<? extends JsonNode> rows) {
        return rows.stream().map(row -> row.get("id").asText()).toList();
    }

    private static List<ObjectNode> where(Predicate<ObjectNode> condition) {
        return ITEMS.stream().filter(condition).toList();
    }

    private static List<ObjectNode> nearest(List<ObjectNode> items) {
        return items.stream().sorted(Comparator.comparing(SearchTest::distance)).toList();
    }

    @Test
    void nearestVectorsComeFirst() {
        List<JsonNode> found = ask("SELECT TOP 7 c.id, VectorDistance(c.v, " + VECTOR + ") AS d FROM c "
                + "ORDER BY VectorDistance(c.v, " + VECTOR + ")");
        List<ObjectNode> expected = nearest(ITEMS).subList(0, 7);
        assertEquals(ids(expected), ids(found));
        for (int at = 0; at < found.size(); at++) {
            assertEquals(distance(expected.get(at)), found.get(at).get("d").asDouble(), 1e-5);
        }
    }

    @Test
    void vectorsAreSearchedInOnePartitionWithAFilter() {
        CosmosQueryRequestOptions options = new CosmosQueryRequestOptions().setPartitionKey(new PartitionKey("key2"));
        List<JsonNode> found = ask("SELECT TOP 3 c.id FROM c WHERE c.n > 5 ORDER BY VectorDistance(c.v, " + VECTOR + ")", options);
        List<ObjectNode> inside = where(it -> it.get("pk").asText().equals("key2") && it.get("n").asInt() > 5);
        assertEquals(ids(nearest(inside).subList(0, 3)), ids(found));
    }

    @Test
    void wordsAreFound() {
        Predicate<ObjectNode> harbour = it -> it.get("text").asText().contains("harbour");
        List<String> found = ids(ask("SELECT c.id FROM c WHERE FullTextContains(c.text, 'harbour')"));
        assertEquals(ids(where(harbour)), found.stream().sorted().toList());
        found = ids(ask("SELECT c.id FROM c WHERE FullTextContainsAll(c.text, 'harbour', 'filler20')"));
        List<ObjectNode> both = where(harbour.and(it -> List.of(it.get("text").asText().split(" ")).contains("filler20")));
        assertEquals(ids(both), found.stream().sorted().toList());
    }

    @Test
    void textsAreRanked() {
        List<Integer> found = ask("SELECT TOP 8 c.said FROM c ORDER BY RANK FullTextScore(c.text, 'comet')")
                .stream().map(row -> row.get("said").asInt()).toList();
        List<Integer> expected = ITEMS.stream().map(it -> it.get("said").asInt())
                .sorted(Comparator.reverseOrder()).limit(8).toList();
        assertEquals(expected, found);
    }

    @Test
    void ranksAreFused() {
        List<ObjectNode> half = where(it -> it.get("n").asInt() < 12);
        List<String> byVector = ids(nearest(half));
        List<String> byText = ids(half.stream().sorted(Comparator.comparing(it -> -it.get("said").asInt())).toList());
        List<String> found = ids(ask("SELECT TOP 12 c.id FROM c WHERE c.n < 12 "
                + "ORDER BY RANK RRF(FullTextScore(c.text, 'comet'), VectorDistance(c.v, " + VECTOR + "))"));
        assertEquals(ids(half), found.stream().sorted().toList());
        List<Double> scores = found.stream()
                .map(id -> Math.rint(1e9 * (1.0 / (61 + byVector.indexOf(id)) + 1.0 / (61 + byText.indexOf(id))))).toList();
        assertEquals(scores.stream().sorted(Comparator.reverseOrder()).toList(), scores);
    }
}
