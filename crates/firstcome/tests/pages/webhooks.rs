//! The console's views of webhooks.

use crate::console::{agree, fill_in, log_in, scene, view};
use crate::process::KEY;
use crate::receiver::{Receiver, Reply};
use crate::scene::{DESK, click, has, nothing_wrong};
use serde_json::json;

#[test]
fn an_endpoint_is_added_tested_disabled_and_removed_and_its_secret_is_shown_once() {
    let scene = scene();
    let receiver = Receiver::start(|_, _| Reply::Status(204));
    let Some(mut browser) = log_in(&scene, &DESK, KEY) else { return };
    let pools = json!([{"name": "main", "capacity": 5}]);
    scene.put("spring", &json!({"opens_at": "now", "pools": pools}));
    let mut talk = scene.talk();

    // A no adds nothing.
    view(&mut browser, "#/webhooks", "document.querySelector('#hookForm')");
    fill_in(&mut browser, "#hookUrl", &receiver.url());
    fill_in(&mut browser, "#hookCampaigns", "spring, own-*");
    click(&mut browser, "#addHook");
    browser.until("document.querySelector('#ask').open");
    click(&mut browser, "#askNo");
    browser.until("!document.querySelector('#ask').open");
    assert_eq!(talk.get("/v1/webhooks").json()["webhooks"], json!([]));
    // Asked again before the event comes that the question before was closed: it is another question.
    click(&mut browser, "#addHook");
    browser.until("document.querySelector('#ask').open");
    let at_once =
        "document.querySelector('#askNo').click(); document.querySelector('#addHook').click()";
    browser.evaluate(at_once).unwrap();
    agree(&mut browser, None);

    let shown = "document.querySelector('#secret code')?.checkVisibility() && document.querySelector('#secret code').textContent";
    browser.until(shown);
    let first = browser.evaluate(shown).unwrap().as_str().unwrap().to_owned();
    talk.post("/v1/campaigns/spring/claims", &json!({"subject": "ann"})).says(201, "won");
    assert!(receiver.received(1)[0].is_signed_with(&[&first]));
    browser.until(&has("#tries td", "204"));
    browser.until(&has("#n-through", "1"));

    click(&mut browser, "#hook-test");
    browser.until(&has("#said", "taken"));
    assert_eq!(receiver.received(2)[1].json()["type"], "webhook.test");

    click(&mut browser, "#hook-rotate");
    agree(&mut browser, None);
    browser.until(&format!("({shown}) && ({shown}) !== {first:?}"));
    let second = browser.evaluate(shown).unwrap().as_str().unwrap().to_owned();
    talk.post("/v1/campaigns/spring/claims", &json!({"subject": "bob"})).says(201, "won");
    assert!(receiver.received(3)[2].is_signed_with(&[&second, &first]));

    // Who comes back sees the endpoint, and its secret no more.
    view(&mut browser, "#/webhooks", &has("tbody .state", "works"));
    click(&mut browser, "tbody a");
    click(&mut browser, "#hook-disable");
    agree(&mut browser, None);
    browser.until(&has(".state", "off"));
    assert_eq!(browser.evaluate(shown).unwrap(), json!(false));
    let all = talk.get("/v1/webhooks").json();
    assert_eq!(all["webhooks"][0]["state"], "off");
    assert_eq!(all["webhooks"][0]["campaigns"], json!(["spring", "own-*"]));
    click(&mut browser, "#hook-enable");
    agree(&mut browser, None);
    browser.until(&has(".state", "works"));

    click(&mut browser, "#hook-remove");
    agree(&mut browser, None);
    browser.until("location.hash === '#/webhooks' && document.querySelector('#hookForm')");
    assert_eq!(talk.get("/v1/webhooks").json()["webhooks"], json!([]));
    nothing_wrong(&mut browser);
}
