//! The judge: checks whether every promise was kept, from the requests and replies, and from what the servers of the
//! store had.
//!
//! The judge knows nothing of the code of the rules, of nodes, or of digests: it reads the commands in
//! the entries and makes of them what the documents say, with rules written once more (`firstcome-model`).
//!
//! | Promise | What is checked | Where |
//! |---|---|---|
//! | `entries_readable` | every entry has the commands and the name its writer gave it | `link` |
//! | `name_of_one_entry` | no two entries have the same position and name, whichever branches they are on | `link` |
//! | `entries_chained` | every entry names one that was there before it, one position below | `link` |
//! | `time_never_goes_back` | neither time nor epoch of an entry is before that of the one it names | `link` |
//! | `journal_is_one_chain` | the final journal begins with the first entry and leaves none out | `tree` |
//! | `answered_by_an_entry` | a decision of the journal has an entry there, stored while the caller waited | `answers` |
//! | `decided_by_the_rules` | it is what the rules make of that command in that entry's history | `answers` |
//! | `position_honoured` | an answer is at or past the position brought | `answers` |
//! | `stale_only_if_over` | `stale_position` only once a later epoch was there | `answers` |
//! | `memory_never_decides` | from memory only what the table in the guarantees lists | `memory` |
//! | `memory_true` | what was said from memory was so at the position it names | `memory` |
//! | `memory_fresh` | that position was a head at most a second before the question, or since | `memory` |
//! | `memory_caught_up` | where the table demands it, it was a head since the question | `memory` |
//! | `memory_not_open_yet` | `not_open` was not said once the store's clock had reached the opening | `memory` |
//! | `memory_taken_lasts` | `unit_taken` was not said of what may be free again within two seconds | `memory` |
//! | `asked_for` | every claim, cancel and operator command in an entry was asked for before | `asked` |
//! | `no_changed_nothing` | what was refused as busy, full or unavailable is in no entry | `asked` |
//! | `ranks_without_a_gap` | the final journal gives ranks 1, 2, 3 in its order, and results too | `events` |
//! | `nobody_twice` | no two live claims of a subject in a pool, none over the campaign's limit | `events` |
//! | `never_more_than_there_is` | live claims never exceed the capacity in force | `events` |
//! | `acts_listed` | the list of acts of each campaign has every operator's command that the journal decided, once | `ended` |
//! | `only_while_open` | nothing is given before the opening, after the closing, or while paused | `events` |
//! | `never_used_beyond` | no code has more redemptions that stand than uses | `events` |
//! | `code_has_one_subject` | a generated code is one subject's in all histories, an imported one in each | `whose_codes` |
//! | `code_is_theirs` | the code that a caller was shown was issued to the subject of the claim | `whose_codes` |
//! | `code_of_two_rests` | an imported code that somebody else was shown as theirs is suspended or revoked | `whose_codes` |
//! | `codes_are_read` | a code that a caller was shown is no typing error | `answers` |
//! | `no_unit_twice` | no two live claims of the final journal have the same seat | `events` |
//! | `whole_or_nothing` | a caller that got a hold got all it asked for | `baskets` |
//! | `line_in_order` | a caller that waits for a seat is not overtaken by a later one | `wait_queue` |
//! | `line_waits` | a waiting caller hears that the seat is taken only when its time is over | `wait_queue` |
//! | `level_as_raised` | no entry is above the first level, or the one that its space was raised to before it | `tree` |
//! | `acknowledged_kept` | every yes still holds, is in a fork's list, or was allowed to be lost | `promises` |
//! | `orphans_brought` | a yes that a fork's list excuses is of a batch that ran in the end, or was allowed to be lost | `promises` |
//! | `waits_for_others` | half a second after the store turned nobody appended something new | `failover` |
//! | `settled_in_order` | no leader writes into the ledger once another one began there | `settled` |
//! | `settled_is_there` | what the final journal says the ledger has was there, as it was | `settled` |
//! | `settled_when_durable` | the ledger had nothing which a store lost that loses nothing durable | `settled` |
//! | `ledger_whole` | the ledger has each result once, in order, as it was | `ended` |
//! | `quiet_at_the_end` | every node is at the end of the journal, they agree, one leads, nothing is in trouble | `ended` |

mod acknowledged;
mod answers;
mod asked;
mod baskets;
mod ended;
mod events;
mod excuses;
mod failover;
mod link;
mod memory;
mod promises;
mod replay;
mod settled;
mod tree;
mod wait_queue;
mod whose_codes;

use crate::history::{Asked, Exchange, History, Moment, Reply};
use excuses::Excuses;
use firstcome_core::command::Order;
use firstcome_node::Decided;
use replay::Replay;
use std::fmt;
use tree::Tree;

/// A promise that was broken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Broken {
    /// Which one: a name that stays the same, such as `acknowledged_kept`.
    pub promise: &'static str,
    /// The request, its time, its reply, and what is true instead.
    pub what: String,
}

