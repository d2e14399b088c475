//! Waitlists over the routes: joining when all is gone, offers, places, leaving, the end.

use crate::inside::{Inside, Setup, one_pool};
use crate::tokens::SECRET;
use crate::wire::Answer;
use firstcome_http::guard::Guards;
use firstcome_http::guard::token::{TokenKey, TokenKeys};
use serde_json::{Value, json};

const SECOND: i64 = 1_000_000;

impl Inside {
    pub(crate) async fn join(&self, campaign: &str, subject: &str, more: Value) -> Answer {
        let mut body = json!({"subject": subject, "wait": true});
        for (name, value) in more.as_object().into_iter().flatten() {
            body[name] = value.clone();
        }
        let path = format!("/v1/campaigns/{campaign}/claims");
        self.ask_with("POST", &path, &[], body.to_string()).await
    }

    /// Joins where nothing is free; gives how many are in front.
    async fn waits(&self, campaign: &str, subject: &str, more: Value) -> u64 {
        let answer = self.join(campaign, subject, more).await.says(202, "waitlisted");
        answer["ahead"].as_u64().unwrap()
    }

    async fn place(&self, campaign: &str, subject: &str) -> Answer {
        self.get(&format!("/v1/campaigns/{campaign}/waitlist/{subject}")).await
    }

    /// Returns the offer that a subject has.
    async fn offer(&self, campaign: &str, subject: &str) -> Value {
        let place = self.place(campaign, subject).await;
        assert_eq!(place.status, 200, "{}", place.text());
        let place = place.json();
        assert_eq!(place["state"], "offered", "{place}");
        place
    }

    async fn step(&self, campaign: &str, hold: &Value, step: &str, body: Value) -> Answer {
        let hold = hold.as_str().unwrap();
        let path = format!("/v1/campaigns/{campaign}/holds/{hold}/{step}");
        self.ask_with("POST", &path, &[], body.to_string()).await
    }

    async fn leave(&self, campaign: &str, subject: &str) -> Value {
        let path = format!("/v1/campaigns/{campaign}/waitlist/{subject}");
        let left = self.ask_with("DELETE", &path, &[("content-type", "")], "").await;
        left.says(200, "left_waitlist")
    }

    /// Lets time pass in steps that count whole.
    async fn passes(&self, from: i64, seconds: i64) -> i64 {
        for step in 1..=seconds.div_euclid(10) {
            self.clock((from + step * 10) * SECOND);
            self.leave("drop", "nobody").await;
        }
        from + seconds
    }

    /// Those on the list of a pool, in order.
    async fn list(&self, campaign: &str) -> Vec<String> {
        let page = self.get(&format!("/v1/campaigns/{campaign}/waitlist?limit=2")).await.json();
        let (mut all, mut page) = (Vec::new(), page);
        loop {
            let lines = page["waiting"].as_array().unwrap();
            all.extend(lines.iter().map(|line| line["subject"].as_str().unwrap().to_owned()));
            let Some(next) = page["next"].as_u64() else { return all };
            let path = format!("/v1/campaigns/{campaign}/waitlist?limit=2&after={next}");
            page = self.get(&path).await.json();
        }
    }
}

fn settings(places: u32) -> Value {
    let mut settings = one_pool("now", places);
    settings["offer_ms"] = json!(30_000);
    settings["claim_again"] = json!(true);
    settings
}

