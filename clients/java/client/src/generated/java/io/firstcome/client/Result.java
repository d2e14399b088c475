// Written by generate.py; do not edit.
package io.firstcome.client;

import java.time.Instant;

/**
 * One result.
 *
 * @param at When it happened
 * @param by Who cancelled a claim: {@code subject} or {@code operator}; {@code null} if it is not given
 * @param campaign The campaign
 * @param hold The id of its hold, if it was confirmed from one; {@code null} if it is not given
 * @param import_ For {@code code_marked} of a whole import, its id; {@code null} if it is not given
 * @param issue For {@code code_marked} of one code, its issue number from then on; {@code null} if it is not
 *     given
 * @param kind {@code claim}, {@code cancel}, {@code refund_due}, {@code moved}, {@code redeemed}, {@code
 *     rolled_back}, {@code code_marked} or {@code unserved}
 * @param movedFrom The old unit of a move; {@code null} if it is not given
 * @param number 1, 2, 3 over all campaigns of the space; those of one campaign have gaps
 * @param pool The pool
 * @param quantity For {@code unserved}, how many units the subject waited for; {@code null} if it is not given
 * @param rank The rank; 0 if there is no claim
 * @param reason Why a claim was undone, a seat moved or a code marked; for {@code unserved} {@code ended},
 *     {@code not_taken} or {@code limit_reached}; {@code null} if it is not given
 * @param reference For {@code redeemed} and {@code rolled_back}, the reference: an order or a payment; {@code
 *     null} if it is not given
 * @param subject The subject of the result
 * @param unit The unit of a seated pool; the new one for a move; {@code null} if it is not given
 * @param usedBy Who used the code, if that is not its holder; {@code null} if it is not given
 * @param verdict For {@code code_marked}, {@code revoke}, {@code suspend}, {@code restore} or {@code reissue};
 *     for {@code rolled_back} {@code expired} if the use did not come back; {@code null} if it is not given
 */
public record Result(
        Instant at,
        String by,
        String campaign,
        String hold,
        String import_,
        Long issue,
        String kind,
        String movedFrom,
        long number,
        String pool,
        Long quantity,
        long rank,
        String reason,
        String reference,
        String subject,
        String unit,
        String usedBy,
        String verdict
) {
}
