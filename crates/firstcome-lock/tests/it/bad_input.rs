//! Each mistake has an error of its own, with a hint.

use std::time::Duration;

use firstcome_lock::{Effect, Error, Lock, Locks, RedisOptions, Remaining, TryLock};
use firstcome_store::StoreError;
use firstcome_testbed::{OldServer, RedisServer, RedisSettings};

use crate::stage::{SECOND, client_of, ms, take};

fn hinted(failure: Error) -> Error {
    assert!(failure.hint().is_some(), "{failure} has a hint");
    failure
}

#[tokio::test]
async fn names_and_durations() {
    let locks = Locks::memory();
    for name in ["", "a{", "{}", &"x".repeat(65_536)] {
        assert!(matches!(hinted(locks.mutex(name).unwrap_err()), Error::Name { .. }));
        assert!(matches!(locks.fenced_value(name), Err(Error::Name { .. })));
    }
    let century = Duration::from_secs(3_155_760_000);
    for lease in [Duration::ZERO, ms(49), century + SECOND, Duration::MAX] {
        let lock = locks.mutex("x").unwrap().lease(lease);
        let refused = hinted(lock.try_lock().await.unwrap_err());
        assert!(matches!(refused, Error::OutOfRange { what: "a lease", .. }), "{lease:?}");
        assert_eq!(refused.effect(), Effect::None);
    }
    let lock = locks.mutex("x").unwrap();
    let waited = hinted(lock.lock_within(century + SECOND).await.unwrap_err());
    assert!(matches!(waited, Error::OutOfRange { what: "a wait", .. }));
    take(&lock.clone().lease(century)).await.release().await.unwrap();
    let builder = Locks::builder().watchdog(Duration::ZERO);
    assert!(builder.memory(&firstcome_lock::Memory::new()).is_err());
}

#[tokio::test]
async fn a_lease_of_a_century_is_possible_at_the_store() {
    let Some(redis) = RedisServer::start() else { return };
    let locks = client_of(&redis).await;
    let lock = locks.mutex("x").unwrap().lease(Duration::from_secs(3_155_760_000));
    let lease = take(&lock).await;
    assert!(lease.remaining() > Duration::from_secs(2_000_000_000));
    lease.release().await.unwrap();
}

#[tokio::test]
async fn a_key_of_another_kind() {
    let Some(redis) = RedisServer::start() else { return };
    let locks = client_of(&redis).await;
    for words in ["SET x 1", "LPUSH y 1", "SADD z 1"] {
        assert!(!redis.ask(words).starts_with('-'));
    }
    for name in ["x", "y", "z"] {
        let refused = hinted(locks.mutex(name).unwrap().try_lock().await.unwrap_err());
        assert!(matches!(refused, Error::Store(StoreError::WrongKind { .. })), "{refused}");
        assert_eq!(refused.effect(), Effect::None);
        assert!(locks.mutex(name).unwrap().lock().await.is_err(), "waiting does not help");
    }
    // One that is a hash of another use looks like a lock without an end, until somebody asks who has it.
    assert_eq!(redis.ask("HSET user name bob"), ":1");
    let tried = locks.mutex("user").unwrap().try_lock().await.unwrap();
    assert!(matches!(tried, TryLock::Held { remaining: Remaining::Endless, .. }), "{tried:?}");
    let refused = hinted(locks.inspect("user").await.unwrap_err());
    assert!(matches!(refused, Error::Store(StoreError::WrongKind { .. })), "{refused}");
    // A token lock finds it taken, whatever it is.
    assert!(locks.token("y").unwrap().try_lock().await.unwrap().acquired().is_none());
}

#[tokio::test]
async fn a_wrong_password() {
    let settings =
        RedisSettings { password: Some("secret".to_owned()), ..RedisSettings::default() };
    let Some(redis) = RedisServer::with(settings) else { return };
    take(&client_of(&redis).await.mutex("x").unwrap()).await.release().await.unwrap();
    let port = redis.port();
    for url in [format!("redis://:wrong@127.0.0.1:{port}"), format!("redis://127.0.0.1:{port}")] {
        let refused = hinted(Locks::connect(&url).await.unwrap_err());
        assert!(matches!(refused, Error::Store(StoreError::Denied { .. })), "{refused}");
        assert!(!format!("{refused} {refused:?}").contains("wrong@"));
    }
}

#[tokio::test]
async fn a_user_without_the_right() {
    let Some(redis) = RedisServer::start() else { return };
    let said = redis.ask("ACL SETUSER ann on >pw ~x ~fc:fence:{x} +@all");
    assert_eq!(said, "+OK");
    let url = format!("redis://ann:pw@127.0.0.1:{}", redis.port());
    let locks = Locks::connect(&url).await.unwrap();
    let lease = take(&locks.mutex("x").unwrap()).await;
    let refused = hinted(locks.mutex("y").unwrap().try_lock().await.unwrap_err());
    assert!(matches!(refused, Error::Store(StoreError::Denied { .. })), "{refused}");
    drop(lease);
}

