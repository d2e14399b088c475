//! `campaign watch`: how a campaign goes, second by second, drawn in the terminal.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::{IsTerminal as _, Write as _};
use std::time::Duration;

use clap::Args;
use serde_json::json;

use crate::cli::complaint::{Complaint, Exit};
use crate::cli::connect::{Again, ServerArgs, yes};
use crate::cli::terminal::out;
use crate::cli::terminal::screen::{cut, width};
use firstcome_api::minute::{MinutePage, MinuteSecond};
use firstcome_api::unseen::seen;
use firstcome_client::{Ask, Campaign, CampaignPool, Reply};
use firstcome_rush::terminal::{bar, short, speaks_unicode, thousands};

/// Options of `campaign watch`.
#[derive(Debug, Args)]
#[command(after_help = "\
Shows places left, claims per second, refusals and latencies, every second, until the campaign is closed or Ctrl-C \
is pressed. A server that went away is waited for. Refusals and latencies are those of the server that answers, and need a key of an operator; with a key \
that only reads the counts are shown. On a terminal the picture is drawn in place; elsewhere a line is printed for \
each second in which something changed.

Examples:
  firstcome campaign watch spring
  firstcome campaign watch spring --once
  firstcome campaign watch spring --once --json")]
pub(in crate::cli) struct WatchArgs {
    /// The campaign.
    name: String,
    /// Show it once.
    #[arg(long)]
    once: bool,
    #[command(flatten)]
    server: ServerArgs,
}

/// Seconds of the small picture of claims.
const SHOWN: i64 = 60;
const BAR: usize = 24;

/// What is known of the last minutes.
#[derive(Default)]
struct Watched {
    /// `None` where the key may not ask for it.
    minute: Option<MinutePage>,
    seconds: BTreeMap<i64, MinuteSecond>,
}

pub(super) async fn run(args: WatchArgs, json: bool) -> Result<Exit, Complaint> {
    let mut server = Again::new(&args.server)?;
    let in_place = std::io::stdout().is_terminal() && !json && !args.once;
    let (mut watched, mut before, mut drawn) = (Watched::default(), None, 0);
    let mut asks_minute = true;
    loop {
        let (campaign, _) = yes(server.ask::<Campaign>(Ask::campaign(&args.name)).await?)?;
        if asks_minute {
            asks_minute = watched.ask(&mut server, &args.name).await?;
        }
        if server.was_away() {
            // What was said meanwhile stands below the picture: the next one is drawn under it.
            drawn = 0;
        }
        let lines = watched.picture(&campaign);
        if json {
            out::json(&watched.document(&campaign));
        } else if in_place {
            drawn = draw(&lines, drawn);
        } else if args.once {
            lines.iter().for_each(out::line);
        } else {
            let line = watched.line(&campaign);
            if before.as_ref() != Some(&line) {
                out::line(&line);
                before = Some(line);
            }
        }
        if args.once || campaign.state == "closed" {
            return Ok(Exit::Yes);
        }
        tokio::time::sleep(Duration::from_secs(1)).await;
    }
}

/// Draws lines over those that were drawn before; gives how many there are now.
fn draw(lines: &[String], before: usize) -> usize {
    let most = width(std::io::stdout());
    let mut text = String::new();
    if before > 0 {
        write!(text, "\u{1b}[{before}A").expect("writing to memory cannot fail");
    }
    for line in lines {
        let line = cut(&seen(line), most);
        writeln!(text, "{line}\u{1b}[K").expect("writing to memory cannot fail");
    }
    text.push_str("\u{1b}[J");
    let mut out = std::io::stdout().lock();
    out::ended(out.write_all(text.as_bytes()).and_then(|()| out.flush()));
    lines.len()
}

impl Watched {
    /// Asks for the seconds that are new; gives whether this key may ask for them.
    async fn ask(&mut self, server: &mut Again<'_>, campaign: &str) -> Result<bool, Complaint> {
        let from = self.minute.as_ref().map_or(0, |known| known.next);
        let path = format!("/v1/campaigns/{campaign}/minute?from={from}");
        let page = match server.ask::<MinutePage>(Ask::get(path)).await? {
            Reply::Yes(page, _) => page,
            Reply::No(problem) if problem.outcome == "forbidden" => return Ok(false),
            Reply::No(problem) => return Err(problem.into()),
        };
        self.seconds.extend(page.seconds.iter().map(|second| (second.second, second.clone())));
        self.seconds.retain(|second, _| *second > page.now_second - SHOWN);
        self.minute = Some(page);
        Ok(true)
    }

    /// Returns the claims of each of the seconds shown, the oldest first.
    fn claims(&self, now: i64) -> Vec<u64> {
        let of = |second: i64| self.seconds.get(&second).map_or(0, |known| known.claims);
        (now - SHOWN + 1..=now).map(of).collect()
    }

