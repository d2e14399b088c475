// Written by generate.py; do not edit.
package io.firstcome.client;

import java.util.List;

/**
 * The holds and claims of a subject in one campaign.
 *
 * @param campaign The campaign
 * @param claims Its claims, the latest first in each pool; 1,000 at most
 * @param holds Its live holds, in the order they began
 * @param next Where there are more, the {@code after} with which the claims of the campaign go on; {@code null}
 *     if it is not given
 */
public record InCampaign(
        String campaign,
        List<Claim> claims,
        List<HoldBrief> holds,
        Long next
) {
    /**
     * Copies its lists, so that nobody changes them.
     *
     * @param campaign as in the record
     * @param claims as in the record
     * @param holds as in the record
     * @param next as in the record
     */
    public InCampaign {
        claims = claims == null ? List.of() : List.copyOf(claims);
        holds = holds == null ? List.of() : List.copyOf(holds);
    }
}
