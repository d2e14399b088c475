package io.firstcome.client;

/**
 * What identifies a hold for the steps on it.
 *
 * @param campaign the campaign
 * @param hold the id of the hold, 1 to 64 bytes
 * @param subject its owner
 */
public record HoldId(String campaign, String hold, String subject) {
    /**
     * Checks the names.
     *
     * @param campaign as in the record
     * @param hold as in the record
     * @param subject as in the record
     * @throws IllegalArgumentException if one cannot be right
     */
    public HoldId {
        Checks.name("campaign", campaign);
        Checks.bytes("hold", hold, 64);
        Checks.subject(subject);
    }
}
