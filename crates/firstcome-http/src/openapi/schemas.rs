//! Schemas that no type of ours has: the outcomes, problems, the map of seats, events, and who may ask.

use crate::answer::{Effect, outcomes};
use firstcome_api::problem::EXTRA;
use firstcome_core::limits;
use serde_json::{Map, Value, json};

/// What members of requests may be at most, and some at least: member, keyword, how much.
///
/// Of a text they count bytes, and JSON Schema characters, which are never more.
const BOUNDS: [(&str, &str, u64); 12] = [
    ("subject", "minLength", 1),
    ("subject", "maxLength", limits::SUBJECT_BYTES as u64),
    ("reason", "minLength", 1),
    ("reason", "maxLength", limits::REASON_BYTES as u64),
    ("title", "maxLength", limits::TITLE_BYTES as u64),
    ("units", "maxItems", limits::HOLD_UNITS as u64),
    ("picks", "maxItems", limits::PICKS as u64),
    ("pools", "maxItems", limits::POOLS as u64),
    ("seats", "maxItems", limits::CHUNK_SEATS as u64),
    ("quantity", "maximum", limits::HOLD_UNITS as u64),
    ("best", "maximum", limits::BEST_SEATS as u64),
    ("ttl_ms", "maximum", limits::HOLD_MOST_US as u64 / 1_000),
];

/// Adds them to a description, and says where they are.
pub(super) fn add(document: &mut Value) {
    document["components"]["securitySchemes"] = security_schemes();
    let schemas = &mut document["components"]["schemas"];
    for (name, schema) in schemas.as_object_mut().into_iter().flatten() {
        if name.ends_with("Request") {
            for (member, keyword, bound) in BOUNDS {
                if let Some(member) = schema.pointer_mut(&format!("/properties/{member}")) {
                    member[keyword] = json!(bound);
                }
            }
        }
        if let Some(outcome) = schema.pointer_mut("/properties/outcome") {
            let description = outcome["description"].clone();
            *outcome = json!({"$ref": "#/components/schemas/Outcome", "description": description});
        }
    }
    for claim in ["ClaimRequest", "CommandRequest"] {
        if let Some(quantity) = schemas.pointer_mut(&format!("/{claim}/properties/quantity")) {
            (quantity["minimum"], quantity["maximum"]) = (json!(1), json!(limits::WISH_UNITS));
        }
    }
    schemas["Outcome"] = json!({
        "type": "string",
        "description": "The outcome of a request: all stable strings. Later versions may add more.",
        "enum": outcomes().collect::<Vec<_>>(),
    });
    schemas["Problem"] = problem();
    schemas["SeatMap"] = seat_map();
    schemas["SeatMapRow"] = seat_map_row();
    schemas["SeatMapArea"] = seat_map_area();
    schemas["SeatMapGroup"] = seat_map_group();
    schemas["SeatEvent"] = seat_event();
    schemas["SeatEventPool"] = seat_event_pool();
    schemas["SeatEventEnd"] = object(
        "The reason of the end of a stream: the event `end`.",
        1,
        &[("outcome", reference("Outcome"))],
    );
    schemas["WebhookEvent"] = webhook_event();
    document["webhooks"] = webhooks();
    let paths = &mut document["paths"];
    let seats = &mut paths["/v1/campaigns/{campaign}/pools/{pool}/seats"]["get"];
    seats["responses"]["200"]["content"]["application/json"]["schema"] = reference("SeatMap");
    let events = &mut paths["/v1/campaigns/{campaign}/events"]["get"];
    events["responses"]["200"]["content"]["text/event-stream"] = json!({
        "schema": {"type": "string", "description": "Server-sent events; `data` of each is a SeatEvent, of `end` a SeatEventEnd."},
        "x-event-data": {"standing": reference("SeatEvent"), "reset": reference("SeatEvent"),
            "end": reference("SeatEventEnd")},
    });
    let commands = &mut paths["/v1/commands"]["post"];
    for (media, line, of) in [
        ("/requestBody/content", "One CommandRequest per line.", "CommandRequest"),
        ("/responses/200/content", "One CommandView per line, in the same order.", "CommandView"),
    ] {
        if let Some(content) = commands.pointer_mut(media) {
            content["application/x-ndjson"] = text(line);
            content["application/x-ndjson"]["x-line-data"] = reference(of);
        }
    }
    for (path, line) in
        [("results", "One ResultView per line."), ("winners", "One WinnerView per line.")]
    {
        let pages = &mut paths[format!("/v1/campaigns/{{campaign}}/{path}")]["get"];
        let content = &mut pages["responses"]["200"]["content"];
        content["application/x-ndjson"] = text(line);
        content["text/csv"] = text("A table with the same columns, with a header.");
    }
}

