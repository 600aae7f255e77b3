package orrery;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.azure.cosmos.CosmosContainer;
import com.azure.cosmos.CosmosException;
import com.azure.cosmos.CosmosScripts;
import com.azure.cosmos.models.CosmosItemRequestOptions;
import com.azure.cosmos.models.CosmosQueryRequestOptions;
import com.azure.cosmos.models.CosmosStoredProcedureProperties;
import com.azure.cosmos.models.CosmosStoredProcedureRequestOptions;
import com.azure.cosmos.models.CosmosStoredProcedureResponse;
import com.azure.cosmos.models.CosmosTriggerProperties;
import com.azure.cosmos.models.CosmosUserDefinedFunctionProperties;
import com.azure.cosmos.models.PartitionKey;
import com.azure.cosmos.models.TriggerOperation;
import com.azure.cosmos.models.TriggerType;
import com.fasterxml.jackson.databind.JsonNode;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

/** Stored procedures, triggers and functions: kept, run, and failing as the service fails. */
class ScriptsTest {
    private static final PartitionKey A = new PartitionKey("a");

    private static void add(CosmosContainer container, String id, String body) {
        container.getScripts().createStoredProcedure(new CosmosStoredProcedureProperties(id, body));
    }

    private static CosmosStoredProcedureResponse run(CosmosContainer container, String id, Object... arguments) {
        CosmosStoredProcedureRequestOptions options = new CosmosStoredProcedureRequestOptions().setPartitionKey(A);
        return container.getScripts().getStoredProcedure(id).execute(Arrays.asList(arguments), options);
    }

    private static void trigger(CosmosContainer container, String id, TriggerType type, TriggerOperation operation, String body) {
        CosmosTriggerProperties properties = new CosmosTriggerProperties(id, body);
        container.getScripts().createTrigger(properties.setTriggerType(type).setTriggerOperation(operation));
    }

    @Test
    void scriptsAreCreatedReadListedReplacedAndDeleted() {
        CosmosScripts scripts = Server.container().getScripts();
        scripts.createStoredProcedure(new CosmosStoredProcedureProperties("p", "function () {}"));
        CosmosStoredProcedureProperties read = scripts.getStoredProcedure("p").read().getProperties();
        assertEquals("function () {}", read.getBody());
        scripts.getStoredProcedure("p").replace(read.setBody("function () { 1; }"));
        assertEquals("function () { 1; }", scripts.getStoredProcedure("p").read().getProperties().getBody());
        List<String> ids = scripts.readAllStoredProcedures().stream().map(CosmosStoredProcedureProperties::getId).toList();
        assertEquals(List.of("p"), ids);
        assertEquals(1, scripts.queryStoredProcedures(
                "SELECT * FROM r WHERE r.id = 'p'", new CosmosQueryRequestOptions()).stream().count());
        scripts.getStoredProcedure("p").delete();
        Server.fails(404, () -> scripts.getStoredProcedure("p").read());

        CosmosTriggerProperties trigger = new CosmosTriggerProperties("t", "function () {}")
                .setTriggerType(TriggerType.POST).setTriggerOperation(TriggerOperation.DELETE);
        scripts.createTrigger(trigger);
        assertEquals(TriggerOperation.DELETE, scripts.getTrigger("t").read().getProperties().getTriggerOperation());
        scripts.createUserDefinedFunction(new CosmosUserDefinedFunctionProperties("f", "function (x) { return x; }"));
        assertEquals("f", scripts.getUserDefinedFunction("f").read().getProperties().getId());
        Server.fails(409, () -> scripts.createUserDefinedFunction(
                new CosmosUserDefinedFunctionProperties("f", "function () {}")));
    }

    @Test
    void argumentsAndAnswersAreOfEveryType() throws Exception {
        CosmosContainer container = Server.container();
        add(container, "echo", "function (x) { getContext().getResponse().setBody(x); }");
        List<Object> values = new ArrayList<>(List.of(1, 1.5, "ü", true, List.of(1, List.of(2)), Map.of("a", Map.of("b", 1))));
        for (Object value : values) {
            String answer = run(container, "echo", value).getResponseAsString();
            assertEquals(Server.JSON.<JsonNode>valueToTree(value), Server.JSON.readTree(answer));
        }
        add(container, "count", "function () { __.response.setBody(arguments.length); }");
        assertEquals("3", run(container, "count", 1, 2, 3).getResponseAsString());
    }

