// Written by generate.py; do not edit.
package io.firstcome.client;

import java.time.Instant;
import java.util.List;

/**
 * An issued code and its history.
 *
 * @param code The code that the claim has now; a code that was replaced is not shown
 * @param expiresAt From when on it cannot be redeemed; null for never
 * @param issue The issue number of the code that the claim has now: 1, and one more each time it was replaced
 * @param issuedAt When the claim was won
 * @param marks What operators did to it, in order: at most the latest 1,000 in an answer
 * @param pool Its pool
 * @param rank The rank of its claim
 * @param redeemed How many of them are gone
 * @param references What was done with it under references, the latest first: at most 1,000 in an answer
 * @param reserved How many of them are reserved
 * @param standing {@code issued}, {@code reserved}, {@code redeemed}, {@code expired}, {@code suspended} or
 *     {@code revoked}. A code that was looked up by its text and has been replaced is {@code revoked}
 * @param subject Its holder
 * @param uses How many times it can be redeemed
 */
public record Code(
        String code,
        Instant expiresAt,
        long issue,
        Instant issuedAt,
        List<CodeMark> marks,
        String pool,
        long rank,
        long redeemed,
        List<CodeUse> references,
        long reserved,
        String standing,
        String subject,
        long uses
) {
    /**
     * Copies its lists, so that nobody changes them.
     *
     * @param code as in the record
     * @param expiresAt as in the record
     * @param issue as in the record
     * @param issuedAt as in the record
     * @param marks as in the record
     * @param pool as in the record
     * @param rank as in the record
     * @param redeemed as in the record
     * @param references as in the record
     * @param reserved as in the record
     * @param standing as in the record
     * @param subject as in the record
     * @param uses as in the record
     */
    public Code {
        marks = marks == null ? List.of() : List.copyOf(marks);
        references = references == null ? List.of() : List.copyOf(references);
    }

    /** Does not show the code. */
    @Override
    public String toString() {
        return "Code[expiresAt=" + expiresAt
                + ", issue=" + issue
                + ", issuedAt=" + issuedAt
                + ", marks=" + marks
                + ", pool=" + pool
                + ", rank=" + rank
                + ", redeemed=" + redeemed
                + ", references=" + references
                + ", reserved=" + reserved
                + ", standing=" + standing
                + ", subject=" + subject
                + ", uses=" + uses
                + "]";
    }
}
