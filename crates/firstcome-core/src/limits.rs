//! Every maximum of the rules and of the stored bytes.

/// Bytes in the name of a campaign or a pool: 1 to this many.
pub const NAME_BYTES: usize = 64;
/// Bytes in a subject: 1 to this many.
pub const SUBJECT_BYTES: usize = 255;
/// Bytes in a campaign's title: 0 to this many.
pub const TITLE_BYTES: usize = 256;
/// Bytes in the reason an operator gives for a cancel: 0 to this many.
pub const REASON_BYTES: usize = 256;
/// Acts of operators on one campaign that are given, the last ones; a few more are kept.
pub const ACTS: u32 = 1_000;
/// Bytes of what an act is about: 0 to this many; what is longer is cut.
pub const ACT_ABOUT_BYTES: usize = 512;
/// Bytes of the outcome of an act.
pub const ACT_OUTCOME_BYTES: usize = 64;
/// Subjects barred from one campaign.
pub const BARS: usize = 100_000;
/// Bytes in the id of an operator command: 1 to this many.
pub const COMMAND_ID_BYTES: usize = 64;
/// Bytes in the name of the key that gave an operator command: 1 to this many.
pub const WHO_BYTES: usize = 64;
/// Claims of one subject in one pool, those that are cancelled and what it holds included.
pub const CLAIMS_OF_SUBJECT: u32 = 1_000;
/// Pools in one campaign: 1 to this many.
pub const POOLS: usize = 256;
/// Units in one pool: 1 to this many.
pub const CAPACITY: u64 = u32::MAX as u64 - 1;
/// Commands in one batch.
pub const BATCH_COMMANDS: usize = 4_096;
/// Bytes of one batch, body and all.
pub const BATCH_BYTES: usize = 1 << 20;
/// Bytes of one command: the space in a body besides its head, the names of a target and its checksum.
pub const COMMAND_BYTES: usize = BATCH_BYTES - 512;
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
/// Bytes in the id of a hold, or of one step on a hold: 1 to this many.
pub const HOLD_ID_BYTES: usize = 64;
/// Grades of a campaign that have a limit of their own.
pub const GRADE_LIMITS: usize = 64;
/// Picks in one command on a hold.
pub const PICKS: usize = 64;
/// Units in one hold, whatever became of them.
pub const HOLD_UNITS: usize = 500;
/// Steps on a hold whose ids are remembered; beyond it the oldest go first.
pub const HOLD_STEPS: usize = 16;
/// How long a hold lasts where the operator says nothing else, in microseconds of service time: 8 min.
pub const HOLD_TTL_US: i64 = 480_000_000;
/// How long after its start a hold can be extended to where the operator says nothing else, in
/// microseconds of service time: 30 min.
pub const HOLD_MAX_US: i64 = 1_800_000_000;
/// The shortest time a hold can last, in microseconds: 1 s.
pub const HOLD_LEAST_US: i64 = 1_000_000;
/// The longest time a hold can last, in microseconds: 24 h.
pub const HOLD_MOST_US: i64 = 24 * 3_600_000_000;
/// Holds one subject may start in an hour of service time where the operator says nothing else.
pub const HOLDS_PER_HOUR: u32 = 60;
/// The most holds an operator may let one subject start in an hour of service time.
pub const HOLDS_PER_HOUR_MOST: u32 = 1_000;
/// How long the id of a hold that has ended is remembered, in microseconds of service time: 24 h.
pub const HOLD_MEMORY_US: i64 = 24 * 3_600_000_000;
/// Holds that have ended and are remembered, for each campaign; beyond it those that ended first go first.
pub const HOLD_MEMORY: usize = 1 << 20;
/// Those who may wait for one pool where the operator says nothing else.
pub const WAITLIST: u32 = 100_000;
/// The most an operator may let wait for one pool.
pub const WAITLIST_MOST: u32 = 1_000_000;
/// Units one may wait for at once: 1 to this many.
pub const WISH_UNITS: u32 = 10;
/// Kinds of wish for several units (quantity, grade, channel, area, next to each other) on the waitlist of one pool. Those for
/// one unit are bounded by the names of the pool's grades, channels and areas.
pub const WISHES: usize = 64;
/// How long an offer lasts where the operator says nothing else, in microseconds of service time: 10 min.
pub const OFFER_US: i64 = 600_000_000;
/// Offers one may leave untaken: with this one they are off the list.
pub const OFFERS_MISSED: u8 = 3;
/// Steps of work on waitlists that one entry does: what is left is done by the next ones. One who leaves when the campaign
/// is over is one step, and so is a look at one who waits, with one more for each 64 rows and seats that it looks at.
pub const LIST_STEPS: u32 = 8_192;
/// Steps of making an offer.
pub const OFFER_STEPS: u32 = 16;
/// Seats of a pool that came free and are remembered while somebody who waits is still to be looked at; beyond it, these
/// looks are at every seat.
pub const FREED_SEATS: usize = 4_096;
/// Digests a replica keeps to compare with what other nodes say.
pub const DIGESTS_KEPT: usize = 4_096;
/// Bytes in the name of a seat, an area or a group: 1 to this many; in each other text of a seat: 0 to this many.
pub const UNIT_NAME_BYTES: usize = 64;
/// Bytes of the caller's own on a seat or an area.
pub const EXTRA_BYTES: usize = 256;
/// Seats in one pool.
pub const SEATS: usize = 200_000;
/// Seats in one row.
pub const ROW_SEATS: usize = 4_096;
/// Seats in one group, such as a table.
pub const GROUP_SEATS: usize = 100;
/// Areas of general admission in one pool.
pub const AREAS: usize = 1_024;
/// Sections in one pool.
pub const SECTIONS: usize = 4_096;
/// Grades in one pool.
pub const GRADES: usize = 256;
/// Channels in one pool.
pub const CHANNELS: usize = 256;
/// Prices in one pool.
pub const PRICES: usize = 4_096;
/// Seats added to a pool by one command.
pub const CHUNK_SEATS: usize = 4_000;
/// Bytes of the seats and areas added to a pool by one command.
pub const CHUNK_BYTES: usize = 512 << 10;
/// Picks of the best seats that one command may have where it is taken in: each looks through the whole map. Journals of
/// before may have up to [`PICKS`].
pub const BEST_PICKS: usize = 4;
/// Seats one "best available" chooses at most.
pub const BEST_SEATS: usize = 100;
/// Generated codes in one pool.
pub const CODES_GENERATED: u64 = 10_000_000;
/// Imported codes in one pool.
pub const CODES_IMPORTED: u32 = 1_000_000;
/// Times one code can be redeemed, at most.
pub const CODE_USES: u32 = 100_000;
/// References that a code remembers beyond its uses: those whose reservation ended or whose redemption was rolled back.
pub const CODE_SPARE_REFERENCES: u32 = 1_000;
/// Bytes in the reference of a use: 1 to this many.
pub const REFERENCE_BYTES: usize = 64;
/// Bytes in the id of a key for codes: 1 to this many.
pub const CODE_KEY_BYTES: usize = 64;
/// The shortest time a reservation can last, in microseconds of service time: 1 s.
pub const RESERVATION_LEAST_US: i64 = 1_000_000;
/// The longest time a reservation can last, in microseconds of service time: 24 h.
pub const RESERVATION_MOST_US: i64 = 24 * 3_600_000_000;
/// How long a reservation lasts where the caller says nothing else, in microseconds of service time: 15 min.
pub const RESERVATION_TTL_US: i64 = 900_000_000;
/// The shortest time a code can be valid after it was issued, in microseconds: 1 s.
pub const CODE_VALID_LEAST_US: i64 = 1_000_000;
/// The longest time a code can be valid after it was issued, in microseconds: 3,650 days.
pub const CODE_VALID_MOST_US: i64 = 3_650 * 86_400_000_000;
/// Codes in one command: of an import, or that are revoked, suspended or restored together.
pub const CODES_TOGETHER: usize = 4_000;
/// Bytes in the text of an imported code: 1 to this many.
pub const CODE_BYTES: usize = 64;
/// Bytes of what is typed as a code: one of 64 letters in any script and width, with a space after each, has fewer.
pub const TYPED_CODE_BYTES: usize = 8 * CODE_BYTES;
/// Imported codes of one pool that differ in nothing but their spelling.
pub const CODES_ALIKE: usize = 100;
/// Bytes that sealing adds to the text of an imported code.
pub const SEAL_BYTES: usize = 16;
/// Imports of one pool.
pub const IMPORTS: usize = 1_000;
/// Duplicates of an import that are named, the first ones; all are counted.
pub const CODE_DUPLICATES_NAMED: usize = 100;
/// How long an import may take from its first chunk to its commit, in microseconds of service time: 1 h.
pub const IMPORT_US: i64 = 3_600_000_000;
/// Times the code of one claim can be replaced.
pub const REISSUES: u16 = 1_000;
