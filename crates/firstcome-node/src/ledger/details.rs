//! What a result says beyond a claim, its unit and its hold: of codes and of waitlists.

use firstcome_core::campaign::ResultRow;
use firstcome_core::codes::UseState;
use firstcome_core::results::Kind;
use std::fmt;

/// The columns that only results about codes and waitlists fill.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Details {
    /// Of a redemption and its rollback, the reference: an order or a payment.
    pub reference: Option<Box<str>>,
    /// Who used the code, where somebody else than its holder was named.
    pub used_by: Option<Box<str>>,
    /// Of a mark what was decided: `revoke`, `suspend`, `restore`, `reissue`; of a rollback `expired` where the code had
    /// expired, so that its use did not come back.
    pub verdict: Option<Box<str>>,
    /// Of a mark on one code, the issue number of the code from then on.
    pub issue: Option<u16>,
    /// Of a mark on a whole import, its id.
    pub import: Option<Box<str>>,
    /// Of somebody who left a waitlist without a unit, how many they wanted.
    pub quantity: Option<u32>,
}

impl Details {
    /// Returns what a result says, or nothing if it is about neither codes nor waitlists.
    pub(super) fn of(result: &ResultRow<'_>) -> Option<Box<Self>> {
        let used = result.used.map(|used| {
            let expired = matches!(used.state, UseState::RolledBack { expired: true, .. });
            let expired = expired && result.kind == Kind::RolledBack;
            Self {
                reference: Some(used.reference.clone()),
                used_by: used.user.clone(),
                verdict: expired.then(|| "expired".into()),
                ..Self::default()
            }
        });
        let marked = result.mark.map(|mark| Self {
            verdict: Some(mark.verdict.map_or("reissue", |verdict| verdict.as_str()).into()),
            issue: (mark.rank > 0).then_some(mark.issue),
            import: Some(mark.import.clone()).filter(|import| !import.is_empty()),
            ..Self::default()
        });
        let unserved =
            result.unserved.map(|gone| Self { quantity: Some(gone.quantity), ..Self::default() });
        used.or(marked).or(unserved).map(Box::new)
    }

    /// Returns the columns as they were read, or nothing if all are empty.
    pub(super) fn read(self) -> Option<Box<Self>> {
        (self != Self::default()).then(|| Box::new(self))
    }
}

impl fmt::Display for Details {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { reference, used_by, verdict, issue, import, quantity } = self;
        let texts = [
            ("verdict", verdict),
            ("reference", reference),
            ("used by", used_by),
            ("import", import),
        ];
        for (name, text) in texts {
            if let Some(text) = text {
                write!(f, " {name} {text:?}")?;
            }
        }
        if let Some(issue) = issue {
            write!(f, " issue {issue}")?;
        }
        if let Some(quantity) = quantity {
            write!(f, " wanted {quantity}")?;
        }
        Ok(())
    }
}
