package io.firstcome.client;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.firstcome.junit.FirstcomeExtension;
import io.firstcome.junit.FirstcomeServer;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.stream.LongStream;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;

/** What the list of behaviours does not have: all other calls, once against the real program. */
class RealServerTest {
    @RegisterExtension
    static final FirstcomeExtension FIRSTCOME = new FirstcomeExtension();
    private FirstcomeClient client;

    @BeforeEach
    void connect() {
        client = FirstcomeClient.builder(FIRSTCOME.server().url()).key(FIRSTCOME.server().key()).build();
    }

    private static void hall(String name, int seats) {
        String all = String.join(",", LongStream.rangeClosed(1, seats).mapToObj(each -> "{\"name\": \"A" + each + "\", \"row\": \"A\"}").toList());
        FIRSTCOME.server().campaign(name, "{\"opens_at\": \"now\", \"pools\": [{\"name\": \"main\", \"kind\": \"seated\", \"seats\": [" + all + "]}]}");
    }

    @Test
    void manyAskAtOnceAndTheRanksHaveNoGap() {
        FIRSTCOME.server().open("rush", 50);
        List<CompletableFuture<ClaimOutcome>> asked = new ArrayList<>();
        for (int at = 0; at < 200; at++) {
            asked.add(client.async().claim("rush", "subject-" + at, null));
        }
        List<ClaimOutcome> outcomes = asked.stream().map(CompletableFuture::join).toList();
        assertEquals(LongStream.rangeClosed(1, 50).boxed().toList(),
                outcomes.stream().filter(Won.class::isInstance).map(each -> ((Won) each).rank()).sorted().toList());
        assertEquals(150, outcomes.stream().filter(each -> each instanceof Refused no && no.reason() == Reason.SOLD_OUT).count());
        List<Winner> winners = client.winners("rush", null, 0, 7).toList();
        assertEquals(LongStream.rangeClosed(1, 50).boxed().toList(), winners.stream().map(Winner::rank).toList());
        assertEquals(20, client.winners("rush", "main", 30, 1_000).count());
        List<Result> results = client.results("rush", 0, 11).toList();
        assertEquals(50, results.size());
        assertEquals(30, client.results("rush", results.get(19).number(), 1_000).count());
        // Only what is read is asked for: a page of one line is enough for the first.
        assertEquals(1, client.results("rush", 0, 1).findFirst().orElseThrow().rank());
    }

    @Test
    void aCancelIsRepeatedAndTheClaimsShowIt() {
        FIRSTCOME.server().open("cancels", 2);
        long rank = assertInstanceOf(Won.class, client.claim("cancels", "ann")).rank();
        Cancelled first = assertInstanceOf(Cancelled.class, client.cancel("cancels", "ann", rank, null));
        assertEquals(first.at(), assertInstanceOf(Cancelled.class, client.cancel("cancels", "ann", rank, "main")).at());
        assertEquals(Reason.NO_SUCH_CLAIM, assertInstanceOf(Refused.class, client.cancel("cancels", "bob", 7, null)).reason());
        Claim claim = client.claimsOf("cancels", "ann").get(0);
        assertEquals(rank, claim.rank());
        assertEquals("subject", claim.cancelled().by());
        assertTrue(client.subject("ann", 0).campaigns().stream().anyMatch(each -> each.campaign().equals("cancels")
                && each.claims().get(0).rank() == rank));
        assertEquals(Reason.ALREADY_CANCELLED, assertInstanceOf(Refused.class, client.claim("cancels", "ann")).reason());
    }

    @Test
    void aHoldGrowsShrinksLastsLongerAndIsConfirmed() {
        hall("hall", 6);
        HoldRequest request = HoldRequest.of("hall", "ann", Pick.units("A1", "A2")).withId("basket-1").waiting(Duration.ofMillis(10));
        try (HoldOutcome outcome = client.hold(request)) {
            Held held = assertInstanceOf(Held.class, outcome);
            assertFalse(held.again());
            assertTrue(assertInstanceOf(Held.class, client.hold(request)).units().size() == 2);
            assertEquals(3, assertInstanceOf(Held.class, client.add(held.id(), Pick.best(1))).units().size());
            assertEquals(2, assertInstanceOf(Held.class, client.drop(held.id(), Pick.units("A1"))).units().size());
            Extended extended = assertInstanceOf(Extended.class, held.extend(Duration.ofMinutes(20)));
            assertTrue(extended.expiresAt().isAfter(held.expiresAt()));
            assertEquals("live", client.holdOf("hall", "basket-1").state());
            Confirmed part = assertInstanceOf(Confirmed.class, held.confirm(Late.REFUSE, Pick.units("A2")));
            assertEquals(1, part.left());
            assertEquals("A2", part.units().get(0).unit());
        }
        Hold hold = client.holdOf("hall", "basket-1");
        assertEquals(0, hold.held());
        assertEquals(5, client.campaign("hall").left());
        assertEquals(Reason.HOLD_REQUIRED, assertInstanceOf(Refused.class, client.claim("hall", "bob")).reason());
        Refused taken = assertInstanceOf(Refused.class, client.hold(HoldRequest.of("hall", "bob", Pick.units("A2", "A3"))));
        assertEquals(List.of("A2"), taken.problem().units().stream().map(Unit::unit).toList());
        assertEquals(Reason.NO_SUCH_HOLD, assertThrows(RejectedException.class, () -> client.holdOf("hall", "nobodys")).reason());
    }