#[tokio::test(start_paused = true)]
async fn what_is_cancelled_is_offered_to_who_is_next() {
    let node = Inside::new().await;
    node.put("drop", &settings(1)).await.says(201, "created");
    // One is free: a claim that waits wins it.
    let won = node.join("drop", "ann", json!({})).await.says(201, "won");
    assert_eq!(won["rank"], 1);
    node.join("drop", "ann", json!({})).await.says(200, "already_won");
    node.claim("drop", "bob").await.refuses("sold_out", "");
    assert_eq!(node.waits("drop", "bob", json!({})).await, 0);
    assert_eq!(node.waits("drop", "eve", json!({})).await, 1);
    // Asked again it is the same place, whatever is wished for now.
    let again = node.join("drop", "eve", json!({"quantity": 3})).await.says(202, "waitlisted");
    assert_eq!((&again["ahead"], &again["quantity"]), (&json!(1), &json!(1)));
    assert_eq!((&again["passed_over"], &again["offers_not_taken"]), (&json!(false), &json!(0)));
    let at = node.position();
    let place = node.place("drop", "eve").await.json();
    assert_eq!((&place["state"], &place["ahead"]), (&json!("waits"), &json!(1)));
    assert_eq!(
        (&place["pool"], &place["since"]),
        (&json!("main"), &json!("2027-03-01T00:00:00.000000Z"))
    );
    assert_eq!(node.position(), at, "a place is read from memory");
    let shown = node.show("drop").await;
    assert_eq!(
        (&shown["pools"][0]["waiting"], &shown["pools"][0]["offered"]),
        (&json!(2), &json!(0))
    );
    assert_eq!(
        (&shown["pools"][0]["waitlist"], &shown["offer_ms"]),
        (&json!(100_000), &json!(30_000))
    );
    let metrics = node.get("/metrics").await.text();
    assert!(metrics.contains("firstcome_campaign_waiting{campaign=\"drop\"} 2"), "{metrics}");
    // What comes free goes to bob, and to nobody who asks meanwhile.
    node.cancel("drop", "ann", "rank=1&by=subject").await.says(200, "cancelled");
    node.claim("drop", "joe").await.refuses("sold_out", "");
    let offer = node.offer("drop", "bob").await;
    assert_eq!(offer["expires_at"], "2027-03-01T00:00:30.000000Z");
    assert_eq!(offer["units"], json!([{"pool": "main", "quantity": 1, "state": "held"}]));
    let has = node.join("drop", "bob", json!({})).await.says(200, "offered");
    assert_eq!((&has["hold"], &has["offer"]), (&offer["hold"], &json!(true)));
    let of = node.get("/v1/subjects/bob").await.json();
    assert_eq!(of["campaigns"][0]["holds"][0]["offer"], true);
    let metrics = node.get("/metrics").await.text();
    assert!(metrics.contains("firstcome_campaign_offered{campaign=\"drop\"} 1"), "{metrics}");
    // An offer is taken or left as it is.
    let more = json!({"subject": "bob", "picks": [{"quantity": 1}]});
    node.step("drop", &offer["hold"], "add", more).await.refuses("is_offer", "");
    let paid = node.step("drop", &offer["hold"], "confirm", json!({"subject": "bob"})).await;
    assert_eq!(paid.says(200, "confirmed")["units"][0]["rank"], 2);
    node.place("drop", "bob").await.refuses("not_on_waitlist", "does not wait");
    assert_eq!(node.list("drop").await, ["eve"]);
    assert_eq!(node.leave("drop", "eve").await["was_on"], true);
    assert_eq!(node.leave("drop", "eve").await["was_on"], false);
    node.place("drop", "eve").await.refuses("not_on_waitlist", "");
}

