package io.firstcome.client;

import static org.junit.jupiter.api.Assertions.fail;

import com.fasterxml.jackson.core.JsonGenerator;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.PropertyNamingStrategies;
import com.fasterxml.jackson.databind.SerializerProvider;
import com.fasterxml.jackson.databind.json.JsonMapper;
import com.fasterxml.jackson.databind.module.SimpleModule;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import com.fasterxml.jackson.databind.node.TextNode;
import com.fasterxml.jackson.databind.ser.std.StdSerializer;
import io.firstcome.junit.FirstcomeServer;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ThreadLocalRandom;
import java.util.function.Function;
import java.util.stream.Stream;
import java.util.stream.StreamSupport;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.TestFactory;

/** Runs {@code clients/conformance.json} against the real program behind the faulty proxy. Nothing in it is skipped. */
class ConformanceTest {
    private static final Path FOLDER = Path.of("").toAbsolutePath().resolve("../..").normalize();
    private static final ObjectMapper JSON = JsonMapper.builder().propertyNamingStrategy(PropertyNamingStrategies.SNAKE_CASE)
            .addModule(new SimpleModule().addSerializer(Instant.class, new Times())).build();
    private static final HttpClient HTTP = HttpClient.newHttpClient();
    private static JsonNode list;
    private static FirstcomeServer server;
    private static Process proxy;
    private static String control;

    /** An exception of the runner's own, thrown in the block of a hold. */
    private static final class Mine extends RuntimeException {
        private static final long serialVersionUID = 1L;
    }

    private static final class Times extends StdSerializer<Instant> {
        private static final long serialVersionUID = 1L;

        Times() {
            super(Instant.class);
        }

        @Override
        public void serialize(Instant time, JsonGenerator to, SerializerProvider provider) throws IOException {
            to.writeString(time.toString());
        }
    }

    /** What a call gave: its kind, its fields by the names of the documents, and all its text. */
    private record Got(String kind, ObjectNode fields, String text, long millis) {
    }

    @BeforeAll
    static void start() throws Exception {
        list = JSON.readTree(Files.readString(FOLDER.resolve("conformance.json")));
        known("the list", list, "about", "format", "keys", "defaults", "behaviours");
        check(list.get("format").asInt() == 1, "the list has a format that this runner does not know");
        known("the defaults", list.get("defaults"), "client");
        server = FirstcomeServer.startWithKey(list.get("keys").get("admin").asText(), "--config",
                FOLDER.resolve("conformance/server.toml").toString());
        proxy = new ProcessBuilder("python3", FOLDER.resolve("conformance/proxy.py").toString(), "--upstream", server.url(),
                "--stop-with-stdin").redirectError(ProcessBuilder.Redirect.INHERIT).start();
        control = new BufferedReader(proxy.inputReader()).readLine();
        check(control != null && control.startsWith("http://"), "the proxy did not start: " + control);
    }

    @AfterAll
    static void stop() {
        if (proxy != null) {
            proxy.destroy();
        }
        if (server != null) {
            server.close();
        }
    }

    /** The calls with futures, each waited for: what they give must be the same. */
    private static final class Waiting extends BlockingCalls {
        private final AsyncFirstcomeClient async;

        Waiting(AsyncFirstcomeClient async) {
            this.async = async;
        }

        @Override
        <T> T await(Function<AsyncFirstcomeClient, CompletableFuture<T>> call) {
            try {
                return call.apply(async).join();
            } catch (CompletionException failed) {
                throw (RuntimeException) failed.getCause();
            }
        }
    }

    @TestFactory
    Stream<DynamicTest> everyBehaviourBlocking() {
        return behaviours(client -> client);
    }

    @TestFactory
    Stream<DynamicTest> everyBehaviourWithFutures() {
        return behaviours(client -> new Waiting(client.async()));
    }

    private static Stream<DynamicTest> behaviours(Function<FirstcomeClient, BlockingCalls> calls) {
        Set<String> names = new HashSet<>();
        list.get("behaviours").forEach(each -> check(names.add(each.get("name").asText()), "a name is there twice: " + each.get("name")));
        check(names.size() >= 60, "so few behaviours that the list cannot be whole: " + names.size());
        return StreamSupport.stream(list.get("behaviours").spliterator(), false)
                .map(each -> DynamicTest.dynamicTest(each.get("name").asText(), () -> new Behaviour(each, calls).run()));
    }

    private static void check(boolean right, String otherwise) {
        if (!right) {
            fail(otherwise);
        }
    }