#[tokio::test]
async fn a_replica() {
    let Some(master) = RedisServer::start() else { return };
    let settings = RedisSettings { replica_of: Some(master.port()), ..RedisSettings::default() };
    let Some(replica) = RedisServer::with(settings) else { return };
    let locks = client_of(&replica).await;
    let refused = hinted(locks.mutex("x").unwrap().try_lock().await.unwrap_err());
    assert!(matches!(refused, Error::Store(StoreError::ReadOnly { .. })), "{refused}");
}

#[tokio::test]
async fn nobody_there() {
    let url = format!("redis://127.0.0.1:{}", firstcome_testbed::free_port());
    let refused = hinted(Locks::connect(&url).await.unwrap_err());
    assert!(matches!(refused, Error::Store(StoreError::Unreachable { .. })), "{refused}");
    let refused = hinted(Locks::connect("redis:/nowhere").await.unwrap_err());
    assert!(matches!(refused, Error::Store(StoreError::Address { .. })), "{refused}");
}

#[tokio::test]
async fn a_server_that_is_too_old() {
    let server = OldServer::start();
    let refused = hinted(Locks::connect(&server.url()).await.unwrap_err());
    let text = refused.to_string();
    assert!(matches!(refused, Error::Store(StoreError::TooOld { .. })), "{refused}");
    assert!(text.contains("4.0.14") && text.contains("6.2") && text.contains("clock"), "{text}");
}

#[tokio::test]
async fn a_silent_server_is_given_up_in_time() {
    let listener = std::net::TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let port = listener.local_addr().unwrap().port();
    let options = RedisOptions::new(format!("redis://127.0.0.1:{port}")).connect_within(ms(200));
    let refused = hinted(Locks::builder().connect(options).await.unwrap_err());
    assert!(matches!(refused, Error::Store(StoreError::Unreachable { .. })), "{refused}");
}

/// A counter of fences that is something else fails the acquire before anything is taken.
#[tokio::test]
async fn a_counter_of_another_kind_leaves_nothing_held() {
    let Some(redis) = RedisServer::start() else { return };
    let locks = client_of(&redis).await;
    let kinds: [(Lock, &str); 3] = [
        (locks.mutex("x").unwrap(), "fc:fence:{x}"),
        (locks.fenced("f").unwrap(), "redisson_lock_token:{f}"),
        (locks.token("t").unwrap(), "fc:fence:{t}"),
    ];
    for (lock, counter) in kinds {
        assert_eq!(redis.ask(&format!("LPUSH {counter} 1")), ":1");
        let refused = hinted(lock.try_lock().await.unwrap_err());
        assert!(matches!(refused, Error::Store(StoreError::WrongKind { .. })), "{refused}");
        assert_eq!(refused.effect(), Effect::None);
        assert!(redis.ask(&format!("EXISTS {}", lock.name())).ends_with(":0"), "{}", lock.name());
        assert_eq!(redis.ask(&format!("DEL {counter}")), ":1");
        // One that holds no number is written over by the next try.
        assert_eq!(redis.ask(&format!("SET {counter} one")), "+OK");
        drop(lock.try_lock().await);
        let lease = lock.lock_within(5 * SECOND).await.unwrap().acquired().expect("it is mended");
        lease.release().await.unwrap();
    }
}

#[tokio::test]
async fn times_that_cannot_be_counted_with() {
    let Some(redis) = RedisServer::start() else { return };
    let options = || RedisOptions::new(redis.url());
    for time in [Duration::ZERO, Duration::MAX] {
        for options in [
            options().answer_within(time),
            options().connect_within(time),
            options().heartbeat(time),
        ] {
            let refused = hinted(Locks::builder().connect(options).await.unwrap_err());
            assert!(matches!(refused, Error::Store(StoreError::OutOfRange { .. })), "{refused}");
            assert_eq!(refused.effect(), Effect::None);
        }
    }
    let hour = 3600 * SECOND;
    let longest = options().answer_within(hour).connect_within(hour).heartbeat(hour);
    let locks = Locks::builder().ride_out(Duration::MAX).connect(longest).await.unwrap();
    let century = Duration::from_secs(3_155_760_000);
    take(&locks.mutex("x").unwrap().renewed(century)).await.release().await.unwrap();
}

#[tokio::test]
async fn a_redis_cluster() {
    // By itself it takes a port for its neighbours among those of outgoing connections.
    let bus = firstcome_testbed::free_port().to_string();
    let more = ["--cluster-enabled", "yes", "--cluster-port", &bus].map(str::to_owned).to_vec();
    let Some(redis) = RedisServer::with(RedisSettings { more, ..RedisSettings::default() }) else {
        return;
    };
    let refused = hinted(Locks::connect(&redis.url()).await.unwrap_err());
    assert!(refused.to_string().contains("is part of a Redis Cluster"), "{refused}");
    assert!(refused.hint().is_some_and(|hint| hint.contains("redis+cluster://")));
    assert_eq!(refused.effect(), Effect::None);
}
