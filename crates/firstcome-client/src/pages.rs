//! Long lists, read page by page: results, winners, bars, waitlists.

use std::collections::VecDeque;
use std::marker::PhantomData;

use serde::de::DeserializeOwned;

use crate::client::Client;
use crate::error::Error;
use crate::routes::{Ask, ResultFormat, ResultRange};
use firstcome_api::bar::{BarLine, BarPage};
use firstcome_api::result::{ResultLine, ResultPage};
use firstcome_api::waitlist::{WaitingLine, WaitlistPage};
use firstcome_api::winner::{WinnerLine, WinnerPage};

/// How many lines a page has at most, unless another number is set: what the server gives by itself.
const LINES: u64 = 1_000;

/// A page of a list, as the server gives it.
pub trait Page: DeserializeOwned + private::Sealed {
    /// A line of the list.
    type Line;

    /// Returns the lines, and what to give as `after` to go on; none where these were the last so far.
    fn into_lines(self) -> (Vec<Self::Line>, Option<u64>);

    /// Returns the number behind which the lines after this one are.
    fn number(line: &Self::Line) -> u64;
}

impl private::Sealed for ResultPage {}

impl Page for ResultPage {
    type Line = ResultLine;

    fn into_lines(self) -> (Vec<ResultLine>, Option<u64>) {
        (self.results, self.next)
    }

    fn number(line: &ResultLine) -> u64 {
        line.number
    }
}

impl private::Sealed for WinnerPage {}

impl Page for WinnerPage {
    type Line = WinnerLine;

    fn into_lines(self) -> (Vec<WinnerLine>, Option<u64>) {
        (self.winners, self.next)
    }

    fn number(line: &WinnerLine) -> u64 {
        line.rank.into()
    }
}

impl private::Sealed for BarPage {}

impl Page for BarPage {
    type Line = BarLine;

    fn into_lines(self) -> (Vec<BarLine>, Option<u64>) {
        (self.bars, self.next)
    }

    fn number(line: &BarLine) -> u64 {
        line.number.into()
    }
}

impl private::Sealed for WaitlistPage {}

impl Page for WaitlistPage {
    type Line = WaitingLine;

    fn into_lines(self) -> (Vec<WaitingLine>, Option<u64>) {
        (self.waiting, self.next)
    }

    fn number(line: &WaitingLine) -> u64 {
        line.ticket.into()
    }
}

mod private {
    pub trait Sealed {}
}

/// A list that is read page by page, each when it is asked for; one that is begun has no end of its own.
///
/// ```no_run
/// # async fn print(client: firstcome_client::Client) -> Result<(), firstcome_client::Error> {
/// let mut winners = client.winners("spring", None);
/// while let Some(winner) = winners.next().await? {
///     println!("{} {}", winner.rank, winner.subject);
/// }
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct Pages<P: Page> {
    client: Client,
    list: List,
    after: u64,
    limit: u64,
    at_end: bool,
    lines: VecDeque<P::Line>,
    page: PhantomData<fn() -> P>,
}

/// Which list.
#[derive(Debug)]
enum List {
    Results(String),
    Winners { campaign: String, pool: Option<String>, with_codes: bool },
    Bars(String),
    Waitlist(String, Option<String>),
}

impl Client {
    /// Lists the results of a campaign, what happened in order, from the first one on.
    pub fn results(&self, campaign: &str) -> Pages<ResultPage> {
        Pages::new(self, List::Results(campaign.to_owned()))
    }

    /// Lists who has what now in a pool, by rank; the pool may be left out where there is one.
    pub fn winners(&self, campaign: &str, pool: Option<&str>) -> Pages<WinnerPage> {
        let (campaign, pool) = (campaign.to_owned(), pool.map(str::to_owned));
        Pages::new(self, List::Winners { campaign, pool, with_codes: false })
    }

    /// As [`Client::winners`], with the code of each: the deliberate export of a coded pool. It needs a key with the role
    /// `redeem`.
    pub fn winners_with_codes(&self, campaign: &str, pool: Option<&str>) -> Pages<WinnerPage> {
        let (campaign, pool) = (campaign.to_owned(), pool.map(str::to_owned));
        Pages::new(self, List::Winners { campaign, pool, with_codes: true })
    }

    /// Lists who is barred from a campaign, in the order of barring.
    pub fn bars(&self, campaign: &str) -> Pages<BarPage> {
        Pages::new(self, List::Bars(campaign.to_owned()))
    }

    /// Lists who waits for units of a pool, in order; the pool may be left out where there is one. It needs an operator's key.
    pub fn waitlist(&self, campaign: &str, pool: Option<&str>) -> Pages<WaitlistPage> {
        Pages::new(self, List::Waitlist(campaign.to_owned(), pool.map(str::to_owned)))
    }
}

impl<P: Page> Pages<P> {
    fn new(client: &Client, list: List) -> Self {
        let (client, lines) = (client.clone(), VecDeque::new());
        Self { client, list, after: 0, limit: LINES, at_end: false, lines, page: PhantomData }
    }

    /// Begins behind this result, rank, bar or ticket, by its number: where an earlier reader ended.
    #[must_use]
    pub fn after(self, after: u64) -> Self {
        Self { after, ..self }
    }

    /// Sets how many lines a page has at most: 1 to 10,000, 1,000 if not set.
    #[must_use]
    pub fn limit(self, limit: u64) -> Self {
        Self { limit, ..self }
    }

    /// Returns the next line; none at the end. Asked again after the end, it looks for lines that are new.
    ///
    /// # Errors
    ///
    /// As all methods of [`Client`]; never [`Error::Unknown`]. A list that is not there, of an archived campaign for example,
    /// is [`Error::Refused`]. Asked again it goes on where it was.
    ///
    /// # Cancel safety
    ///
    /// Cancel safe: no line is lost.
    pub async fn next(&mut self) -> Result<Option<P::Line>, Error> {
        loop {
            if let Some(line) = self.lines.pop_front() {
                return Ok(Some(line));
            }
            if std::mem::take(&mut self.at_end) {
                return Ok(None);
            }
            self.fetch().await?;
        }
    }

    /// Returns the lines that are there already, or those of the next page; none at the end.
    ///
    /// # Errors
    ///
    /// As [`Pages::next`].
    ///
    /// # Cancel safety
    ///
    /// Cancel safe: no line is lost.
    pub async fn next_page(&mut self) -> Result<Option<Vec<P::Line>>, Error> {
        loop {
            if !self.lines.is_empty() {
                return Ok(Some(self.lines.drain(..).collect()));
            }
            if std::mem::take(&mut self.at_end) {
                return Ok(None);
            }
            self.fetch().await?;
        }
    }

    async fn fetch(&mut self) -> Result<(), Error> {
        let range = ResultRange { after: self.after, limit: self.limit };
        let ask = match &self.list {
            List::Results(campaign) => Ask::results(campaign, range, ResultFormat::Json),
            List::Winners { campaign, pool, with_codes: false } => {
                Ask::winners(campaign, pool.as_deref(), range)
            }
            List::Winners { campaign, pool, with_codes: true } => {
                Ask::winners_with_codes(campaign, pool.as_deref(), range)
            }
            List::Bars(campaign) => Ask::bars(campaign, range),
            List::Waitlist(campaign, pool) => Ask::waitlist(campaign, pool.as_deref(), range),
        };
        let page: P = self.client.read(ask).await?;
        let (lines, next) = page.into_lines();
        if let Some(after) = next.or_else(|| lines.last().map(P::number)) {
            self.after = after;
        }
        self.at_end = next.is_none();
        self.lines.extend(lines);
        Ok(())
    }
}
