package io.firstcome.client;

/**
 * The server turned the request down, and nothing changed: its key, its form or its size; or, of a call that reads, the
 * rules said no ({@link Reason#NOT_FOUND} for example). The same request will be turned down again.
 */
public final class RejectedException extends FirstcomeException {
    private static final long serialVersionUID = 1L;
    /** Why. */
    private final Reason reason;

    RejectedException(Problem problem) {
        super(Call.say(problem), problem);
        this.reason = Reason.of(problem.outcome());
    }

    /**
     * Returns why.
     *
     * @return the reason, such as {@link Reason#UNAUTHORIZED}
     */
    public Reason reason() {
        return reason;
    }
}