    @Test
    void aProcedureWritesAllOrNothing() {
        CosmosContainer container = Server.container();
        add(container, "make", """
                function (items, fail) {
                    items.forEach(function (item) { __.createDocument(__.getSelfLink(), item); });
                    if (fail) throw new Error(fail);
                    __.response.setBody(items.length);
                }""");
        List<JsonNode> items = List.of(Server.item("1", "a"), Server.item("2", "a"));
        CosmosException error = Server.fails(400, () -> run(container, "make", items, "no luck"));
        assertTrue(error.getMessage().contains("no luck"), error.getMessage());
        Server.fails(404, () -> container.readItem("1", A, JsonNode.class));
        CosmosStoredProcedureResponse done = run(container, "make", items);
        assertEquals("2", done.getResponseAsString());
        assertTrue(done.getRequestCharge() > 10);
        Server.fails(409, () -> run(container, "make", List.of(Server.item("3", "a"), Server.item("1", "a"))));
        Server.fails(404, () -> container.readItem("3", A, JsonNode.class));
        Server.fails(400, () -> run(container, "make", List.of(Server.item("3", "elsewhere"))));
    }

    @Test
    void theLogComesWhenAsked() {
        CosmosContainer container = Server.container();
        add(container, "log", "function () { console.log('hello %s', 'you'); }");
        CosmosStoredProcedureRequestOptions options = new CosmosStoredProcedureRequestOptions()
                .setPartitionKey(A).setScriptLoggingEnabled(true);
        CosmosStoredProcedureResponse answer =
                container.getScripts().getStoredProcedure("log").execute(List.of(), options);
        assertEquals("hello you", answer.getScriptLog());
        Server.check(run(container, "log").getScriptLog() == null, "no log unless asked");
    }

    @Test
    void failuresCarryTheirNumbers() {
        CosmosContainer container = Server.container();
        add(container, "number", "function () { throw new Error(42, 'mine'); }");
        assertEquals(42, Server.fails(400, () -> run(container, "number")).getSubStatusCode());
        add(container, "typo", "function (");
        Server.fails(400, () -> run(container, "typo"));
        Server.fails(404, () -> run(container, "missing"));
    }

    @Test
    void triggersRunWhenTheyAreNamed() {
        CosmosContainer container = Server.container();
        trigger(container, "stamp", TriggerType.PRE, TriggerOperation.ALL, """
                function () {
                    var request = getContext().getRequest(), item = request.getBody();
                    item.stamped = request.getOperationType();
                    request.setBody(item);
                }""");
        trigger(container, "refuse", TriggerType.POST, TriggerOperation.CREATE, "function () { throw new Error('refused'); }");
        CosmosItemRequestOptions stamp = new CosmosItemRequestOptions().setPreTriggerInclude(List.of("stamp"));
        assertEquals("Create", container.createItem(Server.item("1", "a"), A, stamp).getItem().get("stamped").asText());
        assertFalse(container.createItem(Server.item("2", "a")).getItem().has("stamped"));
        assertEquals("Upsert", container.upsertItem(Server.item("2", "a"), A, stamp).getItem().get("stamped").asText());
        CosmosItemRequestOptions refuse = new CosmosItemRequestOptions().setPostTriggerInclude(List.of("refuse"));
        CosmosException error = Server.fails(400, () -> container.createItem(Server.item("3", "a"), A, refuse));
        assertTrue(error.getMessage().contains("refused"), error.getMessage());
        Server.fails(404, () -> container.readItem("3", A, JsonNode.class));
        Server.fails(400, () -> container.deleteItem("1", A, refuse));
    }

    @Test
    void functionsAreCalledFromQueriesAndFromTheQueriesOfProcedures() {
        CosmosContainer container = Server.container();
        container.getScripts().createUserDefinedFunction(
                new CosmosUserDefinedFunctionProperties("twice", "function (n) { return 2 * n; }"));
        for (int n = 0; n < 6; n++) {
            container.createItem(Server.item("i" + n, n % 2 == 0 ? "a" : "b" + n).put("n", n));
        }
        List<Integer> rows = container.queryItems(
                "SELECT VALUE udf.twice(c.n) FROM c WHERE udf.twice(c.n) > 4 ORDER BY c.n",
                new CosmosQueryRequestOptions(), Integer.class).stream().toList();
        assertEquals(List.of(6, 8, 10), rows);
        add(container, "sum", """
                function () {
                    __.queryDocuments(__.getSelfLink(), 'SELECT VALUE SUM(udf.twice(c.n)) FROM c',
                        function (err, rows) { if (err) throw err; __.response.setBody(rows[0]); });
                }""");
        assertEquals("12", run(container, "sum").getResponseAsString());
        CosmosException error = Server.fails(400, () -> container.queryItems(
                "SELECT udf.nope(c) FROM c", new CosmosQueryRequestOptions(), JsonNode.class).stream().toList());
        assertTrue(error.getMessage().contains("nope"), error.getMessage());
    }
}
