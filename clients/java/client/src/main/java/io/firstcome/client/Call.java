package io.firstcome.client;

import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.IOException;
import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.DoubleSupplier;
import java.util.function.Function;

/** A call: a request that is sent again until it is answered or its deadline passes. This is the only place that retries. */
final class Call<T> {
    /** With less time left than this nothing is sent again. */
    private static final long LEAST = 5_000_000;
    /** Another server may answer these. What a store or a caller has too much of is of all servers. */
    private static final Set<String> OF_SERVER =
            Set.of("unavailable", "unknown", "too_many_connections", "busy", "eligibility_unknown");

    /** What all calls of a client share. */
    record Shared(Transport transport, Transport.Timer timer, DoubleSupplier random, List<String> servers,
            AtomicInteger next, Retry retry, Duration deadline, Duration attempt, String position, CallObserver observer) {
        Shared within(Duration other) {
            return new Shared(transport, timer, random, servers, next, retry, other, attempt, position, observer);
        }

        Shared by(BlockingTransport driver) {
            return new Shared(driver, driver, random, servers, next, retry, deadline, attempt, position, observer);
        }

        Shared past(String other) {
            return new Shared(transport, timer, random, servers, next, retry, deadline, attempt, other, observer);
        }
    }

    /** How an answer becomes what the caller gets. {@code unknown} is not needed of what only reads. */
    record Reading<T>(Answer<T> yes, Function<Refused, T> no, Function<Unknown, T> unknown) {
    }

    /** Reads the answer to what the rules allowed. */
    interface Answer<T> {
        T read(ObjectNode json) throws IOException;
    }

    /** Who may answer a request that was not answered. */
    private enum Again { NOBODY, OTHERS, ANYBODY }

    /** An attempt without an answer to rely on; {@code lost} if the request may have been taken. */
    private record Setback(String reason, Problem problem, boolean lost, Again again, boolean ofServer, Duration retryAfter) {
    }

    private final Shared shared;
    private final Ask ask;
    private final Reading<T> reading;
    private final long deadline;
    private final Map<String, String> headers = new LinkedHashMap<>();
    private final CallObserver.Ended ended;
    private final CompletableFuture<T> result = new CompletableFuture<>();
    private CompletableFuture<Transport.Reply> running;
    private String outcome = "cancelled";
    private int attempts;
    private int rounds;
    private int missed;
    private boolean lost;

    private Call(Shared shared, Ask ask, Reading<T> reading) {
        this.shared = shared;
        this.ask = shared.position == null ? ask : ask.past(shared.position);
        this.reading = reading;
        this.deadline = shared.timer.nanos() + shared.deadline.toNanos();
        this.ended = shared.observer == null ? null
                : shared.observer.begin(new CallObserver.Begun(ask.operation(), ask.campaign(), headers));
    }

    /** Makes a call. Cancelling what it gives ends the exchange and the retries; it may have happened. */
    static <T> CompletableFuture<T> make(Shared shared, Ask ask, Reading<T> reading) {
        Call<T> call = new Call<>(shared, ask, reading);
        call.result.whenComplete((value, failure) -> call.over(failure));
        call.attempt();
        return call.result;
    }

    private synchronized void over(Throwable failure) {
        if (running != null) {
            running.cancel(true);
        }
        if (ended != null) {
            ended.end(outcome, attempts, failure);
        }
    }

    private synchronized void attempt() {
        if (result.isDone()) {
            return;
        }
        int index = shared.next.get();
        attempts++;
        long limit = Math.min(left(), shared.attempt.plus(ask.waiting()).toNanos());
        try {
            running = shared.transport.send(shared.servers.get(index), ask, headers, Duration.ofNanos(Math.max(limit, 1)));
        } catch (RuntimeException broken) {
            result.completeExceptionally(broken);
            return;
        }
        running.whenComplete((reply, broken) -> {
            try {
                answered(index, reply, broken);
            } catch (RuntimeException mistake) {
                result.completeExceptionally(mistake);
            }
        });
    }

    private long left() {
        return deadline - shared.timer.nanos();
    }

    private synchronized void answered(int index, Transport.Reply reply, Throwable broken) {
        if (result.isDone()) {
            return;
        }
        Setback setback = broken == null ? sort(reply) : unanswered(broken);
        if (setback == null) {
            return;
        }
        lost |= setback.lost;
        long pause = pause(index, setback);
        if (pause < 0) {
            giveUp(shared.servers.get(index), setback);
        } else if (pause == 0) {
            attempt();
        } else {
            shared.timer.after(pause, this::attempt);
        }
    }

