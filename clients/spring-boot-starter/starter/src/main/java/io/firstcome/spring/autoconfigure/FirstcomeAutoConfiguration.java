package io.firstcome.spring.autoconfigure;

import io.firstcome.client.AsyncFirstcomeClient;
import io.firstcome.client.CallObserver;
import io.firstcome.client.FirstcomeClient;
import io.firstcome.client.Retry;
import io.firstcome.client.WebhookVerificationException;
import io.firstcome.client.WebhookVerifier;
import io.firstcome.spring.FirstComePostProcessor;
import io.firstcome.spring.FirstcomeBuilderCustomizer;
import io.firstcome.spring.FirstcomeConnectionDetails;
import io.firstcome.spring.FirstcomeObserver;
import io.micrometer.observation.Observation;
import io.micrometer.observation.ObservationRegistry;
import java.util.List;
import org.springframework.beans.factory.ObjectProvider;
import org.springframework.boot.autoconfigure.AutoConfiguration;
import org.springframework.boot.autoconfigure.condition.ConditionalOnBean;
import org.springframework.boot.autoconfigure.condition.ConditionalOnClass;
import org.springframework.boot.autoconfigure.condition.ConditionalOnMissingBean;
import org.springframework.boot.context.properties.EnableConfigurationProperties;
import org.springframework.boot.ssl.SslBundles;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.context.annotation.Lazy;
import org.springframework.http.MediaType;
import org.springframework.http.ResponseEntity;
import org.springframework.web.bind.annotation.ControllerAdvice;
import org.springframework.web.bind.annotation.ExceptionHandler;

/** Makes the beans of the client and of webhooks, and lets {@link io.firstcome.spring.FirstCome} work. */
@AutoConfiguration(afterName = {
    "org.springframework.boot.autoconfigure.ssl.SslAutoConfiguration",
    "org.springframework.boot.actuate.autoconfigure.observation.ObservationAutoConfiguration",
    "org.springframework.boot.micrometer.observation.autoconfigure.ObservationAutoConfiguration",
})
@EnableConfigurationProperties(FirstcomeProperties.class)
public class FirstcomeAutoConfiguration {
    /** Made by Spring. */
    public FirstcomeAutoConfiguration() {
    }

    @Bean
    @ConditionalOnMissingBean(FirstcomeConnectionDetails.class)
    FirstcomeConnectionDetails firstcomeConnectionDetails(FirstcomeProperties properties) {
        return new FirstcomeConnectionDetails() {
            @Override
            public List<String> urls() {
                return properties.getUrl();
            }

            @Override
            public String key() {
                return properties.getKey();
            }
        };
    }

    @Bean
    @ConditionalOnMissingBean
    FirstcomeClient firstcomeClient(FirstcomeConnectionDetails details, FirstcomeProperties properties, ObjectProvider<CallObserver> observer,
            ObjectProvider<SslBundles> bundles, ObjectProvider<FirstcomeBuilderCustomizer> customizers) {
        List<String> urls = details.urls();
        if (urls.isEmpty()) {
            throw new IllegalStateException("firstcome.url has no address");
        }
        FirstcomeProperties.Retry retry = properties.getRetry();
        FirstcomeClient.Builder builder = FirstcomeClient.builder(urls.get(0)).deadline(properties.getDeadline())
                .attempt(properties.getAttempt()).connect(properties.getConnectTimeout())
                .retry(new Retry(retry.getFirstPause(), retry.getLongestPause(), retry.getAttempts()));
        urls.stream().skip(1).forEach(builder::server);
        if (details.key() != null && !details.key().isEmpty()) {
            builder.key(details.key());
        }
        String bundle = properties.getSsl().getBundle();
        if (bundle != null && !bundle.isEmpty()) {
            builder.tls(bundles.getObject().getBundle(bundle).createSslContext());
        }
        observer.ifUnique(builder::observer);
        customizers.orderedStream().forEach(each -> each.customize(builder));
        return builder.build();
    }

    @Bean
    @ConditionalOnMissingBean
    AsyncFirstcomeClient asyncFirstcomeClient(FirstcomeClient client) {
        return client.async();
    }

    /** Made when something asks for it: who takes no webhooks has no secret. */
    @Bean
    @Lazy
    @ConditionalOnMissingBean
    WebhookVerifier firstcomeWebhookVerifier(FirstcomeProperties properties) {
        List<String> secrets = properties.getWebhookSecrets();
        if (secrets.isEmpty()) {
            throw new IllegalStateException("firstcome.webhook-secrets has no secret");
        }
        return WebhookVerifier.of(secrets.toArray(String[]::new));
    }

    @Bean
    static FirstComePostProcessor firstComePostProcessor() {
        return new FirstComePostProcessor();
    }

    /** Says why a webhook was refused: the server keeps the text for {@code firstcome webhooks show}. */
    @ControllerAdvice
    @ConditionalOnClass(ControllerAdvice.class)
    static class RefusedWebhooks {
        @ExceptionHandler
        ResponseEntity<String> refused(WebhookVerificationException no) {
            return ResponseEntity.status(401).contentType(MediaType.TEXT_PLAIN).body(no.getMessage());
        }
    }

    @Configuration(proxyBeanMethods = false)
    @ConditionalOnClass(Observation.class)
    @ConditionalOnBean(ObservationRegistry.class)
    static class Observing {
        @Bean
        @ConditionalOnMissingBean(CallObserver.class)
        FirstcomeObserver firstcomeObserver(ObservationRegistry registry) {
            return new FirstcomeObserver(registry);
        }
    }
}
