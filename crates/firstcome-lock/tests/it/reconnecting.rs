//! What is looked for when the connection stands again.

use firstcome_lock::{Locks, Loss, Mistake, RedisOptions};
use firstcome_testbed::RedisServer;

use crate::stage::{SECOND, ms, take};

/// How often the server is made busy until a look is not answered.
const TRIES: usize = 5;

/// Keeps the server busy for two seconds, in which it answers nothing but that it is.
const BUSY: &str = "EVAL \"local t = redis.call('TIME')[1] + 2 while tonumber(redis.call('TIME')[1]) <= tonumber(t) do end\" 0";

/// A server that lost a lock is busy when the connection to it stands again: the holder is told as soon as it answers.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_loss_is_noticed_though_the_first_look_is_not_answered() {
    let Some(redis) = RedisServer::start() else { return };
    assert_eq!(redis.ask("CONFIG SET busy-reply-threshold 20"), "+OK");
    let options = RedisOptions::new(redis.url()).heartbeat(ms(500)).answer_within(SECOND);
    let ann = Locks::builder().connect(options.clone()).await.unwrap();
    let careless = Locks::builder().inject(Mistake::LookOnce).connect(options).await.unwrap();
    let redis = std::sync::Arc::new(redis);
    for _ in 0..TRIES {
        let fixed = take(&ann.mutex("x").unwrap().lease(600 * SECOND)).await;
        let other = take(&careless.mutex("y").unwrap().lease(600 * SECOND)).await;
        let words = format!("DEL x y\r\nCLIENT KILL TYPE normal SKIPME yes\r\n{BUSY}");
        let busy = std::thread::spawn({
            let redis = std::sync::Arc::clone(&redis);
            move || redis.ask(&words)
        });
        let told = tokio::time::timeout(10 * SECOND, fixed.lost()).await;
        assert_eq!(told.expect("long before it is used up"), Loss::Taken);
        busy.join().unwrap();
        // In contrast: one that asks once believes in what it does not have, unless its connection stood again only when
        // the server answered.
        if other.is_valid() {
            return;
        }
    }
    panic!("who looks once was answered each time");
}
