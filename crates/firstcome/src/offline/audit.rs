//! Recomputes everything from the journal and compares: the running servers, the snapshot, the ledger.

use firstcome_core::command::{Command, Steer};
use firstcome_core::snapshot::{Manifest, Restore};
use firstcome_core::state::Skip;
use firstcome_core::{Outcome, Position, State};
use firstcome_http::clock_text::rfc3339;
use firstcome_journal::Reading;
use firstcome_node::ledger::{Look, Row};
use serde::Serialize;
use std::collections::BTreeSet;

/// Results compared at a time.
const ROWS: usize = 4_096;
/// Results the ledger does not have that are remembered, to see whether they are dropped later.
const MISSING: usize = 1_000_000;
/// How often it goes on to a newer head, at most, because a server no longer knows its digest at an older one.
const ROUNDS: u32 = 5;

/// One thing that is not as the journal says.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Difference {
    /// What differs: `journal`, `mark`, `snapshot`, `server`, `results` or `claims`.
    pub what: &'static str,
    /// The position of the entry it shows at, as far as it has one.
    pub position: Option<u64>,
    /// In which way.
    pub detail: String,
}

/// A pool as recomputed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PoolCount {
    pub campaign: String,
    pub pool: String,
    /// The last rank given; ranks run from 1 to it without a gap.
    pub last_rank: u32,
    /// Claims that were cancelled.
    pub cancelled: u32,
    /// Units that are not free.
    pub taken: u32,
    /// How many units the pool has.
    pub capacity: u32,
}

/// What an audit found.
#[derive(Clone, Debug, Serialize)]
pub struct AuditReport {
    /// Whether nothing differs.
    pub ok: bool,
    /// Where it began: `beginning`, or `snapshot` where earlier entries are no longer kept anywhere.
    pub from: &'static str,
    /// The position before the first entry recomputed.
    pub from_position: u64,
    /// The last position recomputed.
    pub position: u64,
    /// The digest recomputed at that position.
    pub digest_recomputed: String,
    /// The digest of the first server asked at that position; none if none was.
    pub digest_live: Option<String>,
    /// What each server that was asked said.
    pub servers: Vec<ServerDigest>,
    /// Whether the ledger has exactly the results of the journal, up to where it was settled; none without a ledger.
    pub ledger_equal: Option<bool>,
    /// The number up to which the ledger has results.
    pub ledger_through: Option<u64>,
    /// The number of the last result.
    pub last_result: u64,
    /// Digests of other nodes' ticks and settle marks that were compared.
    pub marks_compared: u64,
    /// The entries that were skipped, by position.
    pub skipped: Vec<Skipped>,
    /// The entry that ends the space here, if it was moved to another store; nothing behind it counts.
    pub moved_at: Option<u64>,
    /// The pools of the campaigns in memory.
    pub pools: Vec<PoolCount>,
    /// What differs.
    pub differences: Vec<Difference>,
}

/// An entry that was skipped.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Skipped {
    pub position: u64,
    /// Why.
    pub reason: String,
    /// Who decided it.
    pub who: String,
    /// When, RFC 3339.
    pub at: String,
}

impl From<&Skip> for Skipped {
    fn from(skip: &Skip) -> Self {
        Self {
            position: skip.position,
            reason: skip.reason.to_string(),
            who: skip.who.to_string(),
            at: rfc3339(skip.at),
        }
    }
}

/// A server's digest at the last position recomputed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ServerDigest {
    /// Its address.
    pub server: String,
    /// The digest; none if it is too far beyond that position to know.
    pub digest: Option<String>,
}

/// Asks the running servers for their digests at a position.
pub type AskServers<'a> = &'a mut dyn FnMut(Position) -> anyhow::Result<Vec<ServerDigest>>;

