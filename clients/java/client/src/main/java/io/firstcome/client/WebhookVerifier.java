package io.firstcome.client;

import io.firstcome.client.WebhookVerificationException.Failure;
import java.nio.charset.StandardCharsets;
import java.security.GeneralSecurityException;
import java.security.MessageDigest;
import java.time.Clock;
import java.time.Duration;
import java.util.Arrays;
import java.util.Base64;
import java.util.List;
import java.util.function.Function;
import java.util.regex.Pattern;
import javax.crypto.Mac;
import javax.crypto.spec.SecretKeySpec;

/**
 * Checks that a webhook was sent by the server, and now. It follows Standard Webhooks 1.0: the signature is the HMAC-SHA256
 * of {@code id.timestamp.body}.
 *
 * <pre>{@code
 * WebhookVerifier verifier = WebhookVerifier.of(System.getenv("WEBHOOK_SECRET"));
 * verifier.verify(request::getHeader, body);
 * }</pre>
 *
 * <p>Give it the bytes of the body as they came; JSON that is parsed and written again is another body. Whether the same
 * webhook came before is not checked: keep the ids of what you have done. It is immutable, and for all threads.
 */
public final class WebhookVerifier {
    private static final String ID = "webhook-id";
    private static final String TIMESTAMP = "webhook-timestamp";
    private static final String SIGNATURE = "webhook-signature";
    private static final String SECRET = "whsec_";
    private static final Pattern SECONDS = Pattern.compile("[0-9]{1,12}");
    /** A bound on the work for one request. The server sends two signatures at most. */
    private static final int MOST = 10;
    private final List<SecretKeySpec> keys;
    private final Duration tolerance;
    private final Clock clock;

    private WebhookVerifier(List<SecretKeySpec> keys, Duration tolerance, Clock clock) {
        this.keys = keys;
        this.tolerance = tolerance;
        this.clock = clock;
    }

    /**
     * Makes a verifier that allows 5 minutes between the clock of the server and that of this machine.
     *
     * @param secrets 1 to 10 secrets, {@code whsec_} and 24 to 64 bytes as base64; a webhook must be signed with one of them.
     *     Give the old and the new one while a secret is replaced
     * @return the verifier
     * @throws IllegalArgumentException if there is no secret, or one is not of this form; the message does not show it
     */
    public static WebhookVerifier of(String... secrets) {
        Checks.range("the number of webhook secrets", secrets.length, 1, MOST);
        return new WebhookVerifier(Arrays.stream(secrets).map(WebhookVerifier::key).toList(), Duration.ofMinutes(5), Clock.systemUTC());
    }

    /**
     * Returns a verifier that allows another difference of the clocks. A webhook that somebody recorded can be repeated for
     * so long.
     *
     * @param tolerance how old a webhook may be, and how far in the future: 1 s to 24 h, in whole seconds
     * @return the verifier with this tolerance
     * @throws IllegalArgumentException if it is out of range
     */
    public WebhookVerifier withTolerance(Duration tolerance) {
        Checks.time("the tolerance", tolerance, 1_000);
        return new WebhookVerifier(keys, tolerance, clock);
    }

    /**
     * Returns a verifier with another clock, for tests.
     *
     * @param clock what says which time it is
     * @return the verifier with this clock
     */
    public WebhookVerifier withClock(Clock clock) {
        return new WebhookVerifier(keys, tolerance, clock);
    }

    /**
     * Checks a webhook. Do nothing with it before this returns.
     *
     * @param headers finds a header of the request by its name in lower case, without regard to case; {@code null} if it is
     *     not there. For example {@code request::getHeader}
     * @param body the body as it came
     * @throws WebhookVerificationException if it is not from the server, or not from now: answer 401
     */
    public void verify(Function<String, String> headers, byte[] body) {
        verify(headers.apply(ID), headers.apply(TIMESTAMP), headers.apply(SIGNATURE), body);
    }

    /**
     * Checks a webhook. Do nothing with it before this returns.
     *
     * @param id the header {@code webhook-id}; {@code null} if it is not there, as the others
     * @param timestamp the header {@code webhook-timestamp}, in seconds since 1970
     * @param signature the header {@code webhook-signature}, {@code v1,} and base64; of several, with spaces between, one must
     *     be right, and the first 10 are looked at
     * @param body the body as it came
     * @throws WebhookVerificationException if it is not from the server, or not from now: answer 401
     */
    public void verify(String id, String timestamp, String signature, byte[] body) {
        given(ID, id);
        given(TIMESTAMP, timestamp);
        String[] signatures = given(SIGNATURE, signature).split(" ", MOST + 1);
        // With a dot in the id, the same signed text could be taken apart in two ways.
        if (id.indexOf('.') >= 0 || !SECONDS.matcher(timestamp).matches()) {
            throw new WebhookVerificationException(Failure.MALFORMED_HEADER,
                    TIMESTAMP + " must be whole seconds since 1970, and " + ID + " must have no dot");
        }
        long age = clock.instant().getEpochSecond() - Long.parseLong(timestamp);
        if (Math.abs(age) > tolerance.toSeconds()) {
            throw new WebhookVerificationException(age < 0 ? Failure.TOO_NEW : Failure.TOO_OLD, TIMESTAMP + " is " + Math.abs(age)
                    + " s in the " + (age < 0 ? "future" : "past") + "; " + tolerance.toSeconds() + " s are allowed");
        }
        for (String right : signatures(id, timestamp, body)) {
            for (int at = 0; at < Math.min(MOST, signatures.length); at++) {
                // Takes the same time however much is right, so that nobody guesses byte by byte.
                if (MessageDigest.isEqual(bytes(right), bytes(signatures[at]))) {
                    return;
                }
            }
        }
        throw new WebhookVerificationException(Failure.NO_MATCH, SIGNATURE + " has no signature that fits the body and a secret");
    }

    /**
     * Signs a webhook as the server does, with each secret: for tests of a receiver.
     *
     * @param id its id
     * @param timestamp when it is sent, in seconds since 1970
     * @param body the body
     * @return the header {@code webhook-signature}
     */
    public String sign(String id, String timestamp, byte[] body) {
        return String.join(" ", signatures(id, timestamp, body));
    }

    private List<String> signatures(String id, String timestamp, byte[] body) {
        return keys.stream().map(key -> {
            try {
                Mac mac = Mac.getInstance(key.getAlgorithm());
                mac.init(key);
                mac.update(bytes(id + "." + timestamp + "."));
                return "v1," + Base64.getEncoder().encodeToString(mac.doFinal(body));
            } catch (GeneralSecurityException impossible) {
                throw new IllegalStateException(impossible); // Each JDK has HMAC-SHA256.
            }
        }).toList();
    }

    private static SecretKeySpec key(String secret) {
        byte[] bytes = {};
        try {
            if (secret != null && secret.startsWith(SECRET)) {
                bytes = Base64.getDecoder().decode(secret.substring(SECRET.length()));
            }
        } catch (IllegalArgumentException notBase64) {
            // Refused below: the decoder's own message shows a part of the secret.
        }
        if (bytes.length < 24 || bytes.length > 64) {
            throw new IllegalArgumentException("a webhook secret must be " + SECRET + " and 24 to 64 bytes as base64");
        }
        return new SecretKeySpec(bytes, "HmacSHA256");
    }

    private static String given(String header, String value) {
        if (value == null || value.isEmpty()) {
            throw new WebhookVerificationException(Failure.MISSING_HEADER, "the header " + header + " is missing");
        }
        return value;
    }

    private static byte[] bytes(String text) {
        return text.getBytes(StandardCharsets.UTF_8);
    }
}
