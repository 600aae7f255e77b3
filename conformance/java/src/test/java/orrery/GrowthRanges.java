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

    /** Between two relocations: time for a reader to go on in the new ranges. */
    private static final long BREATH_MS = 250;

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

    /**
     * Splits ranges, one after another, so that there are twice as many, up to the maximum. This SDK tries a page of the
     * change feed three times, which several ranges that go at once use up.
     */
    void grow() {
        List<String> ids = ids();
        ids.stream().limit(MAX - ids.size()).forEach(id -> {
            finish(relocate("/" + id + "/split", Server.JSON.createObjectNode()));
            GrowthWork.pause(BREATH_MS);
        });
    }

    /** Merges neighbours, one pair after another, so that there are half as many, down to the minimum. */
    void shrink() {
        List<String> ids = ids();
        int nMerged = 0;
        for (int n = 0; n + 1 < ids.size() && nMerged < ids.size() - MIN; n += 2) {
            ObjectNode body = Server.JSON.createObjectNode();
            body.putArray("ranges").add(ids.get(n)).add(ids.get(n + 1));
            finish(relocate("/merge", body));
            nMerged++;
            GrowthWork.pause(BREATH_MS);
        }
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
