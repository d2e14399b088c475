//! The rules once more, as plainly as possible: lists, walked from the front.
//!
//! It shares no code with the crate but the words. It forgets nothing, so it is only asked about
//! less than an hour of service.

use firstcome_core::command::{Order, Steer};
use firstcome_core::outcome::{By, Clamped, Fixed, Missing};
use firstcome_core::settings::Opens;
use firstcome_core::{Command, Expect, NodeId, Outcome, Refusal, Settings, Timestamp};

/// A claim: who, when, and how it was undone.
#[derive(Clone, Debug)]
pub(crate) struct Won {
    pub(crate) subject: String,
    pub(crate) at: Timestamp,
    pub(crate) undone: Option<(By, Timestamp)>,
}

#[derive(Clone, Debug)]
pub(crate) struct Drop {
    pub(crate) name: String,
    pub(crate) version: u32,
    /// As they stand: `opens` is never `Now`, capacities are those in force.
    pub(crate) settings: Settings,
    pub(crate) paused: bool,
    pub(crate) closed_at: Option<Timestamp>,
    /// For each pool its claims; the rank is the place in the list, from 1.
    pub(crate) claims: Vec<Vec<Won>>,
    /// Who is barred, and since when.
    bars: Vec<(String, Timestamp)>,
}

/// What left the system: kind, campaign, pool, subject, rank.
pub(crate) type Told = (&'static str, String, String, String, u32);

#[derive(Clone, Debug, Default)]
pub(crate) struct Model {
    pub(crate) drops: Vec<Drop>,
    archived: Vec<String>,
    answered: Vec<(String, u64, Outcome)>,
    batches: Vec<(NodeId, u64)>,
    pub(crate) told: Vec<Told>,
    pub(crate) settled: usize,
}

type Answer = Result<Outcome, Refusal>;

impl Model {
    /// Returns what each command gets, or nothing for a copy.
    pub(crate) fn entry(
        &mut self,
        at: Timestamp,
        node: NodeId,
        number: u64,
        commands: &[Command<'_>],
    ) -> Option<Vec<Outcome>> {
        let seen = self.batches.iter().any(|(n, seen)| *n == node && *seen >= number);
        if seen || number == 0 {
            return None;
        }
        self.batches.push((node, number));
        let answer = |c| self.run(at, c).unwrap_or_else(Outcome::Refused);
        Some(commands.iter().map(answer).collect())
    }

    fn run(&mut self, at: Timestamp, command: &Command<'_>) -> Answer {
        let content = command.content();
        match command {
            Command::Claim { campaign, pool, subject, limit, .. } => {
                self.claim(at, campaign, *pool, subject, *limit)
            }
            Command::Cancel { campaign, pool, subject, rank, by, .. } => {
                self.cancel(at, campaign, *pool, subject, *rank, *by)
            }
            Command::Put { campaign, settings, expect, order } => {
                self.once(*order, content, |m| m.put(at, campaign, settings.clone(), *expect))
            }
            Command::Steer { campaign, steer, order } => {
                self.once(*order, content, |m| m.steer(at, campaign, *steer))
            }
            Command::Hold { .. }
            | Command::Change { .. }
            | Command::Extend { .. }
            | Command::Release { .. }
            | Command::Confirm { .. }
            | Command::Seats { .. }
            | Command::Block { .. }
            | Command::Move { .. }
            | Command::Join { .. }
            | Command::Leave { .. }
            | Command::Code(_)
            | Command::ChangeSeats { .. } => unreachable!("this model knows no holds"),
            Command::Bar { campaign, subject, order, .. } => {
                self.once(*order, content, |m| m.bar(at, campaign, subject))
            }
            Command::Unbar { campaign, subject, order } => {
                self.once(*order, content, |m| m.unbar(campaign, subject))
            }
            Command::Raise { .. } => unreachable!("there is nothing to raise to"),
            Command::Tick { .. } => Ok(Outcome::Ticked),
            Command::Settled { through, .. } => {
                let through = usize::try_from(*through).unwrap();
                if through > self.told.len() {
                    return Err(Refusal::BeyondResults);
                }
                self.settled = self.settled.max(through);
                Ok(Outcome::Settled { through: self.settled as u64 })
            }
        }
    }

    fn once(
        &mut self,
        order: Order<'_>,
        content: u64,
        run: impl FnOnce(&mut Self) -> Answer,
    ) -> Answer {
        if let Some((_, known, outcome)) =
            self.answered.iter().find(|(id, ..)| order.id == Some(id))
        {
            return if *known == content { Ok(outcome.clone()) } else { Err(Refusal::IdReused) };
        }
        let outcome = run(self)?;
        if let Some(id) = order.id {
            self.answered.push((id.into(), content, outcome.clone()));
        }
        Ok(outcome)
    }

    fn find(&mut self, name: &str) -> Result<&mut Drop, Refusal> {
        if self.archived.iter().any(|gone| gone == name) {
            return Err(Refusal::Archived);
        }
        let missing = Refusal::NotFound(Missing::Campaign);
        self.drops.iter_mut().find(|drop| drop.name == name).ok_or(missing)
    }

    fn claim(
        &mut self,
        at: Timestamp,
        name: &str,
        pool: Option<&str>,
        subject: &str,
        limit: Option<u32>,
    ) -> Answer {
        let drop = self.find(name)?;
        let pools = &drop.settings.pools;
        let place = match pool {
            None if pools.len() > 1 => return Err(Refusal::PoolRequired),
            None => 0,
            Some(pool) => pools
                .iter()
                .position(|p| *p.name == *pool)
                .ok_or(Refusal::NotFound(Missing::Pool))?,
        };
        let mine = |claims: &[Won]| -> Vec<(u32, Won)> {
            let ranked = (1..).zip(claims.iter().cloned());
            ranked.filter(|(_, won)| won.subject == subject).collect()
        };
        if let Some((rank, won)) =
            mine(&drop.claims[place]).iter().find(|(_, won)| won.undone.is_none())
        {
            return Ok(Outcome::AlreadyWon {
                rank: *rank,
                at: won.at,
                pool: place as u16,
                code: None,
            });
        }
        let barred = drop.bars.iter().any(|(barred, _)| barred == subject);
        if barred {
            return Err(Refusal::Barred);
        }
        if !mine(&drop.claims[place]).is_empty() && !drop.settings.claim_again {
            return Err(Refusal::AlreadyCancelled);
        }
        if drop.is_closed(at) {
            return Err(Refusal::Closed);
        }
        if drop.paused {
            return Err(Refusal::Paused);
        }
        let opens_at = drop.settings.opens.at();
        if opens_at.is_none_or(|opens_at| at < opens_at) {
            return Err(Refusal::NotOpen { opens_at });
        }
        let all = drop.claims.iter().flat_map(|claims| mine(claims));
        let live = all.filter(|(_, won)| won.undone.is_none()).count();
        if [drop.settings.limit, limit].into_iter().flatten().any(|limit| live >= limit as usize) {
            return Err(Refusal::LimitReached);
        }
        if drop.taken(place) >= drop.settings.pools[place].capacity {
            return Err(Refusal::SoldOut);
        }
        drop.claims[place].push(Won { subject: subject.into(), at, undone: None });
        let rank = drop.claims[place].len() as u32;
        let pool = drop.settings.pools[place].name.to_string();
        self.told.push(("claim", name.into(), pool, subject.into(), rank));
        Ok(Outcome::Won { rank, at, pool: place as u16, code: None })
    }

    fn cancel(
        &mut self,
        at: Timestamp,
        name: &str,
        pool: Option<&str>,
        subject: &str,
        rank: u32,
        by: By,
    ) -> Answer {
        let drop = self.find(name)?;
        let pools = &drop.settings.pools;
        let place = match pool {
            Some(pool) => pools.iter().position(|p| *p.name == *pool),
            None if pools.len() > 1 => return Err(Refusal::PoolRequired),
            None => Some(0),
        };
        let place = place.ok_or(Refusal::NotFound(Missing::Pool))?;
        let pool = pools[place].name.clone();
        let row = (rank as usize).checked_sub(1).ok_or(Refusal::NoSuchClaim)?;
        let won = drop.claims[place].get_mut(row).ok_or(Refusal::NoSuchClaim)?;
        if won.subject != subject {
            return Err(Refusal::NoSuchClaim);
        }
        if let Some((by, at)) = won.undone {
            return Ok(Outcome::Cancelled { by, at });
        }
        won.undone = Some((by, at));
        self.told.push(("cancel", name.into(), pool.into(), subject.into(), rank));
        Ok(Outcome::Cancelled { by, at })
    }

    fn put(&mut self, at: Timestamp, name: &str, mut wanted: Settings, expect: Expect) -> Answer {
        let version = match self.find(name) {
            Ok(drop) => Some(drop.version),
            Err(Refusal::Archived) => return Err(Refusal::Archived),
            Err(_) => None,
        };
        match (version, expect) {
            (None, Expect::Version(_)) => return Err(Refusal::NotFound(Missing::Campaign)),
            (Some(version), Expect::Absent) => return Err(Refusal::VersionMismatch { version }),
            (Some(version), Expect::Version(demanded)) if demanded != version => {
                return Err(Refusal::VersionMismatch { version });
            }
            _ => {}
        }
        if version.is_some() {
            return self.find(name)?.change(at, wanted);
        }
        if wanted.opens == Opens::Now {
            wanted.opens = Opens::At(at);
        }
        sensible(at, &wanted)?;
        self.drops.push(Drop {
            name: name.into(),
            version: 1,
            claims: vec![Vec::new(); wanted.pools.len()],
            settings: wanted,
            paused: false,
            closed_at: None,
            bars: Vec::new(),
        });
        Ok(Outcome::Created { version: 1 })
    }

    fn bar(&mut self, at: Timestamp, name: &str, subject: &str) -> Answer {
        let bars = &mut self.find(name)?.bars;
        let known = bars.iter().find(|(barred, _)| barred == subject).map(|(_, at)| *at);
        if known.is_none() {
            bars.push((subject.into(), at));
        }
        Ok(Outcome::BarSet { at: known.unwrap_or(at), holds: 0 })
    }

    fn unbar(&mut self, name: &str, subject: &str) -> Answer {
        let bars = &mut self.find(name)?.bars;
        let before = bars.len();
        bars.retain(|(barred, _)| barred != subject);
        Ok(Outcome::BarLifted { was_barred: bars.len() < before })
    }

    fn steer(&mut self, at: Timestamp, name: &str, steer: Steer) -> Answer {
        let archive = matches!(steer, Steer::Archive { .. });
        if archive && self.archived.iter().any(|gone| gone == name) {
            return Ok(Outcome::Unchanged { version: 0 });
        }
        let unsettled = self.told[self.settled..].iter().any(|told| told.1 == name);
        let drop = self.find(name)?;
        let closed = drop.is_closed(at);
        let unchanged = match steer {
            Steer::Pause | Steer::Resume if closed => return Err(Refusal::Closed),
            Steer::Pause => std::mem::replace(&mut drop.paused, true),
            Steer::Resume => !std::mem::replace(&mut drop.paused, false),
            Steer::Close if closed => true,
            Steer::Close => drop.closed_at.replace(at).is_some(),
            Steer::Archive { .. } if !closed => return Err(Refusal::NotClosed),
            Steer::Archive { drop_unsettled: false } if unsettled => {
                return Err(Refusal::Unsettled);
            }
            Steer::Archive { .. } => false,
            Steer::Delete if drop.claims.iter().any(|claims| !claims.is_empty()) => {
                return Err(Refusal::HasResults);
            }
            Steer::Delete => {
                self.drops.retain(|drop| drop.name != name);
                return Ok(Outcome::Deleted);
            }
        };
        if unchanged {
            return Ok(Outcome::Unchanged { version: drop.version });
        }
        drop.version += 1;
        let version = drop.version;
        if archive {
            self.archived.push(name.into());
            self.drops.retain(|drop| drop.name != name);
        }
        Ok(Outcome::Changed { version, clamped: Vec::new() })
    }
}

fn sensible(at: Timestamp, wanted: &Settings) -> Result<(), Refusal> {
    let Some(closes_at) = wanted.closes_at else { return Ok(()) };
    let after_opening = wanted.opens.at().is_none_or(|opens_at| opens_at < closes_at);
    if closes_at > at && after_opening { Ok(()) } else { Err(Refusal::ClosesTooEarly) }
}

impl Drop {
    pub(crate) fn is_closed(&self, at: Timestamp) -> bool {
        self.closed_at.is_some() || self.settings.closes_at.is_some_and(|closes| closes <= at)
    }

    pub(crate) fn taken(&self, place: usize) -> u32 {
        let returned = |won: &&Won| won.undone.is_some() && self.settings.units_return;
        let claims = &self.claims[place];
        (claims.len() - claims.iter().filter(returned).count()) as u32
    }

    fn change(&mut self, at: Timestamp, mut wanted: Settings) -> Answer {
        let opened = self.settings.opens.at().is_some_and(|opens| opens <= at);
        if wanted.opens == Opens::Now {
            wanted.opens = if opened { self.settings.opens } else { Opens::At(at) };
        }
        if wanted == self.settings {
            return Ok(Outcome::Unchanged { version: self.version });
        }
        if self.is_closed(at)
            && wanted
                != (Settings {
                    title: wanted.title.clone(),
                    public: wanted.public,
                    ..self.settings.clone()
                })
        {
            return Err(Refusal::Closed);
        }
        let names = |settings: &Settings| -> Vec<String> {
            settings.pools.iter().map(|pool| pool.name.to_string()).collect()
        };
        let (old, new) = (names(&self.settings), names(&wanted));
        if opened {
            let fixed = [
                (wanted.opens != self.settings.opens, Fixed::OpensAt),
                (wanted.claim_again != self.settings.claim_again, Fixed::ClaimAgain),
                (wanted.units_return != self.settings.units_return, Fixed::UnitsReturn),
                (!new.starts_with(&old), Fixed::Pools),
            ];
            if let Some((_, fixed)) = fixed.into_iter().find(|(differs, _)| *differs) {
                return Err(Refusal::NotChangeable(fixed));
            }
        }
        let times = |settings: &Settings| (settings.opens, settings.closes_at);
        if times(&wanted) != times(&self.settings) {
            sensible(at, &wanted)?;
        }
        let mut clamped = Vec::new();
        self.claims.resize(new.len(), Vec::new());
        for place in 0..new.len().min(old.len()) {
            let taken = self.taken(place);
            let pool = &mut wanted.pools[place];
            if pool.capacity < taken {
                pool.capacity = taken;
                clamped.push(Clamped { pool: pool.name.clone(), capacity: taken });
            }
        }
        self.settings = wanted;
        self.version += 1;
        Ok(Outcome::Changed { version: self.version, clamped })
    }
}
