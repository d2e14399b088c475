//! Reading a journal where it lies, without a server: recomputing and comparing it, writing a ledger anew from it, and
//! its entries as text.

pub mod audit;
pub mod breaking;
pub mod entry_text;
pub mod outcomes;
pub mod raise_level;
pub mod rebuild;
