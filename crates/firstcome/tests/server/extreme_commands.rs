//! Commands drawn from the ends of every range, and from what is just beyond.

use firstcome_core::command::{BestPick, Late, Mark, Order, Pick, Steer, Step, Wanted};
use firstcome_core::hall::{AreaSettings, Chunk, Price, SeatChange, SeatSettings};
use firstcome_core::outcome::By;
use firstcome_core::settings::{GradeLimit, HoldSettings, HoldsEach, Opens, PoolSettings};
use firstcome_core::{Command, Expect, Settings, Timestamp};
use proptest::prelude::*;
use proptest::sample::select;
use std::sync::LazyLock;

/// The seats of the hall; the last two are a table.
pub(crate) const SEATS: [&str; 6] = ["A1", "A2", "A3", "A4", "T1", "T2"];
/// Texts that are too long, empty, or of characters that are not allowed everywhere.
static TEXTS: LazyLock<Vec<&'static str>> = LazyLock::new(|| {
    let long = |bytes| -> &'static str { "n".repeat(bytes).leak() };
    let mut texts = vec!["", "-", "\u{1f39f}\u{fe0f}", "a\u{0}", "A", "\u{202e}x"];
    texts.extend([63, 64, 65, 255, 256, 257].map(long));
    texts
});
/// Times in microseconds: the ends of the range, of what a hold may last, and of now.
const MICROS: [i64; 11] = [
    i64::MIN,
    i64::MIN + 1,
    -1,
    0,
    1,
    999_999,
    1_000_000,
    86_400_000_000,
    86_400_000_001,
    i64::MAX - 1,
    i64::MAX,
];

/// Returns the settings of an open campaign of one pool.
pub(crate) fn plain() -> Settings {
    let holding = HoldSettings { each: HoldsEach::Many, per_hour: 1_000, ..Default::default() };
    Settings {
        title: "".into(),
        opens: Opens::Now,
        closes_at: None,
        limit: None,
        claim_again: true,
        units_return: true,
        public: false,
        pools: vec![PoolSettings::counted("main", 1_000)],
        holding,
    }
}

fn number() -> impl Strategy<Value = u32> {
    select(vec![0, 1, 2, 4, 100, 101, 500, 501, 1_000, u32::MAX - 1, u32::MAX])
}

fn number64() -> impl Strategy<Value = u64> {
    select(vec![0, 1, 2, u64::from(u32::MAX), i64::MAX as u64, u64::MAX - 1, u64::MAX])
}

fn micros() -> impl Strategy<Value = i64> {
    select(&MICROS[..])
}

fn moment() -> impl Strategy<Value = Timestamp> {
    micros().prop_map(Timestamp::from_micros)
}

fn maybe<T: Clone + std::fmt::Debug>(
    inner: impl Strategy<Value = T>,
) -> impl Strategy<Value = Option<T>> {
    prop::option::of(inner)
}

/// One of these, seldom a text that nothing is called.
fn of(usual: &'static [&'static str]) -> impl Strategy<Value = &'static str> {
    prop_oneof![12 => select(usual), 1 => select(&TEXTS[..])]
}

fn campaign() -> impl Strategy<Value = &'static str> {
    of(&["hall", "hall", "hall", "hall", "new"])
}

fn pool() -> impl Strategy<Value = &'static str> {
    of(&["main", "seats"])
}

fn subject() -> impl Strategy<Value = &'static str> {
    of(&["ann", "bob", "eve"])
}

fn id() -> impl Strategy<Value = &'static str> {
    of(&["h1", "h2", "h3", "h4"])
}

fn unit() -> impl Strategy<Value = &'static str> {
    of(&["A1", "A2", "A3", "A4", "T1", "table", "area", "field", "new", "1"])
}

fn price() -> BoxedStrategy<Price> {
    let currency = prop_oneof![9 => Just(*b"EUR"), 1 => Just([0xff; 3])];
    (micros(), currency).prop_map(|(minor, currency)| Price { minor, currency }).boxed()
}

fn order() -> BoxedStrategy<Order<'static>> {
    (maybe(of(&["o1", "o2"])), of(&["ops", "desk"])).prop_map(|(id, who)| Order { id, who }).boxed()
}

fn settings() -> BoxedStrategy<Settings> {
    let opens = prop_oneof![
        6 => Just(Opens::Now),
        1 => Just(Opens::Undecided),
        2 => moment().prop_map(Opens::At),
    ];
    let holding = prop_oneof![
        2 => Just(plain().holding),
        1 => (micros(), micros(), number(), any::<bool>(), grades()).prop_map(
            |(ttl_us, max_us, per_hour, allow_orphans, grades)| HoldSettings {
                ttl_us,
                max_us,
                each: HoldsEach::One,
                per_hour,
                allow_orphans,
                grades,
                offer_us: plain().holding.offer_us,
            },
        ),
    ];
    let rules = (any::<bool>(), any::<bool>());
    (of(&["", "Spring"]), opens, maybe(moment()), maybe(number()), rules, pools(), holding)
        .prop_map(
            |(title, opens, closes_at, limit, (claim_again, units_return), pools, holding)| {
                Settings {
                    title: title.into(),
                    opens,
                    closes_at,
                    limit,
                    claim_again,
                    units_return,
                    public: false,
                    pools,
                    holding,
                }
            },
        )
        .boxed()
}

