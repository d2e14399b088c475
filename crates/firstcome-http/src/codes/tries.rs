//! Codes that are tried: the wrong ones are counted, and whoever tries too many waits.

use crate::answer::Code;
use crate::answer::problem::Problem;
use crate::app::App;
use crate::guard::wrong_codes::{Attempt, Guesser, WRONG_CODES};
use crate::metrics::OF_TOKENS;
use crate::request::bearer::Bearer;
use crate::server::slots::network;
use firstcome_core::CodeRefusal;
use firstcome_core::names::check_subject;
use firstcome_node::log;
use serde_json::json;
use std::net::IpAddr;

/// Where a request came from, as far as proxies are believed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Origin(pub(crate) IpAddr);

/// Who tries a code.
#[derive(Debug)]
pub(super) struct Trier<'a> {
    pub(super) bearer: &'a Bearer,
    pub(super) origin: Origin,
    pub(super) campaign: &'a str,
    /// The shop's customer.
    pub(super) customer: Option<&'a str>,
}

/// A code that is being tried, of everybody it counts for.
pub(super) struct Tries<'a>(Vec<(&'static str, Attempt<'a>)>);

impl App {
    /// Lets a code be tried: a key is never slowed, but the customer that it names is.
    pub(super) fn tries(&self, trier: &Trier<'_>) -> Result<Tries<'_>, Problem> {
        let mut guessers = Vec::new();
        match trier.bearer {
            Bearer::Subject(token) => {
                guessers.push(Guesser::Token(&token.subject));
                guessers.push(Guesser::Address(network(trier.origin.0)));
            }
            Bearer::Key(key) => {
                let customer = trier.customer;
                guessers.extend(
                    customer.map(|customer| Guesser::Customer { key: &key.name, customer }),
                );
            }
        }
        if let Some(customer) = trier.customer {
            check_subject(customer)
                .map_err(|why| Problem::invalid(format!("the customer in `for` {why}")))?;
        }
        let attempt = |guesser: Guesser<'_>| {
            let kind = guesser.kind();
            let attempt = self.guards.wrong_codes.tries(guesser).map_err(|wait| {
                self.metrics.rate_limited.wrong_codes.inc();
                let millis = u64::try_from(wait.as_millis()).unwrap_or(u64::MAX).max(1);
                let detail = format!(
                    "{WRONG_CODES} codes that do not exist were tried within a minute, counted by {kind}: wait, longer each time; \
                     nothing changed"
                );
                Problem::new(Code::TooManyWrongCodes, detail)
                    .after(wait)
                    .with("limit", json!(kind))
                    .with("retry_after_ms", json!(millis))
            })?;
            Ok((kind, attempt))
        };
        guessers.into_iter().map(attempt).collect::<Result<_, Problem>>().map(Tries)
    }

    /// Counts a code that was wrong, by what it was answered: `no_such_code` and `not_issued` are guesses, a typing error is none.
    pub(super) fn tried(&self, tries: Tries<'_>, trier: &Trier<'_>, problem: Option<&Problem>) {
        let guesses = [CodeRefusal::NoSuchCode.as_str(), CodeRefusal::NotIssued.as_str()];
        if !problem.is_some_and(|problem| guesses.contains(&problem.outcome())) {
            return;
        }
        let key = match trier.bearer {
            Bearer::Key(key) => &*key.name,
            Bearer::Subject(_) => OF_TOKENS,
        };
        self.metrics.wrong_code(key);
        for (by, attempt) in tries.0 {
            let Some(wait) = attempt.wrong() else { continue };
            let (address, campaign) = (trier.origin.0, trier.campaign);
            log!(
                WrongCodes,
                by,
                key,
                %address,
                campaign,
                wait_s = wait.as_secs(),
                "as many codes were tried that do not exist as may be: whoever tries them waits"
            );
        }
    }
}
