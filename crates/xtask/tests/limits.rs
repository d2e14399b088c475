//! The page of limits says what the code has, and leaves nothing out.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// Files whose constants are limits. Those named beside a file are none; of `["*"]` only those on the page are.
///
/// A new limit belongs here, by its file, and on the page: this is the one list of them.
const FILES: &[(&str, &[&str])] = &[
    ("firstcome-core/src/limits.rs", &[]),
    ("firstcome-node/src/wait_queue.rs", &[]),
    ("firstcome-node/src/minutes.rs", &["QUIET"]),
    ("firstcome-http/src/minute/here.rs", &["CLASSES", "FIRST_US"]),
    ("firstcome-node/src/intake.rs", &["*"]),
    ("firstcome-node/src/appender/queue.rs", &["*"]),
    ("firstcome-http/src/answer/respond.rs", &["*"]),
    ("firstcome-http/src/bulk.rs", &["*"]),
    ("firstcome-http/src/bulk/requests.rs", &[]),
    ("firstcome-http/src/bulk/commands.rs", &["*"]),
    ("firstcome-http/src/bulk/line.rs", &["*"]),
    ("firstcome-http/src/bulk/lines.rs", &["*"]),
    ("firstcome-http/src/server/connection.rs", &["*"]),
    ("firstcome-http/src/server/plain.rs", &["*"]),
    ("firstcome-http/src/seats.rs", &["*"]),
    ("firstcome-http/src/request.rs", &["*"]),
    ("firstcome-http/src/campaigns/results.rs", &["*"]),
    ("firstcome-http/src/campaigns/show.rs", &["LISTED"]),
    ("firstcome-http/src/campaigns/subjects.rs", &["LOOK"]),
    ("firstcome-http/src/campaigns/winners.rs", &["*"]),
    ("firstcome-http/src/seat_map.rs", &["*"]),
    ("firstcome-http/src/seat_map/own.rs", &["PAUSE"]),
    ("firstcome-http/src/seat_map/streams.rs", &[]),
    ("firstcome-http/src/status/nodes.rs", &["SILENT_AFTER"]),
    ("firstcome-http/src/pages/files.rs", &["*"]),
    ("firstcome-http/src/server/slots.rs", &[]),
    ("firstcome-http/src/guard/cors.rs", &[]),
    ("firstcome-http/src/guard/rate.rs", &["*"]),
    ("firstcome-http/src/guard/token.rs", &["*"]),
    ("firstcome-http/src/guard/wrong_codes.rs", &["WAYS"]),
    ("firstcome-http/src/codes/look_up.rs", &[]),
    ("firstcome-http/src/guard/eligibility/call.rs", &["*"]),
    ("firstcome-http/src/status/webhooks.rs", &[]),
    ("firstcome-webhooks/src/stored.rs", &["*"]),
    ("firstcome-webhooks/src/endpoint.rs", &["*"]),
    ("firstcome-webhooks/src/post.rs", &["*"]),
    ("firstcome-journal/src/sqlite/log.rs", &[]),
    ("firstcome-journal/src/ancestry/cursor.rs", &[]),
    ("firstcome-journal/src/nats/tail.rs", &["AGAIN_AFTER"]),
    ("firstcome-store/src/nats/stream.rs", &["MANY", "NEVER"]),
    ("firstcome-lock/src/keys.rs", &["*"]),
    ("firstcome-lock/src/redis.rs", &["*"]),
    ("firstcome-lock/src/multi.rs", &[]),
    ("firstcome-lock/src/event/teller.rs", &[]),
];

/// Constants called as limits are which clients cannot multiply: they are pauses, or about stores and other servers.
const NOT_OF_CLIENTS: &[&str] = &[
    "codes::TAG_MOST",
    "ticker::AT_MOST_EVERY",
    "divergence::AT_MOST_EVERY",
    "heal::OTHERS_AT_MOST",
    "load::LAGS_AT_MOST",
    "appender::MAX_AWAITING",
    "appender::MAX_TURNS",
    "retransmit::MAX_BYTES",
    "pace::MOST",
    "confirm::MOST",
    "wire::LARGEST_ANSWER",
];

/// Sections of the page of settings that are all limits.
const SECTIONS: &[&str] = &["## Limits"];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().expect("the workspace")
}

fn read(path: &str) -> String {
    fs::read_to_string(root().join(path)).unwrap_or_else(|why| panic!("{path}: {why}"))
}

/// A row of the page: what sets the limit, and its value.
fn page() -> BTreeMap<String, String> {
    let (mut rows, text) = (BTreeMap::new(), read("docs/reference/limits.md"));
    for line in text.lines().filter(|line| line.starts_with("| ")) {
        let cells: Vec<&str> = line.trim_matches('|').split(" | ").map(str::trim).collect();
        if cells.first() == Some(&"Limit") {
            continue;
        }
        let [_, value, beyond, by] = cells[..] else { panic!("not four columns: {line}") };
        assert!(!beyond.is_empty(), "what happens beyond it is missing: {line}");
        let by = by.trim_matches('`').to_owned();
        assert!(rows.insert(by, value.to_owned()).is_none(), "it is there twice: {line}");
    }
    assert!(rows.len() > 50, "the page has {} limits", rows.len());
    rows
}

