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
    KeysRefused,
    ConnectionsRefused,
    ConnectionsCut,
    OriginRefused,
    AcceptFailed,
    TlsChanged,
    TlsUnusable,
    EligibilityUnknown,
    EligibilityKnown,
    WrongCodes,
    CodeKeyMissing,
    Request,
}

impl Event {
    /// All events, in the order of the page that documents them.
    pub const ALL: [Self; 75] = [
        Self::Starting,
        Self::JournalReplaying,
        Self::Serving,
        Self::FolderOpenToOthers,
        Self::FewOpenFiles,
        Self::StdoutClosed,
        Self::StoreHasNoSpace,
        Self::StoreWarning,
        Self::DurabilityUnproven,
        Self::DurabilityProven,
        Self::DurabilityChanged,
        Self::LedgerUnavailable,
        Self::HangupSignal,
        Self::Leaving,
        Self::Draining,
        Self::DrainCut,
        Self::HandedOver,
        Self::Stopped,
        Self::Panicked,
        Self::TaskPanicked,
        Self::LogLinesLost,
        Self::LeaderElected,
        Self::LeadershipEnded,
        Self::TermLost,
        Self::RenewalLate,
        Self::LockStoreSilent,
        Self::LockStoreBack,
        Self::LeaderSeen,
        Self::NobodyLeads,
        Self::LeaderFailed,
        Self::SettingsDiffer,
        Self::SettingsAgree,
        Self::StoreLost,
        Self::StoreBack,
        Self::StoreEmpty,
        Self::StoreMarked,
        Self::StoreNotMarked,
        Self::StoreReseeded,
        Self::LastWithSpace,
        Self::HealingBegan,
        Self::HealingEnded,
        Self::ForkFound,
        Self::ForkMended,
        Self::ForkReport,
        Self::ForkReportNotStored,
        Self::CodesNotSuspended,
        Self::DivergenceFound,
        Self::DivergenceUnresolved,
        Self::DivergenceElsewhere,
        Self::DivergenceHere,
        Self::NodeStopped,
        Self::SpaceMoved,
        Self::StuckAtEntry,
        Self::WentOn,
        Self::SlowBatch,
        Self::SettlingStopped,
        Self::SettlingResumed,
        Self::SnapshotDamaged,
        Self::SnapshotFailed,
        Self::SnapshotWritten,
        Self::JournalLogLong,
        Self::JournalLogShort,
        Self::DeliveryEnded,
        Self::KeysRefused,
        Self::ConnectionsRefused,
        Self::ConnectionsCut,
        Self::OriginRefused,
        Self::AcceptFailed,
        Self::TlsChanged,
        Self::TlsUnusable,
        Self::EligibilityUnknown,
        Self::EligibilityKnown,
        Self::WrongCodes,
        Self::CodeKeyMissing,
        Self::Request,
    ];

