package io.firstcome.junit;

import org.junit.jupiter.api.extension.AfterAllCallback;
import org.junit.jupiter.api.extension.BeforeAllCallback;
import org.junit.jupiter.api.extension.ExtensionContext;
import org.junit.jupiter.api.extension.ParameterContext;
import org.junit.jupiter.api.extension.ParameterResolver;

/**
 * Starts a {@link FirstcomeServer} before the tests of a class and ends it after them.
 *
 * <pre>{@code
 * @RegisterExtension
 * static final FirstcomeExtension firstcome = new FirstcomeExtension();
 *
 * @DynamicPropertySource
 * static void properties(DynamicPropertyRegistry registry) {
 *     registry.add("firstcome.url", () -> firstcome.server().url());
 *     registry.add("firstcome.key", () -> firstcome.server().key());
 * }
 * }</pre>
 *
 * <p>The field must be static. With {@code @ExtendWith(FirstcomeExtension.class)} a test method takes a parameter of the
 * type {@link FirstcomeServer}.
 */
public final class FirstcomeExtension implements BeforeAllCallback, AfterAllCallback, ParameterResolver {
    private final String[] arguments;
    private FirstcomeServer server;

    /** Starts the server with the program's defaults. */
    public FirstcomeExtension() {
        this(new String[0]);
    }

    private FirstcomeExtension(String... arguments) {
        this.arguments = arguments.clone();
    }

    /**
     * Starts the server with further arguments.
     *
     * @param arguments arguments of {@code firstcome serve}
     * @return the extension
     */
    public static FirstcomeExtension with(String... arguments) {
        return new FirstcomeExtension(arguments);
    }

    /**
     * Returns the server.
     *
     * @return the running server
     * @throws IllegalStateException before the tests of the class begin, and if the field of the extension is not static
     */
    public FirstcomeServer server() {
        if (server == null) {
            throw new IllegalStateException("the server runs from before the first test of a class to after the last: register "
                    + "the extension in a static field");
        }
        return server;
    }

    @Override
    public void beforeAll(ExtensionContext context) {
        // A nested class uses the server of the class around it.
        if (server == null) {
            server = FirstcomeServer.start(arguments);
            context.getStore(ExtensionContext.Namespace.create(this)).put("owner", true);
        }
    }

    @Override
    public void afterAll(ExtensionContext context) {
        if (context.getStore(ExtensionContext.Namespace.create(this)).remove("owner") != null) {
            server.close();
            server = null;
        }
    }

    @Override
    public boolean supportsParameter(ParameterContext parameter, ExtensionContext context) {
        return parameter.getParameter().getType() == FirstcomeServer.class;
    }

    @Override
    public Object resolveParameter(ParameterContext parameter, ExtensionContext context) {
        return server();
    }
}
