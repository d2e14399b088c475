//! The limits of the HTTP server that no setting changes, each with its reason and with what one gets beyond it.

pub use crate::bulk::requests::{BULK_KEY_PART, BULK_LEAST_RATE, BULK_RATE_WHILE, BULK_REQUESTS};
pub use crate::bulk::{
    BULK_BYTES, BULK_CHECKS, BULK_LINES, BULK_UNANSWERED, BULK_UNANSWERED_BYTES, REF_BYTES,
};
pub use crate::campaigns::results::RESULTS_LOOKED_THROUGH;
pub use crate::campaigns::show::LISTED_MOST;
pub use crate::campaigns::subjects::POOLS_LOOKED_THROUGH;
pub use crate::campaigns::winners::RANKS_LOOKED_THROUGH;
pub use crate::codes::look_up::CODE_HISTORY;
pub use crate::guard::cors::{ORIGIN_BYTES, ORIGINS_IN_LOG};
pub use crate::guard::rate::{MISSES, SUBJECT_RATE_WITH_TOKENS};
pub use crate::guard::wrong_codes::{
    WRONG_CODE_GUESSERS, WRONG_CODES, WRONG_CODES_LONGEST, WRONG_CODES_WHILE,
};
pub use crate::pages::files::PAGE_FILE_BYTES;
pub use crate::seat_map::streams::{
    STREAMS_OF_ADDRESS, STREAMS_OF_ANYBODY, STREAMS_OF_KEY, STREAMS_OF_SERVER, STREAMS_OF_SUBJECT,
    STREAMS_WITHOUT_KEY,
};
pub use crate::server::slots::{
    ADDRESS_PART, KEPT_CONNECTIONS, KEPT_LIFE, OPS_CONNECTIONS, REFUSALS,
};
pub use crate::status::nodes::FORKS_PAGE_BYTES;
