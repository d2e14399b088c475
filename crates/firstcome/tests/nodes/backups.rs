//! A space is backed up while people claim, and comes back elsewhere as it was.

use crate::codes::with_code_key;
use crate::moves::{Crowd, digest_of, done, ranks, run};
use crate::scene::{Scene, Setup};
use crate::server::{PATIENCE, Server};
use firstcome_testbed::Folder;
use serde_json::json;
use tokio::time::Instant;

/// The stories that each store is told.
macro_rules! stories {
    ($store:ident, $setup:expr) => {
        mod $store {
            use super::*;

            #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn what_was_acknowledged_before_a_backup_comes_back_from_it() {
                backed_up_in_a_flood($setup).await;
            }
        }
    };
}

stories!(redis, Setup::default());
stories!(postgres, Setup::on_postgres());
stories!(mariadb, Setup::on_mariadb());
stories!(nats, Setup::on_nats());

async fn backed_up_in_a_flood(setup: Setup<'_>) {
    let Some(mut scene) = Scene::without_nodes(setup).await else { return };
    let folder = Folder::new("backups");
    let text = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let (url, ledger, config) =
        (scene.url(), format!("sqlite:{}", text("ledger")), with_code_key(folder.path()));
    scene.change("LEDGER", &ledger);
    scene.change("CONFIG", &config);
    for _ in 0..2 {
        scene.add().await.ready().await;
    }
    let mut talk = scene.nodes[0].talk();
    let pools = json!([{"name": "main", "kind": "coded", "capacity": 5}]);
    let said = talk.put("coupons", json!({"opens_at": "now", "pools": pools})).await;
    assert_eq!(said["outcome"], "created", "{said}");
    let won = talk.claim("coupons", "ann").await;
    let code = won["code"].as_str().unwrap_or_else(|| panic!("no code: {won}")).to_owned();

    let crowd = Crowd::comes_to(&scene).await;
    crowd.hears(300).await;
    let before = crowd.heard();
    let backup = ["backup", &text("a"), "--store", &url, "--ledger", &ledger];
    let written = done(&backup);
    crowd.hears(50).await;
    crowd.goes_home(true).await;
    let (code_of_exit, said) = run(&backup);
    assert_eq!((code_of_exit, said.contains("nothing is written over")), (1, true), "{said}");
    let (code_of_exit, said) = run(&["backup", &text("b"), "--store", &url]);
    assert_eq!((code_of_exit, said.contains("with --ledger;")), (1, true), "{said}");
    let checked = done(&["audit", "--file", &text("a")]);
    assert_eq!(checked["digest_recomputed"], written["digest"]);

    // Into a data folder, and into a store under another name.
    let (data, other) = (text("new"), format!("sqlite:{}", text("other")));
    let brought = done(&["restore", &text("a"), "--data", &data]);
    for what in ["space", "position", "digest"] {
        assert_eq!(brought[what], written[what], "{what}");
    }
    assert!(brought["ledger_through"].as_u64() >= written["ledger_rows"].as_u64(), "{brought}");
    let into_store =
        ["restore", &text("a"), "--store", &url, "--space", "again", "--ledger", &other];
    assert_eq!(done(&into_store), brought);
    let (code_of_exit, said) = run(&into_store);
    assert_eq!((code_of_exit, said.contains("has a space there already")), (1, true), "{said}");
    for place in
        [&["--data", &data][..], &["--store", &url, "--space", "again", "--ledger", &other]]
    {
        let audited = done(&[&["audit"], place].concat());
        assert_eq!(
            (&audited["ok"], &audited["digest_recomputed"]),
            (&true.into(), &written["digest"])
        );
    }

    let mut alone = Server::alone(&data, &[("CONFIG", &config)]).await;
    alone.start().await;
    alone.ready().await;
    assert_eq!(digest_of(&alone, &written["position"]).await, written["digest"]);
    let there = ranks(&alone).await;
    let lost: Vec<_> = before.iter().filter(|(who, rank)| there.get(*who) != Some(*rank)).collect();
    assert!(lost.is_empty(), "of {}: {lost:?}", before.len());
    let path = "/v1/campaigns/coupons/codes/redeem";
    let used = alone.talk().post(path, Some(json!({"code": code, "reference": "order-1"}))).await;
    assert_eq!(used["outcome"], "redeemed", "{used}");
    // What was said behind the backup is of another history.
    let (epoch, number) = written["position"].as_str().unwrap().split_once('.').unwrap();
    let lost = format!("{epoch}.{}", number.parse::<u64>().unwrap() + 1);
    let said = alone.talk().claim_past("spring", "late", &lost).await;
    assert_eq!(said["outcome"], "stale_position", "{said}");
    let next = alone.talk().wins("spring", "after").await;
    assert_eq!(next, there.values().max().unwrap() + 1);
    alone.kill().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_backup_is_refused_where_it_would_do_harm() {
    let folder = Folder::new("backups");
    let text = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let data = text("one");
    let mut alone = Server::alone(&data, &[]).await;
    alone.start().await;
    alone.ready().await;
    alone.talk().open("spring", 1_000).await;
    alone.talk().wins("spring", "ann").await;
    let end = Instant::now() + PATIENCE;
    while done(&["audit", "--data", &data])["ledger_through"] != 1 {
        assert!(Instant::now() < end, "nothing is settled");
    }
    // Its server runs meanwhile.
    let written = done(&["backup", &text("a"), "--data", &data]);
    assert_eq!(written["ledger_rows"], 1);
    assert_eq!(alone.talk().wins("spring", "bob").await, 2);
    assert!(alone.ends().await.success());

    let refused = |args: &[&str], exit: i32, why: &str| {
        let (code, said) = run(args);
        assert_eq!((code, said.contains(why)), (exit, true), "{args:?}: {said}");
    };
    refused(&["journal", "import", &text("a"), "--data", &text("x")], 1, "firstcome restore");
    refused(&["restore", &text("a"), "--data", &data], 1, "nothing is written over");
    for left in ["journal.sqlite-wal", "ledger.sqlite-shm"] {
        let path = folder.path().join(format!("left/{left}"));
        std::fs::create_dir_all(folder.path().join("left")).unwrap();
        std::fs::write(&path, "of a file that is gone").unwrap();
        refused(&["restore", &text("a"), "--data", &text("left")], 1, left);
        std::fs::remove_file(&path).unwrap();
    }
    let newer = format!("sqlite:{data}/ledger.sqlite");
    refused(&["restore", &text("a"), "--data", &text("x"), "--ledger", &newer], 1, "set-aside");
    let url = "redis://127.0.0.1:1";
    refused(&["restore", &text("a"), "--store", url], 2, "1 results of a ledger");
    done(&["journal", "export", "--data", &data, "--output", &text("moved")]);
    refused(&["restore", &text("moved"), "--data", &text("x")], 1, "journal import");
    refused(&["backup", &text("late"), "--data", &data], 1, "was moved away");

    let bytes = std::fs::read(text("a")).unwrap();
    for at in [bytes.len() / 2, bytes.len() - 30] {
        let mut bytes = bytes.clone();
        bytes[at] ^= 1;
        std::fs::write(text("b"), bytes).unwrap();
        refused(&["restore", &text("b"), "--data", &text("x")], 1, "torn or altered");
        refused(&["audit", "--file", &text("b")], 1, "torn or altered");
    }
    let whole = bytes.len();
    std::fs::write(text("b"), &bytes[..whole - 10]).unwrap();
    refused(&["restore", &text("b"), "--data", &text("x")], 1, "at byte");
    assert!(!folder.path().join("x/journal.sqlite").exists());
}
