package orrery;

import com.fasterxml.jackson.databind.JsonNode;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;

/** The server's own API, beside the SDK. The port speaks plain HTTP as well, which needs no certificate. */
final class Management {
    private static final HttpClient HTTP = HttpClient.newHttpClient();

    private Management() {}

    static JsonNode get(String path) {
        return json(text(path));
    }

    static String text(String path) {
        return send(request(path).GET());
    }

    static JsonNode post(String path, JsonNode body) {
        return json(send(request(path).POST(HttpRequest.BodyPublishers.ofString(body.toString()))));
    }

    static void delete(String path) {
        send(request(path).DELETE());
    }

    private static HttpRequest.Builder request(String path) {
        String server = Server.ENDPOINT.replaceFirst("^https", "http").replaceAll("/$", "");
        return HttpRequest.newBuilder(URI.create(server + path)).header("Authorization", "Bearer " + Server.KEY);
    }

    private static String send(HttpRequest.Builder request) {
        HttpResponse<String> answer = HTTP.sendAsync(request.build(), HttpResponse.BodyHandlers.ofString())
                .join();
        Server.check(answer.statusCode() < 300, answer.statusCode() + " " + answer.body());
        return answer.body();
    }

    private static JsonNode json(String text) {
        try {
            return Server.JSON.readTree(text);
        } catch (Exception error) {
            throw new IllegalStateException(text, error);
        }
    }
}
