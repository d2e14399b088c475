//! Claims a place for somebody, with a deadline, and finds out what happened where the answer was lost.
//!
//! `cargo run --example claim -- CAMPAIGN SUBJECT [URL…]`, with the key in `FIRSTCOME_KEY`.

#![expect(
    clippy::wildcard_enum_match_arm,
    reason = "customers are told some refusals in other words, and later versions may have more"
)]

use std::process::ExitCode;
use std::time::Duration;

use firstcome_client::{Answer, Client, Error, Refusal, Unknown, Won};

/// How long a customer waits for an answer.
const CUSTOMER: Duration = Duration::from_secs(3);
/// How long a claim whose end is unknown is asked for again.
const BACKGROUND: Duration = Duration::from_secs(60);

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<ExitCode, Box<dyn std::error::Error>> {
    let mut args = std::env::args().skip(1);
    let (Some(campaign), Some(subject)) = (args.next(), args.next()) else {
        eprintln!("usage: claim CAMPAIGN SUBJECT [URL...]");
        return Ok(ExitCode::from(2));
    };
    let first = args.next().unwrap_or_else(|| "http://127.0.0.1:8080".to_owned());
    let client = args.fold(Client::builder(&first), |builder, url| builder.server(&url));
    let client = client.key(&std::env::var("FIRSTCOME_KEY")?).deadline(CUSTOMER).build()?;

    let answer = match client.claim(&campaign, &subject).await {
        Ok(answer) => answer,
        Err(Error::Unknown(unknown)) => {
            // Tell the customer "we will write to you": a place may be taken for them.
            eprintln!("{unknown}");
            find_out(&client, *unknown).await?
        }
        Err(error) => return Err(error.into()),
    };
    Ok(match answer {
        Answer::Yes(won) => {
            println!("{} has rank {} since {}", won.subject, won.rank, won.at);
            ExitCode::SUCCESS
        }
        Answer::No(refusal, problem) => {
            println!("{}", sentence(&refusal).unwrap_or_else(|| problem.detail.clone()));
            ExitCode::FAILURE
        }
    })
}

/// Asks for the same claim again until it is known what became of it.
async fn find_out(client: &Client, unknown: Unknown) -> Result<Answer<Won>, Error> {
    unknown.resolve(&client.with_deadline(BACKGROUND)).await
}

/// What a customer reads.
fn sentence(refusal: &Refusal) -> Option<String> {
    Some(match refusal {
        Refusal::SoldOut => "Everything is gone.".to_owned(),
        Refusal::NotOpen { opens_at: Some(at) } => format!("This opens at {at}."),
        Refusal::Closed => "This is over.".to_owned(),
        Refusal::AlreadyCancelled => "You gave your place back.".to_owned(),
        Refusal::Barred { .. } => "Please ask the shop.".to_owned(),
        _ => return None,
    })
}
