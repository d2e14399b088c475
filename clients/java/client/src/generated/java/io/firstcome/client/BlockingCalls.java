// Written by generate.py; do not edit.
package io.firstcome.client;

import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.function.Function;

/** The calls that block, one for each of {@link AsyncFirstcomeClient}. */
abstract class BlockingCalls {
    abstract <T> T await(Function<AsyncFirstcomeClient, CompletableFuture<T>> call);

    /**
     * Claims a unit for a subject. Who has one already gets {@link AlreadyWon} with the same rank and time.
     *
     * @param campaign the campaign
     * @param subject who claims, 1 to 255 bytes without control characters
     * @param pool the pool; {@code null} if there is one
     * @return what became of it
     */
    public ClaimOutcome claim(String campaign, String subject, String pool) {
        return await(calls -> calls.claim(campaign, subject, pool));
    }

    /**
     * Cancels a claim in the name of its subject. A repeated cancel gets the same answer.
     *
     * @param campaign the campaign
     * @param subject whose claim
     * @param rank its rank, from 1, so that a repeated cancel does not hit a newer claim
     * @param pool the pool; {@code null} if there is one
     * @return what became of it
     */
    public CancelOutcome cancel(String campaign, String subject, long rank, String pool) {
        return await(calls -> calls.cancel(campaign, subject, rank, pool));
    }

    /**
     * Reads the claims of a subject in a campaign, page by page; each page has a deadline of its own.
     *
     * @param campaign the campaign
     * @param subject whose claims
     * @return all claims of the subject, the latest first in each pool, with the cancelled ones
     */
    public List<Claim> claimsOf(String campaign, String subject) {
        return await(calls -> calls.claimsOf(campaign, subject));
    }

    /**
     * Reads the live holds and the claims of a subject over all campaigns.
     *
     * @param subject who
     * @param after 0, or the {@code next} of the page before
     * @return a page of what the subject has
     */
    public Subject subject(String subject, long after) {
        return await(calls -> calls.subject(subject, after));
    }

    /**
     * Holds units until a deadline: all of them, or none. Use it in a {@code try (…)} block: what is not confirmed there is
     * released at its end.
     *
     * @param request what to hold; give the same one again after {@link Unknown}
     * @return what became of it; after {@link Unknown} the units may be held until their deadline. The steps of {@link Held}
     *     itself block
     */
    public HoldOutcome hold(HoldRequest request) {
        return await(calls -> calls.hold(request));
    }

    /**
     * Reads a hold, until 24 h after its end.
     *
     * @param campaign the campaign
     * @param hold the id of the hold
     * @return the hold as it stands
     */
    public Hold holdOf(String campaign, String hold) {
        return await(calls -> calls.holdOf(campaign, hold));
    }

    /**
     * Adds units to a hold: all of them, or none.
     *
     * @param hold which hold
     * @param picks what to add
     * @return the hold as it is then; not to be closed beside the first one
     */
    public HoldOutcome add(HoldId hold, Pick... picks) {
        return await(calls -> calls.add(hold, picks));
    }

    /**
     * Gives some units of a hold back and keeps the others.
     *
     * @param hold which hold
     * @param picks what to give back, without {@link Pick#best}
     * @return the hold as it is then; not to be closed beside the first one
     */
    public HoldOutcome drop(HoldId hold, Pick... picks) {
        return await(calls -> calls.drop(hold, picks));
    }

    /**
     * Moves the deadline of a hold, never to an earlier time and not beyond the campaign's longest hold: look at
     * {@code expiresAt}. Extend before you charge, and charge only after {@link Extended}.
     *
     * @param hold which hold
     * @param fromNow the time from now, 1 ms to 24 h; the campaign's own if {@code null}
     * @return what became of it
     */
    public ExtendOutcome extend(HoldId hold, Duration fromNow) {
        return await(calls -> calls.extend(hold, fromNow));
    }

    /**
     * Gives units of a hold to the subject for good. A repeated confirm gets the same answer.
     *
     * @param hold which hold
     * @param late what becomes of a confirm after the deadline
     * @param picks what to confirm, without {@link Pick#best}; all units if nothing is picked
     * @return what became of it
     */
    public ConfirmOutcome confirm(HoldId hold, Late late, Pick... picks) {
        return await(calls -> calls.confirm(hold, late, picks));
    }

