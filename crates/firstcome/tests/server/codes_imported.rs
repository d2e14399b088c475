//! Imports of codes: in chunks, all or nothing, interrupted and repeated.

use crate::inside::Inside;
use crate::process::Server;
use crate::wire::Talk;
use serde_json::{Value, json};

const DIGEST: &str = "0123456789abcdef0123456789abcdef";

fn lines(first: u32, count: u32) -> Value {
    let codes: Vec<_> = (first..first + count).map(|n| format!("Partner-{n:05}")).collect();
    json!({"first": first, "codes": codes})
}

#[tokio::test(start_paused = true)]
async fn a_file_comes_in_chunks_and_its_codes_are_there_all_at_once() {
    let node = Inside::new().await;
    node.coded("sale", json!({"codes": {"source": "imported"}})).await;
    node.coded("made", json!({"capacity": 5})).await;
    let file = json!({"digest": DIGEST, "lines": 6});
    node.codes_of("made", "imports", file.clone()).await.refuses("not_imported", "");
    let begun = node.codes("imports", file.clone()).await.says(200, "codes_staged");
    assert_eq!(begun["next"], json!(0));
    let id = begun["import"].as_str().unwrap().to_owned();
    assert!(!id.contains(DIGEST) && id.len() == 32, "it is keyed");
    let (to, commit) = (format!("imports/{id}/lines"), format!("imports/{id}/commit"));
    node.codes(&commit, json!({"lines": 6})).await.refuses("no_such_import", "");
    node.codes(&to, lines(2, 2)).await.refuses("chunk_missing", "");
    let staged = node.codes(&to, lines(0, 3)).await.says(200, "codes_staged");
    assert_eq!(staged["next"], json!(3));
    assert_eq!(node.codes(&to, lines(0, 3)).await.json()["next"], json!(3), "it came again");
    let missing = node.codes(&to, lines(5, 1)).await.refuses("chunk_missing", "");
    assert_eq!(missing["next"], json!(3));
    let other = json!({"digest": "another-digest-of-another-file", "lines": 1});
    let second = node.codes("imports", other).await.json();
    let second = format!("imports/{}/lines", second["import"].as_str().unwrap());
    node.codes(&second, lines(0, 1)).await.refuses("import_open", "");
    let short = node.codes(&commit, json!({"lines": 6})).await.refuses("import_incomplete", "");
    assert_eq!(short["lines"], json!(3));
    node.claim("sale", "ann").await.refuses("sold_out", "");

    // Bad lines are named by their numbers in the file, and nothing of the request is taken.
    let bad = json!({"first": 3, "codes": ["good", "", "TAB\ttab", "y".repeat(65)]});
    let refused = node.codes(&to, bad).await.refuses("bad_code", "line 5");
    let numbers: Vec<_> = refused["errors"].as_array().unwrap().iter().collect();
    let numbers: Vec<_> = numbers.iter().map(|error| error["line"].clone()).collect();
    assert_eq!(numbers, [json!(5), json!(6), json!(7)]);
    assert!(!refused.to_string().contains("TAB"), "{refused}");
    assert_eq!(node.codes("imports", file.clone()).await.json()["next"], json!(3));

    // One that the file has already in other letters is named with both lines.
    let other = json!({"first": 3, "codes": ["Last-1", "PARTNER\u{2013}00001", "Last-2"]});
    let refused =
        node.codes(&to, other).await.refuses("bad_code", "line 5: this is the code of line 2");
    assert_eq!(refused["errors"].as_array().unwrap().len(), 1);
    // The fourth line is one the file has already.
    let rest = json!({"first": 3, "codes": ["Partner-00001", "Last-1", "Last-2"]});
    node.codes(&to, rest).await.says(200, "codes_staged");
    let done = node.codes(&commit, json!({"lines": 6})).await.says(200, "codes_imported");
    assert_eq!((&done["added"], &done["duplicates"]), (&json!(5), &json!([4])));
    let again = node.codes(&commit, json!({"lines": 6})).await.says(200, "codes_imported");
    assert_eq!((&again["added"], &again["duplicates"]), (&done["added"], &done["duplicates"]));
    // The same file changes nothing.
    let position = node.position();
    let again = node.codes("imports", file).await.says(200, "codes_imported");
    assert_eq!(
        (&again["lines"], &again["added"], node.position()),
        (&json!(6), &json!(5), position)
    );
    assert_eq!(node.show("sale").await["pools"][0]["capacity"], json!(5));

    // They are given in the order of the file, as they were written there.
    assert_eq!(node.issue("sale", "ann").await, "Partner-00000");
    let spare = json!({"code": "partner-00001", "reference": "o1"});
    node.codes("redeem", spare).await.refuses("not_issued", "");
    let hers = json!({"code": " PARTNER-00000", "reference": "o1"});
    node.codes("redeem", hers).await.says(200, "redeemed");
    let path = "/v1/campaigns/sale/codes/imports";
    let list = node.get(path).await.json();
    assert_eq!((&list["imports"][0]["import"], &list["open"]), (&json!(id), &json!(null)));
    let import = json!({"import": id, "reason": "the partner's list leaked"});
    let marked = node.codes("revoke", import).await.says(200, "codes_marked");
    assert_eq!(marked["verdict"], json!("revoke"));
    node.claim("sale", "bob").await.refuses("sold_out", "");
    node.codes("revoke", json!({"import": "nobodys"})).await.refuses("no_such_import", "");
    node.codes("suspend", json!({"import": id})).await.refuses("invalid_request", "revoking only");
}

