package io.firstcome.client;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.ConcurrentLinkedQueue;
import com.sun.net.httpserver.HttpServer;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** What a hold does at the end of its block, against a server that answers what the test says. */
class HeldTest {
    private final List<String> asked = new CopyOnWriteArrayList<>();
    private final Queue<String> answers = new ConcurrentLinkedQueue<>(new ArrayDeque<>());
    private HttpServer server;
    private FirstcomeClient client;

    @BeforeEach
    void start() throws Exception {
        server = HttpServer.create(new InetSocketAddress("127.0.0.1", 0), 0);
        server.createContext("/", exchange -> {
            String path = exchange.getRequestURI().getPath();
            asked.add(path.substring(path.lastIndexOf('/') + 1));
            exchange.getRequestBody().readAllBytes();
            String[] answer = answers.poll().split(" ", 2);
            byte[] body = answer[1].getBytes(StandardCharsets.UTF_8);
            exchange.sendResponseHeaders(Integer.parseInt(answer[0]), body.length);
            exchange.getResponseBody().write(body);
            exchange.close();
        });
        server.start();
        client = FirstcomeClient.builder("http://127.0.0.1:" + server.getAddress().getPort()).deadline(Duration.ofSeconds(5))
                .retry(Retry.DEFAULT.attempts(1)).build();
        answers.add("201 {\"outcome\":\"held\",\"hold\":\"h1\",\"campaign\":\"hall\",\"subject\":\"ann\",\"units\":[{\"pool\":\"main\",\"unit\":\"A1\"}],"
                + "\"expires_at\":\"2027-03-01T00:08:00.000000Z\"}");
    }

    @AfterEach
    void stop() {
        server.stop(0);
    }

    private HoldOutcome hold() {
        return client.hold(HoldRequest.of("hall", "ann", Pick.units("A1", "A2")));
    }

    private static String ended(String outcome, int left) {
        return "200 {\"outcome\":\"" + outcome + "\",\"hold\":\"h1\",\"campaign\":\"hall\",\"subject\":\"ann\",\"units\":[],\"left\":" + left + "}";
    }

    private static String problem(int status, String outcome, String changed) {
        return status + " " + World.problemJson(status, outcome, false, changed);
    }

    @Test
    void aBlockReleasesWhatWasNotConfirmedAlsoAfterAnException() {
        answers.add(ended("released", 0));
        assertEquals("mine", assertThrows(IllegalStateException.class, () -> {
            try (HoldOutcome hold = hold()) {
                assertEquals("A1", assertInstanceOf(Held.class, hold).units().get(0).unit());
                throw new IllegalStateException("mine");
            }
        }).getMessage());
        assertEquals(List.of("holds", "release"), asked);
    }

    @Test
    void aFailedReleaseHidesNothing() {
        answers.add(problem(401, "unauthorized", "no"));
        IllegalStateException mine = assertThrows(IllegalStateException.class, () -> {
            try (HoldOutcome hold = hold()) {
                throw new IllegalStateException("mine");
            }
        });
        assertEquals(0, mine.getSuppressed().length);
        assertEquals(List.of("holds", "release"), asked);
    }

    @Test
    void whatIsConfirmedIsKept() {
        answers.add(ended("confirmed", 0));
        try (HoldOutcome hold = hold()) {
            assertInstanceOf(Confirmed.class, ((Held) hold).confirm());
        }
        assertEquals(List.of("holds", "confirm"), asked);
    }

    @Test
    void theRestOfAConfirmIsReleased() {
        answers.add(ended("confirmed", 1));
        answers.add(ended("released", 0));
        try (HoldOutcome hold = hold()) {
            assertEquals(1, assertInstanceOf(Confirmed.class, ((Held) hold).confirm(Late.REFUSE, Pick.units("A1"))).left());
        }
        assertEquals(List.of("holds", "confirm", "release"), asked);
    }

    @Test
    void anUnknownConfirmIsNotUndone() {
        answers.add(problem(503, "unknown", "unknown"));
        try (HoldOutcome hold = hold()) {
            assertInstanceOf(Unknown.class, ((Held) hold).confirm());
        }
        assertEquals(List.of("holds", "confirm"), asked);
    }

    @Test
    void aConfirmThatChangedNothingIsReleased() {
        answers.add(problem(503, "unavailable", "no"));
        answers.add(ended("released", 0));
        assertThrows(NoAnswerException.class, () -> {
            try (HoldOutcome hold = hold()) {
                ((Held) hold).confirm();
            }
        });
        assertEquals(List.of("holds", "confirm", "release"), asked);
    }

    @Test
    void aRefusedConfirmIsReleasedAndARefundIsNot() {
        answers.add(problem(409, "barred", "no"));
        answers.add(ended("released", 0));
        try (HoldOutcome hold = hold()) {
            assertInstanceOf(Refused.class, ((Held) hold).confirm());
        }
        assertEquals(List.of("holds", "confirm", "release"), asked);
        asked.clear();
        answers.add("200 {\"outcome\":\"already_held\",\"hold\":\"h1\",\"campaign\":\"hall\",\"subject\":\"ann\",\"units\":[]}");
        answers.add(problem(409, "refund_due", "yes"));
        try (HoldOutcome hold = hold()) {
            assertEquals(true, ((Held) hold).again());
            assertEquals(List.of(), assertInstanceOf(RefundDue.class, ((Held) hold).confirm(Late.RETAKE)).units());
        }
        assertEquals(List.of("holds", "confirm"), asked);
    }

    @Test
    void theSameRequestHasTheSameIdAndAnotherOneHasAnother() {
        HoldRequest one = HoldRequest.of("hall", "ann", Pick.quantity(1));
        HoldRequest two = HoldRequest.of("hall", "ann", Pick.quantity(1));
        assertEquals(5 + 32, one.id().hold().length());
        assertEquals(false, one.id().equals(two.id()));
        assertEquals(one.id(), one.waiting(Duration.ofSeconds(1)).id());
    }

    @Test
    void anInterruptEndsTheCallAndStaysSet() {
        Thread.currentThread().interrupt();
        assertThrows(java.util.concurrent.CancellationException.class, this::hold);
        assertEquals(true, Thread.interrupted());
    }
}