    @Test
    void aWaitlistOffersAndAnOfferIsConfirmed() {
        FIRSTCOME.server().open("waits", 2);
        try (Held offer = assertInstanceOf(Held.class, client.join("waits", "ann", Wish.of(2).pool("main")))) {
            assertTrue(offer.offer());
            Waitlisted waits = assertInstanceOf(Waitlisted.class, client.join("waits", "bob", Wish.one()));
            assertEquals(0, waits.ahead());
            assertEquals("waits", assertInstanceOf(Place.class, client.place("waits", "bob", "main")).state());
            assertEquals(0, assertInstanceOf(Confirmed.class, offer.confirm()).left());
        }
        assertTrue(assertInstanceOf(LeftWaitlist.class, client.leave("waits", "bob", null)).wasOn());
        assertEquals(Reason.NOT_ON_WAITLIST, assertInstanceOf(Refused.class, client.place("waits", "bob", null)).reason());
        assertInstanceOf(AlreadyWon.class, client.join("waits", "ann", Wish.one()));
    }

    @Test
    void codesAreLookedUpReservedAndGivenBack() {
        FIRSTCOME.server().campaign("coupons", "{\"opens_at\": \"now\", \"pools\": [{\"name\": \"main\", \"kind\": \"coded\", \"capacity\": 3, "
                + "\"codes\": {\"only_by_holder\": true}}]}");
        String code = assertInstanceOf(Won.class, client.claim("coupons", "ann")).code();
        assertNotNull(code);
        UseCode use = UseCode.of(code.toLowerCase(java.util.Locale.ROOT), "order-17").pool("main").customer("customer-4711");
        assertEquals(Reason.SUBJECT_REQUIRED, assertInstanceOf(Refused.class, client.reserveCode("coupons", use, null)).reason());
        UseCode ours = use.subject("ann");
        assertEquals("reserved", assertInstanceOf(CodeStep.class, client.reserveCode("coupons", ours, Duration.ofMinutes(1))).outcome());
        assertEquals("reservation_ended", assertInstanceOf(CodeStep.class, client.releaseCode("coupons", ours)).outcome());
        assertEquals("redeemed", assertInstanceOf(CodeStep.class, client.redeemCode("coupons", ours)).outcome());
        assertEquals("rolled_back", assertInstanceOf(CodeStep.class, client.rollBackCode("coupons", ours)).outcome());
        Code found = client.lookUpCode("coupons", code).codes().get(0);
        assertEquals("ann", found.subject());
        assertEquals(List.of("rolled_back"), found.references().stream().map(CodeUse::state).toList());
        assertEquals(code, client.codesOf("coupons", "ann").codes().get(0).code());
        assertEquals(Reason.MALFORMED, assertThrows(RejectedException.class, () -> client.lookUpCode("coupons", "4WFN-G6P4-8NVC-XNHA")).reason());
    }

    @Test
    void eventsComeInOrderAndAStreamEndsWhenItIsClosed() throws Exception {
        hall("map", 3);
        String position = client.campaign("map").position();
        try (EventStream events = client.events("map", position)) {
            assertNull(events.next(Duration.ofMillis(50)));
            assertInstanceOf(Held.class, client.hold(HoldRequest.of("map", "ann", Pick.units("A1"))));
            Event event = events.next(Duration.ofSeconds(10));
            assertEquals("standing", event.type());
            assertTrue(event.data().contains("\"h\":[0]"), event.data());
            assertEquals(event.id(), events.position());
            CompletableFuture.delayedExecutor(100, TimeUnit.MILLISECONDS).execute(events::close);
            long began = System.nanoTime();
            assertNull(events.next(Duration.ofSeconds(30)));
            assertTrue(System.nanoTime() - began < Duration.ofSeconds(10).toNanos());
        }
        try (EventStream none = client.events("nobody", null)) {
            assertEquals(Reason.NOT_FOUND, assertThrows(RejectedException.class, () -> none.next(Duration.ofSeconds(10))).reason());
        }
    }

    @Test
    void aSlowReaderLosesNothing() throws Exception {
        FIRSTCOME.server().open("slow", 400);
        try (EventStream events = client.events("slow", client.campaign("slow").position())) {
            assertNull(events.next(Duration.ofMillis(1)));
            for (int at = 0; at < 300; at++) {
                client.claim("slow", "subject-" + at);
            }
            long left = 400;
            while (left > 100) {
                Event event = events.next(Duration.ofSeconds(20));
                assertEquals("standing", event.type());
                long now = Long.parseLong(event.data().replaceAll(".*\"left\":(\\d+).*", "$1"));
                assertTrue(now < left, event.data());
                left = now;
                Thread.sleep(5);
            }
        }
    }

    @Test
    void readinessIsAskedOnce() {
        try (FirstcomeServer other = FirstcomeServer.start()) {
            FirstcomeClient two = FirstcomeClient.builder(other.url()).build();
            assertEquals(List.of(), two.ready().reasons());
            other.close();
            assertThrows(NoAnswerException.class, two::ready);
        }
    }

    @Test
    void anotherServerAnswersWhereOneIsGone() {
        FIRSTCOME.server().open("two", 1);
        FirstcomeClient both = FirstcomeClient.builder("http://127.0.0.1:1").server(FIRSTCOME.server().url()).key(FIRSTCOME.server().key())
                .deadline(Duration.ofSeconds(5)).build();
        assertInstanceOf(Won.class, both.claim("two", "ann"));
        assertInstanceOf(AlreadyWon.class, both.withDeadline(Duration.ofSeconds(20)).claim("two", "ann"));
    }
}
