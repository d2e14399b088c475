// Written by generate.py; do not edit.
package io.firstcome.client;

/** What became of moving the deadline of a hold. */
public sealed interface ExtendOutcome permits Extended, Refused, Unknown {
}
