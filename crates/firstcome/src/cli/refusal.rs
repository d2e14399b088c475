//! What the server's refusals are called in a terminal: in the words of what was typed, with advice.

use serde_json::Value;

use super::complaint::{Complaint, Exit};
use super::connect::key;
use firstcome_client::{Failure, Problem};

impl From<Problem> for Complaint {
    fn from(problem: Problem) -> Self {
        let complaint = Self::new(exit(&problem), sentence(&problem));
        let complaint = match advice(&problem) {
            Some(hint) => complaint.hint(hint),
            None => complaint,
        };
        complaint.document(problem.raw)
    }
}

impl From<Failure> for Complaint {
    fn from(failure: Failure) -> Self {
        let exit = if failure.may_have_happened() { Exit::Unknown } else { Exit::Unchanged };
        let said = failure.problem();
        let otherwise = if exit == Exit::Unknown {
            "run the same command again: with the same names (and --id, if it has one) it does not happen twice"
        } else if said.is_some() {
            "try again in a moment"
        } else if failure.reason().starts_with("TLS: ") {
            "name the PEM file of the authority that signed the server's certificate with SSL_CERT_FILE"
        } else {
            "start a server with `firstcome serve`, or name one with --url or FIRSTCOME_URL"
        };
        let hint = said.and_then(advice).unwrap_or_else(|| otherwise.to_owned());
        let complaint = Self::new(exit, failure.to_string()).hint(hint);
        match said {
            Some(problem) => complaint.document(problem.raw.clone()),
            None => complaint,
        }
    }
}

/// The exit code: an argument that no server would take is a matter of the command line.
fn exit(problem: &Problem) -> Exit {
    match &*problem.outcome {
        "invalid_request" | "invalid_subject" | "invalid_settings" => Exit::Usage,
        _ => Exit::Refused,
    }
}

/// One sentence that begins with the outcome, for scripts that read it, and names the units it is about.
fn sentence(problem: &Problem) -> String {
    let units = units(&problem.raw);
    let detail = match (&*problem.outcome, units.as_str()) {
        ("unauthorized", _) => key::refused().to_owned(),
        (_, "") => return problem.sentence(),
        ("unit_taken", units) => format!("somebody has {units}"),
        ("no_such_unit", units) => format!("there is no seat, area or group called {units}"),
        ("not_for_sale", units) => format!("not for sale: {units}"),
        ("orphan_left", units) => format!("a single free seat would be left: {units}"),
        ("not_held", units) => format!("this hold does not have {units}"),
        (_, units) => format!("{} ({units})", problem.detail),
    };
    format!("{}: {detail}", problem.outcome)
}

/// The names of the units that a refusal is about, each with its pool where they are of several.
fn units(raw: &Value) -> String {
    let all = raw["units"].as_array().map(Vec::as_slice).unwrap_or_default();
    let text = |unit: &Value, name: &str| unit[name].as_str().unwrap_or_default().to_owned();
    let several = all.iter().any(|unit| unit["pool"] != all[0]["pool"]);
    let name = |unit: &Value| match several {
        true => format!("{} of {}", text(unit, "unit"), text(unit, "pool")),
        false => text(unit, "unit"),
    };
    all.iter().map(name).collect::<Vec<_>>().join(", ")
}