    const fn row(self) -> (&'static str, Level) {
        match self {
            Self::Starting => ("starting", Level::INFO),
            Self::JournalReplaying => ("journal_replaying", Level::INFO),
            Self::Serving => ("serving", Level::INFO),
            Self::FolderOpenToOthers => ("folder_open_to_others", Level::WARN),
            Self::FewOpenFiles => ("few_open_files", Level::WARN),
            Self::StdoutClosed => ("stdout_closed", Level::WARN),
            Self::StoreHasNoSpace => ("store_has_no_space", Level::INFO),
            Self::StoreWarning => ("store_warning", Level::WARN),
            Self::DurabilityUnproven => ("durability_unproven", Level::WARN),
            Self::DurabilityProven => ("durability_proven", Level::INFO),
            Self::DurabilityChanged => ("durability_changed", Level::INFO),
            Self::LedgerUnavailable => ("ledger_unavailable", Level::WARN),
            Self::HangupSignal => ("hangup_signal", Level::INFO),
            Self::Leaving => ("leaving", Level::INFO),
            Self::Draining => ("draining", Level::INFO),
            Self::DrainCut => ("drain_cut", Level::WARN),
            Self::HandedOver => ("handed_over", Level::INFO),
            Self::Stopped => ("stopped", Level::INFO),
            Self::Panicked => ("panicked", Level::ERROR),
            Self::TaskPanicked => ("task_panicked", Level::ERROR),
            Self::LogLinesLost => ("log_lines_lost", Level::WARN),
            Self::LeaderElected => ("leader_elected", Level::INFO),
            Self::LeadershipEnded => ("leadership_ended", Level::INFO),
            Self::TermLost => ("term_lost", Level::WARN),
            Self::RenewalLate => ("renewal_late", Level::WARN),
            Self::LockStoreSilent => ("lock_store_silent", Level::WARN),
            Self::LockStoreBack => ("lock_store_back", Level::INFO),
            Self::LeaderSeen => ("leader_seen", Level::INFO),
            Self::NobodyLeads => ("nobody_leads", Level::WARN),
            Self::LeaderFailed => ("leader_failed", Level::ERROR),
            Self::SettingsDiffer => ("settings_differ", Level::WARN),
            Self::SettingsAgree => ("settings_agree", Level::INFO),
            Self::StoreLost => ("store_lost", Level::WARN),
            Self::StoreBack => ("store_back", Level::INFO),
            Self::StoreEmpty => ("store_empty", Level::ERROR),
            Self::StoreMarked => ("store_marked", Level::WARN),
            Self::StoreNotMarked => ("store_not_marked", Level::ERROR),
            Self::StoreReseeded => ("store_reseeded", Level::WARN),
            Self::LastWithSpace => ("last_with_space", Level::ERROR),
            Self::HealingBegan => ("healing_began", Level::INFO),
            Self::HealingEnded => ("healing_ended", Level::INFO),
            Self::ForkFound => ("fork_found", Level::WARN),
            Self::ForkMended => ("fork_mended", Level::WARN),
            Self::ForkReport => ("fork_report", Level::DEBUG),
            Self::ForkReportNotStored => ("fork_report_not_stored", Level::ERROR),
            Self::CodesNotSuspended => ("codes_not_suspended", Level::ERROR),
            Self::DivergenceFound => ("divergence_found", Level::WARN),
            Self::DivergenceUnresolved => ("divergence_unresolved", Level::WARN),
            Self::DivergenceElsewhere => ("divergence_elsewhere", Level::ERROR),
            Self::DivergenceHere => ("divergence_here", Level::ERROR),
            Self::NodeStopped => ("node_stopped", Level::ERROR),
            Self::SpaceMoved => ("space_moved", Level::ERROR),
            Self::StuckAtEntry => ("stuck_at_entry", Level::ERROR),
            Self::WentOn => ("went_on", Level::INFO),
            Self::SlowBatch => ("slow_batch", Level::WARN),
            Self::SettlingStopped => ("settling_stopped", Level::WARN),
            Self::SettlingResumed => ("settling_resumed", Level::INFO),
            Self::SnapshotDamaged => ("snapshot_damaged", Level::WARN),
            Self::SnapshotFailed => ("snapshot_failed", Level::WARN),
            Self::SnapshotWritten => ("snapshot_written", Level::DEBUG),
            Self::JournalLogLong => ("journal_log_long", Level::WARN),
            Self::JournalLogShort => ("journal_log_short", Level::INFO),
            Self::DeliveryEnded => ("delivery_ended", Level::WARN),
            Self::KeysRefused => ("keys_refused", Level::WARN),
            Self::ConnectionsRefused => ("connections_refused", Level::WARN),
            Self::ConnectionsCut => ("connections_cut", Level::INFO),
            Self::OriginRefused => ("origin_refused", Level::WARN),
            Self::AcceptFailed => ("accept_failed", Level::ERROR),
            Self::TlsChanged => ("tls_changed", Level::INFO),
            Self::TlsUnusable => ("tls_unusable", Level::WARN),
            Self::EligibilityUnknown => ("eligibility_unknown", Level::WARN),
            Self::EligibilityKnown => ("eligibility_known", Level::INFO),
            Self::WrongCodes => ("wrong_codes", Level::WARN),
            Self::CodeKeyMissing => ("code_key_missing", Level::ERROR),
            Self::Request => ("request", Level::DEBUG),
        }
    }

    /// Returns the stable name, which the field `event` has.
    pub const fn as_str(self) -> &'static str {
        self.row().0
    }

    /// Returns the level.
    pub const fn level(self) -> Level {
        self.row().1
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
