package com.example.shop;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import io.firstcome.client.AlreadyWon;
import io.firstcome.client.ClaimOutcome;
import io.firstcome.client.FirstcomeClient;
import io.firstcome.client.Held;
import io.firstcome.client.Late;
import io.firstcome.client.Reason;
import io.firstcome.client.WebhookVerifier;
import io.firstcome.client.Winner;
import io.firstcome.client.Won;
import io.firstcome.junit.FirstcomeExtension;
import io.firstcome.junit.FirstcomeServer;
import io.firstcome.spring.FirstCome;
import io.firstcome.spring.NotFirstException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.springframework.aop.support.AopUtils;
import org.springframework.beans.factory.annotation.Autowired;
import org.springframework.beans.factory.annotation.Value;
import org.springframework.boot.autoconfigure.SpringBootApplication;
import org.springframework.boot.test.context.SpringBootTest;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Import;
import org.springframework.http.HttpHeaders;
import org.springframework.test.context.DynamicPropertyRegistry;
import org.springframework.test.context.DynamicPropertySource;
import org.springframework.transaction.PlatformTransactionManager;
import org.springframework.transaction.annotation.EnableTransactionManagement;
import org.springframework.transaction.annotation.Transactional;
import org.springframework.transaction.support.AbstractPlatformTransactionManager;
import org.springframework.transaction.support.DefaultTransactionStatus;
import org.springframework.web.bind.annotation.PostMapping;
import org.springframework.web.bind.annotation.RequestBody;
import org.springframework.web.bind.annotation.RequestHeader;
import org.springframework.web.bind.annotation.RestController;

/** A Spring Boot application and the real program. */
@SpringBootTest(webEnvironment = SpringBootTest.WebEnvironment.RANDOM_PORT, properties = {
    "management.endpoints.web.exposure.include=health,metrics", "management.endpoint.health.show-details=always"})
class RealServerTest {
    @RegisterExtension
    static final FirstcomeExtension firstcome = new FirstcomeExtension();

    @DynamicPropertySource
    static void properties(DynamicPropertyRegistry registry) {
        registry.add("firstcome.url", () -> firstcome.server().url());
        registry.add("firstcome.key", () -> firstcome.server().key());
        registry.add("firstcome.deadline", () -> "10s");
        registry.add("firstcome.webhook-secrets", () -> "whsec_" + "A".repeat(32));
    }

    record Customer(String id) {
    }

    /** What a shop would write. */
    static class Shop {
        private final Set<String> orders = ConcurrentHashMap.newKeySet();
        private final List<String> log = new CopyOnWriteArrayList<>();

        // The bean is a proxy of this class: its own fields are empty.
        public Set<String> orders() {
            return orders;
        }

        public List<String> log() {
            return log;
        }

        @FirstCome(campaign = "drop", subject = "#{#customer.id}")
        public String order(Customer customer, ClaimOutcome place) {
            orders.add(customer.id());
            return customer.id() + " has " + (place instanceof Won won ? won.rank() : ((AlreadyWon) place).rank() + " again");
        }

        @FirstCome(campaign = "drop-#{@season}", subject = "#{#a0}", again = false)
        public void once(String who) {
            orders.add(who);
        }

        @FirstCome(campaign = "hall", subject = "#{#who}", units = "#{#seats}", late = Late.RETAKE)
        @Transactional
        public int buy(String who, List<String> seats, boolean paid, Held held) {
            if (!paid) {
                throw new IllegalStateException("the payment failed");
            }
            return held.units().size();
        }

        @FirstCome(campaign = "tickets", subject = "#{#who}", quantity = 2)
        public void two(String who) {
            orders.add(who);
        }

        @FirstCome(campaign = "tickets", subject = "#{#who}", quantity = 2)
        public CompletableFuture<Void> later(String who) {
            return CompletableFuture.completedFuture(null);
        }
    }

    @RestController
    record Hooks(WebhookVerifier verifier) {
        @PostMapping("/hooks")
        String take(@RequestHeader HttpHeaders headers, @RequestBody byte[] body) {
            verifier.verify(headers::getFirst, body);
            return "taken";
        }
    }

    @SpringBootApplication
    @EnableTransactionManagement
    @Import(Hooks.class)
    static class Application {
        @Bean
        Shop shop() {
            return new Shop();
        }

        @Bean
        String season() {
            return "winter";
        }

