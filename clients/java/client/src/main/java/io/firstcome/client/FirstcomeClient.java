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
public final class FirstcomeClient extends BlockingCalls {
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
     * Lists the results of a campaign, what happened in order: to follow it, begin behind the last number that you have.
     * Pages are read when they are needed, each with a deadline of its own; reading may throw as all methods here.
     *
     * @param campaign the campaign
     * @param after the number behind which the list begins; 0 is the beginning
     * @param page how many lines to read at a time, 1 to 10,000
     * @return the results up to the last one that there is
     */
    public Stream<Result> results(String campaign, long after, int page) {
        return pages(after, from -> await(calls -> calls.results(campaign, from, page)), Results::results, Results::next);
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
        return pages(after, from -> await(calls -> calls.winners(campaign, pool, from, page)), Winners::winners, Winners::next);
    }

    /**
     * Follows the changes of a campaign. Nothing is sent before the first {@link EventStream#next}.
     *
     * @param campaign the campaign
     * @param after the position behind which the stream begins: that of the campaign, of its seat map or of the last event.
     *     {@code null}: from now on; then what changes while it connects is not seen until a first event has come
     * @return the stream, to be closed
     */
    public EventStream events(String campaign, String after) {
        String position = after == null ? null : Checks.bytes("position", after, 64);
        return new EventStream(async.shared(), transport, "/v1/campaigns/" + Checks.name("campaign", campaign) + "/events", position);
    }

    @Override
    public String toString() {
        return "FirstcomeClient[servers=" + async.shared().servers() + ", deadline=" + async.shared().deadline() + "]";
    }

    @Override
    <T> T await(Function<AsyncFirstcomeClient, CompletableFuture<T>> call) {
        BlockingTransport driver = new BlockingTransport(transport);
        return driver.finish(call.apply(new AsyncFirstcomeClient(async.shared().by(driver), this)));
    }

    private static <P, L> Stream<L> pages(long after, LongFunction<P> read, Function<P, Collection<L>> lines,
            Function<P, Long> next) {
        Iterator<L> iterator = new Iterator<>() {
            private Iterator<L> page = List.<L>of().iterator();
            private Long from = after;

            @Override
            public boolean hasNext() {
                while (!page.hasNext() && from != null) {
                    P got = read.apply(from);
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
