//! The report of a fork: what was true on the abandoned branch, and what became of it.

mod claimed;
mod held;
mod unit;
mod used;

use super::codes::GivenCodes;
use super::orphan::Orphan;
use claimed::{Claimed, Whose};
use firstcome_core::Timestamp;
use firstcome_core::campaign::OnList;
use firstcome_core::command::{Body, CodeCommand, Command, Wanted};
use firstcome_core::names::Position;
use firstcome_core::outcome::Refusal;
use firstcome_core::state::State;
use held::{HeldUnits, HoldName};
use std::collections::{BTreeMap, BTreeSet};
use unit::{UnitAt, UnitStanding};
use used::{UseAt, UseStanding};

/// Bytes of a report.
const REPORT: usize = 1 << 20;
/// Whole states that are kept to be compared: each takes as much memory as that of this node.
const WHOLE: usize = 2;

/// An abandoned branch, to be compared with the one that took its place.
pub(super) struct AbandonedBranch {
    /// How far this node had applied it.
    pub(super) applied: Position,
    /// The last position both have, as far as this node could tell.
    fork: Option<u64>,
    /// What they had whom the lost entries are about: more than one claim where a node went over twice.
    claimed: BTreeMap<Whose, BTreeSet<Claimed>>,
    /// For how many units they waited.
    waited: BTreeMap<Whose, BTreeSet<u32>>,
    /// Those of them whose campaign had left memory: what they had is not known any more.
    forgotten: BTreeSet<Whose>,
    /// The holds that the lost entries are about, of such campaigns.
    forgotten_holds: BTreeSet<HoldName>,
    /// The holds that the lost entries are about, with what they had; none for one that was not there.
    holds: BTreeMap<HoldName, BTreeSet<Option<HeldUnits>>>,
    /// The units that an operator's lost words were about, with how each stood.
    units: BTreeMap<UnitAt, BTreeSet<UnitStanding>>,
    /// What references had done with codes that lost entries are about.
    uses: BTreeMap<UseAt, BTreeSet<UseStanding>>,
    /// Whether the subjects that an operator's lost words were about were barred, by campaign and subject.
    bars: BTreeMap<(Box<str>, Box<str>), BTreeSet<bool>>,
    /// The campaigns that the lost entries made or changed, with the version they had.
    campaigns: BTreeMap<Box<str>, u32>,
    /// The imported codes that they were given.
    pub(super) codes: GivenCodes,
    /// The states it had, where what was lost is not known: [`WHOLE`] at most.
    pub(super) whole: Vec<State>,
    /// Entries too old to be brought: whether they ran cannot be told any more.
    pub(super) too_old: u64,
}

impl AbandonedBranch {
    /// Notes what they had, in the history that is over, whom lost entries are about.
    pub(super) fn of(ours: &State, fork: Option<u64>, lost: &[Orphan]) -> Self {
        let mut over = Self {
            applied: ours.token(),
            fork,
            claimed: BTreeMap::new(),
            waited: BTreeMap::new(),
            forgotten: BTreeSet::new(),
            forgotten_holds: BTreeSet::new(),
            holds: BTreeMap::new(),
            units: BTreeMap::new(),
            uses: BTreeMap::new(),
            bars: BTreeMap::new(),
            campaigns: BTreeMap::new(),
            codes: GivenCodes::default(),
            whole: Vec::new(),
            too_old: 0,
        };
        for lost in lost {
            let commands = Body::open(&lost.kept.entry.body).map(|body| body.commands());
            let Ok(Ok(commands)) = commands else { continue };
            for command in &commands {
                over.note(command, ours);
            }
        }
        if let Some(first) = lost.iter().map(|lost| lost.kept.entry.at).min() {
            over.note_offers(first, ours);
        }
        let whose = over.claimed.keys();
        let whose =
            whose.map(|Whose { campaign, pool, subject }| (&**campaign, &**pool, &**subject));
        over.codes = GivenCodes::of(whose, ours);
        over
    }

