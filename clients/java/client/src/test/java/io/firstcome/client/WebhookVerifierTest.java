package io.firstcome.client;

import static org.junit.jupiter.api.Assertions.assertDoesNotThrow;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.firstcome.client.WebhookVerificationException.Failure;
import java.nio.charset.StandardCharsets;
import java.time.Clock;
import java.time.Duration;
import java.time.Instant;
import java.time.ZoneOffset;
import java.util.Base64;
import java.util.Map;
import org.junit.jupiter.api.Test;

/** Which webhooks are taken. The example is the one that the reference libraries of Standard Webhooks are tested with. */
class WebhookVerifierTest {
    private static final String SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
    private static final String OTHER = "whsec_" + Base64.getEncoder().encodeToString(new byte[32]);
    private static final String ID = "msg_p5jXN8AQM9LWM0D4loKWxJek";
    private static final long AT = 1614265330;
    private static final String SIGNATURE = "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=";
    private static final String BODY = "{\"test\": 2432232314}";

    private static WebhookVerifier verifier(long now, String... secrets) {
        return WebhookVerifier.of(secrets).withClock(Clock.fixed(Instant.ofEpochSecond(now), ZoneOffset.UTC));
    }

    private static void verify(WebhookVerifier verifier, String id, String timestamp, String signature, String body) {
        verifier.verify(id, timestamp, signature, body.getBytes(StandardCharsets.UTF_8));
    }

    private static void taken(WebhookVerifier verifier, String signature) {
        assertDoesNotThrow(() -> verify(verifier, ID, String.valueOf(AT), signature, BODY));
    }

    private static String refused(Failure failure, WebhookVerifier verifier, String id, String timestamp, String signature, String body) {
        var no = assertThrows(WebhookVerificationException.class, () -> verify(verifier, id, timestamp, signature, body));
        assertEquals(failure, no.failure());
        return no.getMessage();
    }

    private static String refused(Failure failure, WebhookVerifier verifier, String signature) {
        return refused(failure, verifier, ID, String.valueOf(AT), signature, BODY);
    }

    @Test
    void whatTheServerSignedIsTaken() {
        WebhookVerifier verifier = verifier(AT, SECRET);
        taken(verifier, SIGNATURE);
        assertEquals(SIGNATURE, verifier.sign(ID, String.valueOf(AT), BODY.getBytes(StandardCharsets.UTF_8)));
        Map<String, String> headers = Map.of("webhook-id", ID, "webhook-timestamp", String.valueOf(AT), "webhook-signature", SIGNATURE);
        verifier.verify(headers::get, BODY.getBytes(StandardCharsets.UTF_8));
    }

    @Test
    void anotherBodyIdTimeOrSecretIsNot() {
        WebhookVerifier verifier = verifier(AT, SECRET);
        String at = String.valueOf(AT);
        assertEquals("webhook-signature has no signature that fits the body and a secret",
                refused(Failure.NO_MATCH, verifier, ID, at, SIGNATURE, BODY + " "));
        refused(Failure.NO_MATCH, verifier, "msg_other", at, SIGNATURE, BODY);
        refused(Failure.NO_MATCH, verifier, ID, String.valueOf(AT + 1), SIGNATURE, BODY);
        refused(Failure.NO_MATCH, verifier(AT, OTHER), SIGNATURE);
    }

    @Test
    void bothSecretsCountWhileOneIsReplaced() {
        String both = verifier(AT, OTHER, SECRET).sign(ID, String.valueOf(AT), BODY.getBytes(StandardCharsets.UTF_8));
        assertTrue(both.endsWith(" " + SIGNATURE), both);
        // The receiver has both before the server changes; it has one, and the server signs with both.
        taken(verifier(AT, OTHER, SECRET), SIGNATURE);
        taken(verifier(AT, OTHER), both);
        taken(verifier(AT, SECRET), both);
    }

    @Test
    void theTimeIsNowWithinTheTolerance() {
        taken(verifier(AT + 300, SECRET), SIGNATURE);
        taken(verifier(AT - 300, SECRET), SIGNATURE);
        assertEquals("webhook-timestamp is 301 s in the past; 300 s are allowed", refused(Failure.TOO_OLD, verifier(AT + 301, SECRET), SIGNATURE));
        assertEquals("webhook-timestamp is 301 s in the future; 300 s are allowed", refused(Failure.TOO_NEW, verifier(AT - 301, SECRET), SIGNATURE));
        taken(verifier(AT + 3_600, SECRET).withTolerance(Duration.ofHours(1)), SIGNATURE);
        refused(Failure.TOO_OLD, verifier(AT + 2, SECRET).withTolerance(Duration.ofSeconds(1)), SIGNATURE);
        refused(Failure.TOO_NEW, verifier(AT, SECRET), ID, "999999999999", SIGNATURE, BODY);
        for (Duration wrong : new Duration[] {null, Duration.ZERO, Duration.ofHours(25)}) {
            assertThrows(IllegalArgumentException.class, () -> WebhookVerifier.of(SECRET).withTolerance(wrong));
        }
    }

    @Test
    void oneOfTheFirstTenSignaturesIsRight() {
        WebhookVerifier verifier = verifier(AT, SECRET);
        taken(verifier, "v1a,AAAA v2,AAAA " + SIGNATURE + " v1,AAAA");
        taken(verifier, "v1,AAAA ".repeat(9) + SIGNATURE);
        refused(Failure.NO_MATCH, verifier, "v1,AAAA ".repeat(10) + SIGNATURE);
        for (String wrong : new String[] {" ", "v1", "v1,", SIGNATURE.substring(3), SIGNATURE.replace("v1,", "v2,"), SIGNATURE + "," + SIGNATURE}) {
            refused(Failure.NO_MATCH, verifier, wrong);
        }
    }

    @Test
    void headersThatAreMissingOrCannotBeReadAreNamed() {
        WebhookVerifier verifier = verifier(AT, SECRET);
        String at = String.valueOf(AT);
        assertEquals("the header webhook-id is missing", refused(Failure.MISSING_HEADER, verifier, null, at, SIGNATURE, BODY));
        assertEquals("the header webhook-timestamp is missing", refused(Failure.MISSING_HEADER, verifier, ID, "", SIGNATURE, BODY));
        assertEquals("the header webhook-signature is missing", refused(Failure.MISSING_HEADER, verifier, ID, at, null, BODY));
        for (String wrong : new String[] {"now", "1614265330.0", "-1614265330", "1".repeat(13), "\u0661\u0666"}) {
            refused(Failure.MALFORMED_HEADER, verifier, ID, wrong, SIGNATURE, BODY);
        }
        // The same signed text, taken apart at another dot.
        String moved = verifier.sign("msg_1", at, (at + "." + BODY).getBytes(StandardCharsets.UTF_8));
        refused(Failure.MALFORMED_HEADER, verifier, "msg_1." + at, at, moved, BODY);
    }

    @Test
    void aSecretThatIsNoneIsRefusedAndNotShown() {
        String bare = SECRET.substring("whsec_".length());
        for (String wrong : new String[] {null, "", bare, "whsec_" + bare.substring(8), "whsec_" + bare.repeat(3), SECRET + "\n", "whsec_%" + bare}) {
            String message = assertThrows(IllegalArgumentException.class, () -> WebhookVerifier.of(SECRET, wrong)).getMessage();
            assertEquals("a webhook secret must be whsec_ and 24 to 64 bytes as base64", message);
        }
        assertThrows(IllegalArgumentException.class, WebhookVerifier::of);
        assertFalse(WebhookVerifier.of(SECRET).toString().contains(bare));
    }
}
