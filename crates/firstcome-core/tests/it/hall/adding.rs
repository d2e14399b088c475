//! Taking seats in, and counting them.

use super::made_up::{MadeUp, hall, seats};
use firstcome_core::hall::{
    AreaSettings, Hall, Kind, Price, SeatSettings, Standing, Unfit, Unit, UnitCounts,
};
use firstcome_core::limits::{CHUNK_SEATS, GROUP_SEATS, ROW_SEATS};
use firstcome_core::names::BadName;
use proptest::prelude::*;

fn refusal(hall: &mut Hall, seats: &[SeatSettings<'_>], areas: &[AreaSettings<'_>]) -> String {
    let before = (hall.seats(), hall.areas(), hall.groups(), hall.counts());
    let why = hall.add(seats, areas).unwrap_err().to_string();
    assert_eq!(
        (hall.seats(), hall.areas(), hall.groups(), hall.counts()),
        before,
        "all or nothing"
    );
    why
}

#[test]
fn a_chunk_is_taken_in_whole_or_not_at_all() {
    let mut hall = Hall::new();
    let seat = SeatSettings::named;
    let table = |name| SeatSettings { group: "table 1", ..seat(name) };
    hall.add(&[seat("A1"), table("T1")], &[AreaSettings::named("floor", 10)]).unwrap();
    let long = "x".repeat(65);
    let cases: &[(&[SeatSettings<'_>], &[AreaSettings<'_>], &str)] = &[
        (&[seat("B1"), seat("A1")], &[], "seat 2 (\"A1\"): its name is given already"),
        (&[seat("B1"), seat("B1")], &[], "seat 2 (\"B1\"): its name is given already"),
        (&[seat("floor")], &[], "seat 1 (\"floor\"): its name is given already"),
        (&[seat("table 1")], &[], "seat 1 (\"table 1\"): its name is given already"),
        (
            &[seat("T"), SeatSettings { group: "T", ..seat("B1") }],
            &[],
            "seat 1 (\"T\"): its name is given already",
        ),
        (
            &[SeatSettings { group: "A1", ..seat("B1") }],
            &[],
            "seat 1 (\"B1\"): its group has the name of a seat or an area",
        ),
        (&[seat("")], &[], "seat 1 (\"\"): its name is empty"),
        (
            &[seat("a\n")],
            &[],
            "seat 1 (\"a\\n\"): its name has '\\n' at byte 1, which is not allowed there",
        ),
        (
            &[SeatSettings { row: &long, ..seat("B1") }],
            &[],
            "seat 1 (\"B1\"): its row has 65 bytes, at most 64 are allowed",
        ),
        (
            &[SeatSettings { price: Some(Price { minor: 1, currency: *b"eur" }), ..seat("B1") }],
            &[],
            "seat 1 (\"B1\"): the currency of its price is not three capital letters",
        ),
        (
            &[SeatSettings { extra: &[0; 257], ..seat("B1") }],
            &[],
            "seat 1 (\"B1\"): its extra bytes are 257, at most 256 are allowed",
        ),
        (
            &[seat("B1")],
            &[AreaSettings::named("B1", 1)],
            "area 1 (\"B1\"): its name is given already",
        ),
        (
            &[seat("B1")],
            &[AreaSettings::named("pit", 0)],
            "area 1 (\"pit\"): a capacity of 0 would let nobody in",
        ),
    ];
    for (seats, areas, why) in cases {
        assert_eq!(refusal(&mut hall, seats, areas), *why);
    }
    hall.set(1, Standing::Held(1));
    assert_eq!(
        refusal(&mut hall, &[table("T2")], &[]),
        "seat 1 (\"T2\"): its group is not free, so it cannot get another seat"
    );
    hall.set(1, Standing::Free);
    hall.add(&[table("T2")], &[]).unwrap();
    assert_eq!(hall.group(0), [1, 2]);
    assert_eq!(hall.find("table 1"), Some(Unit::Group(0)));
    assert_eq!(hall.group_of(2), Some(0));
    assert_eq!((hall.find("A1"), hall.find("floor")), (Some(Unit::Seat(0)), Some(Unit::Area(0))));
    assert_eq!(hall.find("B1"), None);
}

