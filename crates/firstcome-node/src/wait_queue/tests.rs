use super::*;
use firstcome_core::command::{Order, Pick, Steer, Step};
use firstcome_core::hall::{Chunk, SeatSettings};
use firstcome_core::settings::{HoldSettings, Opens, PoolSettings};
use firstcome_core::{Command, Expect, LEVEL, NodeId, Settings, SpaceId, Stamp};

fn seats(campaign: u32, seats: &[u32]) -> Wanted {
    let units = seats.iter().map(|seat| (0, Unit::Seat(*seat))).collect();
    Wanted { campaign, units, freed: vec![(0, 0)] }
}

/// Sends somebody into line for seats that are known.
fn joins(queue: &Arc<WaitQueue>, subject: &str, wanted: Wanted) -> Option<SeatWaiter> {
    let waiter = queue.join(&wanted.campaign.to_string(), subject, wanted.units.len())?;
    waiter.wants(Some(&wanted));
    Some(waiter)
}

/// Says who of them were called since this was asked last.
async fn called<const N: usize>(waiters: [&SeatWaiter; N]) -> [bool; N] {
    let mut called = [false; N];
    for (waiter, called) in waiters.iter().zip(&mut called) {
        *called = tokio::time::timeout(SOON, waiter.called()).await.is_ok();
    }
    called
}

const SOON: std::time::Duration = std::time::Duration::from_millis(1);

#[test]
fn who_came_first_to_each_of_its_seats_is_first() {
    let queue = Arc::new(WaitQueue::default());
    let ann = joins(&queue, "ann", seats(1, &[1])).unwrap();
    let bob = joins(&queue, "bob", seats(1, &[1, 2])).unwrap();
    let cem = joins(&queue, "cem", seats(1, &[2])).unwrap();
    assert!(ann.is_first() && !bob.is_first() && !cem.is_first());
    drop(ann);
    assert!(bob.is_first() && !cem.is_first());
    drop(bob);
    assert!(cem.is_first());
    drop(cem);
    let queues = queue.lock();
    assert!(queues.by_unit.is_empty() && queues.campaigns.is_empty() && queues.waiting.is_empty());
}

#[tokio::test(start_paused = true)]
async fn only_who_becomes_the_first_is_called() {
    let queue = Arc::new(WaitQueue::default());
    let ann = joins(&queue, "ann", seats(1, &[1, 2])).unwrap();
    let bob = joins(&queue, "bob", seats(1, &[1, 3])).unwrap();
    let cem = joins(&queue, "cem", seats(1, &[3])).unwrap();
    drop(ann);
    let soon = std::time::Duration::from_millis(1);
    tokio::time::timeout(soon, bob.called()).await.expect("it is the first now");
    tokio::time::timeout(soon, cem.called()).await.expect_err("somebody is before it");
}

#[test]
fn a_subject_waits_once_in_a_campaign_and_each_limit_holds() {
    let queue = Arc::new(WaitQueue::default());
    let ann = joins(&queue, "ann", seats(1, &[1])).unwrap();
    assert!(joins(&queue, "ann", seats(1, &[2])).is_none());
    let elsewhere = joins(&queue, "ann", seats(2, &[1])).unwrap();
    drop(ann);
    let again = joins(&queue, "ann", seats(1, &[2])).unwrap();
    drop((elsewhere, again));

    let mut line = Vec::new();
    let campaigns = (MAX_WAITING / MAX_WAITING_IN_CAMPAIGN) as u32;
    for campaign in 1..=campaigns {
        let join = |n: usize| joins(&queue, &format!("s{n}"), seats(campaign, &[n as u32 % 7]));
        line.extend((0..MAX_WAITING_IN_CAMPAIGN).map(|n| join(n).expect("there is room")));
        assert!(join(MAX_WAITING_IN_CAMPAIGN).is_none(), "as many as may wait in a campaign");
    }
    assert_eq!(queue.len(), MAX_WAITING);
    assert!(joins(&queue, "one more", seats(campaigns + 1, &[1])).is_none());
    drop(line);

    let many: Vec<u32> = (0..512).collect();
    let campaigns = (MAX_WAITED_FOR / MAX_WAITED_FOR_IN_CAMPAIGN) as u32;
    let mut line = Vec::new();
    for campaign in 1..=campaigns {
        let join = |n: usize| joins(&queue, &format!("s{n}"), seats(campaign, &many));
        let of_campaign = MAX_WAITED_FOR_IN_CAMPAIGN / 512;
        line.extend((0..of_campaign).map(|n| join(n).expect("there is room")));
        assert!(join(of_campaign).is_none(), "as many as may be waited for in a campaign");
    }
    assert!(joins(&queue, "one more", seats(campaigns + 1, &[1])).is_none(), "and in all");
    drop(line.pop());
    assert!(joins(&queue, "one more", seats(campaigns, &many)).is_some(), "room is given back");
}

