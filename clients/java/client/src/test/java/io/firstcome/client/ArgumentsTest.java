package io.firstcome.client;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.time.Duration;
import java.util.Arrays;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.function.Executable;

/** Arguments that no server takes are refused before anything is sent; secrets are in no text. */
class ArgumentsTest {
    private final World world = new World();
    private final FirstcomeClient client = world.client(Duration.ofSeconds(1));

    private void refused(String says, Executable call) {
        String message = assertThrows(IllegalArgumentException.class, call).getMessage();
        assertTrue(message.contains(says), message);
        assertEquals(0, world.sent.size());
    }

    @Test
    void namesAndSubjects() {
        for (String name : Arrays.asList("", "Spring", "a/b", "-a", "a".repeat(65), "..", "ä", null)) {
            refused("campaign must be", () -> client.claim(name, "ann"));
            refused("campaign must be", () -> client.campaign(name));
            refused("campaign must be", () -> client.events(name, null));
        }
        refused("pool must be", () -> client.claim("spring", "ann", "A"));
        refused("subject is missing", () -> client.claim("spring", ""));
        refused("subject is missing", () -> client.claim("spring", null));
        refused("it has 256", () -> client.claim("spring", "é".repeat(128)));
        refused("control characters", () -> client.claim("spring", "ann\n"));
        refused("surrogates", () -> client.claim("spring", "ann\ud800"));
    }

    @Test
    void numbersAndTimes() {
        HoldId hold = new HoldId("hall", "basket-1", "ann");
        refused("rank must be", () -> client.cancel("spring", "ann", 0, null));
        refused("limit must be", () -> client.results("spring", 0, 10_001).findFirst());
        refused("after must be", () -> client.results("spring", -1, 10).findFirst());
        refused("quantity must be", () -> Pick.quantity(501));
        refused("best seats must be", () -> Pick.best(101));
        refused("quantity must be", () -> Wish.of(11));
        refused("time of an extend", () -> client.extend(hold, Duration.ZERO));
        refused("time of a reservation", () -> client.reserveCode("c", UseCode.of("AAAA", "r"), Duration.ofMillis(999)));
        refused("hold must be 1 to 64", () -> new HoldId("hall", "x".repeat(65), "ann"));
        refused("number of picks must", () -> HoldRequest.of("hall", "ann"));
        refused("number of units must", () -> HoldRequest.of("hall", "ann", Pick.quantity(300), Pick.quantity(201)));
        refused("picks with best", () -> client.confirm(hold, Late.REFUSE, Pick.best(1)));
        refused("deadline must be", () -> client.withDeadline(Duration.ZERO));
        refused("attempts must be", () -> Retry.DEFAULT.attempts(0));
        refused("must not be shorter", () -> new Retry(Duration.ofSeconds(2), Duration.ofSeconds(1), 1));
    }

    @Test
    void addressesAndKeys() {
        for (String url : new String[] {"", "localhost:8080", "ftp://host", "http://", "http://host/path", "http://host?x=1",
            "http://user:secret-of-a-store@host", "http://host:0", "http://host:70000", "redis://:secret-of-a-store@host", null}) {
            String message = assertThrows(IllegalArgumentException.class, () -> FirstcomeClient.builder(url)).getMessage();
            assertFalse(message.contains("secret"), message);
        }
        assertEquals("FirstcomeClient[servers=[http://[::1]:8080], deadline=PT15S]", FirstcomeClient.builder("http://[::1]:8080/").build().toString());
        refused("16 visible ASCII", () -> FirstcomeClient.builder("http://host").key("too-short"));
        refused("16 visible ASCII", () -> FirstcomeClient.builder("http://host").key("with a blank in the middle"));
    }

    @Test
    void keysAndCodesAreInNoText() {
        String key = "a-key-that-nobody-sees";
        FirstcomeClient own = FirstcomeClient.builder("http://127.0.0.1:1").key(key).deadline(Duration.ofMillis(60)).build();
        NoAnswerException none = assertThrows(NoAnswerException.class, () -> own.claim("spring", "ann"));
        java.io.StringWriter trace = new java.io.StringWriter();
        none.printStackTrace(new java.io.PrintWriter(trace));
        assertFalse((trace + "" + own + own.async()).contains(key), trace.toString());
        assertTrue(trace.toString().contains("keysAndCodesAreInNoText"), "the trace shows where it was called");

        String code = "4WFN-G6P4-8NVC-XNHK";
        assertEquals("UseCode[{\"reference\":\"order-17\",\"pool\":\"main\"}]", UseCode.of(code, "order-17").pool("main").toString());
        world.then(World.answers(201, "{\"outcome\":\"won\",\"rank\":1,\"code\":\"" + code + "\"}"));
        Won won = (Won) world.run(client.async().claim("spring", "ann", null));
        assertEquals(code, won.code());
        assertFalse(won.toString().contains(code), won.toString());
        String wrong = assertThrows(IllegalArgumentException.class, () -> UseCode.of(code.repeat(20), "r")).getMessage();
        assertFalse(wrong.contains(code), wrong);
    }

    @Test
    void aNameIsOneSegmentOfAPath() {
        assertEquals("a%2Fb%3Fc%3Dd%25e%20f%2B%C3%BC", Checks.encode("a/b?c=d%e f+ü"));
        assertEquals("%2E%2E", Checks.encode(".."));
        assertEquals("%2E", Checks.encode("."));
        assertEquals("a.b", Checks.encode("a.b"));
    }

    @Test
    void everyReasonIsFoundByItsName() {
        Stream.of(Reason.values()).filter(reason -> reason != Reason.OTHER)
                .forEach(reason -> assertEquals(reason, Reason.of(reason.outcome())));
        assertEquals(28, Stream.of(Reason.values()).filter(reason -> !reason.isOfTheRules()).count());
    }
}
