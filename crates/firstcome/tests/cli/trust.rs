//! The admin key of a data folder goes to the server that has the folder, and to nobody else.

use crate::scene::{KEY, Scene, said};
use std::io::{Read, Write};
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;
use std::sync::mpsc;
use std::time::Duration;

/// Answers whoever asks, and tells what was asked.
fn listener() -> (String, mpsc::Receiver<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let (tell, told) = mpsc::channel();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let (mut stream, mut piece) = (stream.unwrap(), vec![0; 8192]);
            let read = stream.read(&mut piece).unwrap();
            drop(tell.send(String::from_utf8_lossy(&piece[..read]).into_owned()));
            let answer = "HTTP/1.1 500 No\r\ncontent-length: 0\r\nconnection: close\r\n\r\n";
            drop(stream.write_all(answer.as_bytes()));
        }
    });
    (url, told)
}

fn asked(told: &mpsc::Receiver<String>) -> String {
    told.recv_timeout(Duration::from_secs(20)).unwrap().to_ascii_lowercase()
}

#[test]
fn the_key_of_a_folder_is_not_sent_to_another_server() {
    let scene = Scene::new();
    let server = scene.serve();
    let file = scene.path().join("firstcome-data/admin-key");
    std::fs::write(&file, KEY).unwrap();
    let (other, told) = listener();
    let said = scene.run(&["campaign", "list", "--url", &other]);
    assert!(!asked(&told).contains("authorization"), "the key left for another server");
    assert!(said.talk.contains("not sent to another"), "{said:?}");
    scene.run(&["rush", "--campaign", "x", "--url", &server.url, "--url", &other]);
    // Whatever it asks there it asks without a key.
    while let Ok(asked) = told.recv_timeout(Duration::from_millis(300)) {
        assert!(!asked.to_ascii_lowercase().contains("authorization"), "{asked}");
    }
    // The server that has the folder gets it, also by its name.
    scene.run(&["campaign", "list", "--url", &server.url]).ends(0);
    let by_name = server.url.replace("127.0.0.1", "localhost");
    scene.run(&["campaign", "list", "--url", &by_name]).ends(0);
    // What is named on purpose goes where it is told to.
    let mut command = scene.program(&["campaign", "list", "--url", &other]);
    crate::scene::said(&command.env("FIRSTCOME_KEY", KEY).output().unwrap());
    assert!(asked(&told).contains("authorization"));
    drop(server);
    // Nobody has the folder now: nobody is sent its key.
    scene.run(&["campaign", "list", "--url", &other]);
    assert!(!asked(&told).contains("authorization"));
}

#[test]
fn a_lock_that_others_may_write_is_not_believed() {
    let scene = Scene::new();
    let folder = scene.path().join("firstcome-data");
    std::fs::create_dir(&folder).unwrap();
    let (other, told) = listener();
    let lock = folder.join("lock");
    std::fs::write(&lock, format!("pid 1\naddress {other}\n")).unwrap();
    let held = std::fs::File::open(&lock).unwrap();
    held.lock().unwrap();
    let ask = || {
        let mut command = scene.program(&["campaign", "list", "--timeout", "2s"]);
        said(&command.env("FIRSTCOME_KEY", KEY).output().unwrap())
    };
    // One's own is: this is how a server is found.
    ask();
    assert!(asked(&told).contains("authorization"));
    std::fs::set_permissions(&lock, std::fs::Permissions::from_mode(0o666)).unwrap();
    ask();
    assert!(
        told.recv_timeout(Duration::from_millis(500)).is_err(),
        "anybody could have written it"
    );
    std::fs::set_permissions(&lock, std::fs::Permissions::from_mode(0o600)).unwrap();
    // Another user's folder, where this test may give it away.
    if std::os::unix::fs::chown(&folder, Some(65_534), None).is_ok() {
        ask();
        assert!(told.recv_timeout(Duration::from_millis(500)).is_err(), "the folder is not ours");
    }
}
