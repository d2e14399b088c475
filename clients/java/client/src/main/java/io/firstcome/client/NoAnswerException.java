package io.firstcome.client;

/**
 * No answer came before the deadline, and <b>nothing changed</b>: no request left, or each was turned away undecided, or
 * the call only reads. Tell the customer to try again.
 */
public final class NoAnswerException extends FirstcomeException {
    private static final long serialVersionUID = 1L;
    /** How often it was tried. */
    private final int attempts;

    NoAnswerException(String server, String reason, int attempts, Problem problem) {
        super("no answer from " + server + ", and nothing changed: " + reason
                + (attempts > 1 ? " (attempt " + attempts + ")" : ""), problem);
        this.attempts = attempts;
    }

    /**
     * Returns how often it was tried.
     *
     * @return the number of attempts, from 1
     */
    public int attempts() {
        return attempts;
    }
}
