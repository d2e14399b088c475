//! What a server counts, and the page that says what each count answers.

use crate::process::{Server, serve};
use crate::settling::settled;
use crate::wire::Talk;
use serde_json::json;
use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

/// Campaigns whose figures are given at most.
const CAMPAIGNS: usize = 100;

/// A metric as a server gives it.
#[derive(Debug, Default)]
struct Family {
    kind: String,
    unit: String,
    help: String,
    /// Each sample: its name, its labels as they stand there, its value.
    samples: Vec<(String, String, f64)>,
}

/// Reads the OpenMetrics text format, and is strict about it.
fn families(text: &str) -> BTreeMap<String, Family> {
    let mut families = BTreeMap::<String, Family>::new();
    let (mut last, mut seen) = (String::new(), BTreeSet::new());
    assert!(text.ends_with("\n# EOF\n"), "it has no end");
    for line in text.strip_suffix("# EOF\n").unwrap().lines() {
        if let Some(line) = line.strip_prefix("# ") {
            let mut words = line.splitn(3, ' ');
            let (what, name, rest) =
                (words.next().unwrap(), words.next().unwrap(), words.next().unwrap());
            assert!(name == last || !families.contains_key(name), "{name} comes in two parts");
            last = name.to_owned();
            let family = families.entry(name.to_owned()).or_default();
            match what {
                "HELP" => family.help = rest.to_owned(),
                "TYPE" => family.kind = rest.to_owned(),
                "UNIT" => {
                    assert!(name.ends_with(&format!("_{rest}")), "{name} is not in {rest}");
                    family.unit = rest.to_owned();
                }
                _ => panic!("{line}"),
            }
            continue;
        }
        let (series, value) = line.rsplit_once(' ').unwrap();
        assert!(seen.insert(series.to_owned()), "{series} comes twice");
        let (name, labels) = series.split_once('{').unwrap_or((series, "}"));
        let suffix = name.strip_prefix(&last).unwrap_or_else(|| panic!("{name} behind {last}"));
        let family = families.get_mut(&last).unwrap();
        let suffixes: &[&str] = match family.kind.as_str() {
            "gauge" => &[""],
            "counter" => &["_total"],
            "info" => &["_info"],
            "histogram" => &["_sum", "_count", "_bucket"],
            kind => panic!("{last} is a {kind}"),
        };
        assert!(suffixes.contains(&suffix), "{line}");
        let labels = labels.strip_suffix('}').unwrap_or_else(|| panic!("{line}"));
        family.samples.push((suffix.to_owned(), labels.to_owned(), value.parse().unwrap()));
    }
    for (name, family) in &families {
        assert!(!family.samples.is_empty() && !family.help.is_empty(), "{name} is empty");
        if family.kind == "histogram" {
            check_buckets(name, family);
        }
    }
    families
}

/// Checks that the buckets of each series count up, and end with all there are.
fn check_buckets(name: &str, family: &Family) {
    let mut rows = BTreeMap::<String, Vec<(f64, f64)>>::new();
    for (_, labels, value) in family.samples.iter().filter(|(suffix, ..)| suffix == "_bucket") {
        let (bound, rest) = labels.strip_prefix("le=\"").unwrap().split_once('"').unwrap();
        let bound = if bound == "+Inf" { f64::INFINITY } else { bound.parse().unwrap() };
        let rest = rest.trim_start_matches(',').to_owned();
        rows.entry(rest).or_default().push((bound, *value));
    }
    for (labels, row) in rows {
        assert!(row.is_sorted_by(|one, next| one.0 < next.0 && one.1 <= next.1), "{name} {row:?}");
        let all = family.samples.iter().find(|(suffix, of, _)| suffix == "_count" && *of == labels);
        let (last, count) = row.last().unwrap();
        assert!(last.is_infinite() && all.is_some_and(|all| all.2 == *count), "{name} {labels}");
        if name.ends_with("_seconds") {
            assert!(row[0].0 <= 0.0001 && row[row.len() - 2].0 >= 10.0, "{name} gives no p99");
        }
    }
}

/// Returns the sum of the samples with a suffix whose labels have all of these.
fn sum(family: &Family, suffix: &str, labels: &[&str]) -> f64 {
    let wanted = |of: &str| labels.iter().all(|label| of.contains(label));
    let found = family.samples.iter().filter(|(is, of, _)| is == suffix && wanted(of));
    found.map(|(.., value)| value).sum()
}

fn scrape(talk: &mut Talk) -> BTreeMap<String, Family> {
    let answer = talk.get("/metrics");
    assert_eq!(answer.status, 200);
    families(&answer.text())
}

