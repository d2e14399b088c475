package firstcome;

import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import org.redisson.Redisson;
import org.redisson.api.RLock;
import org.redisson.api.RSemaphore;
import org.redisson.api.RedissonClient;
import org.redisson.api.redisnode.RedisNodes;
import org.redisson.api.redisnode.RedisSingle;
import org.redisson.config.Config;

/**
 * Real Redisson for the benchmark: the same work as ours, with Redisson's defaults.
 *
 * <p>Arguments: URL and number of clients. Each line of input is a task; its answer is lines of numbers and then
 * "done". The first "done" comes when it is warm.
 */
public final class Figures {
    private final List<RedissonClient> clients = new ArrayList<>();
    private final ExecutorService threads = Executors.newCachedThreadPool();

    public static void main(String[] args) {
        try {
            work(args);
            System.exit(0);
        } catch (Exception problem) {
            // The clients' threads would keep a program alive whose work has failed.
            problem.printStackTrace();
            System.exit(1);
        }
    }

    private static void work(String[] args) throws Exception {
        Figures figures = new Figures();
        for (int n = 0; n < Integer.parseInt(args[1]); n++) {
            Config config = new Config();
            config.useSingleServer().setAddress(args[0]);
            figures.clients.add(Redisson.create(config));
        }
        for (int n = 0; n < 5; n++) {
            figures.crowd("warm", 16, 200, "plain");
        }
        figures.turns(16, 5, 1, "plain", "warm-turns");
        System.out.println("done");
        BufferedReader lines = new BufferedReader(new InputStreamReader(System.in));
        for (String line = lines.readLine(); line != null; line = lines.readLine()) {
            String[] words = line.split(" ");
            System.out.print(figures.act(words));
            System.out.println("done");
        }
    }

    private String act(String[] words) throws Exception {
        return switch (words[0]) {
            case "pair" -> pair(number(words, 1), number(words, 2));
            case "crowd" -> crowd("crowd", number(words, 1), number(words, 2), words[3]);
            case "turns" -> turns(number(words, 1), number(words, 2), number(words, 3), words[4], words[5]);
            case "over" -> over(number(words, 1));
            case "killed" -> killed(number(words, 1), number(words, 2));
            case "hold" -> hold(number(words, 1));
            default -> throw new IllegalArgumentException(words[0]);
        };
    }

    /** Turns of pairs and of two round trips: microseconds of each. */
    private String pair(int turns, int pairs) {
        RLock lock = clients.get(0).getLock("pair");
        RedisSingle nodes = clients.get(0).getRedisNodes(RedisNodes.SINGLE);
        StringBuilder rows = new StringBuilder();
        // Half as many turns again to warm up.
        for (int turn = -turns / 2; turn < turns; turn++) {
            long begun = System.nanoTime();
            for (int n = 0; n < pairs; n++) {
                lock.lock();
                lock.unlock();
            }
            double pair = (System.nanoTime() - begun) / 1e3 / pairs;
            begun = System.nanoTime();
            for (int n = 0; n < pairs; n++) {
                nodes.getInstance().ping();
                nodes.getInstance().ping();
            }
            double bare = (System.nanoTime() - begun) / 1e3 / pairs;
            if (turn >= 0) {
                rows.append(pair).append(' ').append(bare).append('\n');
            }
        }
        return rows.toString();
    }

    /** Pairs of many threads, each on a name of its own. */
    private String crowd(String name, int tasks, int pairs, String kind) throws Exception {
        together(tasks, task -> {
            Door door = door(kind, "java-" + kind + name + task);
            for (int n = 0; n < pairs; n++) {
                door.enter();
                door.leave();
            }
            return "";
        });
        return "";
    }

    /** Threads that take turns on one lock: from when to when each held it, in microseconds since 1970. */
    private String turns(int tasks, int turns, int heldMs, String kind, String name) throws Exception {
        return together(tasks, task -> {
            Door door = door(kind, name);
            StringBuilder rows = new StringBuilder();
            for (int n = 0; n < turns; n++) {
                door.enter();
                long from = micros();
                Thread.sleep(heldMs);
                long to = micros();
                door.leave();
                rows.append(from).append(' ').append(to).append('\n');
            }
            return rows.toString();
        });
    }

    private interface Door {
        void enter() throws InterruptedException;

        void leave();
    }

    /** The lock of a kind; a semaphore has one permit. */
    private Door door(String kind, String name) {
        RedissonClient client = clients.get(0);
        if (kind.equals("semaphore")) {
            RSemaphore semaphore = client.getSemaphore(name);
            semaphore.trySetPermits(1);
            return new Door() {
                public void enter() throws InterruptedException {
                    semaphore.acquire();
                }

                public void leave() {
                    semaphore.release();
                }
            };
        }
        RLock lock = switch (kind) {
            case "fair" -> client.getFairLock(name);
            case "read" -> client.getReadWriteLock(name).readLock();
            case "write" -> client.getReadWriteLock(name).writeLock();
            default -> client.getLock(name);
        };
        return new Door() {
            public void enter() {
                lock.lock();
            }

            public void leave() {
                lock.unlock();
            }
        };
    }

    /** Hand-overs from one client to another that waits: milliseconds from the release. */
    private String over(int times) throws Exception {
        RLock ann = clients.get(0).getLock("java-over");
        RLock bob = clients.get(1).getLock("java-over");
        StringBuilder rows = new StringBuilder();
        for (int n = 0; n < times; n++) {
            ann.lock();
            Future<Long> next = threads.submit(() -> {
                bob.lock();
                long at = System.nanoTime();
                bob.unlock();
                return at;
            });
            Thread.sleep(20);
            long begun = System.nanoTime();
            ann.unlock();
            rows.append((next.get() - begun) / 1e6).append('\n');
        }
        return rows.toString();
    }

    /** Leases that nobody gives back: milliseconds from their end to the next owner. */
    private String killed(int times, int leaseMs) throws Exception {
        RLock ann = clients.get(0).getLock("java-killed");
        RLock bob = clients.get(1).getLock("java-killed");
        StringBuilder rows = new StringBuilder();
        for (int n = 0; n < times; n++) {
            ann.lock(leaseMs, TimeUnit.MILLISECONDS);
            long begun = System.nanoTime();
            bob.lock();
            rows.append((System.nanoTime() - begun) / 1e6 - leaseMs).append('\n');
            bob.unlock();
        }
        return rows.toString();
    }

    /** Holds so many locks from now on. */
    private String hold(int locks) {
        for (int n = 0; n < locks; n++) {
            clients.get(0).getLock("rest" + n).lock();
        }
        return "";
    }

    private interface Work {
        String of(int task) throws Exception;
    }

    private String together(int tasks, Work work) throws Exception {
        CountDownLatch all = new CountDownLatch(tasks);
        List<Future<String>> running = new ArrayList<>();
        for (int n = 0; n < tasks; n++) {
            int task = n;
            Callable<String> one = () -> {
                all.countDown();
                all.await();
                return work.of(task);
            };
            running.add(threads.submit(one));
        }
        StringBuilder rows = new StringBuilder();
        for (Future<String> one : running) {
            rows.append(one.get());
        }
        return rows.toString();
    }

    private static long micros() {
        Instant now = Instant.now();
        return now.getEpochSecond() * 1_000_000 + now.getNano() / 1_000;
    }

    private static int number(String[] words, int at) {
        return Integer.parseInt(words[at]);
    }
}
