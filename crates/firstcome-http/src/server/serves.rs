//! What a listener serves: everything, everything but operations, or operations alone.

use crate::answer::Code;
use crate::answer::problem::Problem;
use crate::server::slots::{ADDRESS_PART, Admission, KEPT_CONNECTIONS, OPS_CONNECTIONS, Slots};
use std::sync::Arc;

/// Paths of those who monitor the server: their requests are never too many.
pub(crate) const OPERATIONS: [&str; 3] = ["/livez", "/readyz", "/metrics"];

/// Paths that are answered when there are too many connections for everything else.
const PROBES: [&str; 2] = ["/livez", "/readyz"];

/// What a listener serves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Serves {
    /// Everything, with connections kept for `/livez` and `/readyz`.
    Everything,
    /// Everything but operations, which have a listener of their own.
    AllButOperations,
    /// `/livez`, `/readyz` and `/metrics`, without a key.
    Operations,
}

/// The mark of a request that came to a listener for operations: it needs no key.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ForOperations;

impl Serves {
    /// Returns the places for its connections, where the server has so many.
    pub(crate) fn slots(self, connections: usize) -> Arc<Slots> {
        let of_address = (connections / ADDRESS_PART).max(1);
        match self {
            Self::Everything => Slots::new(connections, of_address, KEPT_CONNECTIONS),
            Self::AllButOperations => Slots::new(connections, of_address, 0),
            Self::Operations => Slots::new(OPS_CONNECTIONS, OPS_CONNECTIONS, 0),
        }
    }

    /// Accepts a path on a connection that was admitted so.
    pub(crate) fn check(self, path: &str, admission: Admission) -> Result<(), Problem> {
        let wrong = |detail: String| Err(Problem::new(Code::NoSuchRoute, detail));
        match (self, admission) {
            (_, Admission::Probes(full) | Admission::Refusal(full)) if !PROBES.contains(&path) => {
                Err(Problem::new(Code::TooManyConnections, full.to_string()))
            }
            (Self::AllButOperations, _) if OPERATIONS.contains(&path) => {
                wrong(format!("{path} is answered at the address of ops_listen only"))
            }
            (Self::Operations, _) if !OPERATIONS.contains(&path) => {
                wrong(format!("this address is for operations: {}", OPERATIONS.join(", ")))
            }
            _ => Ok(()),
        }
    }
}
