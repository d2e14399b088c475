package io.firstcome.client;

import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;

/**
 * The client without blocking: what a method of {@link FirstcomeClient} returns is in a future here.
 * {@link FirstcomeClient#async} gives it.
 *
 * <p>Bad arguments are refused at once, by an {@link IllegalArgumentException} of the method itself. A
 * {@link FirstcomeException} is in the future. Cancelling a future ends its request and its retries; it may have happened.
 * Functions that are attached to a future run in threads of the HTTP client and must not block.
 */
public final class AsyncFirstcomeClient {
    private static final int CLAIMS = 10_000;
    private final Call.Shared shared;
    private final FirstcomeClient blocking;

    AsyncFirstcomeClient(Call.Shared shared, FirstcomeClient blocking) {
        this.shared = shared;
        this.blocking = blocking;
    }

    Call.Shared shared() {
        return shared;
    }

    /**
     * Claims a unit for a subject. Who has one already gets {@link AlreadyWon} with the same rank and time.
     *
     * @param campaign the campaign
     * @param subject who claims, 1 to 255 bytes without control characters
     * @param pool the pool; {@code null} if there is one
     * @return what became of it
     */
    public CompletableFuture<ClaimOutcome> claim(String campaign, String subject, String pool) {
        ObjectNode body = withPool(Json.object().put("subject", Checks.subject(subject)), pool);
        Ask ask = Ask.change("claim", campaign, "POST", path(campaign) + "/claims", body);
        return make(ask, AsyncFirstcomeClient::won, no -> no, unknown -> unknown);
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
    public CompletableFuture<CancelOutcome> cancel(String campaign, String subject, long rank, String pool) {
        String path = path(campaign) + "/claims/" + Checks.encode(Checks.subject(subject)) + "?rank="
                + Checks.range("rank", rank, 1, 0xffff_ffffL) + query("&pool=", pool) + "&by=subject";
        Ask ask = Ask.change("cancel", campaign, "DELETE", path, null);
        return make(ask, json -> Json.as(json, Cancelled.class), no -> no, unknown -> unknown);
    }

    /**
     * Reads the claims of a subject in a campaign, page by page; each page has a deadline of its own.
     *
     * @param campaign the campaign
     * @param subject whose claims
     * @return all claims of the subject, the latest first in each pool, with the cancelled ones
     */
    public CompletableFuture<List<Claim>> claimsOf(String campaign, String subject) {
        String path = path(campaign) + "/claims/" + Checks.encode(Checks.subject(subject)) + "?limit=" + CLAIMS + "&after=";
        return claims(campaign, path, 0, new ArrayList<>());
    }

    private CompletableFuture<List<Claim>> claims(String campaign, String path, long after, List<Claim> all) {
        return read(Ask.get("claimsOf", campaign, path + after), Claims.class).thenCompose(page -> {
            all.addAll(page.claims());
            return page.next() == null ? CompletableFuture.completedFuture(List.copyOf(all))
                    : claims(campaign, path, page.next(), all);
        });
    }

    /**
     * Reads the live holds and the claims of a subject over all campaigns.
     *
     * @param subject who
     * @param after 0, or the {@code next} of the page before
     * @return a page of what the subject has
     */
    public CompletableFuture<Subject> subject(String subject, long after) {
        String path = "/v1/subjects/" + Checks.encode(Checks.subject(subject)) + "?after=" + Checks.range("after", after, 0, Long.MAX_VALUE);
        return read(Ask.get("subject", "", path), Subject.class);
    }

    /**
     * Holds units until a deadline: all of them, or none. Use it in a {@code try (…)} block: what is not confirmed there is
     * released at its end.
     *
     * @param request what to hold; give the same one again after {@link Unknown}
     * @return what became of it; after {@link Unknown} the units may be held until their deadline. The steps of {@link Held}
     *     itself block
     */
    public CompletableFuture<HoldOutcome> hold(HoldRequest request) {
        HoldId id = request.id();
        ObjectNode body = Json.object().put("id", id.hold()).put("subject", id.subject());
        picks(body, request.picks());
        if (!request.waiting().isZero()) {
            body.put("wait_ms", request.waiting().toMillis());
        }
        Ask ask = Ask.change("hold", id.campaign(), "POST", path(id.campaign()) + "/holds", body);
        return make(ask.waiting(request.waiting()), this::held, AsyncFirstcomeClient::noHold, unknown -> unknown);
    }

    /**
     * Reads a hold, until 24 h after its end.
     *
     * @param campaign the campaign
     * @param hold the id of the hold
     * @return the hold as it stands
     */
    public CompletableFuture<Hold> holdOf(String campaign, String hold) {
        String path = path(campaign) + "/holds/" + Checks.encode(Checks.bytes("hold", hold, 64));
        return read(Ask.get("holdOf", campaign, path), Hold.class);
    }

    /**
     * Adds units to a hold: all of them, or none.
     *
     * @param hold which hold
     * @param picks what to add
     * @return the hold as it is then; not to be closed beside the first one
     */
    public CompletableFuture<HoldOutcome> add(HoldId hold, Pick... picks) {
        ObjectNode body = picks(Json.object().put("subject", hold.subject()), Checks.picks(List.of(picks), true));
        return make(step("add", hold, body), this::held, AsyncFirstcomeClient::noHold, unknown -> unknown);
    }

    /**
     * Gives some units of a hold back and keeps the others.
     *
     * @param hold which hold
     * @param picks what to give back, without {@link Pick#best}
     * @return the hold as it is then; not to be closed beside the first one
     */
    public CompletableFuture<HoldOutcome> drop(HoldId hold, Pick... picks) {
        ObjectNode body = picks(Json.object().put("subject", hold.subject()), Checks.picks(List.of(picks), false));
        return make(step("drop", hold, body), this::held, AsyncFirstcomeClient::noHold, unknown -> unknown);
    }

    /**
     * Moves the deadline of a hold, never to an earlier time and not beyond the campaign's longest hold: look at
     * {@code expiresAt}. Extend before you charge, and charge only after {@link Extended}.
     *
     * @param hold which hold
     * @param fromNow the time from now, 1 ms to 24 h; the campaign's own if {@code null}
     * @return what became of it
     */
    public CompletableFuture<ExtendOutcome> extend(HoldId hold, Duration fromNow) {
        ObjectNode body = Json.object().put("subject", hold.subject());
        if (fromNow != null) {
            body.put("ttl_ms", Checks.time("the time of an extend", fromNow, 1));
        }
        return make(step("extend", hold, body), json -> Json.as(json, Extended.class), no -> no, unknown -> unknown);
    }

    /**
     * Gives units of a hold to the subject for good. A repeated confirm gets the same answer.
     *
     * @param hold which hold
     * @param late what becomes of a confirm after the deadline
     * @param picks what to confirm, without {@link Pick#best}; all units if nothing is picked
     * @return what became of it
     */
    public CompletableFuture<ConfirmOutcome> confirm(HoldId hold, Late late, Pick... picks) {
        ObjectNode body = some(hold, picks).put("late", late == Late.RETAKE ? "retake" : "refuse");
        return make(step("confirm", hold, body), json -> Json.as(json, Confirmed.class),
                no -> no.reason() == Reason.REFUND_DUE ? refund(no) : no, unknown -> unknown);
    }

    /**
     * Gives units of a hold back.
     *
     * @param hold which hold
     * @param picks what to give back, without {@link Pick#best}; all units if nothing is picked
     * @return what became of it
     */
    public CompletableFuture<ReleaseOutcome> release(HoldId hold, Pick... picks) {
        return make(step("release", hold, some(hold, picks)), json -> Json.as(json, Released.class), no -> no, unknown -> unknown);
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
    public CompletableFuture<JoinOutcome> join(String campaign, String subject, Wish wish) {
        ObjectNode body = wish.json.deepCopy().put("subject", Checks.subject(subject)).put("wait", true);
        Ask ask = Ask.change("join", campaign, "POST", path(campaign) + "/claims", body);
        return make(ask, json -> switch (json.path("outcome").asText()) {
            case "waitlisted" -> Json.as(json, Waitlisted.class);
            case "offered" -> offered(json);
            default -> json.path("outcome").asText().equals("already_won") ? Json.as(json, AlreadyWon.class) : Json.as(json, Won.class);
        }, no -> no, unknown -> unknown);
    }

    /**
     * Reads where a subject stands with a waitlist. Ask again no sooner than {@code askAgainMs} of the campaign says.
     *
     * @param campaign the campaign
     * @param subject who waits
     * @param pool the pool; {@code null} if there is one
     * @return the place, or that there is none
     */
    public CompletableFuture<PlaceOutcome> place(String campaign, String subject, String pool) {
        Ask ask = Ask.get("place", campaign, path(campaign) + "/waitlist/" + Checks.encode(Checks.subject(subject)) + query("?pool=", pool));
        return make(ask, json -> Json.as(json, Place.class), no -> no, null);
    }

    /**
     * Takes a subject off a waitlist. An offer that it has ends, and goes to the next one.
     *
     * @param campaign the campaign
     * @param subject who waits
     * @param pool the pool; {@code null} if there is one
     * @return what became of it
     */
    public CompletableFuture<LeaveOutcome> leave(String campaign, String subject, String pool) {
        String path = path(campaign) + "/waitlist/" + Checks.encode(Checks.subject(subject)) + query("?pool=", pool);
        Ask ask = Ask.change("leave", campaign, "DELETE", path, null);
        return make(ask, json -> Json.as(json, LeftWaitlist.class), no -> no, unknown -> unknown);
    }

    /**
     * Sets a use of a code aside until a deadline.
     *
     * @param campaign the campaign
     * @param use the code and its use
     * @param time how long, 1 s to 24 h; 15 minutes if {@code null}
     * @return what became of it
     */
    public CompletableFuture<CodeOutcome> reserveCode(String campaign, UseCode use, Duration time) {
        ObjectNode body = use.json.deepCopy();
        if (time != null) {
            body.put("ttl_ms", Checks.time("the time of a reservation", time, 1_000));
        }
        return code("reserveCode", "reserve", campaign, body);
    }

    /**
     * Uses a code, reserved before or not.
     *
     * @param campaign the campaign
     * @param use the code and its use
     * @return what became of it
     */
    public CompletableFuture<CodeOutcome> redeemCode(String campaign, UseCode use) {
        return code("redeemCode", "redeem", campaign, use.json);
    }

    /**
     * Undoes a redemption: the use comes back, unless the code has expired meanwhile ({@link CodeStep#expired()}).
     *
     * @param campaign the campaign
     * @param use the code and its use; its subject does not matter
     * @return what became of it
     */
    public CompletableFuture<CodeOutcome> rollBackCode(String campaign, UseCode use) {
        return code("rollBackCode", "roll-back", campaign, use.json.deepCopy().without("subject"));
    }

    /**
     * Gives a reservation back.
     *
     * @param campaign the campaign
     * @param use the code and its use; its subject does not matter
     * @return what became of it
     */
    public CompletableFuture<CodeOutcome> releaseCode(String campaign, UseCode use) {
        return code("releaseCode", "release", campaign, use.json.deepCopy().without("subject"));
    }

    /**
     * Reads how a code stands, whose it is, and what was done with it.
     *
     * @param campaign the campaign
     * @param code the code as it was typed
     * @return how it stands
     */
    public CompletableFuture<CodesFound> lookUpCode(String campaign, String code) {
        return lookUp("lookUpCode", campaign, Json.object().put("code", Checks.code(code)));
    }

    /**
     * Reads the codes of a subject, with what was done with them.
     *
     * @param campaign the campaign
     * @param subject whose codes
     * @return how they stand
     */
    public CompletableFuture<CodesFound> codesOf(String campaign, String subject) {
        return lookUp("codesOf", campaign, Json.object().put("subject", Checks.subject(subject)));
    }

    /**
     * Reads a campaign.
     *
     * @param campaign its name
     * @return everything that a page about it needs
     */
    public CompletableFuture<Campaign> campaign(String campaign) {
        return read(Ask.get("campaign", campaign, path(campaign)), Campaign.class);
    }

    /**
     * Reads a page of the results of a campaign; see {@link FirstcomeClient#results}.
     *
     * @param campaign the campaign
     * @param after the number behind which the page begins; 0 is the beginning
     * @param limit how many lines at most, 1 to 10,000
     * @return the page; its {@code next} is the {@code after} of the next one
     */
    public CompletableFuture<Results> results(String campaign, long after, int limit) {
        return read(Ask.get("results", campaign, path(campaign) + "/results" + range(after, limit)), Results.class);
    }

    /**
     * Reads a page of the winners of a pool; see {@link FirstcomeClient#winners}.
     *
     * @param campaign the campaign
     * @param pool the pool; {@code null} if there is one
     * @param after the rank behind which the page begins; 0 is the beginning
     * @param limit how many lines at most, 1 to 10,000
     * @return the page; its {@code next} is the {@code after} of the next one
     */
    public CompletableFuture<Winners> winners(String campaign, String pool, long after, int limit) {
        String path = path(campaign) + "/winners" + range(after, limit) + query("&pool=", pool);
        return read(Ask.get("winners", campaign, path), Winners.class);
    }

    /**
     * Asks once, without retries, whether the server is ready. It needs no key; with one that may read the reasons are
     * sentences.
     *
     * @return whether the server is ready ({@code reasons} is empty then), and why not
     * @throws NoAnswerException if it cannot be reached
     */
    public CompletableFuture<Ready> ready() {
        String server = shared.servers().get(shared.next().get());
        Duration limit = shared.attempt().compareTo(shared.deadline()) < 0 ? shared.attempt() : shared.deadline();
        return shared.transport().send(server, Ask.get("ready", "", "/readyz"), Map.of(), limit).handle((reply, broken) -> {
            if (broken != null) {
                throw new NoAnswerException(server, broken instanceof CompletionException ? broken.getCause().getMessage()
                        : String.valueOf(broken.getMessage()), 1, null);
            }
            try {
                ObjectNode json = Json.read(reply.body());
                if (json.path("reasons").isArray()) {
                    return Json.as(json, Ready.class);
                }
            } catch (IOException unreadable) {
                // It is answered below.
            }
            throw new NoAnswerException(server, "it is not an answer of Firstcome (status " + reply.status() + ")", 1, null);
        });
    }

    private <T> CompletableFuture<T> make(Ask ask, Call.Answer<T> yes, java.util.function.Function<Refused, T> no,
            java.util.function.Function<Unknown, T> unknown) {
        return Call.make(shared, ask, new Call.Reading<>(yes, no, unknown));
    }

    /** A call of which a no is an exception. */
    private <T> CompletableFuture<T> read(Ask ask, Class<T> type) {
        return make(ask, json -> Json.as(json, type), no -> {
            throw new RejectedException(no.problem());
        }, null);
    }

    private CompletableFuture<CodeOutcome> code(String operation, String verb, String campaign, ObjectNode body) {
        Ask ask = Ask.change(operation, campaign, "POST", path(campaign) + "/codes/" + verb, body);
        return make(ask, json -> Json.as(json, CodeStep.class), no -> no, unknown -> unknown);
    }

    private CompletableFuture<CodesFound> lookUp(String operation, String campaign, ObjectNode body) {
        return read(Ask.change(operation, campaign, "POST", path(campaign) + "/codes/look-up", body).onlyReads(), CodesFound.class);
    }

    private static ClaimOutcome won(ObjectNode json) throws IOException {
        return json.path("outcome").asText().equals("already_won") ? Json.as(json, AlreadyWon.class) : Json.as(json, Won.class);
    }

    private HoldOutcome held(ObjectNode json) throws IOException {
        return json.path("outcome").asText().equals("confirmed") ? Json.as(json, Confirmed.class) : offered(json);
    }

    private Held offered(ObjectNode json) throws IOException {
        Hold hold = Json.as(json, Hold.class);
        if (hold.hold() == null || hold.campaign() == null || hold.subject() == null) {
            throw new IOException("a hold has no id");
        }
        boolean again = json.path("outcome").asText().equals("already_held");
        HoldId id = new HoldId(hold.campaign(), hold.hold(), hold.subject());
        return new Held(blocking, id, hold.units(), hold.expiresAt(), again, hold.offer());
    }

    private static HoldOutcome noHold(Refused no) {
        return no.reason() == Reason.REFUND_DUE ? refund(no) : no;
    }

    private static RefundDue refund(Refused no) {
        return new RefundDue(no.problem().at(), no.problem().units(), no.problem());
    }

    private static Ask step(String verb, HoldId hold, ObjectNode body) {
        String path = path(hold.campaign()) + "/holds/" + Checks.encode(hold.hold()) + "/" + verb;
        return Ask.change(verb, hold.campaign(), "POST", path, body).identified();
    }

    private static ObjectNode some(HoldId hold, Pick... picks) {
        ObjectNode body = Json.object().put("subject", hold.subject());
        return picks.length == 0 ? body : picks(body, Checks.picks(List.of(picks), false));
    }

    private static ObjectNode picks(ObjectNode body, List<Pick> picks) {
        ArrayNode array = body.putArray("picks");
        picks.forEach(pick -> array.add(pick.json));
        return body;
    }

    private static ObjectNode withPool(ObjectNode body, String pool) {
        return pool == null ? body : body.put("pool", Checks.name("pool", pool));
    }

    private static String path(String campaign) {
        return "/v1/campaigns/" + Checks.name("campaign", campaign);
    }

    private static String query(String begin, String pool) {
        return pool == null ? "" : begin + Checks.name("pool", pool);
    }

    private static String range(long after, int limit) {
        return "?after=" + Checks.range("after", after, 0, Long.MAX_VALUE) + "&limit=" + Checks.range("limit", limit, 1, 10_000);
    }
}
