//! Sends to one endpoint: what an operator wants sent again, what is due, then what comes next in the ledger.

use crate::clock::now;
use crate::counts::Counts;
use crate::endpoint::{Became, Delivery, Endpoint};
use crate::event::Event;
use crate::post::{Answer, Post};
use crate::signature;
use crate::stored::{Stored, read_one};
use crate::takeover::known;
use firstcome_node::ledger::{Ledger, LedgerError, Row};
use firstcome_node::log;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::watch;
use tokio::time::{Instant, sleep};

/// Results that are read at once.
const PAGE: usize = 200;
/// How long what was sent may not be written: after a crash it is sent once more.
const SAVE_EVERY: Duration = Duration::from_secs(1);
/// The same of results that are not for it.
const SAVE_UNSENT_EVERY: Duration = Duration::from_secs(10);
/// How often it is looked whether there is more to send.
const LOOK_EVERY: Duration = Duration::from_millis(200);
/// How often it is counted what is behind while nothing is sent.
const COUNT_EVERY: Duration = Duration::from_secs(1);
/// The pause after the ledger failed.
const AFTER_FAILURE: Duration = Duration::from_secs(1);
/// From this try on each failure is logged: the pauses are hours then.
const LOGGED_FROM: u32 = 5;

/// Returns the number of the last result that is in the ledger.
pub(crate) type Settled = Arc<dyn Fn() -> u64 + Send + Sync>;

/// Delivers to one endpoint.
pub(crate) struct DeliveryWorker {
    pub(crate) ledger: Ledger,
    /// The ledger's id, as endpoints have it.
    pub(crate) ledger_id: String,
    pub(crate) stored: Stored,
    pub(crate) post: Post,
    pub(crate) counts: Counts,
    pub(crate) settled: Settled,
    /// The version that is stored, as far as the dispatcher saw.
    pub(crate) seen: watch::Receiver<u64>,
    /// When it was written last.
    pub(crate) saved: Instant,
    /// Whether what was asked for by hand lets something else go first: it failed.
    pub(crate) steps_back: bool,
}

/// When it goes on.
enum Next {
    AtOnce,
    /// At a time in microseconds since 1970, or when something changes.
    At(i64),
    /// When there is more to send.
    Later,
    /// Never: the endpoint was removed, or somebody else delivers to it.
    Never,
}

impl DeliveryWorker {
    /// Delivers until the endpoint is removed or somebody else delivers to it.
    pub(crate) async fn run(mut self) {
        loop {
            let next = match self.turn().await {
                Ok(next) => next,
                // Settling says what is wrong with the ledger.
                Err(_) => {
                    sleep(AFTER_FAILURE).await;
                    continue;
                }
            };
            let pause = match next {
                Next::AtOnce => continue,
                Next::Never => return,
                Next::Later => LOOK_EVERY,
                Next::At(at) => {
                    let pause = Duration::from_micros((at - now()).max(0).cast_unsigned());
                    // It may go on with others before; and what is behind is counted.
                    let goes_on = self.stored.endpoint.goes_on();
                    pause.min(if goes_on { LOOK_EVERY } else { COUNT_EVERY })
                }
            };
            tokio::select! {
                biased;
                Ok(()) = self.seen.changed() => {}
                () = sleep(pause) => {}
            }
        }
    }

    async fn turn(&mut self) -> Result<Next, LedgerError> {
        let seen = *self.seen.borrow_and_update();
        if seen > self.stored.version {
            match read_one(&self.ledger, &self.stored.id).await? {
                Some(stored) => self.stored = stored,
                None => return Ok(Next::Never),
            }
        }
        let endpoint = &self.stored.endpoint;
        let behind =
            (self.settled)().saturating_sub(endpoint.cursor) + endpoint.waiting.len() as u64;
        self.counts.behind(&self.stored.id, behind);
        if !endpoint.is_of(&self.ledger_id) {
            return self.resume().await;
        }
        if !std::mem::take(&mut self.steps_back)
            && let Some(number) = endpoint.again.first().copied()
        {
            return self.send_again(number).await;
        }
        if endpoint.off.is_some() {
            return Ok(Next::At(i64::MAX));
        }
        let due = endpoint.due();
        if let Some(waiting) = due.filter(|waiting| waiting.next <= now()) {
            return self.try_again(waiting.number).await;
        }
        if endpoint.goes_on() && (self.settled)() > endpoint.cursor {
            return self.go_on().await;
        }
        Ok(due.map_or(Next::Later, |waiting| Next::At(waiting.next)))
    }

    /// Goes on with a ledger that took the place of another, once it has what is settled.
    async fn resume(&mut self) -> Result<Next, LedgerError> {
        if self.ledger.standing().await?.through < (self.settled)() {
            return Ok(Next::Later);
        }
        let mut endpoint = self.stored.endpoint.clone();
        let before = endpoint.cursor;
        let marks = known(&endpoint.marks, &self.ledger).await?;
        endpoint.resume(self.ledger_id.clone(), marks);
        let (webhook, from) = (&*self.stored.id, endpoint.cursor);
        log!(
            WebhookFailing,
            webhook,
            "the ledger took the place of another one: of {before} results those behind {from} are sent again, under new ids"
        );
        Ok(self.save(endpoint).await)
    }