        /** Writes down when a transaction ends, as what the server knows of the hold then. */
        @Bean
        PlatformTransactionManager transactions(FirstcomeClient client, org.springframework.beans.factory.ObjectProvider<Shop> shop) {
            return new AbstractPlatformTransactionManager() {
                private static final long serialVersionUID = 1L;

                @Override
                protected Object doGetTransaction() {
                    return "transaction";
                }

                @Override
                protected void doBegin(Object transaction, org.springframework.transaction.TransactionDefinition definition) {
                    shop.getObject().log().add("begin with " + client.campaign("hall").liveHolds() + " live holds");
                }

                @Override
                protected void doCommit(DefaultTransactionStatus status) {
                    shop.getObject().log().add("commit with " + client.campaign("hall").liveHolds() + " live holds");
                }

                @Override
                protected void doRollback(DefaultTransactionStatus status) {
                    shop.getObject().log().add("rollback with " + client.campaign("hall").liveHolds() + " live holds");
                }
            };
        }
    }

    @Autowired
    Shop shop;
    @Autowired
    FirstcomeClient client;
    @Value("${local.server.port}")
    int port;

    private static NotFirstException notFirst(org.assertj.core.api.ThrowableAssert.ThrowingCallable call) {
        NotFirstException no = catchThrowableOfType(NotFirstException.class, call);
        assertThat(no).isNotNull();
        return no;
    }

    private static FirstcomeServer server() {
        return firstcome.server();
    }

    @Test
    void aMethodRunsForWinnersOnlyHoweverManyAskAtOnce() throws Exception {
        assertThat(AopUtils.isAopProxy(shop)).isTrue();
        server().open("drop", 20);
        ExecutorService threads = Executors.newFixedThreadPool(16);
        List<Future<String>> calls = new ArrayList<>();
        for (int at = 0; at < 120; at++) {
            Customer customer = new Customer("customer-" + at % 60);
            calls.add(threads.submit(() -> shop.order(customer, null)));
        }
        int ran = 0;
        for (Future<String> call : calls) {
            try {
                assertThat(call.get()).contains(" has ");
                ran++;
            } catch (java.util.concurrent.ExecutionException failed) {
                assertThat(failed.getCause()).isInstanceOf(NotFirstException.class);
                assertThat(((NotFirstException) failed.getCause()).refusal().orElseThrow().reason()).isEqualTo(Reason.SOLD_OUT);
                assertThat(((NotFirstException) failed.getCause()).hasRun()).isFalse();
            }
        }
        threads.shutdown();
        List<Winner> winners = client.winners("drop", null, 0, 7).toList();
        assertThat(winners).extracting(Winner::rank).containsExactlyElementsOf(java.util.stream.LongStream.rangeClosed(1, 20).boxed().toList());
        assertThat(winners).extracting(Winner::subject).containsExactlyInAnyOrderElementsOf(
                shop.orders().stream().filter(who -> who.startsWith("customer-")).toList());
        assertThat(ran).isBetween(20, 40);
    }

    @Test
    void whoHasWonBeforeRunsAgainUnlessSaidOtherwise() {
        server().open("drop-winter", 5);
        shop.once("ann");
        NotFirstException again = notFirst(() -> shop.once("ann"));
        assertThat(again).hasMessage("the method did not run: already_won");
        assertThat(again.refusal()).isEmpty();
        assertThat(again.isUnknown()).isFalse();
    }

    @Test
    void aHoldIsConfirmedOnReturnAndReleasedOnException() {
        server().campaign("hall", "{\"opens_at\": \"now\", \"pools\": [{\"name\": \"main\", \"kind\": \"seated\", \"seats\": ["
                + "{\"name\": \"A1\"}, {\"name\": \"A2\"}, {\"name\": \"A3\"}]}]}");
        assertThatThrownBy(() -> shop.buy("ann", List.of("A1", "A2"), false, null)).hasMessage("the payment failed");
        assertThat(client.campaign("hall").left()).isEqualTo(3);
        assertThat(shop.buy("bob", List.of("A1", "A2"), true, null)).isEqualTo(2);
        assertThat(client.campaign("hall").left()).isEqualTo(1);
        assertThat(client.campaign("hall").liveHolds()).isZero();
        assertThat(client.claimsOf("hall", "bob")).extracting(claim -> claim.unit()).containsExactlyInAnyOrder("A1", "A2");
        assertThat(notFirst(() -> shop.buy("cyd", List.of("A2"), true, null)).refusal().orElseThrow().problem().units())
                .extracting(unit -> unit.unit()).containsExactly("A2");
        // The hold is around the transaction: confirmed after the commit, released after the rollback.
        assertThat(shop.log()).containsExactly("begin with 1 live holds", "rollback with 1 live holds", "begin with 1 live holds",
                "commit with 1 live holds");
        assertThatThrownBy(() -> shop.buy("ann", List.of(), true, null)).isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("the units of @FirstCome are none");
    }