#[tokio::test(start_paused = true)]
async fn who_lets_three_offers_go_is_off_the_list_and_the_next_one_has_them_meanwhile() {
    let node = Inside::new().await;
    node.put("drop", &settings(1)).await.says(201, "created");
    node.claim("drop", "ann").await.says(201, "won");
    node.waits("drop", "bob", json!({})).await;
    node.cancel("drop", "ann", "rank=1&by=subject").await.says(200, "cancelled");
    let mut now = 0;
    for missed in 0..3 {
        let offer = node.offer("drop", "bob").await;
        assert_eq!(offer["offers_not_taken"], missed, "{offer}");
        // Alone on the list, who lets it go has it again.
        now = node.passes(now, 40).await;
    }
    node.place("drop", "bob").await.refuses("not_on_waitlist", "");
    node.claim("drop", "eve").await.says(201, "won");
    let results = node.get("/v1/campaigns/drop/results").await.json();
    let kinds: Vec<_> = results["results"].as_array().unwrap().iter().map(|r| &r["kind"]).collect();
    assert_eq!(kinds, ["claim", "cancel", "unserved", "claim"]);
    let gone = &results["results"][2];
    assert_eq!(
        (&gone["reason"], &gone["quantity"], &gone["rank"]),
        (&json!("not_taken"), &json!(1), &json!(0))
    );
    // With somebody behind, what is let go moves on, by a release as well.
    node.waits("drop", "cem", json!({})).await;
    node.waits("drop", "dan", json!({})).await;
    node.cancel("drop", "eve", "rank=2&by=subject").await.says(200, "cancelled");
    let offer = node.offer("drop", "cem").await;
    node.step("drop", &offer["hold"], "release", json!({"subject": "cem"}))
        .await
        .says(200, "released");
    node.offer("drop", "dan").await;
    let place = node.place("drop", "cem").await.json();
    assert_eq!((&place["ahead"], &place["offers_not_taken"]), (&json!(0), &json!(1)));
}

#[tokio::test(start_paused = true)]
async fn who_wants_more_than_is_free_is_passed_over_and_told_and_more_capacity_serves_the_list_first()
 {
    let node = Inside::new().await;
    node.put("drop", &settings(1)).await.says(201, "created");
    node.claim("drop", "ann").await.says(201, "won");
    node.waits("drop", "two", json!({"quantity": 2})).await;
    node.waits("drop", "one", json!({})).await;
    node.cancel("drop", "ann", "rank=1&by=subject").await.says(200, "cancelled");
    let place = node.place("drop", "two").await.json();
    assert_eq!((&place["passed_over"], &place["ahead"]), (&json!(true), &json!(0)));
    node.offer("drop", "one").await;
    node.put("drop", &settings(3)).await.says(200, "changed");
    let offer = node.offer("drop", "two").await;
    assert_eq!((&offer["quantity"], &offer["units"][0]["quantity"]), (&json!(2), &json!(2)));
    node.claim("drop", "zoe").await.refuses("sold_out", "");
    // The same settings again change nothing, with the answer's own numbers, too.
    let shown = node.show("drop").await;
    let mut same = settings(3);
    same["pools"][0]["waitlist"] = shown["pools"][0]["waitlist"].clone();
    node.put("drop", &same).await.says(200, "unchanged");
}

#[tokio::test(start_paused = true)]
async fn the_end_of_the_campaign_tells_everybody_who_waits() {
    let node = Inside::new().await;
    node.put("drop", &settings(1)).await.says(201, "created");
    node.claim("drop", "ann").await.says(201, "won");
    for subject in ["bob", "eve"] {
        node.waits("drop", subject, json!({"quantity": 4})).await;
    }
    node.post("/v1/campaigns/drop/close").await.says(200, "changed");
    node.join("drop", "late", json!({})).await.refuses("closed", "");
    let path = "/v1/campaigns/drop/results?format=csv";
    let csv = node.get(path).await.text();
    let lines: Vec<_> = csv.lines().collect();
    assert_eq!(lines.len(), 4, "{csv}");
    for (line, subject) in lines[2..].iter().zip(["bob", "eve"]) {
        assert!(line.contains(&format!("unserved,drop,main,0,{subject},")), "{line}");
        assert!(line.contains(",ended,") && line.ends_with(",,,,,,,4"), "{line}");
    }
    assert_eq!(node.list("drop").await, [""; 0]);
    node.ask_with("DELETE", "/v1/campaigns/drop", &[("content-type", "")], "")
        .await
        .refuses("has_results", "");
}

