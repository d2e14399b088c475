package io.firstcome.client;

import java.time.Instant;
import java.util.List;

/**
 * A hold was paid for too late, and its units cannot be had any more: give back what was paid. This is a result, stored
 * once; asked again, the answer is the same.
 *
 * @param at when that was decided; {@code null} if the server does not say
 * @param units the units that were paid for
 * @param problem what the server said
 */
public record RefundDue(Instant at, List<Unit> units, Problem problem) implements HoldOutcome, ConfirmOutcome {
    /**
     * Copies the list, so that nobody changes it.
     *
     * @param at as in the record
     * @param units as in the record
     * @param problem as in the record
     */
    public RefundDue {
        units = List.copyOf(units);
    }
}
