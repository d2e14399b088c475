package io.firstcome.spring.autoconfigure;

import io.firstcome.client.FirstcomeClient;
import io.firstcome.client.FirstcomeException;
import io.firstcome.client.Ready;
import java.util.LinkedHashMap;
import java.util.Map;
import org.springframework.boot.autoconfigure.AutoConfiguration;
import org.springframework.boot.autoconfigure.condition.ConditionalOnBean;
import org.springframework.boot.autoconfigure.condition.ConditionalOnClass;
import org.springframework.boot.autoconfigure.condition.ConditionalOnMissingBean;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;

/**
 * Makes the health indicator {@code firstcome}, which asks {@code /readyz} once. Spring Boot 4 moved the types of health
 * into another package; a nested class for each of the two keeps the types apart.
 */
@AutoConfiguration(after = FirstcomeAutoConfiguration.class)
@ConditionalOnBean(FirstcomeClient.class)
public class FirstcomeHealthAutoConfiguration {
    /** Made by Spring. */
    public FirstcomeHealthAutoConfiguration() {
    }

    /** What a server that is ready has to say. */
    private static Map<String, Object> details(Ready ready) {
        Map<String, Object> details = new LinkedHashMap<>();
        if (!ready.reasons().isEmpty()) {
            details.put("reasons", ready.reasons());
        }
        details.put("position", ready.position());
        details.put("lag", ready.lag());
        return details;
    }

    @Configuration(proxyBeanMethods = false)
    @ConditionalOnClass(name = "org.springframework.boot.health.contributor.HealthIndicator")
    @org.springframework.boot.health.autoconfigure.contributor.ConditionalOnEnabledHealthIndicator("firstcome")
    static class Boot4 {
        @Bean
        @ConditionalOnMissingBean(name = {"firstcomeHealthIndicator", "firstcomeHealthContributor"})
        org.springframework.boot.health.contributor.HealthIndicator firstcomeHealthIndicator(FirstcomeClient client) {
            return () -> {
                var health = new org.springframework.boot.health.contributor.Health.Builder();
                try {
                    Ready ready = client.ready();
                    return (ready.reasons().isEmpty() ? health.up() : health.down()).withDetails(details(ready)).build();
                } catch (FirstcomeException broken) {
                    return health.down(broken).build();
                }
            };
        }
    }

    @Configuration(proxyBeanMethods = false)
    @ConditionalOnClass(name = "org.springframework.boot.actuate.health.HealthIndicator")
    @org.springframework.boot.actuate.autoconfigure.health.ConditionalOnEnabledHealthIndicator("firstcome")
    static class Boot35 {
        @Bean
        @ConditionalOnMissingBean(name = {"firstcomeHealthIndicator", "firstcomeHealthContributor"})
        org.springframework.boot.actuate.health.HealthIndicator firstcomeHealthIndicator(FirstcomeClient client) {
            return () -> {
                var health = new org.springframework.boot.actuate.health.Health.Builder();
                try {
                    Ready ready = client.ready();
                    return (ready.reasons().isEmpty() ? health.up() : health.down()).withDetails(details(ready)).build();
                } catch (FirstcomeException broken) {
                    return health.down(broken).build();
                }
            };
        }
    }
}
