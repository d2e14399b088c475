package io.firstcome.spring.testcontainers;

import java.time.Duration;
import java.util.UUID;
import org.testcontainers.containers.GenericContainer;
import org.testcontainers.containers.wait.strategy.Wait;
import org.testcontainers.utility.DockerImageName;

/**
 * A Firstcome server in a container, for tests. With {@code @ServiceConnection} the client bean finds it.
 *
 * <p>There is no published image: give the name of your own, whose entry point is the program {@code firstcome}.
 */
public class FirstcomeContainer extends GenericContainer<FirstcomeContainer> {
    /** The port inside of the container. */
    public static final int PORT = 8080;
    private final String key = "test-" + UUID.randomUUID();

    /**
     * Makes a container; it is not started.
     *
     * @param image the name of the image
     */
    @SuppressWarnings("this-escape")
    public FirstcomeContainer(DockerImageName image) {
        super(image);
        withExposedPorts(PORT);
        withEnv("FIRSTCOME_ADMIN_KEY", key);
        withCommand("serve", "--listen", "0.0.0.0:" + PORT, "--data", "/tmp/firstcome");
        waitingFor(Wait.forHttp("/readyz").forPort(PORT).forStatusCode(200).withStartupTimeout(Duration.ofSeconds(60)));
    }

    /**
     * Returns the address.
     *
     * @return {@code http://HOST:PORT}, of a container that runs
     */
    public String url() {
        return "http://" + getHost() + ":" + getMappedPort(PORT);
    }

    /**
     * Returns a key with the role admin.
     *
     * @return the key
     */
    public String key() {
        return key;
    }
}
