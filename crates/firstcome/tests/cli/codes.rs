//! Coupon codes on the command line: a shop's day, imports that are killed and repeated, and the export.

use std::io::Write as _;
use std::process::{Command, Stdio};

use serde_json::Value;

use crate::scene::{KEY, Said, Scene, Server, said};

/// Runs a verb with something on stdin.
fn with_stdin(scene: &Scene, server: &Server, args: &[&str], stdin: &str) -> Said {
    let mut command: Command = scene.program(args);
    command.env("FIRSTCOME_URL", &server.url).env("FIRSTCOME_KEY", KEY);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    child.stdin.take().unwrap().write_all(stdin.as_bytes()).unwrap();
    said(&child.wait_with_output().unwrap())
}

fn ask(scene: &Scene, server: &Server, line: &str) -> Said {
    let args: Vec<&str> = line.split(' ').collect();
    server.ask(scene, &args)
}

/// A server with the campaign `vouchers` of generated codes, made with more options.
fn vouchers(scene: &Scene, options: &str) -> Server {
    let server = scene.serve();
    let line = format!("campaign create vouchers --coded 100 --opens now {options}");
    ask(scene, &server, line.trim()).ends(0);
    server
}

fn code_of(scene: &Scene, server: &Server, subject: &str) -> String {
    let won = ask(scene, server, &format!("claim vouchers {subject} --json"));
    won.json()["code"].as_str().expect("a code is issued").to_owned()
}

#[test]
fn a_code_goes_through_an_order_and_its_refund() {
    let scene = Scene::new();
    let server = vouchers(&scene, "--valid-for 30d");
    let out = ask(&scene, &server, "claim vouchers ann").ends(0);
    let code = out.trim().rsplit(' ').next().unwrap().to_owned();
    assert!(out.contains(" with code ") && code.len() == 19, "{out}");
    assert_eq!(code_of(&scene, &server, "ann"), code, "asked again, it is the same code");
    let step = |verb: &str, order: &str| {
        let args = ["codes", verb, "vouchers", "-", order];
        with_stdin(&scene, &server, &args, &format!(" {} \n", code.to_lowercase()))
    };
    let reserved = step("reserve", "order-1").ends(0);
    assert!(reserved.starts_with("the code of rank 1 in vouchers/main is reserved"), "{reserved}");
    assert!(!reserved.contains(&code), "{reserved}");
    let again = step("reserve", "order-1").ends(0);
    assert!(again.contains("is already reserved for order-1 until"), "{again}");
    let refused = step("redeem", "order-2");
    assert!(refused.code == 1 && refused.talk.contains("code_reserved"), "{refused:?}");
    assert!(refused.talk.contains("hint: `firstcome codes look-up`"), "{refused:?}");
    let redeemed = step("redeem", "order-1").ends(0);
    assert_eq!(step("redeem", "order-1").ends(0), redeemed, "a repeat has the first answer");
    let used = step("redeem", "order-2");
    assert!(used.code == 1 && used.talk.contains("code_used"), "{used:?}");
    let back = step("roll-back", "order-1").ends(0);
    assert!(
        back.contains("was rolled back for order-1 at ") && !back.contains("expired"),
        "{back}"
    );
    step("reserve", "order-3").ends(0);
    let gone = step("release", "order-3").ends(0);
    assert!(gone.contains("is not reserved for order-3 any more"), "{gone}");
    step("redeem", "order-2").ends(0);

    let shown = ask(&scene, &server, "codes look-up vouchers --subject ann").ends(0);
    assert!(shown.starts_with(&format!("{code}  redeemed\n  rank 1 of ann in")), "{shown}");
    assert!(shown.contains("1 of 1 use redeemed, 0 reserved, valid until "), "{shown}");
    for line in ["order-1: rolled back at ", "order-2: redeemed at ", "order-3: released at "] {
        assert!(shown.contains(line), "{line}: {shown}");
    }
    assert!(shown.lines().all(|line| line.len() <= 80), "{shown}");
    let args = ["codes", "look-up", "vouchers", "-", "--json"];
    let by_code = with_stdin(&scene, &server, &args, &code).json();
    assert_eq!(by_code["codes"][0]["subject"], "ann", "{by_code}");
}

