//! Uses its module, which uses what is defined here.

mod child;

pub struct Settings;

pub fn run() -> child::Child {
    child::Child::of(Settings)
}
