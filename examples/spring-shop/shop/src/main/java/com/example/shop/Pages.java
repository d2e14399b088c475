package com.example.shop;

import io.firstcome.client.FirstcomeClient;
import io.firstcome.client.NoAnswerException;
import io.firstcome.client.Reason;
import io.firstcome.spring.NotFirstException;
import java.util.List;
import java.util.Locale;
import org.springframework.http.HttpStatus;
import org.springframework.http.MediaType;
import org.springframework.http.ResponseEntity;
import org.springframework.web.bind.annotation.ExceptionHandler;
import org.springframework.web.bind.annotation.GetMapping;
import org.springframework.web.bind.annotation.PostMapping;
import org.springframework.web.bind.annotation.RequestParam;
import org.springframework.web.bind.annotation.RestController;

/** What customers see. */
@RestController
class Pages {
    private final Orders orders;
    private final FirstcomeClient firstcome;

    Pages(Orders orders, FirstcomeClient firstcome) {
        this.orders = orders;
        this.firstcome = firstcome;
    }

    @GetMapping("/")
    ResponseEntity<String> drop() {
        return page(HttpStatus.OK, "The spring drop", "There are " + firstcome.campaign("drop").left() + " places left.");
    }

    /** A real shop takes the customer from the log-in: whoever types an address here orders in its name. */
    @PostMapping("/orders")
    ResponseEntity<String> order(@RequestParam String customer) {
        // Plain letters only, so the address is safe in pages and mails. Ann and ann are one customer.
        if (!customer.matches("[\\w.+-]{1,64}@[\\w.-]{1,190}")) {
            return page(HttpStatus.BAD_REQUEST, "Not ordered", "Please give your mail address.");
        }
        long place = orders.order(customer.toLowerCase(Locale.ROOT), null);
        return page(HttpStatus.OK, "Place " + place + " is yours", "A mail is on its way to you.");
    }

    /** For the people of the shop; a real one asks who they are. */
    @GetMapping("/orders")
    List<Orders.Order> orders() {
        return orders.all();
    }

    @ExceptionHandler
    ResponseEntity<String> notFirst(NotFirstException no) {
        if (no.isUnknown()) {
            return again();
        }
        boolean soldOut = no.refusal().filter(refused -> refused.reason() == Reason.SOLD_OUT).isPresent();
        return page(HttpStatus.CONFLICT, "No place", soldOut ? "All places are gone." : "Nobody can order now.");
    }

    @ExceptionHandler(NoAnswerException.class)
    ResponseEntity<String> again() {
        // Pressing again is safe: whoever has a place already gets the same one.
        return page(HttpStatus.SERVICE_UNAVAILABLE, "Not known yet", "Please press the button again.");
    }

    private static ResponseEntity<String> page(HttpStatus status, String title, String text) {
        return ResponseEntity.status(status).contentType(MediaType.TEXT_HTML).body("""
                <!doctype html>
                <html lang="en">
                <meta charset="utf-8">
                <meta name="viewport" content="width=device-width">
                <title>%1$s</title>
                <style>body { font: 1.2rem sans-serif; max-width: 30rem; margin: 3rem auto; padding: 0 1rem }
                input, button { font: inherit; padding: .4rem }</style>
                <h1>%1$s</h1>
                <p>%2$s
                <form method="post" action="/orders">
                <label>Your mail address <input type="email" name="customer" required maxlength="254"></label>
                <button>Get a place</button>
                </form>
                </html>
                """.formatted(title, text));
    }
}
