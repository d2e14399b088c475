#!/usr/bin/env python3
"""Writes the part of the Java client that nobody has to write: the records of the answers, the outcomes they are of and the
enum of reasons, from the reference of the HTTP interface; and the blocking calls, from those that return a future.

    python3 generate.py            writes client/src/generated/java
    python3 generate.py --check    exits with 1 if what is there is not what would be written
"""

import json
import pathlib
import re
import sys
import textwrap

HERE = pathlib.Path(__file__).resolve().parent
REFERENCE = HERE.parent.parent / "docs" / "reference"
PACKAGE = pathlib.Path("java", "io", "firstcome", "client")
OUT = HERE / "client" / "src" / "generated" / PACKAGE
CALLS = HERE / "client" / "src" / "main" / PACKAGE / "AsyncFirstcomeClient.java"

# The Java name of a record, its schema, and the outcomes it is one of.
RECORDS = {
    "Won": ("Won", ["WonPlace"]),
    "AlreadyWon": ("Won", ["WonPlace"]),
    "Cancelled": ("Cancelled", ["CancelOutcome"]),
    "Confirmed": ("EndedView", ["HoldOutcome", "ConfirmOutcome"]),
    "Released": ("EndedView", ["ReleaseOutcome"]),
    "Extended": ("ExtendedView", ["ExtendOutcome"]),
    "Waitlisted": ("WaitlistedView", ["JoinOutcome"]),
    "Place": ("PlaceView", ["PlaceOutcome"]),
    "LeftWaitlist": ("LeftWaitlistView", ["LeaveOutcome"]),
    "CodeStep": ("CodeStep", ["CodeOutcome"]),
    "CodesFound": ("CodesFound", []),
    "Code": ("CodeView", []),
    "CodeUse": ("CodeUseView", []),
    "CodeMark": ("CodeMarkView", []),
    "Hold": ("Shown", []),
    "HoldBrief": ("HoldView", []),
    "Unit": ("UnitView", []),
    "Claims": ("ClaimsOf", []),
    "Claim": ("ClaimView", []),
    "Subject": ("SubjectView", []),
    "InCampaign": ("InCampaign", []),
    "Campaign": ("CampaignView", []),
    "Pool": ("PoolView", []),
    "Limits": ("LimitsView", []),
    "Results": ("ResultsView", []),
    "Result": ("ResultView", []),
    "Winners": ("WinnersView", []),
    "Winner": ("WinnerView", []),
    "Ready": ("ReadyView", []),
    "Problem": ("Problem", []),
}
# Interfaces over records of one schema, with the accessors of all: the outcomes each is one of, and what it is.
SHARED = {
    "WonPlace": ("ClaimOutcome, JoinOutcome", "A place that the subject has: won by this call, or before"),
}
# What each outcome can be beside its records, and what it is about.
OUTCOMES = {
    "ClaimOutcome": ("WonPlace Refused Unknown", "a claim"),
    "CancelOutcome": ("Refused Unknown", "the cancel of a claim"),
    "JoinOutcome": ("WonPlace Held Refused Unknown", "a claim that waits if nothing is free. {@link Held} is an offer: confirm it or let it go"),
    "PlaceOutcome": ("Refused", "looking for a place on a waitlist: none is {@link Reason#NOT_ON_WAITLIST}"),
    "LeaveOutcome": ("Refused Unknown", "leaving a waitlist"),
    "ConfirmOutcome": ("RefundDue Refused Unknown", "a confirm. {@link RefundDue} means: give back what was paid"),
    "ReleaseOutcome": ("Refused Unknown", "giving units of a hold back"),
    "ExtendOutcome": ("Refused Unknown", "moving the deadline of a hold"),
    "CodeOutcome": ("Refused Unknown", "a step on a code; {@link CodeStep#outcome()} says which step it was"),
}
NAMES = {schema: name for name, (schema, _) in reversed(RECORDS.items())}
# Fields that are times; the schema has only strings.
TIMES = {
    "at", "since", "now", "opens_at", "closes_at", "closed_at", "created_at", "expires_at", "started_at",
    "issued_at", "redeemed_at", "valid_until", "barred_at",
}
# Outcomes that are no refusals of the rules: the request was not of the form or had not the right that is needed, or
# something outside of the rules failed.
NOT_OF_THE_RULES = set(
    "busy outbox_full store_full unavailable unknown stale_position nothing_lost level_not_read beyond_results "
    "tag_required invalid_request invalid_subject invalid_settings too_big_for_memory unsupported_media_type "
    "not_acceptable too_large timeout unauthorized eligibility_unknown token_expired forbidden origin_not_allowed "
    "no_such_route method_not_allowed too_many_connections too_many_requests too_many_streams".split()
)
HEADER = "// Written by generate.py; do not edit.\npackage io.firstcome.client;\n\n"
KEYWORDS = {"for", "import", "default", "public"}


def camel(name):
    head, *rest = name.split("_")
    joined = head + "".join(part.capitalize() for part in rest)
    return joined + "_" if joined in KEYWORDS else joined


