//! `codes look-up`: codes with their history, for support.

use clap::Args;

use super::{PoolArgs, code};
use crate::cli::complaint::{Complaint, Exit};
use crate::cli::connect::{ServerArgs, yes};
use crate::cli::terminal::out;
use crate::cli::terminal::table::seconds;
use firstcome_api::code::CodeLookUpRequest;
use firstcome_client::Hidden;
use firstcome_client::{Ask, CodeMark, CodeUse, CodesFound, IssuedCode};

/// Options of `codes look-up`.
#[derive(Debug, Args)]
#[command(after_help = "\
The result has codes: `-` and a file keep them out of the list of processes and the history of the shell.

Examples:
  firstcome codes look-up vouchers --subject ann
  firstcome codes look-up vouchers - --json < code.txt")]
pub(in crate::cli) struct LookUpArgs {
    /// The campaign.
    campaign: String,
    /// The code as it was typed; `-` reads it from stdin.
    #[arg(required_unless_present = "subject", conflicts_with = "subject")]
    code: Option<String>,
    /// All codes of this holder instead.
    #[arg(long, value_name = "SUBJECT")]
    subject: Option<String>,
    #[command(flatten)]
    pool: PoolArgs,
    #[command(flatten)]
    server: ServerArgs,
}

pub(super) async fn run(args: LookUpArgs, json: bool) -> Result<Exit, Complaint> {
    let body = CodeLookUpRequest {
        code: args.code.as_deref().map(code::one).transpose()?.map(|code| Hidden(code.into())),
        subject: args.subject.as_deref().map(Into::into),
        pool: args.pool.pool.as_deref().map(Into::into),
        r#for: None,
    };
    let ask = Ask::code_step(&args.campaign, "look-up", body);
    let (found, raw) = yes(args.server.client()?.ask::<CodesFound>(ask).await?)?;
    if json {
        out::json(&raw);
        return Ok(Exit::Yes);
    }
    if found.codes.is_empty() {
        let subject = args.subject.unwrap_or_default();
        out::line(format!("{subject} has no code in {}", found.campaign));
    }
    for code in &found.codes {
        print(&found.campaign, code);
    }
    if found.more {
        out::talk("there is more than is shown here");
    }
    if found.stale {
        out::talk("note: this server's state may be out of date");
    }
    Ok(Exit::Yes)
}

fn print(campaign: &str, code: &IssuedCode) {
    out::line(format!("{}  {}", *code.code, code.standing));
    let IssuedCode { subject, rank, pool, .. } = code;
    let issued = seconds(&code.issued_at);
    out::line(format!("  rank {rank} of {subject} in {campaign}/{pool}, won at {issued}"));
    let until = match &code.expires_at {
        Some(until) => format!("valid until {}", seconds(until)),
        None => "valid without an end".to_owned(),
    };
    out::line(format!(
        "  {} of {} redeemed, {} reserved, {until}",
        code.redeemed,
        out::count(code.uses.into(), "use"),
        code.reserved
    ));
    if code.issue > 1 {
        out::line(format!("  it replaced an earlier code: it is number {}", code.issue));
    }
    for used in &code.references {
        out::line(format!("  {}", of_reference(used)));
    }
    for mark in &code.marks {
        let CodeMark { what, at, reason, who, .. } = mark;
        out::line(format!("  {what} at {} by {who}: {reason}", seconds(at)));
    }
}

/// What became of one use.
fn of_reference(used: &CodeUse) -> String {
    let by = used.subject.as_ref().map(|subject| format!(" by {subject}")).unwrap_or_default();
    let at = seconds(&used.at);
    let state = match (&*used.state, &used.expires_at) {
        ("reserved", Some(until)) => format!("reserved until {}", seconds(until)),
        ("over", _) => format!("reserved at {at}, and the reservation is over"),
        ("rolled_back", _) if used.expired == Some(true) => {
            format!("rolled back at {at}; the code had expired, so its use did not come back")
        }
        (state, _) => format!("{} at {at}", state.replace('_', " ")),
    };
    format!("{}{by}: {state}", used.reference)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn used(state: &'static str, expires_at: Option<&str>, expired: Option<bool>) -> CodeUse {
        CodeUse {
            reference: "order-1".to_owned(),
            subject: Some("bob".to_owned()),
            state: state.into(),
            at: "2040-03-01T10:00:00.123456Z".to_owned(),
            expires_at: expires_at.map(str::to_owned),
            redeemed_at: None,
            expired,
        }
    }

    #[test]
    fn every_state_of_a_use_is_said_in_words() {
        let of = |used: CodeUse| of_reference(&used);
        let at = seconds("2040-03-01T10:00:00.123456Z");
        let until = "2040-03-01T10:15:00.000000Z";
        assert_eq!(
            of(used("reserved", Some(until), None)),
            format!("order-1 by bob: reserved until {}", seconds(until))
        );
        assert!(of(used("over", None, None)).ends_with("and the reservation is over"));
        assert_eq!(of(used("redeemed", None, None)), format!("order-1 by bob: redeemed at {at}"));
        assert!(
            of(used("rolled_back", None, Some(false))).ends_with(&format!("rolled back at {at}"))
        );
        assert!(of(used("rolled_back", None, Some(true))).ends_with("did not come back"));
    }
}