/// The advice that goes with a refusal, where there is some.
fn advice(problem: &Problem) -> Option<String> {
    let hint = match &*problem.outcome {
        "not_found" => "`firstcome campaign list` shows all campaigns",
        "pool_required" => "name the pool with --pool; `firstcome campaign show` lists them",
        "already_cancelled" => {
            "this campaign does not allow a new claim after a cancel (--claim-again at its creation does)"
        }
        "barred" => "`firstcome unbar` removes the bar; `firstcome bars` lists all bars",
        "has_results" => "`firstcome campaign close` and `firstcome campaign archive` end it",
        "level_too_low" => {
            "`firstcome nodes raise-level` raises the space permanently: make a backup first"
        }
        "space_moved" => "name a server on the new store with --url",
        "not_open" => "`firstcome campaign show` shows the opening time",
        "paused" => "`firstcome campaign resume` allows claims again",
        "not_closed" => "close it first: `firstcome campaign close`",
        "unsettled" => {
            "not all of its results are in the ledger yet: try again in a moment, or drop them with --drop-unsettled"
        }
        "version_mismatch" => {
            "it was changed meanwhile, or it exists already: read it with `firstcome campaign show`, then use `campaign change`"
        }
        "not_changeable" => "this setting cannot change after the opening",
        "id_reused" => {
            "the same --id was used for something else within a day: choose another, or leave it out"
        }
        "unit_taken" | "no_such_unit" | "not_for_sale" => {
            "`firstcome seats show` draws what is free"
        }
        "has_hold" => {
            "`firstcome hold show` shows it, `firstcome hold add` adds units, `firstcome hold release` releases it"
        }
        "hold_required" => "first reserve units of a seated pool with `firstcome hold take`",
        "hold_expired" => {
            "take another one with another --id; `firstcome hold confirm --late retake` tries the same units again"
        }
        "orphan_left" => {
            "also take the seat next to it, or take other seats: `firstcome seats show` draws them"
        }
        "refund_due" => "give the money back; a repeated command gets the same answer",
        "malformed" => "a typing error: compare it with the code as it was issued",
        "not_coded" => "`firstcome campaign show` lists the pools",
        "no_code_key" => "the operator adds a key under code_keys in the settings of the server",
        "claim_required" => "codes are claimed with `firstcome claim`, not held",
        "subject_required" => "name who uses it with --subject",
        "code_suspended" => "`firstcome codes restore` lets it count again",
        "code_used"
        | "code_reserved"
        | "already_redeemed"
        | "already_rolled_back"
        | "reused_since" => "`firstcome codes look-up` shows what was done with it",
        "code_in_use" => "`firstcome codes revoke` ends a code that is used or reserved",
        "import_open" => {
            "`firstcome codes imports` shows it; finish it with its file, or give it up with `codes discard`"
        }
        "reissued_since" => "`firstcome codes look-up` shows the number of the present code",
        "unauthorized" => return Some(key::advice()),
        // A server without a secret for tokens, or a token in place of a key: another key would not help.
        "forbidden" if problem.detail.starts_with("key ") => {
            "set FIRSTCOME_KEY to a key with another role or other campaigns"
        }
        "nothing_lost" => "there is nothing to write: `firstcome nodes` shows the servers",
        // Asking again does not help where the sentence names another cure.
        "store_full" | "unavailable" if problem.sentence().contains("`firstcome ") => {
            "nothing changed; a retry does not help until an operator has done that"
        }
        "busy" | "outbox_full" | "store_full" | "unavailable" => {
            "nothing changed: try again in a moment"
        }
        _ => return None,
    };
    Some(hint.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn problem(text: &str) -> Problem {
        Problem::read(409, text.as_bytes()).unwrap()
    }

    #[test]
    fn units_are_named() {
        let taken = r#"{"outcome":"unit_taken","detail":"x","units":[{"pool":"main","unit":"A1"},{"pool":"main","unit":"A2"}]}"#;
        assert_eq!(sentence(&problem(taken)), "unit_taken: somebody has A1, A2");
        let two = r#"{"outcome":"orphan_left","detail":"x","units":[{"pool":"l","unit":"A1"},{"pool":"r","unit":"A1"}]}"#;
        let said = sentence(&problem(two));
        assert_eq!(said, "orphan_left: a single free seat would be left: A1 of l, A1 of r");
        let plain = r#"{"outcome":"sold_out","detail":"No unit is left"}"#;
        assert_eq!(sentence(&problem(plain)), "sold_out: No unit is left");
    }

    #[test]
    fn another_key_is_advised_only_where_one_would_help() {
        let role = r#"{"outcome":"forbidden","detail":"key \"shop\" has the role read, this needs operator"}"#;
        assert!(advice(&problem(role)).unwrap().contains("FIRSTCOME_KEY"));
        let secret =
            r#"{"outcome":"forbidden","detail":"this server has no secret to sign tokens with"}"#;
        assert_eq!(advice(&problem(secret)), None);
    }
}
