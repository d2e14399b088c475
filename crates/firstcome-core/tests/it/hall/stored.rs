//! Halls as bytes: in a command, and in a snapshot.

use super::made_up::{EURO, MadeUp, ask, hall, seats};
use firstcome_core::hall::bytes::ChunkWriter;
use firstcome_core::hall::{
    AreaSettings, Best, Chunk, Hall, Kind, Price, SeatSettings, Standing, Unit,
};
use firstcome_core::limits::PIECE_BYTES;
use firstcome_core::names::PieceName;
use firstcome_core::wire::{Malformed, Reader};
use proptest::prelude::*;

/// Each part of a hall, whether it is sealed, and its bytes.
fn parts(hall: &Hall) -> Vec<(bool, Vec<u8>)> {
    let part = |part: firstcome_core::hall::pieces::HallPart| {
        let mut out = Vec::new();
        part.encode(&mut out);
        (part.is_sealed(), out)
    };
    hall.freeze().map(part).collect()
}

fn restored<'a>(parts: impl Iterator<Item = &'a [u8]>) -> Result<Hall, Malformed> {
    let mut hall = Hall::new();
    for bytes in parts {
        let piece = PieceName::of(bytes);
        Reader::new(bytes).fields(|field, value| hall.restore(field, value, piece))?;
    }
    Ok(hall)
}

fn same(one: &Hall, other: &Hall, asks: &[Best<'_>]) {
    assert_eq!(one.seats(), other.seats());
    for seat in 0..one.seats() {
        assert_eq!(one.seat(seat), other.seat(seat));
        assert_eq!(one.standing(seat), other.standing(seat));
        assert_eq!(other.find(one.name(Unit::Seat(seat))), Some(Unit::Seat(seat)));
    }
    assert_eq!(one.areas(), other.areas());
    for area in 0..one.areas() {
        assert_eq!(one.area(area), other.area(area));
        assert_eq!(one.area_counts(area), other.area_counts(area));
        assert_eq!(other.find(one.name(Unit::Area(area))), Some(Unit::Area(area)));
    }
    assert_eq!(one.groups(), other.groups());
    for group in 0..one.groups() {
        assert_eq!(one.group(group), other.group(group));
        assert_eq!(other.find(one.name(Unit::Group(group))), Some(Unit::Group(group)));
    }
    assert_eq!(one.counts(), other.counts());
    assert!(one.grades().eq(other.grades()));
    assert!(one.rows().eq(other.rows()));
    assert!(one.letters().eq(other.letters()));
    for ask in asks {
        assert_eq!(one.best(ask), other.best(ask));
    }
}

fn with_areas(seats: &[MadeUp], taken: &[(u32, u32, u32)]) -> Hall {
    let mut hall = hall(seats);
    for (number, (held, confirmed, blocked)) in taken.iter().enumerate() {
        let name = format!("floor {number}");
        let grade = ["three", "one"][number % 2];
        let capacity = held + confirmed + blocked + 1;
        let area = AreaSettings { grade, extra: b"x", ..AreaSettings::named(&name, capacity) };
        hall.add(&[], &[AreaSettings { price: Some(EURO), channel: "web", ..area }]).unwrap();
        let number = number as u16;
        assert!(hall.shift(number, *held, Kind::Free, Kind::Held));
        assert!(hall.shift(number, *confirmed, Kind::Free, Kind::Confirmed));
        assert!(hall.shift(number, *blocked, Kind::Free, Kind::Blocked));
    }
    hall
}

proptest! {
    #[test]
    fn a_chunk_reads_back_as_it_was_written(made_up in seats(30), capacity in 1..u32::MAX) {
        let seats: Vec<_> = made_up.iter().map(MadeUp::settings).collect();
        let area = AreaSettings { channel: "web", for_sale: false, ..AreaSettings::named("floor", capacity) };
        let chunk = Chunk { seats, areas: vec![area, AreaSettings::named("pit", 1)] };
        let mut bytes = Vec::new();
        chunk.encode(&mut bytes);
        prop_assert_eq!(Chunk::decode(Reader::new(&bytes)).unwrap(), chunk);
    }

    #[test]
    fn a_hall_comes_back_from_its_pieces(
        seats in seats(30),
        taken in prop::collection::vec((0..300_u32, 0..300_u32, 0..300_u32), 0..3),
        asks in prop::collection::vec(ask(), 3),
    ) {
        let hall = with_areas(&seats, &taken);
        let pieces = parts(&hall);
        let again = restored(pieces.iter().map(|(_, bytes)| &**bytes)).unwrap();
        same(&hall, &again, &asks);
        prop_assert_eq!(parts(&again), pieces);
    }

    #[test]
    fn no_bytes_make_it_panic(
        seats in seats(12),
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..4),
        turned in any::<bool>(),
        cut in any::<prop::sample::Index>(),
    ) {
        let hall = with_areas(&seats, &[(1, 2, 3)]);
        let mut pieces: Vec<Vec<u8>> = parts(&hall).into_iter().map(|(_, bytes)| bytes).collect();
        if turned {
            pieces.rotate_left(1);
        }
        let mut all: Vec<u8> = pieces.concat();
        for (place, byte) in changes {
            let place = place.index(all.len());
            all[place] = byte;
        }
        all.truncate(cut.index(all.len() * 4).max(1));
        if let Ok(hall) = restored([&*all].into_iter()) {
            prop_assert_eq!(hall.letters().count(), hall.seats() as usize);
            for ask in [1, 2, 5].map(Best::of) {
                prop_assert!(hall.best(&ask).is_ok_and(|seats| seats.len() == ask.quantity as usize)
                    || hall.best(&ask).is_err());
            }
        }
    }
}

