//! The team's own service is asked before a claim, carefully; and what holds when it is not well.

use crate::inside::{Inside, Setup};
use crate::process::{Server, cannot_serve, serve};
use crate::team::{Mood, Team};
use firstcome_http::guard::Guards;
use firstcome_http::guard::eligibility::{Check, Checks, CountsOfAll, Question, Terms, Verdict};
use firstcome_testbed::Certificates;
use futures_util::future::join_all;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use serde_json::{Value, json};
use std::sync::Arc;
use std::time::Duration;
use tokio::time::{advance, pause, resume};
use tokio_rustls::TlsAcceptor;

/// Longer than any test takes; a call that hangs is ended by setting the clock forward.
pub(crate) const LONG: Duration = Duration::from_secs(600);

pub(crate) fn terms(campaign: &str, url: &str) -> Terms {
    Terms {
        campaign: campaign.parse().unwrap(),
        url: url.parse().unwrap(),
        authorization: None,
        ca: None,
        timeout: LONG,
        concurrent: 64,
        keep_yes: LONG * 2,
        keep_no: LONG,
        entries: 100,
        failures: 3,
        probe_every: LONG,
        admits_when_down: false,
    }
}

fn check(terms: Terms) -> Arc<Check> {
    let counts = CountsOfAll::default().of(&terms.campaign.to_string());
    Check::new(terms, counts).unwrap()
}

/// A node whose claims in `drop` are checked.
pub(crate) async fn node(terms: Terms) -> Inside {
    node_of(vec![terms]).await
}

async fn node_of(all: Vec<Terms>) -> Inside {
    let checks = Checks::new(all.into_iter().map(check).collect());
    let guards = Guards { checks, ..Guards::default() };
    let node = Inside::with(Setup { guards, ..Setup::default() }).await;
    node.open("drop", 5_000).await.says(201, "created");
    node
}

/// Sets the clock forward. Between, it runs as it does: there are real connections here.
pub(crate) async fn later(time: Duration) {
    pause();
    advance(time).await;
    resume();
}

#[tokio::test]
async fn a_subject_is_asked_about_before_its_claim_and_the_answer_is_kept() {
    let team = Team::start(Mood::yes()).await;
    let node = node(terms("drop", &team.url())).await;
    node.claim("drop", "ann").await.says(201, "won");
    let asked = team.asked();
    assert_eq!(asked[0].body, json!({"campaign": "drop", "subject": "ann"}));
    assert!(asked[0].head.starts_with("POST /eligible HTTP/1.1\r\n"), "{}", asked[0].head);
    team.turns(Mood::no());
    let position = node.position();
    let refused = node.claim("drop", "bob").await;
    let refused = refused.refuses("not_eligible", "the campaign's own check says no: members only");
    assert_eq!(refused["reason"], json!("members only"));
    assert_eq!(node.position(), position, "a no is not written");
    // A no is kept, too; and what was won is not asked about.
    node.claim("drop", "bob").await.refuses("not_eligible", "members only");
    node.claim("drop", "ann").await.says(200, "already_won");
    assert_eq!(team.calls(), 2);
    // The yes for Ann outlives a cancel of hers, the no for Bob does not outlive its time.
    team.turns(Mood::yes());
    later(LONG).await;
    node.claim("drop", "bob").await.says(201, "won");
    assert_eq!(team.calls(), 3);
    // The pool is part of the question where the request names one.
    let path = "/v1/campaigns/drop/claims";
    let body = json!({"subject": "cem", "pool": "main"}).to_string();
    node.ask_with("POST", path, &[], body).await.says(201, "won");
    let last = json!({"campaign": "drop", "pool": "main", "subject": "cem"});
    assert_eq!(team.asked()[3].body, last);
}