    /// Sends a result that an operator asked for: it counts neither for nor against the endpoint.
    async fn send_again(&mut self, number: u64) -> Result<Next, LedgerError> {
        let mut endpoint = self.stored.endpoint.clone();
        endpoint.again.retain(|wanted| *wanted != number);
        if let Some(row) = self.row(number).await? {
            let answer = self.send(&mut endpoint, &row).await;
            if answer.is_taken() {
                endpoint.parked.retain(|parked| *parked != number);
                endpoint.waiting.retain(|waiting| waiting.number != number);
            } else if answer.is_gone() {
                endpoint.switch_off(now(), "it answered 410");
            } else {
                self.steps_back = true;
            }
        }
        Ok(self.save(endpoint).await)
    }

    async fn try_again(&mut self, number: u64) -> Result<Next, LedgerError> {
        let mut endpoint = self.stored.endpoint.clone();
        match self.row(number).await? {
            Some(row) => self.try_one(&mut endpoint, &row).await,
            // A ledger that was set aside had it.
            None => endpoint.waiting.retain(|waiting| waiting.number != number),
        }
        Ok(self.save(endpoint).await)
    }

    /// Sends what comes next, as far as it is taken.
    async fn go_on(&mut self) -> Result<Next, LedgerError> {
        let mut endpoint = self.stored.endpoint.clone();
        let rows = self.ledger.results(endpoint.cursor, PAGE, None).await?;
        if rows.is_empty() {
            return self.pass_dropped().await;
        }
        let (begun, mut mark, mut is_sent) = (Instant::now(), endpoint.mark(), false);
        for row in &rows {
            mark = mark.over(row);
            if endpoint.wanted.has(row) {
                is_sent = true;
                self.try_one(&mut endpoint, row).await;
            }
            if endpoint.off.is_some() && endpoint.waiting.iter().all(|it| it.number != row.number) {
                // It wants nothing more: this one is sent first when it is switched on.
                break;
            }
            endpoint.moved_to(mark);
            if !endpoint.goes_on() || begun.elapsed() >= SAVE_EVERY {
                break;
            }
        }
        if !is_sent && self.saved.elapsed() < SAVE_UNSENT_EVERY {
            // Who comes after a crash looks through them once more.
            self.stored.endpoint = endpoint;
            return Ok(Next::AtOnce);
        }
        Ok(self.save(endpoint).await)
    }

    /// Passes over results that were dropped on an operator's word, where the ledger has all that is settled.
    async fn pass_dropped(&mut self) -> Result<Next, LedgerError> {
        let settled = (self.settled)();
        // First, so that what is written meanwhile is found by the look behind it.
        let has_all = self.ledger.standing().await?.through >= settled;
        let cursor = self.stored.endpoint.cursor;
        if has_all && self.ledger.results(cursor, 1, None).await?.is_empty() {
            self.stored.endpoint.cursor = settled.max(cursor);
        }
        Ok(Next::Later)
    }

    /// Sends one result, and notes what came of it.
    async fn try_one(&mut self, endpoint: &mut Endpoint, row: &Row) {
        let was_failing = endpoint.failing.is_some();
        let answer = self.send(endpoint, row).await;
        let webhook = &*self.stored.id;
        if answer.is_taken() {
            self.counts.taken.inc();
            endpoint.received(row.number);
            if was_failing {
                log!(WebhookTaken, webhook, "the endpoint takes results again");
            }
            return;
        }
        self.counts.failed.inc();
        if answer.is_gone() {
            endpoint.switch_off(now(), "it answered 410");
            log!(
                WebhookOff,
                webhook,
                "the endpoint answered 410 (gone) and is sent nothing more; `firstcome webhooks enable` switches it on"
            );
            return;
        }
        let why = match answer.status {
            Some(status) => format!("it answered {status}"),
            None => answer.said.clone(),
        };
        match endpoint.failed(row.number, answer.retry_after, now()) {
            Became::Waits => {
                let tries = endpoint.waiting.last().map_or(0, |waiting| waiting.tries);
                if !was_failing || tries >= LOGGED_FROM {
                    log!(
                        WebhookFailing,
                        webhook,
                        number = row.number,
                        tries,
                        "the endpoint does not take a result, which is tried again: {why}"
                    );
                }
            }
            Became::Parked => {
                self.counts.parked.inc();
                log!(
                    WebhookParked,
                    webhook,
                    number = row.number,
                    "the endpoint did not take a result in all tries; `firstcome webhooks resend` sends it again: {why}"
                );
            }
            Became::Off => {
                let why_off = endpoint.off.as_ref().map_or("", |off| &off.why);
                log!(
                    WebhookOff,
                    webhook,
                    "the endpoint is sent nothing more, {why_off}; `firstcome webhooks enable` switches it on: {why}"
                );
            }
        }
    }

