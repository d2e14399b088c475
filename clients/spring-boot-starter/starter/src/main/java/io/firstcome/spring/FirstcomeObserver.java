package io.firstcome.spring;

import io.firstcome.client.CallObserver;
import io.micrometer.common.KeyValue;
import io.micrometer.observation.Observation;
import io.micrometer.observation.ObservationRegistry;
import io.micrometer.observation.transport.Kind;
import io.micrometer.observation.transport.SenderContext;
import java.util.Map;
import java.util.Objects;

/**
 * Makes an observation of each call: the timer {@code firstcome.client} with {@code operation} and {@code outcome}, and a
 * span {@code firstcome claim} whose trace goes on in the server.
 */
public final class FirstcomeObserver implements CallObserver {
    private final ObservationRegistry registry;

    /**
     * Makes it.
     *
     * @param registry where observations go
     */
    public FirstcomeObserver(ObservationRegistry registry) {
        this.registry = registry;
    }

    @Override
    public Ended begin(Begun call) {
        SenderContext<Map<String, String>> context =
                new SenderContext<>((headers, name, value) -> Objects.requireNonNull(headers).put(name, value), Kind.CLIENT);
        context.setCarrier(call.headers());
        context.setRemoteServiceName("firstcome");
        Observation observation = Observation.createNotStarted("firstcome.client", () -> context, registry)
                .contextualName("firstcome " + call.operation()).lowCardinalityKeyValue("operation", call.operation())
                .lowCardinalityKeyValue("outcome", KeyValue.NONE_VALUE).highCardinalityKeyValue("campaign", call.campaign()).start();
        return (outcome, attempts, failure) -> {
            observation.lowCardinalityKeyValue("outcome", outcome).highCardinalityKeyValue("attempts", String.valueOf(attempts));
            if (failure != null) {
                observation.error(failure);
            }
            observation.stop();
        };
    }
}