    fn note(&mut self, command: &Command<'_>, ours: &State) {
        let (campaign, pool, subject) = match *command {
            Command::Claim { campaign, pool, subject, .. }
            | Command::Cancel { campaign, pool, subject, .. }
            | Command::Join { campaign, pool, subject, .. }
            | Command::Leave { campaign, pool, subject } => (campaign, pool, subject),
            Command::Confirm { step, .. } => {
                self.note_hold(step.campaign, step.hold, ours);
                // The units of a hold may be of any pool.
                let pools = ours.campaign(step.campaign).map(|campaign| campaign.pools());
                for pool in pools.unwrap_or_default() {
                    let (campaign, pool) = (step.campaign, Some(pool.name()));
                    self.note(&Command::claim(campaign, pool, step.subject), ours);
                }
                return;
            }
            Command::Put { campaign, .. } | Command::Steer { campaign, .. } => {
                if let Ok(found) = ours.campaign(campaign) {
                    self.campaigns.insert(campaign.into(), found.version());
                }
                return;
            }
            Command::Hold { campaign, id, .. } => return self.note_hold(campaign, id, ours),
            Command::Change { step, .. }
            | Command::Extend { step, .. }
            | Command::Release { step, .. } => {
                return self.note_hold(step.campaign, step.hold, ours);
            }
            Command::Move { campaign, pool, from, to, .. } => {
                self.note_units(campaign, pool, [from, to], ours);
                let stands = UnitStanding::of(&(campaign.into(), pool.into(), to.into()), ours);
                // What the move did to whom shows in their hold.
                if let Some(hold) = stands.and_then(|stands| stands.hold) {
                    self.note_hold(campaign, &hold, ours);
                }
                return;
            }
            Command::Block { campaign, ref units, .. } => {
                let pools = ours.campaign(campaign).map(|campaign| campaign.pools());
                let only = pools.ok().and_then(|pools| pools.first()).map(|pool| pool.name());
                for pick in units {
                    let Some(pool) = pick.pool.or(only) else { continue };
                    match &pick.wanted {
                        Wanted::Units(names) => {
                            self.note_units(campaign, pool, names.iter().copied(), ours);
                        }
                        Wanted::Quantity { area, .. } => {
                            self.note_units(campaign, pool, *area, ours)
                        }
                        Wanted::Best(_) => {}
                    }
                }
                return;
            }
            Command::Seats { campaign, pool, ref chunk, .. } => {
                let seats = chunk.seats.iter().map(|seat| seat.name);
                let names = seats.chain(chunk.areas.iter().map(|area| area.name));
                return self.note_units(campaign, pool, names, ours);
            }
            Command::ChangeSeats { campaign, pool, ref seats, .. } => {
                let names =
                    seats.iter().flat_map(|seat| [seat.name, seat.new_name.unwrap_or(seat.name)]);
                return self.note_units(campaign, pool, names, ours);
            }
            Command::Bar { campaign, subject, .. } | Command::Unbar { campaign, subject, .. } => {
                let barred =
                    ours.campaign(campaign).is_ok_and(|found| found.bar_of(subject).is_some());
                let bars = self.bars.entry((campaign.into(), subject.into())).or_default();
                bars.insert(barred);
                return;
            }
            Command::Code(ref code) => {
                let (campaign, pool) = code.target();
                if let Some(step) = code.step() {
                    return self.note_use(UseAt::of(step), ours);
                }
                // It may have given the subject another code.
                let CodeCommand::Reissue { subject, .. } = code else { return };
                (campaign, pool, *subject)
            }
            Command::Raise { .. } | Command::Tick { .. } | Command::Settled { .. } => return,
        };
        let found = ours.campaign(campaign);
        let only = || found.as_ref().ok()?.pools().first().map(|pool| pool.name());
        let Some(pool) = pool.or_else(only) else { return };
        let (campaign, pool) = (campaign.into(), pool.into());
        let whose = Whose { campaign, pool, subject: subject.into() };
        self.note_subject(whose, matches!(found, Err(Refusal::Archived)), ours);
    }

    fn note_subject(&mut self, whose: Whose, is_forgotten: bool, ours: &State) {
        if is_forgotten {
            self.forgotten.insert(whose);
        } else {
            if let Some(OnList::Waits(place)) = whose.on_list(ours) {
                self.waited.entry(whose.clone()).or_default().insert(place.wish.quantity);
            }
            let claimed = Claimed::all(&whose, ours);
            self.claimed.entry(whose).or_default().extend(claimed);
        }
    }

    fn note_hold(&mut self, campaign: &str, id: &str, ours: &State) {
        let name = (campaign.into(), id.into());
        if let Err(Refusal::Archived) = ours.campaign(campaign) {
            self.forgotten_holds.insert(name);
            return;
        }
        let had = HeldUnits::by(&name, ours);
        self.holds.entry(name).or_default().insert(had);
    }

