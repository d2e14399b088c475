package io.firstcome.client;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.net.ConnectException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpConnectTimeoutException;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodySubscriber;
import java.nio.ByteBuffer;
import java.nio.channels.UnresolvedAddressException;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.Flow;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import javax.net.ssl.SSLException;
import javax.net.ssl.SSLHandshakeException;

/**
 * Sends requests with the HTTP client of the JDK. That one repeats a GET by itself, at once and five times at most, if the
 * connection was closed before anything of the answer came; nothing else.
 */
final class JdkTransport implements Transport, Transport.Timer {
    /** The largest answer read; a page of 10,000 results stays far below it. */
    private static final int LARGEST_ANSWER = 64 * 1024 * 1024;
    private final HttpClient http;
    private final String authorization;

    JdkTransport(HttpClient http, String authorization) {
        this.http = http;
        this.authorization = authorization;
    }

    HttpRequest.Builder request(String server, String path) {
        HttpRequest.Builder request = HttpRequest.newBuilder(URI.create(server + path)).header("User-Agent", "firstcome-java/0.1.0");
        return authorization == null ? request : request.header("Authorization", authorization);
    }

    HttpClient http() {
        return http;
    }

    private HttpRequest request(String server, Ask ask, Map<String, String> headers, Duration limit) {
        HttpRequest.Builder request = request(server, ask.path()).timeout(limit);
        headers.forEach(request::header);
        ask.headers().forEach(request::header);
        if (ask.body() == null) {
            return request.method(ask.method(), BodyPublishers.noBody()).build();
        }
        return request.header("Content-Type", "application/json").method(ask.method(), BodyPublishers.ofByteArray(ask.body())).build();
    }

    private static Reply reply(HttpResponse<byte[]> answer) {
        return new Reply(answer.statusCode(), answer.headers().firstValue("retry-after").orElse(null), answer.body());
    }

    @Override
    public CompletableFuture<Reply> send(String server, Ask ask, Map<String, String> headers, Duration limit) {
        long until = System.nanoTime() + limit.toNanos();
        CompletableFuture<HttpResponse<byte[]>> exchange = http.sendAsync(request(server, ask, headers, limit), head -> new Whole(until));
        CompletableFuture<Reply> reply = new CompletableFuture<>();
        exchange.whenComplete((answer, broken) -> {
            if (broken == null) {
                reply.complete(reply(answer));
            } else {
                reply.completeExceptionally(sort(broken));
            }
        });
        reply.whenComplete((done, broken) -> {
            if (reply.isCancelled()) {
                exchange.cancel(true);
            }
        });
        return reply;
    }

    /** Sends a request and waits for its answer in this thread, which costs less than to be woken by another one. */
    Reply exchange(String server, Ask ask, Map<String, String> headers, Duration limit) throws InterruptedException {
        long until = System.nanoTime() + limit.toNanos();
        try {
            return reply(http.send(request(server, ask, headers, limit), head -> new Whole(until)));
        } catch (IOException broken) {
            throw sort(broken);
        }
    }

    @Override
    public long nanos() {
        return System.nanoTime();
    }

    @Override
    public void after(long nanos, Runnable run) {
        CompletableFuture.delayedExecutor(nanos, TimeUnit.NANOSECONDS).execute(run);
    }

    /** Says how far a request got. */
    static Broken sort(Throwable broken) {
        Throwable why = broken instanceof CompletionException && broken.getCause() != null ? broken.getCause() : broken;
        boolean unsent = false;
        boolean untrusted = false;
        for (Throwable each = why; each != null; each = each.getCause()) {
            unsent |= each instanceof ConnectException || each instanceof HttpConnectTimeoutException
                    || each instanceof UnresolvedAddressException || each instanceof SSLHandshakeException;
            untrusted |= each instanceof SSLHandshakeException || each instanceof SSLException && each.getCause() == null;
        }
        String said = why.getMessage() == null ? "" : ": " + why.getMessage();
        return new Broken((unsent ? "cannot connect (" : "the answer is lost (") + why.getClass().getSimpleName() + said + ")",
                !unsent, !untrusted);
    }

    /** Collects an answer that is not too large. The time-out of a request ends with the head of its answer: this has its own. */
    private static final class Whole implements BodySubscriber<byte[]> {
        private final CompletableFuture<byte[]> body = new CompletableFuture<>();
        private final long until;
        private final ByteArrayOutputStream bytes = new ByteArrayOutputStream(512);
        private volatile Flow.Subscription subscription;

        Whole(long until) {
            this.until = until;
        }

        @Override
        public CompletionStage<byte[]> getBody() {
            // Most answers are whole by now, and need no timer.
            return body.isDone() ? body : body.orTimeout(Math.max(until - System.nanoTime(), 1), TimeUnit.NANOSECONDS)
                    .whenComplete((bytes, broken) -> {
                        if (broken != null && subscription != null) {
                            subscription.cancel();
                        }
                    });
        }

        @Override
        public void onSubscribe(Flow.Subscription subscription) {
            this.subscription = subscription;
            subscription.request(Long.MAX_VALUE);
        }

        @Override
        public void onNext(List<ByteBuffer> buffers) {
            for (ByteBuffer buffer : buffers) {
                if (bytes.size() + buffer.remaining() > LARGEST_ANSWER) {
                    body.completeExceptionally(new IOException("the answer is larger than 64 MiB"));
                    subscription.cancel();
                    return;
                }
                byte[] part = new byte[buffer.remaining()];
                buffer.get(part);
                bytes.write(part, 0, part.length);
            }
        }

        @Override
        public void onError(Throwable broken) {
            body.completeExceptionally(broken);
        }

        @Override
        public void onComplete() {
            body.complete(bytes.toByteArray());
        }
    }
}
