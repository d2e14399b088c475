// Written by generate.py; do not edit.
package io.firstcome.client;

import java.util.Map;

/**
 * The limits of one subject.
 *
 * @param campaign Units over all pools, held and claimed together; {@code null} if it is not given
 * @param grades By price category, if there are such limits
 */
public record Limits(
        Long campaign,
        Map<String, Long> grades
) {
    /**
     * Copies its lists, so that nobody changes them.
     *
     * @param campaign as in the record
     * @param grades as in the record
     */
    public Limits {
        grades = grades == null ? Map.of() : Map.copyOf(grades);
    }
}
