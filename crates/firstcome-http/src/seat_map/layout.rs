//! The layout of a seated pool, where its seats are and what they cost: the part of a map that seldom changes.

use super::gzip::Deflated;
use axum::body::Bytes;
use firstcome_core::State;
use firstcome_core::campaign::Campaign;
use firstcome_core::hall::{Hall, Kind, SeatSettings, Unit};
use firstcome_node::Replica;
use serde_json::{Map, Value, json};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;
use tokio::sync::OnceCell;

/// Seats that are written under one lock of the state: a large map takes hundreds of turns, and entries are applied in
/// between.
const AT_ONCE: usize = 500;

/// The layout of a seated pool that has so many seats and areas. Written later than it was read, it may have changes of
/// names, grades and prices that came since: the next read finds them, too.
#[derive(Debug)]
pub(crate) struct Layout {
    /// The number of its campaign: there may be another one of that name later.
    campaign: u32,
    /// Which of its campaign's pools it is of.
    pool: usize,
    seats: u32,
    areas: u16,
    /// How many changes of its seats there were.
    changes: u64,
    /// Whether a seat is for sale.
    for_sale: Vec<bool>,
    written: OnceCell<Written>,
}

/// A layout as members of a JSON object, with a comma before each.
#[derive(Debug, Default)]
pub(super) struct Written {
    pub(super) text: Bytes,
    pub(super) packed: Deflated,
    pub(super) hash: u64,
}

impl Layout {
    pub(super) fn of(campaign: &Campaign, pool: usize, hall: &Hall) -> Self {
        Self {
            campaign: campaign.number(),
            pool,
            seats: hall.seats(),
            areas: hall.areas(),
            changes: hall.changes(),
            for_sale: (0..hall.seats()).map(|seat| hall.is_for_sale(seat)).collect(),
            written: OnceCell::new(),
        }
    }

    /// Says whether it is the layout of these seats still.
    pub(super) fn is_of(&self, campaign: &Campaign, hall: &Hall) -> bool {
        self.campaign == campaign.number()
            && (self.seats, self.areas, self.changes)
                == (hall.seats(), hall.areas(), hall.changes())
    }

    /// Returns the letter of a seat with this status.
    pub(super) fn letter(&self, seat: u32, kind: Kind) -> u8 {
        kind.letter(self.for_sale[seat as usize])
    }

    /// Gives it as text, written once and where nobody else has to wait for it; nothing if its campaign is gone.
    pub(super) async fn written(
        self: &Arc<Self>,
        replica: &Arc<Replica>,
        campaign: &str,
    ) -> Option<&Written> {
        let writing = || async {
            let (layout, replica) = (Arc::clone(self), Arc::clone(replica));
            let campaign = campaign.to_owned();
            let write = move || layout.write(&replica, &campaign);
            super::on_thread(write).await.flatten().ok_or(())
        };
        self.written.get_or_try_init(writing).await.ok()
    }

