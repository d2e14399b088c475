// Written by generate.py; do not edit.
package io.firstcome.client;

import java.time.Instant;
import java.util.List;

/**
 * An answer that is not a yes (RFC 9457).
 *
 * @param at For {@code refund_due}, when it was decided; {@code null} if it is not given
 * @param barredAt For {@code barred}, when the bar was set; {@code null} if it is not given
 * @param barredBy For {@code barred}, the name of the key that set the bar; {@code null} if it is not given
 * @param campaign The campaign; {@code null} if it is not given
 * @param changed Whether anything changed; {@code unknown} if it may have
 * @param decided {@code journal}, or {@code replica} if the state of this server was enough; {@code null} if it
 *     is not given
 * @param detail One sentence about this problem
 * @param errors For {@code bad_seat} and {@code bad_code}, the errors, by line
 * @param field For {@code not_changeable}, the setting that cannot change; {@code null} if it is not given
 * @param freeName For a PUT with an archived name, an unused name; {@code null} if it is not given
 * @param hold The hold; for {@code has_hold} the one that the subject has; {@code null} if it is not given
 * @param issue For {@code reissued_since}, the issue number of the present code; {@code null} if it is not given
 * @param level For {@code level_too_low}, the level of the space; {@code null} if it is not given
 * @param limit For {@code too_many_requests}, {@code too_many_streams} and {@code too_many_wrong_codes}, the
 *     limit; {@code null} if it is not given
 * @param limitBytes For {@code too_big_for_memory}, the memory that this server may use; {@code null} if it is
 *     not given
 * @param lines For {@code import_incomplete}, how many lines the import has; {@code null} if it is not given
 * @param needed For {@code level_too_low}, the required level; {@code null} if it is not given
 * @param neededBytes For {@code too_big_for_memory}, the required memory; {@code null} if it is not given
 * @param next For {@code chunk_missing}, how many lines the import has; {@code null} if it is not given
 * @param opensAt For {@code not_open}, the opening time, if there is one; {@code null} if it is not given
 * @param outcome The stable name of the outcome
 * @param pool For seats sent with a campaign, their pool; {@code null} if it is not given
 * @param position The position to which this answer belongs, if the state was read; {@code null} if it is not
 *     given
 * @param reason For {@code not_eligible}, the reason of the team's own service; for {@code barred}, that of the
 *     operator; {@code null} if it is not given
 * @param retry Whether the same request may succeed later
 * @param retryAfterMs For {@code too_many_requests} and {@code too_many_wrong_codes}, the milliseconds after
 *     which to try again; {@code null} if it is not given
 * @param status The HTTP status
 * @param subject For {@code refund_due}, the owner of the hold; {@code null} if it is not given
 * @param title One sentence about every problem with this outcome
 * @param type The page that explains it: {@code /problems/} and the outcome
 * @param units The units; for {@code unit_taken} all taken ones
 * @param version For {@code version_mismatch}, the version of the campaign; {@code null} if it is not given
 */
public record Problem(
        Instant at,
        Instant barredAt,
        String barredBy,
        String campaign,
        String changed,
        String decided,
        String detail,
        List<LineError> errors,
        String field,
        String freeName,
        String hold,
        Long issue,
        Long level,
        String limit,
        Long limitBytes,
        Long lines,
        Long needed,
        Long neededBytes,
        Long next,
        Instant opensAt,
        String outcome,
        String pool,
        String position,
        String reason,
        boolean retry,
        Long retryAfterMs,
        long status,
        String subject,
        String title,
        String type,
        List<Unit> units,
        Long version
) {
    /**
     * Copies its lists, so that nobody changes them.
     *
     * @param at as in the record
     * @param barredAt as in the record
     * @param barredBy as in the record
     * @param campaign as in the record
     * @param changed as in the record
     * @param decided as in the record
     * @param detail as in the record
     * @param errors as in the record
     * @param field as in the record
     * @param freeName as in the record
     * @param hold as in the record
     * @param issue as in the record
     * @param level as in the record
     * @param limit as in the record
     * @param limitBytes as in the record
     * @param lines as in the record
     * @param needed as in the record
     * @param neededBytes as in the record
     * @param next as in the record
     * @param opensAt as in the record
     * @param outcome as in the record
     * @param pool as in the record
     * @param position as in the record
     * @param reason as in the record
     * @param retry as in the record
     * @param retryAfterMs as in the record
     * @param status as in the record
     * @param subject as in the record
     * @param title as in the record
     * @param type as in the record
     * @param units as in the record
     * @param version as in the record
     */
    public Problem {
        errors = errors == null ? List.of() : List.copyOf(errors);
        units = units == null ? List.of() : List.copyOf(units);
    }

    /**
     * The errors.
     *
     * @param line The line, or the number in the array, from 1; 0 in a PUT
     * @param why The error
     */
    public record LineError(
            long line,
            String why
    ) {
    }
}
