//! The console of operators: each view on each screen, what an act does, and who may do it.

use crate::axe;
use crate::process::KEY;
use crate::scene::{DESK, PHONE, Scene, click, has, nothing_wrong, rows};
use crate::states::keep_picture;
use firstcome_testbed::{Browser, Screen};
use serde_json::json;

/// Keys beside the admin's: who may only look, and who operates campaigns that begin with `own-`.
const VIEWER: &str = "a-key-that-only-reads";
const OWNER: &str = "a-key-for-own-campaigns";

/// A server that knows these keys too.
pub(crate) fn scene() -> Scene {
    let digest =
        |key: &str| data_encoding::HEXLOWER.encode(&<sha2::Sha256 as sha2::Digest>::digest(key));
    let file = format!(
        "[[keys]]\nname = \"viewer\"\nsha256 = \"{}\"\nrole = \"read\"\n\n\
         [[keys]]\nname = \"owner\"\nsha256 = \"{}\"\nrole = \"operator\"\ncampaigns = \"own-\"\n",
        digest(VIEWER),
        digest(OWNER)
    );
    let config = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(config.path(), file).unwrap();
    // It is read at the start only.
    let webhooks = ("WEBHOOK_ALLOW", "127.0.0.0/8");
    Scene::with(&[("CONFIG", config.path().to_str().unwrap()), webhooks])
}

/// Types a text into a field, as a person does.
pub(crate) fn fill_in(browser: &mut Browser, selector: &str, text: &str) {
    browser.until(&format!("document.querySelector({selector:?})?.checkVisibility()"));
    let set = format!(
        "(input => {{ input.value = {text:?}; input.dispatchEvent(new Event('input', {{bubbles: true}})); }})(document.querySelector({selector:?}))"
    );
    browser.evaluate(&set).unwrap();
}

/// Opens the console and logs in.
pub(crate) fn log_in(scene: &Scene, screen: &Screen, key: &str) -> Option<Browser> {
    let mut browser = scene.browse(screen, &scene.url("/console"))?;
    fill_in(&mut browser, "#key", key);
    click(&mut browser, "#enter");
    browser.until("!document.querySelector('#nav').hidden");
    Some(browser)
}

pub(crate) fn view(browser: &mut Browser, hash: &str, shown: &str) {
    browser.evaluate(&format!("location.hash = {hash:?}; 1")).unwrap();
    browser.until(shown);
}

/// Answers the question with yes, with a reason where one is wanted.
pub(crate) fn agree(browser: &mut Browser, reason: Option<&str>) {
    browser.until("document.querySelector('#ask').open");
    if let Some(reason) = reason {
        fill_in(browser, "#askReason", reason);
    }
    click(browser, "#askYes");
    browser.until("!document.querySelector('#ask').open");
}

/// Campaigns with something to see.
fn campaigns(scene: &Scene) {
    let mut talk = scene.talk();
    let two = json!([{"name": "main", "capacity": 40}, {"name": "vip", "capacity": 2}]);
    scene.put("spring", &json!({"title": "Spring drop: forty pairs", "opens_at": "now", "limits": {"campaign": 1}, "pools": two}));
    for number in 0..25 {
        let claim = json!({"subject": format!("customer-{number}"), "pool": "main"});
        talk.post("/v1/campaigns/spring/claims", &claim).says(201, "won");
    }
    for number in 0..4 {
        let claim = json!({"subject": format!("guest-{number}"), "pool": "vip"});
        talk.post("/v1/campaigns/spring/claims", &claim);
    }
    let cancel = "/v1/campaigns/spring/claims/customer-3?pool=main&rank=4&reason=paid+twice";
    talk.try_ask("DELETE", cancel, None).unwrap().says(200, "cancelled");
    let bar = json!({"subject": "eve", "reason": "sold her tickets on"});
    talk.post("/v1/campaigns/spring/bars", &bar).says(200, "bar_set");
    scene.put("hall", &json!({"title": "A concert", "opens_at": "now", "holds": "many", "allow_orphans": true, "pools": rows(6)}));
    let hold = |id: &str, subject: &str, units: &[&str]| json!({"id": id, "subject": subject, "picks": [{"pool": "main", "units": units}]});
    talk.post("/v1/campaigns/hall/holds", &hold("h1", "ann", &["A1", "A2"])).says(201, "held");
    talk.post("/v1/campaigns/hall/holds/h1/confirm", &json!({"subject": "ann"}))
        .says(200, "confirmed");
    talk.post("/v1/campaigns/hall/holds", &hold("h2", "ann", &["B1"])).says(201, "held");
    scene
        .put("draft", &json!({"title": "Not decided", "pools": [{"name": "main", "capacity": 5}]}));
    // Nobody listens there.
    let hook =
        json!({"url": "http://127.0.0.1:9/hook", "campaigns": ["spring", "sum*"], "after": 0});
    talk.post("/v1/webhooks", &hook);
}

