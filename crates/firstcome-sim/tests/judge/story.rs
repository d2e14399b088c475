//! Builds a history step by step.

use firstcome_core::codes::{CodeKey, IssuedCode};
use firstcome_core::command::{BodyWriter, Encoded, Order, Steer};
use firstcome_core::names::Position;
use firstcome_core::outcome::By;
use firstcome_core::results::Kind;
use firstcome_core::settings::{HoldSettings, Opens, PoolSettings};
use firstcome_core::{Command, Expect, LEVEL, NodeId, Outcome, Settings, Timestamp, newest_level};
use firstcome_journal::{Entry, Name};
use firstcome_node::CommandError;
use firstcome_node::Decided;
use firstcome_sim::history::{
    Asked, Cause, Durability, End, Exchange, HeadChange, History, Last, Loss, Moment, NodeRun,
    Reply, Row, ShownCode, StoredEntry,
};
use firstcome_sim::judge::{Verdict, judge};
use std::time::Duration;

/// The store's clock when the world begins, in microseconds.
const BEGIN: i64 = 1_000_000_000_000;
/// How long before and after the moment of a story a caller asks and hears.
const AROUND: Duration = Duration::from_millis(10);

/// The operator of most stories, without an id.
const DESK: Order<'static> = Order { id: None, who: "desk" };

/// A history under way: everything happens in the campaign `spring` with the pool `main`.
pub(crate) struct Story {
    pub(crate) history: History,
    pub(crate) now: Moment,
    /// The level of the bodies that are stored.
    pub(crate) level: u32,
    /// The last entry of the store.
    pub(crate) head: Option<usize>,
    pub(crate) epoch: u32,
    /// What stands before each entry.
    before: Vec<Option<usize>>,
    /// What each entry makes for the ledger: whether it undoes, rank, subject.
    results: Vec<Vec<(bool, u32, String)>>,
    number: u64,
}

/// The store's clock at a moment.
pub(crate) fn clock(seconds: f64) -> Timestamp {
    Timestamp::from_micros(BEGIN + (seconds * 1e6) as i64)
}

/// Settings of `spring`: so many units, open from the tenth second on.
pub(crate) fn units_for_sale(capacity: u32) -> Settings {
    Settings {
        title: "Spring".into(),
        opens: Opens::At(clock(10.0)),
        closes_at: Some(clock(1000.0)),
        limit: None,
        claim_again: false,
        units_return: true,
        public: false,
        holding: HoldSettings::default(),
        pools: vec![PoolSettings::counted("main", capacity)],
    }
}

pub(crate) fn put(settings: Settings) -> Asked {
    Asked::Put { campaign: "spring".into(), settings: Box::new(settings), order: DESK }
}

pub(crate) fn steer(steer: Steer) -> Asked {
    Asked::Steer { campaign: "spring".into(), steer, order: DESK }
}

/// The operator with this key steers, under an id.
pub(crate) fn steer_by(who: &'static str, id: &'static str, steer: Steer) -> Asked {
    Asked::Steer { campaign: "spring".into(), steer, order: Order { id: Some(id), who } }
}

pub(crate) fn claim(subject: &str) -> Asked {
    Asked::Claim { campaign: "spring".into(), pool: None, subject: subject.into() }
}

pub(crate) fn cancel(subject: &str, rank: u32) -> Asked {
    let (campaign, pool, subject) = ("spring".into(), Some("main".into()), subject.into());
    Asked::Cancel { campaign, pool, subject, rank, operator: false }
}

/// The same by somebody who does not say of which pool.
pub(crate) fn cancel_somewhere(subject: &str, rank: u32) -> Asked {
    let (campaign, pool, subject) = ("spring".into(), None, subject.into());
    Asked::Cancel { campaign, pool, subject, rank, operator: false }
}

/// A claim of a code as it is stored.
pub(crate) fn tagged(subject: &str, tag: Option<u64>) -> Asked {
    let claim = Command::Claim { campaign: "spring", pool: None, subject, limit: None, tag };
    Asked::On { command: Encoded::new(&claim).unwrap(), wait: Duration::ZERO }
}

fn command(asked: &Asked) -> Command<'_> {
    match asked {
        Asked::Claim { campaign, pool, subject } => {
            Command::claim(campaign, pool.as_deref(), subject)
        }
        Asked::Cancel { campaign, pool, subject, rank, operator } => {
            let by = if *operator { By::Operator } else { By::Subject };
            let (pool, rank) = (pool.as_deref(), *rank);
            Command::Cancel { campaign, pool, subject, rank, by, reason: "", who: "" }
        }
        Asked::Put { campaign, settings, order } => {
            let (settings, expect, order) = ((**settings).clone(), Expect::Anything, *order);
            Command::Put { campaign, settings, expect, order }
        }
        Asked::Steer { campaign, steer, order } => {
            Command::Steer { campaign, steer: *steer, order: *order }
        }
        Asked::Raise => Command::Raise { level: newest_level(), who: "desk" },
        Asked::On { command: asked_for, .. } | Asked::Code { command: asked_for, .. } => {
            asked_for.command()
        }
    }
}

