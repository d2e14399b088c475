//! Small halls made up at random.

use firstcome_core::hall::{Best, Hall, Orphans, Price, SeatSettings, Standing};
use proptest::prelude::*;
use proptest::sample::select;

/// A seat of a made-up hall.
#[derive(Clone, Debug)]
pub(crate) struct MadeUp {
    pub(crate) name: String,
    pub(crate) section: &'static str,
    pub(crate) row: &'static str,
    pub(crate) quality: u32,
    pub(crate) grade: &'static str,
    pub(crate) price: Option<Price>,
    pub(crate) channel: &'static str,
    pub(crate) accessible: bool,
    pub(crate) companion: bool,
    pub(crate) for_sale: bool,
    pub(crate) group: &'static str,
    pub(crate) extra: Vec<u8>,
    pub(crate) standing: Standing,
}

impl MadeUp {
    pub(crate) fn settings(&self) -> SeatSettings<'_> {
        SeatSettings {
            name: &self.name,
            section: self.section,
            row: self.row,
            number: &self.name[..1],
            x: self.quality as u16 * 3,
            y: self.name.len() as u16,
            quality: self.quality,
            grade: self.grade,
            price: self.price,
            channel: self.channel,
            accessible: self.accessible,
            companion: self.companion,
            for_sale: self.for_sale,
            group: self.group,
            extra: &self.extra,
        }
    }

    /// Says whether it can be taken by itself.
    pub(crate) fn is_open(&self) -> bool {
        self.for_sale && self.group.is_empty() && self.standing.is_free()
    }

    pub(crate) fn is_ordinary(&self) -> bool {
        !self.accessible && !self.companion
    }
}

pub(crate) const EURO: Price = Price { minor: 4_950, currency: *b"EUR" };

fn seat() -> impl Strategy<Value = MadeUp> {
    let standing = prop_oneof![
        7 => Just(Standing::Free),
        2 => (0..5_u32).prop_map(Standing::Held),
        2 => (0..5_u32).prop_map(Standing::Confirmed),
        1 => Just(Standing::Blocked),
    ];
    let place = (select(&["", "N"][..]), select(&["1", "1", "1", "2", "2", ""][..]), 0..6_u32);
    let sold = (select(&["one", "one", "one", "two"][..]), select(&["", "", "", "web"][..]));
    let rare = || prop::bool::weighted(0.08);
    let group = prop_oneof![12 => Just(""), 1 => Just("table"), 1 => Just("box")];
    let rest = (prop::bool::ANY, rare(), rare(), prop::bool::weighted(0.94), group, standing);
    let extra = prop::collection::vec(any::<u8>(), 0..3);
    (place, sold, rest, extra).prop_map(|(place, sold, rest, extra)| MadeUp {
        name: String::new(),
        section: place.0,
        row: place.1,
        quality: place.2,
        grade: sold.0,
        channel: sold.1,
        price: rest.0.then_some(EURO),
        accessible: rest.1,
        companion: rest.2,
        for_sale: rest.3,
        group: rest.4,
        standing: rest.5,
        extra,
    })
}

/// Makes up a hall of 1 to `most` seats.
pub(crate) fn seats(most: usize) -> impl Strategy<Value = Vec<MadeUp>> {
    prop::collection::vec(seat(), 1..=most).prop_map(|mut seats| {
        for (i, seat) in seats.iter_mut().enumerate() {
            seat.name = format!("{i}-{}", seat.row);
        }
        seats
    })
}

pub(crate) fn ask() -> impl Strategy<Value = Best<'static>> {
    let grade = prop_oneof![4 => Just(None), 2 => Just(Some("one")), 1 => Just(Some("none"))];
    let price = prop_oneof![3 => Just(None), 1 => Just(Some(EURO))];
    let channel = prop_oneof![1 => Just(None), 1 => Just(Some("web"))];
    let orphans = select(&[Orphans::Never, Orphans::LastResort, Orphans::Allowed][..]);
    let rules = (prop::bool::weighted(0.2), prop::bool::weighted(0.3), orphans);
    (1..7_u32, grade, price, channel, rules).prop_map(
        |(quantity, grade, price, channel, (accessible, adjacent, orphans))| Best {
            quantity,
            grade,
            price,
            channel,
            accessible,
            adjacent,
            orphans,
        },
    )
}

pub(crate) fn hall(seats: &[MadeUp]) -> Hall {
    let mut hall = Hall::new();
    let settings: Vec<_> = seats.iter().map(MadeUp::settings).collect();
    let (one, other) = settings.split_at(settings.len() / 2);
    hall.add(one, &[]).unwrap();
    hall.add(other, &[]).unwrap();
    for (number, seat) in seats.iter().enumerate() {
        hall.set(number as u32, seat.standing);
    }
    hall
}
