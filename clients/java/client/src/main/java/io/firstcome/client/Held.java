package io.firstcome.client;

import java.time.Duration;
import java.time.Instant;
import java.util.List;

/**
 * Units that are held for a subject until a deadline: of a hold, or of an offer to somebody on a waitlist.
 *
 * <p>In a {@code try (…)} block the units that were not confirmed are released at its end. A confirm whose end is
 * {@linkplain Unknown unknown} is not undone: then nothing is released, and what is not confirmed ends at the deadline.
 * Closing never throws; where a release fails, that is logged and the units come back at the deadline.
 */
public final class Held implements HoldOutcome, JoinOutcome {
    private static final System.Logger LOG = System.getLogger(Held.class.getName());
    private final FirstcomeClient client;
    private final HoldId id;
    private final List<Unit> units;
    private final Instant expiresAt;
    private final boolean again;
    private final boolean offer;
    private boolean over;

    Held(FirstcomeClient client, HoldId id, List<Unit> units, Instant expiresAt, boolean again, boolean offer) {
        this.client = client;
        this.id = id;
        this.units = List.copyOf(units);
        this.expiresAt = expiresAt;
        this.again = again;
        this.offer = offer;
    }

    /**
     * Returns what identifies the hold.
     *
     * @return its campaign, id and subject
     */
    public HoldId id() {
        return id;
    }

    /**
     * Returns what is held.
     *
     * @return the units, with their prices
     */
    public List<Unit> units() {
        return units;
    }

    /**
     * Returns the deadline, as of this answer. A confirm exactly at it is too late.
     *
     * @return the deadline, by the clock of the server
     */
    public Instant expiresAt() {
        return expiresAt;
    }

    /**
     * Says whether the subject held these units already.
     *
     * @return whether this hold is not new
     */
    public boolean again() {
        return again;
    }

    /**
     * Says whether this is an offer to somebody on a waitlist.
     *
     * @return whether it is an offer
     */
    public boolean offer() {
        return offer;
    }

    /**
     * Gives the units to the subject for good; otherwise as {@link FirstcomeClient#confirm}.
     *
     * @param late what becomes of a confirm after the deadline
     * @param picks what to confirm; all units if nothing is picked
     * @return what became of it
     */
    public ConfirmOutcome confirm(Late late, Pick... picks) {
        // What ends it otherwise, such as an interrupt, leaves its end unknown.
        over = true;
        ConfirmOutcome outcome;
        try {
            outcome = client.confirm(id, late, picks);
        } catch (FirstcomeException nothingChanged) {
            over = false;
            throw nothingChanged;
        }
        boolean rest = outcome instanceof Confirmed confirmed && confirmed.left() > 0;
        over = !rest && !(outcome instanceof Refused);
        return outcome;
    }

    /**
     * Gives all units to the subject for good; after the deadline it is refused.
     *
     * @return what became of it
     */
    public ConfirmOutcome confirm() {
        return confirm(Late.REFUSE);
    }

    /**
     * Moves the deadline; otherwise as {@link FirstcomeClient#extend}. Extend before you charge, and charge only after
     * {@link Extended}.
     *
     * @param fromNow the time from now, 1 ms to 24 h; the campaign's own if {@code null}
     * @return what became of it
     */
    public ExtendOutcome extend(Duration fromNow) {
        return client.extend(id, fromNow);
    }

    /**
     * Gives all units back.
     *
     * @return what became of it
     */
    public ReleaseOutcome release() {
        over = true;
        return client.release(id);
    }

    /** Releases what was not confirmed. Does nothing if all was confirmed, released, or the end of a confirm is unknown. */
    @Override
    public void close() {
        if (over) {
            return;
        }
        try {
            if (release() instanceof Unknown unknown) {
                warn(unknown.reason());
            }
        } catch (RuntimeException failed) {
            warn(failed.getMessage());
        }
    }

    private void warn(String why) {
        LOG.log(System.Logger.Level.WARNING, "hold {0} may last until its deadline: {1}", id.hold(), why);
    }

    @Override
    public String toString() {
        return "Held[id=" + id + ", units=" + units + ", expiresAt=" + expiresAt + "]";
    }
}