impl Story {
    /// Begins with one node and an empty store.
    pub(crate) fn new(durability: Durability) -> Self {
        let change = HeadChange { moment: Moment::ZERO, server: 0, last: None, replaced: false };
        Self {
            history: History {
                durability,
                exchanges: Vec::new(),
                stored: Vec::new(),
                head_changes: vec![change],
                losses: Vec::new(),
                failovers: Vec::new(),
                demotions: Vec::new(),
                carried_over: Vec::new(),
                clock_steps: Vec::new(),
                ledger_restored: Vec::new(),
                ledger_had: Vec::new(),
                settled_late: Vec::new(),
                queue_waits: Vec::new(),
                codes_shown: Vec::new(),
                node_runs: vec![NodeRun::default()],
                end: End::default(),
            },
            now: Moment::ZERO,
            level: LEVEL,
            head: None,
            epoch: 0,
            before: Vec::new(),
            results: Vec::new(),
            number: 0,
        }
    }

    /// Begins with `spring`, which has so many units, at its opening.
    pub(crate) fn opened(durability: Durability, settings: Settings) -> Self {
        let mut story = Self::new(durability);
        story.at(1.0);
        story.decides(put(settings), Outcome::Created { version: 1 });
        story.at(10.0);
        story
    }

    /// Goes on to a moment, in seconds.
    pub(crate) fn at(&mut self, seconds: f64) {
        self.now = Duration::from_secs_f64(seconds);
    }

    fn clock(&self) -> Timestamp {
        Timestamp::from_micros(BEGIN + i64::try_from(self.now.as_micros()).unwrap())
    }

    /// Stores a body under a name; `results` is what it makes for the ledger.
    pub(crate) fn stores(
        &mut self,
        (node, number): (u8, u64),
        asked: &[Asked],
        results: &[(bool, u32, &str)],
    ) -> usize {
        let name = Name { node: NodeId([node; 16]), number };
        let mut body = BodyWriter::at_level(self.level, name.node, number, 0);
        for asked in asked {
            assert!(body.push(&command(asked)));
        }
        let last = self.head.map(|head| &self.history.stored[head]);
        let entry = Entry {
            position: last.map_or(1, |last| last.entry.position + 1),
            at: last.map_or(self.clock(), |last| last.entry.at.max(self.clock())),
            epoch: self.epoch,
            before: last.map_or(Name::default(), |last| last.name),
            body: body.finish().into(),
        };
        self.before.push(self.head);
        let results = results.iter().map(|(undone, rank, who)| (*undone, *rank, (*who).into()));
        self.results.push(results.collect());
        self.history.stored.push(StoredEntry { moment: self.now, entry, name, batch: name });
        let index = self.history.stored.len() - 1;
        self.heads(Some(index));
        index
    }

    /// An entry has its batch under another name than the first one of it.
    pub(crate) fn brings_again(&mut self, entry: usize, (node, number): (u8, u64)) {
        let stored = &mut self.history.stored[entry];
        stored.name = Name { node: NodeId([node; 16]), number };
        stored.entry.body = BodyWriter::again(&stored.entry.body, stored.name).unwrap().into();
    }

    /// The store's last entry is another.
    fn heads(&mut self, last: Option<usize>) {
        self.head = last;
        self.history.head_changes.push(HeadChange {
            moment: self.now,
            server: 0,
            last,
            replaced: false,
        });
    }

    /// The first node appends what a caller asks for.
    pub(crate) fn appends(&mut self, asked: &Asked, results: &[(bool, u32, &str)]) -> usize {
        self.number += 1;
        self.stores((1, self.number), std::slice::from_ref(asked), results)
    }

    /// The same, by a body of that name.
    pub(crate) fn decides_as(&mut self, name: (u8, u64), asked: Asked, outcome: Outcome) -> usize {
        let result = result(&asked, &outcome);
        let results: Vec<_> =
            result.iter().map(|(undone, rank, who)| (*undone, *rank, who.as_str())).collect();
        let index = self.stores(name, std::slice::from_ref(&asked), &results);
        self.answers(asked, outcome, Decided::Journal);
        index
    }

    /// A caller asks, the journal decides, and the caller hears it.
    pub(crate) fn decides(&mut self, asked: Asked, outcome: Outcome) -> usize {
        self.number += 1;
        self.decides_as((1, self.number), asked, outcome)
    }

    /// A caller claims a unit, gets it, and hears it.
    pub(crate) fn wins(&mut self, subject: &str, rank: u32) -> usize {
        let at = self.clock();
        self.decides(claim(subject), Outcome::Won { rank, at, pool: 0, code: None })
    }

    /// A caller claims a code, gets it, and hears it; the claim is stored with this tag.
    pub(crate) fn wins_code(
        &mut self,
        name: (u8, u64),
        (subject, rank): (&str, u32),
        tag: Option<u64>,
    ) -> usize {
        let at = self.clock();
        let index = self.stores(name, &[tagged(subject, tag)], &[(false, rank, subject)]);
        let code = Some(match tag {
            Some(tag) => IssuedCode::Generated { unit: rank, tag },
            None => IssuedCode::Imported { unit: rank - 1 },
        });
        let won = Outcome::Won { rank, at, pool: 0, code };
        self.answers(claim(subject), won, Decided::Journal);
        index
    }

