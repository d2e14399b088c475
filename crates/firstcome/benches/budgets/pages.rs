//! The page of a campaign: its first view in a real browser, ten thousand people who wait for the opening, and a click.

use crate::plan::Plan;
use crate::processor;
use crate::server::{KEY, Server, tell};
use crate::table::{Budget, Table};
use anyhow::{Context, Result, anyhow, ensure};
use firstcome_testbed::Browser;
use serde_json::Value;
use std::rc::Rc;
use std::time::{Duration, Instant};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::task::LocalSet;

/// Views of the page, each by a browser of its own.
const VIEWS: usize = 7;
const VIEW_BUDGET_MS: f64 = 100.0;
const VIEW_REQUESTS: f64 = 5.0;
/// How long a page is looked at; by then it shows what it has.
const LOOK: Duration = Duration::from_secs(2);

/// People who wait, and over how many connections they ask here.
const PEOPLE: usize = 10_000;
const CONNECTIONS: usize = 500;
/// Before the opening they are watched for so long.
const WATCHED: Duration = Duration::from_secs(60);
/// The longest time between two requests of a page that waits, in milliseconds, as the server says it.
const SELDOM_MS: f64 = 30_000.0;
const WAITING_BUDGET_CORES: f64 = 0.3;

/// Clicks, each of somebody else on a page of their own.
const CLICKS: usize = 60;
/// Claims by the API to compare with, one after the other.
const CLAIMS: usize = 2_000;
const CLICK_BUDGET_MS: f64 = 5.0;

pub(crate) fn run(plan: &Plan, table: &mut Table) -> Result<()> {
    if plan.wants("pages", "view") {
        view(table)?;
    }
    if plan.wants("pages", "waiting") {
        waiting(table)?;
    }
    if plan.wants("pages", "click") {
        click(table)?;
    }
    Ok(())
}

/// A server with a public campaign that opens at a time.
fn server(folder: &std::path::Path, opens: &str) -> Result<Server> {
    let server = Server::with_tokens(folder)?;
    let body = format!(
        r#"{{"title":"Spring drop","opens_at":"{opens}","public":true,"pools":[{{"name":"main","capacity":100000}}]}}"#
    );
    let answer = tell(&server.address, "PUT", "/v1/campaigns/bench", &body)?;
    ensure!(answer.starts_with("HTTP/1.1 201"), "{answer}");
    Ok(server)
}

/// The body of an answer, as JSON.
fn json(answer: &str) -> Result<Value> {
    let (_, body) = answer.split_once("\r\n\r\n").context("no answer")?;
    Ok(serde_json::from_str(body)?)
}

