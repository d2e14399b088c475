package io.firstcome.client;

/** Is told of each call, for metrics and traces. It must not throw, and must not take long. */
@FunctionalInterface
public interface CallObserver {
    /**
     * A call begins, in the thread of the caller.
     *
     * @param call what is asked
     * @return what is told of its end; {@code null} if nothing
     */
    Ended begin(Begun call);

    /**
     * A call that begins.
     *
     * @param operation the method of {@link FirstcomeClient}, such as {@code claim}
     * @param campaign the campaign; empty if it is about none
     * @param headers to be sent with each attempt: add {@code traceparent} and its like here, and nothing else
     */
    record Begun(String operation, String campaign, java.util.Map<String, String> headers) {
    }

    /** Is told of the end of a call. */
    @FunctionalInterface
    interface Ended {
        /**
         * The call ended, in any thread.
         *
         * @param outcome the name that the server gave, such as {@code won} or {@code sold_out}; {@code unknown},
         *     {@code no_answer}, {@code cancelled} if there is none
         * @param attempts how often the request was sent
         * @param failure what the caller gets as an exception; {@code null} if it gets a value
         */
        void end(String outcome, int attempts, Throwable failure);
    }
}
