// Written by generate.py; do not edit.
package io.firstcome.client;

/** What became of looking for a place on a waitlist: none is {@link Reason#NOT_ON_WAITLIST}. */
public sealed interface PlaceOutcome permits Place, Refused {
}
