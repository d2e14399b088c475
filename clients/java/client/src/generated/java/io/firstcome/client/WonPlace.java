// Written by generate.py; do not edit.
package io.firstcome.client;

import java.time.Instant;

/** A place that the subject has: won by this call, or before. */
public sealed interface WonPlace extends ClaimOutcome, JoinOutcome permits Won, AlreadyWon {
    /** {@return when it was won} */
    Instant at();

    /** {@return the campaign} */
    String campaign();

    /** {@return the code of a coded pool; {@code null} if it is not given} */
    String code();

    /** {@return {@code journal}, or {@code replica} if the state of this server was enough} */
    String decided();

    /** {@return {@code won}, or {@code already_won} if the subject had it before} */
    String outcome();

    /** {@return the pool} */
    String pool();

    /** {@return the position to which this answer belongs} */
    String position();

    /** {@return the rank in the pool, from 1, without gaps} */
    long rank();

    /** {@return its owner} */
    String subject();
}
