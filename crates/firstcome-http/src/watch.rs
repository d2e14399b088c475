//! Looks at this server every quarter of a second, and says in the log what changed: who leads, whether the store
//! answers, whether results are settled; and, once a minute at most, what was refused and cut.

mod seen;

use crate::app::App;
use firstcome_node::agreement::SettingDifference;
use firstcome_node::{Condition, log};
use seen::{Counted, Debounced};
use std::sync::Arc;
use std::time::Duration;
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;

/// How often it looks.
const LOOK_EVERY: Duration = Duration::from_millis(250);
/// Looks without one at the keys of codes, for which all campaigns are gone through: that is done once a second.
const LOOKS_BETWEEN_KEYS: u32 = 3;
/// How long what was bad must be good before that is said: a store that fails every other call is said once.
const GOOD_FOR: Duration = Duration::from_secs(2);

/// Says what changes until the server is to stop.
///
/// # Cancel safety
///
/// Dropped, it says no more.
pub async fn watch(app: Arc<App>, stop: CancellationToken) {
    let mut watch = Watch::new();
    while stop.run_until_cancelled(sleep(LOOK_EVERY)).await.is_some() {
        watch.leader(&app);
        watch.store(&app);
        watch.ledger(&app);
        watch.settings(&app);
        watch.code_keys(&app);
        watch.counts(&app, false);
    }
    watch.counts(&app, true);
}

impl App {
    /// Looks whether this server lacks the key of a campaign's codes, and says so in the log where that is news: it is not
    /// ready then. Goes through all campaigns.
    pub fn look_for_missing_keys(&self) {
        let keys = &self.node.intake.codes;
        let news = self.node.replica.look(|state| self.missing_key.look(state, keys));
        if let Some((campaign, why)) = news {
            log!(CodeKeyMissing, campaign, "{why}; this server is not ready");
        }
    }
}

/// Who leads, as far as this node sees.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Role {
    /// This node, under a term.
    Leader(u64),
    /// Another one, by its id and its term.
    Follower(String, u64),
    /// Nobody.
    Leaderless,
}

/// What was seen and said last.
struct Watch {
    role: Option<Role>,
    store: Debounced,
    refuses: bool,
    is_without_store: bool,
    ledger: Debounced,
    differences: Vec<SettingDifference>,
    keys: Counted,
    refused: Counted,
    cut: Counted,
    /// Looks until the campaigns are looked through again for keys that are missing.
    until_keys: u32,
}

impl Watch {
    fn new() -> Self {
        // What was counted before is of nobody: the server has not accepted a connection yet.
        let counted = Counted::default;
        Self {
            role: None,
            store: Debounced::new(GOOD_FOR),
            refuses: false,
            is_without_store: false,
            ledger: Debounced::new(GOOD_FOR),
            differences: Vec::new(),
            keys: counted(),
            refused: counted(),
            cut: counted(),
            until_keys: 0,
        }
    }

    fn leader(&mut self, app: &App) {
        let role = match app.leader.who() {
            _ if app.leader.leads() => Role::Leader(app.leader.who().map_or(0, |leads| leads.term)),
            Some(leads) if leads.node != app.node.id.to_string() => {
                Role::Follower(leads.node, leads.term)
            }
            Some(_) | None => Role::Leaderless,
        };
        if self.role.as_ref() == Some(&role) {
            return;
        }
        if let Some(Role::Leader(term)) = self.role {
            log!(LeadershipEnded, term, "this node does not lead any more");
        }
        match &role {
            Role::Leader(term) => log!(LeaderElected, term, "this node leads"),
            Role::Follower(node, term) => log!(LeaderSeen, %node, term, "another node leads"),
            // The node says so itself, with the reason, once that lasts: an election is quicker.
            Role::Leaderless => {}
        }
        self.role = Some(role);
    }

    fn store(&mut self, app: &App) {
        if app.node.has_stopped() {
            // It said why.
            return;
        }
        let condition = app.node.intake.condition();
        let (is_bad, refuses) = match &condition {
            Condition::Fresh => (false, false),
            Condition::Stale(_) => (true, false),
            Condition::Lost(..) => (true, true),
        };
        let change = self.store.sees(is_bad);
        match condition {
            Condition::Stale(why) if change == Some(true) => {
                let commands = "tried";
                log!(StoreLost, commands, "the store does not answer as it should: {why}");
            }
            Condition::Lost(_, why) if refuses && !self.refuses => {
                let commands = "refused";
                log!(StoreLost, commands, "the store is out of reach: {why}");
            }
            Condition::Fresh if change == Some(false) => {
                let lost_ms = self.store.lasted().as_millis() as u64;
                log!(StoreBack, lost_ms, "the store answers again");
            }
            Condition::Fresh | Condition::Stale(_) | Condition::Lost(..) => {}
        }
        self.refuses = refuses || self.refuses && change != Some(false);
        let is_without_store = app.node.is_without_store();
        if is_without_store && !self.is_without_store {
            log!(
                StoreEmpty,
                "the store has nothing of this space any more: if what it had is lost, run `firstcome nodes reseed`"
            );
        }
        self.is_without_store = is_without_store;
    }

    fn ledger(&mut self, app: &App) {
        let trouble = app.leader.standing().trouble;
        // Who leads no more has no trouble, and nothing is resumed by that.
        if !app.leader.leads() {
            self.ledger = Debounced::new(GOOD_FOR);
            return;
        }
        match (self.ledger.sees(trouble.is_some()), trouble) {
            (Some(true), Some(why)) => log!(SettlingStopped, "no results are settled: {why}"),
            (Some(false), _) => log!(SettlingResumed, "results are settled again"),
            (Some(true) | None, _) => {}
        }
    }

    /// Says each setting in which a live server differs from this one, once, and that all agree again.
    fn settings(&mut self, app: &App) {
        let found = app.node.intake.agreement.differences();
        if found == self.differences {
            return;
        }
        for new in found.iter().filter(|new| !self.differences.contains(new)) {
            let (setting, server) = (new.setting.as_str(), new.address.as_str());
            log!(SettingsDiffer, setting, server, "{new}");
        }
        if found.is_empty() {
            log!(SettingsAgree, "all live servers have the same settings again");
        }
        self.differences = found;
    }

    /// Says which campaign's codes this server has no key for, once: it is not ready then.
    fn code_keys(&mut self, app: &App) {
        if self.until_keys > 0 {
            self.until_keys -= 1;
            return;
        }
        self.until_keys = LOOKS_BETWEEN_KEYS;
        app.look_for_missing_keys();
    }

    fn counts(&mut self, app: &App, at_end: bool) {
        let metrics = &app.metrics;
        let keys = metrics.answers("unauthorized") + metrics.answers("forbidden");
        if let Some(count) = self.keys.due(keys, at_end) {
            let last = metrics.last_refused();
            let (peer, request_id) =
                last.map(|(peer, id)| (peer.to_string(), id.to_string())).unzip();
            log!(
                KeysRefused,
                count,
                peer,
                request_id,
                "requests whose key was refused; the last one's address and id"
            );
        }
        if let Some(count) = self.refused.due(metrics.connections_refused.get(), at_end) {
            log!(ConnectionsRefused, count, "connections refused: too many are open");
        }
        let unread = metrics.connections_unreadable.get() + metrics.connections_insecure.get();
        let cut = unread + metrics.connections_too_slow.get();
        if let Some(count) = self.cut.due(cut, at_end) {
            log!(
                ConnectionsCut,
                count,
                "connections cut: too slow, idle, or nothing that can be read or secured"
            );
        }
    }
}
