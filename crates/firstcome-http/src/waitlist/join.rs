//! What a claim waits for, and what is known of a subject that waits.

use crate::answer::problem::Problem;
use crate::app::App;
use firstcome_api::claim::ClaimRequest;
use firstcome_core::State;
use firstcome_core::campaign::OnList;
use firstcome_core::command::Wish;
use firstcome_core::hall::settings::check_unit_name;
use firstcome_core::limits::WISH_UNITS;
use firstcome_node::codes::NoCodeKey;
use std::borrow::Cow;

/// What somebody waits for, as it was sent.
#[derive(Debug, Default)]
pub(crate) struct Wanted<'a> {
    pub(crate) quantity: Option<u32>,
    pub(crate) grade: Option<Cow<'a, str>>,
    pub(crate) channel: Option<Cow<'a, str>>,
    pub(crate) area: Option<Cow<'a, str>>,
    pub(crate) adjacent: bool,
}

impl<'a> Wanted<'a> {
    /// Takes out of a claim what it waits for, if it waits.
    ///
    /// A claim that does not wait has one unit, whichever it is.
    pub(crate) fn of(asked: &mut ClaimRequest<'a>) -> Result<Option<Self>, Problem> {
        let wanted = Self {
            quantity: asked.quantity,
            grade: asked.grade.take(),
            channel: asked.channel.take(),
            area: asked.area.take(),
            adjacent: asked.adjacent,
        };
        wanted.if_it(asked.wait)
    }

    /// Gives it for a claim that waits; refuses it for another one.
    pub(crate) fn if_it(self, waits: bool) -> Result<Option<Self>, Problem> {
        if !waits {
            let given = [
                ("quantity", self.quantity.is_some()),
                ("grade", self.grade.is_some()),
                ("channel", self.channel.is_some()),
                ("area", self.area.is_some()),
                ("adjacent", self.adjacent),
            ];
            return match given.into_iter().find(|(_, is)| *is) {
                Some((name, _)) => {
                    let detail = format!(
                        "`{name}` goes with \"wait\": true; without it a claim is for one unit, whichever it is"
                    );
                    Err(Problem::invalid(detail))
                }
                None => Ok(None),
            };
        }
        if let Some(quantity) = self.quantity.filter(|count| !(1..=WISH_UNITS).contains(count)) {
            return Err(Problem::invalid(format!("quantity is {quantity}: 1 to {WISH_UNITS}")));
        }
        let names = [("grade", &self.grade), ("channel", &self.channel), ("area", &self.area)];
        for (what, name) in names {
            if let Some(name) = name {
                check_unit_name(name)
                    .map_err(|why| Problem::invalid(format!("{what} {name:?} {why}")))?;
            }
        }
        Ok(Some(self))
    }

    pub(crate) fn wish(&self) -> Wish<'_> {
        Wish {
            quantity: self.quantity.unwrap_or(1),
            grade: self.grade.as_deref(),
            channel: self.channel.as_deref(),
            area: self.area.as_deref(),
            adjacent: self.adjacent,
        }
    }
}

/// Says whether the pool has codes, as far as this server knows it; refuses where it lacks their key.
pub(crate) fn codes_of_pool(
    app: &App,
    campaign: &str,
    (pool, subject): (Option<&str>, &str),
) -> Result<bool, NoCodeKey> {
    app.node.replica.look(|state: &State| {
        let Ok(found) = state.campaign(campaign) else { return Ok(false) };
        app.node.intake.codes.tag(state.space(), (found, pool), subject, 1)?;
        Ok(match pool {
            Some(name) => found.pool(name).is_some_and(|pool| pool.codes().is_some()),
            None => found.pools().iter().all(|pool| pool.codes().is_some()),
        })
    })
}

/// Returns how many offers the subject has let go since it joined.
pub(crate) fn offers_not_taken(
    app: &App,
    campaign: &str,
    (pool, subject): (Option<&str>, &str),
) -> u8 {
    let known = app.node.replica.look(|state: &State| {
        let found = state.campaign(campaign).ok()?;
        match found.waiting(pool, subject).ok()?? {
            OnList::Waits(place) => Some(place.missed),
            OnList::Offered(hold) => hold.offers_not_taken(),
        }
    });
    // Who has left since has let none go that counts.
    known.unwrap_or(0)
}
