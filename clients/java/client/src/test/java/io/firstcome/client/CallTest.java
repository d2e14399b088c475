package io.firstcome.client;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import org.junit.jupiter.api.Test;

/** The retry rule, on a clock and a network that the test decides. */
class CallTest {
    private final World world = new World();

    private ClaimOutcome claim(Duration deadline, String... servers) {
        return world.run(world.client(deadline, servers).async().claim("spring", "ann", null));
    }

    private FirstcomeException broken(Duration deadline, String... servers) {
        return (FirstcomeException) assertThrows(CompletionException.class, () -> claim(deadline, servers)).getCause();
    }

    private static Duration seconds(double seconds) {
        return Duration.ofMillis((long) (seconds * 1000));
    }

    @Test
    void aPauseDoublesUpToTheLongestAndARandomPartIsLess() {
        Retry retry = new Retry(Duration.ofMillis(50), Duration.ofMillis(300), 9);
        long[] pauses = java.util.stream.IntStream.of(1, 2, 3, 4, 5, 40, Integer.MAX_VALUE)
                .mapToLong(round -> retry.pause(round, 0) / 1_000_000).toArray();
        assertArrayEquals(new long[] {50, 100, 200, 300, 300, 300, 300}, pauses);
        assertEquals(Duration.ofMillis(50).toNanos(), retry.pause(2, 1));
    }

    @Test
    void theSameRequestIsSentUntilItIsAnswered() {
        world.then(World.refusesConnections(), World.lost(), World.problem(503, "unavailable", true, "no"), World.won());
        assertEquals(1, assertInstanceOf(Won.class, claim(seconds(15))).rank());
        assertEquals(4, world.sent.size());
        for (World.Sent each : world.sent) {
            assertSame(world.sent.get(0).ask(), each.ask());
        }
        assertEquals(List.of(0L, 51L, 152L, 353L), world.sent.stream().map(World.Sent::at).toList());
    }

    @Test
    void aRefusalIsNeverSentAgainWhateverItsStatusAndItsRetry() {
        for (World.Step no : List.of(World.problem(409, "not_open", true, "no"), World.problem(429, "too_many_holds", true, "no"),
                World.problem(409, "tangled", true, "no"))) {
            World own = new World().then(no);
            Refused refused = (Refused) own.run(own.client(seconds(15)).async().claim("spring", "ann", null));
            own.runOut();
            assertEquals(1, own.sent.size());
            assertFalse(refused.afterLostAttempt());
            assertEquals("why it is " + refused.problem().outcome(), refused.problem().detail());
        }
    }

    @Test
    void aReasonThatIsNewIsOtherWithItsName() {
        world.then(World.problem(409, "tangled", false, "no"));
        Refused refused = assertInstanceOf(Refused.class, claim(seconds(1)));
        assertEquals(Reason.OTHER, refused.reason());
        assertEquals("tangled", refused.problem().outcome());
    }

    @Test
    void whatMayHaveHappenedIsUnknownAtTheDeadlineAndNotBefore() {
        Unknown unknown = assertInstanceOf(Unknown.class, claim(seconds(8)));
        // The first attempt ends after 6 s; the second one has what is left.
        assertEquals(8_000, world.millis());
        assertEquals(2, unknown.attempts());
        assertEquals("http://one", unknown.server());
        assertTrue(world.sent.get(1).limit().compareTo(Duration.ofMillis(1_950)) <= 0);
    }

    @Test
    void whatNeverLeftChangedNothing() {
        world.always(World.refusesConnections());
        NoAnswerException none = assertInstanceOf(NoAnswerException.class, broken(seconds(1)));
        assertTrue(none.getMessage().contains("nothing changed"), none.getMessage());
        assertTrue(none.attempts() >= 5, "attempts: " + none.attempts());
        assertTrue(world.millis() <= 1_000 && world.millis() > 900, "took " + world.millis());
    }

    @Test
    void turnedAwayAfterALostAttemptStaysUnknown() {
        world.then(World.lost()).always(World.problem(503, "unavailable", true, "no"));
        assertEquals("unavailable", assertInstanceOf(Unknown.class, claim(seconds(1))).problem().outcome());
    }

    @Test
    void aWrongKeyIsAnExceptionAndAfterALostAttemptUnknown() {
        world.then(World.problem(401, "unauthorized", false, "no"), World.lost(), World.problem(401, "unauthorized", false, "no"));
        assertEquals(Reason.UNAUTHORIZED, assertInstanceOf(RejectedException.class, broken(seconds(1))).reason());
        assertEquals(1, world.sent.size());
        assertInstanceOf(Unknown.class, claim(seconds(1)));
        assertEquals(3, world.sent.size());
    }