#[test]
fn what_is_no_code_or_not_theirs_is_refused_with_its_name() {
    let scene = Scene::new();
    let server = vouchers(&scene, "--only-by-holder --uses 2");
    let code = code_of(&scene, &server, "ann");
    let redeem = |more: &[&str]| {
        let args = [&["codes", "redeem", "vouchers", &code, "order-1"], more].concat();
        server.ask(&scene, &args)
    };
    let refused = redeem(&[]);
    assert!(refused.code == 1 && refused.talk.contains("subject_required"), "{refused:?}");
    assert!(refused.talk.contains("--subject"), "{refused:?}");
    let refused = redeem(&["--subject", "bob"]);
    assert!(refused.code == 1 && refused.talk.contains("not_yours"), "{refused:?}");
    redeem(&["--subject", "ann"]).ends(0);
    let typed = ask(&scene, &server, "codes redeem vouchers ABCD-EFGH order-1 --subject ann");
    assert!(typed.code == 1 && typed.talk.contains("malformed"), "{typed:?}");
    assert!(typed.talk.contains("hint: a typing error"), "{typed:?}");
    assert!(!typed.talk.contains("ABCD"), "what was typed is not repeated: {typed:?}");
    for wrong in ["", "\n\n", "ONE\nTWO\n"] {
        let args = ["codes", "redeem", "vouchers", "-", "order-1"];
        assert_eq!(with_stdin(&scene, &server, &args, wrong).code, 2, "{wrong:?}");
    }
    for wrong in [
        "codes look-up vouchers",
        "codes look-up vouchers X --subject ann",
        "codes revoke vouchers --reason x",
        "codes suspend vouchers --import 1 --reason x",
        "codes reserve vouchers X order-1 --for never",
        "campaign create other --coded 5 --places 5",
        "campaign create other --places 5 --uses 2",
        "campaign create other --coded 0",
    ] {
        assert_eq!(ask(&scene, &server, wrong).code, 2, "{wrong}");
    }
}

#[test]
fn support_suspends_revokes_and_replaces_codes() {
    let scene = Scene::new();
    let server = vouchers(&scene, "");
    let (ann, bob) = (code_of(&scene, &server, "ann"), code_of(&scene, &server, "bob"));
    let redeem = |code: &str| server.ask(&scene, &["codes", "redeem", "vouchers", code, "order-1"]);
    let args = ["codes", "suspend", "vouchers", "-", "--reason", "review"];
    let marked = with_stdin(&scene, &server, &args, &format!("{ann}\n{bob}\n"));
    assert_eq!(marked.out, "suspended 2 codes of vouchers/main\n", "{marked:?}");
    let refused = redeem(&ann);
    assert!(refused.code == 1 && refused.talk.contains("code_suspended"), "{refused:?}");
    ask(&scene, &server, "codes restore vouchers --rank 1 --reason fine").ends(0);
    redeem(&ann).ends(0);
    let unknown = ask(&scene, &server, "codes revoke vouchers --rank 2 --rank 9 --reason leaked");
    assert!(unknown.talk.contains("not there: number 2 of those named"), "{unknown:?}");
    assert_eq!(unknown.ends(0), "revoked 1 code of vouchers/main\n");
    let refused = redeem(&bob);
    assert!(refused.code == 1 && refused.talk.contains("code_revoked"), "{refused:?}");
    let final_word = ask(&scene, &server, "codes reissue vouchers bob 2 --reason lost");
    assert!(final_word.code == 1 && final_word.talk.contains("code_revoked"), "{final_word:?}");
    let eve = code_of(&scene, &server, "eve");
    let out = ask(&scene, &server, "codes reissue vouchers eve 3 --reason lost").ends(0);
    let new = out.split(' ').nth(2).unwrap();
    assert!(new != eve && out.contains("for rank 3 in vouchers/main"), "{out}");
    redeem(new).ends(0);
    let shown = ask(&scene, &server, "codes look-up vouchers --subject bob").ends(0);
    assert!(shown.contains("revoke at "), "{shown}");
    let shown = ask(&scene, &server, "codes look-up vouchers --subject eve").ends(0);
    assert!(shown.contains("reissue at "), "{shown}");
}

#[test]
fn the_export_has_every_code_and_the_winners_none() {
    let scene = Scene::new();
    let server = vouchers(&scene, "");
    let (ann, bob) = (code_of(&scene, &server, "ann"), code_of(&scene, &server, "bob"));
    let table = ask(&scene, &server, "codes export vouchers").ends(0);
    assert!(table.contains(&ann) && table.contains(&bob), "{table}");
    let csv = ask(&scene, &server, "codes export vouchers --format csv").ends(0);
    let mut lines = csv.lines();
    assert_eq!(lines.next(), Some("campaign,pool,rank,subject,unit,at,hold,code"));
    let first = lines.next().unwrap();
    assert!(first.starts_with("vouchers,main,1,ann,") && first.ends_with(&ann), "{first}");
    let json = ask(&scene, &server, "codes export vouchers --json").json();
    assert_eq!(json["winners"][1]["code"], bob, "{json}");
    for line in
        ["winners vouchers --format csv", "winners vouchers --json", "results vouchers --json"]
    {
        let out = ask(&scene, &server, line).ends(0);
        assert!(!out.contains(&ann) && !out.contains(&ann.replace('-', "")), "{line}: {out}");
    }
    let refused = ask(&scene, &server, "codes export nothing --format csv");
    assert!(refused.code == 1 && refused.out.is_empty(), "no header of nothing: {refused:?}");
}

