//! A real browser: headless Chromium with a profile of its own, controlled over a pipe.

use crate::Folder;
use crate::programs;
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::thread;
use std::time::{Duration, Instant};

/// Names under which distributions have it; the first one starts in a third of the processor time, since it never has a window.
const PROGRAMS: [&str; 4] =
    ["chromium-headless-shell", "chromium", "chromium-browser", "google-chrome"];
/// How long a test waits for the browser before it gives up.
const PATIENCE: Duration = Duration::from_secs(120);

/// Notes what goes wrong in every page, before anything of the page runs.
const WATCHER: &str = "window.wrong = []; \
    addEventListener('securitypolicyviolation', e => wrong.push(`policy ${e.violatedDirective}: ${e.blockedURI}`)); \
    addEventListener('error', e => wrong.push(`error: ${e.message}`)); \
    addEventListener('unhandledrejection', e => wrong.push(`not caught: ${e.reason?.stack ?? e.reason}`));";

/// What a page is shown on.
#[derive(Clone, Copy, Debug)]
pub struct Screen {
    /// Its width, in CSS pixels.
    pub width: u32,
    /// Its height, in CSS pixels.
    pub height: u32,
    /// Whether it is one that fingers touch.
    pub is_phone: bool,
    /// The language of its owner, such as `ko`.
    pub language: &'static str,
    /// Whether its owner wants dark pages.
    pub is_dark: bool,
}

/// A browser with one page. It ends when this is dropped.
#[derive(Debug)]
pub struct Browser {
    child: Child,
    /// Closed, it ends the browser.
    commands: Option<ChildStdin>,
    answers: Receiver<Value>,
    session: Value,
    number: u64,
    _profile: Folder,
}

impl Browser {
    /// Opens a page; gives nothing where Chromium is missing and the test is skipped for that.
    ///
    /// # Panics
    ///
    /// Panics where Chromium is missing and `FIRSTCOME_SKIP_MISSING` does not name it, or where it does not start.
    pub fn open(url: &str) -> Option<Self> {
        let Some(program) = PROGRAMS.iter().find_map(|name| programs::find(name)) else {
            programs::not_installed("chromium", "chromium-headless-shell");
            return None;
        };
        let profile = Folder::new("browser");
        // Chromium reads commands from descriptor 3 and answers on 4 (`--remote-debugging-pipe`); it ends with the pipe.
        let script = "exec \"$0\" --headless --no-sandbox --disable-gpu --disable-dev-shm-usage --no-first-run \
            --disable-background-networking --disable-component-update --disable-sync --mute-audio \
            --remote-debugging-pipe --user-data-dir=\"$1\" about:blank 3<&0 4>&1 </dev/null >/dev/null 2>&1";
        let mut command = Command::new("sh");
        command.args(["-c", script]).arg(&program).arg(profile.path());
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().expect("the shell starts");
        let out = child.stdout.take().expect("it is a pipe");
        let commands = child.stdin.take();
        let (tell, answers) = mpsc::channel();
        // It ends with the browser, whose end of the pipe it reads.
        thread::spawn(move || {
            let pieces = BufReader::new(out).split(0).map_while(Result::ok);
            let read = pieces.filter_map(|piece| serde_json::from_slice(&piece).ok());
            for message in read {
                if tell.send(message).is_err() {
                    return;
                }
            }
        });
        let mut browser =
            Self { child, commands, answers, session: Value::Null, number: 0, _profile: profile };
        let made = browser.ask("Target.createTarget", &json!({"url": "about:blank"}));
        let attach = json!({"targetId": made["targetId"], "flatten": true});
        browser.session = browser.ask("Target.attachToTarget", &attach)["sessionId"].clone();
        browser.ask("Page.enable", &json!({}));
        browser.ask("Page.addScriptToEvaluateOnNewDocument", &json!({ "source": WATCHER }));
        browser.go(url);
        Some(browser)
    }

    /// Goes to another page.
    pub fn go(&mut self, url: &str) {
        self.ask("Page.navigate", &json!({ "url": url }));
    }

    /// Shows pages as on this screen.
    pub fn screen(&mut self, screen: &Screen) {
        let Screen { width, height, is_phone, language, is_dark } = *screen;
        let metrics =
            json!({"width": width, "height": height, "deviceScaleFactor": 1, "mobile": is_phone});
        self.ask("Emulation.setDeviceMetricsOverride", &metrics);
        // A picture of the whole page has no scroll bar, and no room that one leaves.
        self.ask("Emulation.setScrollbarsHidden", &json!({ "hidden": true }));
        self.ask("Emulation.setTouchEmulationEnabled", &json!({ "enabled": is_phone }));
        let scheme = if is_dark { "dark" } else { "light" };
        let scheme = json!({"name": "prefers-color-scheme", "value": scheme});
        self.ask("Emulation.setEmulatedMedia", &json!({ "features": [scheme] }));
        self.ask("Emulation.setLocaleOverride", &json!({ "locale": language }));
        let agent = json!({"userAgent": "firstcome-test", "acceptLanguage": language});
        self.ask("Emulation.setUserAgentOverride", &agent);
        self.ask("Emulation.setTimezoneOverride", &json!({"timezoneId": "Asia/Seoul"}));
    }

    /// Cuts the browser from the network, or connects it again.
    pub fn offline(&mut self, is: bool) {
        self.ask("Network.enable", &json!({}));
        let conditions =
            json!({"offline": is, "latency": 0, "downloadThroughput": -1, "uploadThroughput": -1});
        self.ask("Network.emulateNetworkConditions", &conditions);
    }

