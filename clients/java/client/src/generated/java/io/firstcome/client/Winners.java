// Written by generate.py; do not edit.
package io.firstcome.client;

import java.util.List;

/**
 * A page of winners of one pool.
 *
 * @param durable Whether this data is known to be durable; in the other formats the header {@code
 *     firstcome-durable: false} says that it is not
 * @param lastRank The last rank given in the pool, cancelled or not
 * @param next The {@code after} of the next page; null if this is the last one so far
 * @param position The position to which this answer belongs
 * @param winners The winners, by rank. Cancelled claims are left out
 */
public record Winners(
        boolean durable,
        long lastRank,
        Long next,
        String position,
        List<Winner> winners
) {
    /**
     * Copies its lists, so that nobody changes them.
     *
     * @param durable as in the record
     * @param lastRank as in the record
     * @param next as in the record
     * @param position as in the record
     * @param winners as in the record
     */
    public Winners {
        winners = winners == null ? List.of() : List.copyOf(winners);
    }
}
