//! Translates the picks of a command to units, and checks which exist and may be had.

use super::Campaign;
use crate::command::{BestPick, Pick, Wanted};
use crate::hall::{Hall, Standing, Unit};
use crate::hold::UnitId;
use crate::limits::{BEST_PICKS, HOLD_UNITS};
use crate::outcome::{CodeRefusal, Missing, Outcome, Refusal, UnitName};
use std::collections::BTreeSet;

/// What picks ask for.
#[derive(Clone, Debug, Default)]
pub(super) struct Selection<'a> {
    /// Seats by name or with their groups, each once.
    pub(super) seats: Vec<(u16, u32)>,
    /// Quantities of counted pools and of areas, each once.
    pub(super) quantities: Vec<(u16, UnitId, u32)>,
    /// The best of a pool, and for which channel.
    pub(super) best: Vec<(u16, BestPick<'a>, Option<&'a str>)>,
    /// Whether nothing but names was given.
    pub(super) only_names: bool,
}

impl Selection<'_> {
    /// One unit of a counted pool.
    pub(super) fn counted(pool: u16) -> Self {
        Self { quantities: vec![(pool, UnitId::Counted, 1)], ..Self::default() }
    }

    /// So many units of one pool, whichever.
    pub(super) fn of_pool(pool: u16, count: u32) -> Self {
        Self { quantities: vec![(pool, UnitId::Counted, count)], ..Self::default() }
    }

    /// These units of one pool.
    pub(super) fn of_units(pool: u16, units: &[UnitId]) -> Self {
        let mut selection = Self::default();
        for unit in units {
            match unit {
                UnitId::Seat(seat) => selection.seats.push((pool, *seat)),
                UnitId::Counted | UnitId::Area(_) => selection.add(pool, *unit, 1),
            }
        }
        selection
    }

    /// Returns how many units that is of each pool.
    pub(super) fn by_pool(&self) -> impl Iterator<Item = (u16, u64)> {
        let seats = self.seats.iter().map(|(pool, _)| (*pool, 1));
        let quantities = self.quantities.iter().map(|(pool, _, count)| (*pool, u64::from(*count)));
        let best = self.best.iter().map(|(pool, best, _)| (*pool, u64::from(best.count)));
        seats.chain(quantities).chain(best)
    }

    pub(super) fn units(&self) -> u64 {
        self.by_pool().map(|(_, count)| count).sum()
    }

    fn add(&mut self, pool: u16, unit: UnitId, count: u32) {
        match self.quantities.iter_mut().find(|(p, known, _)| (*p, *known) == (pool, unit)) {
            Some((_, _, known)) => *known = known.saturating_add(count),
            None => self.quantities.push((pool, unit, count)),
        }
    }
}

/// Who asks for units, and thus which of them may be had.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reach {
    /// Somebody who wants to hold them: units that are not sold now are out of reach.
    ForSale,
    /// Somebody about units of a hold, or an operator: all units are in reach.
    Any,
}

impl Campaign {
    /// Returns the index of the pool that a pick is about.
    ///
    /// Refuses with `not_found` (the pool) and `pool_required`.
    pub(super) fn pool_of(&self, pick: &Pick<'_>) -> Result<usize, Refusal> {
        self.pool_named(pick.pool)
    }

    /// Returns the index of the pool of a name, or of the only one there is.
    ///
    /// Refuses with `not_found` (the pool) and `pool_required`.
    pub(super) fn pool_named(&self, pool: Option<&str>) -> Result<usize, Refusal> {
        match (pool, &self.pools[..]) {
            (Some(name), pools) => {
                let index = pools.iter().position(|pool| *pool.name == *name);
                index.ok_or(Refusal::NotFound(Missing::Pool))
            }
            (None, [_]) => Ok(0),
            (None, _) => Err(Refusal::PoolRequired),
        }
    }

