package io.firstcome.client;

import java.time.Duration;
import java.util.Map;
import java.util.concurrent.CancellationException;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.TimeUnit;

/** Makes one call, with its attempts and pauses, in the thread that waits for it. The rules are those of {@link Call}. */
final class BlockingTransport implements Transport, Transport.Timer {
    private final JdkTransport jdk;
    private Runnable later;
    private long pause;
    private boolean interrupted;

    BlockingTransport(JdkTransport jdk) {
        this.jdk = jdk;
    }

    @Override
    public CompletableFuture<Reply> send(String server, Ask ask, Map<String, String> headers, Duration limit) {
        try {
            return CompletableFuture.completedFuture(jdk.exchange(server, ask, headers, limit));
        } catch (Broken broken) {
            return CompletableFuture.failedFuture(broken);
        } catch (InterruptedException stop) {
            interrupted = true;
            return new CompletableFuture<>();
        }
    }

    @Override
    public long nanos() {
        return jdk.nanos();
    }

    @Override
    public void after(long nanos, Runnable run) {
        pause = nanos;
        later = run;
    }

    /** Makes the pauses and the attempts after them until the call ends. */
    <T> T finish(CompletableFuture<T> call) {
        try {
            while (!call.isDone()) {
                if (interrupted) {
                    throw new InterruptedException();
                }
                Runnable next = later;
                later = null;
                TimeUnit.NANOSECONDS.sleep(pause);
                next.run();
            }
            return call.join();
        } catch (CompletionException failed) {
            throw failed.getCause() instanceof RuntimeException known ? known : failed;
        } catch (InterruptedException stop) {
            call.cancel(true);
            Thread.currentThread().interrupt();
            throw new CancellationException("interrupted while waiting for an answer: it may have happened");
        }
    }
}
