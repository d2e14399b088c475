//! firstcome
fn main() {}
