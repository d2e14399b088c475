//! `health`: one line and an exit code, from a server that is ready, that stops, that is not there, that cannot answer.

use std::net::TcpListener;
use std::time::{Duration, Instant};

use firstcome_testbed::RedisServer;
use rustix::process::{Pid, Signal, kill_process};

use crate::scene::{Said, Scene, said};

/// Asks with settings in the environment, as a container has them.
fn health(scene: &Scene, environment: &[(&str, &str)], args: &[&str]) -> Said {
    let mut command = scene.program(&[&["health"], args].concat());
    said(&command.envs(environment.iter().copied()).output().unwrap())
}

/// Asks until it ends with this code, at most for a minute.
fn until(code: i32, mut ask: impl FnMut() -> Said) -> Said {
    let end = Instant::now() + Duration::from_secs(60);
    loop {
        let said = ask();
        if said.code == code {
            return said;
        }
        assert!(Instant::now() < end, "{said:?}");
        std::thread::sleep(Duration::from_millis(50));
    }
}

#[test]
fn it_asks_the_server_that_serve_starts_with_the_same_settings() {
    let scene = Scene::new();
    let server = scene.serve_in(&[], &[("FIRSTCOME_LEAVE_MS", "600000")]);
    let listen = server.url.strip_prefix("http://").unwrap().to_owned();
    let operations = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().to_string();
    for environment in [
        [("FIRSTCOME_LISTEN", listen.as_str())],
        // Listening everywhere includes here.
        [("FIRSTCOME_LISTEN", &*listen.replace("127.0.0.1", "0.0.0.0"))],
    ] {
        assert_eq!(health(&scene, &environment, &[]).ends(0), "ready\n");
    }
    std::fs::write(scene.path().join("mine.toml"), format!("listen = \"{listen}\"\n")).unwrap();
    assert_eq!(health(&scene, &[], &["--config", "mine.toml"]).ends(0), "ready\n");
    assert_eq!(health(&scene, &[("FIRSTCOME_CONFIG", "mine.toml")], &[]).ends(0), "ready\n");
    let as_json = health(&scene, &[], &["--url", &server.url, "--json"]).json();
    assert_eq!(as_json, serde_json::json!({"status": "ready", "reasons": []}));
    // The probes of this server are not there.
    let elsewhere =
        [("FIRSTCOME_LISTEN", listen.as_str()), ("FIRSTCOME_OPS_LISTEN", operations.as_str())];
    let gone = health(&scene, &elsewhere, &[]).ends(1);
    assert!(gone.starts_with("not ready: ") && gone.contains(&operations), "{gone}");
    assert_eq!(gone.lines().count(), 1, "{gone}");

    // It leaves: answers go on, and it is not ready.
    kill_process(Pid::from_child(&server.child), Signal::TERM).unwrap();
    let leaving = until(1, || health(&scene, &[], &["--url", &server.url]));
    assert_eq!(leaving.out, "not ready: shutting down\n");
    let as_json = health(&scene, &[], &["--url", &server.url, "--json"]).json();
    assert_eq!(as_json, serde_json::json!({"status": "not_ready", "reasons": ["shutting down"]}));
    drop(server);
    let gone = health(&scene, &[("FIRSTCOME_LISTEN", listen.as_str())], &[]).ends(1);
    assert!(gone.starts_with("not ready: no answer"), "{gone}");
}

#[test]
fn a_server_whose_store_is_silent_is_not_ready() {
    let Some(redis) = RedisServer::start() else { return };
    let scene = Scene::new();
    let server = scene.serve_with(&["--store", &redis.url()]);
    let ask = || health(&scene, &[], &["--url", &server.url]);
    assert_eq!(ask().ends(0), "ready\n");
    redis.pause();
    let silent = until(1, ask).out;
    assert!(silent.starts_with("not ready: "), "{silent}");
    redis.resume();
    until(0, ask);
}

#[test]
fn a_server_that_says_nothing_is_not_ready_in_time() {
    let scene = Scene::new();
    // Connections are taken by the kernel, and nobody answers.
    let mute = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", mute.local_addr().unwrap());
    let begun = Instant::now();
    let said = health(&scene, &[], &["--url", &url, "--timeout", "300ms"]).ends(1);
    assert!(said.starts_with("not ready: no answer"), "{said}");
    assert!(begun.elapsed() < Duration::from_secs(20), "{:?}", begun.elapsed());
}

#[test]
fn what_cannot_be_asked_is_a_mistake_of_the_command_line() {
    let scene = Scene::new();
    for (environment, args, why) in [
        (&[("FIRSTCOME_LISTEN", "127.0.0.1:0")][..], &[][..], "has port 0"),
        (&[("FIRSTCOME_LISTEN", "nowhere")], &[], "must be an address with a port"),
        (&[], &["--config", "none.toml"], "cannot read"),
        (&[], &["--url", "redis://10.0.0.5"], "only http and https"),
    ] {
        let said = health(&scene, environment, args);
        assert!(said.code == 2 && said.talk.contains(why), "{said:?}");
    }
}
