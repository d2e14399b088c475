//! Reading a journal where it lies, without a server: recomputing and comparing it, writing a ledger anew from it,
//! its entries as text, and a space in a file.

pub mod audit;
pub mod breaking;
pub mod entry_text;
pub mod export;
pub mod import;
mod ledger_row;
pub mod outcomes;
pub mod raise_level;
pub mod rebuild;
