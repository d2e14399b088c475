//! The page where something goes wrong: no network, a server that is killed, a page loaded again in the middle, a visit that
//! ends, and people who write programs into names.

use crate::scene::{DESK, PHONE, Scene, click, has, nothing_wrong};
use serde_json::json;

fn drop_of(scene: &Scene, capacity: u32) {
    let pools = json!([{"name": "main", "capacity": capacity}]);
    scene.put("drop", &json!({"title": "Drop", "opens_at": "now", "pools": pools}));
}

#[test]
fn a_click_without_a_network_is_checked_and_happens_once() {
    let scene = Scene::open();
    drop_of(&scene, 3);
    let Some(mut browser) = scene.browse(&PHONE, &scene.link("drop", "ann")) else { return };
    browser.until("document.querySelector('#act').checkVisibility()");
    browser.offline(true);
    click(&mut browser, "#act");
    browser.until(&has("#status", "Checking"));
    browser.offline(false);
    browser.until(&has(".rank", "number 1"));
    browser.until(&has("#link", "Live."));
    let claims = scene.talk().get("/v1/campaigns/drop/claims/ann").json();
    assert_eq!(claims["claims"].as_array().unwrap().len(), 1, "{claims}");
    nothing_wrong(&mut browser);
}

#[test]
fn a_page_that_is_loaded_again_in_the_middle_goes_on() {
    let scene = Scene::open();
    drop_of(&scene, 3);
    let Some(mut browser) = scene.browse(&PHONE, &scene.link("drop", "ann")) else { return };
    browser.until("document.querySelector('#act').checkVisibility()");
    browser.offline(true);
    click(&mut browser, "#act");
    browser.until(&has("#status", "Checking"));
    // Nothing has arrived. The page that is loaded now has to know that somebody clicked.
    let none = scene.talk().get("/v1/campaigns/drop/claims/ann");
    assert_eq!(none.status, 404, "{}", none.text());
    browser.offline(false);
    browser.evaluate("location.reload()").unwrap();
    browser.until(&has(".rank", "number 1"));
    nothing_wrong(&mut browser);
}

#[test]
fn a_server_that_is_killed_and_comes_back_is_followed_again() {
    let mut scene = Scene::open();
    drop_of(&scene, 3);
    let Some(mut browser) = scene.browse(&DESK, &scene.link("drop", "ann")) else { return };
    browser.until(&has("#link", "Live."));
    scene.kill();
    browser.until(&has("#link", "No connection."));
    click(&mut browser, "#act");
    browser.until(&has("#status", "Checking"));
    scene.restart();
    browser.until(&has(".rank", "number 1"));
    browser.until(&has("#link", "Live."));
    scene.talk().post("/v1/campaigns/drop/claims", &json!({"subject": "bob"})).says(201, "won");
    browser.until(&has("#leftText", "1 of 3 left"));
    nothing_wrong(&mut browser);
}

#[test]
fn a_visit_that_ends_says_so_and_shows_nothing_of_others() {
    let scene = Scene::with(&[("PAGES_SHOP", "https://shop.example/pay")]);
    drop_of(&scene, 3);
    let Some(mut browser) = scene.browse(&PHONE, "about:blank") else { return };
    let token = scene.token("drop", "ann", 20);
    browser.go(&scene.url(&format!("/c/drop#token={token}")));
    browser.until(&has("#link", "Live."));
    browser.until(&has("#status", "Your visit has ended."));
    let shop = browser.evaluate("document.querySelector('#shop').href").unwrap();
    assert_eq!(shop, json!("https://shop.example/pay?campaign=drop"));
    assert_eq!(
        browser.evaluate("document.querySelector('#act').checkVisibility()").unwrap(),
        json!(false)
    );
    nothing_wrong(&mut browser);
}

/// Names are what somebody typed: the title, the subject, seats, sections and prices categories.
#[test]
fn names_with_programs_in_them_run_nothing() {
    let scene = Scene::open();
    let evil = "<img src=x onerror=\"wrong.push('it ran')\"><script>wrong.push('it ran')</script>";
    let short = "<b onclick=x>\"'&</b>";
    let seats = json!([{"name": "<img src=x onerror=wrong.push(1)>", "section": short, "row": short, "number": short, "grade": short,
        "price_minor": 5, "currency": "KRW"}, {"name": short, "section": short, "row": short}]);
    scene.put(
        "hall",
        &json!({"title": evil, "opens_at": "now", "allow_orphans": true,
        "pools": [{"name": "main", "kind": "seated", "seats": seats}]}),
    );
    let Some(mut browser) = scene.browse(&DESK, &scene.link("hall", evil)) else { return };
    browser.until(
        "document.querySelector('#legend li') && !document.querySelector('#bestGo').disabled",
    );
    click(&mut browser, "#bestGo");
    browser.until("document.querySelectorAll('#basketUnits li').length === 2");
    browser.until(&has("#basketUnits", "<img"));
    browser.until(&has("#title", "<script>"));
    browser.until(&has("#who", "<img"));
    let elements = "document.querySelectorAll('img, b, script:not([src])').length";
    assert_eq!(browser.evaluate(elements).unwrap(), json!(0));
    nothing_wrong(&mut browser);
}
