// Written by generate.py; do not edit.
package io.firstcome.client;

/** What became of a claim. */
public sealed interface ClaimOutcome permits WonPlace, Refused, Unknown {
}
