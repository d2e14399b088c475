//! The proofs: each a sentence, and whether it holds.

use serde_json::{Value, json};

use crate::rush::{Kind, Report};

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

/// Holds the answers, the results and the audit against what was promised.
pub(super) fn all(report: &Report, audit: &Value, acknowledged_before: u64) -> Vec<Proof> {
    let mut proofs: Vec<Proof> = report
        .promises
        .iter()
        .map(|promise| Proof {
            name: promise.name,
            words: promise.words.clone(),
            kept: promise.kept(),
            evidence: promise.evidence.clone(),
        })
        .collect();
    for proof in &mut proofs {
        match proof.name {
            "places" => sold_out_means_sold_out(proof, report),
            "kept" => survived(proof, acknowledged_before, report),
            _ => {}
        }
    }
    proofs.push(same_digest(audit));
    proofs.push(equal_ledger(audit));
    if let Some(reason) = &report.cut_short {
        let words = "everything could be checked".to_owned();
        proofs.push(Proof { name: "complete", words, kept: false, evidence: Some(reason.clone()) });
    }
    proofs
}

/// Nobody cancels in the demo, so "sold out" with places left would be a lie too.
fn sold_out_means_sold_out(proof: &mut Proof, report: &Report) {
    if report.winners < report.places && report.counts.of(Kind::SoldOut) > 0 {
        proof.kept = false;
        let left = report.places - report.winners;
        proof.evidence = Some(format!("people were told sold_out with {left} places left"));
    }
}

fn survived(proof: &mut Proof, before: u64, report: &Report) {
    proof.words = format!(
        "nothing acknowledged before the kill is missing: {before} then, {} in all",
        report.counts.acknowledged
    );
    if before == 0 {
        proof.kept = false;
        proof.evidence = Some("the flood was over before the server could be killed".to_owned());
    }
}

fn same_digest(audit: &Value) -> Proof {
    let digest = |field: &str| audit[field].as_str().map(str::to_owned);
    let (live, recomputed) = (digest("digest_live"), digest("digest_recomputed"));
    let kept = audit["ok"] == true && live.is_some() && live == recomputed;
    let shown = recomputed.clone().unwrap_or_else(|| "none".to_owned());
    let words = format!("state recomputed from the journal has the same digest: {shown}");
    let evidence = (!kept).then(|| {
        let differences = audit["differences"].as_array().filter(|list| !list.is_empty());
        match differences {
            Some(differences) => differences[0].to_string(),
            None => format!("the server says {}", live.unwrap_or_else(|| "nothing".to_owned())),
        }
    });
    Proof { name: "digest", words, kept, evidence }
}

fn equal_ledger(audit: &Value) -> Proof {
    let through = audit["ledger_through"].as_u64();
    let last = audit["last_result"].as_u64();
    let kept = audit["ledger_equal"] == true && through == last;
    let words = match last {
        Some(last) => format!("the ledger has exactly these results: {last}"),
        None => "the ledger has exactly these results".to_owned(),
    };
    let evidence = (!kept).then(|| match (through, last) {
        (Some(through), Some(last)) if through != last => format!("it has {through} of {last}"),
        _ => "audit says they differ".to_owned(),
    });
    Proof { name: "ledger", words, kept, evidence }
}