    @Test
    void aQuantityIsHeldAndAMethodThatReturnsTooEarlyIsRefused() {
        server().open("tickets", 3);
        shop.two("ann");
        assertThat(client.campaign("tickets").left()).isEqualTo(1);
        assertThat(notFirst(() -> shop.two("bob")).refusal().orElseThrow().reason()).isEqualTo(Reason.SOLD_OUT);
        assertThatThrownBy(() -> shop.later("cyd")).isInstanceOf(IllegalStateException.class).hasMessageContaining("returns when it is done");
        assertThatThrownBy(() -> shop.two(null)).isInstanceOf(IllegalArgumentException.class).hasMessageContaining("subject of @FirstCome is null");
    }

    @Test
    void healthAndMetricsAreShown() throws Exception {
        server().open("metrics", 1);
        client.claim("metrics", "ann");
        client.claim("metrics", "bob");
        String health = get("/actuator/health");
        assertThat(health).contains("\"firstcome\":{").contains("\"position\":\"0.").contains("\"status\":\"UP\"").doesNotContain("DOWN");
        assertThat(get("/actuator/metrics")).contains("firstcome.client");
        String metrics = get("/actuator/metrics/firstcome.client?tag=operation:claim&tag=outcome:won");
        assertThat(metrics).contains("\"name\":\"firstcome.client\"").contains("\"statistic\":\"COUNT\"");
        assertThat(get("/actuator/metrics/firstcome.client")).contains("sold_out");
    }

    @Test
    void aWebhookThatIsNotSignedIsRefusedAndTheAnswerSaysWhy(@Autowired WebhookVerifier verifier) throws Exception {
        byte[] body = "{\"type\":\"webhook.test\"}".getBytes(StandardCharsets.UTF_8);
        String now = String.valueOf(Instant.now().getEpochSecond());
        HttpRequest.Builder request = HttpRequest.newBuilder(URI.create("http://127.0.0.1:" + port + "/hooks"))
                .header("webhook-id", "id_1").header("webhook-timestamp", now).header("content-type", "application/json")
                .POST(HttpRequest.BodyPublishers.ofByteArray(body));
        HttpResponse<String> no = HttpClient.newHttpClient().send(request.build(), HttpResponse.BodyHandlers.ofString());
        assertThat(no.statusCode() + " " + no.body()).isEqualTo("401 the header webhook-signature is missing");
        HttpResponse<String> yes = HttpClient.newHttpClient().send(
                request.header("webhook-signature", verifier.sign("id_1", now, body)).build(), HttpResponse.BodyHandlers.ofString());
        assertThat(yes.statusCode() + " " + yes.body()).isEqualTo("200 taken");
    }

    @Test
    void aServerThatIsGoneIsDown() throws Exception {
        try (FirstcomeServer other = FirstcomeServer.start()) {
            FirstcomeClient gone = FirstcomeClient.builder(other.url()).build();
            assertThat(gone.ready().reasons()).isEmpty();
            assertThat(health(gone)).isEqualTo("UP");
            other.close();
            assertThat(health(gone)).isEqualTo("DOWN");
        }
    }

    /** The type of a health indicator is another one in Spring Boot 3 and 4. */
    private static String health(FirstcomeClient client) {
        String[] status = new String[1];
        new org.springframework.boot.test.context.runner.ApplicationContextRunner().withBean(FirstcomeClient.class, () -> client)
                .withConfiguration(org.springframework.boot.autoconfigure.AutoConfigurations.of(
                        io.firstcome.spring.autoconfigure.FirstcomeAutoConfiguration.class,
                        io.firstcome.spring.autoconfigure.FirstcomeHealthAutoConfiguration.class))
                .run(context -> {
                    Object indicator = context.getBean("firstcomeHealthIndicator");
                    java.lang.reflect.Method method = indicator.getClass().getMethod("health");
                    method.setAccessible(true);
                    Object health = method.invoke(indicator);
                    Object code = health.getClass().getMethod("getStatus").invoke(health);
                    status[0] = code.toString();
                });
        return status[0];
    }

    private String get(String path) throws Exception {
        HttpResponse<String> answer = HttpClient.newHttpClient().send(HttpRequest.newBuilder(URI.create("http://127.0.0.1:" + port + path)).build(),
                HttpResponse.BodyHandlers.ofString());
        assertThat(answer.statusCode()).as(answer.body()).isEqualTo(200);
        return answer.body();
    }
}
