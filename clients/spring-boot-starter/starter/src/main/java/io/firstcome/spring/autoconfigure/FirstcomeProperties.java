package io.firstcome.spring.autoconfigure;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.springframework.boot.context.properties.ConfigurationProperties;
import org.springframework.boot.context.properties.NestedConfigurationProperty;

/** The properties {@code firstcome.*}. */
@ConfigurationProperties("firstcome")
public class FirstcomeProperties {
    /** Addresses of the servers of one space, with commas between: http://HOST[:PORT] or https://HOST[:PORT]. */
    private List<String> url = new ArrayList<>(List.of("http://127.0.0.1:8080"));
    /** The key: at least 16 visible ASCII characters. For a shop one with the role "backend". */
    private String key;
    /** How long a call may take altogether, with its retries and pauses. */
    private Duration deadline = Duration.ofSeconds(15);
    /** How long one attempt may take. The server says after 5 s that it does not know; more than that, to hear it. */
    private Duration attempt = Duration.ofSeconds(6);
    /** How long connecting may take. */
    private Duration connectTimeout = Duration.ofSeconds(2);
    /** Secrets of webhooks (whsec_…), with commas between: the old and the new one while it is replaced. */
    private List<String> webhookSecrets = List.of();
    @NestedConfigurationProperty
    private final Retry retry = new Retry();
    @NestedConfigurationProperty
    private final Ssl ssl = new Ssl();

    /** Makes the defaults. */
    public FirstcomeProperties() {
    }

    /**
     * Returns the addresses.
     *
     * @return the addresses
     */
    public List<String> getUrl() {
        return url;
    }

    /**
     * Sets the addresses.
     *
     * @param url the addresses
     */
    public void setUrl(List<String> url) {
        this.url = url;
    }

    /**
     * Returns the key.
     *
     * @return the key, or {@code null}
     */
    public String getKey() {
        return key;
    }

    /**
     * Sets the key.
     *
     * @param key the key
     */
    public void setKey(String key) {
        this.key = key;
    }

    /**
     * Returns the deadline.
     *
     * @return the deadline
     */
    public Duration getDeadline() {
        return deadline;
    }

    /**
     * Sets the deadline.
     *
     * @param deadline the deadline
     */
    public void setDeadline(Duration deadline) {
        this.deadline = deadline;
    }

    /**
     * Returns the time of an attempt.
     *
     * @return the time
     */
    public Duration getAttempt() {
        return attempt;
    }

    /**
     * Sets the time of an attempt.
     *
     * @param attempt the time
     */
    public void setAttempt(Duration attempt) {
        this.attempt = attempt;
    }

    /**
     * Returns the time of connecting.
     *
     * @return the time
     */
    public Duration getConnectTimeout() {
        return connectTimeout;
    }

    /**
     * Sets the time of connecting.
     *
     * @param connectTimeout the time
     */
    public void setConnectTimeout(Duration connectTimeout) {
        this.connectTimeout = connectTimeout;
    }

    /**
     * Returns the secrets of webhooks.
     *
     * @return the secrets; none if no webhook comes here
     */
    public List<String> getWebhookSecrets() {
        return webhookSecrets;
    }

    /**
     * Sets the secrets of webhooks.
     *
     * @param webhookSecrets the secrets
     */
    public void setWebhookSecrets(List<String> webhookSecrets) {
        this.webhookSecrets = webhookSecrets;
    }

    /**
     * Returns how requests are sent again.
     *
     * @return the rule
     */
    public Retry getRetry() {
        return retry;
    }

    /**
     * Returns how servers are trusted.
     *
     * @return the settings
     */
    public Ssl getSsl() {
        return ssl;
    }

    /** How requests are sent again. */
    public static class Retry {
        /** The first pause; each further one is twice as long, less a random part. */
        private Duration firstPause = Duration.ofMillis(50);
        /** The longest pause. */
        private Duration longestPause = Duration.ofSeconds(2);
        /** How often a request is sent at most, the first time included; 1 sends nothing again. */
        private int attempts = Integer.MAX_VALUE;

        /** Makes the defaults. */
        public Retry() {
        }

        /**
         * Returns the first pause.
         *
         * @return the pause
         */
        public Duration getFirstPause() {
            return firstPause;
        }

        /**
         * Sets the first pause.
         *
         * @param firstPause the pause
         */
        public void setFirstPause(Duration firstPause) {
            this.firstPause = firstPause;
        }

        /**
         * Returns the longest pause.
         *
         * @return the pause
         */
        public Duration getLongestPause() {
            return longestPause;
        }

        /**
         * Sets the longest pause.
         *
         * @param longestPause the pause
         */
        public void setLongestPause(Duration longestPause) {
            this.longestPause = longestPause;
        }

        /**
         * Returns the number of attempts.
         *
         * @return the number
         */
        public int getAttempts() {
            return attempts;
        }

        /**
         * Sets the number of attempts.
         *
         * @param attempts the number
         */
        public void setAttempts(int attempts) {
            this.attempts = attempts;
        }
    }

    /** How servers are trusted. */
    public static class Ssl {
        /** The name of the SSL bundle for https:// addresses; the authorities of the JDK if it is not set. */
        private String bundle;

        /** Makes the defaults. */
        public Ssl() {
        }

        /**
         * Returns the name of the bundle.
         *
         * @return the name, or {@code null}
         */
        public String getBundle() {
            return bundle;
        }

        /**
         * Sets the name of the bundle.
         *
         * @param bundle the name
         */
        public void setBundle(String bundle) {
            this.bundle = bundle;
        }
    }
}
