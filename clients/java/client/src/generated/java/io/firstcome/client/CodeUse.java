// Written by generate.py; do not edit.
package io.firstcome.client;

import java.time.Instant;

/**
 * A use of a code.
 *
 * @param at When this state began; of {@code over}, when it was reserved
 * @param expired For {@code rolled_back}, whether the code had expired meanwhile: then its use did not come
 *     back; {@code null} if it is not given
 * @param expiresAt For {@code reserved}, when the reservation ends; {@code null} if it is not given
 * @param redeemedAt For {@code rolled_back}, when it had been redeemed; {@code null} if it is not given
 * @param reference The reference
 * @param state {@code reserved}, {@code over} (the reservation has expired), {@code released}, {@code redeemed}
 *     or {@code rolled_back}
 * @param subject Who used it, if somebody else than its holder was named; {@code null} if it is not given
 */
public record CodeUse(
        Instant at,
        Boolean expired,
        Instant expiresAt,
        Instant redeemedAt,
        String reference,
        String state,
        String subject
) {
}
