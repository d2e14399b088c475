// Written by generate.py; do not edit.
package io.firstcome.client;

import java.util.List;

/**
 * The holds and claims of a subject over all campaigns in memory that the key may read.
 *
 * @param campaigns The campaigns in which it has holds or claims
 * @param durable Whether this data is known to be durable; {@code false} if it was not within 1 s
 * @param next The {@code after} of the next page; null if this is the last
 * @param position The position to which this answer belongs
 * @param stale Whether this node's state may be out of date
 * @param subject The subject
 */
public record Subject(
        List<InCampaign> campaigns,
        boolean durable,
        Long next,
        String position,
        boolean stale,
        String subject
) {
    /**
     * Copies its lists, so that nobody changes them.
     *
     * @param campaigns as in the record
     * @param durable as in the record
     * @param next as in the record
     * @param position as in the record
     * @param stale as in the record
     * @param subject as in the record
     */
    public Subject {
        campaigns = campaigns == null ? List.of() : List.copyOf(campaigns);
    }
}
