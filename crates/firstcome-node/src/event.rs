//! The log lines of a server: a closed list of events, each with a stable name and a level.
//!
//! Every line is written with [`log!`](crate::log) and has the field `event`. `docs/reference/logs.md` says what each means
//! and what to do; a test compares. A line at the level `info` or above names no subject and no key's secret, but for
//! [`Event::ForkReportNotStored`].

use tracing::Level;

/// What a log line is about: `docs/reference/logs.md` has the meaning of each, and a test compares.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    Starting,
    JournalReplaying,
    Serving,
    FolderOpenToOthers,
    FewOpenFiles,
    StdoutClosed,
    StoreHasNoSpace,
    StoreWarning,
    DurabilityUnproven,
    DurabilityProven,
    DurabilityChanged,
    LedgerUnavailable,
    HangupSignal,
    Leaving,
    Draining,
    DrainCut,
    HandedOver,
    Stopped,
    Panicked,
    TaskPanicked,
    LogLinesLost,
    LeaderElected,
    LeadershipEnded,
    TermLost,
    RenewalLate,
    LockStoreSilent,
    LockStoreBack,
    LeaderSeen,
    NobodyLeads,
    LeaderFailed,
    SettingsDiffer,
    SettingsAgree,
    StoreLost,
    StoreBack,
    StoreEmpty,
    StoreMarked,
    StoreNotMarked,
    StoreReseeded,
    LastWithSpace,
    HealingBegan,
    HealingEnded,
    ForkFound,
    ForkMended,
    ForkReport,
    ForkReportNotStored,
    /// Imported codes that changed hands in a fork could not be suspended.
    CodesNotSuspended,
    DivergenceFound,
    DivergenceUnresolved,
    DivergenceElsewhere,
    DivergenceHere,
    NodeStopped,
    SpaceMoved,
    StuckAtEntry,
    WentOn,
    SlowBatch,
    SettlingStopped,
    SettlingResumed,
    SnapshotDamaged,
    SnapshotFailed,
    SnapshotWritten,
    JournalLogLong,
    JournalLogShort,
    DeliveryEnded,
    WebhookFailing,
    WebhookTaken,
    WebhookParked,
    WebhookOff,
    KeysRefused,
    ConnectionsRefused,
    ConnectionsCut,
    OriginRefused,
    AcceptFailed,
    TlsChanged,
    TlsUnusable,
    ConfigurationChanged,
    ConfigurationUnusable,
    KeyExpires,
    EligibilityUnknown,
    EligibilityKnown,
    WrongCodes,
    CodeKeyMissing,
    Request,
}

