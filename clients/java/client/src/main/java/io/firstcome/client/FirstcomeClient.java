package io.firstcome.client;

import java.net.http.HttpClient;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Iterator;
import java.util.List;
import java.util.NoSuchElementException;
import java.util.Spliterator;
import java.util.Spliterators;
import java.util.concurrent.CancellationException;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Function;
import java.util.function.LongFunction;
import java.util.stream.Stream;
import java.util.stream.StreamSupport;
import javax.net.ssl.SSLContext;

/**
 * A client for the servers of one space. It is for all threads, and needs no closing.
 *
 * <p><b>Outcomes are values.</b> A method that changes something returns what became of it: a record for each success,
 * {@link Refused} if the rules said no, {@link Unknown} if no answer came and it may have happened. Exceptions are for what
 * is broken: {@link NoAnswerException} (nothing changed), {@link RejectedException} (the key, the form; or, of a method that
 * reads, the rules said no) and {@link IllegalArgumentException} (an argument that no server takes; nothing is sent).
 *
 * <p><b>Retries.</b> Until its deadline a call goes on: again where no connection was made, where its answer was lost and
 * where the server could not answer now, after growing pauses, not sooner than the server asks, on the next server if there
 * are several. Every request keeps its identity, so nothing happens twice. A refusal is never sent again.
 *
 * <p><b>Interrupts.</b> If the thread is interrupted while it waits, the call ends with a {@link CancellationException} and
 * the interrupt is set again; it may have happened, as after {@link Unknown}.
 */
public final class FirstcomeClient {
    private final AsyncFirstcomeClient async;
    private final JdkTransport transport;

    FirstcomeClient(Call.Shared shared, JdkTransport transport) {
        this.async = new AsyncFirstcomeClient(shared, this);
        this.transport = transport;
    }

    /**
     * Begins a client for a server.
     *
     * @param url its address, {@code http://HOST[:PORT]} or {@code https://HOST[:PORT]}
     * @return what makes the client
     */
    public static Builder builder(String url) {
        return new Builder(url);
    }

    /**
     * Returns the same client without blocking.
     *
     * @return the client whose methods return futures
     */
    public AsyncFirstcomeClient async() {
        return async;
    }

    /**
     * Returns a client with another deadline, which shares everything else.
     *
     * @param deadline how long a call may take altogether, 1 ms to 30 days
     * @return the client with this deadline
     */
    public FirstcomeClient withDeadline(Duration deadline) {
        return new FirstcomeClient(async.shared().within(Checks.positive("the deadline", deadline)), transport);
    }

    /**
     * Returns a client whose answers are at or past a position, on whichever server: send that of your last write to see it.
     *
     * @param position the {@code position} of an answer; one of an ended epoch is {@link Reason#STALE_POSITION}
     * @return the client with this position
     */
    public FirstcomeClient withPosition(String position) {
        return new FirstcomeClient(async.shared().past(Checks.bytes("position", position, 64)), transport);
    }

    /**
     * Claims a unit in a campaign of one pool; see {@link #claim(String, String, String)}.
     *
     * @param campaign the campaign
     * @param subject who claims, 1 to 255 bytes without control characters
     * @return what became of it
     */
    public ClaimOutcome claim(String campaign, String subject) {
        return claim(campaign, subject, null);
    }

    /**
     * Claims a unit for a subject. Who has one already gets {@link AlreadyWon} with the same rank and time.
     *
     * @param campaign the campaign
     * @param subject who claims, 1 to 255 bytes without control characters
     * @param pool the pool; {@code null} if there is one
     * @return what became of it
     */
    public ClaimOutcome claim(String campaign, String subject, String pool) {
        return await(async.claim(campaign, subject, pool));
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
        return await(async.cancel(campaign, subject, rank, pool));
    }

    /**
     * Reads the claims of a subject in a campaign, page by page; each page has a deadline of its own.
     *
     * @param campaign the campaign
     * @param subject whose claims
     * @return all claims of the subject, the latest first in each pool, with the cancelled ones
     */
    public List<Claim> claimsOf(String campaign, String subject) {
        return await(async.claimsOf(campaign, subject));
    }

    /**
     * Reads the live holds and the claims of a subject over all campaigns.
     *
     * @param subject who
     * @param after 0, or the {@code next} of the page before
     * @return a page of what the subject has
     */
    public Subject subject(String subject, long after) {
        return await(async.subject(subject, after));
    }

    /**
     * Holds units until a deadline: all of them, or none. Use it in a {@code try (…)} block: what is not confirmed there is
     * released at its end.
     *
     * @param request what to hold; give the same one again after {@link Unknown}
     * @return what became of it; after {@link Unknown} the units may be held until their deadline
     */
    public HoldOutcome hold(HoldRequest request) {
        return await(async.hold(request));
    }

    /**
     * Reads a hold, until 24 h after its end.
     *
     * @param campaign the campaign
     * @param hold the id of the hold
     * @return the hold as it stands
     */
    public Hold holdOf(String campaign, String hold) {
        return await(async.holdOf(campaign, hold));
    }

