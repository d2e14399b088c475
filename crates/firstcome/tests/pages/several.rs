//! Three servers on one Redis behind one address, and one of them is killed.

use crate::process::{KEY, Server};
use crate::scene::{DESK, PHONE, SECRET, click, has, nothing_wrong};
use crate::wire::Talk;
use firstcome_testbed::{Browser, RedisServer, Screen};
use serde_json::json;
use std::io;
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::thread;
use std::time::{Duration, Instant};

/// Three servers, and an address that leads to those of them that take connections, one after the other.
struct Several {
    servers: Vec<Option<Server>>,
    address: SocketAddr,
    /// Ended after the servers, whose store it is.
    _redis: RedisServer,
    _folders: Vec<tempfile::TempDir>,
}

impl Several {
    fn open() -> Option<Self> {
        let redis = RedisServer::start()?;
        let store = redis.url();
        let folders: Vec<_> = (0..3).map(|_| tempfile::tempdir().unwrap()).collect();
        let settings = [("STORE", store.as_str()), SECRET];
        let servers: Vec<_> =
            folders.iter().map(|folder| Server::with(folder.path(), &settings)).collect();
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let targets = servers.iter().map(|server| server.address).collect();
        // It ends with the test process.
        thread::spawn(move || balance(&listener, targets));
        let servers = servers.into_iter().map(Some).collect();
        Some(Self { servers, address, _redis: redis, _folders: folders })
    }

    fn talk(&self) -> Talk {
        let alive = self.servers.iter().flatten().next().unwrap();
        Talk::to(alive.address, KEY).unwrap()
    }

    /// Kills the server that has the stream of the only page; gives its address.
    fn kill_the_one_with_the_stream(&mut self) -> SocketAddr {
        let end = Instant::now() + Duration::from_secs(60);
        while Instant::now() < end {
            for server in &mut self.servers {
                let has_it = server
                    .as_ref()
                    .is_some_and(|server| server.talk().metric("firstcome_hall_watchers") > 0);
                if let Some(server) = server.take_if(|_| has_it) {
                    let address = server.address;
                    server.kill();
                    return address;
                }
            }
        }
        panic!("no server has a stream");
    }

    fn browse(&self, screen: &Screen, path: &str) -> Option<Browser> {
        let mut browser = Browser::open("about:blank")?;
        browser.screen(screen);
        browser.go(&format!("http://{}{path}", self.address));
        Some(browser)
    }
}

/// Passes each connection on to the next server that takes it.
fn balance(listener: &TcpListener, targets: Vec<SocketAddr>) {
    for (turn, client) in listener.incoming().map_while(Result::ok).enumerate() {
        let targets = targets.clone();
        thread::spawn(move || {
            let next = (0..targets.len()).map(|nth| targets[(turn + nth) % targets.len()]);
            let Some(server) = next.into_iter().find_map(|to| TcpStream::connect(to).ok()) else {
                return;
            };
            // Whichever side ends first, the other one hears of it.
            let (mut there, mut back) = (client.try_clone().unwrap(), server.try_clone().unwrap());
            let (mut client, mut server) = (client, server);
            let up = thread::spawn(move || {
                drop(io::copy(&mut there, &mut server));
                drop(server.shutdown(Shutdown::Both));
            });
            drop(io::copy(&mut back, &mut client));
            drop(client.shutdown(Shutdown::Both));
            drop(up.join());
        });
    }
}

#[test]
fn a_page_goes_on_when_one_of_three_servers_is_killed() {
    let Some(mut several) = Several::open() else { return };
    let mut talk = several.talk();
    let pools = json!([{"name": "main", "capacity": 3}]);
    let drop_of = json!({"title": "Drop", "opens_at": "now", "pools": pools});
    talk.put("/v1/campaigns/drop", &drop_of).says(201, "created");
    let ask = json!({"subject": "ann", "campaign": "drop", "expires_in_s": 600});
    let minted = talk.post("/v1/tokens", &ask).says(201, "minted");
    let path = format!("/c/drop#token={}", minted["token"].as_str().unwrap());
    let Some(mut ann) = several.browse(&PHONE, &path) else { return };
    ann.until(&has("#link", "Live."));
    drop(talk);
    several.kill_the_one_with_the_stream();
    // Somebody else gets a place on another server, and she sees it, and gets one.
    let mut talk = several.talk();
    talk.post("/v1/campaigns/drop/claims", &json!({"subject": "bob"})).says(201, "won");
    ann.until(&has("#leftText", "2 of 3 left"));
    ann.until(&has("#link", "Live."));
    click(&mut ann, "#act");
    ann.until(&has(".rank", "number 2"));
    // And once more: one of three is enough.
    several.kill_the_one_with_the_stream();
    let mut talk = several.talk();
    talk.post("/v1/campaigns/drop/claims", &json!({"subject": "cem"})).says(201, "won");
    ann.until(&has("#leftText", "0 of 3 left"));
    ann.until(&has(".rank", "number 2"));
    nothing_wrong(&mut ann);
}

#[test]
fn the_console_goes_on_when_one_of_three_servers_is_killed_and_says_which() {
    let Some(mut several) = Several::open() else { return };
    let mut talk = several.talk();
    let pools = json!([{"name": "main", "capacity": 3}]);
    let drop_of = json!({"title": "Drop", "opens_at": "now", "pools": pools});
    talk.put("/v1/campaigns/drop", &drop_of).says(201, "created");
    let Some(mut desk) = several.browse(&DESK, "/console") else { return };
    desk.until("document.querySelector('#key')?.checkVisibility()");
    let type_key = format!(
        "(i => {{ i.value = {KEY:?}; i.dispatchEvent(new Event('input', {{bubbles: true}})); }})(document.querySelector('#key'))"
    );
    desk.evaluate(&type_key).unwrap();
    click(&mut desk, "#enter");
    desk.until("!document.querySelector('#nav').hidden");
    desk.evaluate("location.hash = '#/servers'; 1").unwrap();
    desk.until("document.querySelectorAll('#servers tbody tr').length === 3");
    let killed = several.servers[0].take().unwrap();
    let address = killed.address.to_string();
    killed.kill();
    desk.until(&has("#servers tbody tr", &address));
    let gone = format!(
        "[...document.querySelectorAll('#servers tbody tr')].some(row => row.textContent.includes({address:?}) && /silent|gone/.test(row.textContent))"
    );
    desk.until(&gone);
    // An act goes to one of the others, and what somebody does there is seen.
    desk.evaluate("location.hash = '#/c/drop'; 1").unwrap();
    several.talk().post("/v1/campaigns/drop/claims", &json!({"subject": "bob"})).says(201, "won");
    desk.until("document.querySelector('#n-claims')?.textContent === '1'");
    click(&mut desk, "#pause");
    desk.until("document.querySelector('#ask').open");
    click(&mut desk, "#askYes");
    desk.until(&has(".state", "paused"));
    nothing_wrong(&mut desk);
}
