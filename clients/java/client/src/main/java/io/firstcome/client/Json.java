package io.firstcome.client;

import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.databind.DeserializationContext;
import com.fasterxml.jackson.databind.DeserializationFeature;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.PropertyNamingStrategies;
import com.fasterxml.jackson.databind.deser.std.StdDeserializer;
import com.fasterxml.jackson.databind.json.JsonMapper;
import com.fasterxml.jackson.databind.module.SimpleModule;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.IOException;
import java.time.DateTimeException;
import java.time.Instant;

/** How requests are written and answers are read. Fields that are new are skipped. */
final class Json {
    private static final JsonMapper MAPPER = JsonMapper.builder()
            .propertyNamingStrategy(PropertyNamingStrategies.SNAKE_CASE)
            .disable(DeserializationFeature.FAIL_ON_UNKNOWN_PROPERTIES)
            .addModule(new SimpleModule().addDeserializer(Instant.class, new Time()))
            .build();

    private Json() {
    }

    static ObjectNode object() {
        return MAPPER.createObjectNode();
    }

    static byte[] write(JsonNode json) throws IOException {
        return MAPPER.writeValueAsBytes(json);
    }

    /** Reads an object. */
    static ObjectNode read(byte[] body) throws IOException {
        if (MAPPER.readTree(body) instanceof ObjectNode object) {
            return object;
        }
        throw new IOException("it is no JSON object");
    }

    static <T> T as(JsonNode json, Class<T> type) throws IOException {
        return MAPPER.treeToValue(json, type);
    }

    private static final class Time extends StdDeserializer<Instant> {
        private static final long serialVersionUID = 1L;

        Time() {
            super(Instant.class);
        }

        @Override
        public Instant deserialize(JsonParser from, DeserializationContext context) throws IOException {
            try {
                return Instant.parse(from.getText());
            } catch (DateTimeException wrong) {
                throw new IOException("a time cannot be read", wrong);
            }
        }
    }
}
