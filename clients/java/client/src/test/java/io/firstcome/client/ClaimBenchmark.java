package io.firstcome.client;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;

import com.sun.management.OperatingSystemMXBean;
import io.firstcome.junit.FirstcomeServer;
import java.lang.management.ManagementFactory;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import org.junit.jupiter.api.Test;

/**
 * Compares the processor time of this process for a claim through the client with one through the HTTP client of the JDK
 * alone, which neither checks, reads nor retries. Run by itself: {@code mvn test -Dtest=ClaimBenchmark
 * -Dsurefire.failIfNoSpecifiedTests=false}. It prints the ratio and asserts nothing about time.
 */
class ClaimBenchmark {
    private static final int ROUNDS = 15;
    private static final int CLAIMS = 2_000;

    private interface Claim {
        void of(String subject) throws Exception;
    }

    private static double microseconds(String prefix, Claim claim) throws Exception {
        OperatingSystemMXBean system = (OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean();
        long before = system.getProcessCpuTime();
        for (int at = 0; at < CLAIMS; at++) {
            claim.of(prefix + at);
        }
        return (system.getProcessCpuTime() - before) / 1_000.0 / CLAIMS;
    }

    @Test
    void aClaimThroughTheClientAndThroughTheJdkAlone() throws Exception {
        try (FirstcomeServer server = FirstcomeServer.start()) {
            server.open("bench", 1_000_000);
            FirstcomeClient client = FirstcomeClient.builder(server.url()).key(server.key()).build();
            HttpClient http = HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1).build();
            URI uri = URI.create(server.url() + "/v1/campaigns/bench/claims");
            Claim ours = subject -> assertInstanceOf(Won.class, client.claim("bench", subject));
            Claim raw = subject -> {
                HttpRequest request = HttpRequest.newBuilder(uri).timeout(Duration.ofSeconds(6)).header("Authorization", "Bearer " + server.key())
                        .header("Content-Type", "application/json")
                        .POST(HttpRequest.BodyPublishers.ofString("{\"subject\":\"" + subject + "\"}")).build();
                assertEquals(201, http.send(request, HttpResponse.BodyHandlers.ofString()).statusCode());
            };
            microseconds("warm-ours-", ours);
            microseconds("warm-raw-", raw);
            List<Double> ratios = new ArrayList<>();
            for (int round = 0; round < ROUNDS; round++) {
                double with = microseconds("ours-" + round + "-", ours);
                double without = microseconds("raw-" + round + "-", raw);
                ratios.add(with / without);
                System.out.printf("round %d: client %.1f us, JDK alone %.1f us, ratio %.3f%n", round, with, without, with / without);
            }
            Collections.sort(ratios);
            System.out.printf("median ratio %.3f (least %.3f, most %.3f)%n", ratios.get(ROUNDS / 2), ratios.get(0), ratios.get(ROUNDS - 1));
        }
    }
}