    @Test
    void aRefusalAfterALostAttemptSaysSo() {
        world.then(World.lost(), World.problem(409, "sold_out", false, "no"));
        assertTrue(assertInstanceOf(Refused.class, claim(seconds(1))).afterLostAttempt());
    }

    @Test
    void theServersTimeIsObeyedAndTheMillisecondsAreMoreExact() {
        String busy = World.problemJson(429, "too_many_requests", true, "no");
        world.then(World.answers(429, busy, "3"), World.answers(429, busy.replace("}", ",\"retry_after_ms\":700}"), "9"), World.won());
        assertInstanceOf(Won.class, claim(seconds(15)));
        assertEquals(List.of(0L, 3_001L, 3_702L), world.sent.stream().map(World.Sent::at).toList());
    }

    @Test
    void aWaitBeyondTheDeadlineEndsTheCallAtOnce() {
        world.always(World.answers(429, World.problemJson(429, "busy", true, "no"), "60"));
        assertEquals("busy", broken(seconds(5)).problem().outcome());
        assertEquals(1, world.millis());
        assertEquals(1, world.sent.size());
    }

    @Test
    void theNextServerIsAskedAtOnceAndAPauseComesAfterTheLast() {
        world.then(World.refusesConnections(), World.problem(503, "unavailable", true, "no"), World.won(), World.won());
        assertInstanceOf(Won.class, claim(seconds(15), "http://one", "http://two"));
        assertEquals(List.of("http://one", "http://two", "http://one"), world.sent.stream().map(World.Sent::server).toList());
        assertEquals(List.of(0L, 1L, 52L), world.sent.stream().map(World.Sent::at).toList());
    }

    @Test
    void aServerThatIsNotTheOneThatIsMeantIsNotAskedAgain() {
        world.always(World.untrusted());
        assertInstanceOf(NoAnswerException.class, broken(seconds(15)));
        assertEquals(1, world.sent.size());
        World two = new World().then(World.untrusted(), World.won());
        two.run(two.client(seconds(15), "http://one", "http://two").async().claim("spring", "ann", null));
        assertEquals(2, two.sent.size());
    }

    @Test
    void whatIsNoAnswerOfFirstcomeIsLostOnlyFrom500On() {
        world.then(World.answers(302, ""));
        assertInstanceOf(NoAnswerException.class, broken(seconds(1)));
        world.always(World.answers(502, "<html>"));
        assertInstanceOf(Unknown.class, claim(seconds(1)));
    }

    @Test
    void aReadIsNeverUnknown() {
        CompletableFuture<Campaign> read = world.client(seconds(8)).async().campaign("spring");
        assertInstanceOf(NoAnswerException.class, assertThrows(CompletionException.class, () -> world.run(read)).getCause());
        world.then(World.problem(404, "not_found", false, "no"));
        CompletableFuture<Campaign> none = world.client(seconds(8)).async().campaign("spring");
        RejectedException no = (RejectedException) assertThrows(CompletionException.class, () -> world.run(none)).getCause();
        assertEquals(Reason.NOT_FOUND, no.reason());
    }

    @Test
    void theNumberOfAttemptsIsALimit() {
        world.always(World.lost());
        FirstcomeClient once = world.client(seconds(15), Retry.DEFAULT.attempts(1), null);
        assertEquals(1, ((Unknown) world.run(once.async().claim("spring", "ann", null))).attempts());
        assertEquals(1, world.sent.size());
    }

    @Test
    void cancellingEndsTheExchangeAndTheRetries() {
        CompletableFuture<ClaimOutcome> running = world.client(seconds(15)).async().claim("spring", "ann", null);
        assertTrue(running.cancel(true));
        assertTrue(world.exchanges.get(0).isCancelled());
        world.runOut();
        assertEquals(1, world.sent.size());

        World paused = new World().always(World.lost());
        CompletableFuture<ClaimOutcome> pausing = paused.client(seconds(15)).async().claim("spring", "ann", null);
        paused.exchanges.get(0).completeExceptionally(new Transport.Broken("lost", true, true));
        pausing.cancel(true);
        paused.runOut();
        assertEquals(1, paused.sent.size());
    }