const VIEWS: [(&str, &str, &str); 12] = [
    ("campaigns", "#/", "document.querySelectorAll('tbody tr').length === 3"),
    (
        "overview",
        "#/c/spring",
        "document.querySelectorAll('figure svg path').length > 5 && document.querySelector('#n-claims')?.textContent === '26'",
    ),
    ("seats", "#/c/hall/seats", "document.querySelectorAll('#counts li').length > 3"),
    ("results", "#/c/spring/results", "document.querySelectorAll('tbody tr').length === 28"),
    ("acts", "#/c/spring/acts", "document.querySelectorAll('tbody tr').length === 3"),
    ("change", "#/c/spring/change", "document.querySelector('#campaignForm')?.checkVisibility()"),
    ("new", "#/new", "document.querySelector('#campaignForm')?.checkVisibility()"),
    ("subject", "#/subject/ann", "document.querySelectorAll('#story table').length === 2"),
    ("barred", "#/subject/eve", "document.querySelector('#story .unbar')"),
    ("servers", "#/servers", "document.querySelector('#servers tbody tr')"),
    ("webhooks", "#/webhooks", "document.querySelector('#main tbody tr')"),
    ("webhook", "#/webhooks/{webhook}", "document.querySelector('#tries tbody tr')"),
];

fn every_view(screen: &Screen) {
    let scene = scene();
    campaigns(&scene);
    let Some(script) = axe::script() else { return };
    let Some(mut browser) = scene.browse(screen, &scene.url("/console")) else { return };
    let look = format!("{}{}", screen.language, if screen.is_dark { "-dark" } else { "" });
    let check = |browser: &mut Browser, name: &str| {
        assert_eq!(
            browser.evaluate("document.documentElement.lang").unwrap(),
            json!(screen.language)
        );
        let findings = axe::findings(browser, &script);
        assert_eq!(findings, Vec::<String>::new(), "{name} on {screen:?}");
        let over = "document.documentElement.scrollWidth - innerWidth";
        let over = browser.evaluate(over).unwrap().as_i64().unwrap();
        assert!(over <= 0, "{name} is wider than {screen:?} by {over}");
        nothing_wrong(browser);
        keep_picture(browser, &format!("console-{name}-{}-{look}", screen.width));
    };
    browser.until("document.querySelector('#key')?.checkVisibility()");
    check(&mut browser, "login");
    fill_in(&mut browser, "#key", KEY);
    click(&mut browser, "#enter");
    let hooks = scene.talk().get("/v1/webhooks").json();
    for (name, hash, shown) in VIEWS {
        let hash = hash.replace("{webhook}", hooks["webhooks"][0]["webhook"].as_str().unwrap());
        view(&mut browser, &hash, shown);
        if name == "new" {
            browser
                .evaluate(
                    "(s => { s.value = 'time'; s.oninput(); })(document.querySelector('#fOpens'))",
                )
                .unwrap();
            fill_in(&mut browser, "#fOpensLocal", "2027-03-01T10:00");
            browser.until("document.querySelectorAll('#fOpensZones li').length > 4");
        }
        check(&mut browser, name);
    }
    // The question that every act asks.
    view(&mut browser, "#/c/spring", "document.querySelector('#pause')");
    click(&mut browser, "#pause");
    browser.until("document.querySelector('#ask').open");
    check(&mut browser, "question");
}

#[test]
fn every_view_can_be_read_on_a_phone() {
    every_view(&PHONE);
}

#[test]
fn every_view_can_be_read_on_a_phone_in_the_dark_in_korean() {
    every_view(&Screen { language: "ko", is_dark: true, ..PHONE });
}

