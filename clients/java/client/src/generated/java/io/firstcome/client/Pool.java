// Written by generate.py; do not edit.
package io.firstcome.client;

import java.time.Instant;

/**
 * The current state of a pool. {@code held}, {@code blocked}, {@code last_rank}, {@code cancelled} and {@code
 * offered} are only in answers to keys, not to subject tokens.
 *
 * @param blocked Units that are blocked; {@code null} if it is not given
 * @param cancelled Claims that were cancelled; {@code null} if it is not given
 * @param capacity All its units; of a seated pool, those that were added
 * @param codes The codes of a coded pool; {@code null} if it is not given
 * @param held Units that are reserved until a deadline; {@code null} if it is not given
 * @param kind {@code counted}, {@code seated} or {@code coded}
 * @param lastRank The last rank given; {@code null} if it is not given
 * @param left Units that are free and for sale
 * @param limit How many units of it one subject may have; {@code null} if it is not given
 * @param name Its name
 * @param offered How many have an offer of its units; {@code null} if it is not given
 * @param taken Units that are not free
 * @param waiting How many wait for its units; {@code null} if it is not given
 * @param waitlist How many may wait for its units at most; {@code null} if it is not given
 */
public record Pool(
        Long blocked,
        Long cancelled,
        long capacity,
        Codes codes,
        Long held,
        String kind,
        Long lastRank,
        long left,
        Long limit,
        String name,
        Long offered,
        long taken,
        Long waiting,
        Long waitlist
) {
    /**
     * The codes of a coded pool.
     *
     * @param key The id of their key; not in answers to subject tokens; {@code null} if it is not given
     * @param onlyByHolder Whether only its holder may use it
     * @param source {@code generated} or {@code imported}
     * @param uses How many times each can be redeemed
     * @param usesPerSubject How many uses of the pool's codes one subject may have; {@code null} if it is not given
     * @param validForMs How long after it was issued each can be redeemed; {@code null} if it is not given
     * @param validUntil From when on none can be redeemed; {@code null} if it is not given
     */
    public record Codes(
            String key,
            boolean onlyByHolder,
            String source,
            long uses,
            Long usesPerSubject,
            Long validForMs,
            Instant validUntil
    ) {
    }
}
