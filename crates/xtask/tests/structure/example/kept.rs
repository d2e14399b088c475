//! Offers what its modules define; one of them uses the other by that name, and nothing of this file.

mod one;
mod two;

pub use one::One;
pub use two::*;

pub type Kept = One;

#[cfg(test)]
mod tests {
    use crate::left::left;
}
