import com.zaxxer.hikari.HikariConfig;
import com.zaxxer.hikari.HikariDataSource;
import io.firstcome.client.FirstcomeClient;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.stream.IntStream;

/** Runs Before and After on the same PostgreSQL, shows that the row is a queue, and how many requests a second each takes. */
final class Check {
    private static final List<String> CUSTOMERS = customers(300);
    private static final ExecutorService THREADS = Executors.newFixedThreadPool(32);
    private static final String URL = System.getenv("JDBC_URL");

    interface Program {
        String takePlace(String campaign, String customer) throws Exception;
    }

    public static void main(String[] args) throws Exception {
        makeTables();
        HikariConfig config = new HikariConfig();
        config.setJdbcUrl(URL);
        config.setAutoCommit(false);
        config.setMaximumPoolSize(32); // As many as there are threads: nobody waits for a connection.
        try (HikariDataSource pool = new HikariDataSource(config)) {
            Program before = new Before(pool)::takePlace;
            Program after = new After(firstcome())::takePlace;
            for (Program program : List.of(before, after)) {
                sameForTheCustomer(program == before ? "before" : "after", program);
            }
            oneRowIsAQueue(before, after);
            speed("before", before);
            speed("after", after);
        }
        THREADS.shutdown();
    }

    private static void sameForTheCustomer(String name, Program program) throws Exception {
        List<String> answers = crowd(program, "drop", CUSTOMERS);
        List<String> expected = new ArrayList<>(Collections.nCopies(200, "Sold out"));
        IntStream.rangeClosed(1, 100).forEach(rank -> expected.add("You have place " + rank));
        right(name + ": 300 customers, each rank from 1 to 100 once, 200 times sold out", sorted(answers).equals(sorted(expected)));
        right(name + ": who asks again gets the same answer", crowd(program, "drop", CUSTOMERS).equals(answers));
    }

    /** A transaction stops when it has the row, as that of a process in a long garbage collection; then ten people ask. */
    private static void oneRowIsAQueue(Program before, Program after) throws Exception {
        List<Future<String>> waiting = new ArrayList<>();
        try (Connection stopped = DriverManager.getConnection(URL); Connection look = DriverManager.getConnection(URL)) {
            stopped.setAutoCommit(false);
            number(stopped, "SELECT places_left FROM campaign WHERE name = 'queue' FOR UPDATE");
            CUSTOMERS.subList(0, 10).forEach(customer -> waiting.add(THREADS.submit(() -> before.takePlace("queue", customer))));
            int blocked = 0;
            for (int tries = 0; tries < 200 && blocked < 10; tries++) {
                Thread.sleep(50);
                blocked = number(look, "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query LIKE '%FOR UPDATE'");
            }
            long answers = waiting.stream().filter(Future::isDone).count();
            right("before: one transaction stops, " + blocked + " of 10 customers wait for it", blocked == 10 && answers == 0);
            List<String> now = crowd(after, "queue", CUSTOMERS.subList(0, 10));
            right("after: meanwhile 10 of 10 customers have a place", now.stream().allMatch(text -> text.startsWith("You have place ")));
            stopped.rollback();
        }
        for (Future<String> answer : waiting) {
            answer.get(20, TimeUnit.SECONDS);
        }
    }

    /** 3,000 customers want 1,000 places. Figures for reading: nothing is demanded of them. */
    private static void speed(String name, Program program) throws Exception {
        List<String> many = customers(3_000);
        crowd(program, "warm", many);
        long begun = System.nanoTime();
        List<String> answers = crowd(program, "speed", many);
        double seconds = (System.nanoTime() - begun) / 1e9;
        long won = answers.stream().filter(text -> text.startsWith("You have place ")).distinct().count();
        right(String.format("%s: 3,000 customers, 1,000 places, 32 threads: %,.0f requests/s", name, many.size() / seconds), won == 1_000);
    }

    private static void makeTables() throws SQLException {
        try (Connection db = DriverManager.getConnection(URL); Statement statement = db.createStatement()) {
            statement.execute("CREATE TABLE campaign (name text PRIMARY KEY, places int NOT NULL, places_left int NOT NULL)");
            statement.execute("CREATE TABLE winner (campaign text, customer text, rank int NOT NULL, PRIMARY KEY (campaign, customer))");
            statement.execute("INSERT INTO campaign VALUES ('drop', 100, 100), ('queue', 100, 100), ('warm', 1000, 1000), ('speed', 1000, 1000)");
        }
    }

    private static FirstcomeClient firstcome() {
        return FirstcomeClient.builder(System.getenv("FIRSTCOME_URL")).key(System.getenv("FIRSTCOME_KEY")).build();
    }

    private static int number(Connection db, String sql) throws SQLException {
        try (Statement statement = db.createStatement(); ResultSet row = statement.executeQuery(sql)) {
            row.next();
            return row.getInt(1);
        }
    }

    private static List<String> customers(int count) {
        return IntStream.rangeClosed(1, count).mapToObj(n -> "customer-" + n).toList();
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
        System.out.println((holds ? "ok   " : "WRONG") + " row-for-update: " + what);
        if (!holds) {
            System.exit(1);
        }
    }
}
