//! Best seats and orphans, told with drawings.

use super::drawn::house;

#[test]
fn the_best_seats_are_in_front_and_in_the_middle() {
    house(
        "A ......
         B ......",
        "best 2   -> A3 A4
         take A3 A4
         best 2   -> A1 A2
         best 6   -> B1 B2 B3 B4 B5 B6
         best 1   -> B3
         best 3   -> B1 B2 B3              # around the middle, one would be left at the end
         ",
    );
}

#[test]
fn nobody_is_left_alone_in_a_row() {
    house(
        "A ..c...c.
         B ......",
        "orphan A1        -> A2
         orphan A1 A2     -> none           # the rest of a run
         orphan A8        -> none           # it was alone before
         orphan A5        -> A4             # two at once: the first is told
         orphan A4 A6     -> A5
         orphan A4 A5     -> A6
         orphan A4 A5 allowed -> none
         orphan B2 B3     -> B1
         orphan B1 B2     -> none
         orphan B1 B3     -> B2
         orphan B2 B3 A1  -> A2             # by number, not as given
        ",
    );
}

#[test]
fn an_orphan_is_excused_where_it_cannot_be_helped() {
    house(
        "A ...c...",
        "orphan A1 A2       -> none         # three are left in each: two together always leave one
         orphan A1 A2 never -> A3
         orphan A2          -> A1           # one can be had without: A1 leaves two
         best 2             -> A2 A3
         best 2 never       -> A3 A5       # apart, but nobody is left alone
         best 2 adjacent never -> orphan
         best 4 adjacent    -> apart
         best 4             -> A1 A2 A3 A5
         best 5 never       -> orphan
         best 6 never       -> A1 A2 A3 A5 A6 A7
         best 7             -> only 6
        ",
    );
}

#[test]
fn other_grades_accessible_seats_and_tables_end_a_stretch() {
    house(
        "A ..22..
         B ..aak.
         C ..tt..
         D .b-.hw",
        "orphan A1       -> A2
         orphan A3       -> none            # of grade two there is no single seat that would help it
         orphan A3 never -> A4
         orphan A2 A3    -> A1
         orphan B1       -> B2
         orphan B3       -> none            # what is left of accessible seats is nobody's orphan
         orphan B6       -> none
         orphan C3 C4    -> none            # the table: its neighbours were never company for it
         orphan C1       -> C2
         orphan D1       -> none
         best 2 two      -> A3 A4
         best 2 accessible -> B3 B4
         best 3 accessible adjacent -> B3 B4 B5
         best 1 accessible -> B3
         best 4 accessible -> only 3
         best 3 adjacent -> A2 A3 A4        # grades may differ; A1 alone cannot be helped
        ",
    );
}

#[test]
fn a_channel_has_its_own_seats_and_those_of_none() {
    house(
        "A wwww
         B ....",
        "best 2      -> B1 B2               # better ones would leave one at either end
         best 2 allowed -> B2 B3
         best 2 web  -> A1 A2
         best 5      -> only 4
         best 5 web  -> A1 A2 A3 A4 B1
        ",
    );
}

#[test]
fn seats_apart_are_near_each_other() {
    house(
        "N/A ..c..c.
         N/B ..c..c.
         S/A ..c..c.",
        "best 3        -> N/A1 N/A2 N/A7     # of one row, where the single seat harms nobody
         best 4        -> N/A1 N/A2 N/A4 N/A5
         best 5        -> N/A1 N/A2 N/A4 N/A5 N/A7
         best 7        -> N/A1 N/A2 N/A4 N/A5 N/A7 N/B1 N/B2
         best 15       -> N/A1 N/A2 N/A4 N/A5 N/A7 N/B1 N/B2 N/B4 N/B5 N/B7 S/A1 S/A2 S/A4 S/A5 S/A7
         best 16       -> only 15
         best 3 adjacent -> apart
        ",
    );
}

#[test]
fn the_seat_that_helps_may_be_far_away() {
    let pairs: Vec<String> = (0..300).map(|section| format!("{section}/A ..")).collect();
    let drawing = format!("{}\nlast/A .", pairs.join("\n"));
    house(
        &drawing,
        "best 3 never    -> 0/A1 0/A2 last/A1
         best 3          -> 0/A1 0/A2 last/A1
         best 3 allowed  -> 0/A1 0/A2 1/A1
         best 4          -> 0/A1 0/A2 1/A1 1/A2
         take last/A1
         best 3 never    -> orphan
         best 3          -> 0/A1 0/A2 1/A1
        ",
    );
}
