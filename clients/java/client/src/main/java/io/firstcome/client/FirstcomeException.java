package io.firstcome.client;

/** Something is broken, and the rules decided nothing. No message has the key in it. */
public abstract sealed class FirstcomeException extends RuntimeException permits NoAnswerException, RejectedException {
    private final transient Problem problem;

    FirstcomeException(String message, Problem problem) {
        super(message);
        this.problem = problem;
    }

    /**
     * Returns what the server said last.
     *
     * @return the problem; {@code null} if the server said nothing
     */
    public Problem problem() {
        return problem;
    }
}
