//! A code is in its subject's answer and in the export, and nowhere else: everything else that a server writes is searched.

use crate::process::{KEY, Server, serve, verb};
use crate::wire::Talk;
use serde_json::{Value, json};
use std::path::Path;

/// What is planted to show that the search finds what is there: as a subject, in a request's id, and as a campaign.
const PLANTED: &str = "PLANTED-7341-XYZQ";
const PLANTED_CAMPAIGN: &str = "planted-7341";

/// All that a server wrote, each with where.
#[derive(Default)]
pub(crate) struct Written(Vec<(String, Vec<u8>)>);

impl Written {
    pub(crate) fn add(&mut self, place: &str, bytes: impl Into<Vec<u8>>) {
        self.0.push((place.to_owned(), bytes.into()));
    }

    /// Adds every file of a folder, but keys.
    pub(crate) fn files(&mut self, folder: &Path) {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                self.files(&path);
            } else if !path.ends_with("code-key") && !path.ends_with("admin-key") {
                self.add(&format!("file {}", path.display()), std::fs::read(&path).unwrap());
            }
        }
    }

    /// Returns where a text is, in either case, with its hyphens or without.
    pub(crate) fn places(&self, text: &str) -> Vec<&str> {
        let plain = text.to_ascii_lowercase();
        let forms = [plain.replace('-', ""), plain.replace('-', " "), plain];
        let has = |bytes: &[u8]| {
            let bytes = bytes.to_ascii_lowercase();
            let within =
                |form: &String| bytes.windows(form.len()).any(|window| window == form.as_bytes());
            forms.iter().any(within)
        };
        self.0.iter().filter(|(_, bytes)| has(bytes)).map(|(place, _)| place.as_str()).collect()
    }
}

/// Uses a code in every way there is, right and wrong; keeps all answers that are not to show a code.
fn use_code(talk: &mut Talk, written: &mut Written, campaign: &str, code: &str) {
    let step = |reference: &str| json!({"code": code, "reference": reference, "for": "customer"});
    let asks: Vec<(&str, Value)> = vec![
        ("reserve", step("o1")),
        ("reserve", step("o2")),
        ("release", step("o1")),
        ("redeem", step("o1")),
        ("redeem", step("o2")),
        ("roll-back", step("o1")),
        ("suspend", json!({"codes": [code], "reason": "seen"})),
        ("redeem", step("o3")),
        ("restore", json!({"codes": [code]})),
        // A code where something else belongs: what is wrong is said without it.
        ("redeem", json!({"code": "x", "reference": 5, "pool": code})),
        ("redeem", json!({"code": [code], "reference": "o1"})),
        ("redeem", json!({"code": code, "reference": "o1", code: 1})),
        ("redeem", json!(code)),
        ("reserve", json!({"code": code, "reference": "o1", "ttl_ms": code})),
        ("revoke", json!({"codes": code})),
        ("imports", json!({"digest": code, "lines": code})),
        ("imports/i1/lines", json!({"first": code, "codes": [code]})),
        ("revoke", json!({"codes": [code], "reason": "done"})),
        ("redeem", step("o4")),
    ];
    for (verb, body) in asks {
        let path = format!("/v1/campaigns/{campaign}/codes/{verb}");
        let answer = talk.post(&path, &body);
        written.add(&format!("answer to {verb} {}", answer.outcome()), answer.body.clone());
    }
}

#[test]
fn a_code_is_in_no_log_count_journal_snapshot_ledger_or_answer_of_others() {
    let folder = tempfile::tempdir().unwrap();
    let settings = [("LOG_LEVEL", "debug"), ("SNAPSHOT_EVERY", "1s"), ("LOG_FORMAT", "json")];
    let server = Server::of(serve(folder.path(), &settings));
    let mut talk = server.talk();
    let mut written = Written::default();
    let imported = "PARTNER-SECRET-77";
    let pool = |codes: Value, capacity: Option<u32>| {
        let mut pool = json!({"name": "main", "kind": "coded", "codes": codes});
        if let Some(capacity) = capacity {
            pool["capacity"] = json!(capacity);
        }
        json!({"opens_at": "now", "pools": [pool]})
    };
    talk.put("/v1/campaigns/made", &pool(json!({}), Some(9))).says(201, "created");
    let brought = pool(json!({"source": "imported"}), None);
    talk.put("/v1/campaigns/brought", &brought).says(201, "created");
    talk.open_campaign(PLANTED_CAMPAIGN, 9);
    talk.claim(PLANTED_CAMPAIGN, PLANTED).says(201, "won");
    let headers = [("x-request-id", PLANTED)];
    let request = talk.request("GET", "/v1/time", &headers, None);
    talk.send(request).unwrap();
    talk.hear().unwrap();

    let imports = "/v1/campaigns/brought/codes/imports";
    let file = json!({"digest": "0123456789abcdef0123456789abcdef", "lines": 2});
    let begun = talk.post(imports, &file).json();
    let import = format!("{imports}/{}", begun["import"].as_str().unwrap());
    let lines = json!({"first": 0, "codes": [imported, "PARTNER-SPARE-78"]});
    written.add("lines", talk.post(&format!("{import}/lines"), &lines).body);
    written.add("commit", talk.post(&format!("{import}/commit"), &json!({"lines": 2})).body);
    let made = talk.claim("made", "ann").says(201, "won")["code"].as_str().unwrap().to_owned();
    let given = talk.claim("brought", "ann").says(201, "won")["code"].clone();
    assert_eq!(given, json!(imported));
    for (campaign, code) in [("made", &*made), ("brought", imported)] {
        use_code(&mut talk, &mut written, campaign, code);
        for path in ["", "/winners", "/results", "/codes/imports"] {
            let answer = talk.get(&format!("/v1/campaigns/{campaign}{path}"));
            written.add(path, answer.body);
        }
        let bobs = talk.claim(campaign, "bob");
        written.add("another subject's answer", bobs.body.clone());
        assert_eq!(bobs.status, 201, "{bobs:?}");
    }
    let spare = "PARTNER-SPARE-78";
    // Until a snapshot is written and results are settled.
    std::thread::sleep(std::time::Duration::from_secs(3));
    written.add("metrics", talk.get("/metrics").body);
    server.terminate();
    let (ended, log) = server.ended();
    assert!(ended.success(), "{log}");
    written.add("log", log);
    for args in
        [&["journal", "show", "--limit", "1000"][..], &["journal", "show", "--all", "--stored"]]
    {
        let (_, said, why) = verb(folder.path(), &[("ADMIN_KEY", KEY)], args);
        written.add(&args.join(" "), said + &why);
    }
    written.files(folder.path());

    for code in [&*made, imported, spare] {
        let shown = written.places(code);
        let expected: &[&str] = if code == spare { &["another subject's answer"] } else { &[] };
        assert_eq!(shown, expected, "{code} is there");
    }
    // The twin: what was planted is found in each place.
    let found = [written.places(PLANTED), written.places(PLANTED_CAMPAIGN)].concat();
    for place in
        ["log", "metrics", "journal show --all --stored", "journal.sqlite", "ledger.sqlite"]
    {
        assert!(
            found.iter().any(|found| found.contains(place)),
            "not searched: {place} in {found:?}"
        );
    }
}
