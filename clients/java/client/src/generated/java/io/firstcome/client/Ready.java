// Written by generate.py; do not edit.
package io.firstcome.client;

import java.util.List;

/**
 * Whether this server accepts commands, and if not, why.
 *
 * @param differs Settings in which live servers of the space differ from this one, each with what to do; without
 *     a key only their names. Empty if all agree. A server that differs is still ready
 * @param durability The failures that an answer survives; without a key only the name of the setting; {@code
 *     null} if it is not given
 * @param durabilityTrouble Why these are fewer than what was chosen: settings of the store, or {@code fsync} in
 *     NATS is not proven. Null if they are not. It is in {@code reasons} too if commands are refused for it;
 *     {@code null} if it is not given
 * @param lag Results that wait for the ledger
 * @param lagMs Age of the oldest result that waits for the ledger, in milliseconds; 0 if none waits
 * @param lastResult The number of the last result
 * @param leaderlessMs How long there has been no leader, as far as this server knows, in milliseconds; 0 while
 *     there is one
 * @param position The last position that this server applied
 * @param reasons Why it is not ready; empty if it is
 * @param settleTrouble Why results are not written to the ledger; null if they are
 * @param settled The number up to which the ledger has results
 * @param status {@code ready} or {@code not_ready}
 */
public record Ready(
        List<String> differs,
        String durability,
        String durabilityTrouble,
        long lag,
        long lagMs,
        long lastResult,
        long leaderlessMs,
        String position,
        List<String> reasons,
        String settleTrouble,
        long settled,
        String status
) {
    /**
     * Copies its lists, so that nobody changes them.
     *
     * @param differs as in the record
     * @param durability as in the record
     * @param durabilityTrouble as in the record
     * @param lag as in the record
     * @param lagMs as in the record
     * @param lastResult as in the record
     * @param leaderlessMs as in the record
     * @param position as in the record
     * @param reasons as in the record
     * @param settleTrouble as in the record
     * @param settled as in the record
     * @param status as in the record
     */
    public Ready {
        differs = differs == null ? List.of() : List.copyOf(differs);
        reasons = reasons == null ? List.of() : List.copyOf(reasons);
    }
}
