//! Users of a NATS server with the rights that a page of the documentation lists.

use std::fmt::Write as _;

use crate::Nats;

/// The rights of a user.
#[derive(Clone, Debug)]
pub struct NatsRights {
    /// The subjects that it may send messages to.
    pub publish: Vec<String>,
    /// The subjects that it may listen to.
    pub subscribe: Vec<String>,
}

impl NatsRights {
    /// Reads the rights that a page lists for a space.
    ///
    /// # Panics
    ///
    /// Panics where the page has no list of rights.
    #[must_use]
    pub fn of_page(page: &str, space: &str) -> Self {
        let block = page.split("```text\n").find(|block| block.starts_with("publish: ["));
        let block = block.expect("the page has a list").split("```").next().unwrap_or_default();
        let block = block.replace("SPACE", space);
        let (publish, subscribe) = block.split_once("subscribe: [").expect("both kinds");
        let quoted = |text: &str| text.split('"').skip(1).step_by(2).map(str::to_owned).collect();
        Self { publish: quoted(publish), subscribe: quoted(subscribe) }
    }

    /// Gives each right, and all rights without it.
    #[must_use]
    pub fn without_each(&self) -> Vec<(String, Self)> {
        let less = |all: &[String], right: &String| {
            all.iter().filter(|other| *other != right).cloned().collect()
        };
        let published = self.publish.iter().map(|right| {
            let publish = less(&self.publish, right);
            (right.clone(), Self { publish, ..self.clone() })
        });
        let heard = self.subscribe.iter().map(|right| {
            let subscribe = less(&self.subscribe, right);
            (right.clone(), Self { subscribe, ..self.clone() })
        });
        published.chain(heard).collect()
    }

    fn list(rights: &[String]) -> String {
        match rights {
            // An empty list would allow everything.
            [] => "{ deny: \">\" }".to_owned(),
            rights => format!("{rights:?}"),
        }
    }
}

impl Nats {
    /// Starts a server with users, each with the password `pw`; `None` where NATS is not installed.
    ///
    /// # Panics
    ///
    /// Panics where the server is installed but does not start.
    #[must_use]
    pub fn with_users(users: &[(String, NatsRights)]) -> Option<Self> {
        let mut settings = "authorization { users: [\n".to_owned();
        for (user, rights) in users {
            let (publish, subscribe) =
                (NatsRights::list(&rights.publish), NatsRights::list(&rights.subscribe));
            writeln!(
                settings,
                "{{ user: {user}, password: pw, permissions: {{ publish: {publish}, subscribe: {subscribe} }} }}"
            )
            .expect("a string takes it");
        }
        settings.push_str("] }");
        Self::with(&settings, "")
    }

    /// Returns its address for one of these users.
    #[must_use]
    pub fn url_of(&self, user: &str) -> String {
        self.url().replace("//", &format!("//{user}:pw@"))
    }
}
