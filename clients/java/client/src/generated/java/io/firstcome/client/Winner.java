// Written by generate.py; do not edit.
package io.firstcome.client;

import java.time.Instant;

/**
 * A live claim.
 *
 * @param at When it was won
 * @param campaign The campaign
 * @param code Its code in a coded pool, if {@code with_codes} asks for it; {@code null} if it is not given
 * @param hold The id of its hold, if it was confirmed from one; {@code null} if it is not given
 * @param pool The pool
 * @param rank The rank in the pool
 * @param subject Its owner
 * @param unit The current unit of the subject in a seated pool; {@code null} if it is not given
 */
public record Winner(
        Instant at,
        String campaign,
        String code,
        String hold,
        String pool,
        long rank,
        String subject,
        String unit
) {
    /** Does not show the code. */
    @Override
    public String toString() {
        return "Winner[at=" + at
                + ", campaign=" + campaign
                + ", hold=" + hold
                + ", pool=" + pool
                + ", rank=" + rank
                + ", subject=" + subject
                + ", unit=" + unit
                + "]";
    }
}
