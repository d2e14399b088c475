// Written by generate.py; do not edit.
package io.firstcome.client;

import java.time.Instant;

/**
 * A won unit.
 *
 * @param at When it was won
 * @param campaign The campaign
 * @param code The code of a coded pool; {@code null} if it is not given
 * @param decided {@code journal}, or {@code replica} if the state of this server was enough
 * @param outcome {@code won}, or {@code already_won} if the subject had it before
 * @param pool The pool
 * @param position The position to which this answer belongs
 * @param rank The rank in the pool, from 1, without gaps
 * @param subject Its owner
 */
public record AlreadyWon(
        Instant at,
        String campaign,
        String code,
        String decided,
        String outcome,
        String pool,
        String position,
        long rank,
        String subject
) implements WonPlace {
    /** Does not show the code. */
    @Override
    public String toString() {
        return "AlreadyWon[at=" + at
                + ", campaign=" + campaign
                + ", decided=" + decided
                + ", outcome=" + outcome
                + ", pool=" + pool
                + ", position=" + position
                + ", rank=" + rank
                + ", subject=" + subject
                + "]";
    }
}
