use std::time::Duration;

use super::super::stage::{House, KnownHold, named};
use super::super::{CAMPAIGN, HOLD};
use super::*;
use crate::offline::audit::ServerDigest;
use firstcome_core::command::Late;
use firstcome_core::{Outcome, Refusal, Timestamp};
use firstcome_node::{HoldAsk, OwnStep};
use firstcome_rush::house;

fn told() -> Heard {
    let seats = || vec!["A1".to_owned(), "A2".to_owned()];
    let mut heard = Heard::default();
    heard.held.insert("h1".to_owned(), seats());
    heard.held.insert("h2".to_owned(), seats());
    heard.confirmed.insert("A1".to_owned(), ("ann".to_owned(), 1));
    heard.confirmed.insert("A2".to_owned(), ("ann".to_owned(), 2));
    heard.late.insert("h2".to_owned(), LateAnswer::Refund);
    heard.named_as_taken.insert("A2".to_owned());
    heard
}

fn known() -> Known {
    let hold = |id: &str, fate| KnownHold { id: id.to_owned(), units: 2, fates: vec![fate] };
    let rank = |rank, seat: &str| (rank, seat.to_owned(), "ann".to_owned());
    Known {
        holds: vec![hold("h1", "confirmed"), hold("h2", "refunded")],
        last_rank: 2,
        ranks: vec![rank(1, "A1"), rank(2, "A2")],
        refunds: vec!["h2".to_owned()],
    }
}

fn found(heard: &Heard, known: &Known) -> Vec<&'static str> {
    let checks = [
        ("seats", whose(heard, known)),
        ("ranks", ranks(heard, known)),
        ("baskets", halves(heard, known)),
        ("late", late_payers(heard, known)),
        ("taken", named_as_taken(heard)),
    ];
    checks.into_iter().filter(|(_, evidence)| evidence.is_some()).map(|(name, _)| name).collect()
}

#[test]
fn an_honest_evening_has_nothing_against_it() {
    assert_eq!(found(&told(), &known()), Vec::<&str>::new());
}

#[test]
fn every_broken_promise_is_found() {
    let against = |change: &dyn Fn(&mut Heard, &mut Known)| {
        let (mut heard, mut known) = (told(), known());
        change(&mut heard, &mut known);
        found(&heard, &known)
    };
    assert_eq!(against(&|_, known| known.ranks[0].2 = "bob".to_owned()), ["seats"]);
    assert_eq!(against(&|_, known| drop(known.ranks.pop())), ["seats"]);
    assert_eq!(against(&|_, known| known.last_rank = 3), ["ranks"]);
    assert_eq!(
        against(&|_, known| known.holds[0].fates = vec!["confirmed", "expired"]),
        ["baskets"]
    );
    assert_eq!(against(&|_, known| known.holds[1].units = 1), ["baskets"]);
    assert_eq!(against(&|_, known| known.refunds.clear()), ["late"]);
    let early = LateAnswer::Seats { retaken: false };
    let lied = |heard: &mut Heard, known: &mut Known| {
        heard.late.insert("h2".to_owned(), early.clone());
        known.refunds.clear();
    };
    assert_eq!(against(&lied), ["late"]);
    let invented = |heard: &mut Heard, _: &mut Known| {
        heard.named_as_taken.insert("B1".to_owned());
    };
    assert_eq!(against(&invented), ["taken"]);
}

/// An evening as all proofs look at it.
struct Evening {
    book: Book,
    last: Frame,
    known: Known,
    audit: Recomputed,
    sold_out: bool,
}

impl Evening {
    /// Four seats: two are paid for and two kept back.
    fn honest() -> Self {
        let counts = Counts { free: 0, held: 0, confirmed: 2, blocked: 2, left: 0 };
        let book = Book::default();
        *book.read() = told();
        let frame = |counts| Frame {
            elapsed: Duration::from_secs(9),
            counts,
            holds: 0,
            guests: 3,
            rows: Vec::new(),
        };
        book.counted(counts, 4, counts);
        let digest = "00c0ffee00c0ffee".to_owned();
        let audit = Recomputed {
            ok: true,
            from: "beginning",
            from_position: 0,
            position: 12,
            digest_recomputed: digest.clone(),
            digest_live: Some(digest.clone()),
            servers: vec![ServerDigest { server: "the running node".into(), digest: Some(digest) }],
            ledger_equal: Some(true),
            ledger_through: Some(4),
            last_result: 4,
            marks_compared: 0,
            pools: Vec::new(),
            differences: Vec::new(),
        };
        Self { book, last: frame(counts), known: known(), audit, sold_out: true }
    }

