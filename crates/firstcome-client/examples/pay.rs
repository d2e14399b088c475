//! Holds seats, charges for them, and confirms them; gives the money back where they cannot be had any more.
//!
//! `cargo run --example pay -- CAMPAIGN SUBJECT SEAT…`, with the key in `FIRSTCOME_KEY`, the server in `FIRSTCOME_URL`.

use std::time::Duration;

use firstcome_client::{Answer, Client, HeldUnit, HoldStep, Late, Picks, Refusal, TakeHold, Taken};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut args = std::env::args().skip(1);
    let (Some(campaign), Some(subject)) = (args.next(), args.next()) else {
        return Err("usage: pay CAMPAIGN SUBJECT SEAT...".into());
    };
    let picks = Picks::seats(args);
    let url = std::env::var("FIRSTCOME_URL").unwrap_or("http://127.0.0.1:8080".to_owned());
    let client = Client::builder(&url).key(&std::env::var("FIRSTCOME_KEY")?).build()?;

    // Waits for seats that somebody lets go in the next three seconds.
    let take = TakeHold::new(&*campaign, &*subject, picks).wait(Duration::from_secs(3));
    let step = match client.take_hold(&take).await? {
        Answer::Yes(Taken::Held(held)) => {
            println!("held until {}: {}", held.expires_at, names(&held.units));
            HoldStep::on(&held)
        }
        Answer::Yes(_) => return Err("they are yours already".into()),
        Answer::No(Refusal::UnitTaken { units }, _) => {
            return Err(format!("somebody has {}", names(&units)).into());
        }
        Answer::No(_, problem) => return Err(problem.into()),
    };

    // The payment takes its time: the seats are kept for it first.
    match client.extend_hold(&step, None).await? {
        Answer::Yes(extended) => println!("kept until {}", extended.expires_at),
        Answer::No(_, problem) => return Err(format!("not charged: {problem}").into()),
    }
    let charged = charge(&subject).await;

    // The money is taken. If the hold is over by now, the same seats are taken again where they are free.
    match client.confirm_hold(&step, &Picks::default(), Late::Retake).await? {
        Answer::Yes(bought) => println!("bought: {}", names(&bought.units)),
        Answer::No(Refusal::RefundDue { .. }, _) => refund(&subject, charged).await,
        Answer::No(_, problem) => {
            println!("{problem}");
            refund(&subject, charged).await;
        }
    }
    Ok(())
}

fn names(units: &[HeldUnit]) -> String {
    let names = units.iter().filter_map(|unit| unit.unit.as_deref().or(unit.area.as_deref()));
    names.collect::<Vec<_>>().join(", ")
}

/// Stands for the payment provider.
async fn charge(subject: &str) -> u64 {
    println!("charging {subject}");
    4711
}

async fn refund(subject: &str, payment: u64) {
    println!("giving payment {payment} back to {subject}");
}
