// Written by generate.py; do not edit.
package io.firstcome.client;

import java.time.Instant;

/**
 * A cancelled claim.
 *
 * @param at When it was cancelled the first time
 * @param by {@code subject} or {@code operator}: who cancelled it the first time
 * @param campaign The campaign
 * @param decided {@code journal}, or {@code replica} if the state of this server was enough
 * @param keptOut Whether the subject is now excluded from the campaign by a bar
 * @param outcome {@code cancelled}
 * @param pool The pool
 * @param position The position to which this answer belongs
 * @param rank Its rank, which is never used again
 * @param subject The owner of the claim
 */
public record Cancelled(
        Instant at,
        String by,
        String campaign,
        String decided,
        boolean keptOut,
        String outcome,
        String pool,
        String position,
        long rank,
        String subject
) implements CancelOutcome {
}