    @Test
    void whoObservesIsToldOfTheEndOnce() {
        List<String> told = new ArrayList<>();
        CallObserver observer = begun -> {
            begun.headers().put("traceparent", "00-1-2-01");
            return (outcome, attempts, failure) -> told.add(begun.operation() + " " + begun.campaign() + " " + outcome + " " + attempts
                    + " " + (failure == null ? "value" : failure.getClass().getSimpleName()));
        };
        AsyncFirstcomeClient client = world.client(seconds(1), Retry.DEFAULT, observer).async();
        world.then(World.lost(), World.won());
        world.run(client.claim("spring", "ann", null));
        assertEquals("00-1-2-01", world.sent.get(1).headers().get("traceparent"));
        world.then(World.problem(409, "sold_out", false, "no"), World.problem(401, "unauthorized", false, "no"));
        world.run(client.claim("spring", "ann", null));
        assertThrows(CompletionException.class, () -> world.run(client.claim("spring", "ann", null)));
        world.always(World.hangs());
        world.run(client.claim("spring", "ann", null));
        client.claim("spring", "ann", null).cancel(true);
        assertEquals(List.of("claim spring won 2 value", "claim spring sold_out 1 value", "claim spring unauthorized 1 RejectedException",
                "claim spring unknown 1 value", "claim spring cancelled 1 CancellationException"), told);
    }

    /** Many random networks, and what must hold in each. */
    @Test
    void theRuleHoldsInRandomNetworks() {
        List<World.Step> all = List.of(World.lost(), World.refusesConnections(), World.hangs(), World.answers(502, "gateway"),
                World.answers(200, "no json"), World.problem(503, "unavailable", true, "no"), World.problem(503, "unknown", true, "unknown"),
                World.problem(429, "busy", true, "no"), World.problem(507, "store_full", true, "no"), World.problem(409, "sold_out", false, "no"),
                World.problem(401, "unauthorized", false, "no"), World.answers(404, "nothing"), World.won());
        List<World.Step> mayHaveHappened = List.of(all.get(0), all.get(2), all.get(3), all.get(4), all.get(6));
        int unknown = 0;
        for (int seed = 0; seed < 2_000; seed++) {
            Random random = new Random(seed);
            World own = new World();
            own.random = random.nextDouble();
            List<World.Step> steps = random.ints(30, 0, all.size()).mapToObj(all::get).toList();
            own.then(steps.toArray(World.Step[]::new));
            Duration deadline = Duration.ofMillis(500 + random.nextInt(20_000));
            String[] servers = random.nextBoolean() ? new String[] {"http://one"} : new String[] {"http://one", "http://two"};
            Object outcome;
            try {
                outcome = own.run(own.client(deadline, servers).async().claim("spring", "ann", null));
            } catch (CompletionException failed) {
                outcome = failed.getCause();
            }
            long ended = own.millis();
            own.runOut();
            String where = "seed " + seed + ": " + outcome;
            assertTrue(ended <= deadline.toMillis() + 1, where);
            int sent = own.sent.size();
            assertTrue(own.sent.stream().allMatch(each -> each.ask() == own.sent.get(0).ask()), where);
            List<World.Step> used = steps.subList(0, sent);
            boolean lost = used.stream().anyMatch(mayHaveHappened::contains);
            World.Step last = used.get(sent - 1);
            if (last == all.get(12)) {
                assertInstanceOf(Won.class, outcome, where);
            } else if (last == all.get(9)) {
                assertEquals(lost, assertInstanceOf(Refused.class, outcome, where).afterLostAttempt(), where);
            } else if (lost) {
                assertInstanceOf(Unknown.class, outcome, where);
                unknown++;
            } else {
                assertTrue(outcome instanceof RejectedException == (last == all.get(10)) && outcome instanceof FirstcomeException, where);
            }
            for (World.Step before : used.subList(0, sent - 1)) {
                assertTrue(before != all.get(9) && before != all.get(10) && before != all.get(12), where);
            }
        }
        assertTrue(unknown > 100, "so few ended unknown that nothing was tried: " + unknown);
    }

    @Test
    void anAnswerToBelieveIsWholeJsonEvenIfItsFieldsAreNew() {
        world.then(World.answers(201, "{\"outcome\":\"won\",\"rank\":7,\"brand_new\":{\"deep\":[1]}}"));
        Won won = assertInstanceOf(Won.class, claim(seconds(1)));
        assertEquals(7, won.rank());
        assertNull(won.at());
    }
}
