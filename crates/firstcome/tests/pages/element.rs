//! The seats as an element of a shop's page: another origin, the strictest policy, and what the shop is told.

use crate::axe;
use crate::scene::{DESK, PHONE, Scene, nothing_wrong, rows};
use firstcome_testbed::{Browser, Screen};
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};

/// Notes what the page of the shop is told, in order; then says which campaign it is.
const LISTEN: &str = "window.told = []; window.seats = document.querySelector('firstcome-seats'); \
    for (const name of ['basket', 'pay', 'refused', 'link', 'tokenneeded']) \
    seats.addEventListener(name, event => told.push([name, event.detail])); seats.setAttribute('campaign', 'hall')";

/// A shop with one page, which has no script of its own. It ends with the test process.
struct Shop {
    listener: TcpListener,
    origin: String,
}

impl Shop {
    fn new() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let origin = format!("http://{}", listener.local_addr().unwrap());
        Self { listener, origin }
    }

    /// Serves the page. Its policy allows scripts and requests of that server, no style and nothing else.
    fn open(&self, scene: &Scene) {
        let server = scene.url("");
        let page = format!(
            "<!doctype html><html lang=\"en\"><meta charset=\"utf-8\"><title>A shop</title><main><h1>A shop</h1>\
             <firstcome-seats server=\"{server}/\"></firstcome-seats></main>\
             <script type=\"module\" src=\"{server}/c/-/seats.js\"></script></html>"
        );
        let policy = format!(
            "default-src 'none'; script-src {server}; connect-src {server}; require-trusted-types-for 'script'"
        );
        let listener = self.listener.try_clone().unwrap();
        std::thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let (policy, page) = (policy.clone(), page.clone());
                // A browser may open connections on which it asks nothing.
                std::thread::spawn(move || drop(serve(stream, &policy, &page)));
            }
        });
    }
}

fn serve(mut stream: TcpStream, policy: &str, page: &str) -> std::io::Result<()> {
    for line in BufReader::new(stream.try_clone()?).lines() {
        if line?.is_empty() {
            break;
        }
    }
    write!(
        stream,
        "HTTP/1.1 200 OK\r\ncontent-type: text/html\r\ncontent-security-policy: {policy}\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{page}",
        page.len()
    )
}

/// A server that the shop's page may call, with a hall of 40 seats, of which one person may have four.
fn open(public: bool) -> (Scene, Shop) {
    let shop = Shop::new();
    let scene = Scene::with(&[("CORS_ORIGINS", &shop.origin)]);
    let hall = json!({"title": "A concert", "opens_at": "now", "allow_orphans": true, "public": public,
        "limits": {"campaign": 4}, "hold_ttl_ms": 480_000, "pools": rows(4)});
    scene.put("hall", &hall);
    shop.open(&scene);
    (scene, shop)
}

/// Opens the shop's page as its customer, once the element is there.
fn enter(scene: &Scene, shop: &Shop, screen: &Screen) -> Option<Browser> {
    let mut browser = scene.browse(screen, &shop.origin)?;
    browser.until("customElements.get('firstcome-seats') && document.querySelector('h1')");
    browser.evaluate(LISTEN).unwrap();
    Some(browser)
}

fn log_in(browser: &mut Browser, token: &str) {
    browser.evaluate(&format!("seats.token = {token:?}; 1")).unwrap();
    browser.until("!seats.shadowRoot?.querySelector('#bestGo')?.disabled && seats.shadowRoot?.querySelector('#legend li')");
}

/// Whether a part of the element is seen with this text.
fn shows(part: &str, text: &str) -> String {
    format!(
        "(e => e?.checkVisibility() && e.textContent.includes({text:?}))(seats.shadowRoot.querySelector({part:?}))"
    )
}

/// Moves the mouse over the map until it is on a seat, and clicks.
fn click_on(browser: &mut Browser, seat: &str) {
    let find = format!(
        "(() => {{ const at = name => seats.shadowRoot.querySelector(name), map = at('#map'), box = map.getBoundingClientRect(); \
         for (let y = box.top; y < box.bottom; y += 6) for (let x = box.left; x < box.right; x += 6) {{ \
         map.dispatchEvent(new PointerEvent('pointermove', {{clientX: x, clientY: y}})); \
         if (at('#seat').textContent.startsWith({:?})) return window.point = [x + 6, y + 6]; }} }})()",
        format!("{seat},")
    );
    browser.until(&find);
    let point = browser.evaluate("point").unwrap();
    browser.click(point[0].as_f64().unwrap(), point[1].as_f64().unwrap());
}

