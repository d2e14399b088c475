package com.example.shop;

import io.firstcome.client.WebhookVerifier;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import org.springframework.beans.factory.annotation.Value;
import org.springframework.http.HttpHeaders;
import org.springframework.http.HttpStatus;
import org.springframework.web.bind.annotation.PostMapping;
import org.springframework.web.bind.annotation.RequestBody;
import org.springframework.web.bind.annotation.RequestHeader;
import org.springframework.web.bind.annotation.ResponseStatus;
import org.springframework.web.bind.annotation.RestController;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

/** Takes results from Firstcome, and writes a mail for each into the outbox. */
@RestController
class Webhooks {
    private final WebhookVerifier verifier;
    private final Path outbox;
    private final JsonMapper json;

    Webhooks(WebhookVerifier verifier, @Value("${shop.outbox}") String outbox, JsonMapper json) throws IOException {
        this.verifier = verifier;
        this.outbox = Files.createDirectories(Path.of(outbox));
        this.json = json;
    }

    /** The body is taken as bytes: the signature is over exactly those. One at a time, so the same event cannot come twice at once. */
    @PostMapping("/webhooks/firstcome")
    @ResponseStatus(HttpStatus.NO_CONTENT)
    synchronized void take(@RequestHeader HttpHeaders headers, @RequestBody byte[] body) throws IOException {
        verifier.verify(headers::getFirst, body);
        JsonNode event = json.readTree(body);
        // Events come at least once, with the same id each time. The id is the name of the file: what is there is done.
        String id = headers.getFirst("webhook-id");
        Path mail = outbox.resolve(id + ".eml");
        if (event.path("type").asString().equals("claim.won") && Files.notExists(mail)) {
            JsonNode won = event.path("data");
            // Moved when it is whole, so half a mail is never taken for a mail.
            Path draft = Files.writeString(outbox.resolve(id + ".tmp"), """
                    To: %s
                    Subject: Place %d is yours

                    You were fast enough. Your place in the drop has the number %2$d.
                    """.formatted(won.path("subject").asString(), won.path("rank").asLong()));
            Files.move(draft, mail, StandardCopyOption.ATOMIC_MOVE);
        }
    }
}