impl Broken {
    fn new(promise: &'static str, what: impl Into<String>) -> Self {
        Self { promise, what: what.into() }
    }
}

impl fmt::Display for Broken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.promise, self.what)
    }
}

/// The counts of a world in which every promise was kept.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Verdict {
    /// Claims with a yes that a caller heard, each once.
    pub claims_acknowledged: usize,
    /// Holds that a caller heard of, each once.
    pub holds_acknowledged: usize,
    /// Answers from memory that were looked at.
    pub answers_from_memory: usize,
    /// Entries after which histories part.
    pub forks: usize,
    /// Acknowledgements that hold no more as they were acknowledged, and are in a fork's list.
    pub ranks_excused: usize,
    /// Acknowledgements that were lost as the row of the durability allows.
    pub losses_allowed: usize,
    /// Results in the ledger that are those of the final journal.
    pub results_settled: usize,
    /// Results in the ledger that a fork or an allowed loss took back after they were settled.
    pub results_overtaken: usize,
    /// The newest results, which the operator took out of the ledger by restoring an older one, and
    /// after which none came that would have shown it.
    pub results_taken_out: usize,
}

/// Judges a world: gives its counts if every promise was kept.
///
/// # Errors
///
/// Every promise that was found broken, in the order of the table above. If the entries are no chain,
/// nothing else is looked at: there is nothing to judge it by.
pub fn judge(history: &History) -> Result<Verdict, Vec<Broken>> {
    let tree = Tree::build(history)?;
    let replay = Replay::along(&tree, &history.exchanges);
    let mut verdict = Verdict { forks: tree.forks(), ..Verdict::default() };
    let mut wrong = Vec::new();
    let reply = answers::check(history, &tree, &replay, &mut verdict, &mut wrong);
    asked::check(history, &tree, &mut wrong);
    let journal = tree.journal.iter().flat_map(|vertex| &replay.events[*vertex]);
    events::check(journal, &mut wrong);
    tree.check_levels(&mut wrong);
    let excuses = Excuses::new(history, &tree);
    whose_codes::check(history, &tree, &replay, &excuses, &mut wrong);
    promises::check(history, &tree, &replay, &excuses, &reply, &mut verdict, &mut wrong);
    failover::check(history, &tree, &mut wrong);
    wait_queue::check(history, &tree, &reply, &mut wrong);
    baskets::check(history, &mut wrong);
    settled::check(history, &tree, &replay, &mut wrong);
    ended::check(history, &replay, &mut verdict, &mut wrong);
    if wrong.is_empty() { Ok(verdict) } else { Err(wrong) }
}

/// A moment as people read it.
struct At(Moment);

impl fmt::Display for At {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:.3} s", self.0.as_secs_f64())
    }
}

/// What was asked as people read it.
struct Question<'a>(&'a Asked);

impl fmt::Display for Question<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Asked::Claim { campaign, pool, subject } => {
                let pool = pool.as_ref().map_or(String::new(), |pool| format!("/{pool}"));
                write!(f, "{subject:?} claimed {campaign}{pool}")
            }
            Asked::Cancel { campaign, pool, subject, rank, operator } => {
                let who = if *operator { "the operator" } else { subject };
                let pool = pool.as_ref().map_or(String::new(), |pool| format!("/{pool}"));
                write!(f, "{who:?} cancelled {subject:?} in {campaign}{pool}, rank {rank},")
            }
            Asked::Raise => write!(f, "the operator raised the space"),
            Asked::Put { campaign, order, .. } => write!(f, "{} put {campaign}", Operator(*order)),
            Asked::Steer { campaign, steer, order } => {
                write!(f, "{} told {campaign} to {steer:?}", Operator(*order))
            }
            Asked::Code { command, .. } => write!(f, "somebody typed a code for {command:?}"),
            Asked::On { command, wait } if wait.is_zero() => {
                write!(f, "somebody asked {command:?}")
            }
            Asked::On { command, wait } => {
                write!(f, "somebody asked {command:?}, waiting {wait:?},")
            }
        }
    }
}

/// An operator, with the id of the command.
struct Operator(Order<'static>);

impl fmt::Display for Operator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Order { id, who } = self.0;
        let id = id.map_or(String::new(), |id| format!(" under id {id:?}"));
        write!(f, "operator {who:?}{id}")
    }
}

/// A request with its times and its reply.
struct Story<'a>(&'a Exchange);

impl fmt::Display for Story<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Exchange { node_run, asked_at, asked, heard_at, reply, .. } = self.0;
        write!(f, "{} at {} at life {node_run} and was told ", Question(asked), At(*asked_at))?;
        match reply {
            Reply::Answer { outcome, position, decided } => {
                let by = match decided {
                    Decided::Journal => "by the journal",
                    Decided::Replica => "from memory",
                };
                write!(f, "{outcome:?} {by} as of {position}")?;
            }
            Reply::Failure(failure) => write!(f, "{failure:?}")?,
            Reply::Nothing => write!(f, "nothing")?,
        }
        write!(f, " at {}", At(*heard_at))
    }
}
