//! The seats of the page for people as a part of any other page: one module with one element, `/c/-/seats.js`.
//!
//! It is made from what the page itself runs. Its style stands in it, for pages that allow no other one.

use super::files::{BROWSER, LANGUAGE, MAP, NET, packed};
use axum::body::Bytes;
use std::sync::LazyLock;

pub(super) const WORDS: &str = include_str!("seats/words.js");
pub(super) const SESSION: &str = include_str!("seats/session.js");
pub(super) const PANEL: &str = include_str!("seats/panel.js");

/// The module, in the order in which its parts use each other. `clients/typescript/seats.mjs` has the same list; its tests
/// compare what both come to.
const MODULE: [&str; 11] = [
    WORDS,
    LANGUAGE,
    BROWSER,
    NET,
    MAP,
    SESSION,
    PANEL,
    "const STYLE = `",
    include_str!("seats/seats.css"),
    "`;\n",
    include_str!("seats/element.js"),
];

/// The built-in module, joined and compressed once.
pub(super) static BUILT_IN: LazyLock<(Bytes, Bytes)> = LazyLock::new(|| packed(&MODULE));

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_style_can_stand_in_a_script() {
        let style = MODULE[8];
        assert!(style.contains(":host") && !style.contains(['`', '\\', '$']), "{style}");
    }
}
