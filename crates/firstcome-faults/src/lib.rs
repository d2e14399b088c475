//! A journal that loses calls and answers, for tests.

pub mod faulty;