    /// The names of the proofs that do not hold, each with something against it.
    fn broken(&self) -> Vec<&'static str> {
        let Self { book, last, known, audit, sold_out } = self;
        let proofs = all(book, last, known, audit, *sold_out);
        assert_eq!(proofs.len(), 10);
        assert!(proofs.iter().all(|proof| proof.kept == proof.evidence.is_none()), "{proofs:?}");
        proofs.iter().filter(|proof| !proof.kept).map(|proof| proof.name).collect()
    }

    fn difference(&mut self, what: &'static str) {
        let detail = "it is not as the journal says".to_owned();
        self.audit.ok = false;
        self.audit.differences.push(Difference { what, position: None, detail });
    }
}

#[test]
fn whatever_is_wrong_with_the_house_its_counts_or_its_books_has_a_proof_against_it() {
    let broken = |doctor: &dyn Fn(&mut Evening)| {
        let mut evening = Evening::honest();
        doctor(&mut evening);
        evening.broken()
    };
    assert_eq!(broken(&|_| {}), [""; 0]);
    assert_eq!(broken(&|e| e.sold_out = false), ["sold_out"]);
    assert_eq!(broken(&|e| e.last.counts.left = 1), ["sold_out"]);
    assert_eq!(broken(&|e| e.last.counts.held = 1), ["sold_out"]);
    let seat_by_seat = Counts { free: 0, held: 0, confirmed: 2, blocked: 2, left: 0 };
    // A seat that is nowhere, one too many, and one that is counted as another.
    let lost = Counts { blocked: 1, ..seat_by_seat };
    assert_eq!(broken(&|e| e.book.counted(lost, 4, lost)), ["counts"]);
    let more = Counts { free: 1, ..seat_by_seat };
    assert_eq!(broken(&|e| e.book.counted(more, 4, more)), ["counts"]);
    let other = Counts { held: 1, confirmed: 1, ..seat_by_seat };
    assert_eq!(broken(&|e| e.book.counted(other, 4, seat_by_seat)), ["counts"]);
    let won = |rank| Outcome::Won { rank, at: Timestamp::from_micros(1) };
    let repeats = |e: &mut Evening| e.book.repeated("h1", &won(1), &won(1));
    assert_eq!(broken(&repeats), [""; 0]);
    assert_eq!(broken(&|e| e.book.repeated("h1", &won(1), &won(2))), ["repeats"]);
    let refused = Outcome::from(Refusal::HoldExpired);
    assert_eq!(broken(&|e| e.book.repeated("h1", &won(1), &refused)), ["repeats"]);
    assert_eq!(broken(&|e| e.audit.digest_live = Some("0".to_owned())), ["digest"]);
    assert_eq!(broken(&|e| e.audit.digest_live = None), ["digest"]);
    assert_eq!(broken(&|e| e.difference("journal")), ["digest"]);
    assert_eq!(broken(&|e| e.difference("mark")), ["digest"]);
    assert_eq!(broken(&|e| e.audit.ledger_equal = None), ["ledger"]);
    assert_eq!(broken(&|e| e.audit.ledger_through = Some(3)), ["ledger"]);
    let differs = |e: &mut Evening| {
        e.audit.ledger_equal = Some(false);
        e.difference("results");
    };
    assert_eq!(broken(&differs), ["ledger"]);
}

/// The books of a real house: a result is taken out of its ledger, and it is missed.
#[tokio::test]
async fn a_result_that_is_gone_from_the_ledger_is_missed() {
    let house = House::build(false).await.unwrap();
    let seats = house::house(house::LEAST);
    house.schedule(&seats, HOLD, Duration::ZERO).await.unwrap();
    let (door, campaign) = (house.door(), || CAMPAIGN.into());
    // A row of its section, so that nobody is left alone.
    let row: Vec<String> = seats[..3].iter().map(|seat| seat.name.clone()).collect();
    let picks = vec![named(&row)];
    let (id, subject) = ("h1".into(), "ann".into());
    let held =
        door.ask(HoldAsk::Hold { campaign: campaign(), id, subject, picks, limit: None }).await;
    let (hold, subject) = ("h1".into(), "ann".into());
    let step = OwnStep { campaign: campaign(), hold, subject, id: None };
    let (units, late) = (Vec::new(), Late::Refuse);
    let paid = door.ask(HoldAsk::Confirm { step, units, late }).await;
    assert_eq!((held.as_str(), paid.as_str()), ("held", "confirmed"));
    house.settled().await;
    let honest = house.recompute().await.unwrap();
    assert!(digest(&honest).kept && ledger(&honest).kept, "{honest:?}");
    let books = rusqlite::Connection::open(house.folder().join("ledger.sqlite")).unwrap();
    books
        .execute_batch(
            "DROP TRIGGER results_are_never_deleted; DELETE FROM results WHERE number = 2",
        )
        .unwrap();
    let doctored = house.recompute().await.unwrap();
    assert!(digest(&doctored).kept, "{doctored:?}");
    assert!(!ledger(&doctored).kept, "{doctored:?}");
    house.close().await;
}
