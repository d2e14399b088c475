//! Claims two places of a campaign that may be sold out, and waits for them.
//!
//! `cargo run --example wait -- CAMPAIGN SUBJECT [URL]`, with the key in `FIRSTCOME_KEY`.

use std::process::ExitCode;
use std::time::Duration;

use firstcome_client::{Answer, Client, Joined, Refusal, Wish};

/// How often somebody looks at the page that shows the place. Nobody is called.
const LOOKS: Duration = Duration::from_secs(5);

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<ExitCode, Box<dyn std::error::Error>> {
    let mut args = std::env::args().skip(1);
    let (Some(campaign), Some(subject)) = (args.next(), args.next()) else {
        eprintln!("usage: wait CAMPAIGN SUBJECT [URL]");
        return Ok(ExitCode::from(2));
    };
    let url = args.next().unwrap_or_else(|| "http://127.0.0.1:8080".to_owned());
    let client = Client::builder(&url).key(&std::env::var("FIRSTCOME_KEY")?).build()?;

    match client.join(&campaign, None, &subject, &Wish::units(2)).await? {
        Answer::Yes(Joined::Waits(place)) => println!("{} are in front", place.ahead),
        Answer::Yes(Joined::Offered(held)) => {
            println!("pay until {}: hold {}", held.expires_at, held.hold);
        }
        Answer::Yes(Joined::Won(won)) => println!("rank {}", won.rank),
        Answer::Yes(other) => println!("{other:?}"),
        Answer::No(_, problem) => return Err(problem.into()),
    }

    loop {
        match client.place(&campaign, None, &subject).await? {
            Answer::Yes(place) if place.is_offered() => {
                println!("offered: hold {}", place.hold.unwrap_or_default());
                return Ok(ExitCode::SUCCESS);
            }
            Answer::Yes(place) => println!("{} are in front", place.ahead.unwrap_or(0)),
            Answer::No(Refusal::NotOnWaitlist, _) => return Ok(ExitCode::SUCCESS),
            Answer::No(_, problem) => return Err(problem.into()),
        }
        tokio::time::sleep(LOOKS).await;
    }
}
