package io.firstcome.client;

import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.Map;
import java.util.PriorityQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicInteger;

/** A network and a clock that a test decides: time passes only when something waits for it. */
final class World implements Transport, Transport.Timer {
    /** What becomes of a request: an answer, a break, or nothing until its time is over; after so many milliseconds. */
    record Step(long after, Reply reply, Broken broken) {
        Step in(long millis) {
            return new Step(millis, reply, broken);
        }
    }

    /** A request as it was sent. */
    record Sent(long at, String server, Ask ask, Map<String, String> headers, Duration limit) {
    }

    private record Task(long at, int order, Runnable run) {
    }

    private final PriorityQueue<Task> tasks = new PriorityQueue<>(
            java.util.Comparator.comparingLong(Task::at).thenComparingInt(Task::order));
    private final Deque<Step> script = new ArrayDeque<>();
    private Step always = hangs();
    private long now = 1_000_000_000L;
    private final long began = now;
    private int order;
    double random;
    final List<Sent> sent = new ArrayList<>();
    final List<CompletableFuture<Reply>> exchanges = new ArrayList<>();

    static Step answers(int status, String json) {
        return answers(status, json, null);
    }

    static Step answers(int status, String json, String retryAfter) {
        return new Step(1, new Reply(status, retryAfter, json.getBytes(StandardCharsets.UTF_8)), null);
    }

    static Step problem(int status, String outcome, boolean retry, String changed) {
        return answers(status, problemJson(status, outcome, retry, changed));
    }

    static String problemJson(int status, String outcome, boolean retry, String changed) {
        return String.format("{\"type\":\"/problems/%s\",\"title\":\"T\",\"detail\":\"why it is %s\",\"status\":%d,\"outcome\":\"%s\","
                + "\"retry\":%s,\"changed\":\"%s\"}", outcome, outcome, status, outcome, retry, changed);
    }

    static Step won() {
        return answers(201, "{\"outcome\":\"won\",\"campaign\":\"spring\",\"pool\":\"main\",\"subject\":\"ann\",\"rank\":1,"
                + "\"at\":\"2026-11-21T05:10:29.405234Z\",\"position\":\"0.2\",\"decided\":\"journal\"}");
    }

    static Step lost() {
        return new Step(1, null, new Broken("the answer is lost", true, true));
    }

    static Step refusesConnections() {
        return new Step(1, null, new Broken("cannot connect", false, true));
    }

    static Step untrusted() {
        return new Step(1, null, new Broken("another certificate", false, false));
    }

    static Step hangs() {
        return new Step(-1, null, null);
    }

    World then(Step... steps) {
        script.addAll(List.of(steps));
        return this;
    }

    World always(Step step) {
        always = step;
        return this;
    }

    FirstcomeClient client(Duration deadline, String... servers) {
        return client(deadline, Retry.DEFAULT, null, servers);
    }

    FirstcomeClient client(Duration deadline, Retry retry, CallObserver observer, String... servers) {
        List<String> all = servers.length == 0 ? List.of("http://one") : List.of(servers);
        return new FirstcomeClient(new Call.Shared(this, this, () -> random, all, new AtomicInteger(), retry, deadline,
                Duration.ofSeconds(6), null, observer), null);
    }

    /** Lets time pass until the future is done; fails if nothing is left to wait for. */
    <T> T run(CompletableFuture<T> future) {
        while (!future.isDone()) {
            Task task = tasks.poll();
            if (task == null) {
                throw new AssertionError("nothing happens any more, and the call has not ended");
            }
            now = Math.max(now, task.at);
            task.run.run();
        }
        return future.join();
    }

    /** Runs what is still planned, so that a late attempt would be seen. */
    void runOut() {
        for (Task task = tasks.poll(); task != null; task = tasks.poll()) {
            now = Math.max(now, task.at);
            task.run.run();
        }
    }

    /** The milliseconds since the world began. */
    long millis() {
        return (now - began) / 1_000_000;
    }

    @Override
    public CompletableFuture<Reply> send(String server, Ask ask, Map<String, String> headers, Duration limit) {
        sent.add(new Sent(millis(), server, ask, Map.copyOf(headers), limit));
        CompletableFuture<Reply> reply = new CompletableFuture<>();
        exchanges.add(reply);
        Step step = script.isEmpty() ? always : script.poll();
        if (step.after < 0 || Duration.ofMillis(step.after).compareTo(limit) >= 0) {
            after(limit.toNanos(), () -> reply.completeExceptionally(new Broken("no answer in time", true, true)));
        } else if (step.broken != null) {
            after(step.after * 1_000_000, () -> reply.completeExceptionally(step.broken));
        } else {
            after(step.after * 1_000_000, () -> reply.complete(step.reply));
        }
        return reply;
    }

    @Override
    public long nanos() {
        return now;
    }

    @Override
    public void after(long nanos, Runnable run) {
        tasks.add(new Task(now + nanos, order++, run));
    }
}
