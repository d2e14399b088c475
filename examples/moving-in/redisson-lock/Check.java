import io.firstcome.client.CallObserver;
import io.firstcome.client.FirstcomeClient;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Proxy;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.stream.IntStream;
import org.redisson.Redisson;
import org.redisson.api.RMap;
import org.redisson.api.RedissonClient;
import org.redisson.config.Config;

/** Runs Before and After, and shows what the old one gets wrong. */
final class Check {
    private static final List<String> CUSTOMERS = IntStream.rangeClosed(1, 300).mapToObj(n -> "customer-" + n).toList();
    private static final ExecutorService THREADS = Executors.newFixedThreadPool(16);

    interface Program {
        String takePlace(String campaign, String customer) throws Exception;
    }

    public static void main(String[] args) throws Exception {
        Config config = new Config();
        config.useSingleServer().setAddress(System.getenv("REDIS_URL"));
        RedissonClient redisson = Redisson.create(config);
        Program before = new Before(redisson)::takePlace;
        Program after = new After(firstcome().build())::takePlace;

        for (Program program : List.of(before, after)) {
            String name = program == before ? "before" : "after";
            List<String> answers = crowd(program, "drop", CUSTOMERS);
            List<String> expected = new ArrayList<>(Collections.nCopies(200, "Sold out"));
            IntStream.rangeClosed(1, 100).forEach(rank -> expected.add("You have place " + rank));
            right(name + ": 300 customers, each rank from 1 to 100 once, 200 times sold out", sorted(answers).equals(sorted(expected)));
            right(name + ": who asks again gets the same answer", crowd(program, "drop", CUSTOMERS).equals(answers));
            crowd(program, "pause", CUSTOMERS.subList(0, 99));
        }

        // One place is left. A process stops in the middle, as a long garbage collection does it; meanwhile somebody else asks.
        CountDownLatch stopped = new CountDownLatch(1);
        CountDownLatch goOn = new CountDownLatch(1);
        Future<String> slow = THREADS.submit(() -> new Before(stopsAtPut(redisson, stopped, goOn)).takePlace("pause", "slow"));
        right("before: a process stops under the lock, after it has counted", stopped.await(20, TimeUnit.SECONDS));
        String quick = before.takePlace("pause", "quick");
        goOn.countDown();
        right("before: after 3 s the lock is taken away, and two customers have place 100",
                quick.equals("You have place 100") && slow.get(20, TimeUnit.SECONDS).equals(quick));
        int winners = redisson.getMap("winners:pause").size();
        right("before: " + winners + " people have one of 100 places", winners == 101);

        CountDownLatch atCall = new CountDownLatch(1);
        CountDownLatch resume = new CountDownLatch(1);
        CallObserver pause = call -> {
            pass(atCall, resume);
            return null;
        };
        After stopping = new After(firstcome().observer(pause).build());
        slow = THREADS.submit(() -> stopping.takePlace("pause", "slow"));
        right("after: a process stops before it sends its claim", atCall.await(20, TimeUnit.SECONDS));
        quick = after.takePlace("pause", "quick");
        resume.countDown();
        right("after: whoever comes first has place 100, the other one is told that it is sold out",
                quick.equals("You have place 100") && slow.get(20, TimeUnit.SECONDS).equals("Sold out"));
        THREADS.shutdown();
        redisson.shutdown();
    }

    private static FirstcomeClient.Builder firstcome() {
        return FirstcomeClient.builder(System.getenv("FIRSTCOME_URL")).key(System.getenv("FIRSTCOME_KEY"));
    }

    /** Gives a Redisson whose maps wait before they put. */
    private static RedissonClient stopsAtPut(RedissonClient real, CountDownLatch stopped, CountDownLatch goOn) {
        return wrap(RedissonClient.class, real, (name, answer) -> name.equals("getMap")
                ? wrap(RMap.class, (RMap<?, ?>) answer.call(), (step, put) -> {
                    if (step.equals("put")) {
                        pass(stopped, goOn);
                    }
                    return put.call();
                })
                : answer.call());
    }

    interface Around {
        Object call(String name, Callable<Object> real) throws Exception;
    }

    private static <T> T wrap(Class<T> type, T real, Around around) {
        return type.cast(Proxy.newProxyInstance(type.getClassLoader(), new Class<?>[] {type}, (self, method, arguments) ->
                around.call(method.getName(), () -> {
                    try {
                        return method.invoke(real, arguments);
                    } catch (InvocationTargetException failed) {
                        throw failed.getCause() instanceof Exception cause ? cause : failed;
                    }
                })));
    }

    private static void pass(CountDownLatch reached, CountDownLatch goOn) {
        reached.countDown();
        try {
            if (!goOn.await(30, TimeUnit.SECONDS)) {
                throw new IllegalStateException("nobody said go on");
            }
        } catch (InterruptedException interrupted) {
            throw new IllegalStateException(interrupted);
        }
    }

    /** Lets everybody ask, many at the same time; gives the answers in the order of the customers. */
    private static List<String> crowd(Program program, String campaign, List<String> customers) throws Exception {
        List<Callable<String>> requests = new ArrayList<>();
        customers.forEach(customer -> requests.add(() -> program.takePlace(campaign, customer)));
        List<String> answers = new ArrayList<>();
        for (Future<String> answer : THREADS.invokeAll(requests)) {
            answers.add(answer.get());
        }
        return answers;
    }

    private static List<String> sorted(List<String> texts) {
        return texts.stream().sorted().toList();
    }

    private static void right(String what, boolean holds) {
        System.out.println((holds ? "ok   " : "WRONG") + " redisson-lock: " + what);
        if (!holds) {
            System.exit(1);
        }
    }
}
