//! Results by number, in the three forms, page by page.

use crate::inside::Inside;
use serde_json::{Value, json};

async fn played() -> Inside {
    let node = Inside::new().await;
    for campaign in ["drop", "other"] {
        node.open(campaign, 9).await.says(201, "created");
    }
    node.claim("drop", "ann").await.says(201, "won");
    node.claim("other", "ann").await.says(201, "won");
    node.claim("drop", "bob, \"the\" bot").await.says(201, "won");
    node.claim("drop", "cem").await.says(201, "won");
    node.cancel("drop", "ann", "rank=1&reason=bought+twice").await.says(200, "cancelled");
    node
}

fn numbers(page: &Value) -> Vec<u64> {
    page["results"].as_array().unwrap().iter().map(|r| r["number"].as_u64().unwrap()).collect()
}

#[tokio::test(start_paused = true)]
async fn a_campaigns_results_come_in_order_and_page_by_page() {
    let node = played().await;
    let all = node.get("/v1/campaigns/drop/results").await.json();
    assert_eq!(numbers(&all), [1, 3, 4, 5]);
    assert_eq!(
        (&all["next"], &all["last"], &all["position"]),
        (&json!(null), &json!(5), &json!("0.7"))
    );
    let (first, cancel) = (&all["results"][0], &all["results"][3]);
    assert_eq!(first["kind"], json!("claim"));
    assert!(first.get("by").is_none() && first.get("reason").is_none(), "{first}");
    assert_eq!(
        (&cancel["kind"], &cancel["rank"], &cancel["subject"]),
        (&json!("cancel"), &json!(1), &json!("ann"))
    );
    assert_eq!((&cancel["by"], &cancel["reason"]), (&json!("operator"), &json!("bought twice")));

    let page = |query: &'static str| {
        let node = &node;
        async move { node.get(&format!("/v1/campaigns/drop/results?{query}")).await }
    };
    let one = page("limit=3").await;
    assert_eq!((numbers(&one.json()), &one.json()["next"]), (vec![1, 3, 4], &json!(4)));
    assert_eq!(one.header("firstcome-next"), Some("4"));
    let two = page("limit=3&after=4").await;
    assert_eq!((numbers(&two.json()), &two.json()["next"]), (vec![5], &json!(null)));
    assert_eq!(two.header("firstcome-next"), None);
    // A page that ends with the last one says so: there is nothing to come back for.
    let exact = page("limit=4").await;
    assert_eq!((numbers(&exact.json()), &exact.json()["next"]), (vec![1, 3, 4, 5], &json!(null)));
    assert_eq!(numbers(&page("after=5").await.json()), [0; 0]);
    assert_eq!(numbers(&page("after=18446744073709551615").await.json()), [0; 0]);
}

#[tokio::test(start_paused = true)]
async fn the_same_results_as_lines_and_as_a_table() {
    let node = played().await;
    let path = "/v1/campaigns/drop/results";
    let json = node.get(path).await.json();
    let lines = node.ask_with("GET", path, &[("accept", "application/x-ndjson")], "").await;
    assert_eq!(lines.header("content-type"), Some("application/x-ndjson"));
    let read: Vec<Value> =
        lines.text().lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(json["results"].as_array(), Some(&read));
    let table = node.ask_with("GET", path, &[("accept", "image/png, text/csv;q=0.5")], "").await;
    assert_eq!(table.header("content-type"), Some("text/csv; charset=utf-8"));
    assert_eq!(
        table.text(),
        "number,kind,campaign,pool,rank,subject,at,by,reason,unit,hold,moved_from,\
         reference,used_by,verdict,issue,import,quantity\n\
         1,claim,drop,main,1,ann,2027-03-01T00:00:00.000000Z,,,,,,,,,,,\n\
         3,claim,drop,main,2,\"bob, \"\"the\"\" bot\",2027-03-01T00:00:00.000000Z,,,,,,,,,,,\n\
         4,claim,drop,main,3,cem,2027-03-01T00:00:00.000000Z,,,,,,,,,,,\n\
         5,cancel,drop,main,1,ann,2027-03-01T00:00:00.000000Z,operator,bought twice,,,,,,,,,\n"
    );
    for (format, kind) in [
        ("json", "application/json"),
        ("ndjson", "application/x-ndjson"),
        ("csv", "text/csv; charset=utf-8"),
    ] {
        // What stands in the address is stronger than what the browser accepts.
        let path = format!("{path}?format={format}&limit=1");
        let answer = node.ask_with("GET", &path, &[("accept", "image/png")], "").await;
        assert_eq!(answer.header("content-type"), Some(kind));
        assert_eq!(answer.header("firstcome-next"), Some("1"));
    }
}

