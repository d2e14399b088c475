//! Many ask at once for the last use of a code: one of them has it.

use crate::process::Server;
use serde_json::{Value, json};
use std::sync::{Barrier, Mutex};

/// Who asks at once.
const CROWD: usize = 64;

/// Codes that are fought for; FIRSTCOME_CODE_ROUNDS sets another number, such as 1000.
fn rounds() -> usize {
    let set = std::env::var("FIRSTCOME_CODE_ROUNDS").ok();
    set.map_or(100, |rounds| rounds.parse().expect("a number of rounds"))
}

/// Lets a crowd redeem each code at one instant, each under a reference of its own; gives what each code's crowd was told.
fn fight(server: &Server, path: &str, codes: &[String]) -> Vec<Vec<String>> {
    let told: Vec<Mutex<Vec<String>>> = codes.iter().map(|_| Mutex::default()).collect();
    let together = Barrier::new(CROWD);
    std::thread::scope(|scope| {
        for who in 0..CROWD {
            let (told, together) = (&told, &together);
            scope.spawn(move || {
                let mut talk = server.talk();
                for (code, told) in codes.iter().zip(told) {
                    let step = json!({"code": code, "reference": format!("order-{who}")});
                    together.wait();
                    let outcome = talk.post(path, &step).outcome();
                    told.lock().unwrap().push(outcome);
                }
            });
        }
    });
    told.into_iter().map(|told| told.into_inner().unwrap()).collect()
}

fn sale(server: &Server, uses: u32, rounds: usize) -> Vec<String> {
    let mut talk = server.talk();
    let pool =
        json!({"name": "main", "kind": "coded", "capacity": rounds, "codes": {"uses": uses}});
    let settings = json!({"opens_at": "now", "pools": [pool]});
    talk.put("/v1/campaigns/sale", &settings).says(201, "created");
    let code = |won: Value| won["code"].as_str().unwrap().to_owned();
    (0..rounds).map(|n| code(talk.claim("sale", &format!("s{n}")).says(201, "won"))).collect()
}

#[test]
fn sixty_four_ask_for_the_last_use_of_a_code_and_one_has_it() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::on(folder.path());
    let codes = sale(&server, 2, rounds());
    let mut talk = server.talk();
    for code in &codes {
        let step = json!({"code": code, "reference": "the-first"});
        talk.post("/v1/campaigns/sale/codes/redeem", &step).says(200, "redeemed");
    }
    for (round, told) in
        fight(&server, "/v1/campaigns/sale/codes/redeem", &codes).iter().enumerate()
    {
        let yes = told.iter().filter(|outcome| *outcome == "redeemed").count();
        let no = told.iter().filter(|outcome| *outcome == "code_used").count();
        assert_eq!((yes, no), (1, CROWD - 1), "round {round}: {told:?}");
    }
}

/// The twin: codes that may be used so often let all of them through, so the crowd does ask at once and the count is seen.
#[test]
fn a_crowd_that_is_not_limited_has_all_it_asks_for() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::on(folder.path());
    let codes = sale(&server, 64, 3);
    for told in fight(&server, "/v1/campaigns/sale/codes/redeem", &codes) {
        assert_eq!(told.iter().filter(|outcome| *outcome == "redeemed").count(), CROWD);
    }
}
