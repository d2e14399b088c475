//! The yardstick: a Lua script for each claim, as a competent team writes it.

use crate::anchors::CLAIM;
use crate::arrivals::Lane;
use anyhow::{Result, ensure};
use std::collections::VecDeque;
use std::io::Write;
use std::sync::{Arc, Mutex, PoisonError};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// Sends each arrival's claim on the connection its server shares: what waits leaves in one write,
/// and answers are read as they come, as a client that multiplexes does.
pub(crate) async fn serve(port: u16, lane: Arc<Lane>) -> Result<()> {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).await?;
    stream.set_nodelay(true)?;
    let load = format!("*3\r\n$6\r\nSCRIPT\r\n$4\r\nLOAD\r\n${}\r\n{CLAIM}\r\n", CLAIM.len());
    stream.write_all(load.as_bytes()).await?;
    let mut hash = [0; 47];
    stream.read_exact(&mut hash).await?;
    let hash = String::from_utf8(hash[5..45].to_vec())?;

    let (mut reader, mut writer) = stream.into_split();
    let sent = Arc::new(Mutex::new(VecDeque::new()));
    let asked = Arc::clone(&sent);
    let heard = Arc::clone(&lane);
    let reading = tokio::spawn(async move {
        let mut bytes = vec![0; 1 << 16];
        loop {
            let read = reader.read(&mut bytes).await?;
            if read == 0 {
                return anyhow::Ok(());
            }
            let answered = bytes[..read].iter().filter(|byte| **byte == b'\n').count();
            ensure!(!bytes[..read].contains(&b'-'), "the script did not give a rank");
            let mut asked = asked.lock().unwrap_or_else(PoisonError::into_inner);
            heard.answered(asked.drain(..answered));
        }
    });
    let mut bytes = Vec::new();
    while let Some(arrivals) = lane.arrivals().await {
        bytes.clear();
        for arrival in &arrivals {
            write!(
                bytes,
                "*7\r\n$7\r\nEVALSHA\r\n$40\r\n{hash}\r\n$1\r\n2\r\n$13\r\n{{bench}}winner\r\n\
                 $12\r\n{{bench}}count\r\n$10\r\ns-{:08}\r\n$9\r\n999999999\r\n",
                arrival.number
            )?;
        }
        let at = arrivals.iter().map(|arrival| arrival.at);
        sent.lock().unwrap_or_else(PoisonError::into_inner).extend(at);
        writer.write_all(&bytes).await?;
    }
    // The server answers what it was sent, then sees the end and closes.
    writer.shutdown().await?;
    reading.await?
}