/// Returns the constants of a source file that are numbers or times: the name, and what stands behind it.
fn constants(text: &str) -> Vec<(String, String)> {
    let code = text.split("#[cfg(test)]").next().unwrap_or_default();
    let mut found = Vec::new();
    for line in code.lines() {
        let line = line.trim_start();
        let seen = ["pub(crate) ", "pub(super) ", "pub "];
        let line = seen.iter().find_map(|seen| line.strip_prefix(seen)).unwrap_or(line);
        let Some((name, rest)) = line.strip_prefix("const ").and_then(|rest| rest.split_once(": "))
        else {
            continue;
        };
        if let Some((_, value)) = rest.split_once(" = ") {
            found.push((name.to_owned(), value.trim_end_matches(';').to_owned()));
        }
    }
    found
}

/// Works out an expression of a constant; a time in microseconds.
fn work_out(expression: &str, known: &BTreeMap<String, u64>) -> Option<u64> {
    let text = expression.replace(" as u64", "").replace(" as usize", "");
    if let Some((left, right)) = text.split_once(" - ") {
        return work_out(left, known)?.checked_sub(work_out(right, known)?);
    }
    if let Some((left, right)) = text.split_once(" << ") {
        return work_out(left, known)?.checked_shl(work_out(right, known)?.try_into().ok()?);
    }
    if let Some((left, right)) = text.split_once(" * ") {
        return work_out(left, known)?.checked_mul(work_out(right, known)?);
    }
    let time = |from: &str| text.strip_prefix(from)?.strip_suffix(')');
    if let Some(seconds) = time("Duration::from_secs(") {
        return work_out(seconds, known)?.checked_mul(1_000_000);
    }
    if let Some(millis) = time("Duration::from_millis(") {
        return work_out(millis, known)?.checked_mul(1_000);
    }
    match &*text {
        "u32::MAX" => Some(u64::from(u32::MAX)),
        name if known.contains_key(name) => known.get(name).copied(),
        number => number.replace('_', "").parse().ok(),
    }
}

/// Returns how the page writes a rate.
fn rate(expression: &str) -> Option<String> {
    let (count, burst) =
        expression.strip_prefix("Rate::in_a_second(")?.strip_suffix(')')?.split_once(", ")?;
    Some(format!("{count}/s burst {burst}"))
}

/// Returns every way in which the page may write a value.
fn written(name: &str, expression: &str, value: u64) -> Vec<String> {
    let mut ways = vec![with_commas(value)];
    let mut unit = |size: u64, unit: &str| {
        if value.is_multiple_of(size) {
            ways.push(format!("{} {unit}", with_commas(value / size)));
        }
    };
    if name.ends_with("_US") || expression.starts_with("Duration::") {
        for (size, name) in
            [(3_600_000_000, "h"), (60_000_000, "min"), (1_000_000, "s"), (1_000, "ms")]
        {
            unit(size, name);
        }
    } else if name.ends_with("_PART") {
        let words = ["a half of them", "a third of them", "a fourth of them"];
        ways.extend(words.get(value as usize - 2).map(|word| (*word).to_owned()));
    } else if name.ends_with("_SECONDS") {
        unit(1, "s");
    } else {
        unit(1 << 20, "MiB");
        unit(1 << 10, "KiB");
    }
    ways
}

fn with_commas(value: u64) -> String {
    let digits = value.to_string();
    let first = digits.len() % 3;
    let (head, tail) = digits.split_at(first);
    let groups = tail.as_bytes().chunks(3).map(|group| String::from_utf8_lossy(group).into_owned());
    let groups: Vec<String> = groups.collect();
    if head.is_empty() {
        groups.join(",")
    } else {
        [&[head.to_owned()][..], &groups].concat().join(",")
    }
}