    /** What the runner does not understand is a failure. */
    private static void known(String what, JsonNode object, String... names) {
        Set<String> allowed = Set.of(names);
        object.fieldNames().forEachRemaining(name -> check(allowed.contains(name), what + " has a field that this runner does not know: " + name));
    }

    /** Says what is not found of an expected value in an actual one; null if all is there. */
    private static String missing(String path, JsonNode wanted, JsonNode actual) {
        if (actual == null || actual.isMissingNode()) {
            return path + " is not there, but should be " + wanted;
        }
        if (wanted.isObject() && actual.isObject()) {
            for (Map.Entry<String, JsonNode> field : wanted.properties()) {
                String why = missing(path + "." + field.getKey(), field.getValue(), actual.get(field.getKey()));
                if (why != null) {
                    return why;
                }
            }
            return null;
        }
        if (wanted.isArray() && actual.isArray()) {
            if (wanted.size() != actual.size()) {
                return path + " has " + actual.size() + " items, but should have " + wanted.size() + ": " + actual;
            }
            for (int at = 0; at < wanted.size(); at++) {
                String why = missing(path + "[" + at + "]", wanted.get(at), actual.get(at));
                if (why != null) {
                    return why;
                }
            }
            return null;
        }
        boolean same = wanted.isNumber() && actual.isNumber() ? wanted.asDouble() == actual.asDouble() : wanted.equals(actual);
        return same ? null : path + " is " + actual + ", but should be " + wanted;
    }

    private static final class Behaviour {
        private final JsonNode about;
        private final Map<String, JsonNode> saved = new HashMap<>();
        private String key;
        private int session;
        private final Function<FirstcomeClient, BlockingCalls> calls;
        private JsonNode firstResult;

        Behaviour(JsonNode about, Function<FirstcomeClient, BlockingCalls> calls) {
            this.about = about;
            this.calls = calls;
            known("the behaviour", about, "name", "why", "setup", "client", "proxy", "calls", "requests", "after");
        }

        void run() throws Exception {
            ObjectNode settings = list.get("defaults").get("client").deepCopy();
            if (about.has("client")) {
                settings.setAll((ObjectNode) about.get("client"));
            }
            known("client", settings, "deadline_ms", "attempt_ms", "key");
            key = list.get("keys").get(settings.get("key").asText()).asText();
            saved.put("key", TextNode.valueOf(key));
            saved.put("campaign", TextNode.valueOf("c-" + Integer.toHexString(ThreadLocalRandom.current().nextInt(1 << 28)) + "-j"));
            for (JsonNode request : about.get("setup")) {
                direct(request);
            }
            JsonNode made = control("POST", "", about.has("proxy") ? substitute(about.get("proxy")) : JSON.createObjectNode(), 201);
            session = made.get("session").asInt();
            FirstcomeClient client = FirstcomeClient.builder(made.get("url").asText()).key(key)
                    .deadline(Duration.ofMillis(settings.get("deadline_ms").asLong()))
                    .attempt(Duration.ofMillis(settings.get("attempt_ms").asLong())).build();
            check(!(client.toString() + client.async()).contains(key), "the text of the client has the key");
            JsonNode requests;
            try {
                for (JsonNode call : about.get("calls")) {
                    judge(client, call);
                }
            } finally {
                requests = control("DELETE", "/" + session, null, 200).get("requests");
            }
            JsonNode expected = about.path("requests");
            for (JsonNode each : expected.isArray() ? expected : expected.isObject() ? JSON.createArrayNode().add(expected) : JSON.createArrayNode()) {
                requests(substitute(each), requests);
            }
            for (JsonNode request : about.path("after")) {
                direct(request);
            }
        }

        /** Puts saved values in the place of their names. */
        private JsonNode substitute(JsonNode from) {
            if (from.isObject()) {
                ObjectNode to = JSON.createObjectNode();
                from.properties().forEach(field -> to.set(field.getKey(), substitute(field.getValue())));
                return to;
            }
            if (from.isArray()) {
                ArrayNode to = JSON.createArrayNode();
                from.forEach(each -> to.add(substitute(each)));
                return to;
            }
            if (!from.isTextual()) {
                return from;
            }
            String text = from.asText();
            for (Map.Entry<String, JsonNode> each : saved.entrySet()) {
                String name = "{" + each.getKey() + "}";
                if (text.equals(name)) {
                    return each.getValue();
                }
                text = text.replace(name, each.getValue().asText());
            }
            return TextNode.valueOf(text);
        }