    /**
     * Adds units to a hold: all of them, or none.
     *
     * @param hold which hold
     * @param picks what to add
     * @return the hold as it is then; not to be closed beside the first one
     */
    public HoldOutcome add(HoldId hold, Pick... picks) {
        return await(async.add(hold, picks));
    }

    /**
     * Gives some units of a hold back and keeps the others.
     *
     * @param hold which hold
     * @param picks what to give back, without {@link Pick#best}
     * @return the hold as it is then; not to be closed beside the first one
     */
    public HoldOutcome drop(HoldId hold, Pick... picks) {
        return await(async.drop(hold, picks));
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
        return await(async.extend(hold, fromNow));
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
        return await(async.confirm(hold, late, picks));
    }

    /**
     * Gives units of a hold back.
     *
     * @param hold which hold
     * @param picks what to give back, without {@link Pick#best}; all units if nothing is picked
     * @return what became of it
     */
    public ReleaseOutcome release(HoldId hold, Pick... picks) {
        return await(async.release(hold, picks));
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
        return await(async.join(campaign, subject, wish));
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
        return await(async.place(campaign, subject, pool));
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
        return await(async.leave(campaign, subject, pool));
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
        return await(async.reserveCode(campaign, use, time));
    }

    /**
     * Uses a code, reserved before or not.
     *
     * @param campaign the campaign
     * @param use the code and its use
     * @return what became of it
     */
    public CodeOutcome redeemCode(String campaign, UseCode use) {
        return await(async.redeemCode(campaign, use));
    }

    /**
     * Undoes a redemption: the use comes back, unless the code has expired meanwhile ({@link CodeStep#expired()}).
     *
     * @param campaign the campaign
     * @param use the code and its use; its subject does not matter
     * @return what became of it
     */
    public CodeOutcome rollBackCode(String campaign, UseCode use) {
        return await(async.rollBackCode(campaign, use));
    }

    /**
     * Gives a reservation back.
     *
     * @param campaign the campaign
     * @param use the code and its use; its subject does not matter
     * @return what became of it
     */
    public CodeOutcome releaseCode(String campaign, UseCode use) {
        return await(async.releaseCode(campaign, use));
    }

    /**
     * Reads how a code stands, whose it is, and what was done with it.
     *
     * @param campaign the campaign
     * @param code the code as it was typed
     * @return how it stands
     */
    public CodesFound lookUpCode(String campaign, String code) {
        return await(async.lookUpCode(campaign, code));
    }

    /**
     * Reads the codes of a subject, with what was done with them.
     *
     * @param campaign the campaign
     * @param subject whose codes
     * @return how they stand
     */
    public CodesFound codesOf(String campaign, String subject) {
        return await(async.codesOf(campaign, subject));
    }

    /**
     * Reads a campaign.
     *
     * @param campaign its name
     * @return everything that a page about it needs
     */
    public Campaign campaign(String campaign) {
        return await(async.campaign(campaign));
    }

    /**
     * Lists the results of a campaign, what happened in order: to follow it, begin behind the last number that you have.
     * Pages are read when they are needed, each with a deadline of its own; reading may throw as all methods here.
     *
     * @param campaign the campaign
     * @param after the number behind which the list begins; 0 is the beginning
     * @param page how many lines to read at a time, 1 to 10,000
     * @return the results up to the last one that there is
     */
    public Stream<Result> results(String campaign, long after, int page) {
        return pages(after, from -> async.results(campaign, from, page), Results::results, Results::next);
    }

    /**
     * Lists the winners of a pool, who has a place now, by rank; otherwise as {@link #results}.
     *
     * @param campaign the campaign
     * @param pool the pool; {@code null} if there is one
     * @param after the rank behind which the list begins; 0 is the beginning
     * @param page how many lines to read at a time, 1 to 10,000
     * @return the winners up to the last one that there is
     */
    public Stream<Winner> winners(String campaign, String pool, long after, int page) {
        return pages(after, from -> async.winners(campaign, pool, from, page), Winners::winners, Winners::next);
    }

    /**
     * Follows the changes of a campaign. Nothing is sent before the first {@link EventStream#next}.
     *
     * @param campaign the campaign
     * @param after the position behind which the stream begins: that of the seat map, or of the last event; from now on if
     *     {@code null}
     * @return the stream, to be closed
     */
    public EventStream events(String campaign, String after) {
        String position = after == null ? null : Checks.bytes("position", after, 64);
        return new EventStream(async.shared(), transport, "/v1/campaigns/" + Checks.name("campaign", campaign) + "/events", position);
    }

    /**
     * Asks once, without retries, whether the server is ready. It needs no key; with one that may read the reasons are
     * sentences.
     *
     * @return whether the server is ready ({@code reasons} is empty then), and why not
     * @throws NoAnswerException if it cannot be reached
     */
    public Ready ready() {
        return await(async.ready());
    }