/// Audits a journal, wherever it is. It only reads; servers may run meanwhile.
///
/// `progress` hears the position recomputed and the last one.
///
/// # Errors
///
/// The journal, its newest snapshot, the ledger or a server cannot be read at all. Damage is a difference.
pub fn run(
    journal: &Reading,
    ledger: Option<Look>,
    ask: AskServers<'_>,
    mut progress: impl FnMut(u64, u64),
) -> anyhow::Result<AuditReport> {
    // Before the head: what the ledger has is in the journal already.
    let ledger_through = ledger.as_ref().map(Look::through).transpose()?;
    let mut head = journal.head()?;
    let mut differences = Vec::new();
    let manifest = journal.newest_snapshot()?.map(|bytes| Manifest::decode(&bytes)).transpose()?;
    let (mut state, from) = match journal.start()? {
        Some(start) => (restore(journal, &Manifest::decode(&start)?)?, "snapshot"),
        None => (State::new(head.space), "beginning"),
    };
    state.learn_skips(journal.skips()?);
    let mut audit = Audit {
        from_position: state.position(),
        compared: state.last_result(),
        state,
        manifest,
        marks: 0,
        ledger_through,
        ledger,
        pending: Vec::new(),
        missing: Vec::new(),
        dropped: BTreeSet::new(),
        ledger_differs: false,
        broke: false,
        moved_at: None,
    };
    let mut rounds = 0;
    let servers = loop {
        let whole = audit.replay(journal, head.position, &mut differences, &mut progress);
        let servers = ask(audit.state.token())?;
        rounds += 1;
        let all = servers.iter().all(|server| server.digest.is_some());
        if all || !whole || rounds == ROUNDS {
            break servers;
        }
        head = journal.head()?;
    };
    if !audit.broke {
        audit.compare_results(&mut differences)?;
        audit.compare_missing(&mut differences);
        audit.compare_claims(&mut differences)?;
    }
    progress(audit.state.position(), head.position);

    let recomputed = format!("{:016x}", audit.state.digest());
    for ServerDigest { server, digest } in &servers {
        let detail = match digest {
            Some(digest) if *digest == recomputed => continue,
            Some(digest) => format!("{server} has digest {digest}, recomputed it is {recomputed}"),
            None => format!("{server} is too far beyond it to know its digest there: try again"),
        };
        differences.push(difference("server", Some(audit.state.position()), detail));
    }
    Ok(AuditReport {
        ok: differences.is_empty(),
        from,
        from_position: audit.from_position,
        position: audit.state.position(),
        digest_recomputed: recomputed,
        digest_live: servers.first().and_then(|server| server.digest.clone()),
        servers,
        ledger_equal: audit.ledger_through.map(|_| !audit.ledger_differs),
        ledger_through: audit.ledger_through,
        last_result: audit.state.last_result(),
        marks_compared: audit.marks,
        skipped: audit.state.skipped().iter().map(Skipped::from).collect(),
        moved_at: audit.moved_at,
        // A broken rule leaves the campaigns half changed.
        pools: if audit.broke { Vec::new() } else { pools(&audit.state) },
        differences,
    })
}

fn difference(what: &'static str, position: Option<u64>, detail: String) -> Difference {
    Difference { what, position, detail }
}

pub(crate) fn restore(journal: &Reading, manifest: &Manifest) -> anyhow::Result<State> {
    let mut restore = Restore::new(manifest.clone());
    while let Some(name) = restore.wanted() {
        let Some(piece) = journal.piece(name)? else {
            anyhow::bail!("piece {name} of the newest snapshot is missing");
        };
        restore.take(&piece)?;
    }
    Ok(restore.finish()?)
}

fn pools(state: &State) -> Vec<PoolCount> {
    let pools = state.campaigns().flat_map(|campaign| {
        campaign.pools().iter().map(|pool| PoolCount {
            campaign: campaign.name().to_owned(),
            pool: pool.name().to_owned(),
            last_rank: pool.last_rank(),
            cancelled: pool.cancelled(),
            taken: pool.taken(),
            capacity: pool.capacity(),
        })
    });
    pools.collect()
}