        private void direct(JsonNode template) throws IOException {
            known("a request", template, "method", "path", "body", "status", "save");
            JsonNode request = substitute(template);
            boolean reads = request.get("method").asText().equals("GET");
            String body = reads || !request.has("body") ? null : request.get("body").toString();
            HttpResponse<String> answer = server.send(request.get("method").asText(), request.get("path").asText(), body);
            String what = request.get("method").asText() + " " + request.get("path").asText() + " gave " + answer.statusCode() + " " + answer.body();
            check(request.has("status") ? answer.statusCode() == request.get("status").asInt() : answer.statusCode() / 100 == 2, what);
            JsonNode document = answer.body().isEmpty() ? JSON.createObjectNode() : JSON.readTree(answer.body());
            if (reads && request.has("body")) {
                String why = missing("answer", request.get("body"), document);
                check(why == null, what + ": " + why);
            }
            save(template, document);
        }

        private void save(JsonNode from, JsonNode document) {
            from.path("save").properties().forEach(each -> {
                JsonNode value = document.get(each.getValue().asText());
                check(value != null && !value.isNull(), "there is nothing to save as " + each.getKey() + " in " + document);
                saved.put(each.getKey(), value);
            });
        }

        private JsonNode control(String method, String path, JsonNode body, int status) throws Exception {
            HttpRequest.Builder request = HttpRequest.newBuilder(URI.create(control + "/-conformance/sessions" + path)).timeout(Duration.ofSeconds(30));
            request.method(method, body == null ? HttpRequest.BodyPublishers.noBody() : HttpRequest.BodyPublishers.ofString(body.toString()));
            HttpResponse<String> answer = HTTP.send(request.build(), HttpResponse.BodyHandlers.ofString());
            check(answer.statusCode() == status, "the proxy said " + answer.statusCode() + " " + answer.body());
            return JSON.readTree(answer.body());
        }

        private void judge(FirstcomeClient client, JsonNode template) throws Exception {
            known("a call", template, "op", "subject", "pool", "rank", "picks", "id", "hold", "ttl_ms", "late", "inside", "inside_kind",
                    "throws", "code", "reference", "page_size", "after", "take", "min_position", "expect", "save");
            JsonNode call = substitute(template);
            Got got = make(call.has("min_position") ? client.withPosition(call.get("min_position").asText()) : client, call);
            JsonNode expect = call.get("expect");
            known("an expectation", expect, "kind", "fields", "has", "took_ms");
            String where = call.get("op").asText() + " gave " + got.kind + " " + got.fields + " after " + got.millis + " ms; the proxy saw "
                    + control("GET", "/" + session, null, 200);
            Set<String> kinds = new HashSet<>();
            (expect.get("kind").isArray() ? expect.get("kind") : JSON.createArrayNode().add(expect.get("kind"))).forEach(each -> kinds.add(each.asText()));
            check(kinds.contains(got.kind), "expected " + kinds + ": " + where);
            if (expect.has("fields")) {
                String why = missing("result", expect.get("fields"), got.fields);
                check(why == null, why + ": " + where);
            }
            for (JsonNode name : expect.path("has")) {
                JsonNode value = got.fields.path(name.asText());
                check(!value.isMissingNode() && !value.isNull() && !value.asText("x").isEmpty(), name + " is not there: " + where);
            }
            known("took_ms", expect.path("took_ms"), "min", "max");
            check(got.millis >= expect.path("took_ms").path("min").asLong(0), "too early: " + where);
            check(got.millis <= expect.path("took_ms").path("max").asLong(Long.MAX_VALUE), "too late: " + where);
            check(!got.text.contains(key), "the key is in the text of the result: " + got.text);
            save(template, got.fields);
            firstResult = firstResult == null ? got.fields : firstResult;
        }

        private Got make(FirstcomeClient client, JsonNode call) throws Exception {
            long began = System.nanoTime();
            Object result;
            ObjectNode inside = null;
            try {
                if (call.get("op").asText().equals("hold_block")) {
                    List<Object> taken = new ArrayList<>();
                    try {
                        block(client, call, taken);
                    } catch (Mine thrown) {
                        inside = got(taken.get(0), 0).fields;
                        throw thrown;
                    }
                    result = taken.get(0);
                } else {
                    result = call(client, call);
                }
            } catch (FirstcomeException | IllegalArgumentException | Mine failed) {
                result = failed;
            }
            Got got = got(result, (System.nanoTime() - began) / 1_000_000);
            return inside == null ? got : new Got(got.kind, inside, got.text, got.millis);
        }