    /** Ends the call if the answer can be relied on; otherwise says why not. */
    private Setback sort(Transport.Reply reply) {
        boolean yes = reply.status() >= 200 && reply.status() < 300;
        try {
            ObjectNode json = Json.read(reply.body());
            if (yes) {
                T value = reading.yes.read(json);
                outcome = json.path("outcome").asText("ok");
                result.complete(value);
                return null;
            }
            if (json.path("outcome").isTextual()) {
                return sort(reply.status(), Json.as(json, Problem.class), retryAfter(reply, json));
            }
        } catch (IOException unreadable) {
            // The message of a JSON error may have a part of the answer in it, and that a code.
            String reason = "the answer cannot be read (status " + reply.status() + ")";
            if (yes) {
                return new Setback(reason, null, !ask.reads(), Again.ANYBODY, true, null);
            }
        }
        String reason = "it is not an answer of Firstcome (status " + reply.status() + ")";
        // A gateway in between may have passed the request on before it gave up.
        boolean passed = reply.status() >= 500;
        return new Setback(reason, null, passed && !ask.reads(), passed ? Again.ANYBODY : Again.OTHERS, true, null);
    }

    private Setback sort(int status, Problem problem, Duration retryAfter) {
        Reason reason = Reason.of(problem.outcome());
        boolean passing = isPassing(status);
        if (reason.isOfTheRules() && !(reason == Reason.OTHER && passing)) {
            outcome = problem.outcome();
            try {
                result.complete(reading.no.apply(new Refused(reason, problem, retryAfter, lost)));
            } catch (RejectedException no) {
                result.completeExceptionally(no);
            }
            return null;
        }
        String said = say(problem);
        boolean may = ("unknown".equals(problem.changed()) || passing && !"no".equals(problem.changed())) && !ask.reads();
        if (!may && !passing) {
            if (!lost) {
                outcome = problem.outcome();
                result.completeExceptionally(new RejectedException(problem));
                return null;
            }
            // This server turned it down, but an earlier attempt may have been taken.
            return new Setback(said, problem, false, Again.NOBODY, false, null);
        }
        Again again = problem.retry() || may ? Again.ANYBODY : Again.NOBODY;
        return new Setback(said, problem, may, again, OF_SERVER.contains(problem.outcome()), retryAfter);
    }

    private Setback unanswered(Throwable broken) {
        Throwable why = broken instanceof CompletionException ? broken.getCause() : broken;
        if (why instanceof Transport.Broken known) {
            Again again = known.trusted ? Again.ANYBODY : Again.OTHERS;
            return new Setback(known.getMessage(), null, known.sent && !ask.reads(), again, true, null);
        }
        return new Setback("no answer in time", null, !ask.reads(), Again.ANYBODY, true, null);
    }

    /** Returns the pause before the next attempt in nanoseconds, -1 if there is none; moves on to another server. */
    private long pause(int index, Setback setback) {
        if (setback.ofServer) {
            shared.next.compareAndSet(index, (index + 1) % shared.servers.size());
            missed++;
        }
        boolean other = setback.ofServer && missed < shared.servers.size();
        boolean may = setback.again == Again.ANYBODY || setback.again == Again.OTHERS && other;
        long left = left();
        if (!may || attempts >= shared.retry.attempts() || left <= 0) {
            return -1;
        }
        if (other) {
            return 0;
        }
        missed = 0;
        rounds++;
        long pause = Math.max(1, shared.retry.pause(rounds, shared.random.getAsDouble()));
        if (setback.retryAfter != null) {
            // What the server asks for is not cut short; beyond the deadline there is nothing to wait for.
            long asked = setback.retryAfter.toNanos();
            return asked >= left ? -1 : Math.min(Math.max(asked, pause), left);
        }
        // A last attempt is made a little before the deadline, so that it can be answered.
        return left > LEAST ? Math.min(pause, left / 2) : -1;
    }

    private void giveUp(String server, Setback setback) {
        if (lost) {
            outcome = "unknown";
            result.complete(reading.unknown.apply(new Unknown(setback.reason, server, attempts, setback.problem)));
        } else {
            outcome = setback.problem == null ? "no_answer" : setback.problem.outcome();
            result.completeExceptionally(new NoAnswerException(server, setback.reason, attempts, setback.problem));
        }
    }

    /** What the document says in milliseconds, or the header in seconds; at most an hour. */
    static Duration retryAfter(Transport.Reply reply, ObjectNode json) {
        Duration hour = Duration.ofHours(1);
        Duration asked = null;
        if (json.path("retry_after_ms").isIntegralNumber()) {
            asked = Duration.ofMillis(Math.min(json.path("retry_after_ms").asLong(), hour.toMillis()));
        } else if (reply.retryAfter() != null && reply.retryAfter().matches("[0-9]{1,18}")) {
            asked = Duration.ofSeconds(Math.min(Long.parseLong(reply.retryAfter()), hour.toSeconds()));
        }
        return asked;
    }

    /** Whether it is about the moment and not about the request: the server could not answer now. */
    static boolean isPassing(int status) {
        return status >= 500 || status == 429 || status == 408;
    }

    static String say(Problem problem) {
        String text = problem.detail() == null || problem.detail().isEmpty() ? problem.title() : problem.detail();
        return text == null ? problem.outcome() : problem.outcome() + ": " + text;
    }
}
