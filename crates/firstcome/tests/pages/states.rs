//! Every state of a campaign's page, on a phone and on a desk, in both languages, in the light and in the dark.

use crate::axe;
use crate::scene::{DESK, PHONE, Scene, click, has, in_ms, nothing_wrong, rows};
use base64::Engine;
use firstcome_testbed::{Browser, Screen};
use serde_json::json;

/// A state: its name, the address of its page, and what is there once it is shown.
type State = (&'static str, String, String);

/// Campaigns in every state, and people in every state in them.
fn states(scene: &Scene) -> Vec<State> {
    let mut talk = scene.talk();
    let pool = |capacity: u32| json!([{"name": "main", "capacity": capacity}]);
    let later = in_ms(&mut talk, 300_000_000);
    scene.put("draft", &json!({"title": "Spring", "pools": pool(5)}));
    scene.put(
        "soon",
        &json!({"title": "Spring drop: two hundred pairs", "opens_at": later, "pools": pool(200)}),
    );
    scene.put(
        "open",
        &json!({"title": "Spring", "opens_at": "now", "public": true, "pools": pool(200)}),
    );
    // Nobody has been there: a tab keeps the token of each campaign.
    scene.put(
        "shown",
        &json!({"title": "Spring", "opens_at": "now", "public": true, "pools": pool(200)}),
    );
    scene.put("private", &json!({"title": "Spring", "opens_at": "now", "pools": pool(200)}));
    scene.put("stop", &json!({"title": "Spring", "opens_at": "now", "pools": pool(200)}));
    scene.put("over", &json!({"title": "Spring", "opens_at": "now", "pools": pool(200)}));
    let two =
        json!([{"name": "main", "capacity": 1}, {"name": "vip", "capacity": 1, "waitlist": 0}]);
    scene.put("few", &json!({"title": "Few", "opens_at": "now", "pools": two}));
    let coded = json!([{"name": "main", "kind": "coded", "capacity": 5}]);
    scene.put("code", &json!({"title": "Coupons", "opens_at": "now", "pools": coded}));
    scene.put(
        "hall",
        &json!({"title": "A concert", "opens_at": "now", "allow_orphans": true, "pools": rows(6)}),
    );
    let mut claim = |campaign: &str, more: serde_json::Value| {
        let answer = talk.post(&format!("/v1/campaigns/{campaign}/claims"), &more);
        assert!(answer.status < 300, "{}", answer.text());
    };
    claim("over", json!({"subject": "ann"}));
    claim("open", json!({"subject": "won"}));
    claim("code", json!({"subject": "ann"}));
    claim("few", json!({"subject": "one", "pool": "main"}));
    claim("few", json!({"subject": "one", "pool": "vip"}));
    claim("few", json!({"subject": "offered", "pool": "main", "wait": true}));
    claim("few", json!({"subject": "next", "pool": "main", "wait": true}));
    talk.post("/v1/campaigns/over/close", &json!({})).says(200, "changed");
    talk.post("/v1/campaigns/stop/pause", &json!({})).says(200, "changed");
    let cancel = "/v1/campaigns/few/claims/one?pool=main&rank=1&by=subject";
    talk.try_ask("DELETE", cancel, None).unwrap().says(200, "cancelled");
    let hold = json!({"subject": "bob", "picks": [{"pool": "main", "best": 3}]});
    talk.post("/v1/campaigns/hall/holds", &hold).says(201, "held");
    let phase = |phase: &str| format!("document.body.dataset.phase === {phase:?}");
    let visible =
        |selector: &str| format!("document.querySelector({selector:?})?.checkVisibility()");
    let ended = scene.token("stop", "eve", 1);
    // It says that it checks with dots behind it.
    let says =
        "(says => says && !says.includes('…'))(document.querySelector('#status')?.textContent)";
    vec![
        ("draft", scene.link("draft", "ann"), phase("draft")),
        (
            "scheduled",
            scene.link("soon", "ann"),
            phase("scheduled") + " && " + &visible("#countdown"),
        ),
        ("open", scene.link("open", "ann"), visible("#act")),
        ("public", scene.url("/c/shown"), has("#note", "") + " && " + &phase("open")),
        ("won", scene.link("open", "won"), visible(".rank")),
        ("paused", scene.link("stop", "ann"), phase("paused")),
        ("closed", scene.link("over", "ann"), phase("closed") + " && " + &visible(".rank")),
        ("sold out", scene.link("few", "zoe"), visible("#act") + " && " + &visible("#note")),
        ("waiting", scene.link("few", "next"), visible(".ahead")),
        ("offered", scene.link("few", "offered"), visible(".offerTime")),
        ("cancelled", scene.link("few", "one"), visible(".rank.gone")),
        (
            "code",
            scene.link("code", "ann"),
            "/-/.test(document.querySelector('.code')?.textContent)".into(),
        ),
        ("seats", scene.link("hall", "eve"), visible("#legend li")),
        ("basket", scene.link("hall", "bob"), visible("#basketUnits li")),
        ("no link", scene.url("/c/private"), says.into()),
        ("ended", scene.url(&format!("/c/stop?ended#token={ended}")), says.into()),
        ("missing", scene.link("missing", "ann"), says.into()),
    ]
}

pub(crate) fn keep_picture(browser: &mut Browser, name: &str) {
    let Some(folder) = std::env::var_os("FIRSTCOME_PICTURES") else { return };
    let bytes = base64::engine::general_purpose::STANDARD.decode(browser.picture()).unwrap();
    let file = std::path::PathBuf::from(folder).join(format!("{}.png", name.replace(' ', "-")));
    std::fs::write(file, bytes).unwrap();
}

fn every_state(screen: &Screen) {
    let scene = Scene::with(&[("PAGES_SHOP", "http://127.0.0.1:9/pay")]);
    let states = states(&scene);
    let Some(script) = axe::script() else { return };
    let Some(mut browser) = scene.browse(screen, "about:blank") else { return };
    let look = format!("{}{}", screen.language, if screen.is_dark { "-dark" } else { "" });
    for (name, url, shown) in states {
        browser.go(&url);
        browser.until(&shown);
        let language = browser.evaluate("document.documentElement.lang").unwrap();
        assert_eq!(language, json!(screen.language));
        let findings = axe::findings(&mut browser, &script);
        assert_eq!(findings, Vec::<String>::new(), "{name} on {screen:?}");
        let over = "document.documentElement.scrollWidth - innerWidth";
        let over = browser.evaluate(over).unwrap().as_i64().unwrap();
        assert!(over <= 0, "{name} is wider than {screen:?} by {over}");
        nothing_wrong(&mut browser);
        keep_picture(&mut browser, &format!("{name}-{}-{look}", screen.width));
    }
}

#[test]
fn every_state_can_be_read_on_a_phone() {
    every_state(&PHONE);
}

#[test]
fn every_state_can_be_read_on_a_phone_in_the_dark_in_korean() {
    every_state(&Screen { language: "ko", is_dark: true, ..PHONE });
}

#[test]
fn every_state_can_be_read_at_a_desk_in_the_dark() {
    every_state(&DESK);
}

#[test]
fn every_state_can_be_read_at_a_desk_in_korean() {
    every_state(&Screen { language: "ko", is_dark: false, ..DESK });
}

/// A countdown by the server's clock, one click at the opening, a rank; loaded again it is the same.
#[test]
fn somebody_waits_for_the_opening_and_gets_a_rank() {
    let scene = Scene::open();
    let Some(mut browser) = scene.browse(&PHONE, "about:blank") else { return };
    let opens = in_ms(&mut scene.talk(), 20_000);
    scene.put(
        "spring",
        &json!({"title": "Spring", "opens_at": opens, "pools": [{"name": "main", "capacity": 3}]}),
    );
    browser.go(&scene.link("spring", "ann"));
    browser.until(&has("#countdown", "00:"));
    // The page, its script, and the campaign.
    let requests = browser.evaluate("performance.getEntriesByType('resource').length + 1").unwrap();
    assert!(requests.as_u64().unwrap() <= 5, "{requests}");
    assert_eq!(browser.evaluate("document.querySelector('#act').disabled").unwrap(), json!(true));
    // The token is not left in the address, for others to see.
    assert_eq!(browser.evaluate("location.hash").unwrap(), json!(""));
    browser.until("!document.querySelector('#act').disabled");
    click(&mut browser, "#act");
    browser.until(&has(".rank", "number 1"));
    browser.evaluate("location.reload()").unwrap();
    browser.until(&has(".rank", "number 1"));
    nothing_wrong(&mut browser);
    // A second tab of the same person, and another person.
    browser.go(&scene.link("spring", "ann"));
    browser.until(&has(".rank", "number 1"));
    browser.go(&scene.link("spring", "bob"));
    click(&mut browser, "#act");
    browser.until(&has(".rank", "number 2"));
    // What others do is there by itself.
    scene.talk().post("/v1/campaigns/spring/claims", &json!({"subject": "cem"})).says(201, "won");
    browser.until(&has("#leftText", "0 of 3 left"));
    scene.talk().post("/v1/campaigns/spring/close", &json!({})).says(200, "changed");
    browser.until(&has("#status", "This is over."));
    nothing_wrong(&mut browser);
}

#[test]
fn who_waits_is_offered_what_comes_free_before_their_eyes() {
    let scene = Scene::open();
    scene.put(
        "few",
        &json!({"title": "Few", "opens_at": "now", "pools": [{"name": "main", "capacity": 1}]}),
    );
    scene.talk().post("/v1/campaigns/few/claims", &json!({"subject": "one"})).says(201, "won");
    let Some(mut browser) = scene.browse(&PHONE, &scene.link("few", "ann")) else { return };
    click(&mut browser, "#act");
    browser.until(&has(".ahead", "You are next."));
    let cancel = "/v1/campaigns/few/claims/one?rank=1&by=subject";
    scene.talk().try_ask("DELETE", cancel, None).unwrap().says(200, "cancelled");
    browser.until(&has(".offer", "One is reserved for you."));
    // Without a shop the page says what the shop needs to know.
    browser.until(&has("#places", "offer-1"));
    scene
        .talk()
        .post("/v1/campaigns/few/holds/offer-1/confirm", &json!({"subject": "ann"}))
        .says(200, "confirmed");
    browser.until(&has(".rank", "number 2"));
    nothing_wrong(&mut browser);
}

#[test]
fn a_code_is_given_once_and_shown_again() {
    let scene = Scene::open();
    let pools = json!([{"name": "main", "kind": "coded", "capacity": 2}]);
    scene.put("coupons", &json!({"title": "Coupons", "opens_at": "now", "pools": pools}));
    let Some(mut browser) = scene.browse(&DESK, &scene.link("coupons", "ann")) else { return };
    click(&mut browser, "#act");
    let shown = "document.querySelector('.code').textContent";
    browser.until(&format!("{shown}.length === 19"));
    let code = browser.evaluate(shown).unwrap();
    browser.evaluate("location.reload()").unwrap();
    browser.until(&format!("{shown} === {code}"));
    nothing_wrong(&mut browser);
}
