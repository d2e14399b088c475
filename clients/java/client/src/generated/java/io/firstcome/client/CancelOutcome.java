// Written by generate.py; do not edit.
package io.firstcome.client;

/** What became of the cancel of a claim. */
public sealed interface CancelOutcome permits Cancelled, Refused, Unknown {
}