#[tokio::test(start_paused = true)]
async fn after_a_switch_of_branches_who_came_first_is_first_whoever_looks_first() {
    let queue = Arc::new(WaitQueue::default());
    let ann = joins(&queue, "ann", seats(1, &[1])).unwrap();
    let bob = joins(&queue, "bob", seats(1, &[1])).unwrap();
    queue.switched_branch();
    assert_eq!(called([&ann, &bob]).await, [true, true]);
    assert!(ann.is_first(), "whatever she wants there");
    bob.wants(Some(&seats(2, &[5])));
    assert!(!bob.is_first(), "ann, who was before him, may want the same seat there");
    ann.wants(Some(&seats(2, &[5])));
    assert!(ann.is_first() && !bob.is_first());
    drop(ann);
    assert!(bob.is_first());
    assert_eq!(called([&bob]).await, [true]);
}

#[tokio::test(start_paused = true)]
async fn who_came_before_its_seats_were_known_is_before_who_came_later() {
    let queue = Arc::new(WaitQueue::default());
    let ann = queue.join("1", "ann", 1).unwrap();
    let bob = joins(&queue, "bob", seats(1, &[1, 2])).unwrap();
    let cem = queue.join("1", "cem", 1).unwrap();
    let dan = joins(&queue, "dan", seats(1, &[3])).unwrap();
    let elsewhere = joins(&queue, "ann", seats(2, &[1])).unwrap();
    assert!(ann.is_first() && elsewhere.is_first());
    assert!(!bob.is_first() && !cem.is_first() && !dan.is_first());
    assert_eq!(called([&ann, &bob, &cem, &dan]).await, [false; 4]);
    ann.wants(Some(&seats(1, &[1])));
    assert!(ann.is_first() && !bob.is_first(), "she was there before him");
    assert!(!cem.is_first(), "her seat may be ann's");
    assert!(!dan.is_first(), "his seat may be cem's");
    drop(bob);
    cem.wants(Some(&seats(1, &[2])));
    assert!(cem.is_first() && dan.is_first());
    assert_eq!(called([&dan]).await, [true]);
    ann.wants(None);
    assert!(ann.is_first() && !cem.is_first() && !dan.is_first(), "her seat has another name now");
    drop(ann);
    assert!(cem.is_first() && dan.is_first());
    assert_eq!(called([&cem, &dan]).await, [true, true]);
}

#[tokio::test(start_paused = true)]
async fn whose_seats_are_not_there_keeps_nobody_waiting_until_an_entry_may_have_brought_them() {
    let mut house = House::new();
    let queue = Arc::new(WaitQueue::default());
    let ann = queue.join("hall", "ann", 1).unwrap();
    let bob = house.waits(&queue, "bob", &["A"]);
    assert!(!bob.is_first());
    ann.stands_aside();
    assert!(bob.is_first() && called([&ann, &bob]).await == [false, true]);
    ann.wants(None);
    assert!(bob.is_first(), "she looked, and nothing is new");
    house.releases("D");
    queue.freed(&house.0).make();
    assert!(!bob.is_first() && called([&ann, &bob]).await == [true, false]);
    ann.wants(Some(&house.wanted("ann", &["A"])));
    assert!(ann.is_first() && !bob.is_first(), "she has the position of her arrival");
    drop(ann);
    assert!(bob.is_first());
}

#[tokio::test(start_paused = true)]
async fn who_waits_for_seats_that_are_not_known_is_called_as_the_first_of_the_campaign() {
    let mut house = House::new();
    let queue = Arc::new(WaitQueue::default());
    let ann = house.waits(&queue, "ann", &["A"]);
    let bob = queue.join("hall", "bob", 1).unwrap();
    assert!(!bob.is_first() && called([&ann, &bob]).await == [false, false]);
    // An entry of the campaign may have brought them.
    house.releases("D");
    queue.freed(&house.0).make();
    assert_eq!(called([&ann, &bob]).await, [false, true]);
    drop(ann);
    assert!(bob.is_first() && called([&bob]).await == [true]);
}

/// All leave at once; each looks at its own queue only.
#[test]
fn leaving_costs_little_however_many_wait() {
    let queue = Arc::new(WaitQueue::default());
    let join = |n: u32| joins(&queue, &format!("s{n}"), seats(n / 2_048, &[1])).unwrap();
    let line: Vec<_> = (0..16_384).map(join).collect();
    // A look at each of 2,048 neighbours for each who leaves would be 33 million.
    drop(line);
    assert_eq!(queue.len(), 0);
}

/// A hall of three tables of two and four seats, all of them held, each by somebody else.
struct House(State);

const UNITS: [&str; 7] = ["T1", "T2", "T3", "A", "B", "C", "D"];

