// Written by generate.py; do not edit.
package io.firstcome.client;

import java.time.Instant;

/**
 * One claim of a subject.
 *
 * @param at When it was won
 * @param cancelled Its cancel; null while it is live
 * @param code Its code in a coded pool, while the claim is live: for the subject itself, and for keys with the
 *     role {@code redeem}; {@code null} if it is not given
 * @param hold The id of its hold, if it was confirmed from one; {@code null} if it is not given
 * @param pool The pool
 * @param rank The rank in the pool
 * @param unit Its unit in a seated pool; {@code null} if it is not given
 */
public record Claim(
        Instant at,
        Cancelled cancelled,
        String code,
        String hold,
        String pool,
        long rank,
        String unit
) {
    /** Does not show the code. */
    @Override
    public String toString() {
        return "Claim[at=" + at
                + ", cancelled=" + cancelled
                + ", hold=" + hold
                + ", pool=" + pool
                + ", rank=" + rank
                + ", unit=" + unit
                + "]";
    }

    /**
     * Its cancel; null while it is live.
     *
     * @param at When
     * @param by {@code subject} or {@code operator}
     * @param reason The reason; empty if there is none
     */
    public record Cancelled(
            Instant at,
            String by,
            String reason
    ) {
    }
}
