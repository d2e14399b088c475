//! A server with campaigns, and browsers on their pages.

use crate::process::{KEY, Server};
use crate::wire::Talk;
use firstcome_testbed::{Browser, Screen};
use serde_json::{Value, json};
use tempfile::TempDir;

pub(crate) const SECRET: (&str, &str) = ("TOKEN_SECRET", "a-secret-that-has-thirty-two-bytes");

pub(crate) const PHONE: Screen =
    Screen { width: 390, height: 844, is_phone: true, language: "en", is_dark: false };
pub(crate) const DESK: Screen =
    Screen { width: 1280, height: 800, is_phone: false, language: "en", is_dark: true };

/// A server on a folder of its own.
pub(crate) struct Scene {
    pub(crate) server: Option<Server>,
    folder: TempDir,
    address: String,
    settings: Vec<(String, String)>,
}

impl Scene {
    pub(crate) fn open() -> Self {
        Self::with(&[])
    }

    pub(crate) fn with(settings: &[(&str, &str)]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let settings: Vec<_> = settings.iter().copied().chain([SECRET]).collect();
        let server = Server::with(folder.path(), &settings);
        let address = server.address.to_string();
        let settings =
            settings.into_iter().map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
        Self { server: Some(server), folder, address, settings }
    }

    /// Kills the server as a power cut would.
    pub(crate) fn kill(&mut self) {
        self.server.take().unwrap().kill();
    }

    /// Starts it again where it was.
    pub(crate) fn restart(&mut self) {
        let own = self.settings.iter().map(|(name, value)| (name.as_str(), value.as_str()));
        let settings: Vec<_> = own.chain([("LISTEN", self.address.as_str())]).collect();
        let server = Server::with(self.folder.path(), &settings);
        self.server = Some(server);
    }

    pub(crate) fn talk(&self) -> Talk {
        Talk::to(self.server.as_ref().unwrap().address, KEY).unwrap()
    }

    pub(crate) fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    /// Creates a campaign.
    pub(crate) fn put(&self, campaign: &str, settings: &Value) {
        self.talk().put(&format!("/v1/campaigns/{campaign}"), settings).says(201, "created");
    }

    /// Creates a campaign of two pools in which a subject has claimed and given back a thousand times: as many claims of one
    /// campaign as a page of a subject has. They are made at once: `RATE_SUBJECT` has to be `none`.
    pub(crate) fn put_with_history(&self, campaign: &str, subject: &str) {
        let pools = json!([{"name": "main", "capacity": 9}, {"name": "side", "capacity": 9}]);
        let settings =
            json!({"title": campaign, "opens_at": "now", "claim_again": true, "pools": pools});
        self.put(campaign, &settings);
        let mut talk = self.talk();
        let path = format!("/v1/campaigns/{campaign}/claims");
        for rank in 1..=1_000 {
            talk.post(&path, &json!({"subject": subject, "pool": "main"})).says(201, "won");
            let cancel = format!("{path}/{subject}?pool=main&rank={rank}&by=subject");
            talk.try_ask("DELETE", &cancel, None).unwrap().says(200, "cancelled");
        }
    }

    /// Mints a token.
    pub(crate) fn token(&self, campaign: &str, subject: &str, seconds: u32) -> String {
        let ask = json!({"subject": subject, "campaign": campaign, "expires_in_s": seconds});
        let minted = self.talk().post("/v1/tokens", &ask).says(201, "minted");
        minted["token"].as_str().unwrap().to_owned()
    }

    /// Returns the link that a shop gives to a customer. Each is another address, so that the browser loads the page.
    pub(crate) fn link(&self, campaign: &str, subject: &str) -> String {
        let token = self.token(campaign, subject, 600);
        self.url(&format!(
            "/c/{campaign}?{}#token={token}",
            token.len() + fastrand::usize(1000..9000)
        ))
    }

    /// Opens a page; gives nothing where there is no browser.
    pub(crate) fn browse(&self, screen: &Screen, url: &str) -> Option<Browser> {
        let mut browser = Browser::open("about:blank")?;
        browser.screen(screen);
        browser.go(url);
        Some(browser)
    }
}

/// Returns the moment so many milliseconds from now, as the server has it.
pub(crate) fn in_ms(talk: &mut Talk, ms: i64) -> String {
    let now: jiff::Timestamp =
        talk.get("/v1/time").json()["now"].as_str().unwrap().parse().unwrap();
    (now + jiff::SignedDuration::from_millis(ms)).to_string()
}

/// Returns a hall of so many rows of ten seats.
pub(crate) fn rows(count: u8) -> Value {
    let seats = (0..count).flat_map(|row| {
        (1..=10).map(move |number| {
            let row = char::from(b'A' + row);
            let (grade, price) = if row < 'C' { ("R", 90_000) } else { ("S", 60_000) };
            json!({"name": format!("{row}{number}"), "section": "Stalls", "row": row.to_string(),
                "number": number.to_string(), "grade": grade, "price_minor": price, "currency": "KRW"})
        })
    });
    let floor = json!({"name": "Floor", "capacity": 50, "grade": "G", "price_minor": 30_000, "currency": "KRW"});
    json!([{"name": "main", "kind": "seated", "seats": seats.chain([floor]).collect::<Vec<_>>()}])
}

/// What a page shows.
pub(crate) fn has(selector: &str, text: &str) -> String {
    format!(
        "[...document.querySelectorAll({selector:?})].some(e => e.checkVisibility() && e.textContent.includes({text:?}))"
    )
}

pub(crate) fn click(browser: &mut Browser, selector: &str) {
    browser.until(&format!("document.querySelector({selector:?})?.checkVisibility()"));
    browser.evaluate(&format!("document.querySelector({selector:?}).click()")).unwrap();
}

/// Nothing ran that should not, no policy was broken, and no error came.
#[track_caller]
pub(crate) fn nothing_wrong(browser: &mut Browser) {
    assert_eq!(browser.wrong(), Vec::<String>::new());
}
