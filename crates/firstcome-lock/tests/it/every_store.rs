//! The list of stores that a story about any store is told of.

macro_rules! on_every_store {
    ($($name:ident)+) => {
        mod redis { $(
            #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $name() {
                if let Some(stage) = crate::stage::Stage::redis() { super::$name(stage).await }
            }
        )+ }
        mod postgres { $(
            #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $name() {
                if let Some(stage) = crate::stage::Stage::postgres() { super::$name(stage).await }
            }
        )+ }
        mod sqlite { $(
            #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $name() {
                if let Some(stage) = crate::stage::Stage::sqlite() { super::$name(stage).await }
            }
        )+ }
        mod mariadb { $(
            #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $name() {
                if let Some(stage) = crate::stage::Stage::mariadb() { super::$name(stage).await }
            }
        )+ }
        mod nats { $(
            #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $name() {
                if let Some(stage) = crate::stage::Stage::nats() { super::$name(stage).await }
            }
        )+ }
        mod pgbouncer { $(
            #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $name() {
                if let Some(stage) = crate::stage::Stage::pooled() { super::$name(stage).await }
            }
        )+ }
        mod valkey { $(
            #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $name() {
                if let Some(stage) = crate::stage::Stage::valkey() { super::$name(stage).await }
            }
        )+ }
        mod redis_with_the_documented_rights { $(
            #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $name() {
                if let Some(stage) = crate::stage::Stage::limited() { super::$name(stage).await }
            }
        )+ }
        mod postgres_with_the_documented_rights { $(
            #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $name() {
                let stage = crate::stage::Stage::limited_postgres().await;
                if let Some(stage) = stage { super::$name(stage).await }
            }
        )+ }
        mod mariadb_with_the_documented_rights { $(
            #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $name() {
                let stage = crate::stage::Stage::limited_mariadb().await;
                if let Some(stage) = stage { super::$name(stage).await }
            }
        )+ }
        mod memory { $(
            #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $name() {
                if let Some(stage) = crate::stage::Stage::memory() { super::$name(stage).await }
            }
        )+ }
    };
}
