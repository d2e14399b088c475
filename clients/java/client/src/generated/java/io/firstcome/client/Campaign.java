// Written by generate.py; do not edit.
package io.firstcome.client;

import java.time.Instant;
import java.util.List;

/**
 * The current state of a campaign, for a page. {@code live_holds} and {@code unsettled} are only in answers to
 * keys, not to subject tokens.
 *
 * @param allowOrphans Whether a hold may leave a single free seat between taken ones
 * @param askAgainMs A page should ask again after this time, in milliseconds
 * @param campaign Its name
 * @param claimAgain Whether a subject that cancelled may claim again
 * @param closedAt When it was closed; {@code null} if it is not given
 * @param closesAt When it closes; null for never
 * @param closesInMs Milliseconds until it closes: 0 after that, null if it never closes
 * @param createdAt When it was created
 * @param durable Whether this data is known to be durable; {@code false} if it was not within 1 s
 * @param holdMaxMs The longest time of a hold with extensions, from its start
 * @param holdTtlMs How long a hold lasts
 * @param holds How many live holds one subject may have: {@code one} or {@code many}
 * @param holdsPerHour How many holds one subject may start in an hour
 * @param left Units that are free in all pools
 * @param limits The limits of one subject
 * @param liveHolds The number of live holds; {@code null} if it is not given
 * @param now The server's time
 * @param offerMs How long an offer to somebody on a waitlist lasts; {@code null} if it is not given
 * @param opensAt When it opens; null for a draft
 * @param opensInMs Milliseconds until it opens: 0 after that, null for a draft
 * @param pools Its pools
 * @param position The position to which this answer belongs
 * @param public_ Whether everybody may read it, its map and its events, without a key
 * @param stale Whether this node's state may be out of date
 * @param state {@code draft}, {@code scheduled}, {@code open}, {@code paused} or {@code closed}
 * @param title The title for people
 * @param unitsReturn Whether a cancelled unit goes back to its pool
 * @param unsettled Results of this campaign that the ledger does not have yet; {@code null} if it is not given
 * @param version Increases with every change; send it in {@code If-Match}
 */
public record Campaign(
        boolean allowOrphans,
        long askAgainMs,
        String campaign,
        boolean claimAgain,
        Instant closedAt,
        Instant closesAt,
        Long closesInMs,
        Instant createdAt,
        boolean durable,
        long holdMaxMs,
        long holdTtlMs,
        String holds,
        long holdsPerHour,
        long left,
        Limits limits,
        Long liveHolds,
        Instant now,
        Long offerMs,
        Instant opensAt,
        Long opensInMs,
        List<Pool> pools,
        String position,
        boolean public_,
        boolean stale,
        String state,
        String title,
        boolean unitsReturn,
        Long unsettled,
        long version
) {
    /**
     * Copies its lists, so that nobody changes them.
     *
     * @param allowOrphans as in the record
     * @param askAgainMs as in the record
     * @param campaign as in the record
     * @param claimAgain as in the record
     * @param closedAt as in the record
     * @param closesAt as in the record
     * @param closesInMs as in the record
     * @param createdAt as in the record
     * @param durable as in the record
     * @param holdMaxMs as in the record
     * @param holdTtlMs as in the record
     * @param holds as in the record
     * @param holdsPerHour as in the record
     * @param left as in the record
     * @param limits as in the record
     * @param liveHolds as in the record
     * @param now as in the record
     * @param offerMs as in the record
     * @param opensAt as in the record
     * @param opensInMs as in the record
     * @param pools as in the record
     * @param position as in the record
     * @param public_ as in the record
     * @param stale as in the record
     * @param state as in the record
     * @param title as in the record
     * @param unitsReturn as in the record
     * @param unsettled as in the record
     * @param version as in the record
     */
    public Campaign {
        pools = pools == null ? List.of() : List.copyOf(pools);
    }
}
