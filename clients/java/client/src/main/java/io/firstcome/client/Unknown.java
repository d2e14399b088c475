package io.firstcome.client;

/**
 * No answer to rely on came before the deadline, and it <b>may have happened</b>.
 *
 * <p>Make the same call again to learn what became of it: it happens once, however often it is asked. For a hold, use the
 * same {@link HoldRequest}; it has the id.
 *
 * @param reason what happened at the last attempt; an earlier attempt may be the one that happened
 * @param server the server that was asked last
 * @param attempts how often it was tried
 * @param problem what the server said at the last attempt; {@code null} if it said nothing
 */
public record Unknown(String reason, String server, int attempts, Problem problem)
        implements ClaimOutcome, CancelOutcome, HoldOutcome, ConfirmOutcome, ReleaseOutcome, ExtendOutcome, JoinOutcome,
        LeaveOutcome, CodeOutcome {
}