#[test]
fn every_limit_is_kept_to_the_last_one() {
    let named = |many: usize| (0..many).map(|n| n.to_string()).collect::<Vec<String>>();
    let names = named(CHUNK_SEATS + 1);
    let seats: Vec<_> = names.iter().map(|name| SeatSettings::named(name)).collect();
    let mut hall = Hall::new();
    assert_eq!(hall.add(&seats, &[]).unwrap_err().why, Unfit::ChunkFull);
    hall.add(&seats[..CHUNK_SEATS], &[]).unwrap();

    fn first<'a>(
        names: &'a [String],
        fill: impl Fn(&'a str) -> SeatSettings<'a>,
    ) -> (usize, &'static str) {
        let mut hall = Hall::new();
        for (at, name) in names.iter().enumerate() {
            if let Err(bad) = hall.add(&[fill(name)], &[]) {
                let Unfit::TooMany { what, .. } = bad.why else { panic!("{bad}") };
                return (at, what);
            }
        }
        panic!("nothing was refused")
    }
    let seat = SeatSettings::named;
    let some = named(300);
    assert_eq!(first(&some, |name| SeatSettings { grade: name, ..seat(name) }), (256, "grades"));
    assert_eq!(
        first(&some, |name| SeatSettings { channel: name, ..seat(name) }),
        (256, "channels")
    );
    let table = |name| SeatSettings { group: "t", ..seat(name) };
    assert_eq!(first(&some, table), (GROUP_SEATS, "seats in one group"));
    let long = named(ROW_SEATS + 1);
    let rows: Vec<_> = long.iter().map(|n| SeatSettings { row: "r", ..seat(n) }).collect();
    let mut hall = Hall::new();
    hall.add(&rows[..CHUNK_SEATS], &[]).unwrap();
    let bad = hall.add(&rows[CHUNK_SEATS..], &[]).unwrap_err();
    assert_eq!((&*bad.name, bad.at), ("4096", ROW_SEATS - CHUNK_SEATS));
    assert_eq!(bad.why, Unfit::TooMany { what: "seats in one row", most: ROW_SEATS });
    // Also where the seats of several rows are given in turns, and the limit lies in another chunk than the first.
    let turns: Vec<_> = long
        .iter()
        .enumerate()
        .map(|(at, name)| SeatSettings { row: ["r", "s", "t"][at % 3], section: "x", ..seat(name) })
        .collect();
    let mut hall = Hall::new();
    hall.add(&turns[..CHUNK_SEATS], &[]).unwrap();
    hall.add(&turns[CHUNK_SEATS..], &[]).unwrap();
    let more: Vec<String> = (0..ROW_SEATS).map(|n| format!("more{n}")).collect();
    let turn = |row: &'static str, name| SeatSettings { row, section: "x", ..seat(name) };
    let there = turns.iter().filter(|seat| seat.row == "r").count();
    for chunk in more[..ROW_SEATS - there - 1].chunks(CHUNK_SEATS) {
        let chunk: Vec<_> = chunk.iter().map(|name| turn("r", name)).collect();
        hall.add(&chunk, &[]).unwrap();
    }
    // One fits; it comes in between others, and so does the next.
    let last = [("a", "r"), ("b", "s"), ("c", "t"), ("d", "r")].map(|(name, row)| turn(row, name));
    let bad = hall.add(&last, &[]).unwrap_err();
    assert_eq!((&*bad.name, bad.at), ("d", 3));
    assert_eq!(bad.why, Unfit::TooMany { what: "seats in one row", most: ROW_SEATS });
    hall.add(&last[..3], &[]).unwrap();
    let too_long = "x".repeat(65);
    let bad = Hall::new().add(&[SeatSettings::named(&too_long)], &[]).unwrap_err();
    assert_eq!(bad.why, Unfit::Name(BadName::TooLong { bytes: 65, most: 64 }));
}