/// Ann claims and cancels as often as she likes: she sees one code, and the four others are there for others.
#[tokio::test(start_paused = true)]
async fn who_claims_and_cancels_imported_codes_sees_one_of_them() {
    let node = Inside::new().await;
    let pool = json!({"name": "main", "kind": "coded", "codes": {"source": "imported"}});
    let settings = json!({"opens_at": "now", "claim_again": true, "pools": [pool]});
    node.put("sale", &settings).await.says(201, "created");
    let file = json!({"digest": DIGEST, "lines": 5});
    let id = node.codes("imports", file).await.json()["import"].as_str().unwrap().to_owned();
    node.codes(&format!("imports/{id}/lines"), lines(0, 5)).await.says(200, "codes_staged");
    let commit = format!("imports/{id}/commit");
    node.codes(&commit, json!({"lines": 5})).await.says(200, "codes_imported");
    for rank in 1..=5 {
        assert_eq!(node.issue("sale", "ann").await, "Partner-00000");
        let query = format!("rank={rank}&by=subject");
        node.cancel("sale", "ann", &query).await.says(200, "cancelled");
    }
    assert_eq!(node.show("sale").await["left"], json!(4));
    for subject in ["bob", "eve", "joe", "kim"] {
        node.issue("sale", subject).await;
    }
    node.claim("sale", "zoe").await.refuses("sold_out", "");
    let again = node.join("sale", "ann", json!({})).await.says(201, "won");
    assert_eq!((&again["code"], &again["rank"]), (&json!("Partner-00000"), &json!(10)));
    let known = node.codes("look-up", json!({"subject": "ann"})).await.json();
    let codes = known["codes"].as_array().unwrap();
    assert_eq!(
        (codes.len(), &codes[0]["rank"], &codes[0]["standing"]),
        (1, &json!(10), &json!("issued"))
    );
}

#[tokio::test(start_paused = true)]
async fn a_code_is_found_however_it_is_typed_and_an_exact_one_as_it_is_spelled() {
    let node = Inside::new().await;
    node.coded("sale", json!({"codes": {"source": "imported"}})).await;
    let import = async |file: Value, codes: Value| {
        let begun = node.codes("imports", file).await.says(200, "codes_staged");
        let id = begun["import"].as_str().unwrap().to_owned();
        let lines = json!({"first": 0, "codes": codes});
        let staged = node.codes(&format!("imports/{id}/lines"), lines).await;
        (staged, format!("imports/{id}/commit"))
    };
    let (staged, commit) =
        import(json!({"digest": DIGEST, "lines": 1}), json!(["Summer-10"])).await;
    staged.says(200, "codes_staged");
    node.codes(&commit, json!({"lines": 1})).await.says(200, "codes_imported");
    let exact = json!({"digest": DIGEST, "lines": 4, "exact": true});
    let (staged, commit) = import(exact, json!(["aB", "Ab", "SUMMER-10", "1.5E+12"])).await;
    staged.says(200, "codes_staged");
    assert!(commit.starts_with("imports/exact-"));
    let done = node.codes(&commit, json!({"lines": 4})).await.says(200, "codes_imported");
    assert_eq!((&done["added"], &done["duplicates"]), (&json!(3), &json!([3])));
    for (subject, code) in [("ann", "Summer-10"), ("bob", "aB"), ("eve", "Ab")] {
        assert_eq!(node.issue("sale", subject).await, code);
    }
    for (typed, reference) in [("ｓｕｍｍｅｒ－１０", "o1"), (" SUM MER\u{2013}10\t", "o1")]
    {
        node.codes("redeem", json!({"code": typed, "reference": reference}))
            .await
            .says(200, "redeemed");
    }
    for (typed, rank) in [("aB", 2), (" Ab ", 3)] {
        let said = node.codes("redeem", json!({"code": typed, "reference": "o1"})).await;
        assert_eq!(said.says(200, "redeemed")["rank"], json!(rank));
    }
    node.codes("redeem", json!({"code": "ab", "reference": "o1"}))
        .await
        .refuses("no_such_code", "");
    let unknown = json!({"code": "Summer\u{378}", "reference": "o1"});
    node.codes("redeem", unknown).await.refuses("malformed", "");
    let marked = json!({"codes": ["summer—10", "AB"], "reason": "found"});
    let marked = node.codes("suspend", marked).await.says(200, "codes_marked");
    assert_eq!((&marked["changed"], &marked["unknown"]), (&json!(1), &json!([1])));

    let file = json!({"digest": "a-file-out-of-a-spreadsheet", "lines": 4});
    let (refused, _) = import(file, json!(["1.23457E+12", "\u{410}BC", "x", "X"])).await;
    let refused = refused.refuses("bad_code", "line 1: the code is a number with an exponent");
    let whys = refused["errors"].as_array().unwrap();
    let whys: Vec<&str> = whys.iter().map(|error| error["why"].as_str().unwrap()).collect();
    assert!(
        whys[1].contains("U+0410, which looks like A") && whys[2].contains("the code of line 3")
    );
}

