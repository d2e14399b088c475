// Written by generate.py; do not edit.
package io.firstcome.client;

/** What became of giving units of a hold back. */
public sealed interface ReleaseOutcome permits Released, Refused, Unknown {
}