#[test]
fn the_page_has_every_metric_with_its_type_and_labels_and_no_other() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("firstcome.toml");
    let checked = "[[eligibility]]\ncampaign = \"checked\"\nurl = \"http://127.0.0.1:9/\"\n\
        when_down = \"refuse\"\n";
    std::fs::write(&file, checked).unwrap();
    let mut command = serve(&folder.path().join("data"), &[]);
    command.env("FIRSTCOME_CONFIG", &file);
    let server = Server::of(command);
    let mut talk = server.talk();
    talk.open_campaign("drop", 5);
    talk.claim("drop", "ann").says(201, "won");
    let added = talk.post("/v1/webhooks", &json!({"url": "https://shop.example/"}));
    assert_eq!(added.status, 201);
    let end = Instant::now() + Duration::from_secs(60);
    while !talk.get("/metrics").text().contains("webhook_behind{") && Instant::now() < end {
        std::thread::sleep(Duration::from_millis(20));
    }
    let given: BTreeMap<String, (String, BTreeSet<String>)> = scrape(&mut talk)
        .into_iter()
        .map(|(name, family)| {
            let (_, labels, _) = &family.samples[0];
            let names = labels.split("\",").filter_map(|label| label.split_once('='));
            let names = names.map(|(name, _)| name.to_owned()).filter(|name| name != "le");
            let suffix = match family.kind.as_str() {
                "counter" => "_total",
                "info" => "_info",
                _ => "",
            };
            (format!("{name}{suffix}"), (family.kind, names.collect()))
        })
        .collect();
    let page = include_str!("../../../../docs/reference/metrics.md");
    let mut documented = BTreeMap::new();
    // Each line has the name, the type, the labels, and the question.
    for line in page.lines().filter_map(|line| line.strip_prefix("- `")) {
        let (name, rest) = line.split_once("` ").unwrap_or_else(|| panic!("{line}"));
        let (head, question) = rest.split_once(": ").unwrap_or_else(|| panic!("{line}"));
        assert!(question.contains('?'), "{line}");
        let (kind, labels) = head.split_once(", ").unwrap_or((head, ""));
        let labels = labels.split(", ").filter(|label| !label.is_empty());
        let labels = labels.map(|label| label.trim_matches('`').to_owned()).collect();
        let before = documented.insert(name.to_owned(), (kind.to_owned(), labels));
        assert_eq!(before, None, "{name} stands twice");
    }
    assert_eq!(documented, given);
}

#[test]
fn requests_are_counted_by_route_and_no_path_of_a_caller_is_a_label() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::on(folder.path());
    let mut talk = server.talk();
    talk.open_campaign("drop", 30);
    for n in 0..40 {
        talk.claim("drop", &format!("mr-smith-{n}"));
        talk.get(&format!("/v1/campaigns/drop/claims/mr-smith-{n}"));
        talk.get(&format!("/nowhere/mr-smith-{n}"));
    }
    // Then nothing is on its way to the disk, which may be slow.
    settled(&mut talk);
    let text = talk.get("/metrics").text();
    assert!(!text.contains("mr-smith"), "{text}");
    let families = families(&text);
    let times = &families["firstcome_http_request_duration_seconds"];
    let claims = "route=\"/v1/campaigns/{campaign}/claims\"";
    assert_eq!(sum(times, "_count", &[claims, "\"POST\"", "\"2xx\""]), 30.0);
    assert_eq!(sum(times, "_count", &[claims, "\"POST\"", "\"4xx\""]), 10.0);
    let subjects = "route=\"/v1/campaigns/{campaign}/claims/{subject}\"";
    assert_eq!(sum(times, "_count", &[subjects, "\"GET\"", "\"2xx\""]), 30.0);
    assert_eq!(sum(times, "_count", &["route=\"none\"", "\"any\"", "\"4xx\""]), 40.0);
    assert!(sum(times, "_sum", &[claims]) > 0.0);
    // The campaign and the claims that the journal decided.
    assert!(sum(&families["firstcome_batch_commands"], "_sum", &[]) >= 31.0);
    assert!(sum(&families["firstcome_queue_wait_seconds"], "_count", &[]) >= 31.0);
    assert!(sum(&families["firstcome_durable_wait_seconds"], "_count", &[]) >= 1.0);
    assert_eq!(sum(&families["firstcome_answers"], "_total", &["\"won\""]), 30.0);
    assert_eq!(sum(&families["firstcome_answers"], "_total", &["\"sold_out\""]), 10.0);
    assert_eq!(sum(&families["firstcome_campaign_left"], "", &["\"drop\""]), 0.0);
    assert_eq!(sum(&families["firstcome_campaign_won"], "", &["\"drop\""]), 30.0);
    for one in
        ["firstcome_ready", "firstcome_is_leader", "firstcome_store_fresh", "firstcome_build"]
    {
        assert_eq!(families[one].samples[0].2, 1.0, "{one}");
    }
    for none in ["firstcome_leaderless_seconds", "firstcome_ledger_trouble"] {
        assert_eq!(families[none].samples[0].2, 0.0, "{none}");
    }
}

#[test]
fn the_figures_of_campaigns_are_bounded_and_the_newest_ones_are_shown() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::on(folder.path());
    let mut talk = server.talk();
    for n in 0..CAMPAIGNS + 20 {
        talk.open_campaign(&format!("c{n:03}"), 7);
    }
    talk.claim("c119", "ann").says(201, "won");
    let path = "/v1/campaigns/c119/claims/ann?pool=main&rank=1&reason=x";
    talk.claim("c119", "bob").says(201, "won");
    talk.try_ask("DELETE", path, None).unwrap().says(200, "cancelled");
    let families = scrape(&mut talk);
    for name in ["firstcome_campaign_left", "firstcome_campaign_won"] {
        let family = &families[name];
        assert_eq!(family.samples.len(), CAMPAIGNS, "{name}");
        let has =
            |campaign: &str| family.samples.iter().any(|(_, labels, _)| labels.contains(campaign));
        assert!(has("c119") && has("c020") && !has("c019"), "{name}");
    }
    assert_eq!(sum(&families["firstcome_campaign_won"], "", &["\"c119\""]), 1.0);
}
