// Written by generate.py; do not edit.
package io.firstcome.client;

/**
 * A unit of a hold. Places of an area, and units of a counted pool, are one item with a {@code quantity}.
 *
 * @param area The area; {@code null} if it is not given
 * @param currency Three capital letters; {@code null} if it is not given
 * @param grade Its price category; {@code null} if it is not given
 * @param pool The pool
 * @param priceMinor The price of one unit, in the smallest unit of its currency; {@code null} if it is not given
 * @param quantity The number of units, if they have no names; {@code null} if it is not given
 * @param rank Its rank in its pool, if it is confirmed; {@code null} if it is not given
 * @param state Its state: {@code held}, {@code confirmed}, {@code expired}, {@code released} or {@code
 *     refund_due}; {@code null} if it is not given
 * @param unit The seat; {@code null} if it is not given
 */
public record Unit(
        String area,
        String currency,
        String grade,
        String pool,
        Long priceMinor,
        Long quantity,
        Long rank,
        String state,
        String unit
) {
}
