package firstcome;

import java.io.FileOutputStream;
import java.io.IOException;
import java.io.RandomAccessFile;
import java.nio.channels.FileLock;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.concurrent.ThreadLocalRandom;
import org.redisson.Redisson;
import org.redisson.api.RBucket;
import org.redisson.api.RLock;
import org.redisson.api.RedissonClient;
import org.redisson.client.codec.StringCodec;
import org.redisson.config.Config;

/**
 * Adds one to a number in a file, again and again, each time under a lock of real Redisson.
 *
 * <p>The twin of this program in Rust is crates/firstcome-lock/tests/neighbours/visitor.rs, which says what the lines
 * of the diary mean. Arguments: URL LEASE_MS KIND NAME FOLDER ID FIRST_VISIT_MS, with KIND plain or spin. It ends when
 * its standard input does.
 */
public final class Visitor {
    private static final int DIGITS = 20;

    private final FileOutputStream diary;

    private Visitor(FileOutputStream diary) {
        this.diary = diary;
    }

    private static volatile boolean over;

    public static void main(String[] args) throws Exception {
        Config config = new Config();
        config.setLockWatchdogTimeout(Long.parseLong(args[1]));
        config.useSingleServer().setAddress(args[0]).setConnectionMinimumIdleSize(2);
        RedissonClient redisson = Redisson.create(config);
        try {
            visitOften(redisson, args);
        } finally {
            // Its threads would keep a program alive whose work has failed.
            redisson.shutdown();
        }
    }

    private static void visitOften(RedissonClient redisson, String[] args) throws Exception {
        Thread listener = new Thread(Visitor::listen);
        listener.setDaemon(true);
        listener.start();

        RLock lock = args[2].equals("spin") ? redisson.getSpinLock(args[3]) : redisson.getLock(args[3]);
        RBucket<String> marker = redisson.getBucket("marker", StringCodec.INSTANCE);
        Path folder = Path.of(args[4]);
        long visit = Long.parseLong(args[6]);
        try (FileOutputStream diary = new FileOutputStream(folder.resolve(args[5] + ".diary").toFile(), true);
                RandomAccessFile number = new RandomAccessFile(folder.resolve("number").toFile(), "rw");
                RandomAccessFile door = new RandomAccessFile(folder.resolve("door").toFile(), "rw")) {
            Visitor visitor = new Visitor(diary);
            visitor.write("id " + redisson.getId());
            while (!over) {
                lock.lock();
                visitor.write("in " + marker.remainTimeToLive());
                visitor.visit(number, door, visit);
                marker.set("1", Duration.ofMillis(Math.max(1, lock.remainTimeToLive())));
                try {
                    lock.unlock();
                } catch (IllegalMonitorStateException lost) {
                    visitor.write("lost");
                }
                visit = ThreadLocalRandom.current().nextLong(4);
                Thread.sleep(ThreadLocalRandom.current().nextLong(10));
            }
            visitor.write("bye");
        }
    }

    private static void listen() {
        try {
            while (System.in.read() >= 0) {}
        } catch (IOException ended) {
            // As good as its end.
        }
        over = true;
    }

    private void visit(RandomAccessFile number, RandomAccessFile door, long ms) throws Exception {
        try (FileLock alone = door.getChannel().tryLock()) {
            if (alone == null) {
                write("overlap");
            }
            byte[] digits = new byte[DIGITS];
            number.seek(0);
            number.readFully(digits);
            long next = Long.parseLong(new String(digits, StandardCharsets.US_ASCII)) + 1;
            write("try " + next);
            Thread.sleep(ms);
            number.seek(0);
            number.write(String.format("%0" + DIGITS + "d", next).getBytes(StandardCharsets.US_ASCII));
            Thread.sleep(ms);
            write("did " + next);
        }
    }

    /** One call of write(2) for each line: what was written outlives a kill. */
    private void write(String line) throws IOException {
        diary.write((line + "\n").getBytes(StandardCharsets.US_ASCII));
    }
}
