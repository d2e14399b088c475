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
 * The client without blocking; otherwise as {@link FirstcomeClient}, which describes each method, and from which
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
     * As {@link FirstcomeClient#claim(String, String, String)}.
     *
     * @param campaign the campaign
     * @param subject who claims
     * @param pool the pool; {@code null} if there is one
     * @return what became of it
     */
    public CompletableFuture<ClaimOutcome> claim(String campaign, String subject, String pool) {
        ObjectNode body = withPool(Json.object().put("subject", Checks.subject(subject)), pool);
        Ask ask = Ask.change("claim", campaign, "POST", path(campaign) + "/claims", body);
        return make(ask, AsyncFirstcomeClient::won, no -> no, unknown -> unknown);
    }

    /**
     * As {@link FirstcomeClient#cancel}.
     *
     * @param campaign the campaign
     * @param subject whose claim
     * @param rank its rank
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
     * As {@link FirstcomeClient#claimsOf}.
     *
     * @param campaign the campaign
     * @param subject whose claims
     * @return all claims of the subject
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
     * As {@link FirstcomeClient#subject}.
     *
     * @param subject who
     * @param after 0, or where the page before this one said {@code next}
     * @return a page of what the subject has
     */
    public CompletableFuture<Subject> subject(String subject, long after) {
        String path = "/v1/subjects/" + Checks.encode(Checks.subject(subject)) + "?after=" + Checks.range("after", after, 0, Long.MAX_VALUE);
        return read(Ask.get("subject", "", path), Subject.class);
    }

    /**
     * As {@link FirstcomeClient#hold}. The steps of {@link Held} block: in a future, use {@link Held#id()} with the methods
     * here.
     *
     * @param request what to hold
     * @return what became of it
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
     * As {@link FirstcomeClient#holdOf}.
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
     * As {@link FirstcomeClient#add}.
     *
     * @param hold which hold
     * @param picks what to add
     * @return what became of it
     */
    public CompletableFuture<HoldOutcome> add(HoldId hold, Pick... picks) {
        ObjectNode body = picks(Json.object().put("subject", hold.subject()), Checks.picks(List.of(picks), true));
        return make(step("add", hold, body), this::held, AsyncFirstcomeClient::noHold, unknown -> unknown);
    }

    /**
     * As {@link FirstcomeClient#drop}.
     *
     * @param hold which hold
     * @param picks what to give back
     * @return what became of it
     */
    public CompletableFuture<HoldOutcome> drop(HoldId hold, Pick... picks) {
        ObjectNode body = picks(Json.object().put("subject", hold.subject()), Checks.picks(List.of(picks), false));
        return make(step("drop", hold, body), this::held, AsyncFirstcomeClient::noHold, unknown -> unknown);
    }

    /**
     * As {@link FirstcomeClient#extend}.
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
     * As {@link FirstcomeClient#confirm}.
     *
     * @param hold which hold
     * @param late what becomes of a confirm after the deadline
     * @param picks what to confirm; all units if nothing is picked
     * @return what became of it
     */
    public CompletableFuture<ConfirmOutcome> confirm(HoldId hold, Late late, Pick... picks) {
        ObjectNode body = some(hold, picks).put("late", late == Late.RETAKE ? "retake" : "refuse");
        return make(step("confirm", hold, body), json -> Json.as(json, Confirmed.class),
                no -> no.reason() == Reason.REFUND_DUE ? refund(no) : no, unknown -> unknown);
    }

    /**
     * As {@link FirstcomeClient#release}.
     *
     * @param hold which hold
     * @param picks what to give back; all units if nothing is picked
     * @return what became of it
     */
    public CompletableFuture<ReleaseOutcome> release(HoldId hold, Pick... picks) {
        return make(step("release", hold, some(hold, picks)), json -> Json.as(json, Released.class), no -> no, unknown -> unknown);
    }

    /**
     * As {@link FirstcomeClient#join}.
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
     * As {@link FirstcomeClient#place}.
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
     * As {@link FirstcomeClient#leave}.
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
     * As {@link FirstcomeClient#reserveCode}.
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
     * As {@link FirstcomeClient#redeemCode}.
     *
     * @param campaign the campaign
     * @param use the code and its use
     * @return what became of it
     */
    public CompletableFuture<CodeOutcome> redeemCode(String campaign, UseCode use) {
        return code("redeemCode", "redeem", campaign, use.json);
    }

    /**
     * As {@link FirstcomeClient#rollBackCode}.
     *
     * @param campaign the campaign
     * @param use the code and its use
     * @return what became of it
     */
    public CompletableFuture<CodeOutcome> rollBackCode(String campaign, UseCode use) {
        return code("rollBackCode", "roll-back", campaign, use.json.deepCopy().without("subject"));
    }

    /**
     * As {@link FirstcomeClient#releaseCode}.
     *
     * @param campaign the campaign
     * @param use the code and its use
     * @return what became of it
     */
    public CompletableFuture<CodeOutcome> releaseCode(String campaign, UseCode use) {
        return code("releaseCode", "release", campaign, use.json.deepCopy().without("subject"));
    }

    /**
     * As {@link FirstcomeClient#lookUpCode}.
     *
     * @param campaign the campaign
     * @param code the code
     * @return how it stands
     */
    public CompletableFuture<CodesFound> lookUpCode(String campaign, String code) {
        return lookUp("lookUpCode", campaign, Json.object().put("code", Checks.code(code)));
    }

    /**
     * As {@link FirstcomeClient#codesOf}.
     *
     * @param campaign the campaign
     * @param subject whose codes
     * @return how they stand
     */
    public CompletableFuture<CodesFound> codesOf(String campaign, String subject) {
        return lookUp("codesOf", campaign, Json.object().put("subject", Checks.subject(subject)));
    }

    /**
     * As {@link FirstcomeClient#campaign}.
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
     * As {@link FirstcomeClient#ready}.
     *
     * @return whether the server is ready, and why not
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