    @Override
    public String toString() {
        return "FirstcomeClient[servers=" + async.shared().servers() + ", deadline=" + async.shared().deadline() + "]";
    }

    private static <T> T await(CompletableFuture<T> future) {
        try {
            return future.get();
        } catch (ExecutionException failed) {
            if (failed.getCause() instanceof FirstcomeException ours) {
                // It was made for this call: show where it was called.
                ours.fillInStackTrace();
                throw ours;
            }
            throw new IllegalStateException(failed.getCause());
        } catch (InterruptedException interrupted) {
            future.cancel(true);
            Thread.currentThread().interrupt();
            throw new CancellationException("interrupted while waiting for an answer: it may have happened");
        }
    }

    private static <P, L> Stream<L> pages(long after, LongFunction<CompletableFuture<P>> read,
            Function<P, Collection<L>> lines, Function<P, Long> next) {
        Iterator<L> iterator = new Iterator<>() {
            private Iterator<L> page = List.<L>of().iterator();
            private Long from = after;

            @Override
            public boolean hasNext() {
                while (!page.hasNext() && from != null) {
                    P got = await(read.apply(from));
                    page = lines.apply(got).iterator();
                    from = next.apply(got);
                }
                return page.hasNext();
            }

            @Override
            public L next() {
                if (!hasNext()) {
                    throw new NoSuchElementException();
                }
                return page.next();
            }
        };
        return StreamSupport.stream(Spliterators.spliteratorUnknownSize(iterator, Spliterator.ORDERED | Spliterator.NONNULL), false);
    }

    /** What makes a client. */
    public static final class Builder {
        private final List<String> servers = new ArrayList<>();
        private String key;
        private Duration deadline = Duration.ofSeconds(15);
        private Duration attempt = Duration.ofSeconds(6);
        private Duration connect = Duration.ofSeconds(2);
        private Retry retry = Retry.DEFAULT;
        private SSLContext tls;
        private CallObserver observer;

        private Builder(String url) {
            servers.add(Checks.server(url));
        }

        /**
         * Adds another server of the same space. The client asks the one that answered last, at first the first one.
         *
         * @param url its address
         * @return this
         */
        public Builder server(String url) {
            servers.add(Checks.server(url));
            return this;
        }

        /**
         * Sets the key, or a subject token. It travels in a header of each request: use {@code https://} wherever somebody
         * could listen. It is in no text and in no exception.
         *
         * @param key at least 16 visible ASCII characters
         * @return this
         */
        public Builder key(String key) {
            this.key = Checks.key(key);
            return this;
        }

        /**
         * Sets how long a call may take altogether, with its retries and pauses; 15 s if not set.
         *
         * @param deadline 1 ms to 30 days
         * @return this
         */
        public Builder deadline(Duration deadline) {
            this.deadline = Checks.positive("the deadline", deadline);
            return this;
        }

        /**
         * Sets how long one attempt may take; 6 s if not set. A server answers {@code unavailable} or {@code unknown} after
         * 5 s: set it to more than that, to hear which of the two it is.
         *
         * @param attempt 1 ms to 30 days
         * @return this
         */
        public Builder attempt(Duration attempt) {
            this.attempt = Checks.positive("the time of an attempt", attempt);
            return this;
        }

        /**
         * Sets how long connecting may take; 2 s if not set.
         *
         * @param connect 1 ms to 30 days
         * @return this
         */
        public Builder connect(Duration connect) {
            this.connect = Checks.positive("the time of connecting", connect);
            return this;
        }

        /**
         * Sets how often requests are sent again, and after which pauses.
         *
         * @param retry the rule
         * @return this
         */
        public Builder retry(Retry retry) {
            this.retry = java.util.Objects.requireNonNull(retry, "retry");
            return this;
        }

        /**
         * Sets which authorities are trusted for {@code https://}; those of the JDK if not set.
         *
         * @param tls the context
         * @return this
         */
        public Builder tls(SSLContext tls) {
            this.tls = java.util.Objects.requireNonNull(tls, "tls");
            return this;
        }

        /**
         * Sets who is told of each call.
         *
         * @param observer the observer
         * @return this
         */
        public Builder observer(CallObserver observer) {
            this.observer = observer;
            return this;
        }

        /**
         * Makes the client. Nothing is sent.
         *
         * @return the client
         */
        public FirstcomeClient build() {
            HttpClient.Builder http = HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1).connectTimeout(connect)
                    .followRedirects(HttpClient.Redirect.NEVER);
            JdkTransport transport = new JdkTransport((tls == null ? http : http.sslContext(tls)).build(),
                    key == null ? null : "Bearer " + key);
            return new FirstcomeClient(new Call.Shared(transport, transport, () -> ThreadLocalRandom.current().nextDouble(),
                    List.copyOf(servers), new AtomicInteger(), retry, deadline, attempt, null, observer), transport);
        }
    }
}