struct Audit {
    state: State,
    from_position: u64,
    manifest: Option<Manifest>,
    marks: u64,
    /// The number up to which results were handed to the comparison.
    compared: u64,
    ledger: Option<Look>,
    ledger_through: Option<u64>,
    /// Results as recomputed, with the position they came from, not compared yet.
    pending: Vec<(u64, Row)>,
    /// Those the ledger does not have, until it is known which were dropped on the operator's word.
    missing: Vec<(u64, Row)>,
    /// Results that left memory unsettled on the operator's word: a ledger may do without them.
    dropped: BTreeSet<u64>,
    ledger_differs: bool,
    /// Whether an entry broke a rule.
    broke: bool,
    /// The entry that ends the space, which was moved.
    moved_at: Option<u64>,
}

impl Audit {
    /// Applies the entries up to a position; says whether there may be more: all were whole, and none ends the space.
    fn replay(
        &mut self,
        journal: &Reading,
        head: u64,
        differences: &mut Vec<Difference>,
        progress: &mut impl FnMut(u64, u64),
    ) -> bool {
        for entry in journal.entries(self.state.position() + 1) {
            let position = self.state.position();
            if position >= head {
                break;
            }
            if position.is_multiple_of(64) {
                progress(position, head);
            }
            if let Ok((entry, _)) = &entry
                && entry.is_end()
            {
                self.moved_at = Some(entry.position);
                return false;
            }
            if let Err(difference) = entry
                .map_err(|why| difference("journal", Some(position + 1), why.to_string()))
                .and_then(|(entry, _)| self.apply(&entry, differences))
            {
                differences.push(difference);
                return false;
            }
        }
        true
    }

    /// Applies an entry and compares what can be compared at it.
    fn apply(
        &mut self,
        entry: &firstcome_journal::Entry,
        differences: &mut Vec<Difference>,
    ) -> Result<(), Difference> {
        let position = entry.position;
        let damaged = |why: String| difference("journal", Some(position), why);
        let (stamp, body) = entry.open().map_err(|why| damaged(why.to_string()))?;
        let commands = body.commands().map_err(|why| damaged(why.to_string()))?;
        for mark in commands.iter().filter_map(Command::mark) {
            match self.state.digest_at(mark.position) {
                Some(digest) if digest != mark.digest => differences.push(difference(
                    "mark",
                    Some(position),
                    format!(
                        "node {} had digest {:016x} at {}, recomputed it is {digest:016x}",
                        stamp.node, mark.digest, mark.position
                    ),
                )),
                Some(_) => self.marks += 1,
                None => {}
            }
        }
        let mut outcomes: Vec<Outcome> = Vec::new();
        let leaving = self.leaving(&commands);
        if let Err(broke) = self.state.try_apply(stamp, &commands, &mut outcomes) {
            self.broke = true;
            return Err(damaged(format!("{broke}; {}", broke.advice())));
        }
        if self.ledger.is_some() {
            let new = self.state.results_after(self.compared);
            self.pending.extend(new.map(|row| (position, Row::from(row))));
            if self.pending.len() >= ROWS {
                self.compare_results(differences)
                    .map_err(|why| difference("results", Some(position), why.to_string()))?;
                if self.missing.len() >= MISSING {
                    self.compare_missing(differences);
                }
            }
        }
        self.compared = self.state.last_result();
        let left = |campaign: &str| self.state.campaign(campaign).is_err();
        let left = leaving.into_iter().filter(|(campaign, _)| left(campaign));
        self.dropped.extend(left.flat_map(|(_, numbers)| numbers));
        if let Some(manifest) = &self.manifest
            && manifest.stamp.position == position
            && manifest.digest != self.state.digest()
        {
            let detail = format!(
                "the snapshot's digest is {:016x}, recomputed it is {:016x}",
                manifest.digest,
                self.state.digest()
            );
            differences.push(difference("snapshot", Some(position), detail));
        }
        Ok(())
    }