fn told(browser: &mut Browser, name: &str) -> Vec<Value> {
    let all = browser.evaluate(&format!("told.filter(([n]) => n === {name:?}).map(([, d]) => d)"));
    all.unwrap().as_array().unwrap().clone()
}

#[test]
fn a_page_of_another_origin_chooses_seats_by_keyboard_and_by_click_and_its_shop_confirms_them() {
    let (scene, shop) = open(false);
    let Some(mut ann) = enter(&scene, &shop, &DESK) else { return };
    ann.until(&shows("#status", "Please log in"));
    assert_eq!(told(&mut ann, "tokenneeded").len(), 1);
    let token = scene.token("hall", "ann", 600);
    log_in(&mut ann, &token);
    // By keyboard, from seat to seat.
    ann.evaluate("seats.shadowRoot.querySelector('#map').focus()").unwrap();
    ann.press("ArrowRight");
    ann.until(&shows("#seat", "A6, Stalls, row A, R, ₩90,000, free"));
    ann.press("Enter");
    ann.until(&shows("#basketUnits", "A6"));
    // Somebody else takes the next one while she looks at it.
    ann.until(&shows("#link", "Live."));
    ann.press("ArrowRight");
    ann.until(&shows("#seat", "A7, Stalls, row A, R, ₩90,000, free"));
    let hold = json!({"id": "b1", "subject": "bob", "picks": [{"units": ["A7"]}]});
    scene.talk().post("/v1/campaigns/hall/holds", &hold).says(201, "held");
    ann.until(&shows("#seat", "taken"));
    ann.press("Enter");
    ann.until(&shows("#problem", "Somebody else was faster."));
    // By click, and a place of an area.
    click_on(&mut ann, "B3");
    ann.until(&shows("#basketUnits", "B3"));
    ann.evaluate("seats.shadowRoot.querySelector('#areas button').click()").unwrap();
    ann.until(&shows("#basketSum", "210,000"));
    // What the rules refuse: she may have four.
    click_on(&mut ann, "C1");
    ann.until(&shows("#basketUnits", "C1"));
    click_on(&mut ann, "C2");
    ann.until(&shows("#problem", "You have as many as one person may have."));
    let refused = told(&mut ann, "refused");
    assert_eq!(refused.last().unwrap()["outcome"], json!("limit_reached"));
    // The shop is told what is to be paid, and confirms it.
    ann.evaluate("seats.shadowRoot.querySelector('#pay').click()").unwrap();
    let pay = told(&mut ann, "pay");
    assert_eq!((pay.len(), &pay[0]["hold"]["held"]), (1, &json!(4)), "{pay:?}");
    let path =
        format!("/v1/campaigns/hall/holds/{}/confirm", pay[0]["hold"]["hold"].as_str().unwrap());
    scene.talk().post(&path, &json!({"subject": "ann"})).says(200, "confirmed");
    ann.until("seats.holds.length === 0 && seats.claims.length === 4");
    ann.until("!seats.shadowRoot.querySelector('#basketUnits').firstChild");
    let basket = told(&mut ann, "basket").pop().unwrap();
    assert_eq!(basket["claims"].as_array().unwrap().len(), 4, "{basket}");
    // The token is nowhere in the page, and cannot be read.
    let text = "document.documentElement.outerHTML + seats.shadowRoot.innerHTML + JSON.stringify([seats.token, told])";
    let text = ann.evaluate(text).unwrap();
    assert!(!text.as_str().unwrap().contains(&token[..20]));
    nothing_wrong(&mut ann);
}

