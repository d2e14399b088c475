package com.example.shop;

import static org.assertj.core.api.Assertions.assertThat;

import io.firstcome.client.CallObserver.Begun;
import io.firstcome.client.CallObserver.Ended;
import io.firstcome.spring.FirstcomeObserver;
import io.micrometer.observation.Observation;
import io.micrometer.observation.ObservationHandler;
import io.micrometer.observation.tck.TestObservationRegistry;
import io.micrometer.observation.tck.TestObservationRegistryAssert;
import io.micrometer.observation.transport.SenderContext;
import java.util.HashMap;
import java.util.Map;
import org.junit.jupiter.api.Test;

/** What an observation of a call says. */
class ObserverTest {
    private final TestObservationRegistry registry = TestObservationRegistry.create();
    private final Map<String, String> headers = new HashMap<>();

    private Ended begin() {
        return new FirstcomeObserver(registry).begin(new Begun("claim", "spring", headers));
    }

    @Test
    void aCallIsAnObservationWithItsOutcome() {
        begin().end("sold_out", 2, null);
        TestObservationRegistryAssert.assertThat(registry).hasSingleObservationThat().hasNameEqualTo("firstcome.client")
                .hasContextualNameEqualTo("firstcome claim").hasLowCardinalityKeyValue("operation", "claim")
                .hasLowCardinalityKeyValue("outcome", "sold_out").hasHighCardinalityKeyValue("campaign", "spring")
                .hasHighCardinalityKeyValue("attempts", "2").hasBeenStarted().hasBeenStopped();
    }

    @Test
    void whatIsBrokenIsAnError() {
        IllegalStateException broken = new IllegalStateException("broken");
        begin().end("no_answer", 3, broken);
        TestObservationRegistryAssert.assertThat(registry).hasSingleObservationThat().hasError(broken)
                .hasLowCardinalityKeyValue("outcome", "no_answer");
    }

    @Test
    void aTraceGoesOnInTheServer() {
        registry.observationConfig().observationHandler(new ObservationHandler<SenderContext<Object>>() {
            @Override
            public void onStart(SenderContext<Object> context) {
                context.getSetter().set(context.getCarrier(), "traceparent", "00-1-2-01");
            }

            @Override
            public boolean supportsContext(Observation.Context context) {
                return context instanceof SenderContext;
            }
        });
        begin();
        assertThat(headers).containsEntry("traceparent", "00-1-2-01");
    }
}