#[tokio::test(start_paused = true)]
async fn no_cell_of_a_table_is_a_formula_unless_it_is_asked_for() {
    let node = Inside::new().await;
    node.put("drop", &json!({"opens_at": "now", "pools": [{"name": "main", "capacity": 9}]}))
        .await
        .says(201, "created");
    let body =
        json!({"id": "=cmd|'/C calc'!A0", "subject": "@mallory", "picks": [{"quantity": 1}]});
    let path = "/v1/campaigns/drop/holds";
    node.ask_with("POST", path, &[], body.to_string()).await.says(201, "held");
    let confirm = json!({"subject": "@mallory", "late": "refuse"}).to_string();
    let path = "/v1/campaigns/drop/holds/=cmd%7C'%2FC%20calc'!A0/confirm";
    node.ask_with("POST", path, &[], confirm).await.says(200, "confirmed");
    for subject in ["=HYPERLINK(\"http://evil/\")", "+1", "-1", "a=1"] {
        node.claim("drop", subject).await.says(201, "won");
    }
    node.cancel("drop", "-1", "rank=4&reason=%3D1%2B1").await.says(200, "cancelled");
    let table = |query: &'static str| {
        let node = &node;
        async move {
            let path = format!("/v1/campaigns/drop/results?format=csv{query}");
            let text = node.get(&path).await.text();
            let cells = |row: &str| row.replace("2027-03-01T00:00:00.000000Z", "T");
            text.lines().skip(1).map(cells).collect::<Vec<_>>()
        }
    };
    let told = [
        "1,claim,drop,main,1,'@mallory,T,,,,'=cmd|'/C calc'!A0,,,,,,,",
        "2,claim,drop,main,2,\"'=HYPERLINK(\"\"http://evil/\"\")\",T,,,,,,,,,,,",
        "3,claim,drop,main,3,'+1,T,,,,,,,,,,,",
        "4,claim,drop,main,4,'-1,T,,,,,,,,,,,",
        "5,claim,drop,main,5,a=1,T,,,,,,,,,,,",
        "6,cancel,drop,main,4,'-1,T,operator,'=1+1,,,,,,,,,",
    ];
    assert_eq!(table("").await, told);
    assert_eq!(table("&raw=0").await, told);
    let raw = told
        .map(|row| row.replace("'@", "@").replace("'=", "=").replace("'+", "+").replace("'-", "-"));
    assert_eq!(table("&raw=1").await, raw);
    // The other forms have no cells.
    let json = node.get("/v1/campaigns/drop/results").await.json();
    assert_eq!(json["results"][0]["subject"], json!("@mallory"));
}

#[tokio::test(start_paused = true)]
async fn a_page_of_results_looks_through_so_many_and_says_where_to_go_on() {
    let node = Inside::new().await;
    for (campaign, places) in [("early", 9), ("small", 9), ("large", 300_000)] {
        node.open(campaign, places).await.says(201, "created");
    }
    node.claim("early", "ann").await.says(201, "won");
    node.claim("small", "ann").await.says(201, "won");
    for n in 0..401 {
        let (id, subject) = (format!("h{n}"), format!("s{n}"));
        let hold = json!({"id": id, "subject": subject, "picks": [{"quantity": 500}]});
        let path = "/v1/campaigns/large/holds";
        node.ask_with("POST", path, &[], hold.to_string()).await.says(201, "held");
        let paid = json!({"subject": subject}).to_string();
        let path = format!("{path}/{id}/confirm");
        node.ask_with("POST", &path, &[], paid).await.says(200, "confirmed");
    }
    node.claim("small", "bob").await.says(201, "won");
    // As many as it has are found: there is nothing to look for.
    let page = node.get("/v1/campaigns/early/results").await.json();
    assert_eq!((numbers(&page), &page["next"]), (vec![1], &json!(null)));
    let page = node.get("/v1/campaigns/small/results").await.json();
    assert_eq!((numbers(&page), &page["next"]), (vec![2], &json!(200_000)));
    let page = node.get("/v1/campaigns/small/results?after=2").await;
    assert_eq!(page.header("firstcome-next"), Some("200002"));
    assert_eq!(numbers(&page.json()), [0; 0]);
    let page = node.get("/v1/campaigns/small/results?after=200000").await.json();
    assert_eq!((numbers(&page), &page["next"]), (vec![200_503], &json!(null)));
}
