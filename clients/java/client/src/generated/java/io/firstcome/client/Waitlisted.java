// Written by generate.py; do not edit.
package io.firstcome.client;

/**
 * A place on a waitlist, as the answer to a claim that waits.
 *
 * @param ahead How many wait in front, whatever they wait for
 * @param campaign The campaign
 * @param decided {@code journal}, or {@code replica} if the state of this server was enough
 * @param offersNotTaken How many offers the subject did not take. With the third one it is off the list
 * @param outcome {@code waitlisted}
 * @param passedOver Whether something of what the subject wants was free since it joined, but too little or not
 *     together: others could have it, and the subject kept its place
 * @param pool The pool
 * @param position The position to which this answer belongs
 * @param quantity How many units the subject waits for. A repeated request does not change it
 * @param subject Who waits
 */
public record Waitlisted(
        long ahead,
        String campaign,
        String decided,
        long offersNotTaken,
        String outcome,
        boolean passedOver,
        String pool,
        String position,
        long quantity,
        String subject
) implements JoinOutcome {
}
