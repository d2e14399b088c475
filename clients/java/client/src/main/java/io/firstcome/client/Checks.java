package io.firstcome.client;

import java.net.URI;
import java.nio.CharBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.List;
import java.util.regex.Pattern;

/** Refuses arguments that no server takes, before anything is sent. */
final class Checks {
    private static final Pattern NAME = Pattern.compile("[a-z0-9][a-z0-9_-]{0,63}");
    private static final Duration DAY = Duration.ofHours(24);

    private Checks() {
    }

    /** A campaign or a pool. */
    static String name(String what, String name) {
        if (name == null || !NAME.matcher(name).matches()) {
            throw wrong(what + " must be 1 to 64 of a-z, 0-9, _ and -, and begin with a letter or a digit; it is " + name);
        }
        return name;
    }

    static String subject(String subject) {
        return bytes("subject", subject, 255);
    }

    /** Does not repeat the code. */
    static String code(String code) {
        if (code == null || code.isBlank() || size("code", code) > 256) {
            throw wrong("code must be 1 to 256 bytes and not blank");
        }
        return code;
    }

    /** Text without control characters; as UTF-8 it has 1 to {@code most} bytes. */
    static String bytes(String what, String text, int most) {
        if (text == null || text.isEmpty()) {
            throw wrong(what + " is missing");
        }
        if (size(what, text) > most) {
            throw wrong(what + " must be 1 to " + most + " bytes as UTF-8; it has " + size(what, text));
        }
        if (text.codePoints().anyMatch(Character::isISOControl)) {
            throw wrong(what + " must have no control characters");
        }
        return text;
    }

    private static int size(String what, String text) {
        try {
            return StandardCharsets.UTF_8.newEncoder().encode(CharBuffer.wrap(text)).remaining();
        } catch (CharacterCodingException half) {
            throw wrong(what + " is no Unicode text: it has half of a pair of surrogates");
        }
    }

    static long range(String what, long value, long least, long most) {
        if (value < least || value > most) {
            throw wrong(what + " must be " + least + " to " + most + "; it is " + value);
        }
        return value;
    }

    /** A time of {@code least} milliseconds to 24 h. */
    static long time(String what, Duration time, long least) {
        if (time == null || time.compareTo(Duration.ofMillis(least)) < 0 || time.compareTo(DAY) > 0) {
            throw wrong(what + " must be " + least + " ms to 24 h; it is " + time);
        }
        return time.toMillis();
    }

    static Duration positive(String what, Duration time) {
        if (time == null || time.compareTo(Duration.ofMillis(1)) < 0 || time.compareTo(Duration.ofDays(30)) > 0) {
            throw wrong(what + " must be 1 ms to 30 days; it is " + time);
        }
        return time;
    }

    static List<Pick> picks(List<Pick> picks, boolean best) {
        range("the number of picks", picks.size(), 1, 64);
        range("the number of picks with best", picks.stream().filter(pick -> pick.best).count(), 0, best ? 4 : 0);
        range("the number of units", picks.stream().mapToLong(pick -> pick.units).sum(), 1, 500);
        return List.copyOf(picks);
    }

    static String key(String key) {
        if (key == null || key.length() < 16 || !key.chars().allMatch(each -> each > ' ' && each < 0x7f)) {
            throw wrong("the key must be at least 16 visible ASCII characters");
        }
        return key;
    }

    /** The address of a server, {@code http://HOST[:PORT]}, without the slash at its end. Does not repeat a password. */
    static String server(String url) {
        String wanted = "a server's address must be like http://127.0.0.1:8080 or https://host, with nothing behind it";
        try {
            URI read = new URI(url == null ? "" : url);
            boolean path = read.getRawPath() != null && !read.getRawPath().isEmpty() && !read.getRawPath().equals("/");
            boolean http = "http".equals(read.getScheme()) || "https".equals(read.getScheme());
            if (!http || read.getHost() == null || read.getPort() == 0 || read.getPort() > 65_535 || path
                    || read.getRawUserInfo() != null || read.getRawQuery() != null || read.getRawFragment() != null) {
                throw wrong(wanted);
            }
            return read.getScheme() + "://" + read.getRawAuthority();
        } catch (java.net.URISyntaxException no) {
            throw wrong(wanted);
        }
    }

    /** Writes a name as one segment of a path, or one value of a query (RFC 3986, 2.1). */
    static String encode(String name) {
        StringBuilder encoded = new StringBuilder();
        for (byte each : name.getBytes(StandardCharsets.UTF_8)) {
            boolean plain = each >= 'a' && each <= 'z' || each >= 'A' && each <= 'Z' || each >= '0' && each <= '9'
                    || "-._~".indexOf(each) >= 0;
            encoded.append(plain ? String.valueOf((char) each) : String.format("%%%02X", each & 0xff));
        }
        // Dots alone would mean this folder, or the one above.
        return encoded.chars().allMatch(each -> each == '.') ? "%2E".repeat(encoded.length()) : encoded.toString();
    }

    private static IllegalArgumentException wrong(String why) {
        return new IllegalArgumentException(why);
    }
}
