// Written by generate.py; do not edit.
package io.firstcome.client;

import java.util.List;

/**
 * Codes that were looked up.
 *
 * @param campaign The campaign
 * @param codes The codes, the latest first in each pool: at most 100
 * @param durable Whether this data is known to be durable; {@code false} if it was not within 1 s
 * @param more Whether there are more codes, or more references or marks of one, than are shown
 * @param position The position to which this answer belongs
 * @param stale Whether this node's state may be out of date
 */
public record CodesFound(
        String campaign,
        List<Code> codes,
        boolean durable,
        boolean more,
        String position,
        boolean stale
) {
    /**
     * Copies its lists, so that nobody changes them.
     *
     * @param campaign as in the record
     * @param codes as in the record
     * @param durable as in the record
     * @param more as in the record
     * @param position as in the record
     * @param stale as in the record
     */
    public CodesFound {
        codes = codes == null ? List.of() : List.copyOf(codes);
    }
}
