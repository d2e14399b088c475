package com.example;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.firstcome.client.FirstcomeClient;
import io.firstcome.junit.FirstcomeExtension;
import io.firstcome.junit.FirstcomeServer;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;

/** The samples of the README do what it says, against the real program. */
@ExtendWith(FirstcomeExtension.class)
class SamplesTest {
    @Test
    void aDropSellsOut(FirstcomeServer server) {
        Drop drop = new Drop(server.url(), server.key());
        server.campaign("spring", "{\"opens_at\": \"2099-01-01T00:00:00Z\", \"pools\": [{\"name\": \"main\", \"kind\": \"counted\", \"capacity\": 1}]}");
        assertEquals("opens at 2099-01-01T00:00:00Z", drop.ask("ann"));
        server.open("spring", 1);
        assertEquals("ann has rank 1", drop.ask("ann"));
        assertEquals("ann has rank 1", drop.ask("ann"));
        assertEquals("sold out", drop.ask("bob"));
        KotlinDrop kotlin = new KotlinDrop(FirstcomeClient.builder(server.url()).key(server.key()).build());
        assertEquals("ann has rank 1", kotlin.ask("ann"));
        assertEquals("sold out", kotlin.ask("bob"));
    }

    @Test
    void seatsAreBoughtOrFreeAgain(FirstcomeServer server) {
        server.campaign("hall", "{\"opens_at\": \"now\", \"pools\": [{\"name\": \"main\", \"kind\": \"seated\", \"seats\": "
                + "[{\"name\": \"A1\"}, {\"name\": \"A2\"}]}]}");
        FirstcomeClient client = FirstcomeClient.builder(server.url()).key(server.key()).build();
        Seats seats = new Seats(client);
        assertFalse(seats.buy("ann", () -> false, "A1", "A2"));
        assertThrows(IllegalStateException.class, () -> seats.buy("ann", () -> {
            throw new IllegalStateException("the bank is closed");
        }, "A1"));
        assertTrue(seats.buy("bob", () -> true, "A1", "A2"));
        assertFalse(seats.buy("ann", () -> true, "A1"));
        assertEquals(2, client.claimsOf("hall", "bob").size());
    }
}