/// A server with the campaign `bring` of imported codes.
fn bring(scene: &Scene) -> Server {
    let server = scene.serve();
    ask(scene, &server, "campaign create bring --coded-import --opens now").ends(0);
    server
}

fn write(scene: &Scene, name: &str, text: &str) {
    std::fs::write(scene.path().join(name), text).unwrap();
}

fn stock(scene: &Scene, server: &Server) -> Value {
    ask(scene, server, "campaign show bring --json").json()["pools"][0]["capacity"].clone()
}

#[test]
fn a_file_with_bad_lines_imports_nothing() {
    let scene = Scene::new();
    let server = bring(&scene);
    let long = "X".repeat(65);
    write(&scene, "codes.txt", &format!("SPRING-1\n{long}\nSPRING-2\nspring-1\nA\u{1}B\n"));
    let said = ask(&scene, &server, "codes import bring codes.txt");
    assert_eq!((said.code, said.out.as_str()), (2, ""), "{said:?}");
    let other = "codes.txt:4: this is the code of line 1, spelled otherwise";
    for line in ["codes.txt:2: ", other, "codes.txt:5: "] {
        assert!(said.talk.contains(line), "{line}: {said:?}");
    }
    assert!(!said.talk.contains("SPRING-"), "no code is repeated: {said:?}");
    assert!(said.talk.contains("3 lines are wrong in codes.txt; nothing was sent"), "{said:?}");
    let json = ask(&scene, &server, "codes import bring codes.txt --json");
    assert_eq!(json.json()["errors"].as_array().unwrap().len(), 3);
    assert_eq!(stock(&scene, &server), 0);
    for wrong in ["codes import bring codes", "codes import bring gone.csv"] {
        assert_eq!(ask(&scene, &server, wrong).code, 2, "{wrong}");
    }
    write(&scene, "empty.csv", "code\n");
    assert_eq!(ask(&scene, &server, "codes import bring empty.csv").code, 2);
}

#[test]
fn duplicates_are_named_by_line_and_the_same_file_again_changes_nothing() {
    let scene = Scene::new();
    let server = bring(&scene);
    let first = "\u{feff}worth,code\n5,SPRING-1\n5,SPRING-2\n";
    let first: Vec<u8> = first.encode_utf16().flat_map(u16::to_le_bytes).collect();
    std::fs::write(scene.path().join("first.csv"), first).unwrap();
    let out = ask(&scene, &server, "codes import bring first.csv").ends(0);
    assert!(out.starts_with("imported 2 codes into bring/main: import "), "{out}");
    write(&scene, "more.txt", "spring-2\n\nSPRING-3\nSPRING-3\n");
    let said = ask(&scene, &server, "codes import bring more.txt");
    assert!(said.talk.contains("more.txt:1: the pool had this code before"), "{said:?}");
    assert!(said.talk.contains("more.txt:4: this code is on line 3 already"), "{said:?}");
    assert!(
        said.out.starts_with("imported 1 code into bring/main; 2 were there before"),
        "{said:?}"
    );
    assert_eq!(stock(&scene, &server), 3);
    let again = ask(&scene, &server, "codes import bring more.txt --json").json();
    assert_eq!((&again["added"], &again["duplicates"]), (&1.into(), &serde_json::json!([1, 4])));
    assert_eq!(again["imported_before"], true, "{again}");
    assert_eq!(stock(&scene, &server), 3);
    // Another writing of the same codes in the same order is the same file.
    write(&scene, "first.ndjson", "\"SPRING-1\"\n{\"code\": \"SPRING-2\"}\n");
    let out = ask(&scene, &server, "codes import bring first.ndjson").ends(0);
    assert!(out.contains("was imported into bring/main before"), "{out}");
    let won = ask(&scene, &server, "claim bring ann --json").json();
    assert_eq!(won["code"], "SPRING-1", "{won}");
    let list = ask(&scene, &server, "codes imports bring --json").json();
    assert_eq!(list["imports"].as_array().unwrap().len(), 2, "{list}");
    let import = list["imports"][1]["import"].as_str().unwrap();
    let line = format!("codes revoke bring --import {import} --reason leaked");
    ask(&scene, &server, &line).ends(0);
    let table = ask(&scene, &server, "codes imports bring").ends(0);
    assert!(table.contains("revoked"), "{table}");
}

