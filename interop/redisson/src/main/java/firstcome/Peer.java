package firstcome;

import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.time.Duration;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.TimeUnit;
import org.redisson.Redisson;
import org.redisson.api.RFencedLock;
import org.redisson.api.RLock;
import org.redisson.api.RSemaphore;
import org.redisson.api.RedissonClient;
import org.redisson.client.codec.StringCodec;
import org.redisson.config.Config;
import org.redisson.config.ShardedSubscriptionMode;

/**
 * Real Redisson, told what to do line by line.
 *
 * <p>Each line is ID VERB KIND NAME and arguments; each answer is a line ID ANSWER, given when it is known. KIND is
 * plain, fenced, fair, read, write or semaphore. A lease of -1 is renewed by Redisson's watchdog.
 */
public final class Peer {
    private final RedissonClient redisson;

    private Peer(RedissonClient redisson) {
        this.redisson = redisson;
    }

    public static void main(String[] args) throws Exception {
        Config config = new Config();
        config.setLockWatchdogTimeout(Long.parseLong(args[1]));
        if (args[0].contains(",")) {
            // Servers of a cluster.
            config.useClusterServers().addNodeAddress(args[0].split(","))
                    .setShardedSubscriptionMode(ShardedSubscriptionMode.valueOf(args[2]))
                    .setRetryAttempts(Integer.parseInt(args[3])).setScanInterval(1000);
        } else {
            config.useSingleServer().setAddress(args[0]).setConnectionMinimumIdleSize(2);
        }
        Peer peer = new Peer(Redisson.create(config));
        say("0", "ready");
        BufferedReader lines = new BufferedReader(new InputStreamReader(System.in));
        for (String line = lines.readLine(); line != null; line = lines.readLine()) {
            String[] words = line.split(" ");
            try {
                peer.act(words);
            } catch (Exception problem) {
                say(words[0], "problem " + problem);
            }
        }
        peer.redisson.shutdown();
    }

    private void act(String[] words) {
        String id = words[0];
        if (words[2].equals("semaphore")) {
            act(id, words, redisson.getSemaphore(words[3]));
            return;
        }
        RLock lock = switch (words[2]) {
            case "fenced" -> redisson.getFencedLock(words[3]);
            case "fair" -> redisson.getFairLock(words[3]);
            case "read" -> redisson.getReadWriteLock(words[3]).readLock();
            case "write" -> redisson.getReadWriteLock(words[3]).writeLock();
            default -> redisson.getLock(words[3]);
        };
        switch (words[1]) {
            // THREAD WAIT_MS LEASE_MS: answers true or false, and what is left of the key "marker" at that moment.
            case "lock" -> lock.tryLockAsync(number(words, 5), number(words, 6), TimeUnit.MILLISECONDS, number(words, 4))
                    .whenComplete((got, problem) -> {
                        if (problem != null) {
                            say(id, "problem " + problem);
                        } else {
                            redisson.getBucket("marker", StringCodec.INSTANCE).remainTimeToLiveAsync()
                                    .whenComplete((left, none) -> say(id, got + " " + left));
                        }
                    });
            // THREAD
            case "unlock" -> answer(id, lock.unlockAsync(number(words, 4)), "done");
            case "force" -> answer(id, lock.forceUnlockAsync(), null);
            case "locked" -> answer(id, lock.isLockedAsync(), null);
            case "left" -> answer(id, lock.remainTimeToLiveAsync(), null);
            case "token" -> answer(id, ((RFencedLock) lock).getTokenAsync(), null);
            // THREAD
            case "held" -> say(id, String.valueOf(lock.isHeldByThread(number(words, 4))));
            default -> say(id, "problem no such verb");
        }
    }

    private static void act(String id, String[] words, RSemaphore semaphore) {
        switch (words[1]) {
            // PERMITS
            case "set" -> answer(id, semaphore.trySetPermitsAsync((int) number(words, 4)), null);
            // WAIT_MS
            case "acquire" -> answer(id, semaphore.tryAcquireAsync(1, Duration.ofMillis(number(words, 4))), null);
            case "release" -> answer(id, semaphore.releaseAsync(1), "done");
            case "available" -> answer(id, semaphore.availablePermitsAsync(), null);
            default -> say(id, "problem no such verb");
        }
    }

    private static long number(String[] words, int at) {
        return Long.parseLong(words[at]);
    }

    private static void answer(String id, CompletionStage<?> stage, String instead) {
        stage.whenComplete((value, problem) -> {
            if (problem != null) {
                Throwable cause = problem.getCause() != null ? problem.getCause() : problem;
                say(id, "problem " + cause.getClass().getSimpleName());
            } else {
                say(id, instead != null ? instead : String.valueOf(value));
            }
        });
    }

    private static synchronized void say(String id, String what) {
        System.out.println(id + " " + what);
        System.out.flush();
    }
}