    /// Returns refusals by outcome, those that came most first.
    fn refusals(&self) -> Vec<(&str, u32)> {
        let mut counts: BTreeMap<&str, u32> = BTreeMap::new();
        for refusal in self.seconds.values().flat_map(|second| &second.here_refusals) {
            *counts.entry(&refusal.outcome).or_default() += refusal.count;
        }
        let mut counts: Vec<_> = counts.into_iter().collect();
        counts.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
        counts
    }

    fn picture(&self, campaign: &Campaign) -> Vec<String> {
        let name = match campaign.title.as_str() {
            "" => campaign.campaign.clone(),
            title => format!("{}: {title}", campaign.campaign),
        };
        let mut lines = vec![format!("{name}  [{}]", campaign.state)];
        let widest = campaign.pools.iter().map(|pool| pool.name.len()).max().unwrap_or(0);
        for pool in &campaign.pools {
            let drawn = bar(f64::from(pool.left) / f64::from(pool.capacity.max(1)), BAR);
            let given = given(pool);
            lines.push(format!(
                "  {:widest$} {drawn} {} of {} left, {} claims, {} held, {} wait",
                pool.name,
                thousands(pool.left.into()),
                thousands(pool.capacity.into()),
                thousands(given.into()),
                thousands(pool.held.unwrap_or(0).into()),
                thousands(pool.waiting),
            ));
        }
        let Some(minute) = &self.minute else { return lines };
        let claims = self.claims(minute.now_second);
        let (most, now) = (claims.iter().max().copied().unwrap_or(0), claims.last().copied());
        lines.push(format!("  claims in the last minute  {}", spark(&claims)));
        lines.push(format!(
            "    {} in all, at most {} in a second, {} in this one",
            thousands(claims.iter().sum()),
            thousands(most),
            thousands(now.unwrap_or(0))
        ));
        let refusals = self.refusals();
        let all: u64 = refusals.iter().map(|(_, count)| u64::from(*count)).sum();
        let kinds = refusals.iter().map(|(kind, count)| format!("{kind} {count}"));
        let kinds = kinds.collect::<Vec<_>>().join(", ");
        let apart = if all > 0 { ": " } else { "" };
        lines.push(format!("  refused by this server  {}{apart}{kinds}", thousands(all)));
        if let Some(second) = self.seconds.values().rev().find(|s| s.here_p50_us.is_some()) {
            let time = |us: Option<u64>| short(Duration::from_micros(us.unwrap_or(0)));
            lines.push(format!(
                "  answers of this server  half within {}, 9 of 10 within {}, 99 of 100 within {}",
                time(second.here_p50_us),
                time(second.here_p90_us),
                time(second.here_p99_us)
            ));
        }
        lines
    }

    /// Returns how it stands in one line, for where nothing can be drawn over.
    fn line(&self, campaign: &Campaign) -> String {
        let sum = |of: fn(&CampaignPool) -> u64| -> u64 { campaign.pools.iter().map(of).sum() };
        let given = sum(|pool| given(pool).into());
        format!(
            "{} [{}] {} left, {} claims, {} held, {} wait",
            campaign.campaign,
            campaign.state,
            campaign.left,
            given,
            sum(|pool| u64::from(pool.held.unwrap_or(0))),
            sum(|pool| pool.waiting)
        )
    }

    fn document(&self, campaign: &Campaign) -> serde_json::Value {
        let newest = self.seconds.values().last();
        json!({
            "campaign": campaign.campaign,
            "state": campaign.state,
            "left": campaign.left,
            "pools": campaign.pools,
            "second": self.minute.as_ref().map(|page| page.now_second),
            "newest": newest,
            "position": campaign.position,
        })
    }
}

/// Returns how many claims of a pool stand.
fn given(pool: &CampaignPool) -> u32 {
    pool.last_rank.unwrap_or(0).saturating_sub(pool.cancelled.unwrap_or(0))
}

/// Draws numbers as a line of small bars.
fn spark(numbers: &[u64]) -> String {
    let steps: &[char] = if speaks_unicode() {
        &[' ', '▁', '▂', '▃', '▄', '▅', '▆', '▇', '█']
    } else {
        &[' ', '.', ':', '|', '#']
    };
    let most = numbers.iter().max().copied().unwrap_or(0).max(1);
    let highest = steps.len() as u64 - 1;
    // What is there at all is seen.
    let step = |number: &u64| (number * highest).div_ceil(most);
    numbers.iter().map(|number| steps[step(number) as usize]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_smallest_number_is_seen_beside_the_greatest() {
        let drawn: Vec<char> = spark(&[0, 1, 1_000_000]).chars().collect();
        assert_eq!(drawn[0], ' ');
        assert!(drawn[1] != ' ' && drawn[1] != drawn[2]);
        assert_eq!(spark(&[0, 0]), "  ");
    }
}
