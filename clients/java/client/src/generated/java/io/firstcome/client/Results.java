// Written by generate.py; do not edit.
package io.firstcome.client;

import java.util.List;

/**
 * A page of results.
 *
 * @param durable Whether this data is known to be durable; in the other formats the header {@code
 *     firstcome-durable: false} says that it is not
 * @param last The number of the last result of the space
 * @param next The {@code after} of the next page; null if this is the last one so far
 * @param position The position to which this answer belongs
 * @param results The results, by number
 */
public record Results(
        boolean durable,
        long last,
        Long next,
        String position,
        List<Result> results
) {
    /**
     * Copies its lists, so that nobody changes them.
     *
     * @param durable as in the record
     * @param last as in the record
     * @param next as in the record
     * @param position as in the record
     * @param results as in the record
     */
    public Results {
        results = results == null ? List.of() : List.copyOf(results);
    }
}