fn text(description: &str) -> Value {
    json!({"schema": {"type": "string", "description": description}})
}

fn reference(name: &str) -> Value {
    json!({"$ref": format!("#/components/schemas/{name}")})
}

fn security_schemes() -> Value {
    json!({
        "key": {
            "type": "http",
            "scheme": "bearer",
            "description": "A key with at least the role that the operation names: read, backend, operator, admin; \
                it may be limited to campaigns whose names begin with a prefix.",
        },
        "subject_token": {
            "type": "http",
            "scheme": "bearer",
            "bearerFormat": "JWT",
            "description": "A token with which a browser acts for one subject, in one campaign or in all campaigns whose \
                names begin with a prefix.",
        },
        "ticket": {
            "type": "apiKey",
            "in": "query",
            "name": "ticket",
            "description": "A ticket, with which an EventSource of a browser follows events of the token's campaigns.",
        },
    })
}

fn string(description: &str) -> Value {
    json!({"type": "string", "description": description})
}

fn number(description: &str) -> Value {
    json!({"type": "integer", "format": "int64", "minimum": 0, "description": description})
}

fn list(of: &Value, description: &str) -> Value {
    json!({"type": "array", "items": of, "description": description})
}

/// Returns the schema of an object; the first members are always there.
fn object(description: &str, required: usize, members: &[(&str, Value)]) -> Value {
    let names = members.iter().map(|(name, _)| *name);
    let properties = members.iter().map(|(name, schema)| ((*name).to_owned(), schema.clone()));
    let properties: Map<String, Value> = properties.collect();
    json!({
        "type": "object",
        "description": description,
        "required": names.take(required).collect::<Vec<_>>(),
        "properties": properties,
    })
}

fn problem() -> Value {
    let effects = [Effect::None, Effect::Done, Effect::Unknown].map(Effect::as_str);
    let mut schema = object(
        "An answer that is not a yes (RFC 9457).",
        7,
        &[
            ("type", string("The page that explains it: `/problems/` and the outcome.")),
            ("title", string("One sentence about every problem with this outcome.")),
            ("status", number("The HTTP status.")),
            ("detail", string("One sentence about this problem.")),
            ("outcome", reference("Outcome")),
            (
                "retry",
                json!({"type": "boolean", "description": "Whether the same request may succeed later."}),
            ),
            (
                "changed",
                json!({"type": "string", "enum": effects,
                "description": "Whether anything changed; `unknown` if it may have."}),
            ),
            (
                "position",
                string("The position to which this answer belongs, if the state was read."),
            ),
            ("decided", string("`journal`, or `replica` if the state of this server was enough.")),
        ],
    );
    for (name, kind, description) in EXTRA {
        schema["properties"][name] = match kind {
            "units" => list(&reference("UnitView"), description),
            "errors" => {
                let error = object(
                    "The errors.",
                    2,
                    &[
                        (
                            "line",
                            number("The line, or the number in the array, from 1; 0 in a PUT."),
                        ),
                        ("why", string("The error.")),
                    ],
                );
                list(&error, description)
            }
            kind => json!({"type": kind, "description": description}),
        };
    }
    schema
}

/// Where a column of a row has one value if it is the same for all seats, and else a list.
fn column(description: &str) -> Value {
    let description = format!(
        "{description}: one value if it is the same for all seats, otherwise a list with a value for each."
    );
    json!({ "description": description })
}

fn seat_map() -> Value {
    let counts = list(&number("A count."), "Left, held, confirmed, blocked.");
    object(
        "The map of a seated pool. With `standing=1` it has no `rows`, `areas` and `groups`.",
        5,
        &[
            ("campaign", string("The campaign.")),
            ("pool", string("The pool.")),
            ("position", string("The position to which this answer belongs.")),
            (
                "standing",
                string(
                    "A letter for each seat, in the order of adding: `.` free, `-` not for sale, `h` held, \
                `c` confirmed, `b` blocked.",
                ),
            ),
            ("area_standing", list(&counts, "Left, held, confirmed and blocked of each area.")),
            ("rows", list(&reference("SeatMapRow"), "Its rows.")),
            ("areas", list(&reference("SeatMapArea"), "Its areas.")),
            ("groups", list(&reference("SeatMapGroup"), "Its groups.")),
        ],
    )
}

