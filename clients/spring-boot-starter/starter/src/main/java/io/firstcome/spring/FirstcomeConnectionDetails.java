package io.firstcome.spring;

import java.util.List;
import org.springframework.boot.autoconfigure.service.connection.ConnectionDetails;

/** Where the servers are. A bean of this type comes before the properties {@code firstcome.url} and {@code firstcome.key}. */
public interface FirstcomeConnectionDetails extends ConnectionDetails {
    /**
     * Returns the addresses of the servers of one space.
     *
     * @return one address at least, like {@code http://127.0.0.1:8080}
     */
    List<String> urls();

    /**
     * Returns the key.
     *
     * @return the key; {@code null} if there is none
     */
    String key();
}