def sentence(text):
    """A description as Javadoc: `x` is code, and markup is text."""
    text = " ".join(text.split()).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return re.sub(r"`([^`]*)`", r"{@code \1}", text).replace("@code @", "@code ")


def java_type(name, schema, nested):
    """The Java type of a property, and whether it may be null. Objects without a name become nested records."""
    kinds = schema.get("type", [])
    kinds = [kinds] if isinstance(kinds, str) else kinds
    nullable = "null" in kinds
    if "$ref" in schema:
        target = schema["$ref"].rsplit("/", 1)[1]
        return ("String" if target == "Outcome" else NAMES[target]), nullable
    if "string" in kinds:
        return ("Instant" if name in TIMES else "String"), nullable
    if "integer" in kinds:
        # Ranks, counts and limits are unsigned in 32 bits, so that none of them fits an int for sure.
        return "Long", nullable
    if "boolean" in kinds:
        return "Boolean", nullable
    if "array" in kinds:
        inner, _ = java_type(name, schema["items"], nested)
        return f"List<{inner}>", nullable
    if "object" in kinds and "additionalProperties" in schema:
        inner, _ = java_type(name, schema["additionalProperties"], nested)
        return f"Map<String, {inner}>", nullable
    if "object" in kinds:
        title = camel(name).rstrip("_")
        title = {"errors": "LineError"}.get(name, title[0].upper() + title[1:])
        nested[title] = schema
        return title, nullable
    raise SystemExit(f"{name}: cannot say this in Java: {schema}")


def components(schema, nested):
    """The components of a record: the type, the name and the description of each."""
    required = schema.get("required", [])
    for field, about in schema["properties"].items():
        kind, nullable = java_type(field, about, nested)
        # A list or a truth that is left out is an empty list or no truth.
        is_list, is_truth = kind.startswith(("List", "Map")), kind == "Boolean"
        optional = (nullable or field not in required) and not is_list and not (is_truth and not nullable)
        if not optional:
            kind = {"Long": "long", "Boolean": "boolean"}.get(kind, kind)
        text = about.get("description", "The stable name of the outcome." if field == "outcome" else field)
        text = sentence(text).rstrip(".")
        null = "; {@code null} if it is not given" if optional and "null" not in text else ""
        yield kind, camel(field), text + null


def record(name, schema, outcomes, indent=""):
    nested = {}
    members = list(components(schema, nested))
    docs = [f"@param {field} {text}" for _, field, text in members]
    fields = [f"{kind} {field}" for kind, field, _ in members]
    lists = [f"{field} = {field} == null ? {kind.split('<')[0]}.of() : {kind.split('<')[0]}.copyOf({field});"
             for kind, field, _ in members if kind.startswith(("List", "Map"))]
    lines = ["/**"]
    lines += [f" * {line}" for line in wrap(sentence(schema.get("description", name)))] + [" *"]
    for doc in docs:
        lines += [f" * {line}" for line in wrap(doc, "    ")]
    lines.append(" */")
    implements = f" implements {', '.join(outcomes)}" if outcomes else ""
    lines.append(f"public record {name}(")
    lines += [f"        {field}{',' if at < len(fields) - 1 else ''}" for at, field in enumerate(fields)]
    lines.append(f"){implements} {{")
    if lists:
        lines += ["    /**", "     * Copies its lists, so that nobody changes them.", "     *"]
        lines += [f"     * @param {field} as in the record" for _, field, _ in members]
        lines += ["     */", f"    public {name} {{"]
        lines += [f"        {line}" for line in lists] + ["    }", ""]
    if "code" in schema["properties"]:
        shown = [field for _, field, _ in members if field != "code"]
        parts = [f'"{", " if at else name + "["}{field}=" + {field}' for at, field in enumerate(shown)]
        lines += ["    /** Does not show the code. */", "    @Override", "    public String toString() {"]
        lines += [f"        return {parts[0]}"] + [f"                + {part}" for part in parts[1:]]
        lines += ['                + "]";', "    }", ""]
    for title, inner in nested.items():
        lines += record(title, inner, [], "    ") + [""]
    if lines[-1] == "":
        lines.pop()
    lines.append("}")
    return [f"{indent}{line}".rstrip() for line in lines]


def shared(name, schemas):
    """An interface over records of one schema."""
    extends, about = SHARED[name]
    records = [record for record, (_, outcomes) in RECORDS.items() if name in outcomes]
    lines = [f"/** {about}. */", f"public sealed interface {name} extends {extends} permits {', '.join(records)} {{"]
    for kind, field, text in components(schemas[RECORDS[records[0]][0]], {}):
        lines += [f"    /** {{@return {text[0].lower()}{text[1:]}}} */", f"    {kind} {field}();", ""]
    return "\n".join(lines[:-1] + ["}"]) + "\n"


def wrap(text, further=""):
    return textwrap.wrap(text, 110, subsequent_indent=further, break_long_words=False, break_on_hyphens=False)


