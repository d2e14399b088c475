//! Every operation: who may ask for it, and what it can be answered with, a yes or a refusal. Its method, path, own
//! parameters and bodies stand at its handler.

use super::refusals::*;
use crate::answer::Code;
use firstcome_api::key::Role;
use firstcome_api::problem::MEDIA_TYPE;
use firstcome_core::Refusal;
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;

/// Who may ask.
#[derive(Clone, Copy)]
enum Asker {
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
    /// Its `operationId`, which generators make names from: it never changes.
    id: &'static str,
    asker: Asker,
    /// The outcomes of a yes, by status; where none are named, a yes is an answer without an outcome, with status 200.
    yes: &'static [(u16, &'static [&'static str])],
    refusals: &'static [AnswerGroup],
}

const fn operation(
    id: &'static str,
    asker: Asker,
    yes: &'static [(u16, &'static [&'static str])],
    refusals: &'static [AnswerGroup],
) -> Operation {
    Operation { id, asker, yes, refusals }
}

use Asker::{Anybody, AnybodyOrKey, Key, KeyOrToken, Reader, ReaderOrTicket, Token};
use Role::{Admin, Backend, Operator, Read, Redeem};

const STEERED: &[(u16, &[&str])] = &[(200, &["changed", "unchanged"])];
const HELD: &[(u16, &[&str])] = &[(201, &["held"]), (200, &["already_held"])];

#[rustfmt::skip]
const OPERATIONS: &[Operation] = &[
    operation("list_campaigns", Key(Read), &[], &[POSITION]),
    operation("put_campaign", Key(Operator), &[(201, &["created"]), (200, &["changed", "unchanged"])],
        &[BODY, POSITION, COMMAND, CAMPAIGN, ORDER, SETTINGS, CLOSED, SEATS, NO_CODE_KEY]),
    operation("delete_campaign", Key(Operator), &[(200, &["deleted"])], &[POSITION, COMMAND, CAMPAIGN, ORDER, DELETE]),
    operation("show_campaign", Reader, &[], &[POSITION, CAMPAIGN]),
    operation("pause_campaign", Key(Operator), STEERED, &[POSITION, COMMAND, CAMPAIGN, ORDER, CLOSED]),
    operation("resume_campaign", Key(Operator), STEERED, &[POSITION, COMMAND, CAMPAIGN, ORDER, CLOSED]),
    operation("close_campaign", Key(Operator), STEERED, &[POSITION, COMMAND, CAMPAIGN, ORDER, CLOSED]),
    operation("archive_campaign", Key(Operator), STEERED,
        &[BODY, POSITION, COMMAND, CAMPAIGN, ORDER, ARCHIVE, CODES_VALID]),
    operation("list_acts", Key(Operator), &[], &[POSITION, CAMPAIGN]),
    operation("show_minute", Key(Operator), &[], &[POSITION, CAMPAIGN]),
    operation("claim", KeyOrToken(Backend), &[(201, &["won"]), (200, &["already_won", "offered"]), (202, &["waitlisted"])],
        &[BODY, POSITION, SUBJECT, COMMAND, CAMPAIGN, ADMITTANCE, CLAIM, TAG, WAITLIST, ELIGIBILITY]),
    operation("show_claims", KeyOrToken(Read), &[], &[POSITION, SUBJECT, CAMPAIGN, NO_CLAIM]),
    operation("cancel_claim", KeyOrToken(Backend), &[(200, &["cancelled"])],
        &[POSITION, SUBJECT, COMMAND, CAMPAIGN, POOL, NO_CLAIM, CODE_IN_USE]),
    operation("list_waitlist", Key(Operator), &[], &[POSITION, CAMPAIGN, POOL]),
    operation("show_place", KeyOrToken(Read), &[], &[POSITION, SUBJECT, CAMPAIGN, POOL, NOT_WAITING]),
    operation("leave_waitlist", KeyOrToken(Backend), &[(200, &["left_waitlist"])],
        &[POSITION, SUBJECT, COMMAND, CAMPAIGN, POOL]),
    operation("bar_subject", Key(Operator), &[(200, &["bar_set"])],
        &[BODY, POSITION, SUBJECT, COMMAND, CAMPAIGN, ORDER, BARS]),
    operation("list_bars", Key(Operator), &[], &[POSITION, CAMPAIGN]),
    operation("unbar_subject", Key(Operator), &[(200, &["bar_lifted"])],
        &[POSITION, SUBJECT, COMMAND, CAMPAIGN, ORDER]),
    operation("hold", KeyOrToken(Backend), &[(201, &["held"]), (200, &["already_held", "confirmed"])],
        &[BODY, POSITION, SUBJECT, COMMAND, CAMPAIGN, POOL, ADMITTANCE, UNITS, TAKEN, HOLDING, NEW_HOLD, EXPIRED,
            RELEASED, REFUND, CODES_CLAIMED, ELIGIBILITY]),
    operation("show_hold", KeyOrToken(Read), &[], &[POSITION, SUBJECT, CAMPAIGN, HOLD]),
    operation("add_to_hold", KeyOrToken(Backend), HELD,
        &[BODY, POSITION, SUBJECT, COMMAND, CAMPAIGN, POOL, HOLD, STEP, EXPIRED, RELEASED, CONFIRMED, ADMITTANCE, UNITS,
            TAKEN, HOLDING, OFFER, CODES_CLAIMED, ELIGIBILITY]),
    operation("drop_from_hold", KeyOrToken(Backend), HELD,
        &[BODY, POSITION, SUBJECT, COMMAND, CAMPAIGN, POOL, HOLD, STEP, EXPIRED, RELEASED, CONFIRMED, UNITS, OFFER]),
    operation("extend_hold", KeyOrToken(Backend), &[(200, &["extended"])],
        &[BODY, POSITION, SUBJECT, COMMAND, CAMPAIGN, HOLD, STEP, EXPIRED, RELEASED, CONFIRMED]),
    operation("confirm_hold", Key(Backend), &[(200, &["confirmed"])],
        &[BODY, TOKEN, POSITION, SUBJECT, COMMAND, CAMPAIGN, POOL, HOLD, STEP, UNITS, RELEASED, NOT_HELD, EXPIRED,
            REFUND, BARRED]),
    operation("release_hold", KeyOrToken(Backend), &[(200, &["released"])],
        &[BODY, POSITION, SUBJECT, COMMAND, CAMPAIGN, POOL, HOLD, STEP, UNITS, NOT_HELD, EXPIRED, CONFIRMED]),
    operation("import_seats", Key(Operator), &[(200, &["imported"])],
        &[BODY, POSITION, COMMAND, CAMPAIGN, ORDER, CLOSED, SEATS]),
    operation("change_seats", Key(Operator), &[(200, &["seats_changed"])],
        &[BODY, POSITION, COMMAND, CAMPAIGN, ORDER, CLOSED, CHANGED_SEATS]),
    operation("show_seats", Reader, &[], &[POSITION, CAMPAIGN, COUNTED]),
    operation("follow_seats", ReaderOrTicket, &[], &[POSITION, CAMPAIGN, STREAM]),
    operation("block_units", Key(Operator), &[(200, &["blocked"])],
        &[BODY, POSITION, COMMAND, CAMPAIGN, ORDER, UNITS, TAKEN]),
    operation("unblock_units", Key(Operator), &[(200, &["unblocked"])],
        &[BODY, POSITION, COMMAND, CAMPAIGN, ORDER, UNITS]),
    operation("move_seat", Key(Operator), &[(200, &["moved"])],
        &[BODY, POSITION, COMMAND, CAMPAIGN, ORDER, UNITS, TAKEN, NOT_HELD]),
    operation("reserve_code", KeyOrToken(Redeem), &[(201, &["reserved"]), (200, &["already_reserved"])],
        &[BODY, POSITION, SUBJECT, COMMAND, CAMPAIGN, TYPED, CODE, CODE_USER, REDEEMED, STANDING, NEW_USE, REUSED]),
    operation("redeem_code", Key(Redeem), &[(200, &["redeemed"])],
        &[BODY, POSITION, SUBJECT, COMMAND, CAMPAIGN, TYPED, CODE, CODE_USER, ROLLED_BACK, STANDING, NEW_USE]),
    operation("roll_back_code", Key(Redeem), &[(200, &["rolled_back"])],
        &[BODY, POSITION, COMMAND, CAMPAIGN, TYPED, CODE, NOT_REDEEMED]),
    operation("release_code", Key(Redeem), &[(200, &["reservation_ended"])],
        &[BODY, POSITION, COMMAND, CAMPAIGN, TYPED, CODE, NOT_RESERVED, REDEEMED, ROLLED_BACK]),
    operation("look_up_codes", Key(Redeem), &[], &[BODY, POSITION, SUBJECT, CAMPAIGN, TYPED, CODE, NO_CLAIM]),
    operation("revoke_codes", Key(Operator), &[(200, &["codes_marked"])],
        &[BODY, POSITION, COMMAND, CAMPAIGN, ORDER, POOL, CODED, IMPORTED, NO_IMPORT]),
    operation("suspend_codes", Key(Operator), &[(200, &["codes_marked"])],
        &[BODY, POSITION, COMMAND, CAMPAIGN, ORDER, POOL, CODED]),
    operation("restore_codes", Key(Operator), &[(200, &["codes_marked"])],
        &[BODY, POSITION, COMMAND, CAMPAIGN, ORDER, POOL, CODED]),
    operation("reissue_code", Key(Operator), &[(200, &["reissued"])],
        &[BODY, POSITION, SUBJECT, COMMAND, CAMPAIGN, ORDER, POOL, CODED, NO_CLAIM, REISSUE]),
    operation("begin_code_import", Key(Operator), &[(200, &["codes_staged", "codes_imported"])],
        &[BODY, POSITION, CAMPAIGN, POOL, CODED, IMPORTED]),
    operation("list_code_imports", Key(Operator), &[], &[POSITION, CAMPAIGN, POOL, CODED, IMPORTED]),
    operation("import_code_lines", Key(Operator), &[(200, &["codes_staged", "codes_imported"])],
        &[BODY, POSITION, COMMAND, CAMPAIGN, POOL, CODED, IMPORTED, IMPORT_LINES]),
    operation("commit_code_import", Key(Operator), &[(200, &["codes_imported"])],
        &[BODY, POSITION, COMMAND, CAMPAIGN, POOL, CODED, IMPORTED, NO_IMPORT, IMPORT_LENGTH]),
    operation("discard_code_import", Key(Operator), &[(200, &["import_discarded", "codes_imported"])],
        &[POSITION, COMMAND, CAMPAIGN, POOL, CODED, IMPORTED, NO_IMPORT]),
    operation("execute_commands", Key(Backend), &[], &[LINES, POSITION]),
    operation("list_results", Key(Read), &[], &[POSITION, CAMPAIGN, ACCEPT]),
    operation("list_winners", Key(Read), &[], &[POSITION, CAMPAIGN, POOL, ACCEPT]),
    operation("show_subject", KeyOrToken(Read), &[], &[POSITION, SUBJECT]),
    operation("mint_token", Key(Backend), &[(201, &["minted"])], &[BODY, SUBJECT]),
    operation("mint_ticket", Token, &[(201, &["minted"])], &[]),
    operation("show_key", Key(Read), &[], &[]),
    operation("show_time", Key(Read), &[], &[POSITION]),
    operation("list_nodes", Key(Read), &[], &[POSITION]),
    operation("reseed", Key(Admin), &[(202, &[])], &[RESEED]),
    operation("raise_level", Key(Admin), &[(200, &["raised"])], &[COMMAND, RAISE]),
    operation("list_forks", Key(Read), &[], &[POSITION, READ_IN_STORE]),
    operation("list_webhooks", Key(Admin), &[], &[WEBHOOKS]),
    operation("add_webhook", Key(Admin), &[(201, &[])], &[BODY, WEBHOOKS, NEW_WEBHOOK, ORDER]),
    operation("show_webhook", Key(Admin), &[], &[WEBHOOK]),
    operation("remove_webhook", Key(Admin), &[], &[WEBHOOK]),
    operation("rotate_webhook_secret", Key(Admin), &[], &[WEBHOOK]),
    operation("disable_webhook", Key(Admin), &[], &[WEBHOOK]),
    operation("enable_webhook", Key(Admin), &[], &[WEBHOOK]),
    operation("test_webhook", Key(Admin), &[], &[WEBHOOK]),
    operation("list_parked_results", Key(Admin), &[], &[WEBHOOK]),
    operation("resend_results", Key(Admin), &[], &[BODY, WEBHOOK]),
    operation("audit", Key(Read), &[], &[POSITION]),
    operation("show_settling", Key(Read), &[], &[POSITION]),
    operation("live", Anybody, &[], &[]),
    operation("ready", AnybodyOrKey(Read), &[], &[]),
    operation("metrics", Key(Read), &[], &[]),
    operation("openapi", Anybody, &[], &[EVERYBODY]),
];

/// Completes the operations of a description.
pub(super) fn add(document: &mut Value) {
    let mut rows: BTreeMap<_, _> = OPERATIONS.iter().map(|row| (row.id, row)).collect();
    for (path, item) in document["paths"].as_object_mut().into_iter().flatten() {
        for described in item.as_object_mut().into_iter().flat_map(Map::values_mut) {
            let row = described["operationId"].as_str().and_then(|id| rows.remove(id));
            row.expect("each operation has a row of its own").complete(path, described);
        }
    }
    assert!(rows.is_empty(), "no handler has these: {:?}", rows.into_keys());
}

impl Operation {
    fn complete(&self, path: &str, described: &mut Value) {
        described["security"] = self.asker.security();
        self.complete_parameters(path, described);
        let content = described.pointer_mut("/requestBody/content").and_then(Value::as_object_mut);
        for media in content.into_iter().flat_map(Map::values_mut) {
            // A body that may be left out is not null when it is there.
            let parts = media.pointer("/schema/oneOf").and_then(Value::as_array);
            let body = parts.and_then(|parts| parts.iter().find(|part| part["type"] != "null"));
            if let Some(body) = body.cloned() {
                media["schema"] = body;
            }
        }
        self.complete_yes(described);
        for (status, codes) in self.refusals_by_status() {
            let response = &mut described["responses"][status.to_string()];
            if response.is_null() {
                *response = json!({});
            }
            refused(response, &codes);
        }
    }

    /// Describes the statuses of a yes; what the handler says of `2XX` is of each of them.
    fn complete_yes(&self, described: &mut Value) {
        let summary = described["summary"].clone();
        let Some(responses) = described["responses"].as_object_mut() else { return };
        let of_each = responses.remove("2XX");
        let yes = if self.yes.is_empty() { &[(200, &[][..])] } else { self.yes };
        for (status, outcomes) in yes {
            let response = responses.entry(status.to_string());
            let response = response.or_insert_with(|| of_each.clone().unwrap_or_default());
            if response.get("description").is_none_or(|known| known == "") {
                let said = json!(outcomes.join(", "));
                response["description"] = if outcomes.is_empty() { summary.clone() } else { said };
            }
            if !outcomes.is_empty() {
                response["x-outcomes"] = json!(outcomes);
            }
        }
    }

    /// Adds the parameters that follow from the path and from the refusals, and describes those that are the same wherever
    /// they stand.
    fn complete_parameters(&self, path: &str, described: &mut Value) {
        let can_be = |code| self.refusals.iter().any(|group| group.contains(&code));
        let in_path = path.split(['{', '}']).skip(1).step_by(2);
        let in_path = in_path.map(|name| json!({"in": "path", "name": name, "required": true}));
        let mut parameters: Vec<Value> = in_path.collect();
        parameters.extend(described["parameters"].as_array().into_iter().flatten().cloned());
        // An operator's command has an id of its own.
        if matches!(self.asker, Key(Operator | Admin)) && can_be(Code::Refused(Refusal::IdReused)) {
            let id = json!({"in": "header", "name": "Idempotency-Key", "required": false});
            parameters.push(id);
        }
        if can_be(Code::StalePosition) {
            parameters.push(json!({"in": "query", "name": "min_position", "required": false}));
        }
        parameters.iter_mut().for_each(complete_parameter);
        if let Some(described) = described.as_object_mut()
            && !parameters.is_empty()
        {
            described.insert("parameters".into(), parameters.into());
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

fn complete_parameter(parameter: &mut Value) {
    // What is left out is not null.
    if let Some(kind) = parameter.pointer_mut("/schema/type") {
        let mut kinds = kind.as_array().into_iter().flatten();
        if let Some(known) = kinds.find(|kind| *kind != "null").cloned() {
            *kind = known;
        }
    }
    let name = parameter["name"].as_str().unwrap_or_default();
    let Some((description, schema)) = known_parameter(name) else { return };
    parameter["schema"] = schema;
    if parameter.get("description").is_none() {
        parameter["description"] = json!(description);
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
        "webhook" => ("The id of the webhook", bytes(64)),
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
