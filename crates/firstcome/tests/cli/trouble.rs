use std::io::Read;
use std::net::TcpListener;
use std::process::Stdio;

use crate::scene::{KEY, Scene};

#[test]
fn nobody_there_is_told_apart_from_a_lost_answer() {
    let scene = Scene::new();
    let gone = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let said = scene.run(&["claim", "spring", "ann", "--url", &format!("http://{gone}")]);
    assert_eq!(said.code, 3, "{said:?}");
    assert!(
        said.talk.contains("nothing changed") && said.talk.contains("hint: start a server"),
        "{said:?}"
    );

    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let cuts = std::thread::spawn(move || {
        for _ in 0..2 {
            let (mut stream, _) = listener.accept().unwrap();
            let mut bytes = [0; 1024];
            assert!(stream.read(&mut bytes).unwrap() > 0);
        }
    });
    let said = scene.run(&["claim", "spring", "ann", "--url", &url, "--json"]);
    assert_eq!(said.code, 4, "{said:?}");
    assert_eq!(said.json()["changed"], "unknown");
    let said = scene.run(&["campaign", "show", "spring", "--url", &url]);
    assert_eq!(said.code, 3, "looking changes nothing: {said:?}");
    cuts.join().unwrap();
}

#[test]
fn an_address_that_cannot_be_one_is_refused_before_anything_is_sent() {
    let said = Scene::new().run(&["claim", "spring", "ann", "--url", "redis://example.com"]);
    assert_eq!(said.code, 2, "{said:?}");
    assert!(said.talk.contains("only http and https are spoken"), "{said:?}");
    let said = Scene::new().run(&["rush", "--create", "5", "--url", "https://example.com"]);
    assert_eq!(said.code, 2, "{said:?}");
    assert!(said.talk.contains("asks for TLS, which rush does not speak"), "{said:?}");
}

#[test]
fn a_refusal_is_one_sentence_and_a_document() {
    let scene = Scene::new();
    let server = scene.serve();
    let said = server.ask(&scene, &["claim", "autumn", "ann", "--json"]);
    assert_eq!((said.code, said.json()["outcome"].as_str()), (1, Some("not_found")), "{said:?}");
    assert!(said.talk.contains("hint: `firstcome campaign list` shows"), "{said:?}");
    let said = server.ask(
        &scene,
        &["campaign", "create", "x", "--places", "1", "--opens", "2027-03-01T10:00:00"],
    );
    assert_eq!(said.code, 2, "a time without a zone: {said:?}");
    let said = server.ask(&scene, &["claim", "autumn", ""]);
    assert_eq!(said.code, 2, "a subject that is none: {said:?}");
}

#[test]
fn a_second_server_on_a_folder_ends_and_names_the_first() {
    let scene = Scene::new();
    let server = scene.serve();
    let said = scene.run(&["serve", "--listen", "127.0.0.1:0"]);
    assert_eq!(said.code, 3, "{said:?}");
    assert!(said.talk.contains(&server.url), "{said:?}");
}

#[test]
fn a_server_started_by_somebody_who_is_gone_ends() {
    let scene = Scene::new();
    let mut command = scene.program(&["serve", "--listen", "127.0.0.1:0", "--until-stdin-ends"]);
    command
        .env("FIRSTCOME_ADMIN_KEY", KEY)
        .env("FIRSTCOME_LEAVE_MS", "0")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null());
    let mut child = command.spawn().unwrap();
    let mut first = [0; 12];
    child.stdout.as_mut().unwrap().read_exact(&mut first).unwrap();
    drop(child.stdin.take());
    assert!(child.wait().unwrap().success(), "it stops as when told to");
}

#[test]
fn a_server_that_starts_ends_at_a_signal_also_as_the_first_process_of_a_container() {
    // A store that takes connections and never says anything.
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let store = format!("redis://{}", silent.local_addr().unwrap());
    let scene = Scene::new();
    let mut command = scene.program(&["serve", "--listen", "127.0.0.1:0", "--store", &store]);
    command.env("FIRSTCOME_ADMIN_KEY", KEY).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    // It has come as far as its store.
    let (_connection, _) = silent.accept().unwrap();
    let pid = rustix::process::Pid::from_raw(child.id().cast_signed()).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::TERM).unwrap();
    // Its own end: by a signal that it does not handle there would be no code.
    assert_eq!(child.wait().unwrap().code(), Some(0));
    let mut said = String::new();
    child.stderr.take().unwrap().read_to_string(&mut said).unwrap();
    assert!(said.contains("stopped while starting"), "{said}");
}