def reasons():
    about = dict(re.findall(r"^- `([a-z_]+)` \d{3}(?:, retry)?: (.*)$", (REFERENCE / "http.md").read_text(), re.M))
    if len(about) < 90 or not NOT_OF_THE_RULES <= about.keys():
        raise SystemExit("docs/reference/http.md has no list of answers that can be read")
    lines = ["/** Why an answer is not a yes, by the stable names that servers give. */", "public enum Reason {"]
    for name, text in about.items():
        rules = "false" if name in NOT_OF_THE_RULES else "true"
        lines += [f"    /** {{@code {name}}}: {sentence(text)}. */", f'    {name.upper()}("{name}", {rules}),']
    lines += textwrap.indent(textwrap.dedent('''\
        /** A refusal that this version of the client does not know: {@link Problem#outcome()} has its name. */
        OTHER("other", true);

        private static final java.util.Map<String, Reason> BY_NAME = new java.util.HashMap<>();

        static {
            for (Reason reason : values()) {
                BY_NAME.put(reason.outcome, reason);
            }
        }

        private final String outcome;
        private final boolean ofTheRules;

        Reason(String outcome, boolean ofTheRules) {
            this.outcome = outcome;
            this.ofTheRules = ofTheRules;
        }

        /**
         * Finds the reason with a name.
         *
         * @param outcome the name, such as {@code sold_out}
         * @return the reason; {@link #OTHER} if this version does not know it
         */
        public static Reason of(String outcome) {
            return BY_NAME.getOrDefault(outcome, OTHER);
        }

        /**
         * Returns the stable name of the reason.
         *
         * @return the name, such as {@code sold_out}
         */
        public String outcome() {
            return outcome;
        }

        /**
         * Says whether the rules of the campaign decided this. Otherwise the request had not the form or the right that
         * it needs, or something failed.
         *
         * @return whether it is a refusal of the rules
         */
        public boolean isOfTheRules() {
            return ofTheRules;
        }'''), "    ").splitlines()
    return HEADER + "\n".join(lines + ["}"]) + "\n"


def outcome(name):
    others, about = OUTCOMES[name]
    permits = [record for record, (_, outcomes) in RECORDS.items() if name in outcomes] + others.split()
    text = f"/** What became of {about}. */\npublic sealed interface {name} permits {', '.join(permits)} {{\n}}\n"
    return HEADER + text


def blocking():
    """The calls of the client that returns futures, each waited for."""
    text = CALLS.read_text()
    calls = re.findall(r"(    /\*\*(?:(?!\*/).)*?\*/\n)    public CompletableFuture<(.*?)> (\w+)\(([^)]*)\) \{", text, re.S)
    if len(calls) < 20:
        raise SystemExit(f"{CALLS.name} has no calls that can be read")
    lines = ["/** The calls that block, one for each of {@link AsyncFirstcomeClient}. */", "abstract class BlockingCalls {",
             "    abstract <T> T await(Function<AsyncFirstcomeClient, CompletableFuture<T>> call);", ""]
    for doc, returns, name, parameters in calls:
        if returns in ("Results", "Winners"):
            continue  # The blocking client has streams of them.
        names = ", ".join(parameter.rsplit(" ", 1)[1] for parameter in parameters.split(", ") if parameter)
        lines += [doc.rstrip(), f"    public {returns} {name}({parameters}) {{",
                  f"        return await(calls -> calls.{name}({names}));", "    }", ""]
    imports = "".join(f"import java.{path};\n" for path in [
        "time.Duration", "util.List", "util.concurrent.CompletableFuture", "util.function.Function"]) + "\n"
    return HEADER + imports + "\n".join(lines[:-1] + ["}"]) + "\n"


def files():
    schemas = json.loads((REFERENCE / "openapi.json").read_text())["components"]["schemas"]
    yield "Reason.java", reasons()
    yield "BlockingCalls.java", blocking()
    for name in OUTCOMES:
        yield f"{name}.java", outcome(name)
    bodies = {name: shared(name, schemas) for name in SHARED}
    for name, (schema, outcomes) in RECORDS.items():
        bodies[name] = "\n".join(record(name, schemas[schema], outcomes)) + "\n"
    for name, body in bodies.items():
        imports = [f"import java.{path};" for path, word in
                   [("time.Instant", "Instant "), ("util.List", "List<"), ("util.Map", "Map<")] if word in body]
        yield f"{name}.java", HEADER + "".join(f"{line}\n" for line in imports) + ("\n" if imports else "") + body


def main():
    wanted = dict(files())
    if "--check" in sys.argv:
        there = {path.name: path.read_text() for path in OUT.glob("*.java")}
        differs = sorted(name for name in wanted.keys() | there.keys() if wanted.get(name) != there.get(name))
        if differs:
            sys.exit(f"client/src/generated is not what generate.py writes: run it again ({', '.join(differs)})")
        return
    OUT.mkdir(parents=True, exist_ok=True)
    for path in OUT.glob("*.java"):
        path.unlink()
    for name, text in wanted.items():
        (OUT / name).write_text(text)


if __name__ == "__main__":
    main()