    /// Notes the offers made since a moment: what came free is offered to people whom no lost entry names.
    fn note_offers(&mut self, since: Timestamp, ours: &State) {
        for campaign in ours.campaigns() {
            let offers = campaign.holds().filter(|hold| hold.is_offer());
            for offer in offers.filter(|offer| offer.started_at() >= since) {
                self.note_hold(campaign.name(), offer.id(), ours);
            }
        }
    }

    fn note_use(&mut self, at: UseAt, ours: &State) {
        if let Some(stood) = UseStanding::of(&at, ours) {
            self.uses.entry(at).or_default().insert(stood);
        }
    }

    fn note_units<'a>(
        &mut self,
        campaign: &str,
        pool: &str,
        names: impl IntoIterator<Item = &'a str>,
        ours: &State,
    ) {
        for name in names {
            let unit = (campaign.into(), pool.into(), name.into());
            if let Some(stood) = UnitStanding::of(&unit, ours) {
                self.units.entry(unit).or_default().insert(stood);
            }
        }
    }

    /// Adds what was true in another history that is over.
    pub(super) fn extend(&mut self, later: Self) {
        // Positions of both are those of a branch that is over.
        if later.applied.epoch > self.applied.epoch {
            self.applied = later.applied;
        }
        for (whose, claimed) in later.claimed {
            self.claimed.entry(whose).or_default().extend(claimed);
        }
        for (whose, quantities) in later.waited {
            self.waited.entry(whose).or_default().extend(quantities);
        }
        self.forgotten.extend(later.forgotten);
        self.forgotten_holds.extend(later.forgotten_holds);
        self.codes.extend(later.codes);
        for (name, had) in later.holds {
            self.holds.entry(name).or_default().extend(had);
        }
        for (unit, stood) in later.units {
            self.units.entry(unit).or_default().extend(stood);
        }
        for (at, stood) in later.uses {
            self.uses.entry(at).or_default().extend(stood);
        }
        for (whose, barred) in later.bars {
            self.bars.entry(whose).or_default().extend(barred);
        }
        self.whole.extend(later.whole);
        self.whole.truncate(WHOLE);
        for (campaign, version) in later.campaigns {
            let known = self.campaigns.entry(campaign).or_default();
            *known = version.max(*known);
        }
    }

    /// Says who kept, changed or lost a rank, a line each.
    pub(super) fn compare(&self, now: &State) -> String {
        let mut list = List { now, lines: String::new(), kept: 0, changed: 0, lost: 0, revived: 0 };
        for (whose, claimed) in &self.claimed {
            if claimed.is_empty() {
                list.claim(whose, None, true);
            }
            for was in claimed {
                list.claim(whose, Some(*was), true);
            }
        }
        for (whose, quantities) in &self.waited {
            quantities.iter().for_each(|quantity| list.waited(whose, *quantity));
        }
        for whose in &self.forgotten {
            list.forgotten(whose);
        }
        for name in &self.forgotten_holds {
            list.forgotten_hold(name);
        }
        for (name, had) in &self.holds {
            had.iter().flatten().for_each(|had| list.hold(name, had));
        }
        for (unit, stood) in &self.units {
            stood.iter().for_each(|stood| list.unit(unit, stood));
        }
        for (at, stood) in &self.uses {
            stood.iter().for_each(|stood| list.used(at, stood));
        }
        for ((campaign, pool), _, subject) in self.codes.changed_hands(now) {
            list.code(campaign, pool, subject);
        }
        for ((campaign, subject), barred) in &self.bars {
            barred.iter().for_each(|was| list.bar(campaign, subject, *was));
        }
        for (campaign, had) in &self.campaigns {
            list.campaign(campaign, *had);
        }
        for whole in &self.whole {
            self.compare_whole(whole, &mut list);
        }
        let (from, to) = (self.applied, now.token());
        let fork = self.fork.map_or_else(|| "an unknown position".to_owned(), |at| at.to_string());
        let List { lines, kept, changed, lost, revived, .. } = list;
        let mut report = format!(
            "the journal forked after {fork}: this node had applied {from}, and is at {to} now; \
             {kept} claims kept their rank, {changed} changed it, {lost} lost it, {revived} came back, \
             {} entries were too old to be brought\n",
            self.too_old
        );
        for line in lines.lines() {
            if report.len() + line.len() >= REPORT {
                report.push_str("(cut here)\n");
                break;
            }
            report.push_str(line);
            report.push('\n');
        }
        report
    }

    /// Goes through everything there was: the entries that were kept do not tell what was lost before them.
    fn compare_whole(&self, whole: &State, list: &mut List<'_>) {
        for campaign in whole.campaigns() {
            if !self.campaigns.contains_key(campaign.name()) {
                list.campaign(campaign.name(), campaign.version());
            }
            for (_, bar) in campaign.bars_after(0) {
                let whose = (campaign.name().into(), bar.subject.clone());
                if !is_noted(&self.bars, &whose, &true) {
                    list.bar(campaign.name(), &bar.subject, true);
                }
            }
            for hold in campaign.holds() {
                let name = (campaign.name().into(), hold.id().into());
                let had = HeldUnits::by(&name, whole);
                let new = !is_noted(&self.holds, &name, &had);
                had.iter().filter(|_| new).for_each(|had| list.hold(&name, had));
            }
            for at in used::uses(campaign) {
                let stood = UseStanding::of(&at, whole);
                let stood = stood.filter(|stood| !is_noted(&self.uses, &at, stood));
                stood.iter().for_each(|stood| list.used(&at, stood));
            }
            for pool in campaign.pools() {
                for name in unit::names(pool) {
                    let unit = (campaign.name().into(), pool.name().into(), name.into());
                    let stood = UnitStanding::of(&unit, whole);
                    let stood = stood.filter(|stood| !is_noted(&self.units, &unit, stood));
                    stood.iter().for_each(|stood| list.unit(&unit, stood));
                }
                let claims = (1..=pool.last_rank()).filter_map(|rank| pool.claim(rank));
                for last in claims.filter(|claim| pool.latest(claim.subject) == Some(claim.rank)) {
                    let whose = Whose::of(campaign, pool, last.subject);
                    let had = Claimed::all(&whose, whole).into_iter();
                    had.filter(|was| !is_noted(&self.claimed, &whose, was))
                        .for_each(|was| list.claim(&whose, Some(was), false));
                }
                for waits in pool.waiters_after(0) {
                    let whose = Whose::of(campaign, pool, waits.subject);
                    if !is_noted(&self.waited, &whose, &waits.wish.quantity) {
                        list.waited(&whose, waits.wish.quantity);
                    }
                }
            }
        }
    }
}