#[test]
fn every_view_can_be_read_at_a_desk_in_the_dark() {
    every_view(&DESK);
}

#[test]
fn every_view_can_be_read_at_a_desk_in_korean() {
    every_view(&Screen { language: "ko", is_dark: false, ..DESK });
}

/// From nothing to a closed campaign, each act with one question, and the list says who did it.
#[test]
fn a_campaign_is_made_changed_paused_and_closed_and_the_list_says_so() {
    let scene = scene();
    let Some(mut browser) = log_in(&scene, &DESK, OWNER) else { return };
    view(&mut browser, "#/new", "document.querySelector('#campaignForm')");
    fill_in(&mut browser, "#fName", "own-spring");
    fill_in(&mut browser, "#fTitle", "Spring");
    browser
        .evaluate("(s => { s.value = 'now'; s.oninput(); })(document.querySelector('#fOpens'))")
        .unwrap();
    fill_in(&mut browser, ".pool input[type=number]", "3");
    click(&mut browser, "#send");
    // A no changes nothing.
    browser.until("document.querySelector('#ask').open");
    click(&mut browser, "#askNo");
    browser.until("!document.querySelector('#ask').open");
    assert_eq!(scene.talk().get("/v1/campaigns/own-spring").status, 404);
    click(&mut browser, "#send");
    agree(&mut browser, None);
    browser.until(&has("#n-left", "3"));
    click(&mut browser, "#pause");
    agree(&mut browser, None);
    browser.until(&has(".state", "paused"));
    let claim = json!({"subject": "ann"});
    scene.talk().post("/v1/campaigns/own-spring/claims", &claim).refuses("paused", "");
    click(&mut browser, "#resume");
    agree(&mut browser, None);
    browser.until(&has(".state", "open"));
    scene.talk().post("/v1/campaigns/own-spring/claims", &claim).says(201, "won");
    browser.until(&has("#n-claims", "1"));
    browser.until("document.querySelector('figure svg path.fMain')?.getAttribute('d').length > 5");
    click(&mut browser, ".raise");
    agree(&mut browser, Some("8"));
    browser.until(&has("#n-left", "7"));
    view(&mut browser, "#/subject/ann", "document.querySelector('#story .cancel')");
    click(&mut browser, ".cancel");
    agree(&mut browser, Some("paid twice"));
    browser.until(&has("#story", "paid twice"));
    click(&mut browser, ".bar");
    agree(&mut browser, Some("sold on"));
    browser.until("document.querySelector('#story .unbar')");
    view(&mut browser, "#/c/own-spring/change", "document.querySelector('#campaignForm')");
    fill_in(&mut browser, "#fTitle", "Spring, last hours");
    click(&mut browser, "#send");
    agree(&mut browser, None);
    browser.until(&has("h1", "Spring, last hours"));
    click(&mut browser, "#close");
    agree(&mut browser, None);
    browser.until(&has(".state", "closed"));
    view(&mut browser, "#/c/own-spring/acts", "document.querySelectorAll('tbody tr').length === 8");
    let list = "[...document.querySelectorAll('tbody tr')].map(row => [...row.cells].slice(1).map(cell => cell.textContent).join('|'))";
    let list = browser.evaluate(list).unwrap();
    assert_eq!(
        list,
        json!([
            "owner|close|–|–|changed",
            "owner|create or change|title|–|changed",
            "owner|bar|ann|sold on|bar_set",
            "owner|cancel|main/1 ann|paid twice|cancelled",
            "owner|create or change|main.capacity 3 → 8|–|changed",
            "owner|resume|–|–|changed",
            "owner|pause|–|–|changed",
            "owner|create or change|–|–|created"
        ])
    );
    nothing_wrong(&mut browser);
}

