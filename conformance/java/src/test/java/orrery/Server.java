package orrery;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import com.azure.cosmos.CosmosClient;
import com.azure.cosmos.CosmosClientBuilder;
import com.azure.cosmos.CosmosContainer;
import com.azure.cosmos.CosmosDatabase;
import com.azure.cosmos.CosmosException;
import com.azure.cosmos.models.CosmosContainerProperties;
import com.azure.cosmos.models.PartitionKeyDefinition;
import com.azure.cosmos.models.PartitionKeyDefinitionVersion;
import com.azure.cosmos.models.PartitionKind;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.List;
import java.util.UUID;
import org.junit.jupiter.api.function.Executable;

/** The server under test and one client for the whole run; every test makes its own database or container. */
final class Server {
    static final ObjectMapper JSON = new ObjectMapper();
    static final String ENDPOINT = env("ORRERY_ENDPOINT", "http://127.0.0.1:8081/");
    static final String KEY = env(
            "ORRERY_KEY",
            "C2y6yDjf5/R+ob0N8A7Cgv30VRDJIWEHLM+4QDU5DE2nQ9nDuVTqobD4b8mGGyPMbIZnqyMsEcaGQy67XIw/Jw==");
    static final int MIN_PARTITIONS = Integer.parseInt(env("ORRERY_MIN_PARTITIONS", "1"));

    static {
        // The SDK refuses plain HTTP and self-signed certificates unless told otherwise before it loads.
        System.setProperty("COSMOS.HTTP_CONNECTION_WITHOUT_TLS_ALLOWED", "true");
        System.setProperty("COSMOS.EMULATOR_SERVER_CERTIFICATE_VALIDATION_DISABLED", "true");
    }

    /** Direct mode is the default of the SDK; it needs an endpoint with TLS. */
    static final boolean IS_DIRECT = env("ORRERY_CONNECTION_MODE", "gateway").equals("direct");

    static final CosmosClient CLIENT = client(KEY);
    static final CosmosDatabase DATABASE = createDatabase();

    private Server() {}

    static CosmosClient client(String key) {
        return builder(key).buildClient();
    }

    static CosmosClientBuilder builder(String key) {
        return builder().key(key);
    }

    /** With the level of the account, and in direct mode, where nothing is said: the SDK's defaults. */
    static CosmosClientBuilder builder() {
        CosmosClientBuilder builder = new CosmosClientBuilder().endpoint(ENDPOINT).contentResponseOnWriteEnabled(true);
        return IS_DIRECT ? builder : builder.gatewayMode();
    }

    private static CosmosDatabase createDatabase() {
        String id = unique("java");
        CLIENT.createDatabase(id);
        Runtime.getRuntime().addShutdownHook(new Thread(() -> CLIENT.getDatabase(id).delete()));
        return CLIENT.getDatabase(id);
    }

    static CosmosContainer container() {
        return container(new CosmosContainerProperties(unique("c"), "/pk"));
    }

    static CosmosContainer container(CosmosContainerProperties properties) {
        DATABASE.createContainer(properties);
        return DATABASE.getContainer(properties.getId());
    }

    static CosmosContainerProperties hierarchical(String... paths) {
        PartitionKeyDefinition definition = new PartitionKeyDefinition();
        definition.setPaths(List.of(paths));
        definition.setKind(PartitionKind.MULTI_HASH);
        definition.setVersion(PartitionKeyDefinitionVersion.V2);
        return new CosmosContainerProperties(unique("h"), definition);
    }

    static ObjectNode item(String id, String pk) {
        return JSON.createObjectNode().put("id", id).put("pk", pk);
    }

    static String unique(String prefix) {
        return prefix + "-" + UUID.randomUUID();
    }

    /** Expects a service error with this status and hands it over for more checks. */
    static CosmosException fails(int status, Executable call) {
        CosmosException error = assertThrows(CosmosException.class, call);
        assertEquals(status, error.getStatusCode(), error.getMessage());
        return error;
    }

    static void check(boolean claim, String words) {
        org.junit.jupiter.api.Assertions.assertTrue(claim, words);
    }

    static String env(String name, String fallback) {
        String value = System.getenv(name);
        return value == null || value.isEmpty() ? fallback : value;
    }
}