#[tokio::test]
async fn a_subject_is_asked_about_before_its_hold_and_before_one_that_grows() {
    let team = Team::start(Mood::no()).await;
    let node = node(terms("drop", &team.url())).await;
    let holds = "/v1/campaigns/drop/holds";
    let hold = json!({"id": "h1", "subject": "ann", "picks": [{"pool": "main", "quantity": 2}]});
    let position = node.position();
    let refused = node.ask_with("POST", holds, &[], hold.to_string()).await;
    refused.refuses("not_eligible", "members only");
    assert_eq!(node.position(), position, "a no is not written");
    let asked = json!({"campaign": "drop", "pool": "main", "subject": "ann"});
    assert_eq!(team.asked()[0].body, asked);
    team.turns(Mood::yes());
    later(LONG).await;
    node.ask_with("POST", holds, &[], hold.to_string()).await.says(201, "held");
    assert_eq!(team.calls(), 2);
    team.turns(Mood::no());
    later(LONG * 3).await;
    let more = json!({"subject": "ann", "picks": [{"pool": "main", "quantity": 1}]}).to_string();
    let held = node.position();
    let refused = node.ask_with("POST", &format!("{holds}/h1/add"), &[], more).await;
    refused.refuses("not_eligible", "members only");
    assert_eq!((node.position(), team.calls()), (held, 3));
}

#[tokio::test]
async fn what_is_answered_from_memory_asks_nobody() {
    let team = Team::start(Mood::yes()).await;
    let drops = terms("drop*", &team.url());
    let node = node(drops).await;
    node.open("drops", 1).await.says(201, "created");
    node.open("other", 1).await.says(201, "created");
    node.claim("drops", "ann").await.says(201, "won");
    for n in 0..100 {
        node.claim("drops", &format!("late-{n}")).await.refuses("sold_out", "");
    }
    node.claim("other", "ann").await.says(201, "won");
    node.claim("nothing", "ann").await.refuses("not_found", "");
    assert_eq!(team.calls(), 1);
}

#[tokio::test]
async fn a_campaigns_own_check_comes_before_that_of_many() {
    let (many, some, one) = (
        Team::start(Mood::no()).await,
        Team::start(Mood::no()).await,
        Team::start(Mood::yes()).await,
    );
    let all = [("*", &many), ("dro*", &some), ("drop", &one)];
    let node = node_of(all.map(|(to, at)| terms(to, &at.url())).into()).await;
    node.open("drone", 1).await.says(201, "created");
    node.open("spring", 1).await.says(201, "created");
    node.claim("drop", "ann").await.says(201, "won");
    node.claim("drone", "ann").await.refuses("not_eligible", "");
    node.claim("spring", "ann").await.refuses("not_eligible", "");
    assert_eq!([&many, &some, &one].map(Team::calls), [1, 1, 1]);
}

#[tokio::test]
async fn a_thousand_claims_of_one_subject_make_one_call() {
    let team = Team::start(Mood::Hangs).await;
    let node = node(terms("drop", &team.url())).await;
    let claims = join_all((0..1_000).map(|_| node.claim("drop", "ann")));
    let (claims, ()) = tokio::join!(claims, async {
        team.called(1).await;
        // More than the one there should be, so that this ends when it fails.
        team.lets_go(1_000);
    });
    assert_eq!(team.calls(), 1);
    assert_eq!(claims.iter().filter(|claim| claim.status == 201).count(), 1);
    assert!(claims.iter().all(|claim| [200, 201].contains(&claim.status)));
}

/// The twin: what is not shared is not shared.
#[tokio::test]
async fn a_thousand_claims_of_as_many_subjects_make_as_many_calls() {
    let team = Team::start(Mood::yes()).await;
    let node = node(Terms { concurrent: 1_000, ..terms("drop", &team.url()) }).await;
    let subjects: Vec<String> = (0..200).map(|n| format!("s{n}")).collect();
    let claims = join_all(subjects.iter().map(|subject| node.claim("drop", subject))).await;
    assert!(claims.iter().all(|claim| claim.status == 201));
    assert_eq!(team.calls(), 200);
    // Nothing is kept for longer than its time, nor more than there is room for.
    let brief = Terms { keep_yes: Duration::ZERO, ..terms("drop", &team.url()) };
    let (brief, few) = (check(brief), check(Terms { entries: 1, ..terms("drop", &team.url()) }));
    for (check, calls) in [(brief, 4), (few, 3)] {
        let before = team.calls();
        for subject in ["ann", "ann", "bob", "ann"] {
            let question = Question { campaign: "drop", pool: None, subject };
            assert_eq!(check.decide(question).await, Verdict::Admitted(None));
        }
        assert_eq!(team.calls() - before, calls);
    }
}