#[tokio::test(start_paused = true)]
async fn seats_are_offered_by_grade_channel_area_and_next_to_each_other() {
    let node = Inside::new().await;
    node.hall(json!({"holds": "many", "offer_ms": 60_000})).await;
    let all = ["A1", "A2", "A3", "A4", "B1", "B2", "B3", "B4"];
    node.hold("h1", "shop", &all).await.says(201, "held");
    let floor =
        json!({"id": "h2", "subject": "shop", "picks": [{"area": "floor", "quantity": 10}]});
    node.tell("holds", floor).await.says(201, "held");
    node.waits("hall", "pair", json!({"quantity": 2, "grade": "R", "adjacent": true})).await;
    node.waits("hall", "cheap", json!({"grade": "S"})).await;
    node.waits("hall", "floor", json!({"area": "floor", "quantity": 3})).await;
    node.waits("hall", "any", json!({})).await;
    node.join("hall", "no", json!({"grade": "Z"})).await.refuses("no_such_unit", "");
    node.join("hall", "no", json!({"area": "roof"})).await.refuses("no_such_unit", "");
    let release = async |hold: &str, picks: Value| {
        let body = json!({"subject": "shop", "picks": picks});
        node.tell(&format!("holds/{hold}/release"), body).await.says(200, "released");
    };
    // Two that are not next to each other: the pair is passed over.
    release("h1", json!([{"units": ["A1"]}])).await;
    let any = node.offer("hall", "any").await;
    assert_eq!(any["units"][0]["unit"], "A1");
    release("h1", json!([{"units": ["A3"]}])).await;
    assert_eq!(node.place("hall", "pair").await.json()["passed_over"], true);
    // What the pair cannot have, others can.
    node.hold("h9", "eve", &["A3"]).await.says(201, "held");
    node.tell("holds/h9/release", json!({"subject": "eve"})).await.says(200, "released");
    release("h1", json!([{"units": ["A4", "B2"]}])).await;
    let pair = node.offer("hall", "pair").await;
    assert_eq!(
        (&pair["units"][0]["unit"], &pair["units"][1]["unit"]),
        (&json!("A3"), &json!("A4"))
    );
    assert_eq!(node.offer("hall", "cheap").await["units"][0]["unit"], "B2");
    release("h2", json!([{"area": "floor", "quantity": 3}])).await;
    let floor = node.offer("hall", "floor").await;
    assert_eq!((&floor["units"][0]["area"], &floor["quantity"]), (&json!("floor"), &json!(3)));
    // Blocked seats that come back are offered, too; so are seats of a channel, to who waits through it.
    release("h1", json!([{"units": ["B4"]}])).await;
    let block = json!({"units": ["B4"], "reason": "camera"});
    node.tell("pools/main/block", block.clone()).await.says(200, "blocked");
    node.waits("hall", "late", json!({})).await;
    node.tell("pools/main/unblock", block).await.says(200, "unblocked");
    assert_eq!(node.offer("hall", "late").await["units"][0]["unit"], "B4");
    let fans = json!({"channel": "fans"});
    node.join("hall", "fans", fans.clone()).await.refuses("no_such_unit", "");
    let seat = |name: &str, for_sale: bool| json!([{"name": name, "channel": "fans", "for_sale": for_sale}]);
    node.tell("pools/main/seats", seat("C1", false)).await.says(200, "imported");
    node.waits("hall", "fans", fans).await;
    node.tell("pools/main/seats", seat("C2", true)).await.says(200, "imported");
    assert_eq!(node.offer("hall", "fans").await["units"][0]["unit"], "C2");
    // A seat that somebody has an offer of is held in the map; its hold says whose offer it is.
    let shown = node.get("/v1/campaigns/hall/holds/offer-3?subject=any").await.json();
    assert_eq!((&shown["offer"], &shown["state"]), (&json!(true), &json!("live")), "{shown}");
}

