//! The deliberate mistakes that the simulation must detect.

use firstcome_inject::Mistake;

/// Mistakes that no promise breaks by, and what covers the missing protection.
pub const COVERED: [(Mistake, &str); 4] = [
    (
        Mistake::AppendAnywhere,
        "an append rests on one connection, a node that has another one compares histories before it appends, and what \
         it reads back is applied only if it names the entry before",
    ),
    (
        Mistake::PiecesDroppedAtOnce,
        "whoever reads a snapshot whose pieces went begins again with the newest one, which has all of its own, and \
         whoever writes one is told which are missing and brings all of them",
    ),
    (
        Mistake::WriterKeptAfterFork,
        "a node brings what it has before it writes anything new, so that its numbers rise all the same; who loses a \
         batch of it that only others have is named in their lists",
    ),
    (
        Mistake::NoTickForHolds,
        "while something is held an entry comes every five seconds, and whoever asks for what a hold has had brings one",
    ),
];

/// Mistakes for which a real store is needed, somebody who counts what it is asked, somebody who does not wait and
/// comes at the right moment, a command of a megabyte, or somebody who looks how long
/// it takes until who waits is called; or, of the last three, an operator who skips an entry.
const ELSEWHERE: [Mistake; 17] = [
    // Two failovers in a row, each at its moment: hardly one of some hundred thousand worlds has them.
    Mistake::MixedBranchesStop,
    Mistake::SnapshotForEntries,
    // No space leaves its store there.
    Mistake::ExportWithoutEnd,
    // Nobody follows the events of a campaign there.
    Mistake::LaggedWithoutReset,
    // The answer is the same, only later.
    Mistake::BarredStaysInLine,
    // Worlds are too small for a list that one entry does not get done, and nobody confirms late in a pause.
    Mistake::ClaimPromisedUnits,
    Mistake::ListTurnForgotten,
    Mistake::RetakeBeforeList,
    // Every server of a world is of one build.
    Mistake::RaiseUnread,
    Mistake::WaitOnOtherConnection,
    Mistake::PollWhileWaiting,
    Mistake::WaitForTickFirst,
    Mistake::FreedSeatsUnheard,
    Mistake::CommandNotMeasured,
    Mistake::ClaimBreaksRule,
    Mistake::ExpiryBreaksRule,
    Mistake::SkipForgetsNumber,
];

/// Returns every mistake that a simulated world can make and must notice.
pub fn all() -> impl Iterator<Item = Mistake> {
    possible().filter(|one| !COVERED.iter().any(|(mistake, _)| mistake == one))
}

fn possible() -> impl Iterator<Item = Mistake> {
    Mistake::ALL.into_iter().filter(|one| !ELSEWHERE.contains(one))
}

/// Returns the mistake of a name, if a simulated world can make it.
pub fn named(name: &str) -> Option<Mistake> {
    possible().find(|mistake| mistake.name() == name)
}
