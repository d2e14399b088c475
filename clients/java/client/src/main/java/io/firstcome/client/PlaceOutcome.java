package io.firstcome.client;

/** Where a subject stands with a waitlist: its place, or that it has none ({@link Reason#NOT_ON_WAITLIST}). */
public sealed interface PlaceOutcome permits Place, Refused {
}
