//! Names of seats, areas and groups that people would take for one another: `A1` and `a1`. They are refused when they come in;
//! a name that somebody asks for is taken as it is.

use crate::app::App;
use firstcome_core::State;
use firstcome_core::hall::{Hall, Unit};
use firstcome_node::codes::spelling::alike;
use std::collections::{BTreeSet, HashMap};

/// Names of a hall that are looked at under one lock.
const AT_ONCE: usize = 2_000;

/// A name, and the line it stands on.
pub(super) type Named<'a> = (usize, &'a str);

/// Says which names of one request are alike: the line, and why.
pub(super) fn among<'a>(names: impl Iterator<Item = Named<'a>>) -> Vec<(usize, String)> {
    let mut known = HashMap::new();
    let alike = names.filter_map(|(line, name)| {
        let (before, first) = *known.entry(alike(name)).or_insert((line, name));
        let why = || format!("{name:?} is {first:?} of line {before}, spelled otherwise");
        (first != name).then(|| (line, why()))
    });
    alike.collect()
}

/// Says which names are alike to those of units that are there, but for units that are to be renamed. A name that is there
/// just so, or was, is the rules' to judge.
pub(super) async fn with_hall<'a>(
    app: &App,
    place: (&str, &str),
    names: impl Iterator<Item = Named<'a>>,
    renamed: &BTreeSet<&str>,
) -> Vec<(usize, String)> {
    let new = with(app, place, |hall| {
        let new = names.filter(|(_, name)| !hall.has_named(name));
        new.map(|(line, name)| (alike(name), (line, name))).collect::<HashMap<_, _>>()
    });
    let new = new.unwrap_or_default();
    let (mut found, mut next) = (Vec::new(), 0);
    while !new.is_empty() {
        let looked = with(app, place, |hall| {
            let units: Vec<Unit> = units(hall).skip(next).take(AT_ONCE).collect();
            for there in units.iter().map(|unit| hall.name(*unit)) {
                if let Some((line, name)) =
                    new.get(&alike(there)).filter(|_| !renamed.contains(there))
                {
                    let why = format!("{name:?} is {there:?}, which is there, spelled otherwise");
                    found.push((*line, why));
                }
            }
            units.len()
        });
        next += looked.unwrap_or(0);
        if looked.is_none_or(|looked| looked < AT_ONCE) {
            break;
        }
        tokio::task::yield_now().await;
    }
    found.sort_unstable();
    found
}

fn units(hall: &Hall) -> impl Iterator<Item = Unit> {
    let areas = (0..hall.areas()).map(Unit::Area);
    areas.chain((0..hall.groups()).map(Unit::Group)).chain((0..hall.seats()).map(Unit::Seat))
}

/// Looks at a hall, if there is one.
fn with<T>(app: &App, (campaign, pool): (&str, &str), look: impl FnOnce(&Hall) -> T) -> Option<T> {
    app.node
        .replica
        .look(|state: &State| Some(look(state.campaign(campaign).ok()?.pool(pool)?.hall()?)))
}