#[tokio::test(start_paused = true)]
async fn what_cannot_be_waited_for_is_refused_by_name() {
    let node = Inside::new().await;
    let mut none = settings(1);
    none["pools"][0]["waitlist"] = json!(0);
    node.put("none", &none).await.says(201, "created");
    node.join("none", "ann", json!({})).await.says(201, "won");
    node.join("none", "bob", json!({})).await.refuses("no_waitlist", "");
    let mut short = settings(1);
    short["pools"][0]["waitlist"] = json!(1);
    node.put("short", &short).await.says(201, "created");
    node.claim("short", "ann").await.says(201, "won");
    node.waits("short", "bob", json!({})).await;
    node.join("short", "eve", json!({})).await.refuses("waitlist_full", "");
    node.put("drop", &settings(1)).await.says(201, "created");
    node.claim("drop", "ann").await.says(201, "won");
    node.join("drop", "bob", json!({"grade": "R"})).await.refuses("not_seated", "");
    node.hall(json!({})).await;
    let all = ["A1", "A2", "A3", "A4", "B1", "B2", "B3", "B4"];
    node.hold("h1", "shop", &all).await.says(201, "held");
    let seats: Vec<_> = (0..8)
        .map(|n| json!({"name": format!("C{n}"), "channel": format!("c{n}"), "for_sale": false}))
        .collect();
    node.tell("pools/main/seats", json!(seats)).await.says(200, "imported");
    let mut wishes =
        (0..).map(|n| json!({"quantity": n % 9 + 2, "channel": format!("c{}", n / 9)}));
    for (n, wish) in wishes.by_ref().take(64).enumerate() {
        node.waits("hall", &format!("p{n}"), wish).await;
    }
    node.join("hall", "last", wishes.next().unwrap()).await.refuses("too_many_wishes", "");
    node.join("hall", "last", json!({"channel": "c9"})).await.refuses("no_such_unit", "");
    node.waits("hall", "last", json!({"channel": "c7"})).await;
    for (wish, why) in [
        (json!({"quantity": 0}), "quantity is 0: 1 to 10"),
        (json!({"quantity": 11}), "quantity is 11: 1 to 10"),
        (json!({"grade": ""}), "grade \"\""),
        (json!({"wait": false, "quantity": 2}), "`quantity` goes with \"wait\": true"),
        (json!({"wait": false, "adjacent": true}), "`adjacent` goes with \"wait\": true"),
        (json!({"quantity": -1}), "the body is not right"),
    ] {
        node.join("drop", "eve", wish).await.refuses("invalid_request", why);
    }
    let too_many = json!({"opens_at": "now", "pools": [{"name": "main", "capacity": 1, "waitlist": 1_000_001}]});
    node.put("more", &too_many).await.refuses("invalid_settings", "at most 1000000 can wait");
    let too_short =
        json!({"opens_at": "now", "offer_ms": 1, "pools": [{"name": "main", "capacity": 1}]});
    node.put("more", &too_short).await.refuses("invalid_settings", "");
    node.place("drop", "ann").await.refuses("not_on_waitlist", "");
    node.place("moon", "ann").await.refuses("not_found", "");
    let two = json!({"opens_at": "now", "pools": [{"name": "a", "capacity": 1}, {"name": "b", "capacity": 1}]});
    node.put("two", &two).await.says(201, "created");
    node.place("two", "ann").await.refuses("pool_required", "");
    node.join("two", "ann", json!({})).await.refuses("pool_required", "");
    node.get("/v1/campaigns/two/waitlist").await.refuses("pool_required", "");
    node.get("/v1/campaigns/two/waitlist?pool=a&limit=0")
        .await
        .refuses("invalid_request", "limit=0");
    let pool = |n: u32| json!({"name": format!("p{n}"), "capacity": 1, "waitlist": 1_000_000});
    let big = json!({"pools": (0..9).map(pool).collect::<Vec<_>>()});
    let refused = node.put("big", &big).await.refuses("too_big_for_memory", "people on waitlists");
    assert!(refused["needed_bytes"].as_u64().unwrap() > 1_000_000_000, "{refused}");
}