    /// Returns the results that leave with campaigns, if those leave, which no ledger is known to have.
    fn leaving<'a>(&self, commands: &[Command<'a>]) -> Vec<(&'a str, Vec<u64>)> {
        let dropping = commands.iter().filter_map(|command| {
            let Command::Steer { campaign, steer, .. } = command else { return None };
            (*steer == Steer::Archive { drop_unsettled: true }).then_some(*campaign)
        });
        let of = |campaign: &str| {
            let unsettled = self.state.results_after(self.state.settled());
            let own = unsettled.filter(|row| row.campaign.name() == campaign);
            own.map(|row| row.number).collect()
        };
        dropping.map(|campaign| (campaign, of(campaign))).collect()
    }

    /// Says which result the ledger does not have and should.
    fn compare_missing(&mut self, differences: &mut Vec<Difference>) {
        let missing = std::mem::take(&mut self.missing);
        let Some((position, ours)) =
            missing.into_iter().find(|(_, ours)| !self.dropped.contains(&ours.number))
        else {
            return;
        };
        self.ledger_differs = true;
        let detail =
            format!("result {}: the journal has {ours}, the ledger has nothing", ours.number);
        differences.push(difference("results", Some(position), detail));
    }

    /// Compares results with the ledger's, row by row, up to what was settled.
    fn compare_results(&mut self, differences: &mut Vec<Difference>) -> anyhow::Result<()> {
        let (Some(ledger), Some(through)) = (&self.ledger, self.ledger_through) else {
            return Ok(());
        };
        let mut pending = std::mem::take(&mut self.pending).into_iter().peekable();
        while let Some((_, first)) = pending.peek() {
            let theirs = ledger.results(first.number - 1, ROWS)?;
            let mut theirs = theirs.into_iter().peekable();
            for _ in 0..ROWS {
                let Some((position, ours)) = pending.next_if(|(_, row)| row.number <= through)
                else {
                    return Ok(());
                };
                let found = theirs.next_if(|row| row.number == ours.number);
                if found.as_ref().is_some_and(|found| found.is_same_result(&ours)) {
                    continue;
                }
                let Some(found) = found else {
                    self.missing.push((position, ours));
                    continue;
                };
                self.ledger_differs = true;
                let detail = format!(
                    "result {}: the journal has {ours}, the ledger has {found}",
                    ours.number
                );
                differences.push(difference("results", Some(position), detail));
                return Ok(());
            }
        }
        Ok(())
    }

    /// Compares how many claims and cancels of each pool the ledger has, if it has them all.
    fn compare_claims(&mut self, differences: &mut Vec<Difference>) -> anyhow::Result<()> {
        let (Some(ledger), Some(through)) = (&self.ledger, self.ledger_through) else {
            return Ok(());
        };
        if through > self.state.last_result() {
            self.ledger_differs = true;
            let last = self.state.last_result();
            let detail = format!("the ledger has results up to {through}, the journal made {last}");
            differences.push(difference("results", None, detail));
        }
        if through != self.state.last_result() {
            return Ok(());
        }
        for ours in pools(&self.state) {
            let (claims, cancelled) = ledger.claim_counts(&ours.campaign, &ours.pool)?;
            if (claims, cancelled) != (u64::from(ours.last_rank), u64::from(ours.cancelled)) {
                if ledger.through()? != through {
                    // It went on meanwhile: what it has now is beyond what was recomputed.
                    return Ok(());
                }
                self.ledger_differs = true;
                let detail = format!(
                    "pool {}/{}: the ledger has {claims} claims of which {cancelled} are cancelled, \
                     the journal {} and {}",
                    ours.campaign, ours.pool, ours.last_rank, ours.cancelled
                );
                differences.push(difference("claims", None, detail));
            }
        }
        Ok(())
    }
}
