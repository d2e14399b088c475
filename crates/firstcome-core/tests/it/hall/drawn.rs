//! Scripts over a house that is drawn: `.` free, `h` held, `c` confirmed, `b` blocked, `-` not for sale, `a` accessible,
//! `k` a companion's, `t` part of the table of its row, `2` of grade two, `w` sold through the web only.

use firstcome_core::hall::{Best, Hall, NoBest, Orphans, SeatSettings, Standing};

/// Draws a hall of one row a line and plays a script on it: `best 2 -> A1 A2`, `orphan A1 -> A2`, `take A1 A2`, `free A1`.
/// Better seats are further to the front and the middle.
pub(crate) fn house(drawing: &str, script: &str) {
    let mut hall = drawn(drawing);
    for line in script.lines().map(str::trim).filter(|line| !line.is_empty()) {
        let line = line.split('#').next().unwrap().trim();
        let (asked, expected) = line.split_once("->").unwrap_or((line, ""));
        let answer = ask(&mut hall, asked.trim());
        assert_eq!(answer, expected.trim(), "{line}\n{}", picture(&hall));
    }
}

fn drawn(drawing: &str) -> Hall {
    let mut hall = Hall::new();
    let lines = drawing.lines().map(str::trim).filter(|line| !line.is_empty());
    for (depth, line) in lines.enumerate() {
        let (row, letters) = line.split_once(' ').unwrap();
        let letters: Vec<char> = letters.trim().chars().collect();
        for (place, letter) in letters.iter().enumerate() {
            let name = format!("{row}{}", place + 1);
            let table = format!("table {row}");
            let middle = (2 * place + 1).abs_diff(letters.len());
            let seat = SeatSettings {
                section: row.split_once('/').map_or("", |(section, _)| section),
                row,
                quality: (depth * 100 + middle) as u32,
                grade: if *letter == '2' { "two" } else { "one" },
                channel: if *letter == 'w' { "web" } else { "" },
                accessible: *letter == 'a',
                companion: *letter == 'k',
                for_sale: *letter != '-',
                group: if *letter == 't' { &table } else { "" },
                ..SeatSettings::named(&name)
            };
            hall.add(&[seat], &[]).unwrap();
            let standing = match letter {
                'h' => Standing::Held(7),
                'c' => Standing::Confirmed(9),
                'b' => Standing::Blocked,
                _ => Standing::Free,
            };
            hall.set(hall.seats() - 1, standing);
        }
    }
    hall
}

pub(crate) fn picture(hall: &Hall) -> String {
    let mut picture = String::new();
    for row in hall.rows() {
        picture += &format!("{:>8} ", row.name);
        picture.extend(row.seats.iter().map(|seat| char::from(hall.letter(*seat))));
        picture += "\n";
    }
    picture
}

fn ask(hall: &mut Hall, asked: &str) -> String {
    let mut words = asked.split_whitespace();
    let verb = words.next().unwrap();
    let words: Vec<&str> = words.collect();
    let seat = |name: &&str| match hall.find(name) {
        Some(firstcome_core::hall::Unit::Seat(seat)) => Some(seat),
        Some(_) | None => None,
    };
    let named: Vec<u32> = words.iter().filter_map(seat).collect();
    let has = |word| words.contains(&word);
    let orphans = match (has("never"), has("allowed")) {
        (true, _) => Orphans::Never,
        (_, true) => Orphans::Allowed,
        _ => Orphans::LastResort,
    };
    match verb {
        "best" => {
            let best = Best {
                grade: if has("two") { Some("two") } else { None },
                channel: if has("web") { Some("web") } else { None },
                accessible: has("accessible"),
                adjacent: has("adjacent"),
                orphans,
                ..Best::of(words[0].parse().unwrap())
            };
            match hall.best(&best) {
                Ok(seats) => names(hall, &seats),
                Err(NoBest::TooFew { left }) => format!("only {left}"),
                Err(NoBest::Apart) => "apart".into(),
                Err(NoBest::Orphan) => "orphan".into(),
            }
        }
        "orphan" => hall.orphan(&named, orphans).map_or("none".into(), |seat| names(hall, &[seat])),
        "take" => {
            named.iter().for_each(|seat| hall.set(*seat, Standing::Held(1)));
            String::new()
        }
        "free" => {
            named.iter().for_each(|seat| hall.set(*seat, Standing::Free));
            String::new()
        }
        other => panic!("{other}?"),
    }
}

fn names(hall: &Hall, seats: &[u32]) -> String {
    let names = seats.iter().map(|seat| hall.name(firstcome_core::hall::Unit::Seat(*seat)));
    names.collect::<Vec<_>>().join(" ")
}