    /// Makes the page's processor so many times slower.
    pub fn slower(&mut self, times: u32) {
        self.ask("Emulation.setCPUThrottlingRate", &json!({ "rate": times }));
    }

    /// Presses a key, such as `Tab`, `Enter` or `ArrowRight`.
    pub fn press(&mut self, key: &str) {
        let text = match key {
            "Enter" => "\r",
            " " => " ",
            _ => "",
        };
        let codes = [("Tab", 9), ("Enter", 13), (" ", 32), ("ArrowLeft", 37), ("ArrowUp", 38)];
        let more = [("ArrowRight", 39), ("ArrowDown", 40)];
        let mut codes = codes.into_iter().chain(more);
        let code = codes.find_map(|(known, code)| (known == key).then_some(code)).unwrap_or(0);
        for kind in ["keyDown", "keyUp"] {
            let mut event = json!({"type": kind, "key": key, "windowsVirtualKeyCode": code});
            if kind == "keyDown" && !text.is_empty() {
                event["text"] = json!(text);
            }
            self.ask("Input.dispatchKeyEvent", &event);
        }
    }

    /// Clicks at a point of the page that is in view.
    pub fn click(&mut self, x: f64, y: f64) {
        for kind in ["mousePressed", "mouseReleased"] {
            let event = json!({"type": kind, "x": x, "y": y, "button": "left", "clickCount": 1});
            self.ask("Input.dispatchMouseEvent", &event);
        }
    }

    /// Returns a picture of the whole page, as PNG in base64.
    pub fn picture(&mut self) -> String {
        let size = self.ask("Page.getLayoutMetrics", &json!({}))["cssContentSize"].clone();
        let clip =
            json!({"x": 0, "y": 0, "width": size["width"], "height": size["height"], "scale": 1});
        let ask = json!({"format": "png", "clip": clip, "captureBeyondViewport": true});
        let picture = self.ask("Page.captureScreenshot", &ask);
        picture["data"].as_str().unwrap_or_default().to_owned()
    }

    /// Returns the processor time of the page's main thread since the first call, or since its process began if that was later:
    /// scripts, layout, drawing.
    pub fn work(&mut self) -> Duration {
        self.ask("Performance.enable", &json!({"timeDomain": "threadTicks"}));
        let metrics = self.ask("Performance.getMetrics", &json!({}))["metrics"].clone();
        let metrics = metrics.as_array().cloned().unwrap_or_default();
        let worked = metrics.iter().find(|metric| metric["name"] == "TaskDuration");
        let seconds = worked.and_then(|metric| metric["value"].as_f64());
        Duration::from_secs_f64(seconds.expect("Chromium counts the work of a page"))
    }

    /// Returns what went wrong in the page since it was loaded: broken policies, errors, promises that nobody caught.
    pub fn wrong(&mut self) -> Vec<String> {
        let wrong = self.evaluate("window.wrong").unwrap_or_default();
        let wrong = wrong.as_array().cloned().unwrap_or_default();
        wrong.iter().filter_map(Value::as_str).map(str::to_owned).collect()
    }

    /// Returns the value of an expression of JavaScript in the page, once its promise is kept; an error as its text.
    ///
    /// # Errors
    ///
    /// What the page threw.
    ///
    /// # Panics
    ///
    /// Panics where the browser does not answer.
    pub fn evaluate(&mut self, expression: &str) -> Result<Value, String> {
        let ask = json!({"expression": expression, "awaitPromise": true, "returnByValue": true});
        let answer = self.ask("Runtime.evaluate", &ask);
        match answer.get("exceptionDetails").or(answer.get("error")) {
            None => Ok(answer["result"]["value"].clone()),
            Some(why) => Err(why.to_string()),
        }
    }

    /// Waits until an expression of JavaScript is true in the page.
    ///
    /// # Panics
    ///
    /// Panics where it is not after two minutes, and shows the page.
    #[track_caller]
    pub fn until(&mut self, condition: &str) {
        let begun = Instant::now();
        let mut last = Ok(Value::Null);
        while begun.elapsed() < PATIENCE {
            // While the page loads there may be no such element.
            last = self.evaluate(&format!("Boolean({condition})"));
            if last == Ok(Value::Bool(true)) {
                return;
            }
            thread::sleep(Duration::from_millis(20));
        }
        let page = self.evaluate("document.documentElement.outerHTML");
        panic!("{condition} is not so in the page: {last:?} in {page:?}");
    }

    /// Sends a command of the DevTools protocol; gives its result.
    fn ask(&mut self, method: &str, parameters: &Value) -> Value {
        self.number += 1;
        let mut command = json!({"id": self.number, "method": method, "params": parameters});
        if self.session.is_string() {
            command["sessionId"] = self.session.clone();
        }
        let pipe = self.commands.as_mut().expect("the pipe is open");
        pipe.write_all(format!("{command}\0").as_bytes()).expect("the browser reads");
        let end = Instant::now() + PATIENCE;
        loop {
            let left = end.saturating_duration_since(Instant::now());
            let message = self.answers.recv_timeout(left);
            let message = message.unwrap_or_else(|why| panic!("{method} is not answered: {why}"));
            if message["id"] == json!(self.number) {
                return match message.get("error") {
                    Some(error) => json!({ "error": error }),
                    None => message["result"].clone(),
                };
            }
        }
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        self.commands = None;
        let end = Instant::now() + Duration::from_secs(10);
        while Instant::now() < end {
            if !matches!(self.child.try_wait(), Ok(None)) {
                return;
            }
            thread::sleep(Duration::from_millis(20));
        }
        // It hangs: its children end when they lose it.
        drop(self.child.kill());
        drop(self.child.wait());
    }
}
