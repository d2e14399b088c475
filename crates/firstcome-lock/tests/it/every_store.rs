//! The list of stores that a story about any store is told of.

use std::pin::Pin;

use crate::stage::Stage;

/// A story that goes on. All have this one type, so that the compiler makes a story once and not once for each store.
pub(crate) type Story = Pin<Box<dyn Future<Output = ()>>>;

/// Tells a story of one store, if its server is installed.
pub(crate) fn tell(store: &'static str, story: fn(Stage) -> Story) {
    let whole: Story = Box::pin(async move {
        if let Some(stage) = Stage::named(store).await {
            story(stage).await;
        }
    });
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
    runtime.unwrap().block_on(whole);
}

macro_rules! on_stores {
    ([$($store:ident)+] $stories:tt) => { $( on_stores! { @ $store $stories } )+ };
    (@ $store:ident { $($story:ident)+ }) => {
        mod $store { $(
            #[test]
            fn $story() {
                crate::every_store::tell(stringify!($store), |stage| Box::pin(super::$story(stage)));
            }
        )+ }
    };
}

macro_rules! on_every_store {
    ($($story:ident)+) => {
        on_stores! {
            [redis postgres sqlite mariadb nats pgbouncer valkey memory redis_with_the_documented_rights
                postgres_with_the_documented_rights mariadb_with_the_documented_rights]
            { $($story)+ }
        }
    };
}
