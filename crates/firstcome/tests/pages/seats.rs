//! The seat map: two people and one seat, the basket and its time, the keyboard, and a hall of 20,000 seats.

use crate::scene::{DESK, PHONE, Scene, click, has, nothing_wrong, rows};
use firstcome_testbed::Browser;
use serde_json::json;

/// Goes from seat to seat by keyboard until one is told, and takes it or gives it back.
fn choose(browser: &mut Browser, seat: &str, steps: &[&str]) {
    go_to(browser, seat, steps);
    browser.press("Enter");
}

fn go_to(browser: &mut Browser, seat: &str, steps: &[&str]) {
    browser.until(
        "document.querySelector('#legend li') && !document.querySelector('#bestGo').disabled",
    );
    browser.evaluate("document.querySelector('#map').focus()").unwrap();
    for step in steps {
        browser.press(step);
    }
    browser.until(&has("#seat", &format!("{seat},")));
}

fn hall(scene: &Scene, ttl_ms: u64) {
    let hall = json!({"title": "A concert", "opens_at": "now", "allow_orphans": true, "hold_ttl_ms": ttl_ms, "pools": rows(4)});
    scene.put("hall", &hall);
}

#[test]
fn of_two_people_one_gets_the_seat_and_the_other_sees_it() {
    let scene = Scene::open();
    hall(&scene, 480_000);
    let Some(mut ann) = scene.browse(&DESK, &scene.link("hall", "ann")) else { return };
    let Some(mut bob) = scene.browse(&PHONE, &scene.link("hall", "bob")) else { return };
    bob.until("document.querySelector('#legend li')");
    choose(&mut ann, "A6", &["ArrowRight"]);
    ann.until(&has("#basketUnits", "A6"));
    ann.until(&has("#basketSum", "90,000"));
    // He sees it taken, and asks all the same.
    choose(&mut bob, "A6", &["ArrowRight"]);
    bob.until(&has("#seat", "taken"));
    bob.until(&has("#problem", "Somebody else was faster."));
    bob.press("ArrowRight");
    bob.until(&has("#seat", "A7,"));
    bob.press("Enter");
    bob.until(&has("#basketUnits", "A7"));
    // She gives it back, and he sees that.
    click(&mut ann, "#basketUnits button");
    ann.until("document.querySelectorAll('#basketUnits li').length === 0");
    bob.press("ArrowLeft");
    bob.until(&has("#seat", "free"));
    // A place of an area, and the best seats of a category.
    click(&mut ann, "#areas button");
    ann.until(&has("#basketUnits", "Floor"));
    ann.evaluate("document.querySelector('#bestGrades').value = '1'").unwrap();
    click(&mut ann, "#bestGo");
    ann.until("document.querySelectorAll('#basketUnits li').length === 3");
    ann.until(&has("#basketUnits", "C"));
    // Loaded again it is the same basket.
    ann.evaluate("window.isOld = true; location.reload()").unwrap();
    ann.until("!window.isOld && document.querySelectorAll('#basketUnits li').length === 3");
    click(&mut ann, "#giveBack");
    ann.until("document.querySelectorAll('#basketUnits li').length === 0");
    nothing_wrong(&mut ann);
    nothing_wrong(&mut bob);
}

/// The twin of the story of two people: where a seat that somebody holds is held for the next one, both have it.
#[test]
fn without_the_rule_two_people_have_one_seat() {
    let scene = Scene::with(&[("INJECT", "hold_taken_seats")]);
    // The seat of a hold that lasts longer is refused from memory, without the rules.
    hall(&scene, 2_000);
    let Some(mut ann) = scene.browse(&DESK, &scene.link("hall", "ann")) else { return };
    let Some(mut bob) = scene.browse(&PHONE, &scene.link("hall", "bob")) else { return };
    bob.until("document.querySelector('#legend li')");
    let mut talk = scene.talk();
    let mut holds = |subject: &str| {
        let has = talk.get(&format!("/v1/subjects/{subject}")).json();
        has["campaigns"][0]["holds"].as_array().is_some_and(|holds| !holds.is_empty())
    };
    // Both press before either sees what the other one did. A slow machine tries again.
    let both = (0..10).any(|round| {
        let step: &[&str] = if round == 0 { &["ArrowRight"] } else { &[] };
        go_to(&mut ann, "A6", step);
        go_to(&mut bob, "A6", step);
        ann.press("Enter");
        bob.press("Enter");
        let both = (0..50).any(|_| {
            std::thread::sleep(std::time::Duration::from_millis(20));
            holds("bob") && holds("ann")
        });
        let ended = "document.querySelectorAll('#basketUnits li').length === 0";
        ann.until(ended);
        bob.until(ended);
        both
    });
    assert!(both, "the story is blind");
}

