//! The proofs: each a sentence, and whether it holds. Here are those that every demonstration has.

use serde_json::{Value, json};

/// One thing that was promised, and whether it holds.
#[derive(Debug, Clone)]
pub struct Proof {
    /// A stable name for machines.
    pub name: &'static str,
    /// The sentence, with its numbers.
    pub words: String,
    /// Whether it holds.
    pub kept: bool,
    /// What speaks against it.
    pub evidence: Option<String>,
}

impl Proof {
    /// Gives it as JSON.
    pub fn json(&self) -> Value {
        json!({"name": self.name, "kept": self.kept, "words": self.words, "evidence": self.evidence})
    }
}

impl Proof {
    /// A proof that holds unless something speaks against it.
    pub(super) fn new(name: &'static str, words: String, evidence: Option<String>) -> Self {
        Self { name, words, kept: evidence.is_none(), evidence }
    }
}

/// The state recomputed from the journal is the state of the server, by `audit`.
pub(crate) fn same_digest(audit: &Value) -> Proof {
    let digest = |field: &str| audit[field].as_str();
    let (live, recomputed) = (digest("digest_live"), digest("digest_recomputed"));
    let differs = differences(audit).find(|difference| !is_of_ledger(difference));
    let unexplained = audit["ok"] != true && differences(audit).next().is_none();
    let evidence = if let Some(difference) = differs {
        Some(detail(difference))
    } else if unexplained {
        Some("audit says that something differs".to_owned())
    } else {
        let same = live.is_some() && live == recomputed;
        (!same).then(|| format!("the server says {}", live.unwrap_or("nothing")))
    };
    let shown = recomputed.unwrap_or("none");
    let words = format!("state recomputed from the journal has the same digest: {shown}");
    Proof::new("digest", words, evidence)
}

/// Says whether the ledger had every result when the audit looked.
pub(crate) fn has_whole_ledger(audit: &Value) -> bool {
    audit["ledger_through"] == audit["last_result"]
}

/// The ledger has the results of the journal and no others, by `audit`.
pub(crate) fn equal_ledger(audit: &Value) -> Proof {
    let (through, last) = (audit["ledger_through"].as_u64(), audit["last_result"].as_u64());
    let kept = audit["ledger_equal"] == true && has_whole_ledger(audit);
    let words = match last {
        Some(last) => format!("the ledger has exactly these results: {last}"),
        None => "the ledger has exactly these results".to_owned(),
    };
    let evidence = (!kept).then(|| match (differences(audit).find(is_of_ledger), through, last) {
        (Some(difference), _, _) => detail(difference),
        (None, Some(through), Some(last)) if through != last => {
            format!("it has {through} of {last}")
        }
        (None, _, _) => "audit says they differ".to_owned(),
    });
    Proof::new("ledger", words, evidence)
}

fn differences(audit: &Value) -> impl Iterator<Item = &Value> {
    audit["differences"].as_array().into_iter().flatten()
}

/// Whether the ledger differs, and not the state.
fn is_of_ledger(difference: &&Value) -> bool {
    difference["what"] == "results" || difference["what"] == "claims"
}

fn detail(difference: &Value) -> String {
    difference["detail"].as_str().map_or_else(|| difference.to_string(), str::to_owned)
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// What `audit` says when nothing differs.
    pub(in crate::demo) fn honest_audit() -> Value {
        json!({
            "ok": true, "digest_recomputed": "00c0ffee", "digest_live": "00c0ffee", "ledger_equal": true,
            "ledger_through": 4, "last_result": 4, "differences": [],
        })
    }

    /// Doctors an honest audit, and gives the names of the proofs that do not hold.
    fn broken(doctor: &dyn Fn(&mut Value)) -> Vec<&'static str> {
        let mut audit = honest_audit();
        doctor(&mut audit);
        let proofs = [same_digest(&audit), equal_ledger(&audit)];
        assert!(proofs.iter().all(|proof| proof.kept == proof.evidence.is_none()), "{proofs:?}");
        proofs.iter().filter(|proof| !proof.kept).map(|proof| proof.name).collect()
    }

    fn difference(audit: &mut Value, what: &str) {
        audit["ok"] = false.into();
        audit["differences"] = json!([{"what": what, "detail": "it is not as the journal says"}]);
    }

    #[test]
    fn an_audit_that_differs_breaks_the_proof_of_what_differs() {
        assert_eq!(broken(&|_| {}), [""; 0]);
        assert_eq!(broken(&|audit| audit["digest_live"] = "0".into()), ["digest"]);
        assert_eq!(broken(&|audit| audit["digest_live"] = Value::Null), ["digest"]);
        assert_eq!(broken(&|audit| audit["ok"] = false.into()), ["digest"]);
        assert_eq!(broken(&|audit| difference(audit, "journal")), ["digest"]);
        assert_eq!(broken(&|audit| difference(audit, "mark")), ["digest"]);
        assert_eq!(broken(&|audit| audit["ledger_equal"] = Value::Null), ["ledger"]);
        assert_eq!(broken(&|audit| audit["ledger_through"] = 3.into()), ["ledger"]);
        let ledger = |audit: &mut Value| {
            audit["ledger_equal"] = false.into();
            difference(audit, "results");
        };
        assert_eq!(broken(&ledger), ["ledger"]);
        assert_eq!(broken(&|audit| *audit = json!({})), ["digest", "ledger"]);
    }
}
