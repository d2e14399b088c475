//! Every operation: its id, who may ask for it, and what it can be answered with.

use super::refusals::*;
use crate::answer::Code;
use firstcome_api::key::Role;
use firstcome_api::problem::MEDIA_TYPE;
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;

/// Who may ask.
#[derive(Clone, Copy)]
enum Asker {
    /// Anybody.
    Anybody,
    /// Anybody; with a key of the role the answer has more.
    AnybodyOrKey(Role),
    /// Whoever has a key of the role, or of one that may do more.
    Key(Role),
    /// The same, and a caller with a subject token.
    KeyOrToken(Role),
    /// Whoever has a subject token.
    Token,
    /// Whoever has a key to read or a subject token, and of a public campaign anybody.
    Reader,
    /// The same, and whoever has a ticket in the address.
    ReaderOrTicket,
}

/// An operation.
struct Operation {
    method: &'static str,
    path: &'static str,
    /// Its `operationId`, which generators make names from: it never changes.
    id: &'static str,
    asker: Asker,
    /// The outcomes of a yes, by status.
    yes: &'static [(u16, &'static [&'static str])],
    refusals: &'static [AnswerGroup],
}

const fn operation(
    (method, path): (&'static str, &'static str),
    id: &'static str,
    asker: Asker,
    yes: &'static [(u16, &'static [&'static str])],
    refusals: &'static [AnswerGroup],
) -> Operation {
    Operation { method, path, id, asker, yes, refusals }
}

use Asker::{Anybody, AnybodyOrKey, Key, KeyOrToken, Reader, ReaderOrTicket, Token};
use Role::{Admin, Backend, Operator, Read, Redeem};

const STEERED: &[(u16, &[&str])] = &[(200, &["changed", "unchanged"])];
const HELD: &[(u16, &[&str])] = &[(201, &["held"]), (200, &["already_held"])];

#[rustfmt::skip]
const OPERATIONS: &[Operation] = &[
    operation(("get", "/v1/campaigns"), "list_campaigns", Key(Read), &[], &[POSITION]),
    operation(("put", "/v1/campaigns/{campaign}"), "put_campaign", Key(Operator),
        &[(201, &["created"]), (200, &["changed", "unchanged"])],
        &[BODY, POSITION, COMMAND, CAMPAIGN, ORDER, SETTINGS, CLOSED, SEATS, NO_CODE_KEY]),
    operation(("delete", "/v1/campaigns/{campaign}"), "delete_campaign", Key(Operator), &[(200, &["deleted"])],
        &[POSITION, COMMAND, CAMPAIGN, ORDER, DELETE]),
    operation(("get", "/v1/campaigns/{campaign}"), "show_campaign", Reader, &[], &[POSITION, CAMPAIGN]),
    operation(("post", "/v1/campaigns/{campaign}/pause"), "pause_campaign", Key(Operator), STEERED,
        &[POSITION, COMMAND, CAMPAIGN, ORDER, CLOSED]),
    operation(("post", "/v1/campaigns/{campaign}/resume"), "resume_campaign", Key(Operator), STEERED,
        &[POSITION, COMMAND, CAMPAIGN, ORDER, CLOSED]),
    operation(("post", "/v1/campaigns/{campaign}/close"), "close_campaign", Key(Operator), STEERED,
        &[POSITION, COMMAND, CAMPAIGN, ORDER, CLOSED]),
    operation(("post", "/v1/campaigns/{campaign}/archive"), "archive_campaign", Key(Operator), STEERED,
        &[BODY, POSITION, COMMAND, CAMPAIGN, ORDER, ARCHIVE, CODES_VALID]),
    operation(("get", "/v1/campaigns/{campaign}/acts"), "list_acts", Key(Operator), &[], &[POSITION, CAMPAIGN]),
    operation(("get", "/v1/campaigns/{campaign}/minute"), "show_minute", Key(Operator), &[], &[POSITION, CAMPAIGN]),
    operation(("post", "/v1/campaigns/{campaign}/claims"), "claim", KeyOrToken(Backend),
        &[(201, &["won"]), (200, &["already_won", "offered"]), (202, &["waitlisted"])],
        &[BODY, POSITION, SUBJECT, COMMAND, CAMPAIGN, ADMITTANCE, CLAIM, TAG, WAITLIST, ELIGIBILITY]),
    operation(("get", "/v1/campaigns/{campaign}/claims/{subject}"), "show_claims", KeyOrToken(Read), &[],
        &[POSITION, SUBJECT, CAMPAIGN, NO_CLAIM]),
    operation(("delete", "/v1/campaigns/{campaign}/claims/{subject}"), "cancel_claim", KeyOrToken(Backend),
        &[(200, &["cancelled"])], &[POSITION, SUBJECT, COMMAND, CAMPAIGN, POOL, NO_CLAIM, CODE_IN_USE]),
    operation(("get", "/v1/campaigns/{campaign}/waitlist"), "list_waitlist", Key(Operator), &[],
        &[POSITION, CAMPAIGN, POOL]),
    operation(("get", "/v1/campaigns/{campaign}/waitlist/{subject}"), "show_place", KeyOrToken(Read), &[],
        &[POSITION, SUBJECT, CAMPAIGN, POOL, NOT_WAITING]),
    operation(("delete", "/v1/campaigns/{campaign}/waitlist/{subject}"), "leave_waitlist", KeyOrToken(Backend),
        &[(200, &["left_waitlist"])], &[POSITION, SUBJECT, COMMAND, CAMPAIGN, POOL]),
    operation(("post", "/v1/campaigns/{campaign}/bars"), "bar_subject", Key(Operator), &[(200, &["bar_set"])],
        &[BODY, POSITION, SUBJECT, COMMAND, CAMPAIGN, ORDER, BARS]),
    operation(("get", "/v1/campaigns/{campaign}/bars"), "list_bars", Key(Operator), &[], &[POSITION, CAMPAIGN]),
    operation(("delete", "/v1/campaigns/{campaign}/bars/{subject}"), "unbar_subject", Key(Operator),
        &[(200, &["bar_lifted"])], &[POSITION, SUBJECT, COMMAND, CAMPAIGN, ORDER]),
    operation(("post", "/v1/campaigns/{campaign}/holds"), "hold", KeyOrToken(Backend),
        &[(201, &["held"]), (200, &["already_held", "confirmed"])],
        &[BODY, POSITION, SUBJECT, COMMAND, CAMPAIGN, POOL, ADMITTANCE, UNITS, TAKEN, HOLDING, NEW_HOLD, EXPIRED,
            RELEASED, REFUND, CODES_CLAIMED, ELIGIBILITY]),
    operation(("get", "/v1/campaigns/{campaign}/holds/{hold}"), "show_hold", KeyOrToken(Read), &[],
        &[POSITION, SUBJECT, CAMPAIGN, HOLD]),
    operation(("post", "/v1/campaigns/{campaign}/holds/{hold}/add"), "add_to_hold", KeyOrToken(Backend), HELD,
        &[BODY, POSITION, SUBJECT, COMMAND, CAMPAIGN, POOL, HOLD, STEP, EXPIRED, RELEASED, CONFIRMED, ADMITTANCE, UNITS,
            TAKEN, HOLDING, OFFER, CODES_CLAIMED, ELIGIBILITY]),
    operation(("post", "/v1/campaigns/{campaign}/holds/{hold}/drop"), "drop_from_hold", KeyOrToken(Backend), HELD,
        &[BODY, POSITION, SUBJECT, COMMAND, CAMPAIGN, POOL, HOLD, STEP, EXPIRED, RELEASED, CONFIRMED, UNITS, OFFER]),
    operation(("post", "/v1/campaigns/{campaign}/holds/{hold}/extend"), "extend_hold", KeyOrToken(Backend),
        &[(200, &["extended"])],
        &[BODY, POSITION, SUBJECT, COMMAND, CAMPAIGN, HOLD, STEP, EXPIRED, RELEASED, CONFIRMED]),
    operation(("post", "/v1/campaigns/{campaign}/holds/{hold}/confirm"), "confirm_hold", Key(Backend),
        &[(200, &["confirmed"])],
        &[BODY, TOKEN, POSITION, SUBJECT, COMMAND, CAMPAIGN, POOL, HOLD, STEP, UNITS, RELEASED, NOT_HELD, EXPIRED,
            REFUND, BARRED]),
    operation(("post", "/v1/campaigns/{campaign}/holds/{hold}/release"), "release_hold", KeyOrToken(Backend),
        &[(200, &["released"])],
        &[BODY, POSITION, SUBJECT, COMMAND, CAMPAIGN, POOL, HOLD, STEP, UNITS, NOT_HELD, EXPIRED, CONFIRMED]),
    operation(("post", "/v1/campaigns/{campaign}/pools/{pool}/seats"), "import_seats", Key(Operator),
        &[(200, &["imported"])], &[BODY, POSITION, COMMAND, CAMPAIGN, ORDER, CLOSED, SEATS]),
    operation(("patch", "/v1/campaigns/{campaign}/pools/{pool}/seats"), "change_seats", Key(Operator),
        &[(200, &["seats_changed"])],
        &[BODY, POSITION, COMMAND, CAMPAIGN, ORDER, CLOSED, CHANGED_SEATS]),
    operation(("get", "/v1/campaigns/{campaign}/pools/{pool}/seats"), "show_seats", Reader, &[],
        &[POSITION, CAMPAIGN, COUNTED]),
    operation(("get", "/v1/campaigns/{campaign}/events"), "follow_seats", ReaderOrTicket, &[], &[POSITION, CAMPAIGN, STREAM]),
    operation(("post", "/v1/campaigns/{campaign}/pools/{pool}/block"), "block_units", Key(Operator),
        &[(200, &["blocked"])], &[BODY, POSITION, COMMAND, CAMPAIGN, ORDER, UNITS, TAKEN]),
    operation(("post", "/v1/campaigns/{campaign}/pools/{pool}/unblock"), "unblock_units", Key(Operator),
        &[(200, &["unblocked"])], &[BODY, POSITION, COMMAND, CAMPAIGN, ORDER, UNITS]),
    operation(("post", "/v1/campaigns/{campaign}/pools/{pool}/move"), "move_seat", Key(Operator),
        &[(200, &["moved"])], &[BODY, POSITION, COMMAND, CAMPAIGN, ORDER, UNITS, TAKEN, NOT_HELD]),
    operation(("post", "/v1/campaigns/{campaign}/codes/reserve"), "reserve_code", KeyOrToken(Redeem),
        &[(201, &["reserved"]), (200, &["already_reserved"])],
        &[BODY, POSITION, SUBJECT, COMMAND, CAMPAIGN, TYPED, CODE, CODE_USER, REDEEMED, STANDING, NEW_USE, REUSED]),
    operation(("post", "/v1/campaigns/{campaign}/codes/redeem"), "redeem_code", Key(Redeem), &[(200, &["redeemed"])],
        &[BODY, POSITION, SUBJECT, COMMAND, CAMPAIGN, TYPED, CODE, CODE_USER, ROLLED_BACK, STANDING, NEW_USE]),
    operation(("post", "/v1/campaigns/{campaign}/codes/roll-back"), "roll_back_code", Key(Redeem),
        &[(200, &["rolled_back"])], &[BODY, POSITION, COMMAND, CAMPAIGN, TYPED, CODE, NOT_REDEEMED]),
    operation(("post", "/v1/campaigns/{campaign}/codes/release"), "release_code", Key(Redeem),
        &[(200, &["reservation_ended"])],
        &[BODY, POSITION, COMMAND, CAMPAIGN, TYPED, CODE, NOT_RESERVED, REDEEMED, ROLLED_BACK]),
    operation(("post", "/v1/campaigns/{campaign}/codes/look-up"), "look_up_codes", Key(Redeem), &[],
        &[BODY, POSITION, SUBJECT, CAMPAIGN, TYPED, CODE, NO_CLAIM]),
    operation(("post", "/v1/campaigns/{campaign}/codes/revoke"), "revoke_codes", Key(Operator),
        &[(200, &["codes_marked"])], &[BODY, POSITION, COMMAND, CAMPAIGN, ORDER, POOL, CODED, IMPORTED, NO_IMPORT]),
    operation(("post", "/v1/campaigns/{campaign}/codes/suspend"), "suspend_codes", Key(Operator),
        &[(200, &["codes_marked"])], &[BODY, POSITION, COMMAND, CAMPAIGN, ORDER, POOL, CODED]),
    operation(("post", "/v1/campaigns/{campaign}/codes/restore"), "restore_codes", Key(Operator),
        &[(200, &["codes_marked"])], &[BODY, POSITION, COMMAND, CAMPAIGN, ORDER, POOL, CODED]),
    operation(("post", "/v1/campaigns/{campaign}/codes/reissue"), "reissue_code", Key(Operator),
        &[(200, &["reissued"])],
        &[BODY, POSITION, SUBJECT, COMMAND, CAMPAIGN, ORDER, POOL, CODED, NO_CLAIM, REISSUE]),
    operation(("post", "/v1/campaigns/{campaign}/codes/imports"), "begin_code_import", Key(Operator),
        &[(200, &["codes_staged", "codes_imported"])], &[BODY, POSITION, CAMPAIGN, POOL, CODED, IMPORTED]),
    operation(("get", "/v1/campaigns/{campaign}/codes/imports"), "list_code_imports", Key(Operator), &[],
        &[POSITION, CAMPAIGN, POOL, CODED, IMPORTED]),
    operation(("post", "/v1/campaigns/{campaign}/codes/imports/{import}/lines"), "import_code_lines", Key(Operator),
        &[(200, &["codes_staged", "codes_imported"])],
        &[BODY, POSITION, COMMAND, CAMPAIGN, POOL, CODED, IMPORTED, IMPORT_LINES]),
    operation(("post", "/v1/campaigns/{campaign}/codes/imports/{import}/commit"), "commit_code_import", Key(Operator),
        &[(200, &["codes_imported"])],
        &[BODY, POSITION, COMMAND, CAMPAIGN, POOL, CODED, IMPORTED, NO_IMPORT, IMPORT_LENGTH]),
    operation(("delete", "/v1/campaigns/{campaign}/codes/imports/{import}"), "discard_code_import", Key(Operator),
        &[(200, &["import_discarded", "codes_imported"])],
        &[POSITION, COMMAND, CAMPAIGN, POOL, CODED, IMPORTED, NO_IMPORT]),
    operation(("post", "/v1/commands"), "execute_commands", Key(Backend), &[], &[LINES, POSITION]),
    operation(("get", "/v1/campaigns/{campaign}/results"), "list_results", Key(Read), &[], &[POSITION, CAMPAIGN, ACCEPT]),
    operation(("get", "/v1/campaigns/{campaign}/winners"), "list_winners", Key(Read), &[], &[POSITION, CAMPAIGN, POOL, ACCEPT]),
    operation(("get", "/v1/subjects/{subject}"), "show_subject", KeyOrToken(Read), &[], &[POSITION, SUBJECT]),
    operation(("post", "/v1/tokens"), "mint_token", Key(Backend), &[(201, &["minted"])], &[BODY, SUBJECT]),
    operation(("post", "/v1/tickets"), "mint_ticket", Token, &[(201, &["minted"])], &[]),
    operation(("get", "/v1/key"), "show_key", Key(Read), &[], &[]),
    operation(("get", "/v1/time"), "show_time", Key(Read), &[], &[POSITION]),
    operation(("get", "/v1/nodes"), "list_nodes", Key(Read), &[], &[POSITION]),
    operation(("post", "/v1/reseed"), "reseed", Key(Admin), &[], &[RESEED]),
    operation(("post", "/v1/level"), "raise_level", Key(Admin), &[(200, &["raised"])], &[COMMAND, RAISE]),
    operation(("get", "/v1/forks"), "list_forks", Key(Read), &[], &[POSITION, READ_IN_STORE]),
    operation(("get", "/v1/audit"), "audit", Key(Read), &[], &[POSITION]),
    operation(("get", "/v1/settling"), "show_settling", Key(Read), &[], &[POSITION]),
    operation(("get", "/livez"), "live", Anybody, &[], &[]),
    operation(("get", "/readyz"), "ready", AnybodyOrKey(Read), &[], &[]),
    operation(("get", "/metrics"), "metrics", Key(Read), &[], &[]),
    operation(("get", "/openapi.json"), "openapi", Anybody, &[], &[EVERYBODY]),
];

/// Completes the operations of a description.
pub(super) fn add(document: &mut Value) {
    for operation in OPERATIONS {
        if let Some(described) = document["paths"][operation.path].get_mut(operation.method) {
            operation.complete(described);
        }
    }
}

impl Operation {
    fn complete(&self, described: &mut Value) {
        described["operationId"] = json!(self.id);
        described["security"] = self.asker.security();
        let summary = described["summary"].clone();
        let responses = described.get_mut("responses").and_then(Value::as_object_mut);
        for response in responses.into_iter().flat_map(Map::values_mut) {
            if response.get("description").is_none_or(|known| known == "") {
                response["description"] = summary.clone();
            }
        }
        let takes_position = self.refusals.iter().any(|group| group.contains(&Code::StalePosition));
        complete_parameters(described, takes_position);
        let content = described.pointer_mut("/requestBody/content").and_then(Value::as_object_mut);
        for media in content.into_iter().flat_map(Map::values_mut) {
            // A body that may be left out is not null when it is there.
            let parts = media.pointer("/schema/oneOf").and_then(Value::as_array);
            let body = parts.and_then(|parts| parts.iter().find(|part| part["type"] != "null"));
            if let Some(body) = body.cloned() {
                media["schema"] = body;
            }
        }
        for (status, outcomes) in self.yes {
            described["responses"][status.to_string()]["x-outcomes"] = json!(outcomes);
        }
        for (status, codes) in self.refusals_by_status() {
            let response = &mut described["responses"][status.to_string()];
            if response.is_null() {
                *response = json!({});
            }
            refused(response, &codes);
        }
    }

    fn refusals_by_status(&self) -> BTreeMap<u16, Vec<Code>> {
        let asker: &[AnswerGroup] = match self.asker {
            Asker::Anybody | Asker::AnybodyOrKey(_) => &[],
            Asker::Key(_) => &[READ, KEY],
            Asker::KeyOrToken(_) | Asker::Token | Asker::Reader | Asker::ReaderOrTicket => {
                &[READ, KEY, TOKEN]
            }
        };
        let mut by_status: BTreeMap<u16, Vec<Code>> = BTreeMap::new();
        let groups = self.refusals.iter().chain(asker).chain([&CONNECTION]);
        for code in groups.copied().flatten() {
            let codes = by_status.entry(code.row().status.as_u16()).or_default();
            if !codes.iter().any(|known| known.row().outcome == code.row().outcome) {
                codes.push(*code);
            }
        }
        by_status
    }
}

impl Asker {
    fn security(self) -> Value {
        match self {
            Self::Anybody => json!([]),
            Self::AnybodyOrKey(role) => json!([{}, {"key": [role.as_str()]}]),
            Self::Key(role) => json!([{"key": [role.as_str()]}]),
            Self::Token => json!([{"subject_token": []}]),
            Self::Reader => json!([{"key": [Read.as_str()]}, {"subject_token": []}, {}]),
            Self::ReaderOrTicket => {
                json!([{"key": [Read.as_str()]}, {"subject_token": []}, {"ticket": []}, {}])
            }
            Self::KeyOrToken(role) => json!([{"key": [role.as_str()]}, {"subject_token": []}]),
        }
    }
}

/// Says of a response which refusals it can be.
fn refused(response: &mut Value, codes: &[Code]) {
    let mut lines: Vec<String> =
        response["description"].as_str().map(str::to_owned).into_iter().collect();
    let said = |code: &Code| format!("`{}`: {}", code.row().outcome, code.row().title);
    lines.extend(codes.iter().map(said));
    response["description"] = json!(lines.join("\n\n"));
    response["content"][MEDIA_TYPE]["schema"] = json!({"$ref": "#/components/schemas/Problem"});
    response["x-outcomes"] = codes.iter().map(|code| code.row().outcome).collect();
    let mut headers = Map::new();
    if codes.iter().any(|code| code.row().retry_after.is_some()) {
        let description = "Seconds after which to try again";
        let schema = json!({"type": "integer", "minimum": 1});
        headers.insert("Retry-After".into(), json!({"description": description, "schema": schema}));
    }
    if codes.contains(&Code::Unauthorized) {
        let description = "`Bearer`";
        let schema = json!({"type": "string"});
        headers.insert(
            "WWW-Authenticate".into(),
            json!({"description": description, "schema": schema}),
        );
    }
    if !headers.is_empty() {
        response["headers"] = Value::Object(headers);
    }
}

/// Describes parameters that are the same wherever they stand.
fn complete_parameters(described: &mut Value, takes_position: bool) {
    if described.get("parameters").is_none() && takes_position {
        described["parameters"] = json!([]);
    }
    let parameters = described.get_mut("parameters").and_then(Value::as_array_mut);
    let Some(parameters) = parameters else { return };
    if takes_position && !parameters.iter().any(|known| known["name"] == "min_position") {
        parameters.push(json!({"in": "query", "name": "min_position", "required": false}));
    }
    for parameter in parameters {
        // What is left out is not null.
        if let Some(kind) = parameter.pointer_mut("/schema/type") {
            let mut kinds = kind.as_array().into_iter().flatten();
            if let Some(known) = kinds.find(|kind| *kind != "null").cloned() {
                *kind = known;
            }
        }
        let name = parameter["name"].as_str().unwrap_or_default();
        let Some((description, schema)) = known_parameter(name) else { continue };
        parameter["schema"] = schema;
        if parameter.get("description").is_none() {
            parameter["description"] = json!(description);
        }
    }
}

fn known_parameter(name: &str) -> Option<(&'static str, Value)> {
    let name_schema = json!({"type": "string", "pattern": "^[a-z0-9][a-z0-9_-]{0,63}$"});
    let bytes = |most: usize| json!({"type": "string", "minLength": 1, "maxLength": most});
    Some(match name {
        "campaign" => ("The campaign's name", name_schema),
        "pool" => ("The pool's name", name_schema),
        "hold" => ("The hold's id: 1 to 64 bytes", bytes(64)),
        "subject" => {
            ("Whom it is about: 1 to 255 bytes of UTF-8 without control characters", bytes(255))
        }
        "import" => ("The import's id", bytes(64)),
        "Idempotency-Key" => {
            ("The command's own id, 1 to 64 bytes: the same id gives the same answer", bytes(64))
        }
        "min_position" => {
            let schema = json!({"type": "string", "pattern": "^([0-9]+:)?[0-9]+\\.[0-9]+$"});
            ("Answer at or past this position", schema)
        }
        _ => return None,
    })
}