/// Says whether a lost entry was about this already, and found it so.
fn is_noted<K: Ord, V: Ord>(noted: &BTreeMap<K, BTreeSet<V>>, of: &K, is: &V) -> bool {
    noted.get(of).is_some_and(|noted| noted.contains(is))
}

/// The lines of a report, as they come to be.
struct List<'a> {
    now: &'a State,
    lines: String,
    kept: u64,
    changed: u64,
    lost: u64,
    revived: u64,
}

impl List<'_> {
    /// Says what became of a claim; of one that is what it was only if `each`.
    fn claim(&mut self, whose: &Whose, was: Option<Claimed>, each: bool) {
        let is = match was {
            Some(Claimed { live: true, last: false, .. }) => Claimed::longest(whose, self.now),
            Some(_) | None => Claimed::last(whose, self.now),
        };
        let what = match (was, is) {
            // Cancelled, and they claimed again: what they have since is told for itself.
            (Some(Claimed { rank, live: false, last: false }), _) => {
                let claim = whose.pool(self.now).and_then(|pool| pool.claim(rank));
                if claim.is_some_and(|claim| *claim.subject == *whose.subject) {
                    return;
                }
                self.lost += 1;
                format!("lost rank {rank}")
            }
            (None, None | Some(Claimed { live: false, .. })) => return,
            (Some(was), Some(is)) if !was.live && was == is => return,
            (Some(was), Some(is)) if was.live && is.live && was.rank == is.rank => {
                self.kept += 1;
                if !each {
                    return;
                }
                format!("kept rank {}", was.rank)
            }
            (Some(was), Some(is)) if was.live && is.live => {
                self.changed += 1;
                format!("changed from rank {} to {}", was.rank, is.rank)
            }
            // Also one that was cancelled: its cancel is void with it, and they may claim again.
            (Some(was), None | Some(Claimed { live: false, .. })) => {
                self.lost += 1;
                format!("lost rank {}", was.rank)
            }
            (None | Some(_), Some(is)) => {
                self.revived += 1;
                format!("has rank {} again", is.rank)
            }
        };
        self.line(whose, &what);
    }

    /// Says that a subject which waited neither waits nor has an offer.
    fn waited(&mut self, whose: &Whose, quantity: u32) {
        if whose.on_list(self.now).is_none() {
            self.line(whose, &format!("is not on the waitlist any more, it waited for {quantity}"));
        }
    }

    fn forgotten(&mut self, whose: &Whose) {
        let what = match Claimed::last(whose, self.now).filter(|is| is.live) {
            Some(is) => {
                self.revived += 1;
                format!("has rank {} again", is.rank)
            }
            None => {
                self.lost += 1;
                "may have lost a rank: the campaign had left memory".to_owned()
            }
        };
        self.line(whose, &what);
    }

    fn line(&mut self, whose: &Whose, what: &str) {
        let Whose { campaign, pool, subject } = whose;
        self.lines.push_str(&format!("{campaign}/{pool} {subject:?} {what}\n"));
    }

    /// Says what became of a hold that has not what it had.
    fn hold(&mut self, name: &HoldName, had: &HeldUnits) {
        let has = HeldUnits::by(name, self.now);
        if has.as_ref() == Some(had) {
            return;
        }
        let (campaign, id) = name;
        let what = match &has {
            Some(has) if has.subject == had.subject => format!("has {has}, it had {had}"),
            Some(_) | None => format!("is gone, it had {had}"),
        };
        self.lines.push_str(&format!("{campaign} hold {id:?} of {:?} {what}\n", had.subject));
    }

    fn forgotten_hold(&mut self, name: &HoldName) {
        if HeldUnits::by(name, self.now).is_none() {
            let (campaign, id) = name;
            let what = "may be gone: the campaign had left memory";
            self.lines.push_str(&format!("{campaign} hold {id:?} {what}\n"));
        }
    }

    /// Says what became of a unit that stands otherwise than it did.
    fn unit(&mut self, unit: &UnitAt, stood: &UnitStanding) {
        let stands = UnitStanding::of(unit, self.now);
        if stands.as_ref() == Some(stood) {
            return;
        }
        let (campaign, pool, name) = unit;
        let now = stands.map_or_else(|| "is gone".to_owned(), |stands| format!("is {stands}"));
        self.lines.push_str(&format!("{campaign}/{pool} unit {name:?} {now}, it was {stood}\n"));
    }

    /// Says what became of a reference that has not what it had of a code.
    fn used(&mut self, at: &UseAt, stood: &UseStanding) {
        let stands = UseStanding::of(at, self.now);
        if stands.as_ref().is_some_and(|stands| stands.what == stood.what) {
            return;
        }
        let now = stands.map_or("nothing", |stands| stands.what);
        let UseStanding { what, rank, holder } = stood;
        self.lines.push_str(&format!(
            "{} reference {:?} has {now} now, it had {what} the code of rank {rank} of {holder:?}\n",
            at.place(),
            at.reference()
        ));
    }

    /// Says that a code is another's now, or nobody's, and suspended for that.
    fn code(&mut self, campaign: &str, pool: &str, subject: &str) {
        let what = "had an imported code that is not theirs any more: it is suspended";
        self.lines.push_str(&format!("{campaign}/{pool} {subject:?} {what}\n"));
    }

    /// Says that a subject is barred, or is not, who was otherwise.
    fn bar(&mut self, campaign: &str, subject: &str, was: bool) {
        let found = self.now.campaign(campaign);
        let is = found.is_ok_and(|found| found.bar_of(subject).is_some());
        if is != was {
            let what = if is { "is barred, and was not" } else { "is not barred any more" };
            self.lines.push_str(&format!("{campaign} {subject:?} {what}\n"));
        }
    }

    /// Says that a campaign is gone, or went back.
    fn campaign(&mut self, name: &str, had: u32) {
        let what = match self.now.campaign(name) {
            Err(Refusal::NotFound(_)) => format!("is gone, it had version {had}"),
            Ok(found) if found.version() < had => {
                format!("has version {}, it had {had}", found.version())
            }
            Ok(_) | Err(_) => return,
        };
        self.lines.push_str(&format!("campaign {name} {what}\n"));
    }
}