#[test]
fn every_byte_of_a_seat_is_as_documented() {
    let mut chunk = ChunkWriter::new();
    let seat = SeatSettings {
        section: "N",
        row: "A",
        number: "12",
        x: 300,
        y: 7,
        quality: 9,
        grade: "A",
        price: Some(Price { minor: 4_950, currency: *b"EUR" }),
        companion: true,
        group: "T1",
        extra: &[0xff],
        ..SeatSettings::named("A12")
    };
    chunk.seat(&seat);
    chunk.area(&AreaSettings { grade: "A", ..AreaSettings::named("floor", 500) });
    let page = include_str!("../../../../../docs/reference/journal-format.md");
    let (_, rest) = page.split_once("# a hall\n").expect("the page has the example");
    let (example, _) = rest.split_once("```").expect("the example ends");
    let documented: Vec<u8> = example
        .lines()
        .filter_map(|line| line.split('#').next())
        .flat_map(str::split_whitespace)
        .map(|byte| u8::from_str_radix(byte, 16).expect("two digits"))
        .collect();
    let written: Vec<String> = chunk.as_bytes().iter().map(|byte| format!("{byte:02x}")).collect();
    assert_eq!(chunk.as_bytes(), documented, "{}", written.join(" "));
}

/// The largest seats there can be, so many that there are several runs of them.
fn large() -> Hall {
    let mut hall = Hall::new();
    for chunk in 0..12_u32 {
        let names: Vec<String> = (0..200).map(|n| format!("{:064}", chunk * 200 + n)).collect();
        let seats: Vec<_> = names
            .iter()
            .map(|name| SeatSettings {
                section: name,
                row: name,
                number: name,
                quality: u32::MAX,
                x: u16::MAX,
                y: u16::MAX,
                extra: &[0xff; 256],
                ..SeatSettings::named(name)
            })
            .collect();
        hall.add(&seats, &[]).unwrap();
    }
    hall
}

#[test]
fn a_sealed_part_is_written_once_in_its_life_and_fits_a_piece() {
    let mut hall = large();
    let before = parts(&hall);
    assert!(before.iter().filter(|(sealed, _)| *sealed).count() > 2, "several are sealed");
    assert!(before.iter().all(|(_, bytes)| bytes.len() + 64 <= PIECE_BYTES), "and fit a piece");
    for part in hall.freeze() {
        let mut bytes = Vec::new();
        part.encode(&mut bytes);
        assert_eq!(part.stored(), None);
        part.set_stored(PieceName::of(&bytes));
        assert_eq!(part.stored().is_some(), part.is_sealed());
    }
    hall.set(3, Standing::Held(u32::MAX));
    hall.add(&[SeatSettings::named("one more")], &[]).unwrap();
    let stored = hall.freeze().filter(|part| part.is_sealed() && part.stored().is_some());
    assert_eq!(stored.count(), before.iter().filter(|(sealed, _)| *sealed).count());
    // A hall that was restored knows what its store has.
    let again = restored(parts(&hall).iter().map(|(_, bytes)| &**bytes)).unwrap();
    let names = |hall: &Hall| hall.freeze().map(|part| part.stored()).collect::<Vec<_>>();
    assert_eq!(names(&again), names(&hall));
}

#[test]
fn a_snapshot_under_way_does_not_see_what_comes_after() {
    let mut hall = large();
    let before = parts(&hall);
    let frozen: Vec<_> = hall.freeze().collect();
    hall.set(0, Standing::Blocked);
    hall.add(&[SeatSettings::named("later")], &[]).unwrap();
    let written = frozen.iter().map(|part| {
        let mut out = Vec::new();
        part.encode(&mut out);
        (part.is_sealed(), out)
    });
    assert!(written.eq(before));
}

#[test]
fn parts_that_do_not_fit_are_refused() {
    let one = hall(&[]);
    assert_eq!(parts(&one), []);
    let mut hall = Hall::new();
    hall.add(&[SeatSettings::named("a"), SeatSettings::named("b")], &[]).unwrap();
    hall.add(&[], &[AreaSettings::named("floor", 2)]).unwrap();
    hall.set(1, Standing::Held(1));
    let parts: Vec<Vec<u8>> = parts(&hall).into_iter().map(|(_, bytes)| bytes).collect();
    let order = |places: &[usize]| restored(places.iter().map(|place| &*parts[*place]));
    assert!(order(&[0, 1, 2]).is_ok());
    assert_eq!(order(&[0, 0]).unwrap_err().what, "seats that do not fit the hall");
    assert_eq!(order(&[0, 1, 1]).unwrap_err().what, "an area that does not fit the hall");
    assert_eq!(order(&[2]).unwrap_err().what, "the standing of an unknown seat");
}
