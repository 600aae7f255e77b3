package orrery;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.net.Socket;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.security.cert.X509Certificate;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import javax.net.ssl.SSLContext;
import javax.net.ssl.SSLEngine;
import javax.net.ssl.TrustManager;
import javax.net.ssl.X509ExtendedTrustManager;

/** The ranges of one container, as an operator sees and moves them over the management API. */
final class GrowthRanges {
    static final int MAX = 16;
    static final int MIN = 2;

    private final HttpClient client;
    private final String url;

    GrowthRanges(String database, String container) throws Exception {
        SSLContext trusting = SSLContext.getInstance("TLS");
        trusting.init(null, new TrustManager[] {new TrustAnyone()}, null);
        client = HttpClient.newBuilder().sslContext(trusting).build();
        url = Server.ENDPOINT.replaceAll("/$", "") + "/_orrery/dbs/" + database + "/colls/" + container + "/ranges";
    }

    /** In the order of the hash space. */
    List<String> ids() {
        List<JsonNode> ranges = new ArrayList<>();
        send(HttpRequest.newBuilder(URI.create(url)).GET()).join().get("ranges").forEach(ranges::add);
        ranges.sort(Comparator.comparing(range -> range.get("min").asText()));
        return ranges.stream().map(range -> range.get("id").asText()).toList();
    }

    /** Splits ranges, all at once, so that there are twice as many, up to the maximum. */
    void grow() {
        List<String> ids = ids();
        List<CompletableFuture<JsonNode>> started = ids.stream()
                .limit(MAX - ids.size())
                .map(id -> relocate("/" + id + "/split", Server.JSON.createObjectNode()))
                .toList();
        started.forEach(GrowthRanges::finish);
    }

    /** Merges neighbours, all pairs at once, so that there are half as many, down to the minimum. */
    void shrink() {
        List<String> ids = ids();
        List<CompletableFuture<JsonNode>> started = new ArrayList<>();
        for (int n = 0; n + 1 < ids.size() && started.size() < ids.size() - MIN; n += 2) {
            ObjectNode body = Server.JSON.createObjectNode();
            body.putArray("ranges").add(ids.get(n)).add(ids.get(n + 1));
            started.add(relocate("/merge", body));
        }
        started.forEach(GrowthRanges::finish);
    }

    private static void finish(CompletableFuture<JsonNode> relocation) {
        JsonNode ended = relocation.join();
        Server.check(ended.get("end").asText().equals("done"), ended.toString());
    }

    private CompletableFuture<JsonNode> relocate(String path, ObjectNode body) {
        String text = body.put("wait", true).toString();
        return send(HttpRequest.newBuilder(URI.create(url + path)).POST(HttpRequest.BodyPublishers.ofString(text)));
    }

    private CompletableFuture<JsonNode> send(HttpRequest.Builder request) {
        HttpRequest signed = request.header("Authorization", "Bearer " + Server.KEY).build();
        return client.sendAsync(signed, HttpResponse.BodyHandlers.ofString()).thenApply(answer -> {
            Server.check(answer.statusCode() < 300, answer.statusCode() + " " + answer.body());
            try {
                return Server.JSON.readTree(answer.body());
            } catch (Exception error) {
                throw new IllegalStateException(answer.body(), error);
            }
        });
    }

    /** The certificate of a local server is self-signed; the extended kind also skips the check of its name. */
    private static final class TrustAnyone extends X509ExtendedTrustManager {
        @Override
        public void checkClientTrusted(X509Certificate[] chain, String type, Socket socket) {}

        @Override
        public void checkServerTrusted(X509Certificate[] chain, String type, Socket socket) {}

        @Override
        public void checkClientTrusted(X509Certificate[] chain, String type, SSLEngine engine) {}

        @Override
        public void checkServerTrusted(X509Certificate[] chain, String type, SSLEngine engine) {}

        @Override
        public void checkClientTrusted(X509Certificate[] chain, String type) {}

        @Override
        public void checkServerTrusted(X509Certificate[] chain, String type) {}

        @Override
        public X509Certificate[] getAcceptedIssuers() {
            return new X509Certificate[0];
        }
    }
}