#[test]
fn a_lost_connection_is_seen_and_what_was_chosen_meanwhile_is_held_once() {
    let (mut scene, shop) = open(true);
    let Some(mut ann) = enter(&scene, &shop, &PHONE) else { return };
    // Everybody may look at a public campaign.
    ann.until("seats.shadowRoot?.querySelector('#legend li')");
    ann.until(&shows("#status", "Please log in"));
    log_in(&mut ann, &scene.token("hall", "ann", 600));
    ann.until("seats.link === 'live'");
    scene.kill();
    ann.until(&shows("#link", "No connection."));
    ann.evaluate("seats.shadowRoot.querySelector('#map').focus()").unwrap();
    ann.press("ArrowRight");
    ann.press("Enter");
    ann.until(&shows("#status", "Checking"));
    scene.restart();
    ann.until(&shows("#basketUnits", "A6"));
    ann.until(&shows("#link", "Live."));
    let has = scene.talk().get("/v1/subjects/ann").json();
    assert_eq!(has["campaigns"][0]["holds"].as_array().unwrap().len(), 1, "{has}");
    let links = told(&mut ann, "link");
    assert!(links.contains(&json!({"link": "lost"})), "{links:?}");
    // Taken out of the page and put back, it goes on.
    ann.evaluate("const parent = seats.parentNode; seats.remove(); parent.append(seats); 1")
        .unwrap();
    ann.until(&shows("#basketUnits", "A6"));
    nothing_wrong(&mut ann);
}

#[test]
fn another_token_goes_on_where_one_ends() {
    let (scene, shop) = open(false);
    let Some(mut ann) = enter(&scene, &shop, &DESK) else { return };
    log_in(&mut ann, &scene.token("hall", "ann", 8));
    click_on(&mut ann, "A1");
    ann.until(&shows("#basketUnits", "A1"));
    ann.evaluate("told.length = 0").unwrap();
    ann.until("told.some(([name]) => name === 'tokenneeded')");
    ann.until(&shows("#status", "Please log in"));
    log_in(&mut ann, &scene.token("hall", "ann", 600));
    ann.until(&shows("#basketUnits", "A1"));
    // One in time changes nothing that is seen; one of somebody else shows what is theirs.
    ann.evaluate("seats.shadowRoot.querySelector('#map').isSame = true").unwrap();
    log_in(&mut ann, &scene.token("hall", "ann", 700));
    ann.until("seats.link === 'live' && seats.shadowRoot.querySelector('#map').isSame");
    log_in(&mut ann, &scene.token("hall", "bob", 600));
    ann.until("!seats.shadowRoot.querySelector('#map').isSame && seats.holds.length === 0");
    nothing_wrong(&mut ann);
}

#[test]
fn the_element_can_be_read_in_each_theme_and_has_the_colours_of_its_page() {
    let (scene, shop) = open(true);
    let Some(script) = axe::script() else { return };
    for screen in [PHONE, DESK] {
        let Some(mut ann) = enter(&scene, &shop, &screen) else { return };
        log_in(&mut ann, &scene.token("hall", "ann", 600));
        for theme in ["light", "dark"] {
            ann.evaluate(&format!("seats.setAttribute('theme', {theme:?}); 1")).unwrap();
            let findings = axe::findings(&mut ann, &script);
            assert_eq!(findings, Vec::<String>::new(), "{theme} on {screen:?}");
        }
        let over = ann.evaluate("document.documentElement.scrollWidth - innerWidth").unwrap();
        assert!(over.as_i64().unwrap() <= 0, "it is wider than {screen:?} by {over}");
        // As the shop's style sheet would say it, which this policy forbids.
        let button = "getComputedStyle(seats.shadowRoot.querySelector('#bestGo')).backgroundColor";
        ann.evaluate("seats.style.setProperty('--main', 'rgb(1, 2, 3)'); 1").unwrap();
        assert_eq!(ann.evaluate(button).unwrap(), json!("rgb(1, 2, 3)"));
        ann.evaluate("seats.lang = 'ko'; 1").unwrap();
        ann.until(&shows("#hallTitle", "좌석 선택"));
        nothing_wrong(&mut ann);
    }
}

#[test]
fn a_page_whose_origin_is_not_named_gets_no_element() {
    let shop = Shop::new();
    let scene = Scene::with(&[("CORS_ORIGINS", "https://shop.example")]);
    shop.open(&scene);
    let Some(mut browser) = scene.browse(&DESK, &shop.origin) else { return };
    browser.until("document.querySelector('script') && document.readyState === 'complete'");
    let defined = "new Promise(done => setTimeout(() => done(Boolean(customElements.get('firstcome-seats'))), 500))";
    assert_eq!(browser.evaluate(defined).unwrap(), json!(false));
}
