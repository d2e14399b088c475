package io.firstcome.client;

import java.time.Duration;

/**
 * How a request is sent again that got no answer to rely on. The pause grows from {@code first} to {@code longest}, twice
 * as long each time, less a random part of up to a half; where the server says how long to wait, it is at least that.
 *
 * @param first the first pause, from 1 ms on
 * @param longest the longest pause, not shorter than the first
 * @param attempts how often a request is sent at most, the first time included, from 1 on
 */
public record Retry(Duration first, Duration longest, int attempts) {
    /** Pauses from 50 ms to 2 s, as often as the deadline of the call lets it. */
    public static final Retry DEFAULT = new Retry(Duration.ofMillis(50), Duration.ofSeconds(2), Integer.MAX_VALUE);

    /**
     * Checks the values.
     *
     * @param first as in the record
     * @param longest as in the record
     * @param attempts as in the record
     * @throws IllegalArgumentException if one is out of range
     */
    public Retry {
        Checks.positive("the first pause", first);
        if (Checks.positive("the longest pause", longest).compareTo(first) < 0) {
            throw new IllegalArgumentException("the longest pause must not be shorter than the first");
        }
        Checks.range("the number of attempts", attempts, 1, Integer.MAX_VALUE);
    }

    /**
     * Returns the same with another number of attempts.
     *
     * @param most how often a request is sent at most, from 1 on; 1 sends nothing again
     * @return the changed rule
     */
    public Retry attempts(int most) {
        return new Retry(first, longest, most);
    }

    /** The pause in nanoseconds after so many rounds, the first one is 1; {@code random} is 0 to 1. */
    long pause(int round, double random) {
        double doubled = first.toNanos() * Math.pow(2, Math.min(round - 1, 60));
        return (long) (Math.min(doubled, longest.toNanos()) * (1 - random / 2));
    }
}
