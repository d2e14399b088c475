//! The attribute `#[locked]` of `firstcome-lock`, which has it as `firstcome_lock::locked` with its feature `macros`.

#![warn(missing_docs)]

mod duration;
mod expand;
mod function;
mod key;
mod options;
#[cfg(test)]
mod tests;

use proc_macro::TokenStream;

/// The attribute itself is in the crate `firstcome-lock-macros`, which is used through `firstcome-lock`.
#[proc_macro_attribute]
pub fn locked(options: TokenStream, function: TokenStream) -> TokenStream {
    expand::locked(options.into(), function.into()).into()
}
