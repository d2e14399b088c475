//! Open files: as many as the connections of a server need.

use firstcome_node::log;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Files a server needs beside its connections: the journal, the ledger, snapshots, archives, stores, services that are
/// asked, and what the runtime has open itself.
const OTHER_FILES: u64 = 128;

/// Connections that a server takes at least, however few files it may open; what it then cannot accept waits.
const LEAST_CONNECTIONS: u64 = 16;

/// Raises the soft limit of open files to what so many connections need; gives how many connections there are files for.
///
/// `beside` are connections that come on top of them. Where the hard limit is too low, the log says so: whoever is
/// beyond is refused, and not left waiting without a word.
pub(super) fn raise(connections: usize, beside: usize) -> usize {
    let (wanted, beside) = (connections as u64, beside as u64 + OTHER_FILES);
    let limit = getrlimit(Resource::Nofile);
    let needed = wanted + beside;
    // Without a number there is no limit.
    let hard = limit.maximum.unwrap_or(u64::MAX);
    if limit.current.is_some_and(|soft| soft < needed) {
        let raised = Rlimit { current: Some(needed.min(hard)), ..limit };
        if let Err(why) = setrlimit(Resource::Nofile, raised) {
            log!(FewOpenFiles, "cannot raise the limit of open files: {why}");
        }
    }
    let may = getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX);
    if may >= needed {
        return connections;
    }
    let fits = may.saturating_sub(beside).clamp(LEAST_CONNECTIONS, wanted.max(LEAST_CONNECTIONS));
    log!(
        FewOpenFiles,
        "{wanted} connections need {needed} open files, and this process may open {may}: it takes {fits} connections; \
         raise the hard limit (ulimit -Hn, LimitNOFILE), or set connections"
    );
    usize::try_from(fits).unwrap_or(connections).min(connections)
}
