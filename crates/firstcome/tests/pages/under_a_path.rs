//! The pages under a path of somebody's shop, through a proxy that removes the path and through one that leaves it.

use crate::process::KEY;
use crate::scene::{DESK, Scene, click, has, nothing_wrong};
use firstcome_testbed::Browser;
use serde_json::json;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

const PATH: &str = "/queue";

/// Whether a proxy removes the path.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Path {
    Removed,
    Left,
}

/// A proxy that has nothing but the server under the path. Each request has a connection of its own.
struct Proxy {
    address: SocketAddr,
    is_over: Arc<AtomicBool>,
}

impl Proxy {
    fn to(server: SocketAddr, path: Path) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let is_over = Arc::new(AtomicBool::new(false));
        let end = Arc::clone(&is_over);
        thread::spawn(move || {
            for client in listener.incoming().map_while(Result::ok) {
                if end.load(Ordering::SeqCst) {
                    return;
                }
                // A browser that hangs up ends its own connection only.
                thread::spawn(move || drop(pass_on(client, server, path)));
            }
        });
        Self { address, is_over }
    }

    fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::SeqCst);
        drop(TcpStream::connect(self.address));
    }
}

/// Passes one request and its answer on.
fn pass_on(client: TcpStream, server: SocketAddr, path: Path) -> io::Result<()> {
    let mut from_client = BufReader::new(client.try_clone()?);
    let mut first = String::new();
    from_client.read_line(&mut first)?;
    let Some((method, rest)) =
        first.split_once(' ').filter(|(_, rest)| rest.starts_with("/queue/"))
    else {
        return (&client).write_all(
            b"HTTP/1.1 404 Not Found\r\nconnection: close\r\ncontent-length: 0\r\n\r\n",
        );
    };
    let rest = if path == Path::Removed { &rest[PATH.len()..] } else { rest };
    let to_server = TcpStream::connect(server)?;
    write!(&to_server, "{method} {rest}connection: close\r\n")?;
    loop {
        let mut line = String::new();
        from_client.read_line(&mut line)?;
        if !line.to_ascii_lowercase().starts_with("connection:") {
            (&to_server).write_all(line.as_bytes())?;
        }
        if line.trim_end().is_empty() {
            break;
        }
    }
    let mut body_to = to_server.try_clone()?;
    thread::spawn(move || io::copy(&mut from_client, &mut body_to));
    let (mut answer, mut piece) = (&to_server, [0; 4096]);
    while let Some(some) = answer.read(&mut piece).ok().filter(|read| *read > 0) {
        (&client).write_all(&piece[..some])?;
    }
    client.shutdown(Shutdown::Both)
}

fn settled(scene: &Scene) {
    let pools = json!([{"name": "main", "capacity": 5}]);
    scene.put("spring", &json!({"title": "Spring", "opens_at": "now", "pools": pools}));
}

/// Claims on the page, looks at the console, and sends a request from the documents, all below the path.
fn works(scene: &Scene, proxy: &Proxy) -> Option<()> {
    let token = scene.token("spring", "ann", 600);
    let page = proxy.url(&format!("{PATH}/c/spring?lang=en#token={token}"));
    let mut browser = scene.browse(&DESK, &page)?;
    click(&mut browser, "#act");
    browser.until(&has("#wonTitle", "You got one"));
    // Its stream of events goes through the proxy, too.
    browser.until("document.body.dataset.link === 'live'");
    nothing_wrong(&mut browser);

    browser.go(&proxy.url(&format!("{PATH}/console?lang=en")));
    browser.until("document.querySelector('#key')?.checkVisibility()");
    let fill = format!(
        "(i => {{ i.value = {KEY:?}; i.dispatchEvent(new Event('input', {{bubbles: true}})); }})(document.querySelector('#key'))"
    );
    browser.evaluate(&fill).unwrap();
    click(&mut browser, "#enter");
    browser.until(&has("main", "spring"));
    browser.evaluate("location.hash = '#/c/spring'; 1").unwrap();
    browser.until("document.querySelector('a[target=_blank]')");
    let link = browser.evaluate("document.querySelector('a[target=_blank]').href").unwrap();
    assert_eq!(link, proxy.url(&format!("{PATH}/c/spring")));
    nothing_wrong(&mut browser);

    docs(&mut browser, proxy);
    Some(())
}

fn docs(browser: &mut Browser, proxy: &Proxy) {
    browser.go(&proxy.url(&format!("{PATH}/docs#show_time")));
    browser.until("document.querySelector('#show_time')?.open");
    browser.evaluate(&format!("document.querySelector('#key').value = {KEY:?}; 1")).unwrap();
    click(browser, "#show_time button");
    browser.until("document.querySelector('#show_time form pre').textContent.includes('\"now\"')");
    // Its style was loaded, and so are the pages that it links to.
    browser
        .until("document.styleSheets.length === 1 && document.styleSheets[0].cssRules.length > 0");
    let problem = browser.evaluate("document.querySelector('#problems ~ table a').href").unwrap();
    let problem = problem.as_str().unwrap();
    assert!(problem.starts_with(&proxy.url(&format!("{PATH}/problems/"))), "{problem}");
    browser.go(problem);
    browser
        .until(&format!("{} && document.styleSheets[0].cssRules.length > 0", has("h1", "Problem")));
    let back = browser.evaluate("document.querySelector('a').href").unwrap();
    assert_eq!(back, proxy.url(&format!("{PATH}/docs#problems")));
    nothing_wrong(browser);
}

#[test]
fn pages_work_behind_a_proxy_that_leaves_the_path() {
    let scene = Scene::with(&[("BASE_PATH", PATH)]);
    settled(&scene);
    let proxy = Proxy::to(scene.server.as_ref().unwrap().address, Path::Left);
    let Some(()) = works(&scene, &proxy) else { return };
}

#[test]
fn pages_work_behind_a_proxy_that_removes_the_path() {
    let scene = Scene::with(&[("BASE_PATH", PATH)]);
    settled(&scene);
    let proxy = Proxy::to(scene.server.as_ref().unwrap().address, Path::Removed);
    let Some(()) = works(&scene, &proxy) else { return };
    // The page that says where to go, too.
    let Some(mut browser) = scene.browse(&DESK, &proxy.url("/queue/")) else { return };
    browser.until("document.querySelector('a')");
    let console = browser.evaluate("document.querySelector('a').href").unwrap();
    assert_eq!(console, proxy.url("/queue/console"));
}

/// Without the setting only what the server says of its own path is wrong; the pages do not know it.
#[test]
fn pages_do_not_need_the_setting_where_the_proxy_removes_the_path() {
    let scene = Scene::open();
    settled(&scene);
    let proxy = Proxy::to(scene.server.as_ref().unwrap().address, Path::Removed);
    let Some(()) = works(&scene, &proxy) else { return };
}