fn grades() -> BoxedStrategy<Vec<GradeLimit>> {
    let grade = (of(&["", "gold"]), number());
    let grade = grade.prop_map(|(grade, limit)| GradeLimit { grade: grade.into(), limit });
    prop_oneof![
        9 => prop::collection::vec(grade, 0..3),
        1 => (64..66_usize).prop_map(|many| {
            (0..many).map(|n| GradeLimit { grade: n.to_string().into(), limit: 1 }).collect()
        }),
    ]
    .boxed()
}

fn pools() -> BoxedStrategy<Vec<PoolSettings>> {
    let usual = (number(), maybe(number())).prop_map(|(capacity, limit)| {
        let main = PoolSettings { limit, ..PoolSettings::counted("main", capacity) };
        vec![main, PoolSettings::seated("seats")]
    });
    let odd = (of(&["main", "seats"]), number())
        .prop_map(|(name, capacity)| vec![PoolSettings { capacity, ..PoolSettings::seated(name) }]);
    let many = (0..258_usize).prop_map(|many| {
        (0..many).map(|n| PoolSettings::counted(&format!("p{n}"), u32::MAX - 1)).collect()
    });
    prop_oneof![12 => usual, 1 => odd, 1 => many].boxed()
}

fn pick() -> BoxedStrategy<Pick<'static>> {
    let names = prop_oneof![
        9 => prop::collection::vec(unit(), 0..5),
        1 => (499..502_usize).prop_map(|many| vec!["A1"; many]),
    ];
    let best = (number(), maybe(unit()), maybe(price()), any::<bool>(), any::<bool>());
    let best = best.prop_map(|(count, grade, price, adjacent, accessible)| {
        Wanted::Best(BestPick { count, grade, price, adjacent, accessible })
    });
    let wanted = prop_oneof![
        4 => names.prop_map(Wanted::Units),
        3 => (number(), maybe(unit())).prop_map(|(count, area)| Wanted::Quantity { count, area }),
        1 => best,
    ];
    (prop_oneof![9 => pool().prop_map(Some), 1 => Just(None)], wanted, maybe(unit()))
        .prop_map(|(pool, wanted, channel)| Pick { pool, wanted, channel })
        .boxed()
}

fn picks() -> BoxedStrategy<Vec<Pick<'static>>> {
    prop_oneof![
        20 => prop::collection::vec(pick(), 0..4),
        1 => (pick(), 63..66_usize).prop_map(|(pick, many)| vec![pick; many]),
    ]
    .boxed()
}

fn step() -> BoxedStrategy<Step<'static>> {
    (campaign(), id(), subject(), maybe(of(&["s1", "s2"])))
        .prop_map(|(campaign, hold, subject, id)| Step { campaign, hold, subject, id })
        .boxed()
}

fn chunk() -> BoxedStrategy<Chunk<'static>> {
    let texts = (unit(), of(&["", "1"]), of(&["", "table", "A1"]), of(&["", "gold"]));
    let numbers = (any::<bool>(), number(), maybe(price()), any::<bool>());
    let seat =
        (texts, numbers).prop_map(|((name, row, group, grade), (far, best, price, sold))| {
            let (x, y) = if far { (u16::MAX, u16::MAX) } else { (0, 0) };
            let named = SeatSettings::named(name);
            let for_sale = sold;
            SeatSettings { row, group, grade, x, y, quality: best, price, for_sale, ..named }
        });
    let area = (unit(), number(), maybe(price()), any::<bool>(), of(&["", "gold"]));
    let area = area.prop_map(|(name, capacity, price, for_sale, grade)| AreaSettings {
        price,
        for_sale,
        grade,
        ..AreaSettings::named(name, capacity)
    });
    (prop::collection::vec(seat, 0..4), prop::collection::vec(area, 0..3))
        .prop_map(|(seats, areas)| Chunk { seats, areas })
        .boxed()
}

/// A digest of a position that is not reached, which is nobody's word against anybody's.
fn mark() -> impl Strategy<Value = Mark> {
    (number64(), number64()).prop_map(|(position, digest)| match position {
        0 => Mark { position, digest: 0 },
        position => Mark { position: position.max(1 << 20), digest },
    })
}

