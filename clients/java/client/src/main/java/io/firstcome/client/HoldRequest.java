package io.firstcome.client;

import java.security.SecureRandom;
import java.time.Duration;
import java.util.HexFormat;
import java.util.List;

/**
 * A hold that is asked for: all picked units, or none.
 *
 * <p>The id makes the hold the same when it is asked for again: after {@link Unknown}, give the same request to
 * {@link FirstcomeClient#hold} again.
 *
 * @param id what identifies the hold
 * @param picks what to hold: 1 to 64 picks, at most 4 of them of the best seats, at most 500 units in all
 * @param waiting how long to wait for named seats that somebody has, 0 to 24 h; the server waits 3 s at most by default
 */
public record HoldRequest(HoldId id, List<Pick> picks, Duration waiting) {
    private static final SecureRandom RANDOM = new SecureRandom();

    /**
     * Checks the picks.
     *
     * @param id as in the record
     * @param picks as in the record
     * @param waiting as in the record
     * @throws IllegalArgumentException if there are none or too many, or the time is out of range
     */
    public HoldRequest {
        picks = Checks.picks(picks, true);
        Checks.time("waiting", waiting, 0);
    }

    /**
     * Asks for units for a subject. The id is drawn at random, so that nobody guesses it.
     *
     * @param campaign the campaign
     * @param subject for whom
     * @param picks what to hold
     * @return the request
     */
    public static HoldRequest of(String campaign, String subject, Pick... picks) {
        return new HoldRequest(new HoldId(campaign, "hold-" + random(), subject), List.of(picks), Duration.ZERO);
    }

    /**
     * Sets the id: one that is stored with the order lets another process find the answer again.
     *
     * @param hold the id, 1 to 64 bytes; not guessable if browsers hold, too
     * @return the request with this id
     */
    public HoldRequest withId(String hold) {
        return new HoldRequest(new HoldId(id.campaign(), hold, id.subject()), picks, waiting);
    }

    /**
     * Sets how long to wait for named seats that somebody has.
     *
     * @param time 0 to 24 h; the deadline of the call counts all the same
     * @return the request that waits
     */
    public HoldRequest waiting(Duration time) {
        return new HoldRequest(id, picks, time);
    }

    static String random() {
        byte[] bytes = new byte[16];
        RANDOM.nextBytes(bytes);
        return HexFormat.of().formatHex(bytes);
    }
}
