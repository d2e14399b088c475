package com.example.shop;

import static org.assertj.core.api.Assertions.assertThat;

import io.firstcome.client.FirstcomeClient;
import io.firstcome.client.Won;
import io.firstcome.junit.FirstcomeServer;
import io.firstcome.spring.autoconfigure.FirstcomeAutoConfiguration;
import io.firstcome.spring.testcontainers.FirstcomeContainer;
import org.junit.jupiter.api.Test;
import org.springframework.boot.autoconfigure.AutoConfigurations;
import org.springframework.boot.test.context.runner.ApplicationContextRunner;
import org.springframework.boot.testcontainers.service.connection.ServiceConnection;
import org.springframework.boot.testcontainers.service.connection.ServiceConnectionAutoConfiguration;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.testcontainers.utility.DockerImageName;

/** The wiring of {@code @ServiceConnection}, with the program in the place of a container: no container is started here. */
class ServiceConnectionTest {
    /** Says that it is a container; its port is that of a program that runs. */
    static final class Local extends FirstcomeContainer {
        private final FirstcomeServer server;

        Local(FirstcomeServer server) {
            super(DockerImageName.parse("firstcome/firstcome"));
            this.server = server;
        }

        @Override
        public void start() {
            assertThat(getExposedPorts()).containsExactly(FirstcomeContainer.PORT);
            assertThat(getEnvMap()).containsEntry("FIRSTCOME_ADMIN_KEY", super.key());
        }

        @Override
        public void stop() {
            // The test ends the program.
        }

        @Override
        public String getHost() {
            return "127.0.0.1";
        }

        @Override
        public Integer getMappedPort(int port) {
            return Integer.valueOf(server.url().substring(server.url().lastIndexOf(':') + 1));
        }

        @Override
        public String key() {
            return server.key();
        }
    }

    @Configuration(proxyBeanMethods = false)
    static class Containers {
        static FirstcomeServer server;

        @Bean
        @ServiceConnection
        FirstcomeContainer firstcome() {
            return new Local(server);
        }
    }

    @Test
    void theClientFindsTheContainer() {
        try (FirstcomeServer server = FirstcomeServer.start()) {
            Containers.server = server;
            server.open("spring", 1);
            new ApplicationContextRunner().withUserConfiguration(Containers.class)
                    .withConfiguration(AutoConfigurations.of(ServiceConnectionAutoConfiguration.class, FirstcomeAutoConfiguration.class))
                    .withPropertyValues("firstcome.url=http://nowhere.invalid")
                    .run(context -> assertThat(context.getBean(FirstcomeClient.class).claim("spring", "ann")).isInstanceOf(Won.class));
        }
    }
}
