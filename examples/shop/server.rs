//! The server of the shop: one that runs already, or one that is started with campaigns to look at.

use crate::Failed;
use firstcome_client::{Ask, Client, Match, Reply};
use serde_json::{Value, json};
use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// A server that this program started, and its folder; both are gone with it.
pub(crate) struct Running {
    child: Child,
    folder: PathBuf,
}

impl Drop for Running {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
        drop(std::fs::remove_dir_all(&self.folder));
    }
}

/// Gives the value of an argument.
fn argument(name: &str) -> Option<String> {
    std::env::args().skip_while(|argument| argument != name).nth(1)
}

/// Gives the address of the shop.
pub(crate) fn shop_address() -> String {
    argument("--listen").unwrap_or_else(|| "127.0.0.1:9090".to_owned())
}

type Found = (Option<Running>, Client, String, Vec<String>);

/// Finds the server that is named, or starts one.
pub(crate) async fn start_or_find(shop: &str) -> Result<Found, Box<dyn std::error::Error>> {
    if let Some(url) = argument("--server") {
        let campaign = argument("--campaign").ok_or("--server goes with --campaign NAME")?;
        let key = std::env::var("FIRSTCOME_KEY").map_err(|_| "set FIRSTCOME_KEY")?;
        let client = Client::builder(&url).key(&key).build()?;
        return Ok((None, client, url, vec![campaign]));
    }
    let key = format!("shop-{:032x}", fastrand::u128(..));
    let folder = std::env::temp_dir().join(format!("firstcome-shop-{:016x}", fastrand::u64(..)));
    let mut command = Command::new(std::env::current_exe()?);
    command.args(["serve", "--until-stdin-ends", "--listen", "127.0.0.1:0", "--data"]).arg(&folder);
    command.args(["--pages-shop", &format!("{shop}/pay")]);
    command.env("FIRSTCOME_ADMIN_KEY", &key);
    command.env("FIRSTCOME_TOKEN_SECRET", format!("{:032x}", fastrand::u128(..)));
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut child = command.spawn()?;
    let mut first = String::new();
    let said = child.stdout.take().ok_or("the server has no output")?;
    let running = Running { child, folder };
    let mut said = BufReader::new(said);
    said.read_line(&mut first)?;
    // Read on, so that the server never waits for a reader.
    std::thread::spawn(move || std::io::copy(&mut said, &mut std::io::sink()));
    let url = first.trim().rsplit(' ').next().unwrap_or_default().to_owned();
    let client = Client::builder(&url).key(&key).build()?;
    let campaigns = fill(&client).await?;
    Ok((Some(running), client, url, campaigns))
}

/// Makes a campaign of places, one of seats and one of codes.
async fn fill(client: &Client) -> Result<Vec<String>, Box<dyn std::error::Error>> {
    let soon = jiff::Timestamp::now() + Duration::from_secs(20);
    let seats = (0..12).flat_map(|row: u8| {
        (1..=20).map(move |number| {
            let letter = char::from(b'A' + row);
            let (grade, price) = if row < 4 { ("R", 90_000) } else { ("S", 60_000) };
            json!({"name": format!("{letter}{number}"), "section": "Stalls", "row": letter.to_string(),
                "number": number.to_string(), "grade": grade, "price_minor": price, "currency": "KRW"})
        })
    });
    let all = [
        (
            "drop",
            json!({"title": "Two hundred pairs of shoes", "opens_at": soon.to_string(),
            "pools": [{"name": "main", "kind": "counted", "capacity": 200}]}),
        ),
        (
            "concert",
            json!({"title": "A concert", "opens_at": "now", "allow_orphans": true,
            "limits": {"campaign": 6}, "pools": [{"name": "main", "kind": "seated", "seats": seats.collect::<Vec<_>>()}]}),
        ),
        (
            "coupons",
            json!({"title": "A coupon for everybody who is fast", "opens_at": "now",
            "pools": [{"name": "main", "kind": "coded", "capacity": 100}]}),
        ),
    ];
    let mut names = Vec::new();
    for (name, mut settings) in all {
        settings["public"] = true.into();
        let put = Ask::put_campaign(name, settings, Match::Nothing, name);
        match client.ask::<Value>(put).await? {
            Reply::Yes(..) => names.push(name.to_owned()),
            Reply::No(problem) => return Err(problem.sentence().into()),
        }
    }
    Ok(names)
}

/// Mints a token with which a browser acts for one customer in one campaign, for half an hour.
pub(crate) async fn mint(client: &Client, campaign: &str, name: &str) -> Result<String, Failed> {
    let minted = client.mint_token(campaign, name, Duration::from_secs(1_800), false).await?;
    Ok(minted.yes()?.token)
}
