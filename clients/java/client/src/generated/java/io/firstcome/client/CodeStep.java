// Written by generate.py; do not edit.
package io.firstcome.client;

import java.time.Instant;

/**
 * A step on a code. No answer to a step has the code.
 *
 * @param at For {@code redeemed} and {@code rolled_back}, when it was the first time; {@code null} if it is not
 *     given
 * @param campaign The campaign
 * @param decided {@code journal}, or {@code replica} if the state of this server was enough
 * @param expired For {@code rolled_back}, whether the code had expired meanwhile: then its use did not come
 *     back; {@code null} if it is not given
 * @param expiresAt For {@code reserved} and {@code already_reserved}, when the reservation ends; {@code null} if
 *     it is not given
 * @param outcome {@code reserved}, {@code already_reserved}, {@code redeemed}, {@code rolled_back} or {@code
 *     reservation_ended}
 * @param pool The pool of the code
 * @param position The position to which this answer belongs
 * @param rank The rank of the code's claim
 * @param reference The reference
 */
public record CodeStep(
        Instant at,
        String campaign,
        String decided,
        Boolean expired,
        Instant expiresAt,
        String outcome,
        String pool,
        String position,
        long rank,
        String reference
) implements CodeOutcome {
}
