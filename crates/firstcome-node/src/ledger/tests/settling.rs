//! Each result once, none left out, whoever leads.

use super::*;

on_each_store! {
    results_are_settled_and_read_back,
    a_claim_has_the_seat_it_was_moved_to_and_its_result_the_one_it_was_won_with,
    a_batch_that_comes_twice_counts_once,
    a_leader_that_was_replaced_writes_nothing,
    after_a_lost_answer_through_says_whether_it_was_written,
    it_goes_on_after_a_restart,
    a_result_that_contradicts_the_ledger_is_named,
    readers_see_whole_batches_while_they_are_written,
    what_results_say_of_codes_and_waitlists_is_kept,
}

on_each_database! {
    twin_without_the_comparison_there_is_a_gap,
    a_pool_keeps_its_numbers_and_its_names,
    results_cannot_be_changed_by_mistake,
    a_ledger_of_another_space_or_a_newer_layout_is_refused,
    an_id_is_drawn_once_and_each_ledger_has_its_own,
}

/// Makes of a result one about a seat of a hold.
fn seat(row: Row, kind: Kind, unit: &str, moved_from: Option<&str>) -> Row {
    let (unit, hold) = (Some(unit.into()), Some("h1".into()));
    Row { kind, unit, hold, moved_from: moved_from.map(Into::into), ..row }
}

async fn a_claim_has_the_seat_it_was_moved_to_and_its_result_the_one_it_was_won_with(stage: Stage) {
    let term = stage.ledger.mint_term().await.unwrap().term;
    let claimed =
        |number, rank, unit| seat(claim(number, "hall", rank, "ann"), Kind::Claim, unit, None);
    let moved = |number, rank, unit, from| {
        seat(claim(number, "hall", rank, "ann"), Kind::Moved, unit, Some(from))
    };
    let rows = vec![
        moved(1, 0, "A2", "A1"),
        claimed(2, 1, "A2"),
        claimed(3, 2, "B1"),
        moved(4, 1, "A3", "A2"),
        moved(5, 1, "A4", "A3"),
        seat(claim(6, "hall", 0, "bob"), Kind::RefundDue, "C1", None),
    ];
    stage.settle(term, 0, rows.clone()).await.unwrap();
    let later = vec![moved(7, 2, "B2", "B1"), cancel(8, "hall", 1, "ann")];
    stage.settle(term, 6, later.clone()).await.unwrap();
    let all: Vec<Row> = rows.into_iter().chain(later).collect();
    assert_eq!(stage.ledger.results(0, 100, None).await.unwrap(), all);
    if !matches!(stage.place, Place::Memory(_)) {
        let stands = "SELECT rank, cancel_result, unit FROM claims ORDER BY rank";
        assert_eq!(stage.sql(stands), ["1 | 8 | A4", "2 |  | B2"]);
        let pools =
            "SELECT campaign, pool, first_result, last_result, last_rank, cancels FROM pools";
        assert_eq!(stage.sql(pools), ["hall | main | 1 | 8 | 2 | 1"]);
    }
    assert_eq!(stage.ledger.claim_counts("hall", "main").await.unwrap(), (2, 1));
    // A move of a claim that is not there is another past.
    let wrong = stage.settle(term, 8, vec![moved(9, 7, "D1", "D2")]).await;
    assert!(matches!(wrong, Err(LedgerError::Differs { number: 9, .. })), "{wrong:?}");
}

/// A result about a code, with what else it says.
fn detailed(row: Row, kind: Kind, details: Details) -> Row {
    Row { kind, details: Some(Box::new(details)), ..row }
}

/// Results of each kind that has columns of its own, behind a claim.
fn detailed_rows() -> Vec<Row> {
    let row = |nth, rank| claim(nth, "coupons", rank, "ann");
    let used = Details { reference: Some("order-17".into()), ..Details::default() };
    let by_bob = Details { used_by: Some("bob".into()), ..used.clone() };
    let undone = Details { verdict: Some("expired".into()), ..used };
    let replaced =
        Details { verdict: Some("reissue".into()), issue: Some(u16::MAX), ..Details::default() };
    let import = Details {
        verdict: Some("revoke".into()),
        import: Some("i-1".into()),
        ..Details::default()
    };
    let wanted = Details { quantity: Some(10), ..Details::default() };
    vec![
        row(1, 1),
        detailed(row(2, 1), Kind::Redeemed, by_bob),
        detailed(row(3, 1), Kind::RolledBack, undone),
        detailed(row(4, 1), Kind::CodeMarked, replaced),
        detailed(row(5, 0), Kind::CodeMarked, import),
        detailed(Row { reason: Some("ended".into()), ..row(6, 0) }, Kind::Unserved, wanted),
    ]
}

