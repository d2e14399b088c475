//! Which NATS server holds a journal, and what is in it then.

use crate::world::{Player, SPACE, all, delete_streams, says};
use firstcome_core::command::{BodyWriter, Command};
use firstcome_core::names::SpaceId;
use firstcome_journal::nats::{DatabaseOptions, Durability, Nats};
use firstcome_journal::{Journal, JournalError};
use firstcome_store::nats::{NatsConnection, NatsOptions};
use firstcome_testbed::Nats as Server;
use serde_json::json;

/// Opens the journal of a space, by the clock of the server.
pub(crate) async fn open(
    url: &str,
    space: &str,
    change: impl FnOnce(&mut DatabaseOptions),
) -> Result<Nats, JournalError> {
    let mut options = DatabaseOptions::new(SPACE, Durability::Memory);
    space.clone_into(&mut options.space_name);
    change(&mut options);
    Nats::open(NatsOptions::new(url), options).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_space_is_made_once_and_is_that_of_whoever_came_first() {
    let Some(server) = Server::shared() else { return };
    let (url, name) = (server.url(), Server::new_space());
    let mut tasks = tokio::task::JoinSet::new();
    for number in 1..=8 {
        let (url, name) = (url.clone(), name.clone());
        tasks.spawn(async move {
            let fresh = SpaceId([number; 16]);
            open(&url, &name, |options| options.fresh = fresh).await.unwrap().space()
        });
    }
    let spaces = tasks.join_all().await;
    assert!(spaces.iter().all(|space| *space == spaces[0]), "{spaces:?}");
    let other = SpaceId([99; 16]);
    let failure = open(&url, &name, |options| options.wanted = Some(other)).await.unwrap_err();
    assert!(
        matches!(failure, JournalError::OtherSpace { wanted, .. } if wanted == other),
        "{failure}"
    );
    open(&url, &name, |options| options.wanted = Some(spaces[0])).await.unwrap();
    let failure = open(&url, "a.b", |_| {}).await.unwrap_err();
    says(&failure, &["letters", "--space"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_space_that_somebody_knows_is_not_made_again() {
    let Some(server) = Server::shared() else { return };
    let (url, name) = (server.url(), Server::new_space());
    let wanted = |options: &mut DatabaseOptions| options.wanted = Some(SPACE);
    let failure = open(&url, &name, wanted).await.unwrap_err();
    assert!(matches!(failure, JournalError::Gone(SPACE)), "{failure}");
    let journal = Journal::Nats(open(&url, &name, |_| {}).await.unwrap());
    Player::new(b'a').claims(&journal, "ann").await.unwrap();
    delete_streams(&url, &name).await;
    let failure = open(&url, &name, wanted).await.unwrap_err();
    assert!(matches!(failure, JournalError::Gone(SPACE)), "{failure}");
    let failure = journal.append(Player::new(b'b').next("bob")).await.unwrap_err();
    assert!(matches!(failure, JournalError::Gone(SPACE)), "{failure}");
    let failure = journal.read(0).await.unwrap_err();
    assert!(matches!(failure, JournalError::Gone(SPACE)), "{failure}");
    let failure = journal.head().await.unwrap_err();
    assert!(matches!(failure, JournalError::Gone(SPACE)), "{failure}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stream_that_drops_messages_by_itself_is_refused() {
    let Some(server) = Server::shared() else { return };
    let url = server.url();
    let operator = NatsConnection::connect(NatsOptions::new(&*url)).await.unwrap();
    for (change, words) in [
        (json!({ "max_age": 60_000_000_000_u64 }), "max_age"),
        (json!({ "max_bytes": 1_000_000, "discard": "old" }), "discard"),
        (json!({ "allow_atomic": false }), "allow_atomic"),
        (json!({ "max_msgs_per_subject": 5 }), "max_msgs_per_subject"),
    ] {
        let name = Server::new_space();
        let mut config = json!({
            "name": format!("fc_journal_{name}"),
            "subjects": [format!("fc.{name}.>")],
            "max_msgs_per_subject": 1,
            "allow_direct": true,
            "allow_atomic": true,
        });
        for (key, value) in change.as_object().unwrap() {
            config[key] = value.clone();
        }
        let create = format!("STREAM.CREATE.fc_journal_{name}");
        operator.ask(&create, &config).await.unwrap();
        says(&open(&url, &name, |_| {}).await.unwrap_err(), &[words, "nats stream edit"]);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_user_without_rights_and_an_account_without_jetstream_are_refused() {
    let settings = "accounts {\n  with { jetstream: enabled, users: [{ user: ann, password: secret }] }\n  \
                    without { users: [{ user: bob, password: secret }] }\n}";
    let Some(server) = Server::with(settings, "") else { return };
    let url = |login: &str| server.url().replace("//", &format!("//{login}@"));
    says(&open(&url("ann:wrong"), "main", |_| {}).await.unwrap_err(), &["password"]);
    says(&open(&url("bob:secret"), "main", |_| {}).await.unwrap_err(), &["JetStream"]);
    let journal = Journal::Nats(open(&url("ann:secret"), "main", |_| {}).await.unwrap());
    Player::new(b'a').claims(&journal, "ann").await.unwrap();
    assert_eq!(all(&journal, 0).await.len(), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_with_small_messages_is_refused_and_a_large_entry_is_in_two() {
    let Some(server) = Server::with("max_payload: 500KB", "") else { return };
    says(&open(&server.url(), "main", |_| {}).await.unwrap_err(), &["512000", "max_payload"]);
    let Some(server) = Server::shared() else { return };
    let (url, name) = (server.url(), Server::new_space());
    let journal = Journal::Nats(open(&url, &name, |_| {}).await.unwrap());
    let mut ann = Player::new(b'a');
    ann.claims(&journal, "first").await.unwrap();
    let mut append = ann.next("large");
    append.body = large_body(append.name).into();
    assert!(append.body.len() > (1 << 20) - 4096, "{}", append.body.len());
    let exchange = journal.append(append.clone()).await.unwrap();
    assert_eq!(exchange.entries[0].body, append.body);
    ann.apply(&exchange.entries);
    ann.claims(&journal, "last").await.unwrap();
    let there = all(&journal, 0).await;
    assert_eq!((there.len(), &there[1].body), (3, &append.body));
    let other = Journal::Nats(open(&url, &name, |_| {}).await.unwrap());
    assert_eq!(all(&other, 0).await, there);
    assert_eq!(other.head().await.unwrap().position, 3);
}

/// A body of nearly 1 MiB.
fn large_body(name: firstcome_journal::Name) -> Vec<u8> {
    let mut writer = BodyWriter::new(name.node, name.number, 0);
    let who = "x".repeat(255);
    while writer.push(&Command::claim("spring", None, &who)) {}
    writer.finish()
}