    /**
     * Gives units of a hold back.
     *
     * @param hold which hold
     * @param picks what to give back, without {@link Pick#best}; all units if nothing is picked
     * @return what became of it
     */
    public ReleaseOutcome release(HoldId hold, Pick... picks) {
        return await(calls -> calls.release(hold, picks));
    }

    /**
     * Claims units, and joins the waitlist if they are not free. One unit of a counted pool is won at once if it is free;
     * more units, and seats, are offered: {@link Held}. Who has an offer of a code takes it by joining again. A subject has
     * one place in a pool.
     *
     * @param campaign the campaign
     * @param subject who claims
     * @param wish what for
     * @return what became of it
     */
    public JoinOutcome join(String campaign, String subject, Wish wish) {
        return await(calls -> calls.join(campaign, subject, wish));
    }

    /**
     * Reads where a subject stands with a waitlist. Ask again no sooner than {@code askAgainMs} of the campaign says.
     *
     * @param campaign the campaign
     * @param subject who waits
     * @param pool the pool; {@code null} if there is one
     * @return the place, or that there is none
     */
    public PlaceOutcome place(String campaign, String subject, String pool) {
        return await(calls -> calls.place(campaign, subject, pool));
    }

    /**
     * Takes a subject off a waitlist. An offer that it has ends, and goes to the next one.
     *
     * @param campaign the campaign
     * @param subject who waits
     * @param pool the pool; {@code null} if there is one
     * @return what became of it
     */
    public LeaveOutcome leave(String campaign, String subject, String pool) {
        return await(calls -> calls.leave(campaign, subject, pool));
    }

    /**
     * Sets a use of a code aside until a deadline.
     *
     * @param campaign the campaign
     * @param use the code and its use
     * @param time how long, 1 s to 24 h; 15 minutes if {@code null}
     * @return what became of it
     */
    public CodeOutcome reserveCode(String campaign, UseCode use, Duration time) {
        return await(calls -> calls.reserveCode(campaign, use, time));
    }

    /**
     * Uses a code, reserved before or not.
     *
     * @param campaign the campaign
     * @param use the code and its use
     * @return what became of it
     */
    public CodeOutcome redeemCode(String campaign, UseCode use) {
        return await(calls -> calls.redeemCode(campaign, use));
    }

    /**
     * Undoes a redemption: the use comes back, unless the code has expired meanwhile ({@link CodeStep#expired()}).
     *
     * @param campaign the campaign
     * @param use the code and its use; its subject does not matter
     * @return what became of it
     */
    public CodeOutcome rollBackCode(String campaign, UseCode use) {
        return await(calls -> calls.rollBackCode(campaign, use));
    }

    /**
     * Gives a reservation back.
     *
     * @param campaign the campaign
     * @param use the code and its use; its subject does not matter
     * @return what became of it
     */
    public CodeOutcome releaseCode(String campaign, UseCode use) {
        return await(calls -> calls.releaseCode(campaign, use));
    }

    /**
     * Reads how a code stands, whose it is, and what was done with it.
     *
     * @param campaign the campaign
     * @param code the code as it was typed
     * @return how it stands
     */
    public CodesFound lookUpCode(String campaign, String code) {
        return await(calls -> calls.lookUpCode(campaign, code));
    }

    /**
     * Reads the codes of a subject, with what was done with them.
     *
     * @param campaign the campaign
     * @param subject whose codes
     * @return how they stand
     */
    public CodesFound codesOf(String campaign, String subject) {
        return await(calls -> calls.codesOf(campaign, subject));
    }

    /**
     * Reads a campaign.
     *
     * @param campaign its name
     * @return everything that a page about it needs
     */
    public Campaign campaign(String campaign) {
        return await(calls -> calls.campaign(campaign));
    }

    /**
     * Asks once, without retries, whether the server is ready. It needs no key; with one that may read the reasons are
     * sentences.
     *
     * @return whether the server is ready ({@code reasons} is empty then), and why not
     * @throws NoAnswerException if it cannot be reached
     */
    public Ready ready() {
        return await(calls -> calls.ready());
    }
}
