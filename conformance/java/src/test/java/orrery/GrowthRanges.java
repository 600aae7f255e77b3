package orrery;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;

/** The ranges of one container, as an operator sees and moves them over the management API. */
final class GrowthRanges {
    static final int MAX = 16;
    static final int MIN = 2;

    /** Between two relocations: time for a reader to go on in the new ranges. */
    private static final long BREATH_MS = 250;

    private final String path;

    GrowthRanges(String database, String container) {
        path = "/_orrery/dbs/" + database + "/colls/" + container + "/ranges";
    }

    /** In the order of the hash space. */
    List<String> ids() {
        List<JsonNode> ranges = new ArrayList<>();
        Management.get(path).get("ranges").forEach(ranges::add);
        ranges.sort(Comparator.comparing(range -> range.get("min").asText()));
        return ranges.stream().map(range -> range.get("id").asText()).toList();
    }

    /**
     * Splits ranges, one after another, so that there are twice as many, up to the maximum. This SDK tries a page of the
     * change feed three times, which several ranges that go at once use up.
     */
    void grow() {
        List<String> ids = ids();
        ids.stream().limit(MAX - ids.size()).forEach(id -> relocate("/" + id + "/split", Server.JSON.createObjectNode()));
    }

    /** Merges neighbours, one pair after another, so that there are half as many, down to the minimum. */
    void shrink() {
        List<String> ids = ids();
        int nMerged = 0;
        for (int n = 0; n + 1 < ids.size() && nMerged < ids.size() - MIN; n += 2) {
            ObjectNode body = Server.JSON.createObjectNode();
            body.putArray("ranges").add(ids.get(n)).add(ids.get(n + 1));
            relocate("/merge", body);
            nMerged++;
        }
    }

    private void relocate(String step, ObjectNode body) {
        JsonNode ended = Management.post(path + step, body.put("wait", true));
        Server.check(ended.get("end").asText().equals("done"), ended.toString());
        GrowthWork.pause(BREATH_MS);
    }
}
