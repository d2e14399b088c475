// Written by generate.py; do not edit.
package io.firstcome.client;

import java.time.Instant;

/**
 * What an operator did to a code.
 *
 * @param at When
 * @param issue The issue number from then on
 * @param reason The reason; empty if there is none
 * @param what {@code revoke}, {@code suspend}, {@code restore} or {@code reissue}
 * @param who The name of the key it was done with
 */
public record CodeMark(
        Instant at,
        long issue,
        String reason,
        String what,
        String who
) {
}
