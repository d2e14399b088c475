//! Every maximum the rules and the stored bytes rest on.

/// Bytes in the name of a campaign or a pool: 1 to this many.
pub const NAME_BYTES: usize = 64;
/// Bytes in a subject: 1 to this many.
pub const SUBJECT_BYTES: usize = 255;
/// Bytes in a campaign's title: 0 to this many.
pub const TITLE_BYTES: usize = 256;
/// Bytes in the reason an operator gives for a cancel: 0 to this many.
pub const REASON_BYTES: usize = 256;
/// Bytes in the id of an operator command: 1 to this many.
pub const COMMAND_ID_BYTES: usize = 64;
/// Bytes in the name of the key that gave an operator command: 1 to this many.
pub const WHO_BYTES: usize = 64;
/// Pools in one campaign: 1 to this many.
pub const POOLS: usize = 256;
/// Units in one pool: 1 to this many.
pub const CAPACITY: u64 = u32::MAX as u64 - 1;
/// Commands in one batch.
pub const BATCH_COMMANDS: usize = 4_096;
/// Bytes of one batch, body and all.
pub const BATCH_BYTES: usize = 1 << 20;
/// Bytes of one piece of a snapshot.
pub const PIECE_BYTES: usize = 256 << 10;
/// Entries given by one read of the journal.
pub const READ_ENTRIES: usize = 64;
/// The longest step between two entries that counts as service time, in microseconds: 15 s.
pub const SERVICE_STEP_US: i64 = 15_000_000;
/// How long the last batch number of a node is remembered after its last use, in microseconds of
/// service time: 1 h.
pub const NODE_MEMORY_US: i64 = 3_600_000_000;
/// How long the id of an operator command is remembered, in microseconds of service time: 24 h.
pub const COMMAND_MEMORY_US: i64 = 24 * 3_600_000_000;
/// Ids of operator commands remembered at most; beyond it the oldest go first.
pub const COMMAND_MEMORY: usize = 100_000;
/// Digests a replica keeps to compare with what other nodes say.
pub const DIGESTS_KEPT: usize = 4_096;
