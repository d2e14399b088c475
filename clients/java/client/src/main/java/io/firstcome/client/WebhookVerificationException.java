package io.firstcome.client;

/** A webhook was refused by a {@link WebhookVerifier}. Its message has no secret, and nothing that the sender wrote. */
public final class WebhookVerificationException extends RuntimeException {
    private static final long serialVersionUID = 1L;
    /** What is wrong. */
    private final Failure failure;

    WebhookVerificationException(Failure failure, String message) {
        super(message);
        this.failure = failure;
    }

    /**
     * Returns what is wrong.
     *
     * @return the kind of failure
     */
    public Failure failure() {
        return failure;
    }

    /** What is wrong with a webhook. */
    public enum Failure {
        /** A header is missing or empty. */
        MISSING_HEADER,
        /** The id has a dot, or the time is not a whole number of seconds since 1970. */
        MALFORMED_HEADER,
        /** It was sent too long ago: somebody repeats it, or a clock is wrong. */
        TOO_OLD,
        /** It was sent in the future: a clock is wrong. */
        TOO_NEW,
        /** None of its signatures fits the body and a secret: another sender, another secret, or another body. */
        NO_MATCH
    }
}