/// Draws a command, with something extreme in one or the other of its fields.
pub(crate) fn command() -> BoxedStrategy<Command<'static>> {
    let claim = (campaign(), maybe(pool()), subject(), maybe(number())).prop_map(
        |(campaign, pool, subject, limit)| Command::Claim {
            campaign,
            pool,
            subject,
            limit,
            tag: None,
        },
    );
    let by = prop_oneof![4 => Just(By::Subject), 1 => Just(By::Operator)];
    let texts = (of(&["", "fraud"]), of(&["ops"]));
    let cancel = (campaign(), maybe(pool()), subject(), number(), by, texts).prop_map(
        |(campaign, pool, subject, rank, by, (reason, who))| Command::Cancel {
            campaign,
            pool,
            subject,
            rank,
            by,
            reason,
            who,
        },
    );
    let expect = prop_oneof![
        6 => Just(Expect::Anything),
        1 => Just(Expect::Absent),
        1 => number().prop_map(Expect::Version),
    ];
    let put = (campaign(), settings(), expect, order()).prop_map(
        |(campaign, settings, expect, order)| Command::Put { campaign, settings, expect, order },
    );
    let steer = prop_oneof![
        8 => Just(Steer::Pause),
        16 => Just(Steer::Resume),
        1 => Just(Steer::Close),
        1 => any::<bool>().prop_map(|drop_unsettled| Steer::Archive { drop_unsettled }),
        1 => Just(Steer::Delete),
    ];
    let steer = (campaign(), steer, order()).prop_map(|(campaign, steer, order)| Command::Steer {
        campaign,
        steer,
        order,
    });
    let seats = (campaign(), pool(), chunk(), order())
        .prop_map(|(campaign, pool, chunk, order)| Command::Seats { campaign, pool, chunk, order });
    let bar = (campaign(), subject(), of(&["", "resale"]), order()).prop_map(
        |(campaign, subject, reason, order)| Command::Bar { campaign, subject, reason, order },
    );
    let unbar = (campaign(), subject(), order())
        .prop_map(|(campaign, subject, order)| Command::Unbar { campaign, subject, order });
    let change = (unit(), maybe(unit()), maybe(of(&["", "R", "S"])))
        .prop_map(|(name, new_name, grade)| SeatChange { name, new_name, grade, price: None });
    let reseat = (campaign(), pool(), prop::collection::vec(change, 1..4), order()).prop_map(
        |(campaign, pool, seats, order)| Command::ChangeSeats { campaign, pool, seats, order },
    );
    let raise = (number(), of(&["ops"]));
    let raise = raise.prop_map(|(level, who)| Command::Raise { level, who });
    let tick = mark().prop_map(|mark| Command::Tick { mark });
    let settled = (number64(), number64(), mark())
        .prop_map(|(through, term, mark)| Command::Settled { through, term, mark });
    prop_oneof![
        6 => claim.boxed(),
        3 => cancel.boxed(),
        2 => put.boxed(),
        1 => steer.boxed(),
        3 => seats.boxed(),
        20 => of_holds(),
        1 => tick.boxed(),
        1 => settled.boxed(),
        1 => bar.boxed(),
        1 => unbar.boxed(),
        2 => reseat.boxed(),
        1 => raise.boxed(),
    ]
    .boxed()
}

fn of_holds() -> BoxedStrategy<Command<'static>> {
    let hold = (campaign(), id(), subject(), picks(), maybe(number())).prop_map(
        |(campaign, id, subject, picks, limit)| Command::Hold {
            campaign,
            id,
            subject,
            picks,
            limit,
        },
    );
    let change = (step(), picks(), picks(), maybe(number()))
        .prop_map(|(step, add, drop, limit)| Command::Change { step, add, drop, limit });
    let extend =
        (step(), maybe(micros())).prop_map(|(step, by_us)| Command::Extend { step, by_us });
    let release = (step(), picks()).prop_map(|(step, units)| Command::Release { step, units });
    let late = prop_oneof![Just(Late::Refuse), Just(Late::Retake)];
    let confirm = (step(), picks(), late).prop_map(|(step, units, late)| Command::Confirm {
        step,
        units,
        late,
    });
    let block = (campaign(), picks(), any::<bool>(), of(&["", "broken"]), order()).prop_map(
        |(campaign, units, blocked, reason, order)| Command::Block {
            campaign,
            units,
            blocked,
            reason,
            order,
        },
    );
    let moved = (campaign(), pool(), unit(), unit(), of(&["", "view"]), order()).prop_map(
        |(campaign, pool, from, to, reason, order)| Command::Move {
            campaign,
            pool,
            from,
            to,
            reason,
            order,
        },
    );
    prop_oneof![
        5 => hold.boxed(),
        3 => change.boxed(),
        2 => extend.boxed(),
        2 => release.boxed(),
        3 => confirm.boxed(),
        2 => block.boxed(),
        2 => moved.boxed(),
    ]
    .boxed()
}