#[test]
fn units_of_a_pool_that_32_bits_cannot_count_are_refused_and_nothing_is_added() {
    let most = u32::MAX;
    let too_many = Unfit::TooMany { what: "units", most: most as usize };
    let area = AreaSettings::named;
    // Together in one command, in two, and with seats.
    let mut hall = Hall::new();
    let bad = hall.add(&[], &[area("a", most), area("b", 1)]).unwrap_err();
    assert_eq!((bad.at, bad.area, &bad.why), (1, true, &too_many));
    assert_eq!(hall.counts().all(), 0);
    hall.add(&[], &[area("a", most)]).unwrap();
    assert_eq!(hall.add(&[SeatSettings::named("A1")], &[]).unwrap_err().why, too_many);
    assert_eq!(hall.add(&[], &[area("b", 1)]).unwrap_err().why, too_many);
    assert_eq!((hall.counts().all(), hall.seats()), (most, 0));
    let mut hall = Hall::new();
    let bad = hall.add(&[SeatSettings::named("A1")], &[area("a", most)]).unwrap_err();
    assert_eq!((bad.area, bad.why), (true, too_many));
}

#[test]
fn places_of_an_area_are_never_more_than_it_has() {
    let mut hall = Hall::new();
    hall.add(&[], &[AreaSettings::named("floor", 10)]).unwrap();
    assert!(hall.shift(0, 7, Kind::Free, Kind::Held));
    assert!(!hall.shift(0, 4, Kind::Free, Kind::Held));
    assert!(hall.shift(0, 5, Kind::Held, Kind::Confirmed));
    assert!(!hall.shift(0, 3, Kind::Held, Kind::Free));
    assert!(hall.shift(0, 3, Kind::Free, Kind::Blocked));
    let all = UnitCounts { free: 0, held: 2, confirmed: 5, blocked: 3, left: 0 };
    assert_eq!((hall.area_counts(0), hall.counts()), (all, all));
}

/// Counts afresh.
fn counted(hall: &Hall, made_up: &[MadeUp], of: impl Fn(&MadeUp) -> bool) -> UnitCounts {
    let mut counts = UnitCounts::default();
    for (seat, made_up) in made_up.iter().enumerate().filter(|(_, made_up)| of(made_up)) {
        let free = hall.standing(seat as u32).is_free();
        match hall.standing(seat as u32) {
            Standing::Free => counts.free += 1,
            Standing::Held(_) => counts.held += 1,
            Standing::Confirmed(_) => counts.confirmed += 1,
            Standing::Blocked => counts.blocked += 1,
        }
        counts.left += u32::from(free && made_up.for_sale);
    }
    counts
}

proptest! {
    #[test]
    fn free_held_confirmed_and_blocked_are_all_at_every_step(
        made_up in seats(20),
        steps in prop::collection::vec((any::<prop::sample::Index>(), 0..4_u8, any::<u32>()), 0..40),
    ) {
        let mut hall = hall(&made_up);
        let mut stand: Vec<Standing> = made_up.iter().map(|seat| seat.standing).collect();
        for (seat, kind, number) in steps {
            let seat = seat.index(made_up.len());
            stand[seat] = match kind {
                0 => Standing::Free,
                1 => Standing::Held(number),
                2 => Standing::Confirmed(number),
                _ => Standing::Blocked,
            };
            hall.set(seat as u32, stand[seat]);
            prop_assert!((0..).zip(&stand).all(|(seat, stand)| hall.standing(seat) == *stand));
            prop_assert_eq!(hall.counts(), counted(&hall, &made_up, |_| true));
            prop_assert_eq!(hall.counts().all() as usize, made_up.len());
            let mut all = 0;
            for (grade, counts) in hall.grades() {
                prop_assert_eq!(counts, counted(&hall, &made_up, |seat| seat.grade == grade));
                prop_assert_eq!(counts, hall.grade_counts(grade));
                all += counts.all();
            }
            prop_assert_eq!(all, hall.seats());
        }
        for (number, seat) in made_up.iter().enumerate() {
            prop_assert_eq!(hall.seat(number as u32), seat.settings());
            prop_assert_eq!(hall.find(&seat.name), Some(Unit::Seat(number as u32)));
        }
    }
}
