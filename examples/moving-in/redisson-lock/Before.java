import java.util.concurrent.TimeUnit;
import org.redisson.api.RLock;
import org.redisson.api.RMap;
import org.redisson.api.RedissonClient;

/** Places of a campaign, counted under a Redisson lock. */
final class Before {
    private static final int LIMIT = 100;
    private final RedissonClient redisson;

    Before(RedissonClient redisson) {
        this.redisson = redisson;
    }

    String takePlace(String campaign, String customer) throws InterruptedException {
        RMap<String, Integer> winners = redisson.getMap("winners:" + campaign);
        RLock lock = redisson.getLock("lock:" + campaign);
        // Waits for 10 s at most. After 3 s Redis takes the lock away.
        if (!lock.tryLock(10, 3, TimeUnit.SECONDS)) {
            return "Please try again";
        }
        try {
            Integer had = winners.get(customer);
            if (had != null) {
                return "You have place " + had;
            }
            int rank = winners.size() + 1;
            if (rank > LIMIT) {
                return "Sold out";
            }
            winners.put(customer, rank);
            return "You have place " + rank;
        } finally {
            if (lock.isHeldByCurrentThread()) {
                lock.unlock();
            }
        }
    }
}
