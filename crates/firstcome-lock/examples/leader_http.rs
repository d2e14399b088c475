//! A web service of which one process does the work: `GET /work` is done by the leader, and the others say who that is.
//!
//! Run it: `cargo run --example leader_http [URL [ADDRESS]]`, with `redis://127.0.0.1:6379` and `127.0.0.1:0`, any free port,
//! where nothing is given. It prints its address. Start it twice, ask both, and end the leader with Ctrl-C.

use std::sync::Arc;

use axum::Router;
use axum::extract::State;
use axum::http::StatusCode;
use axum::routing::get;
use firstcome_lock::{Election, Locks, Term, Watch};
use tokio::net::TcpListener;
use tokio::sync::watch;

/// What the handlers share: the term of this process, while it leads, and who leads otherwise.
#[derive(Clone)]
struct App {
    term: watch::Receiver<Option<Term>>,
    leader: Arc<Watch>,
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut args = std::env::args().skip(1);
    let url = args.next().unwrap_or_else(|| "redis://127.0.0.1:6379".to_owned());
    let address = args.next().unwrap_or_else(|| "127.0.0.1:0".to_owned());

    let locks = Locks::connect(&url).await?;
    let listener = TcpListener::bind(address).await?;
    let address = listener.local_addr()?;
    // Whoever is not the leader tells its callers this name.
    let election = Election::new(&locks, "web-leader")?.node(format!("http://{address}"));
    let (set_term, term) = watch::channel(None);
    let leader = Arc::new(election.watch().await?);
    let app = Router::new().route("/work", get(work)).with_state(App { term, leader });
    println!("listening on http://{address}");

    let leading = election.run(|term| {
        set_term.send_replace(Some(term));
        // Leading is all there is to do; the term ends this.
        std::future::pending::<()>()
    });
    tokio::select! {
        ended = leading => ended?,
        served = axum::serve(listener, app) => served?,
        _ = tokio::signal::ctrl_c() => {}
    }
    // The copy that the handlers read would delay the next leader.
    set_term.send_replace(None);
    locks.close().await;
    println!("handed over");
    Ok(())
}

/// Does the work, where this process leads.
async fn work(State(app): State<App>) -> (StatusCode, String) {
    let term = app.term.borrow().clone();
    match term.filter(Term::is_valid) {
        // Whatever must not be done twice checks the fencing token: a process may be paused right here.
        Some(term) => (StatusCode::OK, format!("done in term {}\n", term.fence())),
        None => {
            let leader = app.leader.current().map(|leader| leader.node);
            let leader = leader.unwrap_or_else(|| "nobody yet".to_owned());
            (StatusCode::SERVICE_UNAVAILABLE, format!("ask the leader: {leader}\n"))
        }
    }
}
