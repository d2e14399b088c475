package io.firstcome.junit;

import java.io.File;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;

/**
 * A Firstcome server of its own for tests: on a free port of the loopback address, with a new data folder that is removed
 * when it is closed.
 *
 * <p>The program is that of the environment variable {@code FIRSTCOME}, otherwise {@code firstcome} on the {@code PATH}.
 */
public final class FirstcomeServer implements AutoCloseable {
    private static final Duration START = Duration.ofSeconds(30);
    private final HttpClient http = HttpClient.newBuilder().connectTimeout(Duration.ofSeconds(2)).build();
    private final String key;
    private final Path folder;
    private final Process process;
    private final String url;
    private final Thread hook;

    private FirstcomeServer(String key, List<String> arguments) throws IOException, InterruptedException {
        this.key = key;
        Path program = program();
        folder = Files.createTempDirectory("firstcome-test-");
        List<String> command = new ArrayList<>(List.of(program.toString(), "serve", "--listen", "127.0.0.1:0", "--data",
                folder.resolve("data").toString()));
        command.addAll(arguments);
        ProcessBuilder builder = new ProcessBuilder(command).redirectOutput(file("out").toFile()).redirectError(file("err").toFile());
        // Settings of the shell that runs the tests are not those of the test.
        builder.environment().keySet().removeIf(name -> name.startsWith("FIRSTCOME"));
        builder.environment().put("FIRSTCOME_ADMIN_KEY", key);
        process = builder.start();
        hook = new Thread(process::destroyForcibly);
        Runtime.getRuntime().addShutdownHook(hook);
        boolean started = false;
        try {
            url = ready();
            started = true;
        } finally {
            if (!started) {
                close();
            }
        }
    }

    /**
     * Starts a server with a random admin key.
     *
     * @param arguments further arguments of {@code firstcome serve}
     * @return the server, which is ready
     * @throws IllegalStateException if there is no program or it does not become ready within 30 s; with what it printed
     */
    public static FirstcomeServer start(String... arguments) {
        return startWithKey("test-" + UUID.randomUUID(), arguments);
    }

    /**
     * Starts a server with an admin key.
     *
     * @param key the admin key, at least 16 visible ASCII characters
     * @param arguments further arguments of {@code firstcome serve}
     * @return the server, which is ready
     * @throws IllegalStateException if there is no program or it does not become ready within 30 s; with what it printed
     */
    public static FirstcomeServer startWithKey(String key, String... arguments) {
        try {
            return new FirstcomeServer(key, List.of(arguments));
        } catch (IOException failed) {
            throw new UncheckedIOException("the server could not be started", failed);
        } catch (InterruptedException interrupted) {
            Thread.currentThread().interrupt();
            throw new IllegalStateException("interrupted while the server started", interrupted);
        }
    }

    /**
     * Returns the address.
     *
     * @return {@code http://127.0.0.1:PORT}
     */
    public String url() {
        return url;
    }

    /**
     * Returns a key with the role admin.
     *
     * @return the key
     */
    public String key() {
        return key;
    }

    /**
     * Makes a campaign or changes it.
     *
     * @param campaign its name
     * @param settings the JSON of its settings, as {@code PUT /v1/campaigns/…} takes it
     * @throws IllegalStateException if the server refuses it; with its answer
     */
    public void campaign(String campaign, String settings) {
        HttpResponse<String> answer = send("PUT", "/v1/campaigns/" + campaign, settings);
        if (answer.statusCode() >= 300) {
            throw new IllegalStateException("PUT of " + campaign + ": " + answer.statusCode() + " " + answer.body());
        }
    }

    /**
     * Makes a campaign of one pool that is open from now on.
     *
     * @param campaign its name
     * @param places how many places it has
     * @throws IllegalStateException if the server refuses it; with its answer
     */
    public void open(String campaign, int places) {
        campaign(campaign, "{\"opens_at\": \"now\", \"pools\": [{\"name\": \"main\", \"kind\": \"counted\", \"capacity\": " + places + "}]}");
    }

    /**
     * Sends any request with the admin key, once.
     *
     * @param method the HTTP method
     * @param path path and query
     * @param json the body; {@code null} if there is none
     * @return the answer, whatever its status
     */
    public HttpResponse<String> send(String method, String path, String json) {
        HttpRequest.Builder request = HttpRequest.newBuilder(URI.create(url + path)).timeout(Duration.ofSeconds(30))
                .header("Authorization", "Bearer " + key);
        if (json == null) {
            request.method(method, HttpRequest.BodyPublishers.noBody());
        } else {
            request.header("Content-Type", "application/json").method(method, HttpRequest.BodyPublishers.ofString(json));
        }
        try {
            return http.send(request.build(), HttpResponse.BodyHandlers.ofString());
        } catch (IOException failed) {
            throw new UncheckedIOException(method + " " + path, failed);
        } catch (InterruptedException interrupted) {
            Thread.currentThread().interrupt();
            throw new IllegalStateException("interrupted", interrupted);
        }
    }

    /** Kills the server and removes its folder. */
    @Override
    public void close() {
        process.destroyForcibly();
        try {
            process.waitFor(10, TimeUnit.SECONDS);
            Runtime.getRuntime().removeShutdownHook(hook);
        } catch (InterruptedException interrupted) {
            Thread.currentThread().interrupt();
        } catch (IllegalStateException shuttingDown) {
            // The hook runs already.
        }
        try (Stream<Path> all = Files.walk(folder)) {
            all.sorted(Comparator.reverseOrder()).map(Path::toFile).forEach(File::delete);
        } catch (IOException | UncheckedIOException left) {
            folder.toFile().deleteOnExit();
        }
    }

    private Path file(String name) {
        return folder.resolve(name);
    }

    /** Waits until the server is ready; gives its address. */
    private String ready() throws IOException, InterruptedException {
        long until = System.nanoTime() + START.toNanos();
        while (System.nanoTime() < until && process.isAlive()) {
            String out = Files.readString(file("out"));
            // The first line is `listening on http://127.0.0.1:PORT`.
            int begin = out.indexOf("http://");
            int end = out.indexOf('\n');
            if (begin >= 0 && end > begin && isReady(out.substring(begin, end).strip())) {
                return out.substring(begin, end).strip();
            }
            Thread.sleep(20);
        }
        String why = process.isAlive() ? "is not ready after " + START.toSeconds() + " s" : "ended with " + process.exitValue();
        throw new IllegalStateException("the server " + why + ": " + Files.readString(file("out")) + Files.readString(file("err")));
    }

    private boolean isReady(String address) throws InterruptedException {
        HttpRequest request = HttpRequest.newBuilder(URI.create(address + "/readyz")).timeout(Duration.ofSeconds(2)).build();
        try {
            return http.send(request, HttpResponse.BodyHandlers.discarding()).statusCode() == 200;
        } catch (IOException notYet) {
            return false;
        }
    }

    private static Path program() {
        String named = System.getenv("FIRSTCOME");
        if (named != null && !named.isBlank()) {
            if (!Files.isExecutable(Path.of(named))) {
                throw new IllegalStateException("the environment variable FIRSTCOME names no program: " + named);
            }
            return Path.of(named).toAbsolutePath();
        }
        for (String folder : System.getenv().getOrDefault("PATH", "").split(File.pathSeparator)) {
            Path program = Path.of(folder, "firstcome");
            if (!folder.isEmpty() && Files.isExecutable(program) && Files.isRegularFile(program)) {
                return program;
            }
        }
        throw new IllegalStateException(
                "there is no program `firstcome`: put it on the PATH, or its path into the environment variable FIRSTCOME");
    }
}