#[tokio::test(start_paused = true)]
async fn an_import_that_is_given_up_leaves_nothing() {
    let node = Inside::new().await;
    node.coded("sale", json!({"codes": {"source": "imported"}})).await;
    let file = json!({"digest": DIGEST, "lines": 2});
    let id = node.codes("imports", file.clone()).await.json()["import"].clone();
    let path = format!("/v1/campaigns/sale/codes/imports/{}", id.as_str().unwrap());
    let none = [("content-type", "")];
    node.ask_with("DELETE", &path, &none, "").await.refuses("no_such_import", "");
    node.codes(&format!("imports/{}/lines", id.as_str().unwrap()), lines(0, 2)).await;
    node.ask_with("DELETE", &path, &none, "").await.says(200, "import_discarded");
    assert_eq!(node.codes("imports", file).await.json()["next"], json!(0));
    for (body, why) in [
        (json!({"digest": "short", "lines": 2}), "digest"),
        (json!({"digest": DIGEST, "lines": 0}), "lines=0"),
        (json!({"digest": DIGEST, "lines": 2_000_001}), "lines=2000001"),
    ] {
        node.codes("imports", body).await.refuses("invalid_request", why);
    }
    let many = json!({"first": 0, "codes": vec!["x"; 4_001]});
    let to = format!("imports/{}/lines", id.as_str().unwrap());
    node.codes(&to, many).await.refuses("too_large", "4001 codes");
}

const CODES: &str = "/v1/campaigns/sale/codes/imports";
const CHUNK: u32 = 1_000;
const CHUNKS: u32 = 4;

/// Brings a chunk of the file; none where the server is gone.
fn bring(talk: &mut Talk, import: &str, first: u32) -> Option<u32> {
    let (path, body) = (format!("{CODES}/{import}/lines"), lines(first, CHUNK));
    let answer = talk.try_ask("POST", &path, Some(&body)).ok()?;
    Some(answer.says(200, "codes_staged")["next"].as_u64().unwrap() as u32)
}

fn begin(talk: &mut Talk) -> Value {
    talk.post(CODES, &json!({"digest": DIGEST, "lines": CHUNK * CHUNKS})).json()
}

#[test]
fn an_import_that_was_killed_goes_on_where_it_was() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::on(folder.path());
    let mut talk = server.talk();
    let pool = json!({"name": "main", "kind": "coded", "codes": {"source": "imported"}});
    let settings = json!({"opens_at": "now", "pools": [pool]});
    talk.put("/v1/campaigns/sale", &settings).says(201, "created");
    let import = begin(&mut talk)["import"].as_str().unwrap().to_owned();
    assert_eq!(bring(&mut talk, &import, 0), Some(CHUNK));
    // The second chunk is on its way when the server is killed.
    let mut other = server.talk();
    let path = format!("{CODES}/{import}/lines");
    let request = other.request("POST", &path, &[], Some(&lines(CHUNK, CHUNK).to_string()));
    other.send(request).unwrap();
    server.kill();

    let server = Server::on(folder.path());
    let mut talk = server.talk();
    talk.claim("sale", "ann").refuses("sold_out", "");
    let begun = begin(&mut talk);
    assert_eq!((&begun["import"], &begun["outcome"]), (&json!(import), &json!("codes_staged")));
    let mut next = begun["next"].as_u64().unwrap() as u32;
    assert!([CHUNK, 2 * CHUNK].contains(&next), "what was answered is there, and no half chunk");
    while next < CHUNK * CHUNKS {
        next = bring(&mut talk, &import, next).unwrap();
    }
    let commit = json!({"lines": CHUNK * CHUNKS});
    let done = talk.post(&format!("{CODES}/{import}/commit"), &commit);
    let done = done.says(200, "codes_imported");
    assert_eq!((&done["added"], &done["duplicates"]), (&json!(CHUNK * CHUNKS), &json!([])));
    server.kill();

    let server = Server::on(folder.path());
    let mut talk = server.talk();
    let again = begin(&mut talk);
    assert_eq!((&again["outcome"], &again["added"]), (&json!("codes_imported"), &done["added"]));
    let won = talk.claim("sale", "ann").says(201, "won");
    assert_eq!(won["code"], json!("Partner-00000"));
}
