// Written by generate.py; do not edit.
package io.firstcome.client;

/** What became of a confirm. {@link RefundDue} means: give back what was paid. */
public sealed interface ConfirmOutcome permits Confirmed, RefundDue, Refused, Unknown {
}