    /// Sends a result once, and keeps what was said.
    async fn send(&mut self, endpoint: &mut Endpoint, row: &Row) -> Answer {
        let event = Event::of(row, endpoint.ledger_of(row.number));
        let at = now();
        let seconds = at / 1_000_000;
        let signature = sign(endpoint, &event, seconds);
        let answer = self.post.send(&event, seconds, &signature).await;
        endpoint.keep(Delivery {
            number: row.number,
            id: event.id,
            at,
            took_ms: answer.took.as_millis() as u64,
            status: answer.status,
            said: answer.said.clone(),
            taken: answer.is_taken(),
        });
        answer
    }

    /// Returns a result by its number.
    async fn row(&self, number: u64) -> Result<Option<Row>, LedgerError> {
        let rows = self.ledger.results(number.saturating_sub(1), 1, None).await?;
        Ok(rows.into_iter().next().filter(|row| row.number == number))
    }

    /// Writes what became of the endpoint, as often as it takes: what was sent and is not written would be sent again and again.
    /// What an operator changed meanwhile stays.
    async fn save(&mut self, mut endpoint: Endpoint) -> Next {
        let mut is_said = false;
        loop {
            let why = match self.stored.write(&self.ledger, endpoint.clone()).await {
                Ok(true) => {
                    self.saved = Instant::now();
                    return Next::AtOnce;
                }
                Ok(false) => match read_one(&self.ledger, &self.stored.id).await {
                    Ok(Some(theirs)) => {
                        let is_further = theirs.endpoint.cursor > endpoint.cursor;
                        if is_further && theirs.endpoint.ledgers == endpoint.ledgers {
                            // Somebody else delivers to it: another leader.
                            return Next::Never;
                        }
                        endpoint = merged(&self.stored.endpoint, endpoint, &theirs.endpoint);
                        self.stored = theirs;
                        continue;
                    }
                    Ok(None) => return Next::Never,
                    Err(why) => why.to_string(),
                },
                Err(why) => why.to_string(),
            };
            if !std::mem::replace(&mut is_said, true) {
                let webhook = &*self.stored.id;
                log!(
                    WebhookFailing,
                    webhook,
                    "what was sent cannot be written, nothing more is sent until it can: {why}"
                );
            }
            sleep(AFTER_FAILURE).await;
        }
    }
}

/// Returns the header `webhook-signature` of an event for an endpoint.
pub(crate) fn sign(endpoint: &Endpoint, event: &Event, seconds: i64) -> String {
    let secrets = endpoint.secrets(seconds.saturating_mul(1_000_000));
    signature::sign(secrets, &event.id, seconds, event.body.as_bytes())
}

/// Puts what was sent since `before` into what an operator made of the endpoint meanwhile.
fn merged(before: &Endpoint, ours: Endpoint, theirs: &Endpoint) -> Endpoint {
    let mut both = theirs.clone();
    both.ledgers = ours.ledgers;
    both.cursor = ours.cursor;
    both.marks = ours.marks;
    both.recent = ours.recent;
    both.again.retain(|number| !before.again.contains(number) || ours.again.contains(number));
    both.parked.retain(|number| !before.parked.contains(number) || ours.parked.contains(number));
    for number in ours.parked {
        if !before.parked.contains(&number) && !both.parked.contains(&number) {
            both.parked.push(number);
        }
    }
    both.waiting = ours.waiting;
    both.failing = ours.failing;
    if ours.off.is_some() && before.off.is_none() {
        both.off = ours.off;
    } else if before.off.is_some() && theirs.off.is_none() {
        both.switch_on(now());
    }
    both
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::endpoint::Wanted;

    #[test]
    fn what_an_operator_changed_meanwhile_stays_and_so_does_what_was_told() {
        let new = |url: &str| {
            Endpoint::new(
                url.to_owned(),
                Wanted::default(),
                true,
                String::new(),
                ("a".to_owned(), 0),
            )
        };
        let before = Endpoint { parked: vec![1, 2], again: vec![1], ..new("https://a") };
        let mut ours =
            Endpoint { cursor: 9, parked: vec![2, 8], again: Vec::new(), ..before.clone() };
        ours.failed(9, None, 0);
        let theirs = Endpoint { again: vec![1, 2], note: "moved".to_owned(), ..before.clone() };
        let both = merged(&before, ours, &theirs);
        assert_eq!((both.cursor, &*both.note, &both.again[..]), (9, "moved", &[2][..]));
        assert_eq!((&both.parked[..], both.waiting[0].number), (&[2, 8][..], 9));

        let mut off = before.clone();
        off.switch_off(0, "by hand");
        let both = merged(&before, before.clone(), &off);
        assert_eq!(both.off, off.off);
        let both = merged(&off, off.clone(), &before);
        assert_eq!(both.off, None);
    }
}
