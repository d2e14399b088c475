//! Where the seats of a hall are and what they cost: the part of a map that seldom changes.

use firstcome_core::hall::{Hall, SeatSettings};
use serde_json::{Map, Value, json};

/// The layout of a hall, as members of a JSON object.
#[derive(Debug)]
pub(in crate::http) struct Layout {
    seats: u32,
    areas: u16,
    pub(super) text: String,
}

impl Layout {
    /// Says whether it is the layout of this hall still: seats and areas are added only.
    pub(super) fn is_of(&self, hall: &Hall) -> bool {
        (self.seats, self.areas) == (hall.seats(), hall.areas())
    }

    pub(super) fn of(hall: &Hall) -> Self {
        let rows: Vec<Value> = hall.rows().map(|row| row_of(hall, row.seats)).collect();
        let areas: Vec<Value> = (0..hall.areas()).map(|area| area_of(hall, area)).collect();
        let groups: Vec<Value> = (0..hall.groups())
            .map(|group| {
                let name = hall.name(firstcome_core::hall::Unit::Group(group));
                json!({"name": name, "seats": hall.group(group)})
            })
            .collect();
        let whole = json!({"rows": rows, "areas": areas, "groups": groups}).to_string();
        // The members without the braces around them.
        let text = &whole[1..whole.len() - 1];
        Self { seats: hall.seats(), areas: hall.areas(), text: text.to_owned() }
    }
}

/// A row: its seats' numbers in the standing letters, their names behind a common beginning, and columns of
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

/// Gives how many bytes the names of a row begin with in common, and not within a letter or a number.
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
