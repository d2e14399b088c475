//! Changing seats: their names, grades and prices.

use crate::play::{play, play_on};
use crate::snapshots::{restored, taken};
use crate::world::World;
use firstcome_core::hall::Price;
use firstcome_inject::{Mistake, set};

fn hall() -> World {
    play(
        "
        0s  op  puts hall: main seated; ttl 60s; many; orphans; opens 100s; grade R 1 -> created 1
        0s  op  adds hall/main: A1 A2 A3 A4; B1 B2 grade=S price=900KRW; T1a T1b group=T1; GA area=9 -> imported 8 seats 1 areas
        ",
    )
}

#[test]
fn before_the_opening_all_seats_can_be_changed() {
    let mut world = play_on(
        hall(),
        "
        1s  op reseats hall/main: A1 grade=R price=1000KRW; B2 price=800KRW; A2 name=C1 -> seats_changed 3
        1s  op reseats hall/main: A1 grade=R price=1000KRW; B2 price=800KRW -> seats_changed 0
        2s  op reseats hall/main: A2 grade=R -> no_such_unit A2
        2s  op reseats hall/main: GA grade=R -> no_such_unit GA
        2s  op reseats hall/main: A3 name=A4 -> bad_seat A3 0: its name is given already
        2s  op reseats hall/main: A3 name=T1 -> bad_seat A3 0: its name is given already
        2s  op reseats hall/main: A3 name=A2 -> bad_seat A3 0: its name is given already   # it was C1's
        2s  op reseats hall/main: A3 name=X; A4 name=X -> bad_seat A4 1: its name is given already
        2s  op adds hall/main: A2 -> bad_seat A2 0: its name is given already
        2s  op adds hall/main: Z1 group=A2 -> bad_seat Z1 0: its group has the name of a seat or an area
        3s  op reseats hall/none: A1 grade=R -> not_found pool
        ",
    );
    let look = |world: &World| {
        let hall = world.state.campaign("hall").unwrap().pool("main").unwrap().hall().unwrap();
        let price = |minor| Some(Price { minor, currency: *b"KRW" });
        assert_eq!((hall.seat(0).grade, hall.price_of(0)), ("R", price(1_000)));
        assert_eq!((hall.seat(1).name, hall.seat(1).grade), ("C1", ""));
        assert_eq!((hall.seat(5).grade, hall.price_of(5)), ("S", price(800)));
        let counts = |grade| hall.grade_counts(grade).left;
        assert_eq!([counts(""), counts("R"), counts("S")], [14, 1, 2]);
        assert_eq!(hall.changes(), 1);
        assert_eq!(world.state.memory(), world.state.walked_memory());
    };
    look(&world);
    let snapshot = taken(&world.state, true);
    let back = restored(&snapshot);
    assert_eq!(taken(&back, true), snapshot);
    world.replace_twin(back);
    look(&world);
    play_on(
        world,
        "
        4s   op  reseats hall/main: C1 name=A2 -> seats_changed 1     # its own name again
        5s   op  adds hall/main: C1 -> imported 1 seats 0 areas
        100s ann holds h1 hall A1 -> held A1 until 160s
        100s bob holds h2 hall best 1 grade=R -> sold_out
        101s op  reseats hall/main: A3 grade=R -> seats_changed 1
        101s bob holds h2 hall best 1 grade=R -> held A3 until 161s
        101s ann holds h3 hall A3 -> limit_reached                    # of grade R she has one
        ",
    );
}

#[test]
fn after_the_opening_only_those_that_nobody_has_or_had() {
    let script = "
        100s ann holds h1 hall A1 A2 -> held A1 A2 until 160s
        100s op  reseats hall/main: A1 grade=R; A3 grade=R; A2 grade=R -> unit_taken A1 A2
        101s ann confirms h1 hall A1 -> confirmed A1=1 left 1
        102s ann releases h1 hall -> released A1 A2
        103s op  reseats hall/main: A2 grade=R -> seats_changed 1
        104s ann cancels hall/main 1 -> cancelled by subject at 104s
        105s op  reseats hall/main: A1 grade=R -> unit_taken A1       # it stands in the results
        106s op  blocks hall A4 -> blocked 1
        106s op  reseats hall/main: A4 price=5EUR -> seats_changed 1
        107s op  closes hall -> changed 2
        107s op  reseats hall/main: A3 grade=R -> closed
        ";
    let script = script.replace("released A1 A2", "released A2");
    play_on(hall(), &script);
}

#[test]
#[should_panic(expected = "came: seats_changed 1")]
fn a_sold_seat_that_is_changed_is_noticed() {
    set(Some(Mistake::ChangeSoldSeats));
    play_on(
        hall(),
        "
        100s ann holds h1 hall A1 -> held A1 until 160s
        101s ann confirms h1 hall -> confirmed A1=1
        102s op  reseats hall/main: A1 grade=R -> unit_taken A1
        ",
    );
}

#[test]
fn a_restored_hall_has_the_grades_and_prices_that_came_and_went() {
    let mut world = hall();
    for n in 0..300 {
        let said = if n < 255 {
            "seats_changed 1"
        } else {
            "bad_seat A1 0: the pool would have more than 256 grades"
        };
        world = play_on(world, &format!("1s op reseats hall/main: A1 grade=G{n} -> {said}"));
        if n == 200 {
            world.replace_twin(restored(&taken(&world.state, true)));
        }
    }
}
