package io.firstcome.client;

import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.IOException;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodySubscribers;
import java.time.Duration;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Flow;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;

/**
 * The changes of a campaign, as they come. A stream that breaks, is silent for 45 s or ends at the server's time is opened
 * again behind the last event, on the next server if there are several, after growing pauses; nothing is lost, or a
 * {@code reset} event says so.
 *
 * <p>It is for one thread. Lines are fetched when they are asked for, so a slow reader slows the server down; one that does
 * not read for the server's {@code idle_ms} is cut off, and goes on where it was. {@link #close} may be called by any thread.
 */
public final class EventStream implements AutoCloseable {
    private static final Duration SILENCE = Duration.ofSeconds(45);
    private final Call.Shared shared;
    private final JdkTransport transport;
    private final String path;
    private String position;
    private Connection connection;
    private boolean closed;
    private int failures;
    private long pause;
    private long openAfter;

    EventStream(Call.Shared shared, JdkTransport transport, String path, String position) {
        this.shared = shared;
        this.transport = transport;
        this.path = path;
        this.position = position;
    }

    /**
     * Waits for the next event.
     *
     * @param most how long at most, 1 ms to 24 h
     * @return the event; {@code null} if none came in time, or the stream is closed
     * @throws FirstcomeException if the server refuses the stream: its key, or there is no such campaign
     * @throws InterruptedException if the thread is interrupted; nothing is lost
     */
    public Event next(Duration most) throws InterruptedException {
        long until = System.nanoTime() + Checks.time("the wait for an event", most, 1) * 1_000_000;
        while (true) {
            Connection open = open(until);
            if (open == null) {
                return null;
            }
            Event event = open.event(until);
            if (event != null) {
                failures = 0;
                position = event.id() == null ? position : event.id();
                return event;
            }
            if (!open.over) {
                return null;
            }
            drop(open);
        }
    }

    /**
     * Returns where a later stream can go on.
     *
     * @return the position after the last event; that at which the stream began, or {@code null}, if none came
     */
    public String position() {
        return position;
    }

    /** Ends the stream, and a {@link #next} that waits. */
    @Override
    public synchronized void close() {
        closed = true;
        if (connection != null) {
            connection.end();
        }
        notifyAll();
    }

    /** Returns the open connection, or opens one; none if that takes too long or the stream is closed. */
    private Connection open(long until) throws InterruptedException {
        synchronized (this) {
            while (!closed && connection == null && openAfter - System.nanoTime() > 0) {
                long wait = Math.min(openAfter, until) - System.nanoTime();
                if (until - System.nanoTime() <= 0) {
                    return null;
                }
                TimeUnit.NANOSECONDS.timedWait(this, Math.max(wait, 1));
            }
            if (closed || connection != null) {
                return closed ? null : connection;
            }
            int index = shared.next().get();
            HttpRequest.Builder request = transport.request(shared.servers().get(index), path)
                    .header("Accept", "text/event-stream");
            if (position != null) {
                request.header("Last-Event-ID", position);
            }
            connection = new Connection(index, request.build());
            return connection;
        }
    }

    /** Lets a broken connection go, and sets when the next one is made. */
    private synchronized void drop(Connection broken) {
        broken.end();
        connection = null;
        if (broken.rejected != null) {
            closed = true;
            throw broken.rejected;
        }
        if (broken.subscription == null) {
            shared.next().compareAndSet(broken.index, (broken.index + 1) % shared.servers().size());
        }
        long asked = broken.retryAfter == null ? pause : broken.retryAfter.toNanos();
        openAfter = System.nanoTime() + Math.max(asked, shared.retry().pause(++failures, shared.random().getAsDouble()));
    }

    /** One connection. One line at a time is asked for; they wait in the queue, and {@code END} is behind the last. */
    private final class Connection implements Flow.Subscriber<String> {
        private static final String END = new String("end");
        private final int index;
        private final BlockingQueue<String> lines = new LinkedBlockingQueue<>();
        private final CompletableFuture<HttpResponse<Void>> exchange;
        private final StringBuilder data = new StringBuilder();
        private String type = "message";
        private String id;
        private long lastLine = System.nanoTime();
        private boolean over;
        private volatile Flow.Subscription subscription;
        private volatile Duration retryAfter;
        private volatile FirstcomeException rejected;

        Connection(int index, HttpRequest request) {
            this.index = index;
            exchange = transport.http().sendAsync(request, head -> head.statusCode() == 200
                    ? BodySubscribers.fromLineSubscriber(this)
                    : BodySubscribers.mapping(BodySubscribers.ofByteArray(), body -> refused(head, body)));
            exchange.whenComplete((done, broken) -> lines.add(END));
        }

        private Void refused(HttpResponse.ResponseInfo head, byte[] body) {
            int status = head.statusCode();
            try {
                ObjectNode json = Json.read(body);
                Problem problem = Json.as(json, Problem.class);
                String after = head.headers().firstValue("retry-after").orElse(null);
                retryAfter = Call.retryAfter(new Transport.Reply(status, after, body), json);
                if (problem.outcome() != null && !Call.isPassing(status)) {
                    rejected = new RejectedException(problem);
                }
            } catch (IOException unreadable) {
                if (status < 500) {
                    String why = "it is not an answer of Firstcome (status " + status + ")";
                    rejected = new NoAnswerException(shared.servers().get(index), why, 1, null);
                }
            }
            return null;
        }

        /** Reads lines up to the end of an event. None if there is none in time; then {@code over} says whether to go on. */
        private Event event(long until) throws InterruptedException {
            while (true) {
                long silent = lastLine + (subscription == null ? shared.attempt() : SILENCE).toNanos();
                String line = lines.poll(Math.min(until, silent) - System.nanoTime(), TimeUnit.NANOSECONDS);
                over = line == END || line == null && System.nanoTime() >= silent;
                if (over || line == null) {
                    return null;
                }
                lastLine = System.nanoTime();
                subscription.request(1);
                Event event = take(line);
                if (event != null) {
                    return event;
                }
            }
        }

        /** Takes a line (the HTML standard, 9.2.6); gives an event at an empty line. */
        private Event take(String line) {
            if (line.isEmpty()) {
                Event event = data.length() == 0 ? null : new Event(type, data.toString(), id);
                data.setLength(0);
                type = "message";
                id = null;
                return event;
            }
            int colon = line.indexOf(':');
            String field = colon < 0 ? line : line.substring(0, colon);
            String value = colon < 0 ? "" : line.substring(line.startsWith(" ", colon + 1) ? colon + 2 : colon + 1);
            switch (field) {
                case "event" -> type = value;
                case "data" -> data.append(data.length() == 0 ? "" : "\n").append(value);
                case "id" -> id = value;
                case "retry" -> pause = value.matches("[0-9]{1,6}") ? Long.parseLong(value) * 1_000_000 : pause;
                default -> { }
            }
            return null;
        }

        private void end() {
            Flow.Subscription open = subscription;
            if (open != null) {
                open.cancel();
            }
            exchange.cancel(true);
            lines.add(END);
        }

        @Override
        public void onSubscribe(Flow.Subscription opened) {
            subscription = opened;
            opened.request(1);
        }

        @Override
        public void onNext(String line) {
            lines.add(line);
        }

        @Override
        public void onError(Throwable broken) {
            lines.add(END);
        }

        @Override
        public void onComplete() {
            lines.add(END);
        }
    }
}