#[test]
fn seats_are_blocked_unblocked_and_moved_on_the_map_by_keyboard() {
    let scene = scene();
    campaigns(&scene);
    let Some(mut browser) = log_in(&scene, &DESK, KEY) else { return };
    view(&mut browser, "#/c/hall/seats", "document.querySelectorAll('#counts li').length > 3");
    let map = "document.querySelector('#map')";
    browser.evaluate(&format!("{map}.focus(); 1")).unwrap();
    let go_to = |browser: &mut Browser, wanted: &str, keys: &[&str]| {
        keys.iter().for_each(|key| browser.press(key));
        browser.until(&has("#seat", wanted));
        browser.press("Enter");
    };
    // The focus comes to a seat of the first row; its left end is the first seat.
    let left = ["ArrowLeft"; 10];
    go_to(&mut browser, "A1 ", &left);
    browser.until("!document.querySelector('#clear').disabled");
    // Somebody has it: it cannot be blocked.
    assert_eq!(browser.evaluate("document.querySelector('#block').disabled").unwrap(), json!(true));
    go_to(&mut browser, "A3 ", &["ArrowRight", "ArrowRight"]);
    click(&mut browser, "#move");
    agree(&mut browser, Some("broken seat"));
    browser.until(&has("#said", "moved"));
    let claims = scene.talk().get("/v1/campaigns/hall/claims/ann").json();
    assert!(
        claims["claims"].as_array().unwrap().iter().any(|claim| claim["unit"] == "A3"),
        "{claims}"
    );
    browser.until("document.querySelector('#clear').disabled");
    browser.evaluate(&format!("{map}.focus(); 1")).unwrap();
    go_to(&mut browser, "A4 ", &["ArrowRight"]);
    click(&mut browser, "#block");
    agree(&mut browser, Some("camera"));
    browser.until(&has("[data-letter=b]", "1"));
    browser.evaluate(&format!("{map}.focus(); 1")).unwrap();
    browser.press("Enter");
    browser.until("!document.querySelector('#unblock').disabled");
    click(&mut browser, "#unblock");
    agree(&mut browser, Some("no camera"));
    browser.until("!document.querySelector('[data-letter=b]')");
    // What others do is there by itself.
    let hold =
        json!({"id": "h9", "subject": "bob", "picks": [{"pool": "main", "units": ["C1", "C2"]}]});
    scene.talk().post("/v1/campaigns/hall/holds", &hold).says(201, "held");
    browser.until(&has("[data-letter=h]", "3"));
    nothing_wrong(&mut browser);
}

#[test]
fn results_are_searched_and_saved_and_new_ones_come_by_themselves() {
    let scene = scene();
    campaigns(&scene);
    let Some(mut browser) = log_in(&scene, &DESK, KEY) else { return };
    view(&mut browser, "#/c/spring/results", "document.querySelectorAll('tbody tr').length === 28");
    fill_in(&mut browser, "#search", "customer-2");
    // customer-2 and customer-20 to 24.
    browser.until("document.querySelectorAll('tbody tr').length === 6");
    fill_in(&mut browser, "#search", "");
    let claim = json!({"subject": "late", "pool": "main"});
    scene.talk().post("/v1/campaigns/spring/claims", &claim).says(201, "won");
    browser.until(&has("tbody tr", "late"));
    browser.evaluate("URL.createObjectURL = blob => { blob.text().then(text => { window.saved = text; }); return 'data:,'; }; 1").unwrap();
    click(&mut browser, "#export");
    browser.until("window.saved");
    let saved = browser.evaluate("window.saved").unwrap();
    let lines: Vec<&str> = saved.as_str().unwrap().trim_end().lines().collect();
    assert!(lines[0].starts_with("number,kind,campaign,pool,rank,subject,at"), "{}", lines[0]);
    assert_eq!(lines.len(), 30, "the head and 29 results");
    nothing_wrong(&mut browser);
}

/// The first page of a subject has its oldest campaigns, and the newest ones are looked at.
#[test]
fn a_subject_with_a_long_history_is_shown_with_what_it_has_now() {
    let scene = Scene::with(&[("RATE_SUBJECT", "none")]);
    scene.put_with_history("old", "ann");
    let pools = json!([{"name": "main", "capacity": 9}]);
    scene.put("new", &json!({"title": "The new one", "opens_at": "now", "pools": pools}));
    let claim = json!({"subject": "ann"});
    scene.talk().post("/v1/campaigns/new/claims", &claim).says(201, "won");
    let first = scene.talk().get("/v1/subjects/ann").json();
    assert!(first["next"].is_u64() && !first.to_string().contains("\"new\""), "it is one page");
    let Some(mut browser) = log_in(&scene, &DESK, KEY) else { return };
    view(&mut browser, "#/subject/ann", &has("#story h2", "The new one"));
    browser.until(&has("#story h2", "old"));
    nothing_wrong(&mut browser);
}