/// The link that a shop gives to a customer.
fn link(server: &Server, subject: &str) -> Result<String> {
    let ask = format!(r#"{{"subject":"{subject}","campaign":"bench","expires_in_s":3600}}"#);
    let minted = json(&tell(&server.address, "POST", "/v1/tokens", &ask)?)?;
    let token = minted["token"].as_str().context("no token")?;
    Ok(format!("http://{}/c/bench?{subject}#token={token}", server.address))
}

/// A browser that shows nothing yet, as people have it before they follow a link.
fn browser() -> Result<Browser> {
    Browser::open("about:blank").context("this part needs a Chromium")
}

fn number(browser: &mut Browser, expression: &str) -> Result<f64> {
    let found = browser.evaluate(expression).map_err(|why| anyhow!(why))?;
    found.as_f64().with_context(|| format!("{expression} is {found}"))
}

/// The first view: the work of the page's main thread and of the server, and what is asked for.
fn view(table: &mut Table) -> Result<()> {
    eprintln!("first views of the page, {VIEWS} browsers");
    let folder = tempfile::tempdir()?;
    let server = server(folder.path(), "now")?;
    let (mut work, mut ours, mut asked, mut bytes) = (vec![], vec![], vec![], vec![]);
    // The first one warms the server, and the machine's copy of the browser.
    for round in 0..=VIEWS {
        let link = link(&server, &format!("viewer-{round}"))?;
        let mut browser = browser()?;
        // Chromium counts from here on; a page in another process of it begins at nothing.
        let before = browser.work();
        let cpu = server.cpu_us()?;
        browser.go(&link);
        std::thread::sleep(LOOK);
        let work_now = browser.work();
        let took = work_now.checked_sub(before).unwrap_or(work_now);
        let cpu = server.cpu_us()? - cpu;
        let shown = browser.evaluate("document.querySelector('#act').checkVisibility()");
        ensure!(shown == Ok(Value::Bool(true)), "the page is not ready after {LOOK:?}");
        if round > 0 {
            work.push(took.as_secs_f64() * 1e3 + cpu / 1e3);
            ours.push(cpu / 1e3);
            let entries = "performance.getEntriesByType('resource')";
            asked.push(1.0 + number(&mut browser, &format!("{entries}.length"))?);
            let sum = "reduce((sum, one) => sum + one.transferSize, 0)";
            let page = "performance.getEntriesByType('navigation')";
            bytes.push(number(&mut browser, &format!("[...{entries}, ...{page}].{sum}"))?);
        }
    }
    let server_ms = crate::spread::median(ours);
    let kib = crate::spread::median(bytes) / 1024.0;
    let said = format!(
        "{:.0} ms, of them {server_ms:.1} ms of the server",
        crate::spread::median(work.clone())
    );
    let what = "page, work of the first view in ms";
    table.add(what, said, format!("{VIEWS} new browsers"), work, Budget::AtMost(VIEW_BUDGET_MS));
    let said = format!("{kib:.0} KiB, the stream of events among them");
    table.add("page, requests of the first view", said, "-", asked, Budget::AtMost(VIEW_REQUESTS));
    Ok(())
}

/// Ten thousand people on a page that counts down: what their pages ask in the last minute, when they ask it.
fn waiting(table: &mut Table) -> Result<()> {
    let folder = tempfile::tempdir()?;
    let opens = Instant::now() + WATCHED + Duration::from_secs(2);
    let opens_at = jiff::Timestamp::now().checked_add(WATCHED + Duration::from_secs(2))?;
    let server = server(folder.path(), &opens_at.to_string())?;
    let answer = tell_as_anybody(&server.address)?;
    let cached = answer.to_ascii_lowercase().contains("\r\ncache-control: public, max-age=1\r\n");
    ensure!(cached, "one answer is not for all: {answer}");
    let asks = asks(WATCHED);
    eprintln!("{PEOPLE} people wait, {} requests in {WATCHED:?}", asks.len());
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let begin = opens - WATCHED;
    let own = processor::of(std::process::id())?;
    let (asked, seconds) = LocalSet::new().block_on(&runtime, async {
        let seconds = tokio::task::spawn_local(each_second(server.process(), begin));
        let asked = ask_on(&server.address, begin, asks).await?;
        anyhow::Ok((asked, seconds.await??))
    })?;
    let own = (processor::of(std::process::id())? - own) / 1e6 / WATCHED.as_secs_f64();
    let all: f64 = seconds.iter().sum();
    let cores = all / seconds.len() as f64;
    let most = seconds.iter().copied().fold(0.0, f64::max);
    let ours = format!(
        "{asked} requests, {:.0} us CPU each; {most:.2} cores in the busiest second",
        all * 1e6 / asked as f64
    );
    let against = format!("{PEOPLE} people in the last {WATCHED:?}; loader {own:.2} cores");
    let budget = Budget::AtMost(WAITING_BUDGET_CORES);
    table.add("page, people waiting, cores", ours, against, cores, budget);
    Ok(())
}

/// When the pages of ten thousand people ask, in the order of time: as often as the server tells them to.
fn asks(until_opening: Duration) -> Vec<Duration> {
    let mut random = fastrand::Rng::with_seed(7);
    let opening = until_opening.as_secs_f64() * 1e3;
    let mut asks = Vec::new();
    for _ in 0..PEOPLE {
        // They came at any time before.
        let mut at = random.f64() * SELDOM_MS;
        while at < opening {
            asks.push(Duration::from_secs_f64(at / 1e3));
            let left = opening - at;
            let again = if left <= 2_000.0 { left.max(50.0) } else { (left / 2.0).min(SELDOM_MS) };
            let again = again.min(left + 300.0 + 2_200.0 * random.f64());
            at += again.max(300.0) * (0.9 + 0.2 * random.f64());
        }
    }
    asks.sort_unstable();
    asks
}

/// The cores that a process uses in each second from a moment on.
async fn each_second(process: u32, begin: Instant) -> Result<Vec<f64>> {
    let mut seconds = Vec::new();
    tokio::time::sleep_until(begin.into()).await;
    let mut before = processor::of(process)?;
    for second in 1..=WATCHED.as_secs() {
        tokio::time::sleep_until((begin + Duration::from_secs(second)).into()).await;
        let now = processor::of(process)?;
        seconds.push((now - before) / 1e6);
        before = now;
    }
    Ok(seconds)
}

const ASK: &str = "GET /v1/campaigns/bench HTTP/1.1\r\nhost: bench\r\n\r\n";

fn tell_as_anybody(address: &str) -> Result<String> {
    use std::io::{Read, Write};
    let mut stream = std::net::TcpStream::connect(address)?;
    stream.write_all(ASK.replace("\r\n\r\n", "\r\nconnection: close\r\n\r\n").as_bytes())?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer)?;
    Ok(answer)
}

