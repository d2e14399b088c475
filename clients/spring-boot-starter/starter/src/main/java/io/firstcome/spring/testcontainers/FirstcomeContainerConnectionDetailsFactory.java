package io.firstcome.spring.testcontainers;

import io.firstcome.spring.FirstcomeConnectionDetails;
import java.util.List;
import org.springframework.boot.testcontainers.service.connection.ContainerConnectionDetailsFactory;
import org.springframework.boot.testcontainers.service.connection.ContainerConnectionSource;

/** Tells the client bean where a {@link FirstcomeContainer} with {@code @ServiceConnection} is. */
class FirstcomeContainerConnectionDetailsFactory extends ContainerConnectionDetailsFactory<FirstcomeContainer, FirstcomeConnectionDetails> {
    @Override
    protected FirstcomeConnectionDetails getContainerConnectionDetails(ContainerConnectionSource<FirstcomeContainer> source) {
        return new Details(source);
    }

    private static final class Details extends ContainerConnectionDetails<FirstcomeContainer> implements FirstcomeConnectionDetails {
        Details(ContainerConnectionSource<FirstcomeContainer> source) {
            super(source);
        }

        @Override
        public List<String> urls() {
            return List.of(getContainer().url());
        }

        @Override
        public String key() {
            return getContainer().key();
        }
    }
}
