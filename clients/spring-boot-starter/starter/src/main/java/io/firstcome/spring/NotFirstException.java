package io.firstcome.spring;

import io.firstcome.client.AlreadyWon;
import io.firstcome.client.RefundDue;
import io.firstcome.client.Refused;
import io.firstcome.client.Unknown;
import java.util.Optional;

/**
 * A method with {@link FirstCome} did not run, since its caller got no place; or it has run, and its hold could not be
 * confirmed.
 */
public final class NotFirstException extends RuntimeException {
    private static final long serialVersionUID = 1L;
    private final transient Object outcome;
    /** Whether the method has run. */
    private final boolean ran;

    NotFirstException(Object outcome, boolean ran) {
        super((ran ? "the hold could not be confirmed after the method ran: " : "the method did not run: ") + say(outcome));
        this.outcome = outcome;
        this.ran = ran;
    }

    /**
     * Returns the refusal of the rules.
     *
     * @return the refusal; empty if there is none: then it is {@linkplain #isUnknown unknown}, or a
     *     {@linkplain #isRefundDue refund is due}, or the subject has won before and the method is not to run again
     */
    public Optional<Refused> refusal() {
        return outcome instanceof Refused refused ? Optional.of(refused) : Optional.empty();
    }

    /**
     * Says whether it may have happened: no answer came before the deadline. Calling the method again tells.
     *
     * @return whether the end is unknown
     */
    public boolean isUnknown() {
        return outcome instanceof Unknown;
    }

    /**
     * Says whether what was paid must be given back.
     *
     * @return whether the hold expired and its units cannot be had any more
     */
    public boolean isRefundDue() {
        return outcome instanceof RefundDue;
    }

    /**
     * Says whether the method has run.
     *
     * @return {@code true} if only the confirm of its hold failed
     */
    public boolean hasRun() {
        return ran;
    }

    private static String say(Object outcome) {
        if (outcome instanceof Refused refused) {
            return refused.problem().outcome();
        }
        return outcome instanceof Unknown unknown ? "it is unknown whether there is a place (" + unknown.reason() + ")"
                : outcome instanceof RefundDue ? "refund_due" : outcome instanceof AlreadyWon ? "already_won" : String.valueOf(outcome);
    }
}