/// Asks when it is due; gives how many were answered.
async fn ask_on(address: &str, begin: Instant, asks: Vec<Duration>) -> Result<usize> {
    let asks = Rc::new(asks);
    let asking = (0..CONNECTIONS).map(|nth| {
        let (address, asks) = (address.to_owned(), Rc::clone(&asks));
        tokio::task::spawn_local(async move {
            let mut stream = TcpStream::connect(address).await?;
            let (mut answered, mut buffer) = (0, vec![0; 16 << 10]);
            for due in asks.iter().skip(nth).step_by(CONNECTIONS) {
                tokio::time::sleep_until((begin + *due).into()).await;
                stream.write_all(ASK.as_bytes()).await?;
                let mut answer: Vec<u8> = Vec::new();
                // The document ends with the answer, and there is no brace behind it.
                while !answer.ends_with(b"}") {
                    let read = stream.read(&mut buffer).await?;
                    ensure!(read > 0, "the server hung up");
                    answer.extend_from_slice(&buffer[..read]);
                }
                ensure!(
                    answer.starts_with(b"HTTP/1.1 200"),
                    "{}",
                    String::from_utf8_lossy(&answer)
                );
                answered += 1;
            }
            anyhow::Ok(answered)
        })
    });
    let asking: Vec<_> = asking.collect();
    let mut answered = 0;
    for asking in asking {
        answered += asking.await??;
    }
    Ok(answered)
}

/// A click until its answer is there, against the API's own 99 of 100 on the same server.
fn click(table: &mut Table) -> Result<()> {
    eprintln!("{CLICKS} clicks in a browser, {CLAIMS} claims by the API");
    let folder = tempfile::tempdir()?;
    let server = server(folder.path(), "now")?;
    let api = claims(&server)?;
    let mut browser = browser()?;
    let (mut answered, mut shown) = (vec![], vec![]);
    for round in 0..CLICKS {
        browser.go(&link(&server, &format!("clicker-{round}"))?);
        browser.until("document.querySelector('#act')?.checkVisibility() && document.querySelector('#link').textContent.includes('Live.')");
        let rank = "new Promise(done => { \
            const look = () => document.querySelector('.rank')?.checkVisibility() ? done(performance.now() - begun) : requestAnimationFrame(look); \
            const begun = performance.now(); window.begun = begun; document.querySelector('#act').click(); look(); })";
        shown.push(number(&mut browser, rank)?);
        let answer = "performance.getEntriesByType('resource').filter(one => one.name.endsWith('/claims')).at(-1).responseEnd - begun";
        answered.push(number(&mut browser, answer)?);
    }
    for times in [&mut answered, &mut shown] {
        times.sort_by(f64::total_cmp);
    }
    let at = |times: &[f64], share: f64| times[((times.len() - 1) as f64 * share).round() as usize];
    let ours = format!(
        "answer p50 {:.1} ms, p99 {:.1} ms; rank drawn p50 {:.1} ms",
        at(&answered, 0.5),
        at(&answered, 0.99),
        at(&shown, 0.5)
    );
    let against = format!("API p50 {:.1} ms, p99 {:.1} ms", at(&api, 0.5), at(&api, 0.99));
    let more = at(&answered, 0.99) - at(&api, 0.99);
    table.add(
        "page, a click beyond the API's p99 in ms",
        ours,
        against,
        more,
        Budget::AtMost(CLICK_BUDGET_MS),
    );
    Ok(())
}

/// How long claims take by the API, one after the other on one connection, in milliseconds, in order of size.
fn claims(server: &Server) -> Result<Vec<f64>> {
    use std::io::{Read, Write};
    let mut stream = std::net::TcpStream::connect(&server.address)?;
    stream.set_nodelay(true)?;
    let (mut times, mut buffer) = (vec![], vec![0; 4 << 10]);
    for number in 0..CLAIMS {
        let body = format!(r#"{{"subject":"api-{number}"}}"#);
        let request = crate::loader::post("/v1/campaigns/bench/claims", KEY, &body);
        let begun = Instant::now();
        stream.write_all(request.as_bytes())?;
        let mut answer: Vec<u8> = Vec::new();
        while !answer.ends_with(b"}") {
            let read = stream.read(&mut buffer)?;
            ensure!(read > 0, "the server hung up");
            answer.extend_from_slice(&buffer[..read]);
        }
        ensure!(answer.starts_with(b"HTTP/1.1 201"), "{}", String::from_utf8_lossy(&answer));
        times.push(begun.elapsed().as_secs_f64() * 1e3);
    }
    times.sort_by(f64::total_cmp);
    Ok(times)
}
