package io.firstcome.client;

import java.time.Duration;

/**
 * The rules said no, and nothing changed. A client never sends a refused request again by itself.
 *
 * @param reason why
 * @param problem what the server said, with all fields: {@code opensAt}, {@code units} and so on
 * @param retryAfter after how long to ask again, if the server says so; otherwise {@code null}
 * @param afterLostAttempt whether an earlier attempt of the same call was sent and its answer is lost. That attempt is
 *     almost always over; if it is still on its way, it may be decided after this answer. To be sure, make the same call
 *     again later
 */
public record Refused(Reason reason, Problem problem, Duration retryAfter, boolean afterLostAttempt)
        implements ClaimOutcome, CancelOutcome, HoldOutcome, ConfirmOutcome, ReleaseOutcome, ExtendOutcome, JoinOutcome,
        PlaceOutcome, LeaveOutcome, CodeOutcome {
}
