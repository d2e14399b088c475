package com.example.shop;

import java.nio.charset.StandardCharsets;
import java.security.GeneralSecurityException;
import java.security.MessageDigest;
import java.time.Duration;
import java.time.Instant;
import java.util.Arrays;
import java.util.Base64;
import javax.crypto.Mac;
import javax.crypto.spec.SecretKeySpec;

/** The signature of webhooks, as Standard Webhooks 1.0 has it. */
final class Signature {
    /** What is older may have been recorded by somebody who sends it again. */
    private static final Duration TOLERANCE = Duration.ofMinutes(5);
    private final SecretKeySpec key;

    /** @param secret what `firstcome webhooks add` printed, {@code whsec_…} */
    Signature(String secret) {
        key = new SecretKeySpec(Base64.getDecoder().decode(secret.replaceFirst("^whsec_", "")), "HmacSHA256");
    }

    /** Says whether one of the signatures is right, and the time is now. There are two while a secret is replaced. */
    boolean isGood(String id, String timestamp, String signatures, byte[] body) {
        byte[] wanted = sign(id, timestamp, body).getBytes(StandardCharsets.UTF_8);
        // MessageDigest.isEqual takes the same time however much is right, so nobody can guess byte by byte.
        return isNow(timestamp) && Arrays.stream(signatures.split(" "))
                .anyMatch(each -> MessageDigest.isEqual(wanted, each.getBytes(StandardCharsets.UTF_8)));
    }

    String sign(String id, String timestamp, byte[] body) {
        try {
            Mac mac = Mac.getInstance(key.getAlgorithm());
            mac.init(key);
            mac.update((id + "." + timestamp + ".").getBytes(StandardCharsets.UTF_8));
            return "v1," + Base64.getEncoder().encodeToString(mac.doFinal(body));
        } catch (GeneralSecurityException impossible) {
            throw new IllegalStateException(impossible);
        }
    }

    private static boolean isNow(String timestamp) {
        return timestamp.matches("\\d{1,12}")
                && Duration.between(Instant.ofEpochSecond(Long.parseLong(timestamp)), Instant.now()).abs().compareTo(TOLERANCE) <= 0;
    }
}
