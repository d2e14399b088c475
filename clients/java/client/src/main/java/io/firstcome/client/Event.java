package io.firstcome.client;

/**
 * A change of a campaign. All events are about durable data.
 *
 * @param type {@code standing}, {@code campaign}, {@code own}, {@code reset} or {@code end}; later versions may have more,
 *     which can be skipped
 * @param data the JSON document, as the reference of the HTTP interface describes it
 * @param id the position after it, where a later stream can begin; {@code null} if it has none
 */
public record Event(String type, String data, String id) {
}
