//! hyper without a framework: a current-thread runtime for each core, and one listener that deals out the connections.

use super::{Claim, bare};
use anyhow::Result;
use http_body_util::{BodyExt, Full};
use hyper::body::{Bytes, Incoming};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

pub(super) fn serve() -> Result<()> {
    let listener = std::net::TcpListener::bind("127.0.0.1:0")?;
    println!("listening on http://{}", listener.local_addr()?);
    let cores: Vec<UnboundedSender<_>> = (0..std::thread::available_parallelism()?.get())
        .map(|_| {
            let (give, take) = unbounded_channel();
            std::thread::spawn(move || core(take));
            give
        })
        .collect();
    for (stream, core) in listener.incoming().zip(cores.iter().cycle()) {
        let stream = stream?;
        stream.set_nonblocking(true)?;
        stream.set_nodelay(true)?;
        core.send(stream)?;
    }
    Ok(())
}

/// Serves the connections that are given to one core.
fn core(mut streams: UnboundedReceiver<std::net::TcpStream>) -> Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    tokio::task::LocalSet::new().block_on(&runtime, async move {
        while let Some(stream) = streams.recv().await {
            let stream = TokioIo::new(tokio::net::TcpStream::from_std(stream)?);
            tokio::task::spawn_local(
                http1::Builder::new().serve_connection(stream, service_fn(claim)),
            );
        }
        Ok(())
    })
}

async fn claim(request: Request<Incoming>) -> Result<Response<Full<Bytes>>> {
    let body = request.into_body().collect().await?.to_bytes();
    let claim: Claim = serde_json::from_slice(&body)?;
    let status = if claim.subject.is_empty() { 400 } else { 201 };
    let answer = Response::builder().status(status).header("content-type", "application/json");
    Ok(answer.body(Full::from(bare::WON))?)
}