#[tokio::test]
async fn whatever_is_no_answer_is_not_taken_for_one() {
    let says = |text: &str| Mood::Says(200, text.to_owned());
    let team = Team::start(Mood::Closes).await;
    let refuses = node(Terms { failures: 0, ..terms("drop", &team.url()) }).await;
    let admits = Terms { failures: 0, admits_when_down: true, ..terms("drop", &team.url()) };
    let admits = node(admits).await;
    let begin = refuses.position();
    let moods = [
        (Mood::Says(500, r#"{"eligible": true}"#.to_owned()), "is no answer"),
        (Mood::Says(201, r#"{"eligible": true}"#.to_owned()), "is no answer"),
        (Mood::Says(302, r#"{"eligible": true}"#.to_owned()), "is no answer"),
        (Mood::Says(401, "{}".to_owned()), "is no answer"),
        (says(""), "is no answer"),
        (says("yes"), "is no answer"),
        (says("{}"), "is no answer"),
        (says(r#"{"eligible": "true"}"#), "is no answer"),
        (says(r#"{"eligible": null}"#), "is no answer"),
        // Nobody can keep a limit that is none.
        (says(r#"{"eligible": true, "limit": "2"}"#), "is no answer"),
        (says(r#"{"eligible": true, "limit": -1}"#), "is no answer"),
        (says(r#"{"eligible": true, "limit": 1.5}"#), "is no answer"),
        (says(r#"{"eligible": true, "limit": 4294967296}"#), "is no answer"),
        (
            says(&format!(r#"{{"eligible": true, "reason": "{}"}}"#, "x".repeat(20_000))),
            "no answer",
        ),
        (Mood::CutsOff, "is no answer"),
        (Mood::Closes, "cannot be reached"),
    ];
    for (n, (mood, said)) in moods.into_iter().enumerate() {
        team.turns(mood.clone());
        let refused = refuses.claim("drop", &format!("s{n}")).await;
        refused.refuses("eligibility_unknown", said);
        admits.claim("drop", &format!("s{n}")).await.says(201, "won");
    }
    assert_eq!(refuses.position(), begin, "nothing was appended");
    // More than was asked for does no harm; and a no without a reason is a no.
    team.turns(says(r#"{"eligible": true, "limit": null, "tier": "gold", "reason": null}"#));
    refuses.claim("drop", "ann").await.says(201, "won");
    team.turns(says(r#"{"eligible": false}"#));
    refuses.claim("drop", "bob").await.refuses("not_eligible", "own check says no");
    admits.claim("drop", "bob").await.refuses("not_eligible", "own check says no");
    // Nobody there at all, and back again.
    let address = team.address;
    drop(team);
    refuses.claim("drop", "cem").await.refuses("eligibility_unknown", "cannot be reached");
    admits.claim("drop", "cem").await.says(201, "won");
    let _back = Team::at(address, Mood::yes()).await;
    refuses.claim("drop", "cem").await.says(201, "won");
}

#[tokio::test]
async fn a_call_that_takes_too_long_is_given_up() {
    let team = Team::start(Mood::Hangs).await;
    let node = node(Terms { failures: 0, ..terms("drop", &team.url()) }).await;
    let (claim, ()) = tokio::join!(node.claim("drop", "ann"), async {
        team.called(1).await;
        later(LONG).await;
    });
    claim.refuses("eligibility_unknown", "it did not answer in time; nothing changed");
    team.given_up(1).await;
    // One that is slow, and not too slow.
    let (claim, ()) = tokio::join!(node.claim("drop", "ann"), async {
        team.called(2).await;
        later(LONG / 2).await;
        team.lets_go(1);
    });
    claim.says(201, "won");
}

#[tokio::test]
async fn a_service_that_fails_is_left_alone_but_for_a_probe() {
    let team = Team::start(Mood::Says(500, String::new())).await;
    let node = node(terms("drop", &team.url())).await;
    for n in 0..200 {
        let claim = node.claim("drop", &format!("s{n}")).await;
        let said = if n < 3 { "is no answer" } else { "left alone" };
        if n < 3 {
            claim.refuses("eligibility_unknown", said);
        } else {
            assert_eq!(claim.outcome(), "eligibility_unknown");
            let seconds: u64 = claim.header("retry-after").unwrap().parse().unwrap();
            assert!((1..=600).contains(&seconds), "{seconds}");
        }
    }
    assert_eq!(team.calls(), 3, "it was flooded while it was down");
    // When its time comes one asks, and it is still down.
    later(LONG).await;
    for n in 0..50 {
        assert_eq!(node.claim("drop", &format!("t{n}")).await.status, 503);
    }
    assert_eq!(team.calls(), 4);
    // The next probe takes long: nobody goes with it. Then everybody may again.
    team.turns(Mood::Hangs);
    later(LONG).await;
    let (probe, ()) = tokio::join!(node.claim("drop", "ann"), async {
        team.called(5).await;
        for n in 0..50 {
            assert_eq!(node.claim("drop", &format!("u{n}")).await.status, 503);
        }
        assert_eq!(team.calls(), 5);
        team.turns(Mood::yes());
        team.lets_go(1);
    });
    probe.says(201, "won");
    for n in 0..50 {
        node.claim("drop", &format!("u{n}")).await.says(201, "won");
    }
    assert_eq!(team.calls(), 55);
}

/// The twin: without the breaker the same flood goes to the team.
#[tokio::test]
async fn without_its_breaker_a_service_that_fails_is_flooded() {
    let team = Team::start(Mood::Says(500, String::new())).await;
    let node = node(Terms { failures: 0, ..terms("drop", &team.url()) }).await;
    for n in 0..200 {
        assert_eq!(node.claim("drop", &format!("s{n}")).await.status, 503);
    }
    assert_eq!(team.calls(), 200);
}

#[tokio::test]
async fn no_more_calls_are_under_way_than_may_be() {
    let team = Team::start(Mood::Hangs).await;
    let node = node(Terms { concurrent: 2, failures: 1, ..terms("drop", &team.url()) }).await;
    let two = join_all(["ann", "bob"].map(|subject| node.claim("drop", subject)));
    let (two, ()) = tokio::join!(two, async {
        team.called(2).await;
        let third = node.claim("drop", "cem").await;
        third.refuses("eligibility_unknown", "as many calls to it are under way as may be");
        assert_eq!(team.calls(), 2);
        team.lets_go(2);
    });
    assert!(two.iter().all(|claim| claim.status == 201));
    // Full is no failure: the breaker, which would open at one, is closed.
    team.lets_go(1);
    node.claim("drop", "cem").await.says(201, "won");
}

#[tokio::test]
async fn a_call_that_nobody_waits_for_is_given_up_and_its_place_is_free() {
    let team = Team::start(Mood::Hangs).await;
    let one = Terms { concurrent: 1, failures: 1, ..terms("drop", &team.url()) };
    let check = check(one);
    let ask = |subject| {
        let check = Arc::clone(&check);
        async move { check.decide(Question { campaign: "drop", pool: None, subject }).await }
    };
    // Two wait for one call; the one who began it goes away, and the other has the answer.
    let begun = tokio::spawn(ask("ann"));
    team.called(1).await;
    let joined = tokio::spawn(ask("ann"));
    tokio::task::yield_now().await;
    begun.abort();
    assert!(begun.await.unwrap_err().is_cancelled());
    team.lets_go(1);
    assert_eq!(joined.await.unwrap(), Verdict::Admitted(None));
    // All go away.
    let begun = tokio::spawn(ask("bob"));
    team.called(2).await;
    begun.abort();
    team.given_up(1).await;
    // The place is free again. It fails, the breaker opens, and a probe is given up in the same way.
    team.turns(Mood::Closes);
    assert!(matches!(ask("bob").await, Verdict::Unknown(_)));
    team.turns(Mood::Hangs);
    later(LONG).await;
    let calls = team.calls();
    let probe = tokio::spawn(ask("bob"));
    team.called(calls + 1).await;
    probe.abort();
    team.given_up(2).await;
    team.turns(Mood::yes());
    assert_eq!(ask("bob").await, Verdict::Admitted(None));
}

#[tokio::test]
async fn a_service_behind_tls_is_asked_only_where_it_is_trusted() {
    let ours = Certificates::new();
    let (chain, key) = ours.identity();
    let chain: Vec<_> =
        CertificateDer::pem_slice_iter(chain.as_bytes()).map(Result::unwrap).collect();
    let key = PrivateKeyDer::from_pem_slice(key.as_bytes()).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = rustls::ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(chain, key)
        .unwrap();
    let team = Team::with_tls(Mood::yes(), TlsAcceptor::from(Arc::new(config))).await;
    let url = format!("https://localhost:{}/eligible", team.address.port());
    let mut terms = terms("drop", &url);
    terms.authorization = Some("Bearer between-us".parse().unwrap());
    terms.ca = Some(ours.authority().as_bytes().into());
    let trusting = node(terms.clone()).await;
    trusting.claim("drop", "ann").await.says(201, "won");
    assert!(team.asked()[0].head.contains("authorization: Bearer between-us\r\n"));
    // Another authority, and no TLS at all where there should be.
    terms.ca = Some(Certificates::new().authority().as_bytes().into());
    let wary = node(terms.clone()).await;
    wary.claim("drop", "ann").await.refuses("eligibility_unknown", "cannot be reached");
    let plain = Team::start(Mood::yes()).await;
    terms.url = format!("https://{}/eligible", plain.address).parse().unwrap();
    let wary = node(terms.clone()).await;
    wary.claim("drop", "ann").await.refuses("eligibility_unknown", "cannot be reached");
    assert_eq!((team.calls(), plain.calls()), (1, 0));
    terms.ca = Some(b"no certificate"[..].into());
    let counts = CountsOfAll::default().of("drop");
    assert!(Check::new(terms, counts).unwrap_err().contains("no certificate in the file"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_asks_as_it_is_configured_and_a_replay_asks_nobody() {
    let team = Team::start(Mood::yes()).await;
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("firstcome.toml");
    let entry = |more: &str| {
        let url = team.url();
        let entry = format!("[[eligibility]]\ncampaign = \"drop*\"\nurl = \"{url}\"\n{more}\n");
        std::fs::write(&file, entry).unwrap();
        let mut command = serve(folder.path(), &[]);
        command.arg("--config").arg(&file);
        command
    };
    let command = entry(
        "when_down = \"refuse\"\ntimeout_ms = 30000\nauthorization = \"Bearer x\"\nkeep_no = \"1h\"",
    );
    let shown = tokio::task::spawn_blocking(move || {
        let server = Server::of(command);
        let mut talk = server.talk();
        talk.open_campaign("drop", 9);
        talk.claim("drop", "ann").says(201, "won");
        (server, talk)
    });
    let (server, mut talk) = shown.await.unwrap();
    assert!(team.asked()[0].head.contains("authorization: Bearer x\r\n"));
    team.turns(Mood::no());
    talk.claim("drop", "bob").refuses("not_eligible", "members only");
    talk.claim("drop", "bob").refuses("not_eligible", "members only");
    team.turns(Mood::Closes);
    talk.claim("drop", "cem").refuses("eligibility_unknown", "cannot be reached");
    let count =
        |of: &str| format!("firstcome_eligibility_total{{campaign=\"drop*\",answer=\"{of}\"}}");
    for (of, times) in [("yes", 1), ("no", 1), ("kept_no", 1), ("unreachable", 1), ("slow", 0)] {
        assert_eq!(talk.metric(&count(of)), times, "{of}");
    }
    assert_eq!(talk.metric("firstcome_eligibility_calls{campaign=\"drop*\"}"), 0);
    server.kill();
    // What was won is won, whatever the service says now.
    let calls = team.calls();
    let server = Server::of(entry("when_down = \"refuse\""));
    let claims = server.talk().get("/v1/campaigns/drop/claims/ann").json();
    assert_eq!(claims["claims"][0]["rank"], Value::from(1));
    assert_eq!(team.calls(), calls);
    server.kill();
    for (more, said) in [
        ("", "has an entry without `when_down`"),
        ("when_down = \"maybe\"", "must be refuse or admit"),
        ("when_down = \"admit\"\ntimeout_ms = 0", "from 1 to 60000"),
        ("when_down = \"admit\"\nca = \"/nowhere/ca.pem\"", "cannot read /nowhere/ca.pem"),
        ("when_down = \"admit\"\nlimit = 3", "unknown setting `limit`"),
    ] {
        let why = cannot_serve(entry(more));
        assert!(why.contains(said), "{why}");
    }
}
