package io.firstcome.spring;

import io.firstcome.client.FirstcomeClient;

/** Changes how the client bean is made; beans of this type are called in their order, after the properties. */
@FunctionalInterface
public interface FirstcomeBuilderCustomizer {
    /**
     * Changes the builder.
     *
     * @param builder what makes the client
     */
    void customize(FirstcomeClient.Builder builder);
}
