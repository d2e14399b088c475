// Written by generate.py; do not edit.
package io.firstcome.client;

/** What became of a claim that waits if nothing is free. {@link Held} is an offer: confirm it or let it go. */
public sealed interface JoinOutcome permits Waitlisted, WonPlace, Held, Refused, Unknown {
}