#[test]
fn a_basket_expires_before_the_eyes_of_its_owner() {
    let scene = Scene::open();
    hall(&scene, 9_000);
    let Some(mut browser) = scene.browse(&PHONE, &scene.link("hall", "ann")) else { return };
    choose(&mut browser, "A6", &["ArrowRight"]);
    browser.until(&has("#basketTime", "00:0"));
    browser.until(&has("#problem", "The time ended, and the seats are free again."));
    browser.until("document.querySelectorAll('#basketUnits li').length === 0");
    browser.until(&has("#seat", "free"));
    nothing_wrong(&mut browser);
}

/// By the keyboard alone: from the top of the page to the button, and to a seat.
#[test]
fn everything_is_done_by_keyboard() {
    let scene = Scene::open();
    hall(&scene, 480_000);
    scene.put(
        "drop",
        &json!({"title": "Drop", "opens_at": "now", "pools": [{"name": "main", "capacity": 3}]}),
    );
    let Some(mut browser) = scene.browse(&DESK, &scene.link("drop", "ann")) else { return };
    browser.until("document.querySelector('#act').checkVisibility()");
    tab_to(&mut browser, "act");
    browser.press("Enter");
    browser.until(&has(".rank", "number 1"));
    browser.go(&scene.link("hall", "ann"));
    browser.until(
        "document.querySelector('#legend li') && !document.querySelector('#bestGo').disabled",
    );
    tab_to(&mut browser, "map");
    browser.press("ArrowDown");
    browser.press("Enter");
    browser.until("document.querySelectorAll('#basketUnits li').length === 1");
    tab_to(&mut browser, "giveBack");
    browser.press("Enter");
    browser.until("document.querySelectorAll('#basketUnits li').length === 0");
    nothing_wrong(&mut browser);
}

fn tab_to(browser: &mut Browser, id: &str) {
    for _ in 0..30 {
        if browser.evaluate("document.activeElement.id").unwrap() == json!(id) {
            return;
        }
        browser.press("Tab");
    }
    panic!("#{id} is not reached by Tab");
}

/// How smooth it is is measured by hand; here it works at all.
#[test]
fn a_hall_of_20_000_seats_is_shown_moved_and_zoomed() {
    let scene = Scene::open();
    scene.put("arena", &json!({"title": "Arena", "opens_at": "now", "allow_orphans": true, "pools": [{"name": "main", "kind": "seated"}]}));
    let mut talk = scene.talk();
    for part in 0..5 {
        let seats = (0..4_000).map(|nth| {
            let (row, number) = (part * 20 + nth / 200, nth % 200);
            let grade = ["A", "B", "C"][row / 34];
            json!({"name": format!("{row}-{number}"), "section": "Arena", "row": row.to_string(), "number": number.to_string(),
                "x": number * 10, "y": row * 12, "grade": grade})
        });
        talk.post("/v1/campaigns/arena/pools/main/seats", &seats.collect()).says(200, "imported");
    }
    let Some(mut browser) = scene.browse(&PHONE, &scene.link("arena", "ann")) else { return };
    browser.until(&has("#leftText", "20,000 seats left"));
    browser.until("document.querySelector('#legend li')");
    let frames = "new Promise(done => { const map = document.querySelector('#map'); const box = map.getBoundingClientRect(); \
        let count = 0, last = performance.now(), worst = 0; const step = now => { worst = Math.max(worst, now - last); last = now; \
        map.dispatchEvent(new WheelEvent('wheel', {deltaY: count % 20 < 10 ? -80 : 80, clientX: box.x + 150, clientY: box.y + 150, cancelable: true})); \
        if (++count < 60) requestAnimationFrame(step); else done(worst); }; requestAnimationFrame(step); })";
    let worst = browser.evaluate(frames).unwrap().as_f64().unwrap();
    eprintln!("the longest of 60 frames took {worst:.0} ms");
    click(&mut browser, "#bestGo");
    browser.until("document.querySelectorAll('#basketUnits li').length === 2");
    nothing_wrong(&mut browser);
}
