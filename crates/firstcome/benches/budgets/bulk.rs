//! Claims as lines of requests of many commands, against claims by their own route, on one server each and in one run.

use crate::http::CONNECTIONS;
use crate::loader;
use crate::plan::Plan;
use crate::server::{KEY, Server, create};
use crate::spread::Spread;
use crate::table::{Budget, Table};
use anyhow::{Result, ensure};
use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Instant;

/// Lines of one request, as many as there may be.
const LINES: usize = 100_000;

pub(crate) fn run(plan: &Plan, table: &mut Table) -> Result<()> {
    eprintln!("many commands in one request, {} rounds", plan.rounds);
    let (mut many, mut alone, mut ratio) = (vec![], vec![], vec![]);
    let (mut cpu_many, mut cpu_alone) = (vec![], vec![]);
    for _ in 0..plan.rounds {
        let folder = tempfile::tempdir()?;
        let server = Server::in_folder(folder.path())?;
        create(&server.address, "bench", plan.requests)?;
        let before = server.cpu_us()?;
        let phase = loader::claims(&[&server.address], "bench", CONNECTIONS, plan.requests, |n| n)?;
        ensure!(phase.statuses.get(&201) == Some(&plan.requests), "{:?}", phase.statuses);
        cpu_alone.push((server.cpu_us()? - before) / plan.requests as f64);
        drop(server);
        let folder = tempfile::tempdir()?;
        let server = Server::in_folder(folder.path())?;
        create(&server.address, "bench", plan.requests)?;
        let before = server.cpu_us()?;
        let rate = claims(&server.address, plan.requests)?;
        cpu_many.push((server.cpu_us()? - before) / plan.requests as f64);
        many.push(rate);
        alone.push(phase.per_second);
        ratio.push(rate / phase.per_second);
    }
    let said = |rate, cpu| {
        let (rate, cpu) = (Spread::thousands(rate), Spread::from(cpu));
        format!("{} k/s, {} us CPU", rate.text(1), cpu.text(1))
    };
    let against = format!("single route {}", said(alone, cpu_alone));
    table.add("HTTP, bulk", said(many, cpu_many), against, ratio, Budget::AtLeast(5.0));
    Ok(())
}

/// Sends so many claims, one request after the other; gives how many were answered in a second.
fn claims(address: &str, count: usize) -> Result<f64> {
    let line = |n: usize| {
        format!("{{\"do\":\"claim\",\"campaign\":\"bench\",\"subject\":\"s-{n:08}\"}}\n")
    };
    let bodies: Vec<String> = (0..count)
        .step_by(LINES)
        .map(|from| (from..count.min(from + LINES)).map(line).collect())
        .collect();
    let begun = Instant::now();
    for body in &bodies {
        let mut stream = TcpStream::connect(address)?;
        let mut answers = stream.try_clone()?;
        let (mut won, mut seen) = (0, Vec::new());
        std::thread::scope(|scope| -> Result<()> {
            let writing = scope.spawn(move || {
                let length = body.len();
                let head = format!(
                    "POST /v1/commands HTTP/1.1\r\nhost: bench\r\nauthorization: Bearer {KEY}\r\nconnection: close\r\n\
                     content-type: application/x-ndjson\r\ncontent-length: {length}\r\n\r\n"
                );
                stream.write_all(head.as_bytes())?;
                stream.write_all(body.as_bytes())
            });
            let mut buffer = vec![0; 256 << 10];
            loop {
                let read = answers.read(&mut buffer)?;
                if read == 0 {
                    break;
                }
                // Each answer has one rank and nothing else does; what is cut is looked at with the rest of it.
                seen.extend_from_slice(&buffer[..read]);
                let end = seen.iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1);
                won += seen[..end].split(|byte| *byte == b'\n').filter(|line| is_won(line)).count();
                seen.drain(..end);
            }
            writing.join().map_err(|_| anyhow::anyhow!("the writer panicked"))??;
            Ok(())
        })?;
        let lines = body.lines().count();
        ensure!(won == lines, "{won} of {lines} lines are won");
    }
    Ok(count as f64 / begun.elapsed().as_secs_f64())
}

fn is_won(line: &[u8]) -> bool {
    let is = |wanted: &[u8]| line.windows(wanted.len()).take(64).any(|part| part == wanted);
    is(b"\"outcome\":\"won\"")
}