async fn what_results_say_of_codes_and_waitlists_is_kept(stage: Stage) {
    let term = stage.ledger.mint_term().await.unwrap().term;
    let rows = detailed_rows();
    stage.settle(term, 0, rows.clone()).await.unwrap();
    assert_eq!(stage.ledger.results(0, 9, None).await.unwrap(), rows);
    assert_eq!(stage.ledger.results(2, 3, Some("coupons")).await.unwrap(), rows[2..5]);
    for row in &rows[1..] {
        let mut other = row.clone();
        other.details = None;
        assert!(!other.is_same_result(row), "{other}");
    }
}

async fn results_are_settled_and_read_back(stage: Stage) {
    assert_eq!(stage.ledger.standing().await.unwrap(), Standing { through: 0, term: 0 });
    let minted = stage.ledger.mint_term().await.unwrap();
    assert_eq!(minted, Standing { through: 0, term: 1 });
    let rows = vec![
        claim(1, "spring", 1, "ann"),
        claim(2, "hall", 1, "ann"),
        claim(3, "spring", 2, "선착순 🎟️ 'quoted'"),
        cancel(4, "spring", 1, "ann"),
        claim(5, "spring", 3, "ann"),
    ];
    let standing = stage.settle(1, 0, rows.clone()).await.unwrap();
    assert_eq!(standing, Standing { through: 5, term: 1 });
    let more = vec![claim(6, "hall", 2, "bob")];
    stage.settle(1, 5, more.clone()).await.unwrap();

    let all: Vec<Row> = rows.iter().chain(&more).cloned().collect();
    assert_eq!(stage.ledger.results(0, 100, None).await.unwrap(), all);
    assert_eq!(stage.ledger.results(2, 2, None).await.unwrap(), all[2..4]);
    assert_eq!(stage.ledger.results(6, 100, None).await.unwrap(), []);
    let of = async |campaign: &str, after, limit| {
        let rows = stage.ledger.results(after, limit, Some(campaign)).await.unwrap();
        rows.iter().map(|row| row.number).collect::<Vec<_>>()
    };
    assert_eq!(of("spring", 0, 100).await, [1, 3, 4, 5]);
    assert_eq!(of("spring", 1, 2).await, [3, 4]);
    assert_eq!(of("hall", 2, 100).await, [6]);
    assert_eq!(of("nothing", 0, 100).await, [0; 0]);

    assert_eq!(stage.ledger.claim_counts("spring", "main").await.unwrap(), (3, 1));
}

async fn a_batch_that_comes_twice_counts_once(stage: Stage) {
    let term = stage.ledger.mint_term().await.unwrap().term;
    stage.settle(term, 0, claims(1..=10)).await.unwrap();
    let failure = stage.settle(term, 0, claims(1..=10)).await.unwrap_err();
    assert_eq!(failure, LedgerError::Moved { after: 0, through: 10 });
    let failure = stage.settle(term, 20, claims(21..=30)).await.unwrap_err();
    assert_eq!(failure, LedgerError::Moved { after: 20, through: 10 });
    assert_eq!(stage.numbers(), (1..=10).collect::<Vec<_>>());
}

/// The twin: without the comparison, a leader that is wrong about `through` leaves a gap.
async fn twin_without_the_comparison_there_is_a_gap(stage: Stage) {
    let term = stage.ledger.mint_term().await.unwrap().term;
    stage.settle(term, 0, claims(1..=10)).await.unwrap();
    stage.ledger.close().await;
    let with = match &stage.place {
        Place::Folder(_) => include_str!("../sqlite/settle.sql").replace('?', "$"),
        Place::Space(..) => include_str!("../postgres/settle.sql").to_owned(),
        Place::Database(..) => include_str!("../mysql/settle.sql").replace('~', ""),
        Place::Memory(_) => unreachable!("it has no statements"),
    };
    let without = with.replace("through = $2", "0 = 0");
    assert_ne!(with, without);
    let values = [("$1", 30), ("$2", 20), ("$3", term)];
    let moved = |sql: &str| {
        let fill =
            |sql: String, (place, value): &(&str, u64)| sql.replace(place, &value.to_string());
        let sql = values.iter().fold(sql.to_owned(), fill);
        match &stage.place {
            // It gives no rows back from an update.
            Place::Database(..) => {
                stage.sql(&format!("{sql}; SELECT 1 FROM DUAL WHERE ROW_COUNT() = 1")).len()
            }
            Place::Folder(_) | Place::Space(..) | Place::Memory(_) => {
                stage.sql(&format!("{sql} RETURNING 'moved'")).len()
            }
        }
    };
    assert_eq!(moved(&with), 0);
    assert_eq!(moved(&without), 1);
    for row in claims(21..=30) {
        let (number, rank, subject) = (row.number, row.rank, &row.subject);
        stage.sql(&format!(
            "INSERT INTO results (number, campaign_number, pool_number, in_campaign, rank, kind_number, at, subject)
             VALUES ({number}, 1, 0, {number}, {rank}, 1, 0, '{subject}')"
        ));
    }
    let numbers = stage.numbers();
    assert_eq!(numbers.len(), 20);
    assert_eq!(numbers[9..11], [10, 21], "a gap, and the ledger says it has all up to 30");
}

