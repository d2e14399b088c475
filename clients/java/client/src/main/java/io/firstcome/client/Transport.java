package io.firstcome.client;

import java.time.Duration;
import java.util.Map;
import java.util.concurrent.CompletableFuture;

/** Sends a request once. Injected, so that the rules of a {@link Call} are tested without a network. */
interface Transport {
    /**
     * Sends a request once.
     *
     * @return the answer, or a {@link Broken}; cancelling it ends the exchange
     */
    CompletableFuture<Reply> send(String server, Ask ask, Map<String, String> headers, Duration limit);

    /** An answer that came back whole; {@code retryAfter} is the header, or {@code null}. */
    record Reply(int status, String retryAfter, byte[] body) {
    }

    /** A request without a whole answer. */
    final class Broken extends RuntimeException {
        private static final long serialVersionUID = 1L;
        /** Whether the request, or a part of it, may have been written. */
        final boolean sent;
        /** Whether the server could show that it is the one that is meant. */
        final boolean trusted;

        Broken(String reason, boolean sent, boolean trusted) {
            super(reason);
            this.sent = sent;
            this.trusted = trusted;
        }
    }

    /** The time, and what happens later. Injected for tests. */
    interface Timer {
        long nanos();

        void after(long nanos, Runnable run);
    }
}