    fn write(&self, replica: &Replica, campaign: &str) -> Option<Written> {
        let mut text = String::from(r#","rows":["#);
        let mut rows = 0;
        while replica.look(|state| self.write_some(state, campaign, &mut rows, &mut text))? {}
        let rest = replica.look(|state| {
            let hall = self.hall(state, campaign)?;
            let areas: Vec<Value> = (0..self.areas).map(|area| area_of(hall, area)).collect();
            let groups: Vec<Value> =
                (0..hall.groups()).filter_map(|group| self.group_of(hall, group)).collect();
            Some(format!(r#"],"areas":{},"groups":{}"#, Value::from(areas), Value::from(groups)))
        });
        text += &rest?;
        let mut hasher = DefaultHasher::new();
        text.hash(&mut hasher);
        let packed = Deflated::of(text.as_bytes());
        Some(Written { text: text.into(), packed, hash: hasher.finish() })
    }

    /// Writes the rows from `rows` on, as many as one lock may take; says whether there are more.
    fn write_some(
        &self,
        state: &State,
        campaign: &str,
        rows: &mut usize,
        text: &mut String,
    ) -> Option<bool> {
        let hall = self.hall(state, campaign)?;
        let mut written = 0;
        for row in hall.rows().skip(*rows) {
            if written >= AT_ONCE {
                return Some(true);
            }
            *rows += 1;
            let seats = self.known(row.seats);
            if seats.is_empty() {
                continue;
            }
            if !text.ends_with('[') {
                text.push(',');
            }
            text.push_str(&row_of(hall, &seats).to_string());
            written += seats.len();
        }
        Some(false)
    }

    /// Returns the seats, which may be more by now.
    fn hall<'a>(&self, state: &'a State, campaign: &str) -> Option<&'a Hall> {
        let campaign = state.campaign(campaign).ok()?;
        let same = campaign.number() == self.campaign;
        let hall = campaign.pools().get(self.pool)?.hall()?;
        (same && hall.seats() >= self.seats && hall.areas() >= self.areas).then_some(hall)
    }

    fn known(&self, seats: &[u32]) -> Vec<u32> {
        seats.iter().copied().filter(|seat| *seat < self.seats).collect()
    }

    fn group_of(&self, hall: &Hall, group: u32) -> Option<Value> {
        let seats = self.known(hall.group(group));
        (!seats.is_empty()).then(|| json!({"name": hall.name(Unit::Group(group)), "seats": seats}))
    }
}

/// A row: its seats' numbers among the status letters, the rest of their names after a common prefix, and columns of
/// everything that is not empty; a column that is the same for all is one value.
fn row_of(hall: &Hall, numbers: &[u32]) -> Value {
    let seats: Vec<SeatSettings<'_>> = numbers.iter().map(|seat| hall.seat(*seat)).collect();
    let mut row = Map::new();
    let Some(first) = seats.first() else { return Value::Object(row) };
    row.insert("section".into(), first.section.into());
    row.insert("row".into(), first.row.into());
    let begins = numbers[0];
    if numbers.iter().enumerate().all(|(nth, seat)| *seat == begins + nth as u32) {
        row.insert("first".into(), begins.into());
    } else {
        row.insert("seats".into(), numbers.into());
    }
    let prefix = prefix_of(&seats);
    row.insert("prefix".into(), first.name[..prefix].into());
    let rests = seats.iter().map(|seat| &seat.name[prefix..]);
    row.insert("names".into(), rests.collect::<Vec<_>>().into());
    let mut column = |name: &str, of: &dyn Fn(&SeatSettings<'_>) -> Value, empty: Value| {
        let values: Vec<Value> = seats.iter().map(of).collect();
        if values.iter().all(|value| *value == empty) {
            return;
        }
        let same = values.iter().all(|value| *value == values[0]);
        let value = if same { values[0].clone() } else { values.into() };
        row.insert(name.into(), value);
    };
    if seats.iter().any(|seat| seat.number != &seat.name[prefix..]) {
        column("number", &|seat| seat.number.into(), "".into());
    }
    column("x", &|seat| seat.x.into(), 0.into());
    column("y", &|seat| seat.y.into(), 0.into());
    column("quality", &|seat| seat.quality.into(), 0.into());
    column("grade", &|seat| seat.grade.into(), "".into());
    column("price_minor", &|seat| seat.price.map(|price| price.minor).into(), Value::Null);
    column("currency", &|seat| currency(seat.price).into(), Value::Null);
    column("channel", &|seat| seat.channel.into(), "".into());
    column("accessible", &|seat| seat.accessible.into(), false.into());
    column("companion", &|seat| seat.companion.into(), false.into());
    column("group", &|seat| seat.group.into(), "".into());
    column("extra", &|seat| String::from_utf8_lossy(seat.extra).into(), "".into());
    Value::Object(row)
}

fn currency(price: Option<firstcome_core::hall::Price>) -> Option<String> {
    price.map(|price| String::from_utf8_lossy(&price.currency).into_owned())
}

/// Returns how many bytes the names of a row begin with in common, and not within a letter or a number.
fn prefix_of(seats: &[SeatSettings<'_>]) -> usize {
    let Some(first) = seats.first() else { return 0 };
    let common = seats[1..].iter().fold(first.name.len(), |most, seat| {
        let same = first.name.bytes().zip(seat.name.bytes()).take(most);
        same.take_while(|(one, other)| one == other).count()
    });
    let mut at = if seats.len() == 1 { 0 } else { common };
    while at > 0
        && (!first.name.is_char_boundary(at) || first.name.as_bytes()[at - 1].is_ascii_digit())
    {
        at -= 1;
    }
    at
}

fn area_of(hall: &Hall, area: u16) -> Value {
    let area = hall.area(area);
    json!({
        "name": area.name, "capacity": area.capacity, "grade": area.grade,
        "price_minor": area.price.map(|price| price.minor), "currency": currency(area.price),
        "channel": area.channel, "for_sale": area.for_sale, "extra": String::from_utf8_lossy(area.extra),
    })
}
