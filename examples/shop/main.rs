//! A shop beside Firstcome: it knows its customers, mints their tokens, takes "money", confirms what was paid for, and gives
//! the money back where that came too late.
//!
//! `cargo run -p firstcome --example shop` starts a server with three campaigns and the shop before it, and prints the
//! address of the shop. `… --example shop -- --server URL --campaign NAME` is the shop of a server that runs already, with its
//! key in `FIRSTCOME_KEY`; the server needs `--pages-shop http://127.0.0.1:9090/pay`.
//!
//! What a real shop has and this one has not: passwords, a payment provider, a store of its own. Everything it keeps is lost
//! when it ends; what was confirmed is in Firstcome.

mod pages;
mod server;

use axum::Router;
use axum::extract::{RawQuery, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{Html, IntoResponse, Redirect, Response};
use axum::routing::{get, post};
use firstcome_client::{Answer, Client, HoldStep, Late, Picks, Refusal};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

/// What the shop knows.
struct Shop {
    client: Client,
    /// The address of the server as browsers reach it.
    server: String,
    campaigns: Vec<String>,
    /// Payments that were taken, by hold, and what became of each.
    payments: Mutex<BTreeMap<String, Payment>>,
}

/// A payment.
#[derive(Clone)]
struct Payment {
    customer: String,
    /// `bought`, or `refunded`.
    became: &'static str,
    what: String,
}

impl Shop {
    fn note(&self, hold: &str, payment: Payment) {
        let mut payments = self.payments.lock().unwrap_or_else(PoisonError::into_inner);
        payments.insert(hold.to_owned(), payment);
    }
}

type Answered = Result<Response, Failed>;

/// What a customer is told when the shop cannot do something.
struct Failed(String);

impl IntoResponse for Failed {
    fn into_response(self) -> Response {
        let page = pages::page("That did not work", &pages::sentence(&self.0));
        (StatusCode::BAD_GATEWAY, Html(page)).into_response()
    }
}

impl<E: std::error::Error> From<E> for Failed {
    fn from(why: E) -> Self {
        Self(why.to_string())
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    // The server that the shop starts is this program, too.
    if std::env::args().nth(1).as_deref() == Some("serve") {
        std::process::exit(firstcome::cli::main());
    }
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    runtime.block_on(open())
}

async fn open() -> Result<(), Box<dyn std::error::Error>> {
    let listener = tokio::net::TcpListener::bind(server::shop_address()).await?;
    let address = format!("http://{}", listener.local_addr()?);
    let (_running, client, server, campaigns) = server::start_or_find(&address).await?;
    println!("the shop is open: {address}/");
    println!("its server: {server}");
    let shop = Arc::new(Shop { client, server, campaigns, payments: Mutex::default() });
    let routes = Router::new()
        .route("/", get(front))
        .route("/enter", post(enter))
        .route("/pay", get(checkout).post(pay))
        .route("/orders", get(orders))
        .with_state(shop);
    // Stopped by a signal, it takes its server and the folder with it.
    tokio::select! {
        served = axum::serve(listener, routes).into_future() => served?,
        stopped = stopped() => stopped?,
    }
    Ok(())
}

/// Waits for Ctrl-C or SIGTERM.
async fn stopped() -> std::io::Result<()> {
    let mut terminate = tokio::signal::unix::signal(tokio::signal::unix::SignalKind::terminate())?;
    tokio::select! {
        interrupted = tokio::signal::ctrl_c() => interrupted,
        _ = terminate.recv() => Ok(()),
    }
}

/// The customer, by the cookie that `/enter` gave: here a name that nobody checked.
fn customer(headers: &HeaderMap) -> Option<String> {
    let cookies = headers.get(header::COOKIE)?.to_str().ok()?;
    let name = cookies.split(';').find_map(|cookie| cookie.trim().strip_prefix("customer="))?;
    let letters = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-';
    (!name.is_empty() && name.len() <= 32 && name.bytes().all(letters)).then(|| name.to_owned())
}

/// The front page: who are you, and what do you want?
async fn front(State(shop): State<Arc<Shop>>, headers: HeaderMap) -> Html<String> {
    let name = customer(&headers).unwrap_or_default();
    Html(pages::front(&name, &shop.campaigns))
}

/// What a form sends, or what stands in an address.
struct Fields(BTreeMap<String, String>);

impl Fields {
    fn read(text: &str) -> Self {
        Self(form_urlencoded::parse(text.as_bytes()).into_owned().collect())
    }

    /// Gives a field; an empty text where it is missing.
    fn get(&self, name: &str) -> &str {
        self.0.get(name).map_or("", String::as_str)
    }
}

/// Logs a customer in, and sends them to the page of the campaign with a token of their own.
async fn enter(State(shop): State<Arc<Shop>>, form: String) -> Answered {
    let form = Fields::read(&form);
    let letters = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-';
    let (name, campaign) = (form.get("name").trim().to_lowercase(), form.get("campaign"));
    if name.is_empty() || name.len() > 32 || !name.bytes().all(letters) {
        return Err(Failed("a name has 1 to 32 letters, digits and hyphens".to_owned()));
    }
    if !shop.campaigns.iter().any(|known| known == campaign) {
        return Err(Failed("this shop does not sell that".to_owned()));
    }
    let page = page_of(&shop, campaign, &name).await?;
    let cookie = format!("customer={name}; Path=/; HttpOnly; SameSite=Lax");
    Ok(([(header::SET_COOKIE, cookie)], Redirect::to(&page)).into_response())
}

/// Gives the address of a campaign's page for a customer. The token is good for half an hour.
async fn page_of(shop: &Shop, campaign: &str, name: &str) -> Result<String, Failed> {
    let token = server::mint(&shop.client, campaign, name).await?;
    Ok(format!("{}/c/{campaign}#token={token}", shop.server))
}

/// Shows what is to be paid. Without a hold: the customer has come to log in.
async fn checkout(
    State(shop): State<Arc<Shop>>,
    headers: HeaderMap,
    RawQuery(query): RawQuery,
) -> Answered {
    let order = Fields::read(&query.unwrap_or_default());
    let (name, campaign, hold) = (customer(&headers), order.get("campaign"), order.get("hold"));
    let Some(name) = name.filter(|_| !hold.is_empty()) else {
        let name = customer(&headers).unwrap_or_default();
        return Ok(Html(pages::front(&name, &[campaign.to_owned()])).into_response());
    };
    match shop.client.hold(campaign, hold).await? {
        Answer::Yes(found) if found.hold.subject == name => {
            Ok(Html(pages::checkout(campaign, &found.hold)).into_response())
        }
        Answer::Yes(_) => Err(Failed("this order is of another customer".to_owned())),
        Answer::No(_, problem) => Err(Failed(problem.detail.clone())),
    }
}

/// Takes the money: first the seats are kept for longer, then the card is charged, then they are confirmed.
///
/// With `when=late` the customer takes so long that the seats are not kept: what money does then is shown, too.
async fn pay(State(shop): State<Arc<Shop>>, headers: HeaderMap, form: String) -> Answered {
    let order = Fields::read(&form);
    let (campaign, hold) = (order.get("campaign"), order.get("hold"));
    let Some(name) = customer(&headers) else {
        return Err(Failed("please log in again".to_owned()));
    };
    let step = HoldStep::new(campaign, hold, &*name);
    if order.get("when") != "late" {
        // Only what is surely ours for the next minutes is charged.
        match shop.client.extend_hold(&step, None).await? {
            Answer::Yes(_) => {}
            Answer::No(Refusal::AlreadyConfirmed, _) => {}
            Answer::No(_, problem) => {
                return Err(Failed(format!("not charged: {}", problem.detail)));
            }
        }
    }
    // Here a real shop charges the card.
    let confirmed = shop.client.confirm_hold(&step, &Picks::default(), Late::Retake).await?;
    let (became, what) = match confirmed {
        Answer::Yes(bought) => ("bought", pages::names(&bought.units)),
        // Here a real shop gives the money back; the result `refund_due` says so for as long as the ledger lasts.
        Answer::No(Refusal::RefundDue { .. }, _) => ("refunded", String::new()),
        Answer::No(_, problem) => ("refunded", problem.detail.clone()),
    };
    let payment = Payment { customer: name.clone(), became, what };
    shop.note(hold, payment.clone());
    let back = page_of(&shop, campaign, &name).await?;
    Ok(Html(pages::paid(&payment, &back)).into_response())
}

/// Shows a customer's payments.
async fn orders(State(shop): State<Arc<Shop>>, headers: HeaderMap) -> Html<String> {
    let name = customer(&headers).unwrap_or_default();
    let payments = shop.payments.lock().unwrap_or_else(PoisonError::into_inner);
    let own = payments.iter().filter(|(_, payment)| payment.customer == name);
    Html(pages::orders(own))
}
