package com.example.shop;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.firstcome.client.AsyncFirstcomeClient;
import io.firstcome.client.FirstcomeClient;
import io.firstcome.client.WebhookVerifier;
import io.firstcome.spring.FirstcomeBuilderCustomizer;
import io.firstcome.spring.FirstcomeConnectionDetails;
import io.firstcome.spring.FirstcomeObserver;
import io.firstcome.spring.autoconfigure.FirstcomeAutoConfiguration;
import io.firstcome.spring.autoconfigure.FirstcomeHealthAutoConfiguration;
import io.micrometer.observation.ObservationRegistry;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.springframework.boot.SpringBootVersion;
import org.springframework.boot.autoconfigure.AutoConfigurations;
import org.springframework.boot.autoconfigure.ssl.SslAutoConfiguration;
import org.springframework.boot.test.context.FilteredClassLoader;
import org.springframework.boot.test.context.runner.ApplicationContextRunner;

/** Which beans there are, and what the properties do. Nothing is sent. */
class AutoConfigurationTest {
    private final ApplicationContextRunner runner = new ApplicationContextRunner().withConfiguration(AutoConfigurations.of(
            SslAutoConfiguration.class, FirstcomeAutoConfiguration.class, FirstcomeHealthAutoConfiguration.class));

    @Test
    void theVersionOfSpringBootIsTheOneThatIsMeant() {
        assertThat(SpringBootVersion.getVersion()).isEqualTo(System.getProperty("expected.boot"));
    }

    @Test
    void theDefaultIsTheAddressOfTheProgram() {
        runner.run(context -> {
            assertThat(context.getBean(FirstcomeClient.class)).hasToString("FirstcomeClient[servers=[http://127.0.0.1:8080], deadline=PT15S]");
            assertThat(context.getBean(AsyncFirstcomeClient.class)).isSameAs(context.getBean(FirstcomeClient.class).async());
            assertThat(context).hasBean("firstcomeHealthIndicator").doesNotHaveBean(FirstcomeObserver.class);
        });
    }

    @Test
    void propertiesReachTheClient() {
        runner.withPropertyValues("firstcome.url=http://one:8080,https://two", "firstcome.key=a-long-enough-key", "firstcome.deadline=3s",
                "firstcome.attempt=1s", "firstcome.connect-timeout=200ms", "firstcome.retry.attempts=2", "firstcome.retry.first-pause=10ms",
                "firstcome.retry.longest-pause=1s")
                .run(context -> assertThat(context.getBean(FirstcomeClient.class))
                        .hasToString("FirstcomeClient[servers=[http://one:8080, https://two], deadline=PT3S]"));
    }

    @Test
    void wrongPropertiesStopTheStartWithASentenceAndWithoutTheKey() {
        runner.withPropertyValues("firstcome.url=localhost").run(context -> assertThat(context).getFailure().rootCause()
                .hasMessageContaining("a server's address must be like http://127.0.0.1:8080"));
        runner.withPropertyValues("firstcome.key=short-secret").run(context -> assertThat(context).getFailure().rootCause()
                .hasMessageContaining("at least 16 visible ASCII").hasMessageNotContaining("short-secret"));
        runner.withPropertyValues("firstcome.ssl.bundle=nobody").run(context -> assertThat(context).getFailure().rootCause()
                .hasMessageContaining("nobody"));
        runner.withPropertyValues("firstcome.url=").run(context -> assertThat(context).getFailure().rootCause()
                .hasMessageContaining("firstcome.url has no address"));
    }

    @Test
    void ownBeansComeFirst() {
        FirstcomeClient own = FirstcomeClient.builder("http://mine").build();
        runner.withBean(FirstcomeClient.class, () -> own).run(context -> assertThat(context.getBean(FirstcomeClient.class)).isSameAs(own));
        runner.withBean(FirstcomeConnectionDetails.class, () -> new FirstcomeConnectionDetails() {
            @Override
            public List<String> urls() {
                return List.of("http://details");
            }

            @Override
            public String key() {
                return null;
            }
        }).withPropertyValues("firstcome.url=http://properties")
                .run(context -> assertThat(context.getBean(FirstcomeClient.class).toString()).contains("details").doesNotContain("properties"));
        runner.withBean(FirstcomeBuilderCustomizer.class, () -> builder -> builder.server("http://other"))
                .run(context -> assertThat(context.getBean(FirstcomeClient.class).toString()).contains("http://other"));
    }

    @Test
    void webhooksNeedASecretWhereTheyAreVerified() {
        runner.run(context -> {
            assertThat(context).hasNotFailed();
            assertThatThrownBy(() -> context.getBean(WebhookVerifier.class)).rootCause().hasMessage("firstcome.webhook-secrets has no secret");
        });
        String one = "whsec_" + "A".repeat(32);
        String two = "whsec_" + "B".repeat(32);
        for (String key : List.of("firstcome.webhook-secrets=" + one + "," + two, "firstcome.webhook-secrets[0]=" + one)) {
            runner.withPropertyValues(key).run(context -> {
                String signature = WebhookVerifier.of(one).sign("id", "1", new byte[0]);
                assertThat(context.getBean(WebhookVerifier.class).sign("id", "1", new byte[0]).split(" ")).startsWith(signature)
                        .hasSize(key.contains(two) ? 2 : 1);
            });
        }
        WebhookVerifier own = WebhookVerifier.of(one);
        runner.withBean(WebhookVerifier.class, () -> own).run(context -> assertThat(context.getBean(WebhookVerifier.class)).isSameAs(own));
    }

    @Test
    void observationsNeedARegistry() {
        runner.withBean(ObservationRegistry.class, ObservationRegistry::create)
                .run(context -> assertThat(context).hasSingleBean(FirstcomeObserver.class));
        runner.withClassLoader(new FilteredClassLoader("io.micrometer.observation"))
                .run(context -> assertThat(context).hasSingleBean(FirstcomeClient.class).doesNotHaveBean("firstcomeObserver"));
    }

    @Test
    void healthCanBeTurnedOff() {
        runner.withPropertyValues("management.health.firstcome.enabled=false")
                .run(context -> assertThat(context).hasSingleBean(FirstcomeClient.class).doesNotHaveBean("firstcomeHealthIndicator"));
        runner.withPropertyValues("management.health.defaults.enabled=false")
                .run(context -> assertThat(context).doesNotHaveBean("firstcomeHealthIndicator"));
    }

    @Test
    void thePropertiesHaveMetadata() throws IOException {
        String metadata = all("META-INF/spring-configuration-metadata.json");
        for (String name : List.of("firstcome.url", "firstcome.key", "firstcome.deadline", "firstcome.attempt", "firstcome.connect-timeout", "firstcome.webhook-secrets",
                "firstcome.retry.first-pause", "firstcome.retry.longest-pause", "firstcome.retry.attempts", "firstcome.ssl.bundle",
                "management.health.firstcome.enabled")) {
            assertThat(metadata).contains("\"name\": \"" + name + "\"");
        }
    }

    private static String all(String name) throws IOException {
        StringBuilder all = new StringBuilder();
        for (java.net.URL url : java.util.Collections.list(AutoConfigurationTest.class.getClassLoader().getResources(name))) {
            try (java.io.InputStream in = url.openStream()) {
                all.append(new String(in.readAllBytes(), StandardCharsets.UTF_8));
            }
        }
        return all.toString();
    }
}