async fn a_leader_that_was_replaced_writes_nothing(stage: Stage) {
    let old = stage.ledger.mint_term().await.unwrap().term;
    stage.settle(old, 0, claims(1..=5)).await.unwrap();
    let new = stage.ledger.mint_term().await.unwrap();
    assert_eq!(new, Standing { through: 5, term: old + 1 });
    let failure = stage.settle(old, 5, claims(6..=9)).await.unwrap_err();
    assert_eq!(failure, LedgerError::OldTerm { ours: old, theirs: new.term });
    stage.settle(new.term, 5, claims(6..=7)).await.unwrap();
    let failure = stage.settle(old, 7, claims(8..=9)).await.unwrap_err();
    assert_eq!(failure, LedgerError::OldTerm { ours: old, theirs: new.term });
    assert_eq!(stage.numbers(), (1..=7).collect::<Vec<_>>());
}

async fn after_a_lost_answer_through_says_whether_it_was_written(stage: Stage) {
    let term = stage.ledger.mint_term().await.unwrap().term;
    {
        // The leader stops waiting; the ledger does not stop writing.
        let mut lost = std::pin::pin!(stage.settle(term, 0, claims(1..=10)));
        let sent = std::future::poll_fn(|context| {
            std::task::Poll::Ready(lost.as_mut().poll(context).is_pending())
        });
        // Whether it was done by then or not: nobody hears.
        sent.await;
    }
    let standing = stage.ledger.standing().await.unwrap();
    assert_eq!(standing, Standing { through: 10, term });
    let failure = stage.settle(term, 0, claims(1..=10)).await.unwrap_err();
    assert_eq!(failure, LedgerError::Moved { after: 0, through: 10 });
    stage.settle(term, 10, claims(11..=11)).await.unwrap();
    assert_eq!(stage.numbers(), (1..=11).collect::<Vec<_>>());
}

async fn it_goes_on_after_a_restart(mut stage: Stage) {
    for round in 0..5 {
        let minted = stage.ledger.mint_term().await.unwrap();
        assert_eq!(minted, Standing { through: round * 10, term: round + 1 });
        let rows = claims(round * 10 + 1..=round * 10 + 10);
        stage.settle(minted.term, minted.through, rows).await.unwrap();
        stage.restart().await;
    }
    assert_eq!(stage.numbers(), (1..=50).collect::<Vec<_>>());
    stage.ledger.close().await;
    let failure = stage.ledger.standing().await.unwrap_err();
    assert!(matches!(failure, LedgerError::Unavailable(_)), "{failure}");
}

async fn a_result_that_contradicts_the_ledger_is_named(stage: Stage) {
    let term = stage.ledger.mint_term().await.unwrap().term;
    stage.settle(term, 0, claims(1..=3)).await.unwrap();
    let cases = [
        (vec![claim(4, "spring", 4, "dan"), claim(5, "spring", 2, "eve")], 5, "a rank twice"),
        (vec![cancel(4, "spring", 9, "ann")], 4, "a cancel of nothing"),
        (vec![cancel(4, "spring", 1, "ann")], 4, "a cancel of somebody else's"),
        (
            vec![cancel(4, "spring", 1, "subject-1"), cancel(5, "spring", 1, "subject-1")],
            5,
            "twice",
        ),
        (
            vec![cancel(4, "spring", 4, "dan"), claim(5, "spring", 4, "dan")],
            4,
            "a cancel before its claim",
        ),
        (vec![claim(4, "spring", 2, "eve")], 4, "a rank that was there"),
    ];
    for (rows, expected, what) in cases {
        let failure = stage.settle(term, 3, rows).await.unwrap_err();
        let LedgerError::Differs { number, .. } = failure else { panic!("{what}: {failure}") };
        assert_eq!(number, expected, "{what}");
        assert_eq!(stage.ledger.standing().await.unwrap().through, 3, "{what}");
    }
    assert_eq!(stage.ledger.claim_counts("spring", "main").await.unwrap(), (3, 0));
    stage.settle(term, 3, vec![cancel(4, "spring", 1, "subject-1")]).await.unwrap();
}

