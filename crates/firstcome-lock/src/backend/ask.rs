//! What a caller asks for: which lock, for how long, and for which owner.

use std::sync::Arc;

use crate::keys::LockKeys;
use crate::lease::held_lock::LeaseOptions;
use crate::owner::Owner;

/// What is asked for.
#[derive(Debug, Clone)]
pub(crate) struct Ask {
    pub(crate) keys: Arc<LockKeys>,
    pub(crate) options: LeaseOptions,
    pub(crate) owner: Option<Owner>,
    /// Who stands in the line of a fair lock, and asks as the same one until it has it or leaves.
    pub(crate) in_line: Option<Arc<str>>,
}