/// The command is killed at several moments, and the server once; then it is run to its end.
#[test]
fn an_import_that_is_killed_in_the_middle_is_finished_by_the_next_one() {
    const CODES: u32 = 20_000;
    let scene = Scene::new();
    let mut server = bring(&scene);
    let codes: String = (0..CODES).map(|number| format!("KILLED-{number:06}\n")).collect();
    write(&scene, "codes.txt", &codes);
    let begin = |server: &Server| {
        let mut command = scene.program(&["codes", "import", "bring", "codes.txt"]);
        command.env("FIRSTCOME_URL", &server.url).env("FIRSTCOME_KEY", KEY);
        command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
    };
    let next = |server: &Server| {
        let list = ask(&scene, server, "codes imports bring --json").json();
        list["next"].as_u64().unwrap_or(0)
    };
    let mut child = begin(&server);
    let patience = std::time::Instant::now() + std::time::Duration::from_secs(30);
    while next(&server) == 0 && std::time::Instant::now() < patience {
        if let Ok(Some(_)) = child.try_wait() {
            break;
        }
    }
    child.kill().unwrap();
    child.wait().unwrap();
    let taken = next(&server);
    let all = u64::from(CODES);
    if stock(&scene, &server) == 0 {
        assert!(taken > 0 && taken <= all, "{taken}");
    }
    // The server as well: what it took stays taken, and nothing of it is in stock.
    drop(server);
    server = scene.serve();
    assert!(next(&server) >= taken || stock(&scene, &server) == all);
    let said = ask(&scene, &server, "codes import bring codes.txt");
    assert_eq!(said.code, 0, "{said:?}");
    assert_eq!(stock(&scene, &server), CODES);
    let again = ask(&scene, &server, "codes import bring codes.txt").ends(0);
    assert!(again.contains("before, with 20,000 codes: nothing changed"), "{again}");
    assert_eq!(stock(&scene, &server), CODES);
}

#[test]
fn another_file_waits_until_the_import_under_way_is_given_up() {
    let scene = Scene::new();
    let server = bring(&scene);
    // An import with one of its two codes: a client that stopped there.
    let begin = |path: &str, body: &str| {
        let url = format!("{}/v1/campaigns/bring/codes/imports{path}", server.url);
        let mut curl = std::process::Command::new("curl");
        curl.args(["-s", "-H", "content-type: application/json", "-d", body, &url]);
        curl.args(["-H", &format!("authorization: Bearer {KEY}")]);
        serde_json::from_slice::<Value>(&curl.output().unwrap().stdout).unwrap()
    };
    let begun = begin("", r#"{"digest":"0123456789abcdef","lines":2}"#);
    let import = begun["import"].as_str().unwrap();
    begin(&format!("/{import}/lines"), r#"{"first":0,"codes":["HALF-1"]}"#);
    write(&scene, "codes.txt", "OTHER-1\n");
    let refused = ask(&scene, &server, "codes import bring codes.txt");
    assert!(refused.code == 1 && refused.talk.contains("import_open"), "{refused:?}");
    assert!(refused.talk.contains("codes discard"), "{refused:?}");
    let table = ask(&scene, &server, "codes imports bring").ends(0);
    assert!(table.contains(import) && table.contains("not finished"), "{table}");
    let out = ask(&scene, &server, &format!("codes discard bring {import}")).ends(0);
    assert_eq!(out, format!("gave up import {import} of bring/main\n"));
    ask(&scene, &server, "codes import bring codes.txt").ends(0);
    assert_eq!(stock(&scene, &server), 1);
}

#[test]
fn codes_run_out_and_every_proof_holds() {
    let scene = Scene::new();
    let shown = scene.run(&["demo", "--codes", "40", "--seed", "7", "--json"]);
    assert_eq!(shown.code, 0, "{shown:?}");
    let shown = shown.json();
    let names: Vec<_> =
        shown["proofs"].as_array().unwrap().iter().map(|proof| proof["name"].clone()).collect();
    assert_eq!(
        names,
        [
            "issued",
            "waitlist",
            "ranks",
            "uses",
            "reservations",
            "refusals",
            "wrong",
            "repeats",
            "kept",
            "secrecy",
            "digest",
            "ledger"
        ]
    );
    let totals = &shown["totals"];
    let count = |name: &str| totals[name].as_u64().unwrap();
    assert!(count("issued") >= 40 && count("cancelled") > 0, "{shown}");
    assert!(count("redeemed") > count("rolled_back") && count("rolled_back") > 0, "{shown}");
    assert_eq!(std::fs::read_dir(scene.path()).unwrap().count(), 0, "the folder must be gone");
    for wrong in [&["demo", "--codes", "19"][..], &["demo", "--codes", "--seats"]] {
        assert_eq!(scene.run(wrong).code, 2, "{wrong:?}");
    }
}
