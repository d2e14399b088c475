// Written by generate.py; do not edit.
package io.firstcome.client;

/** What became of leaving a waitlist. */
public sealed interface LeaveOutcome permits LeftWaitlist, Refused, Unknown {
}
