// Written by generate.py; do not edit.
package io.firstcome.client;

import java.util.List;

/**
 * The claims of a subject in a campaign, the latest first in each pool.
 *
 * @param campaign The campaign
 * @param claims Live and cancelled claims
 * @param durable Whether this data is known to be durable; {@code false} if it was not within 1 s
 * @param next The {@code after} of the next page; null if this is the last
 * @param position The position to which this answer belongs
 * @param stale Whether this node's state may be out of date
 * @param subject The owner of the claims
 */
public record Claims(
        String campaign,
        List<Claim> claims,
        boolean durable,
        Long next,
        String position,
        boolean stale,
        String subject
) {
    /**
     * Copies its lists, so that nobody changes them.
     *
     * @param campaign as in the record
     * @param claims as in the record
     * @param durable as in the record
     * @param next as in the record
     * @param position as in the record
     * @param stale as in the record
     * @param subject as in the record
     */
    public Claims {
        claims = claims == null ? List.of() : List.copyOf(claims);
    }
}