    /// The last caller was shown a code.
    pub(crate) fn shows(&mut self, subject: &str, code: CodeKey) {
        let exchange = self.history.exchanges.len() - 1;
        let (campaign, pool, subject) = ("spring".into(), "main".into(), subject.into());
        self.history.codes_shown.push(ShownCode { exchange, campaign, pool, subject, code });
    }

    /// A caller asks and hears this from memory.
    pub(crate) fn remembers(&mut self, asked: Asked, outcome: Outcome) {
        self.answers(asked, outcome, Decided::Replica);
    }

    /// A caller asks and hears this as of the last entry.
    pub(crate) fn answers(&mut self, asked: Asked, outcome: Outcome, decided: Decided) {
        let head = self.head.map(|head| &self.history.stored[head].entry);
        let position = head.map_or(Position::default(), |entry| Position {
            epoch: entry.epoch,
            position: entry.position,
        });
        self.hears(asked, Reply::Answer { outcome, position, decided });
    }

    /// A caller asks and hears this.
    pub(crate) fn hears(&mut self, asked: Asked, reply: Reply) {
        let exchange = Exchange {
            node_run: 0,
            asked_at: self.now.saturating_sub(AROUND),
            clock_at: self.clock().plus_micros(-10_000),
            asked,
            min: None,
            heard_at: self.now + AROUND,
            reply,
        };
        self.history.exchanges.push(exchange);
    }

    pub(crate) fn fails(&mut self, asked: Asked, failure: CommandError) {
        self.hears(asked, Reply::Failure(failure));
    }

    /// Returns the exchange that ended last.
    pub(crate) fn last(&mut self) -> &mut Exchange {
        self.history.exchanges.last_mut().unwrap()
    }

    /// The running node has applied all there is.
    pub(crate) fn applies(&mut self) {
        let applied = (self.now, self.head.unwrap());
        self.history.node_runs[0].applied.push(applied);
    }

    /// The node dies; it must have been the only one.
    pub(crate) fn dies(&mut self) {
        self.history.node_runs[0].ended = Some(self.now);
    }

    /// The store goes on with an older end.
    pub(crate) fn loses(&mut self, to: Option<usize>, cause: Cause) {
        let (moment, from) = (self.now, self.head);
        self.history.losses.push(Loss { moment, cause, from, to, settled: 0 });
        self.heads(to);
    }

    /// A node puts entries back whole.
    pub(crate) fn puts_back(&mut self, to: usize) {
        self.heads(Some(to));
    }

    pub(crate) fn reports(&mut self, line: &str) {
        self.history.end.reports.push(line.into());
    }

    /// Ends quietly: the journal is what the store has, the ledger has its results, the node agrees.
    pub(crate) fn ends(mut self) -> History {
        let mut journal: Vec<_> =
            std::iter::successors(self.head, |index| self.before[*index]).collect();
        journal.reverse();
        let results = journal.iter().flat_map(|index| &self.results[*index]);
        let rows = (1..).zip(results).map(|(number, (undone, rank, subject))| Row {
            number,
            in_campaign: number as u32,
            kind: if *undone { Kind::Cancel } else { Kind::Claim },
            campaign: "spring".into(),
            pool: "main".into(),
            rank: *rank,
            subject: subject.clone(),
            unit: None,
            hold: None,
            moved_from: None,
        });
        let rows: Vec<_> = rows.collect();
        let end = &mut self.history.end;
        end.through = rows.len() as u64;
        end.ledger = Some(rows);
        end.journal = journal;
        let last = Last { node_run: 0, applied: self.head, digest: 7, trouble: None, acts: None };
        end.nodes = vec![last.clone(), Last { node_run: 1, ..last }];
        self.history
    }
}

/// Returns what a decision makes for the ledger.
fn result(asked: &Asked, outcome: &Outcome) -> Option<(bool, u32, String)> {
    match (asked, outcome) {
        (Asked::Claim { subject, .. }, Outcome::Won { rank, .. }) => {
            Some((false, *rank, subject.clone()))
        }
        (Asked::Cancel { subject, rank, .. }, Outcome::Cancelled { .. }) => {
            Some((true, *rank, subject.clone()))
        }
        _ => None,
    }
}

/// Judges a history in which nothing is broken.
pub(crate) fn passes(history: &History) -> Verdict {
    match judge(history) {
        Ok(verdict) => verdict,
        Err(wrong) => panic!("{wrong:#?}"),
    }
}

/// Judges a history in which exactly this promise is broken; gives what is said of it.
pub(crate) fn is_broken(history: &History, promise: &str) -> String {
    let Err(wrong) = judge(history) else { panic!("nothing is broken, not even {promise}") };
    for broken in &wrong {
        assert_eq!(broken.promise, promise, "{wrong:#?}");
    }
    wrong[0].to_string()
}