fn seat_map_row() -> Value {
    object(
        "A row of seats.",
        4,
        &[
            ("section", string("Its section.")),
            ("row", string("Its name.")),
            ("prefix", string("The common beginning of the names of its seats.")),
            ("names", list(&string("The rest of a name."), "The rest of the name of each seat.")),
            ("first", number("The number of its first seat, if the numbers follow each other.")),
            (
                "seats",
                list(&number("A seat's number."), "The numbers of its seats, if they do not."),
            ),
            ("number", column("The number on the seat; left out if it is the rest of the name")),
            ("x", column("Where to draw it, from the left")),
            ("y", column("Where to draw it, from the top")),
            ("quality", column("How good it is, 0 best")),
            ("grade", column("Its price category")),
            ("price_minor", column("Its price in the smallest unit of `currency`")),
            ("currency", column("Three capital letters")),
            ("channel", column("The channel that sells it")),
            ("accessible", column("Whether it is accessible")),
            ("companion", column("Whether it is for a companion")),
            ("group", column("The group it is sold with")),
            ("extra", column("The caller's own text")),
        ],
    )
}

fn seat_map_area() -> Value {
    object(
        "An area of general admission.",
        8,
        &[
            ("name", string("Its name.")),
            ("capacity", number("How many places it has.")),
            ("grade", string("Its price category.")),
            (
                "price_minor",
                json!({"type": ["integer", "null"], "format": "int64",
            "description": "The price of a place, in the smallest unit of `currency`."}),
            ),
            (
                "currency",
                json!({"type": ["string", "null"], "description": "Three capital letters."}),
            ),
            ("channel", string("The channel that sells it; any channel if empty.")),
            ("for_sale", json!({"type": "boolean", "description": "Whether it is for sale."})),
            ("extra", string("The caller's own text.")),
        ],
    )
}

fn seat_map_group() -> Value {
    object(
        "Seats that are sold together.",
        2,
        &[
            ("name", string("Its name.")),
            ("seats", list(&number("A seat's number."), "The numbers of its seats.")),
        ],
    )
}

fn seat_event() -> Value {
    object(
        "The data of an event: `standing` has the changes; after `reset` the map must be fetched again.",
        1,
        &[
            ("position", string("The position to which this answer belongs.")),
            ("pools", list(&reference("SeatEventPool"), "The pools in which something changed.")),
        ],
    )
}

fn seat_event_pool() -> Value {
    let numbers = list(&number("A seat's number."), "Numbers of seats.");
    let area = list(
        &number("A number."),
        "The number of the area, then its left, held, confirmed and blocked.",
    );
    object(
        "The changes of a pool.",
        2,
        &[
            ("pool", string("The pool.")),
            ("left", number("Units that are free and for sale.")),
            (
                "seats",
                json!({"type": "object", "additionalProperties": numbers,
            "description": "The numbers of the changed seats, by their new letter."}),
            ),
            ("areas", list(&area, "The changed areas.")),
        ],
    )
}

/// What an endpoint is sent: see `docs/webhooks.md` of `firstcome-webhooks`.
fn webhook_event() -> Value {
    let types: Vec<&str> = firstcome_webhooks::TYPES.iter().map(|(name, _)| *name).collect();
    let number = json!({"type": "integer", "minimum": 1});
    let text = json!({"type": "string"});
    let data = json!({"type": "object", "required": ["number", "in_campaign", "campaign", "pool", "rank", "subject"],
        "description": "The result, with the names of the ledger's columns. What is empty is left out; later versions may add members.",
        "properties": {"number": number, "in_campaign": number, "campaign": text, "pool": text,
            "rank": {"type": "integer", "minimum": 0}, "subject": text, "unit": text, "hold": text, "moved_from": text,
            "by": text, "reason": text, "who": text, "reference": text, "used_by": text, "verdict": text,
            "issue": number, "import": text, "quantity": number}});
    json!({"type": "object", "required": ["type", "timestamp", "data"], "description": "What an endpoint is sent.",
        "properties": {"type": {"type": "string", "enum": types}, "timestamp": {"type": "string", "format": "date-time"}, "data": data}})
}

/// The request that endpoints get. Its body has a name: generators need one.
fn webhooks() -> Value {
    let header = |name: &str, description: &str| json!({"name": name, "in": "header", "required": true, "schema": {"type": "string"}, "description": description});
    json!({"result": {"post": {
        "operationId": "receive_result",
        "summary": "A result, at least once.",
        "description": "Sent to each endpoint that was added, signed as Standard Webhooks 1.0 says.",
        "tags": ["webhooks"],
        "parameters": [header("webhook-id", "The same on each try."),
            header("webhook-timestamp", "Seconds since 1970 at this try."),
            header("webhook-signature", "One or more of `v1,` and base64.")],
        "requestBody": {"required": true, "content": {"application/json": {"schema": reference("WebhookEvent")}}},
        "responses": {"2XX": {"description": "It was taken."}, "410": {"description": "Nothing more is wanted."}},
    }}})
}
