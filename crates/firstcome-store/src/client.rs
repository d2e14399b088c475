//! What a client of locks is made of, whatever its store: a background task, an id, pauses and margins.

mod background_task;
mod identity;
mod pause;
mod time;

pub use self::background_task::{BackgroundTask, RunToEnd};
pub use self::identity::{host_name, random_uuid};
pub use self::pause::pause;
pub use self::time::{later, safety_margin};
