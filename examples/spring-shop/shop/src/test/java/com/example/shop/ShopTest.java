package com.example.shop;

import static java.util.concurrent.TimeUnit.SECONDS;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.contentOf;
import static org.awaitility.Awaitility.await;

import io.firstcome.client.WebhookVerifier;
import io.firstcome.junit.FirstcomeExtension;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Instant;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.api.io.TempDir;
import org.springframework.beans.factory.annotation.Autowired;
import org.springframework.boot.test.context.SpringBootTest;
import org.springframework.http.MediaType;
import org.springframework.test.context.DynamicPropertyRegistry;
import org.springframework.test.context.DynamicPropertySource;
import org.springframework.test.util.TestSocketUtils;
import org.springframework.test.web.servlet.client.RestTestClient;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

/** The shop with the real program. */
@SpringBootTest(webEnvironment = SpringBootTest.WebEnvironment.DEFINED_PORT)
class ShopTest {
    // Both ends must know the other: the webhook has the port of the shop, and the shop has the secret of the webhook.
    static final int PORT = TestSocketUtils.findAvailableTcpPort();
    static final RestTestClient shop = RestTestClient.bindToServer().baseUrl("http://127.0.0.1:" + PORT).build();

    @RegisterExtension
    static final FirstcomeExtension firstcome = FirstcomeExtension.with("--webhook-allow", "127.0.0.1");
    @TempDir
    static Path outbox;
    static JsonNode webhook;

    @DynamicPropertySource
    static void properties(DynamicPropertyRegistry registry) {
        String answer = firstcome.server().send("POST", "/v1/webhooks",
                "{\"url\": \"http://127.0.0.1:" + PORT + "/webhooks/firstcome\", \"types\": [\"claim.won\"]}").body();
        webhook = JsonMapper.shared().readTree(answer);
        registry.add("server.port", () -> PORT);
        registry.add("firstcome.url", () -> firstcome.server().url());
        registry.add("firstcome.key", () -> firstcome.server().key());
        registry.add("firstcome.webhook-secrets", () -> webhook.path("secret").asString());
        registry.add("shop.outbox", outbox::toString);
    }

    @Autowired
    Orders orders;

    @Test
    void eachWinnerHasOneOrderAndOneMailHoweverOftenTheyAsk() throws Exception {
        firstcome.server().open("drop", 3);
        ExecutorService threads = Executors.newFixedThreadPool(16);
        List<Future<Integer>> answers = threads.invokeAll(IntStream.range(0, 16)
                .mapToObj(at -> (Callable<Integer>) () -> order("customer-" + at % 8 + "@example.com")).toList());
        threads.shutdown();
        assertThat(answers).extracting(Future::get).containsOnly(200, 409).filteredOn(status -> status == 200).hasSize(6);
        assertThat(orders.all()).extracting(Orders.Order::place).containsExactly(1L, 2L, 3L);

        await().atMost(30, SECONDS).untilAsserted(() -> assertThat(mails("customer-")).hasSize(3));
        String route = "/v1/webhooks/" + webhook.path("webhook").asString();
        assertThat(firstcome.server().send("POST", route + "/resend", "{\"numbers\": [1, 2, 3]}").statusCode()).isEqualTo(200);
        // Three first deliveries, and three more.
        await().atMost(30, SECONDS).untilAsserted(
                () -> assertThat(firstcome.server().send("GET", route, null).body().split("\"taken\":true", -1)).hasSize(7));
        assertThat(mails("customer-")).zipSatisfy(orders.all(), (mail, order) -> assertThat(mail)
                .startsWith("To: %s\nSubject: Place %d is yours\n".formatted(order.customer(), order.place())));
    }

    @Test
    void onlyWhatTheServerSignedWritesAMail(@Autowired WebhookVerifier right) throws Exception {
        String body = "{\"type\": \"claim.won\", \"data\": {\"subject\": \"eve@example.com\", \"rank\": 7}}";
        long now = Instant.now().getEpochSecond();
        assertThat(deliver(WebhookVerifier.of("whsec_" + "A".repeat(32)), now, body, body)).isEqualTo(401);
        assertThat(deliver(right, now, body, body.replace("7", "1"))).isEqualTo(401);
        assertThat(deliver(right, now - 600, body, body)).isEqualTo(401);
        assertThat(shop.post().uri("/webhooks/firstcome").body(body).exchange().returnResult().getStatus().value()).isEqualTo(401);
        assertThat(mails("eve")).isEmpty();
        // The same with the right signature: it was refused for nothing else. Twice, as after an answer that was lost.
        assertThat(deliver(right, now, body, body)).isEqualTo(204);
        assertThat(deliver(right, now + 5, body, body)).isEqualTo(204);
        assertThat(mails("eve")).hasSize(1);
    }

    @Test
    void whatIsNoAddressIsNoCustomer() {
        assertThat(order("ann@example.com\nBcc: all@example.com")).isEqualTo(400);
        assertThat(order("<b>ann</b>@example.com")).isEqualTo(400);
    }

    private static int order(String customer) {
        return shop.post().uri("/orders?customer={customer}", customer).exchange().returnResult().getStatus().value();
    }

    private static int deliver(WebhookVerifier signer, long timestamp, String signed, String sent) {
        String at = String.valueOf(timestamp);
        return shop.post().uri("/webhooks/firstcome").header("webhook-id", "test_1").header("webhook-timestamp", at)
                .header("webhook-signature", signer.sign("test_1", at, signed.getBytes(StandardCharsets.UTF_8)))
                .contentType(MediaType.APPLICATION_JSON).body(sent).exchange().returnResult().getStatus().value();
    }

    /** The mails to those whose address begins so, in the order of their events. */
    private static List<String> mails(String to) throws IOException {
        try (Stream<Path> files = Files.list(outbox)) {
            return files.filter(file -> file.toString().endsWith(".eml")).sorted().map(file -> contentOf(file.toFile()))
                    .filter(mail -> mail.startsWith("To: " + to)).toList();
        }
    }
}
