// Written by generate.py; do not edit.
package io.firstcome.client;

import java.time.Instant;
import java.util.List;

/**
 * The current state of a hold.
 *
 * @param campaign The campaign
 * @param expiresAt When its units are free again, if it is live; later if the store is down meanwhile; {@code
 *     null} if it is not given
 * @param held How many of its units are held
 * @param hold The id of the hold
 * @param offer {@code true} if it is an offer from the waitlist: it is confirmed or released as it is
 * @param startedAt When it was made
 * @param state {@code live}, {@code confirmed}, {@code expired}, {@code released} or {@code refund_due}
 * @param subject The owner of the hold
 * @param units All its units, in any state
 */
public record HoldBrief(
        String campaign,
        Instant expiresAt,
        long held,
        String hold,
        boolean offer,
        Instant startedAt,
        String state,
        String subject,
        List<Unit> units
) {
    /**
     * Copies its lists, so that nobody changes them.
     *
     * @param campaign as in the record
     * @param expiresAt as in the record
     * @param held as in the record
     * @param hold as in the record
     * @param offer as in the record
     * @param startedAt as in the record
     * @param state as in the record
     * @param subject as in the record
     * @param units as in the record
     */
    public HoldBrief {
        units = units == null ? List.of() : List.copyOf(units);
    }
}
