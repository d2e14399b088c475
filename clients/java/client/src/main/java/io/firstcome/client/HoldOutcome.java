package io.firstcome.client;

/**
 * What became of a hold. {@link Confirmed} and {@link RefundDue} are answers to a hold that was asked for before and has
 * ended since; {@link Held} releases its units when it is closed, the others do nothing.
 */
public sealed interface HoldOutcome extends AutoCloseable permits Held, Confirmed, RefundDue, Refused, Unknown {
    @Override
    default void close() {
    }
}
