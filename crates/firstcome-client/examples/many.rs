//! Claims for every subject on standard input, one on each line, many in one request.
//!
//! `FIRSTCOME_KEY=… cargo run -p firstcome-client --example many -- http://127.0.0.1:8080 spring < subjects`

use std::error::Error;

use firstcome_client::{Answer, Client, CommandLine, Done};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let mut args = std::env::args().skip(1);
    let (Some(url), Some(campaign)) = (args.next(), args.next()) else {
        return Err("give the server's address and a campaign".into());
    };
    let client = Client::builder(&url).key(&std::env::var("FIRSTCOME_KEY")?).build()?;
    let subjects = std::io::stdin().lines().collect::<Result<Vec<String>, _>>()?;
    let lines = subjects.into_iter().map(move |name| CommandLine::claim(&*campaign, name));
    let mut commands = client.commands(lines);
    while let Some(done) = commands.next().await? {
        match done.answer {
            Ok(Answer::Yes(Done::Won(won))) => println!("{}: {}", done.line.subject, won.rank),
            Ok(Answer::Yes(_)) => {}
            Ok(Answer::No(_, why)) => println!("{}: {why}", done.line.subject),
            Err(error) => println!("{}: {error}", done.line.subject),
        }
    }
    Ok(())
}