/// Taken for another pool, its results would be in none of the views.
async fn a_pool_keeps_its_numbers_and_its_names(stage: Stage) {
    let term = stage.ledger.mint_term().await.unwrap().term;
    stage.settle(term, 0, claims(1..=3)).await.unwrap();
    let next = || claim(4, "spring", 4, "dan");
    for other in [Row { campaign_number: 9, ..next() }, Row { campaign: "winter".into(), ..next() }]
    {
        let failure = stage.settle(term, 3, vec![other]).await.unwrap_err();
        assert!(matches!(failure, LedgerError::Differs { number: 4, .. }), "{failure}");
    }
    stage.settle(term, 3, vec![next()]).await.unwrap();
}

#[tokio::test]
#[should_panic(expected = "in order")]
async fn rows_out_of_order_are_a_bug() {
    let stage = Stage::sqlite().await;
    let rows = vec![claim(3, "spring", 2, "bob"), claim(1, "spring", 1, "ann")];
    drop(stage.settle(0, 0, rows).await);
}

async fn results_cannot_be_changed_by_mistake(stage: Stage) {
    let term = stage.ledger.mint_term().await.unwrap().term;
    stage.settle(term, 0, claims(1..=3)).await.unwrap();
    for sql in ["UPDATE results SET subject = 'eve'", "DELETE FROM results WHERE number = 3"] {
        let error = stage.try_sql(sql).unwrap_err();
        assert!(error.contains("results are never"), "{error}");
    }
}

async fn an_id_is_drawn_once_and_each_ledger_has_its_own(mut stage: Stage) {
    let id = stage.ledger.id().await.unwrap();
    stage.restart().await;
    assert_eq!(stage.ledger.id().await.unwrap(), id);
    let other = Stage::sqlite().await;
    assert_ne!(other.ledger.id().await.unwrap(), id);
}

async fn a_ledger_of_another_space_or_a_newer_layout_is_refused(stage: Stage) {
    stage.ledger.close().await;
    let wanted = SpaceId([1; 16]);
    let other = LedgerError::OtherSpace { found: SPACE, wanted };
    assert_eq!(stage.open(wanted).await.unwrap_err(), other);
    stage.sql("UPDATE meta SET layout = 2");
    let newer = stage.open(SPACE).await.unwrap_err();
    assert_eq!(newer, LedgerError::TooNew(2));
    let says =
        "the ledger's tables are of layout 2, and this build knows layout 1: start a newer build";
    assert_eq!(newer.to_string(), says);
    stage.sql("UPDATE meta SET layout = 1");
    stage.open(SPACE).await.unwrap();
}

async fn readers_see_whole_batches_while_they_are_written(stage: Stage) {
    let term = stage.ledger.mint_term().await.unwrap().term;
    let (done, stop) = tokio::sync::watch::channel(false);
    let reading = tokio::spawn({
        let ledger = stage.ledger.clone();
        async move {
            let mut looks = 0;
            while !*stop.borrow() {
                let rows = ledger.results(0, 100_000, None).await.unwrap().len();
                assert_eq!(rows % 100, 0, "a batch is there or not");
                let (claims, _) = ledger.claim_counts("spring", "main").await.unwrap();
                assert_eq!(claims % 100, 0, "a batch is there or not");
                looks += 1;
            }
            looks
        }
    });
    for round in 0..50 {
        let rows = claims(round * 100 + 1..=round * 100 + 100);
        stage.settle(term, round * 100, rows).await.unwrap();
    }
    done.send_replace(true);
    assert!(reading.await.unwrap() > 0);
}

#[test]
fn a_result_can_be_told_to_people() {
    assert_eq!(
        cancel(4, "spring", 1, "ann").to_string(),
        format!(
            "4: cancel spring/main rank 1 of \"ann\" at {} by operator with key \"desk\" because \"paid twice\"",
            TEN + 4
        )
    );
    assert_eq!(
        claim(1, "spring", 1, "ann").to_string(),
        format!("1: claim spring/main rank 1 of \"ann\" at {}", TEN + 1)
    );
}