#[test]
fn a_wrong_key_is_refused_and_a_key_is_gone_with_the_log_out() {
    let scene = scene();
    let Some(mut browser) = scene.browse(&PHONE, &scene.url("/console")) else { return };
    for wrong in ["not-a-key-of-this-server", "eine schlüssel ☃"] {
        fill_in(&mut browser, "#key", wrong);
        click(&mut browser, "#enter");
        browser.until(&has("#said.bad", "does not know"));
        browser.until("document.querySelector('#key')?.checkVisibility()");
        assert_eq!(browser.evaluate("Object.keys(sessionStorage).length").unwrap(), json!(0));
    }
    fill_in(&mut browser, "#key", KEY);
    click(&mut browser, "#enter");
    browser.until(&has("#who", "admin"));
    browser.evaluate("location.reload()").unwrap();
    browser.until(&has("#who", "admin"));
    // It is in no address and in nothing that outlives the tab.
    let kept = "JSON.stringify([location.href, {...localStorage}, document.cookie])";
    let kept = browser.evaluate(kept).unwrap();
    assert!(!kept.as_str().unwrap().contains(KEY), "{kept}");
    click(&mut browser, "#out");
    browser.until("document.querySelector('#key')?.checkVisibility()");
    assert_eq!(browser.evaluate("sessionStorage.length").unwrap(), json!(0));
    nothing_wrong(&mut browser);
}

#[test]
fn who_may_only_read_sees_no_button_that_acts() {
    let scene = scene();
    campaigns(&scene);
    let Some(mut browser) = log_in(&scene, &DESK, VIEWER) else { return };
    let acts = "[...document.querySelectorAll('main button, main a')].filter(e => e.checkVisibility()).map(e => e.id || e.className || e.textContent)";
    let look = |browser: &mut Browser, hash: &str, shown: &str| {
        view(browser, hash, shown);
        let acts = browser.evaluate(acts).unwrap();
        let acts: Vec<String> = serde_json::from_value(acts).unwrap();
        for act in [
            "pause",
            "resume",
            "close",
            "plain raise",
            "button",
            "block",
            "unblock",
            "move",
            "plain cancel",
            "danger bar",
            "Acts",
            "Change",
        ] {
            assert!(!acts.iter().any(|known| known == act), "{hash}: {act} among {acts:?}");
        }
        nothing_wrong(browser);
    };
    look(&mut browser, "#/", "document.querySelectorAll('tbody tr').length === 3");
    look(&mut browser, "#/c/spring", "document.querySelector('#n-claims')?.textContent === '26'");
    look(&mut browser, "#/c/hall/seats", "document.querySelectorAll('#counts li').length > 3");
    look(&mut browser, "#/c/spring/results", "document.querySelectorAll('tbody tr').length === 28");
    look(&mut browser, "#/subject/ann", "document.querySelectorAll('#story table').length === 2");
    look(&mut browser, "#/new", "document.querySelectorAll('tbody tr').length === 3");
    look(
        &mut browser,
        "#/c/spring/change",
        "document.querySelector('#n-claims')?.textContent === '26'",
    );
    // Nothing was asked that could only be refused.
    let metrics = scene.talk().get("/metrics").text();
    let forbidden =
        metrics.lines().find(|line| line.contains("answers_total{outcome=\"forbidden\"}")).unwrap();
    assert!(forbidden.ends_with(" 0"), "{forbidden}");
    // Only administrators see webhooks.
    let hooks = "!!document.querySelector('a[href=\"#/webhooks\"]')";
    assert_eq!(browser.evaluate(hooks).unwrap(), json!(false));
    view(&mut browser, "#/webhooks", &has("h1", "Campaigns"));
    // A key for some campaigns sees those, and nothing of the servers.
    let Some(mut owner) = log_in(&scene, &PHONE, OWNER) else { return };
    owner.until(&has("main", "None yet."));
    assert_eq!(
        owner.evaluate("!!document.querySelector('a[href=\"#/servers\"]')").unwrap(),
        json!(false)
    );
    nothing_wrong(&mut owner);
}