impl House {
    fn new() -> Self {
        let mut house = Self(State::new(SpaceId::default()));
        let holding = HoldSettings { allow_orphans: true, ..HoldSettings::default() };
        for campaign in ["hall", "rush"] {
            let settings = Settings {
                title: "".into(),
                opens: Opens::Now,
                closes_at: None,
                limit: None,
                claim_again: false,
                units_return: true,
                public: false,
                holding: holding.clone(),
                pools: vec![PoolSettings::seated("main")],
            };
            let (expect, order) = (Expect::Anything, Order::default());
            house.runs(Command::Put { campaign, settings, expect, order });
        }
        let tables = ["T1", "T2", "T3"];
        let of = |group| ["1", "2"].map(|n| (format!("{group}-{n}"), group));
        let named: Vec<(String, &str)> = tables.into_iter().flat_map(of).collect();
        let at_tables =
            named.iter().map(|(name, group)| SeatSettings { group, ..SeatSettings::named(name) });
        let seats =
            at_tables.chain(UNITS[3..].iter().map(|name| SeatSettings::named(name))).collect();
        let chunk = Chunk { seats, areas: Vec::new() };
        let (campaign, pool, order) = ("hall", "main", Order::default());
        house.runs(Command::Seats { campaign, pool, chunk, order });
        UNITS.iter().for_each(|unit| house.runs(hold(unit, &[unit])));
        house
    }

    fn runs(&mut self, command: Command<'_>) {
        let (position, node) = (self.0.position() + 1, NodeId([1; 16]));
        let at = self.0.at().plus_micros(1);
        let stamp =
            Stamp { position, at, epoch: 0, node, number: position, again_of: None, level: LEVEL };
        let mut outcomes = Vec::new();
        self.0.apply(stamp, &[command], &mut outcomes);
        assert!(!outcomes[0].is_refusal(), "{outcomes:?}");
    }

    /// Sends somebody into line for some units.
    fn waits(&self, queue: &Arc<WaitQueue>, subject: &str, units: &[&str]) -> SeatWaiter {
        let waiter = queue.join("hall", subject, units.len()).unwrap();
        waiter.wants(Some(&self.wanted(subject, units)));
        waiter
    }

    fn wanted(&self, subject: &str, units: &[&str]) -> Wanted {
        let campaign = self.0.campaign("hall").unwrap();
        let units = campaign.waits_for(&hold(subject, units)).unwrap();
        let freed = vec![(0, campaign.pools()[0].hall().unwrap().freed())];
        Wanted { campaign: campaign.number(), units, freed }
    }

    fn releases(&mut self, unit: &str) {
        let step = Step { campaign: "hall", hold: unit, subject: unit, id: None };
        self.runs(Command::Release { step, units: Vec::new() });
    }
}

fn hold<'a>(subject: &'a str, units: &[&'a str]) -> Command<'a> {
    let picks = vec![Pick::units("main", units.to_vec())];
    Command::Hold { campaign: "hall", id: subject, subject, picks, limit: None }
}

#[test]
fn an_entry_calls_those_whose_seat_it_frees_and_nobody_else() {
    let (mut house, queue) = (House::new(), Arc::new(WaitQueue::default()));
    let a = house.waits(&queue, "ann", &["A"]);
    let _behind = house.waits(&queue, "bob", &["A", "B"]);
    let table = house.waits(&queue, "cem", &["T2"]);
    let called = |house: &House| {
        let calls = queue.freed(&house.0).0;
        let who = |waiter: &SeatWaiter| {
            calls.iter().filter(|call| Arc::ptr_eq(call, &waiter.call)).count()
        };
        (calls.len(), who(&a), who(&table))
    };
    assert_eq!(called(&house), (0, 0, 0));
    house.runs(Command::Steer { campaign: "rush", steer: Steer::Pause, order: Order::default() });
    assert_eq!(called(&house), (0, 0, 0), "another campaign");
    house.releases("C");
    house.releases("T3");
    assert_eq!(called(&house), (0, 0, 0), "seats that nobody waits for");
    house.releases("T2");
    assert_eq!(called(&house), (2, 0, 2), "both seats of the table came free");
    house.releases("A");
    assert_eq!(called(&house), (1, 1, 0), "the first in line, not the second");
    assert_eq!(called(&house), (0, 0, 0), "once");
    let order = Order::default();
    house.runs(Command::Steer { campaign: "hall", steer: Steer::Close, order });
    assert_eq!(called(&house), (0, 0, 0));
    let steer = Steer::Archive { drop_unsettled: true };
    house.runs(Command::Steer { campaign: "hall", steer, order });
    assert_eq!(called(&house), (3, 1, 1), "nothing is left to wait for");
}

#[test]
fn after_a_switch_of_branches_what_comes_free_is_counted_from_the_next_look_on() {
    let (mut house, queue) = (House::new(), Arc::new(WaitQueue::default()));
    let waiter = house.waits(&queue, "ann", &["A"]);
    queue.switched_branch();
    house.releases("D");
    assert_eq!(queue.freed(&house.0).0.len(), 1, "she has not looked yet");
    waiter.wants(Some(&house.wanted("ann", &["A"])));
    house.releases("C");
    assert_eq!(queue.freed(&house.0).0.len(), 0);
    house.releases("A");
    assert_eq!(queue.freed(&house.0).0.len(), 1);
}
