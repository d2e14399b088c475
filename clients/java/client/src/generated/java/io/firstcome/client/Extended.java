// Written by generate.py; do not edit.
package io.firstcome.client;

import java.time.Instant;

/**
 * An extended hold.
 *
 * @param campaign The campaign
 * @param decided {@code journal}, or {@code replica} if the state of this server was enough
 * @param expiresAt When its units are free again; later if the store is down meanwhile
 * @param hold The id of the hold
 * @param outcome {@code extended}
 * @param position The position to which this answer belongs
 * @param subject The owner of the hold
 */
public record Extended(
        String campaign,
        String decided,
        Instant expiresAt,
        String hold,
        String outcome,
        String position,
        String subject
) implements ExtendOutcome {
}
