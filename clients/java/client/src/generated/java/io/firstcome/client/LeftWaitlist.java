// Written by generate.py; do not edit.
package io.firstcome.client;

/**
 * The end of a wait that the subject asked for.
 *
 * @param campaign The campaign
 * @param decided {@code journal}, or {@code replica} if the state of this server was enough
 * @param outcome {@code left_waitlist}
 * @param position The position to which this answer belongs
 * @param subject The subject
 * @param wasOn Whether it was on the list, or had an offer, which is over now
 */
public record LeftWaitlist(
        String campaign,
        String decided,
        String outcome,
        String position,
        String subject,
        boolean wasOn
) implements LeaveOutcome {
}