        private void block(FirstcomeClient client, JsonNode call, List<Object> taken) {
            try (HoldOutcome hold = calls.apply(client).hold(request(call))) {
                taken.add(hold);
                if (!(hold instanceof Held held)) {
                    return;
                }
                for (JsonNode step : call.path("inside")) {
                    check(step.asText().equals("confirm"), "a step in a block that this runner does not know: " + step);
                    String kind = got(held.confirm(), 0).kind;
                    check(kind.equals(call.path("inside_kind").asText("confirmed")), "the confirm in the block gave " + kind);
                }
                if (call.path("throws").asBoolean()) {
                    throw new Mine();
                }
            }
        }

        private HoldRequest request(JsonNode call) {
            List<Pick> picks = new ArrayList<>();
            for (JsonNode pick : call.get("picks")) {
                known("a pick", pick, "quantity");
                picks.add(Pick.quantity(pick.get("quantity").asInt()));
            }
            HoldRequest request = HoldRequest.of(campaign(), call.get("subject").asText(), picks.toArray(Pick[]::new));
            return call.has("id") ? request.withId(call.get("id").asText()) : request;
        }

        private String campaign() {
            return saved.get("campaign").asText();
        }

        private Object call(FirstcomeClient client, JsonNode call) throws Exception {
            String subject = call.path("subject").asText(null);
            String pool = call.path("pool").asText(null);
            Duration time = call.has("ttl_ms") ? Duration.ofMillis(call.get("ttl_ms").asLong()) : null;
            String op = call.get("op").asText();
            BlockingCalls calls = this.calls.apply(client);
            switch (op) {
                case "claim":
                    return calls.claim(campaign(), subject, pool);
                case "cancel":
                    return calls.cancel(campaign(), subject, call.get("rank").asLong(), pool);
                case "hold":
                    return calls.hold(request(call));
                case "extend":
                    return calls.extend(hold(call), time);
                case "confirm":
                    String late = call.path("late").asText("refuse");
                    check(late.equals("refuse") || late.equals("retake"), "late is " + late);
                    return calls.confirm(hold(call), late.equals("retake") ? Late.RETAKE : Late.REFUSE);
                case "release":
                    return calls.release(hold(call));
                case "join":
                    return calls.join(campaign(), subject, pool == null ? Wish.one() : Wish.one().pool(pool));
                case "place":
                    return calls.place(campaign(), subject, pool);
                case "leave":
                    return calls.leave(campaign(), subject, pool);
                case "reserve_code":
                    return calls.reserveCode(campaign(), use(call), time);
                case "redeem_code":
                    return calls.redeemCode(campaign(), use(call));
                case "roll_back_code":
                    return calls.rollBackCode(campaign(), use(call));
                case "release_code":
                    return calls.releaseCode(campaign(), use(call));
                case "campaign":
                    return calls.campaign(campaign());
                case "results":
                    return client.results(campaign(), 0, call.get("page_size").asInt()).toList();
                case "events":
                    List<Event> events = new ArrayList<>();
                    try (EventStream stream = client.events(campaign(), call.get("after").asText())) {
                        while (events.size() < call.get("take").asInt()) {
                            Event event = stream.next(Duration.ofSeconds(20));
                            check(event != null, "no event came within 20 s, after " + events);
                            events.add(event);
                        }
                    }
                    return events.toArray(Event[]::new);
                default:
                    return fail("a call that this runner does not know: " + op);
            }
        }

        private HoldId hold(JsonNode call) {
            return new HoldId(campaign(), call.get("hold").asText(), call.get("subject").asText());
        }

        private static UseCode use(JsonNode call) {
            return UseCode.of(call.get("code").asText(), call.get("reference").asText());
        }

