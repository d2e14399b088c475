//! Nodes whose space was moved to another store: they stop before the entry that ends it, and say so.
//!
//! Time is the runtime's own, paused.

use crate::several::{Seat, store};
use firstcome_core::NodeId;
use firstcome_core::command::moved;
use firstcome_journal::memory::Memory;
use firstcome_journal::{Append, Journal, Name};
use firstcome_node::{CommandError, Condition};
use std::time::Duration;
use tokio::time::sleep;

/// Ends the space behind what a journal has; gives the position of the entry that does.
async fn end(store: &Memory) -> u64 {
    let journal = Journal::Memory(store.clone());
    let head = journal.head().await.unwrap();
    let name = Name { node: NodeId([9; 16]), number: 1 };
    let body = moved(name.node, name.number, head.position).into();
    let (applied, applied_name) = (head.position, head.name);
    journal.append(Append { body, name, applied, applied_name }).await.unwrap();
    head.position + 1
}

fn is_moved(seat: &Seat) -> bool {
    matches!(seat.node.intake.condition(), Condition::Lost(CommandError::SpaceMoved, _))
}

#[tokio::test(start_paused = true)]
async fn every_node_stops_before_the_end_and_answers_that_the_space_moved() {
    let store = store();
    let (one, two) = (Seat::at(&store).await, Seat::at(&store).await);
    one.opens("spring", 9).await;
    assert_eq!(one.claims("ann").await, 1);
    let end = end(&store).await;
    // One hears of it with its own batch, which is stored behind the end; the other while it follows.
    assert_eq!(one.tries("bob", None).await.unwrap_err(), CommandError::SpaceMoved);
    sleep(Duration::from_secs(2)).await;
    for seat in [&one, &two] {
        assert!(is_moved(seat) && seat.node.has_stopped());
        assert_eq!(seat.position().position, end - 1);
        assert_eq!(seat.tries("cid", None).await.unwrap_err(), CommandError::SpaceMoved);
    }
    let there = Journal::Memory(store.clone()).read(end).await.unwrap().entries;
    assert_eq!(there.len(), 1, "what was on its way is behind the end, and nothing else is");
}

#[tokio::test(start_paused = true)]
async fn a_batch_whose_answer_was_lost_is_answered_by_where_it_is() {
    let store = store();
    let one = Seat::at(&store).await;
    one.opens("spring", 9).await;
    // Before the end: it counts.
    one.journal.lose_answer(1);
    let ann = one.tries("ann", None);
    let ends = async {
        while Journal::Memory(store.clone()).head().await.unwrap().position < 2 {
            sleep(Duration::from_millis(1)).await;
        }
        end(&store).await
    };
    let (ann, _) = tokio::join!(ann, ends);
    assert_eq!(ann.unwrap().outcome.as_str(), "won");
    sleep(Duration::from_secs(2)).await;
    assert!(is_moved(&one));

    // Behind the end: nobody ever applies it.
    let store = crate::several::store();
    let one = Seat::at(&store).await;
    one.opens("spring", 9).await;
    end(&store).await;
    one.journal.lose_answer(1);
    assert_eq!(one.tries("ann", None).await.unwrap_err(), CommandError::SpaceMoved);
    assert_eq!(one.position().position, 1);
}
