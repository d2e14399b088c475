// Written by generate.py; do not edit.
package io.firstcome.client;

import java.time.Instant;
import java.util.List;

/**
 * Where a subject stands with the waitlist of a pool.
 *
 * @param adjacent Whether it waits for seats next to each other; only while it waits; {@code null} if it is not
 *     given
 * @param ahead How many wait in front, whatever they wait for; only while the subject waits; {@code null} if it
 *     is not given
 * @param area The area it waits for; {@code null} if it is not given
 * @param campaign The campaign
 * @param channel The channel it waits through; {@code null} if it is not given
 * @param durable Whether this data is known to be durable; {@code false} if it was not within 1 s
 * @param expiresAt When the offer is over; later if the store is down meanwhile; {@code null} if it is not given
 * @param grade The price category it waits for; {@code null} if it is not given
 * @param hold The id of the hold, if it is offered: confirm or release it as any hold; {@code null} if it is not
 *     given
 * @param offersNotTaken How many offers it did not take. With the third one it is off the list
 * @param passedOver Whether something of what it wants was free since it joined, but too little or not together;
 *     only while it waits; {@code null} if it is not given
 * @param pool The pool
 * @param position The position to which this answer belongs
 * @param quantity How many units the subject waits for, or has in the offer
 * @param since Since when it has this place; for an offer, since when it is made
 * @param stale Whether this node's state may be out of date
 * @param state {@code waits}, or {@code offered} if units are held for the subject until a deadline
 * @param subject The subject
 * @param units The offered units
 */
public record Place(
        Boolean adjacent,
        Long ahead,
        String area,
        String campaign,
        String channel,
        boolean durable,
        Instant expiresAt,
        String grade,
        String hold,
        long offersNotTaken,
        Boolean passedOver,
        String pool,
        String position,
        long quantity,
        Instant since,
        boolean stale,
        String state,
        String subject,
        List<Unit> units
) implements PlaceOutcome {
    /**
     * Copies its lists, so that nobody changes them.
     *
     * @param adjacent as in the record
     * @param ahead as in the record
     * @param area as in the record
     * @param campaign as in the record
     * @param channel as in the record
     * @param durable as in the record
     * @param expiresAt as in the record
     * @param grade as in the record
     * @param hold as in the record
     * @param offersNotTaken as in the record
     * @param passedOver as in the record
     * @param pool as in the record
     * @param position as in the record
     * @param quantity as in the record
     * @param since as in the record
     * @param stale as in the record
     * @param state as in the record
     * @param subject as in the record
     * @param units as in the record
     */
    public Place {
        units = units == null ? List.of() : List.copyOf(units);
    }
}
