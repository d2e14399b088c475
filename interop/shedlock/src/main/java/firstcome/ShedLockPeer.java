package firstcome;

import com.zaxxer.hikari.HikariConfig;
import com.zaxxer.hikari.HikariDataSource;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.time.Clock;
import java.time.Duration;
import java.util.HashMap;
import java.util.Map;
import java.util.Optional;
import net.javacrumbs.shedlock.core.ClockProvider;
import net.javacrumbs.shedlock.core.LockConfiguration;
import net.javacrumbs.shedlock.core.LockProvider;
import net.javacrumbs.shedlock.core.SimpleLock;
import net.javacrumbs.shedlock.provider.jdbctemplate.JdbcTemplateLockProvider;
import net.javacrumbs.shedlock.provider.redis.spring.RedisLockProvider;
import org.springframework.data.redis.connection.RedisStandaloneConfiguration;
import org.springframework.data.redis.connection.jedis.JedisConnectionFactory;
import org.springframework.jdbc.core.JdbcTemplate;

/**
 * Real ShedLock, told what to do line by line; each line has one line of answer.
 *
 * <p>Providers and handles are called by names that the teller chooses. Durations are milliseconds.
 */
public final class ShedLockPeer {
    private final Map<String, LockProvider> providers = new HashMap<>();
    private final Map<String, SimpleLock> handles = new HashMap<>();

    private ShedLockPeer() {}

    public static void main(String[] args) throws Exception {
        ShedLockPeer peer = new ShedLockPeer();
        BufferedReader lines = new BufferedReader(new InputStreamReader(System.in));
        for (String line = lines.readLine(); line != null; line = lines.readLine()) {
            String answer;
            try {
                answer = peer.act(line.split(" "));
            } catch (Exception problem) {
                Throwable cause = problem.getCause() != null ? problem.getCause() : problem;
                answer = "problem " + problem.getClass().getSimpleName() + " " + cause;
            }
            System.out.println(answer.replace('\n', ' '));
            System.out.flush();
        }
        System.exit(0);
    }

    private String act(String[] words) {
        switch (words[0]) {
            // PROVIDER MODE URL
            case "open":
                providers.put(words[1], open(words[2], words[3]));
                return "done";
            // PROVIDER HANDLE NAME AT_MOST AT_LEAST
            case "lock":
                LockConfiguration asked =
                        new LockConfiguration(ClockProvider.now(), words[3], millis(words[4]), millis(words[5]));
                return keep(words[2], providers.get(words[1]).lock(asked));
            // HANDLE NEW_HANDLE AT_MOST AT_LEAST
            case "extend":
                return keep(words[2], handles.get(words[1]).extend(millis(words[3]), millis(words[4])));
            // HANDLE
            case "unlock":
                handles.get(words[1]).unlock();
                return "done";
            // OFFSET: how far the clock of all of ShedLock is ahead from now on.
            case "clock":
                ClockProvider.setClock(Clock.offset(Clock.systemUTC(), millis(words[1])));
                return "done";
            // PROVIDER PAIRS: microseconds for each.
            case "pairs":
                return pairs(providers.get(words[1]), Integer.parseInt(words[2]));
            default:
                throw new IllegalArgumentException(words[0]);
        }
    }

    private String keep(String handle, Optional<SimpleLock> lock) {
        lock.ifPresent(held -> handles.put(handle, held));
        return String.valueOf(lock.isPresent());
    }

    private static LockProvider open(String mode, String url) {
        switch (mode) {
            // What Spring Boot users have: a pool, and the default settings of everything.
            case "db-time":
                return new JdbcTemplateLockProvider(sql(url).usingDbTime().build());
            case "client-time-utc":
                return new JdbcTemplateLockProvider(sql(url).forceUtcTimeZone().build());
            case "client-time-local":
                return new JdbcTemplateLockProvider(sql(url).build());
            case "redis-safe":
                return redis(url).safeUpdate(true).build();
            case "redis":
                return redis(url).build();
            default:
                throw new IllegalArgumentException(mode);
        }
    }

    private static JdbcTemplateLockProvider.Configuration.Builder sql(String url) {
        HikariConfig config = new HikariConfig();
        config.setJdbcUrl(url);
        config.setMaximumPoolSize(2);
        return JdbcTemplateLockProvider.Configuration.builder()
                .withJdbcTemplate(new JdbcTemplate(new HikariDataSource(config)));
    }

    /** The environment is "test". */
    private static RedisLockProvider.Builder redis(String url) {
        String[] place = url.split(":");
        RedisStandaloneConfiguration server = new RedisStandaloneConfiguration(place[0], Integer.parseInt(place[1]));
        JedisConnectionFactory factory = new JedisConnectionFactory(server);
        factory.afterPropertiesSet();
        factory.start();
        return new RedisLockProvider.Builder(factory).environment("test");
    }

    private static String pairs(LockProvider provider, int pairs) {
        long begun = System.nanoTime();
        for (int n = 0; n < pairs; n++) {
            LockConfiguration asked =
                    new LockConfiguration(ClockProvider.now(), "pair", Duration.ofSeconds(30), Duration.ZERO);
            provider.lock(asked).orElseThrow().unlock();
        }
        return String.valueOf((System.nanoTime() - begun) / 1e3 / pairs);
    }

    private static Duration millis(String word) {
        return Duration.ofMillis(Long.parseLong(word));
    }
}