#[tokio::test(start_paused = true)]
async fn a_subject_token_joins_looks_and_leaves_for_its_subject_and_for_nobody_else() {
    let mut tokens = TokenKeys::default();
    tokens.add("main", TokenKey::secret(SECRET).unwrap());
    let guards = Guards { tokens, ..Guards::default() };
    let node = Inside::with(Setup { guards, ..Setup::default() }).await;
    node.put("drop", &settings(1)).await.says(201, "created");
    node.claim("drop", "ann").await.says(201, "won");
    node.waits("drop", "bob", json!({})).await;
    let eve = node.token(json!({"subject": "eve", "campaign": "drop"})).await;
    let claims = "/v1/campaigns/drop/claims";
    let join = |subject: &str| json!({"subject": subject, "wait": true}).to_string();
    let own = node.browser(&eve, "POST", claims, "{\"wait\":true}").await;
    assert_eq!(own.says(202, "waitlisted")["ahead"], 1);
    let list = "/v1/campaigns/drop/waitlist";
    let place = node.browser(&eve, "GET", &format!("{list}/eve"), "").await.json();
    assert_eq!((&place["state"], &place["ahead"]), (&json!("waits"), &json!(1)));
    let other = "this token is for another subject";
    node.browser(&eve, "POST", claims, &join("bob")).await.refuses("forbidden", other);
    node.browser(&eve, "GET", &format!("{list}/bob"), "").await.refuses("forbidden", other);
    node.browser(&eve, "DELETE", &format!("{list}/bob"), "").await.refuses("forbidden", other);
    node.browser(&eve, "GET", list, "").await.refuses("forbidden", "and nothing else");
    let shown = node.browser(&eve, "GET", "/v1/campaigns/drop", "").await.json();
    assert_eq!(
        (&shown["pools"][0]["waiting"], &shown["pools"][0]["offered"]),
        (&json!(2), &Value::Null)
    );
    node.browser(&eve, "DELETE", &format!("{list}/eve"), "").await.says(200, "left_waitlist");
    assert_eq!(node.list("drop").await, ["bob"]);
    // The list itself is an operator's.
    let reader = [("authorization", "Bearer a-backend-key---"), ("content-type", "")];
    node.ask_with("GET", list, &reader, "").await.refuses("forbidden", "");
}

#[tokio::test(start_paused = true)]
async fn lines_of_many_commands_join_and_leave() {
    let node = Inside::new().await;
    node.put("drop", &settings(1)).await.says(201, "created");
    let line = |verb: &str, subject: &str, more: Value| {
        let mut line = json!({"do": verb, "campaign": "drop", "subject": subject});
        for (name, value) in more.as_object().into_iter().flatten() {
            line[name] = value.clone();
        }
        line.to_string() + "\n"
    };
    let lines = [
        line("claim", "ann", json!({"wait": true})),
        line("claim", "bob", json!({"wait": true, "quantity": 2})),
        line("claim", "eve", json!({"wait": true})),
        line("leave", "bob", json!({})),
        line("leave", "bob", json!({})),
        line("claim", "joe", json!({"quantity": 2})),
        line("cancel", "ann", json!({"wait": true})),
    ];
    let headers = [("content-type", "application/x-ndjson")];
    let answer = node.ask_with("POST", "/v1/commands", &headers, lines.concat()).await.text();
    let answers: Vec<Value> =
        answer.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let said: Vec<_> =
        answers.iter().map(|said| (said["status"].as_u64().unwrap(), &said["outcome"])).collect();
    let outcomes = ["won", "waitlisted", "waitlisted", "left_waitlist", "left_waitlist"];
    let expected = [201, 202, 202, 200, 200].into_iter().zip(outcomes);
    for ((status, outcome), expected) in said.iter().zip(expected) {
        assert_eq!((*status, outcome.as_str().unwrap()), expected);
    }
    assert_eq!((said[5].0, said[6].0), (400, 400));
    assert_eq!((&answers[3]["was_on"], &answers[4]["was_on"]), (&json!(true), &json!(false)));
    assert_eq!(node.list("drop").await, ["eve"]);
}