#[test]
fn programs_in_names_do_not_run() {
    const BAD: &str = "<img src=x onerror=\"window.wrong.push('it ran')\"><script>window.wrong.push('it ran')</script>";
    let scene = scene();
    let seats = json!([{"name": "main", "kind": "seated", "seats": [
        {"name": "<b>1</b>", "section": "<script>", "row": "<i>", "grade": "\"><svg>", "price_minor": 1, "currency": "KRW"}]}]);
    scene.put("bad", &json!({"title": BAD, "opens_at": "now", "pools": seats}));
    let mut talk = scene.talk();
    let hold = json!({"id": "<u>h</u>", "subject": BAD, "picks": [{"pool": "main", "units": ["<b>1</b>"]}]});
    talk.post("/v1/campaigns/bad/holds", &hold).says(201, "held");
    talk.post("/v1/campaigns/bad/holds/%3Cu%3Eh%3C%2Fu%3E/confirm", &json!({"subject": BAD}))
        .says(200, "confirmed");
    talk.post("/v1/campaigns/bad/bars", &json!({"subject": "x", "reason": BAD}))
        .says(200, "bar_set");
    let Some(mut browser) = log_in(&scene, &DESK, KEY) else { return };
    let subject =
        format!("#/subject/{}", BAD.bytes().map(|byte| format!("%{byte:02X}")).collect::<String>());
    for (hash, shown) in [
        ("#/", has("tbody tr", "<img")),
        ("#/c/bad", has("h1", "<img")),
        ("#/c/bad/seats", has("#counts", "\"><svg>")),
        ("#/c/bad/results", has("tbody tr", "<img")),
        ("#/c/bad/acts", has("tbody tr", "<img")),
        (&subject, has("#story", "<b>1</b>")),
        ("#/subject/x", has("#story", "<img")),
        ("#/c/bad/change", "document.querySelector('#fTitle')?.value.includes('<img')".into()),
    ] {
        view(&mut browser, hash, &shown);
        assert_eq!(
            browser.evaluate("document.querySelectorAll('main img, main script').length").unwrap(),
            json!(0)
        );
    }
    click(&mut browser, "#close");
    browser.until(&has("#askTitle", "<img"));
    nothing_wrong(&mut browser);
}

/// From the log-in to a paused campaign without a pointer.
#[test]
fn the_console_goes_by_keyboard_alone() {
    let scene = scene();
    campaigns(&scene);
    let Some(mut browser) = scene.browse(&DESK, &scene.url("/console")) else { return };
    browser.until("document.activeElement?.id === 'key'");
    fill_in(&mut browser, "#key", KEY);
    browser.press("Enter");
    browser.until("document.querySelectorAll('tbody tr').length === 3");
    let tab_to = |browser: &mut Browser, what: &str| {
        for _ in 0..40 {
            if browser.evaluate(what).unwrap() == json!(true) {
                return;
            }
            browser.press("Tab");
        }
        panic!("the focus never comes to {what}");
    };
    tab_to(&mut browser, "document.activeElement?.getAttribute('href') === '#/c/spring'");
    browser.press("Enter");
    browser.until("document.querySelector('#pause')");
    tab_to(&mut browser, "document.activeElement?.id === 'pause'");
    browser.press("Enter");
    browser.until("document.querySelector('#ask').open && document.activeElement?.id === 'askNo'");
    // The question keeps the focus, and no is where it begins.
    tab_to(&mut browser, "document.activeElement?.id === 'askYes'");
    browser.press("Enter");
    browser.until(&has(".state", "paused"));
    nothing_wrong(&mut browser);
}

#[test]
fn a_server_that_is_gone_is_said_and_an_act_is_sent_until_it_is_known() {
    let mut scene = Scene::open();
    let two = json!([{"name": "main", "capacity": 5}]);
    scene.put("spring", &json!({"title": "Spring", "opens_at": "now", "pools": two}));
    let Some(mut browser) = log_in(&scene, &PHONE, KEY) else { return };
    view(&mut browser, "#/c/spring", "document.querySelector('#pause')");
    scene.kill();
    browser.until(&has("#said", "No answer from the server."));
    click(&mut browser, "#pause");
    agree(&mut browser, None);
    browser.until(&has("#said", "it happens once"));
    scene.restart();
    browser.until(&has(".state", "paused"));
    let acts = scene.talk().get("/v1/campaigns/spring/acts").json();
    assert_eq!(acts["acts"].as_array().unwrap().len(), 2, "{acts}");
    nothing_wrong(&mut browser);
}