#[test]
fn the_page_says_what_the_code_has() {
    let (page, mut wrong, mut told) = (page(), Vec::new(), BTreeSet::new());
    for (path, exceptions) in FILES {
        let stem = Path::new(path).file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let text = read(&format!("crates/{path}"));
        let (mut known, only_some) = (BTreeMap::new(), exceptions.contains(&"*"));
        for (name, expression) in constants(&text) {
            let by = format!("{stem}::{name}");
            if let (Some(rate), Some(says)) = (rate(&expression), page.get(&by)) {
                if *says != rate {
                    wrong.push(format!("`{by}` is {says} on the page, {rate} in {path}"));
                }
                told.insert(by);
                continue;
            }
            let Some(value) = work_out(&expression, &known) else { continue };
            known.insert(name.clone(), value);
            let Some(says) = page.get(&by) else {
                if !only_some && !exceptions.contains(&&*name) {
                    wrong.push(format!("the page lacks `{by}` of {path}: {value}"));
                }
                continue;
            };
            told.insert(by.clone());
            let ways = written(&name, &expression, value);
            if !ways.contains(says) {
                wrong.push(format!("`{by}` is {says} on the page, and one of {ways:?} in {path}"));
            }
        }
    }
    let (settings, of_limits) = settings();
    for (by, says) in &page {
        match settings.get(by) {
            Some(default) => {
                let digits = says.split(' ').next().unwrap_or_default().replace(',', "");
                if digits != *default && says != default {
                    wrong.push(format!(
                        "`{by}` is {says} on the page, {default} in configuration.md"
                    ));
                }
            }
            None if !told.contains(by) => {
                wrong.push(format!("`{by}` is on the page and nowhere else"))
            }
            None => {}
        }
    }
    for by in of_limits.iter().filter(|by| !page.contains_key(*by)) {
        wrong.push(format!("the page lacks the setting `{by}`"));
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Returns the default of every setting, and those that are limits.
fn settings() -> (BTreeMap<String, String>, BTreeSet<String>) {
    let (mut all, mut limits, mut section) = (BTreeMap::new(), BTreeSet::new(), String::new());
    let mut default = None;
    for line in read("docs/reference/configuration.md").lines() {
        if line.starts_with('#') {
            section = line.to_owned();
        }
        let cells: Vec<&str> = line.trim_matches('|').split(" | ").map(str::trim).collect();
        if cells.first() == Some(&"Setting") {
            default = cells.iter().position(|cell| *cell == "Default");
        }
        let (Some(name), Some(at)) = (cells[0].strip_prefix('`'), default) else { continue };
        let (name, Some(value)) = (name.trim_end_matches('`'), cells.get(at)) else { continue };
        all.insert(name.to_owned(), value.trim_matches('`').to_owned());
        if SECTIONS.contains(&&*section) {
            limits.insert(name.to_owned());
        }
    }
    assert!(limits.contains("queue"), "the sections of configuration.md have other names");
    (all, limits)
}

/// What the HTTP server shows as its limits is on the page.
#[test]
fn every_limit_of_the_server_is_on_the_page() {
    let (page, text) = (page(), read("crates/firstcome-http/src/limits.rs"));
    let shown = text.lines().filter(|line| line.starts_with("pub use ")).flat_map(|line| {
        line.split(|c: char| !(c.is_ascii_uppercase() || c == '_')).filter(|name| name.len() > 3)
    });
    let shown: Vec<&str> = shown.collect();
    assert!(shown.len() > 5, "{shown:?}");
    let is_there = |name: &&str| page.keys().any(|by| by.ends_with(&format!("::{name}")));
    let missing: Vec<_> = shown.into_iter().filter(|name| !is_there(name)).collect();
    assert!(missing.is_empty(), "the page lacks {missing:?}");
}

/// A constant called as limits are is on the page, or said to be none.
#[test]
fn no_limit_hides_in_another_file() {
    let (page, mut wrong) = (page(), Vec::new());
    for krate in ["core", "node", "http", "api", "client", "journal"] {
        let mut folders = vec![root().join(format!("crates/firstcome-{krate}/src"))];
        while let Some(folder) = folders.pop() {
            for entry in
                fs::read_dir(&folder).expect("a folder").map(|entry| entry.expect("a file"))
            {
                let path = entry.path();
                if path.is_dir() {
                    folders.push(path);
                    continue;
                }
                let stem = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
                for (name, _) in constants(&fs::read_to_string(&path).unwrap_or_default()) {
                    let by = format!("{stem}::{name}");
                    let called = ["MAX", "MOST", "LARGEST"]
                        .iter()
                        .any(|word| name.split('_').any(|part| part == *word));
                    if called && !page.contains_key(&by) && !NOT_OF_CLIENTS.contains(&&*by) {
                        wrong.push(format!("{by} in {}", path.display()));
                    }
                }
            }
        }
    }
    assert!(
        wrong.is_empty(),
        "neither on the page of limits nor known to be none:\n{}",
        wrong.join("\n")
    );
}

#[test]
fn expressions_are_worked_out_and_written() {
    let known = BTreeMap::from([("BATCH_BYTES".to_owned(), 1 << 20)]);
    for (expression, value) in [
        ("1 << 20", 1 << 20),
        ("4_096", 4_096),
        ("24 * 3_600_000_000", 86_400_000_000),
        ("u32::MAX as u64 - 1", 4_294_967_294),
        ("BATCH_BYTES - 512", 1_048_064),
        ("31 * 86_400", 2_678_400),
        ("Duration::from_millis(50)", 50_000),
    ] {
        assert_eq!(work_out(expression, &known), Some(value), "{expression}");
    }
    assert_eq!(with_commas(16_384), "16,384");
    assert_eq!(with_commas(999), "999");
    assert!(written("HOLD_TTL_US", "480_000_000", 480_000_000).contains(&"8 min".to_owned()));
    assert!(written("QUEUE_BYTES", "64 << 20", 64 << 20).contains(&"64 MiB".to_owned()));
}
