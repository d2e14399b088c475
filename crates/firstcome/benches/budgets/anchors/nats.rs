//! What a team writes by hand: axum and NATS. A message for each claim, under a subject that must not have one yet; its
//! sequence is the rank.

use super::{CAPACITY, CLAIMS, Claim, Outcome};
use anyhow::Result;
use axum::routing::post;
use axum::{Json, Router};
use firstcome_store::StoreError;
use firstcome_store::nats::{Keeps, NatsConnection, NatsOptions, Put, Stream};

pub(super) async fn router(url: &str) -> Result<Router> {
    let nats = NatsConnection::connect(NatsOptions::new(url)).await?;
    let replicas = if nats.is_clustered() { 3 } else { 1 };
    let stream = Stream::new(nats, "byhand".to_owned());
    stream.create("byhand.>", replicas, Keeps::All { first: 1 }).await?;
    let claim = move |Json(Claim { subject }): Json<Claim>| async move {
        claim(&stream, &subject).await.expect("NATS answers")
    };
    Ok(Router::new().route(CLAIMS, post(claim)))
}

async fn claim(stream: &Stream, who: &str) -> Result<Outcome> {
    let subject = format!("byhand.{who}");
    let rests_on = Some((subject.clone(), 0));
    let put = Put { rests_on, ..Put::new(subject.clone(), who.into()) };
    let (is_new, sequence) = match stream.put(vec![put]).await {
        Ok(sequence) => (true, sequence),
        Err(StoreError::Held { .. }) => {
            (false, stream.last(&subject).await?.map_or(0, |stored| stored.sequence))
        }
        Err(why) => return Err(why.into()),
    };
    Ok(match sequence.cast_signed() {
        rank if rank > CAPACITY => Outcome::SoldOut,
        rank if is_new => Outcome::Won(rank),
        rank => Outcome::AlreadyWon(rank),
    })
}
