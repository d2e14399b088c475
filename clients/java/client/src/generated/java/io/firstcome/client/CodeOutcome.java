// Written by generate.py; do not edit.
package io.firstcome.client;

/** What became of a step on a code; {@link CodeStep#outcome()} says which step it was. */
public sealed interface CodeOutcome permits CodeStep, Refused, Unknown {
}
