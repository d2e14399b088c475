//! What a user of NATS needs the right to: what the page lists, and nothing else.

use crate::nats_opening::open;
use crate::sharing::announcement;
use crate::world::{Player, all, install, node, says};
use firstcome_core::names::PieceName;
use firstcome_journal::{Journal, JournalError};
use firstcome_testbed::{Nats as Server, NatsRights};
use std::time::Duration;

const PAGE: &str = include_str!("../../../../docs/reference/in-nats.md");

/// Does all that nodes do with a journal, from making it to removing it.
async fn everything(url: &str, space: &str) -> Result<(), JournalError> {
    let opened = async || {
        let nats = open(url, space, |options| options.keep_for = Duration::ZERO).await?;
        Ok::<_, JournalError>(Journal::Nats(nats))
    };
    let (journal, other) = (opened().await?, opened().await?);
    let (mut ann, mut bob) = (Player::new(b'a'), Player::new(b'b'));
    for number in 0..3 {
        ann.claims(&journal, &format!("ann{number}")).await?;
        bob.claims(&other, &format!("bob{number}")).await?;
    }
    let before = journal.head().await?.position;
    let following = tokio::spawn({
        let shared = other.clone();
        async move { shared.follow(before, Duration::from_secs(10)).await }
    });
    ann.claims(&journal, "followed").await?;
    assert_eq!(following.await.unwrap()?.read.entries.len(), 1);
    journal.announce(announcement(b'a', 4), 1).await?;
    assert_eq!(journal.members().await?.len(), 1);
    journal.report(1, node(b'a'), "x".repeat(1 << 20)).await?;
    assert_eq!(journal.reports().await?.len(), 1);
    journal.skip(crate::skips::skip(5, b'a', 3)).await?;
    assert_eq!(journal.skips().await?.len(), 1);
    let term = journal.mint_term().await?;
    let bytes = vec![b'p'; 256 << 10];
    let piece = PieceName::of(&bytes);
    journal.put_piece(piece, bytes.clone()).await?;
    for position in [4, 6] {
        install(&journal, position, b"a manifest".to_vec(), vec![piece], term).await?;
    }
    assert_eq!(journal.piece(piece).await?, Some(bytes));
    assert!(journal.trim(term).await? > 1, "something goes");
    assert_eq!(all(&other, 4).await.len(), 3);
    journal.leave(node(b'a')).await?;
    journal.remove().await?;
    journal.close().await;
    other.close().await;
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_user_with_the_rights_of_the_page_can_do_everything_and_without_one_it_is_refused() {
    let mut users = vec![("full".to_owned(), NatsRights::of_page(PAGE, "full"))];
    let mut missing = Vec::new();
    for number in 0..NatsRights::of_page(PAGE, "").without_each().len() {
        let user = format!("less{number}");
        let (right, rest) = NatsRights::of_page(PAGE, &user).without_each().swap_remove(number);
        // Those of the locks are tried by the tests of the locks.
        if !right.contains("locks") {
            users.push((user.clone(), rest));
            missing.push((user, right));
        }
    }
    assert!(missing.len() >= 8, "{missing:?}");
    let Some(server) = Server::with_users(&users) else { return };
    everything(&server.url_of("full"), "full").await.unwrap();
    for (user, right) in missing {
        // No answer is waited for in vain, for which there are 3 s. A busy machine may need another try.
        let mut tries = 0;
        loop {
            let begun = std::time::Instant::now();
            let failure = everything(&server.url_of(&user), &user).await.expect_err(&right);
            let begin = right.split(['*', '>']).next().unwrap();
            says(&failure, &["in-nats.md", "Permissions Violation", begin]);
            let took = begun.elapsed();
            tries += 1;
            if took < Duration::from_secs(2) {
                break;
            }
            assert!(tries < 5, "{right}: {took:?}");
        }
    }
}
