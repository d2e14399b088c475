//! How a seat or an area stands: what an operator added, blocked or moved may be undone by a fork.

use firstcome_core::hall::{Standing, Unit};
use firstcome_core::pool::Pool;
use firstcome_core::state::State;
use std::fmt;

/// A unit: its campaign, its pool and its name.
pub(super) type UnitAt = (Box<str>, Box<str>, Box<str>);

/// How a unit stands.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct UnitStanding {
    stands: String,
    /// The hold that has the seat, or it was confirmed from.
    pub(super) hold: Option<Box<str>>,
}

impl UnitStanding {
    /// Says how a unit stands in a state; none if it is not there.
    pub(super) fn of((campaign, pool, name): &UnitAt, state: &State) -> Option<Self> {
        let campaign = state.campaign(campaign).ok()?;
        let pool = campaign.pool(pool)?;
        let hall = pool.hall()?;
        let seat = match hall.find(name)? {
            Unit::Seat(seat) => seat,
            Unit::Area(area) => {
                let blocked = hall.area_counts(area).blocked;
                let stands = format!("there, {blocked} blocked");
                return Some(Self { stands, hold: None });
            }
            Unit::Group(group) => *hall.group(group).first()?,
        };
        Some(match hall.standing(seat) {
            Standing::Free => Self { stands: "free".into(), hold: None },
            Standing::Blocked => Self { stands: "blocked".into(), hold: None },
            Standing::Held(number) => {
                let hold = campaign.hold_numbered(number)?;
                let stands = format!("held by {:?} in hold {:?}", hold.subject(), hold.id());
                Self { stands, hold: Some(hold.id().into()) }
            }
            Standing::Confirmed(rank) => {
                let claim = pool.claim(rank)?;
                let stands = format!("that of {:?} with rank {rank}", claim.subject);
                Self { stands, hold: pool.granted(rank).map(|(_, hold)| hold.into()) }
            }
        })
    }
}

impl fmt::Display for UnitStanding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.stands)
    }
}

/// Returns the names of a pool's seats and areas.
pub(super) fn names(pool: &Pool) -> impl Iterator<Item = &str> {
    pool.hall().into_iter().flat_map(|hall| {
        let seats = (0..hall.seats()).map(|seat| hall.name(Unit::Seat(seat)));
        seats.chain((0..hall.areas()).map(|area| hall.name(Unit::Area(area))))
    })
}
