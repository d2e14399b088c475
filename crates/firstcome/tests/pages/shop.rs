//! The shop of `examples/shop`, from the log-in to the payment, in time and too late.

use crate::process::KEY;
use crate::scene::{DESK, Scene, click, has, nothing_wrong, rows};
use firstcome_testbed::Browser;
use serde_json::json;
use std::io::{BufRead, BufReader, Read};
use std::net::TcpListener;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// The running shop; killed when dropped.
struct Shop {
    child: Child,
    url: String,
}

impl Shop {
    /// Starts the program as a user does; `args` name a server.
    fn open(args: &[&str]) -> Self {
        let program = PathBuf::from(env!("CARGO_BIN_EXE_firstcome"));
        let program = program.parent().unwrap().join("examples/shop");
        assert!(
            program.is_file(),
            "`cargo test` builds it; alone: cargo build --workspace --example shop"
        );
        let mut command = Command::new(program);
        command
            .args(args)
            .env("FIRSTCOME_KEY", KEY)
            .stdout(Stdio::piped())
            .stderr(Stdio::inherit());
        let mut child = command.spawn().unwrap();
        let mut first = String::new();
        let mut said = BufReader::new(child.stdout.take().unwrap());
        said.read_line(&mut first).unwrap();
        let url = first.trim().rsplit(' ').next().unwrap().to_owned();
        std::thread::spawn(move || drop(said.read_to_end(&mut Vec::new())));
        Self { child, url }
    }
}

impl Drop for Shop {
    fn drop(&mut self) {
        let pid = rustix::process::Pid::from_child(&self.child);
        let told = rustix::process::kill_process(pid, rustix::process::Signal::TERM);
        let end = Instant::now() + Duration::from_secs(10);
        // It ends its server and removes the folder.
        while told.is_ok() && matches!(self.child.try_wait(), Ok(None)) && Instant::now() < end {
            std::thread::sleep(Duration::from_millis(10));
        }
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

/// An address that is free now.
fn free() -> String {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().to_string()
}

fn log_in(browser: &mut Browser, shop: &Shop, name: &str) {
    browser.go(&shop.url);
    browser.until("document.querySelector('form')");
    browser.evaluate(&format!("document.querySelector('[name=name]').value = {name:?}; document.querySelector('button').click()")).unwrap();
    browser.until(
        "document.querySelector('#legend li') && !document.querySelector('#bestGo').disabled",
    );
}

#[test]
fn who_pays_in_time_has_the_seats_and_who_pays_late_gets_them_or_the_money() {
    let address = free();
    let shop_url = format!("http://{address}/pay");
    let scene = Scene::with(&[("PAGES_SHOP", &shop_url)]);
    // Long enough to come to the shop, short enough to wait for its end.
    scene.put("hall", &json!({"title": "A concert", "opens_at": "now", "allow_orphans": true, "hold_ttl_ms": 15_000, "pools": rows(2)}));
    let server = scene.url("");
    let shop = Shop::open(&["--listen", &address, "--server", &server, "--campaign", "hall"]);
    let Some(mut browser) = scene.browse(&DESK, "about:blank") else { return };

    log_in(&mut browser, &shop, "ann");
    click(&mut browser, "#bestGo");
    click(&mut browser, "#pay");
    browser.until("document.querySelector('#now')");
    click(&mut browser, "#now");
    browser.until(&has("h1", "Payment bought"));
    click(&mut browser, "#back");
    browser.until(&has("#wonTitle", "Yours"));
    browser.until("document.querySelectorAll('#claims .rank').length === 2");
    nothing_wrong(&mut browser);

    // Too late, and the seats are free still: they are taken again.
    log_in(&mut browser, &shop, "bob");
    click(&mut browser, "#bestGo");
    click(&mut browser, "#pay");
    browser.until("document.querySelector('#late')");
    let mut talk = scene.talk();
    let hold_of = |talk: &mut crate::wire::Talk, subject: &str| {
        let has = talk.get(&format!("/v1/subjects/{subject}")).json();
        has["campaigns"][0]["holds"].as_array().map_or(0, Vec::len)
    };
    let over = |talk: &mut crate::wire::Talk, subject: &str| {
        let begun = Instant::now();
        while hold_of(talk, subject) > 0 {
            assert!(begun.elapsed() < Duration::from_secs(60), "the hold does not end");
            std::thread::sleep(Duration::from_millis(50));
        }
    };
    over(&mut talk, "bob");
    click(&mut browser, "#late");
    browser.until(&has("h1", "Payment bought"));

    // Too late, and somebody else has them: the money goes back.
    log_in(&mut browser, &shop, "cem");
    click(&mut browser, "#bestGo");
    browser.until("document.querySelectorAll('#basketUnits li').length === 2");
    let held = talk.get("/v1/subjects/cem").json();
    let units: Vec<_> = held["campaigns"][0]["holds"][0]["units"]
        .as_array()
        .unwrap()
        .iter()
        .map(|unit| unit["unit"].clone())
        .collect();
    click(&mut browser, "#pay");
    browser.until("document.querySelector('#late')");
    over(&mut talk, "cem");
    talk.post("/v1/campaigns/hall/holds", &json!({"subject": "dan", "picks": [{"units": units}]}))
        .says(201, "held");
    click(&mut browser, "#late");
    browser.until(&has("h1", "Payment refunded"));
    let results = talk.get("/v1/campaigns/hall/results").text();
    assert!(results.contains("refund_due"), "{results}");
}

#[test]
fn the_shop_opens_with_a_server_of_its_own_by_one_command() {
    // The browser first: the shop opens some seconds after its start.
    let Some(mut browser) = Browser::open("about:blank") else { return };
    let shop = Shop::open(&["--listen", "127.0.0.1:0"]);
    browser.go(&shop.url);
    browser.until("document.querySelectorAll('option').length === 3");
    browser.evaluate("document.querySelector('[name=name]').value = 'ann'; document.querySelector('button').click()").unwrap();
    browser.until(&has("#title", "Two hundred pairs of shoes"));
    browser.until(&has("#countdown", "00:"));
}