    /// Returns what picks ask for.
    ///
    /// The first refusal that applies is given, in this order: `not_found` (the pool), `pool_required`,
    /// `claim_required` (a coded pool), `not_seated`, `no_such_unit` and `not_for_sale`, each naming every unit it is about.
    pub(super) fn select<'a>(
        &self,
        picks: &[Pick<'a>],
        reach: Reach,
    ) -> Result<Selection<'a>, Outcome> {
        self.select_at_most(picks, reach, usize::MAX)
    }

    /// Returns what picks ask for, for a hold to have: refused and ordered as [`Campaign::select`] does. Of more seats
    /// than any hold can get with what it has already, some are left out: it is too many units all the same.
    pub(super) fn select_for_hold<'a>(
        &self,
        picks: &[Pick<'a>],
        reach: Reach,
    ) -> Result<Selection<'a>, Outcome> {
        self.select_at_most(picks, reach, 2 * HOLD_UNITS)
    }

    /// Returns what picks ask for; once groups gave more seats than `most`, no more of them are added.
    fn select_at_most<'a>(
        &self,
        picks: &[Pick<'a>],
        reach: Reach,
        most: usize,
    ) -> Result<Selection<'a>, Outcome> {
        let mut selection = Selection { only_names: true, ..Selection::default() };
        let (mut unknown, mut not_sold) = (Vec::new(), Vec::new());
        let (mut groups, mut of_groups) = (BTreeSet::new(), 0);
        for pick in picks {
            let index = self.pool_of(pick)?;
            let (pool, index) = (&self.pools[index], index as u16);
            if pool.codes().is_some() {
                return Err(CodeRefusal::ClaimRequired.into());
            }
            let missing = |unit: Option<&str>| UnitName {
                pool: (*pool.name).into(),
                unit: unit.map(Into::into),
            };
            match (&pick.wanted, pool.hall()) {
                (Wanted::Units(names), None) => {
                    unknown.extend(names.iter().map(|name| missing(Some(name))));
                }
                (Wanted::Units(names), Some(hall)) => {
                    for name in names {
                        let Some(unit) = hall.find(name) else {
                            unknown.push(missing(Some(name)));
                            continue;
                        };
                        if !may_have(hall, unit, pick.channel, reach) {
                            not_sold.push(missing(Some(name)));
                        }
                        match unit {
                            Unit::Seat(seat) => selection.seats.push((index, seat)),
                            Unit::Group(group) => {
                                // No seat is in two groups.
                                if of_groups <= most && groups.insert((index, group)) {
                                    let seats = hall.group(group).iter().map(|seat| (index, *seat));
                                    selection.seats.extend(seats);
                                    of_groups += hall.group(group).len();
                                }
                            }
                            Unit::Area(area) => selection.add(index, UnitId::Area(area), 1),
                        }
                    }
                }
                (Wanted::Quantity { count, area: None }, None) => {
                    selection.only_names = false;
                    selection.add(index, UnitId::Counted, *count);
                }
                (Wanted::Quantity { area: None, .. }, Some(_)) => unknown.push(missing(None)),
                (Wanted::Quantity { area: Some(name), .. }, None) => {
                    unknown.push(missing(Some(name)));
                }
                (Wanted::Quantity { count, area: Some(name) }, Some(hall)) => {
                    selection.only_names = false;
                    let Some(Unit::Area(area)) = hall.find(name) else {
                        unknown.push(missing(Some(name)));
                        continue;
                    };
                    if !may_have(hall, Unit::Area(area), pick.channel, reach) {
                        not_sold.push(missing(Some(name)));
                    }
                    selection.add(index, UnitId::Area(area), *count);
                }
                (Wanted::Best(_), None) => return Err(Refusal::NotSeated.into()),
                (Wanted::Best(best), Some(_)) => {
                    selection.only_names = false;
                    selection.best.push((index, *best, pick.channel));
                }
            }
        }
        if !unknown.is_empty() {
            return Err(Outcome::refused_for(Refusal::NoSuchUnit, unknown));
        }
        if !not_sold.is_empty() {
            return Err(Outcome::refused_for(Refusal::NotForSale, not_sold));
        }
        selection.seats.sort_unstable();
        selection.seats.dedup();
        Ok(selection)
    }

    /// Refuses with `too_many_units` more picks of the best than one command may have, and more names than a hold has
    /// units.
    pub(super) fn check_picks(&self, picks: &[Pick<'_>]) -> Result<(), Refusal> {
        let best = picks.iter().filter(|pick| matches!(pick.wanted, Wanted::Best(_))).count();
        let names: usize = picks
            .iter()
            .map(|pick| if let Wanted::Units(names) = &pick.wanted { names.len() } else { 0 })
            .sum();
        let many = best > BEST_PICKS || names > HOLD_UNITS;
        if many { Err(Refusal::TooManyUnits) } else { Ok(()) }
    }

    /// Returns a unit's names.
    pub(super) fn unit_name(&self, pool: u16, unit: UnitId) -> UnitName {
        let pool = &self.pools[usize::from(pool)];
        UnitName { pool: (*pool.name).into(), unit: pool.unit_name(unit).map(Into::into) }
    }
}

/// Says whether a unit that was named may be had, if it is free.
///
/// A seat of a group can only be taken with its whole group.
fn may_have(hall: &Hall, unit: Unit, channel: Option<&str>, reach: Reach) -> bool {
    let through = |kept: &str| kept.is_empty() || Some(kept) == channel;
    let sold = |seat: u32| {
        hall.is_for_sale(seat)
            && through(hall.channel_of(seat))
            && hall.standing(seat) != Standing::Blocked
    };
    match (unit, reach) {
        (Unit::Seat(seat), _) if hall.group_of(seat).is_some() => false,
        (_, Reach::Any) => true,
        (Unit::Seat(seat), Reach::ForSale) => sold(seat),
        (Unit::Group(group), Reach::ForSale) => hall.group(group).iter().all(|seat| sold(*seat)),
        (Unit::Area(area), Reach::ForSale) => {
            let area = hall.area(area);
            area.for_sale && through(area.channel)
        }
    }
}