/// Every event with its stable name and its level, in the order of the page that documents them.
const TABLE: [(Event, &str, Level); 82] = [
    (Event::Starting, "starting", Level::INFO),
    (Event::JournalReplaying, "journal_replaying", Level::INFO),
    (Event::Serving, "serving", Level::INFO),
    (Event::FolderOpenToOthers, "folder_open_to_others", Level::WARN),
    (Event::FewOpenFiles, "few_open_files", Level::WARN),
    (Event::StdoutClosed, "stdout_closed", Level::WARN),
    (Event::StoreHasNoSpace, "store_has_no_space", Level::INFO),
    (Event::StoreWarning, "store_warning", Level::WARN),
    (Event::DurabilityUnproven, "durability_unproven", Level::WARN),
    (Event::DurabilityProven, "durability_proven", Level::INFO),
    (Event::DurabilityChanged, "durability_changed", Level::INFO),
    (Event::LedgerUnavailable, "ledger_unavailable", Level::WARN),
    (Event::HangupSignal, "hangup_signal", Level::INFO),
    (Event::Leaving, "leaving", Level::INFO),
    (Event::Draining, "draining", Level::INFO),
    (Event::DrainCut, "drain_cut", Level::WARN),
    (Event::HandedOver, "handed_over", Level::INFO),
    (Event::Stopped, "stopped", Level::INFO),
    (Event::Panicked, "panicked", Level::ERROR),
    (Event::TaskPanicked, "task_panicked", Level::ERROR),
    (Event::LogLinesLost, "log_lines_lost", Level::WARN),
    (Event::LeaderElected, "leader_elected", Level::INFO),
    (Event::LeadershipEnded, "leadership_ended", Level::INFO),
    (Event::TermLost, "term_lost", Level::WARN),
    (Event::RenewalLate, "renewal_late", Level::WARN),
    (Event::LockStoreSilent, "lock_store_silent", Level::WARN),
    (Event::LockStoreBack, "lock_store_back", Level::INFO),
    (Event::LeaderSeen, "leader_seen", Level::INFO),
    (Event::NobodyLeads, "nobody_leads", Level::WARN),
    (Event::LeaderFailed, "leader_failed", Level::ERROR),
    (Event::SettingsDiffer, "settings_differ", Level::WARN),
    (Event::SettingsAgree, "settings_agree", Level::INFO),
    (Event::StoreLost, "store_lost", Level::WARN),
    (Event::StoreBack, "store_back", Level::INFO),
    (Event::StoreEmpty, "store_empty", Level::ERROR),
    (Event::StoreMarked, "store_marked", Level::WARN),
    (Event::StoreNotMarked, "store_not_marked", Level::ERROR),
    (Event::StoreReseeded, "store_reseeded", Level::WARN),
    (Event::LastWithSpace, "last_with_space", Level::ERROR),
    (Event::HealingBegan, "healing_began", Level::INFO),
    (Event::HealingEnded, "healing_ended", Level::INFO),
    (Event::ForkFound, "fork_found", Level::WARN),
    (Event::ForkMended, "fork_mended", Level::WARN),
    (Event::ForkReport, "fork_report", Level::DEBUG),
    (Event::ForkReportNotStored, "fork_report_not_stored", Level::ERROR),
    (Event::CodesNotSuspended, "codes_not_suspended", Level::ERROR),
    (Event::DivergenceFound, "divergence_found", Level::WARN),
    (Event::DivergenceUnresolved, "divergence_unresolved", Level::WARN),
    (Event::DivergenceElsewhere, "divergence_elsewhere", Level::ERROR),
    (Event::DivergenceHere, "divergence_here", Level::ERROR),
    (Event::NodeStopped, "node_stopped", Level::ERROR),
    (Event::SpaceMoved, "space_moved", Level::ERROR),
    (Event::StuckAtEntry, "stuck_at_entry", Level::ERROR),
    (Event::WentOn, "went_on", Level::INFO),
    (Event::SlowBatch, "slow_batch", Level::WARN),
    (Event::SettlingStopped, "settling_stopped", Level::WARN),
    (Event::SettlingResumed, "settling_resumed", Level::INFO),
    (Event::SnapshotDamaged, "snapshot_damaged", Level::WARN),
    (Event::SnapshotFailed, "snapshot_failed", Level::WARN),
    (Event::SnapshotWritten, "snapshot_written", Level::DEBUG),
    (Event::JournalLogLong, "journal_log_long", Level::WARN),
    (Event::JournalLogShort, "journal_log_short", Level::INFO),
    (Event::DeliveryEnded, "delivery_ended", Level::WARN),
    (Event::WebhookFailing, "webhook_failing", Level::WARN),
    (Event::WebhookTaken, "webhook_taken", Level::INFO),
    (Event::WebhookParked, "webhook_parked", Level::WARN),
    (Event::WebhookOff, "webhook_off", Level::ERROR),
    (Event::KeysRefused, "keys_refused", Level::WARN),
    (Event::ConnectionsRefused, "connections_refused", Level::WARN),
    (Event::ConnectionsCut, "connections_cut", Level::INFO),
    (Event::OriginRefused, "origin_refused", Level::WARN),
    (Event::AcceptFailed, "accept_failed", Level::ERROR),
    (Event::TlsChanged, "tls_changed", Level::INFO),
    (Event::TlsUnusable, "tls_unusable", Level::WARN),
    (Event::ConfigurationChanged, "configuration_changed", Level::INFO),
    (Event::ConfigurationUnusable, "configuration_unusable", Level::WARN),
    (Event::KeyExpires, "key_expires", Level::WARN),
    (Event::EligibilityUnknown, "eligibility_unknown", Level::WARN),
    (Event::EligibilityKnown, "eligibility_known", Level::INFO),
    (Event::WrongCodes, "wrong_codes", Level::WARN),
    (Event::CodeKeyMissing, "code_key_missing", Level::ERROR),
    (Event::Request, "request", Level::DEBUG),
];

impl Event {
    /// All events, in the order of the page that documents them.
    pub const ALL: [Self; TABLE.len()] = {
        let (mut all, mut place) = ([Self::Starting; TABLE.len()], 0);
        while place < TABLE.len() {
            all[place] = TABLE[place].0;
            place += 1;
        }
        all
    };

    /// Returns the stable name, which the field `event` has.
    pub const fn as_str(self) -> &'static str {
        TABLE[self as usize].1
    }

    /// Returns the level.
    pub const fn level(self) -> Level {
        TABLE[self as usize].2
    }

    /// Writes a line that is known only while the program runs.
    pub fn write(self, text: &str) {
        let event = self.as_str();
        match self.level() {
            Level::ERROR => tracing::error!(target: "firstcome", event, "{text}"),
            Level::WARN => tracing::warn!(target: "firstcome", event, "{text}"),
            Level::INFO => tracing::info!(target: "firstcome", event, "{text}"),
            Level::DEBUG | Level::TRACE => tracing::debug!(target: "firstcome", event, "{text}"),
        }
    }
}

/// Writes a log line: the event, its fields, and a sentence.
///
/// Below the level that is asked for it costs one comparison: fields and sentence are not computed.
#[macro_export]
macro_rules! log {
    ($event:ident, $($rest:tt)+) => {
        ::tracing::event!(
            target: "firstcome",
            $crate::event::Event::$event.level(),
            event = $crate::event::Event::$event.as_str(),
            $($rest)+
        )
    };
}

pub(crate) use log;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_event_stands_in_the_list_once_and_has_a_name_of_its_own() {
        for (index, event) in Event::ALL.into_iter().enumerate() {
            assert_eq!(event as usize, index, "{event:?}");
            let same = Event::ALL.iter().filter(|other| other.as_str() == event.as_str());
            assert_eq!(same.count(), 1, "{event:?}");
        }
        // The last one of the enum is the last one of the list: none is missing between.
        assert_eq!(Event::Request as usize + 1, Event::ALL.len());
    }
}
