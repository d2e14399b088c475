// Written by generate.py; do not edit.
package io.firstcome.client;

import java.time.Instant;
import java.util.List;

/**
 * Confirmed or released units.
 *
 * @param at When the last of them was confirmed; {@code null} if it is not given
 * @param campaign The campaign
 * @param decided {@code journal}, or {@code replica} if the state of this server was enough
 * @param hold The id of the hold
 * @param left How many units the hold still has
 * @param outcome {@code confirmed} or {@code released}
 * @param position The position to which this answer belongs
 * @param retaken Whether the hold had expired and its units were taken again; {@code null} if it is not given
 * @param subject The owner of the hold
 * @param units The units of the request; with their ranks if they are confirmed
 */
public record Confirmed(
        Instant at,
        String campaign,
        String decided,
        String hold,
        long left,
        String outcome,
        String position,
        Boolean retaken,
        String subject,
        List<Unit> units
) implements HoldOutcome, ConfirmOutcome {
    /**
     * Copies its lists, so that nobody changes them.
     *
     * @param at as in the record
     * @param campaign as in the record
     * @param decided as in the record
     * @param hold as in the record
     * @param left as in the record
     * @param outcome as in the record
     * @param position as in the record
     * @param retaken as in the record
     * @param subject as in the record
     * @param units as in the record
     */
    public Confirmed {
        units = units == null ? List.of() : List.copyOf(units);
    }
}
