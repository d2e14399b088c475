package com.example.shop;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import io.firstcome.client.FirstcomeClient;
import io.firstcome.client.Reason;
import io.firstcome.junit.FirstcomeExtension;
import io.firstcome.spring.NotFirstException;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.springframework.beans.factory.annotation.Autowired;
import org.springframework.boot.autoconfigure.SpringBootApplication;
import org.springframework.boot.test.context.SpringBootTest;
import org.springframework.context.ApplicationContext;
import org.springframework.test.context.DynamicPropertyRegistry;
import org.springframework.test.context.DynamicPropertySource;

/** The sample of the README does what it says, against the real program. */
@SpringBootTest
class SamplesTest {
    @RegisterExtension
    static final FirstcomeExtension firstcome = new FirstcomeExtension();

    @DynamicPropertySource
    static void properties(DynamicPropertyRegistry registry) {
        registry.add("firstcome.url", () -> firstcome.server().url());
        registry.add("firstcome.key", () -> firstcome.server().key());
    }

    @SpringBootApplication
    static class Application {
    }

    @Autowired
    Orders orders;
    @Autowired
    FirstcomeClient client;

    @Test
    void onlyWinnersOrder() {
        firstcome.server().open("spring", 1);
        assertThat(orders.order("ann", null)).isEqualTo("ann is number 1");
        assertThat(orders.order("ann", null)).isEqualTo("ann is number 1");
        NotFirstException no = catchThrowableOfType(NotFirstException.class, () -> orders.order("bob", null));
        assertThat(no.refusal().orElseThrow().reason()).isEqualTo(Reason.SOLD_OUT);
    }

    @Test
    void seatsAreBoughtOrFreeAgain() {
        firstcome.server().campaign("hall", "{\"opens_at\": \"now\", \"pools\": [{\"name\": \"main\", \"kind\": \"seated\", \"seats\": "
                + "[{\"name\": \"A1\"}, {\"name\": \"A2\"}]}]}");
        assertThatThrownBy(() -> orders.buy("ann", List.of("A1"), () -> {
            throw new IllegalStateException("the bank is closed");
        }, null)).hasMessage("the bank is closed");
        assertThat(orders.buy("bob", List.of("A1", "A2"), () -> { }, null)).isEqualTo(2);
        assertThat(client.campaign("hall").left()).isZero();
    }

    @Test
    void nothingOfActuatorOrMicrometerIsNeeded(@Autowired ApplicationContext context) {
        assertThat(context.containsBean("firstcomeHealthIndicator")).isFalse();
        assertThat(getClass().getClassLoader().getResource("io/micrometer/core/instrument/MeterRegistry.class")).isNull();
        assertThat(getClass().getClassLoader().getResource("org/testcontainers/containers/GenericContainer.class")).isNull();
    }
}