        /** Says a result in the words of the list. */
        private static Got got(Object result, long millis) throws IllegalArgumentException {
            ObjectNode fields = JSON.createObjectNode();
            if (result instanceof Throwable failed) {
                StringWriter text = new StringWriter();
                failed.printStackTrace(new PrintWriter(text));
                Problem problem = failed instanceof FirstcomeException ours ? ours.problem() : null;
                if (problem != null) {
                    fields.put("outcome", problem.outcome()).put("status", problem.status());
                }
                String kind = failed instanceof NoAnswerException ? "unavailable" : failed instanceof RejectedException ? "rejected"
                        : failed instanceof Mine ? "thrown" : "invalid_argument";
                return new Got(kind, fields, text.toString(), millis);
            }
            String text = String.valueOf(result);
            if (result instanceof Event[] events) {
                ArrayNode all = fields.putArray("events");
                for (Event event : events) {
                    try {
                        all.addObject().put("event", event.type()).put("id", event.id()).set("data", JSON.readTree(event.data()));
                    } catch (IOException wrong) {
                        fail("the data of an event is no JSON: " + event);
                    }
                }
                return new Got("events", fields, List.of(events).toString(), millis);
            }
            if (result instanceof List<?> items) {
                fields.set("items", JSON.valueToTree(items));
                return new Got("items", fields, text, millis);
            }
            if (result instanceof Refused no) {
                fields.put("reason", no.problem().outcome()).put("changed", no.problem().changed()).put("after_lost_attempt", no.afterLostAttempt());
                check(no.reason() == Reason.OTHER || no.reason().outcome().equals(no.problem().outcome()), "another reason: " + no);
                return new Got("refused", fields, text, millis);
            }
            if (result instanceof RefundDue due) {
                fields.put("reason", due.problem().outcome()).put("changed", due.problem().changed());
                return new Got("refused", fields, text, millis);
            }
            if (result instanceof Unknown) {
                return new Got("unknown", fields, text, millis);
            }
            if (result instanceof Held held) {
                fields.put("hold", held.id().hold()).put("campaign", held.id().campaign()).put("subject", held.id().subject());
                fields.put("expires_at", String.valueOf(held.expiresAt())).set("units", JSON.valueToTree(held.units()));
                return new Got(held.offer() ? "offered" : held.again() ? "already_held" : "held", fields, text, millis);
            }
            fields = JSON.valueToTree(result);
            // The kind is the type, not what the document says of itself.
            String type = result.getClass().getSimpleName().replaceAll("(?<=.)([A-Z])", "_$1").toLowerCase(java.util.Locale.ROOT);
            return new Got(result instanceof CodeStep step ? step.outcome() : type, fields, text, millis);
        }

        private void requests(JsonNode expect, JsonNode all) {
            known("requests", expect, "match", "count", "same", "same_and_there", "gaps_ms", "headers", "last_event_id");
            JsonNode match = expect.path("match");
            known("match", match, "method", "path_ends", "path_contains");
            List<JsonNode> seen = new ArrayList<>();
            for (JsonNode each : all) {
                String path = each.get("path").asText();
                if (each.get("method").asText().equals(match.path("method").asText(each.get("method").asText()))
                        && path.split("\\?", 2)[0].endsWith(match.path("path_ends").asText("")) && path.contains(match.path("path_contains").asText(""))) {
                    seen.add(each);
                }
            }
            String where = ": the proxy saw " + seen;
            JsonNode count = expect.path("count");
            if (count.isObject()) {
                known("count", count, "min", "max");
                check(seen.size() >= count.path("min").asInt(0) && seen.size() <= count.path("max").asInt(Integer.MAX_VALUE),
                        "expected " + count + " requests" + where);
            } else if (!count.isMissingNode()) {
                check(seen.size() == count.asInt(), "expected " + count + " requests" + where);
            }
            for (JsonNode part : expect.path("same")) {
                check(seen.stream().map(each -> part(each, part.asText())).distinct().count() <= 1, part + " is not the same" + where);
            }
            for (JsonNode part : expect.path("same_and_there")) {
                List<JsonNode> parts = seen.stream().map(each -> part(each, part.asText())).distinct().toList();
                check(parts.size() == 1 && !parts.get(0).isMissingNode() && !parts.get(0).isNull(), part + " is not there or not the same" + where);
            }
            for (int at = 0; at < expect.path("gaps_ms").size(); at++) {
                JsonNode gap = expect.get("gaps_ms").get(at);
                known("gaps_ms", gap, "min", "max");
                check(seen.size() > at + 1, "there is no gap " + at + where);
                long millis = seen.get(at + 1).get("at_ms").asLong() - seen.get(at).get("at_ms").asLong();
                check(millis >= gap.path("min").asLong(0) && millis <= gap.path("max").asLong(Long.MAX_VALUE), "gap " + at + " is " + millis + where);
            }
            expect.path("headers").properties().forEach(header -> {
                known("a header", header.getValue(), "begins");
                seen.forEach(each -> check(each.get("headers").path(header.getKey()).asText("").startsWith(header.getValue().get("begins").asText()),
                        header.getKey() + " does not begin so" + where));
            });
            if (expect.path("last_event_id").asBoolean()) {
                String id = StreamSupport.stream(firstResult.get("events").spliterator(), false).map(event -> event.get("id"))
                        .filter(JsonNode::isTextual).findFirst().orElseThrow().asText();
                seen.stream().skip(1).forEach(each -> check(each.get("headers").path("last-event-id").asText("").equals(id),
                        "last-event-id is not " + id + where));
            }
        }

        private static JsonNode part(JsonNode request, String part) {
            JsonNode at = request;
            for (String name : part.split("\\.", 2)) {
                at = at.path(name);
            }
            return at;
        }
    }
}
