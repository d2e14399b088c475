//! The page and its files: what is served, with which policy, and how they are replaced and turned off.

use crate::process::{cannot_serve, serve};
use crate::scene::Scene;
use crate::wire::{Answer, Talk};

fn ask(scene: &Scene, path: &str, headers: &str) -> Answer {
    let mut talk = Talk::to(scene.server.as_ref().unwrap().address, "").unwrap();
    talk.send(format!("GET {path} HTTP/1.1\r\nhost: x\r\n{headers}\r\n").as_bytes()).unwrap();
    talk.hear().unwrap()
}

#[test]
fn the_page_is_small_strict_and_known_again() {
    let scene = Scene::open();
    let zip = "accept-encoding: gzip\r\n";
    let (page, script) = (ask(&scene, "/c/spring", zip), ask(&scene, "/c/-/page.js", zip));
    assert!(page.body.len() + script.body.len() <= 60 << 10);
    assert_eq!(page.header("content-encoding"), Some("gzip"));
    let policy = page.header("content-security-policy").unwrap();
    assert!(
        policy.starts_with("default-src 'none'; script-src 'self'; style-src 'self' 'sha256-"),
        "{policy}"
    );
    assert!(policy.contains("frame-ancestors 'none'") && !policy.contains("unsafe"), "{policy}");
    // Nothing is loaded from elsewhere.
    for path in ["/c/spring", "/c/-/page.js", "/c/-/seats.js"] {
        let text = ask(&scene, path, "").text();
        let elsewhere = text.replace("http://www.w3.org/2000/svg", "");
        assert!(
            !elsewhere.contains("http://") && !elsewhere.contains("https://"),
            "an address of another server in {path}"
        );
    }
    assert!(ask(&scene, "/c/-/seats.js", zip).body.len() <= 30 << 10);
    let tag = page.header("etag").unwrap();
    assert_eq!(ask(&scene, "/c/spring", &format!("if-none-match: {tag}\r\n")).status, 304);
    for path in ["/c/Spring", "/c/-/none.js", "/c/-/page.html", "/c/-/..%2fpage.js", "/c/-/", "/c/"]
    {
        ask(&scene, path, "").refuses("no_such_route", "");
    }
}

#[test]
fn the_files_of_the_team_come_first_and_pages_can_be_off() {
    let own = tempfile::tempdir().unwrap();
    std::fs::write(own.path().join("page.css"), "body { color: teal }").unwrap();
    std::fs::write(own.path().join("logo.svg"), "<svg xmlns='http://www.w3.org/2000/svg'/>")
        .unwrap();
    std::fs::write(own.path().join("secret.txt"), "secret").unwrap();
    std::fs::write(own.path().join("large.png"), vec![0; (4 << 20) + 1]).unwrap();
    // Nobody writes into it: who opened it would wait.
    rustix::fs::mkfifoat(rustix::fs::CWD, own.path().join("pipe.svg"), 0o600.into()).unwrap();
    let scene = Scene::with(&[("PAGES_DIR", own.path().to_str().unwrap())]);
    let page = ask(&scene, "/c/spring", "").text();
    assert!(page.contains("<style>body { color: teal }</style>"), "{page}");
    assert_eq!(ask(&scene, "/c/-/logo.svg", "").header("content-type"), Some("image/svg+xml"));
    // Its own script was not given: the one that is built in.
    assert!(ask(&scene, "/c/-/page.js", "").text().contains("WORDS"));
    ask(&scene, "/c/-/secret.txt", "").refuses("no_such_route", "no such file");
    ask(&scene, "/c/-/large.png", "").refuses("no_such_route", "more than 4194304 bytes");
    ask(&scene, "/c/-/pipe.svg", "").refuses("no_such_route", "no regular file");
    let folder = tempfile::tempdir().unwrap();
    let said = cannot_serve(serve(folder.path(), &[("PAGES_DIR", "/nowhere/at/all")]));
    assert!(said.contains("pages_dir: there is no folder /nowhere/at/all"), "{said}");
    let scene = Scene::with(&[("PAGES", "off")]);
    ask(&scene, "/c/spring", "").refuses("no_such_route", "off");
    for file in ["page.js", "seats.js"] {
        ask(&scene, &format!("/c/-/{file}"), "").refuses("no_such_route", "off");
    }
}
