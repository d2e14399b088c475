package io.firstcome.client;

import com.fasterxml.jackson.databind.JsonNode;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.time.Duration;
import java.util.Map;

/**
 * One request. Each has an identity (campaign, pool and subject of a claim, the rank of a cancel, an id), so that none
 * happens twice, however often it is sent.
 *
 * @param operation its name in Java, such as {@code claim}
 * @param path path and query
 * @param headers beyond those that every request has
 * @param body JSON; {@code null} if there is none
 * @param reads whether it changes nothing
 * @param waiting how much longer an attempt may take than usual
 */
record Ask(String operation, String campaign, String method, String path, Map<String, String> headers, byte[] body,
        boolean reads, Duration waiting) {
    static Ask get(String operation, String campaign, String path) {
        return new Ask(operation, campaign, "GET", path, Map.of(), null, true, Duration.ZERO);
    }

    static Ask change(String operation, String campaign, String method, String path, JsonNode body) {
        try {
            byte[] written = body == null ? null : Json.write(body);
            return new Ask(operation, campaign, method, path, Map.of(), written, false, Duration.ZERO);
        } catch (IOException never) {
            throw new UncheckedIOException(never);
        }
    }

    /** With an id of its own it is the same when it is sent again, though it names a quantity or a time from now. */
    Ask identified() {
        Map<String, String> id = Map.of("Idempotency-Key", "step-" + HoldRequest.random());
        return new Ask(operation, campaign, method, path, id, body, reads, waiting);
    }

    Ask onlyReads() {
        return new Ask(operation, campaign, method, path, headers, body, true, waiting);
    }

    Ask waiting(Duration longer) {
        return new Ask(operation, campaign, method, path, headers, body, reads, longer);
    }

    /** Wants an answer at or past a position. */
    Ask past(String position) {
        String query = (path.contains("?") ? "&" : "?") + "min_position=" + Checks.encode(position);
        return new Ask(operation, campaign, method, path + query, headers, body, reads, waiting);
    }
}
