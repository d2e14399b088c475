//! Reads the signature of the function under the attribute.

use proc_macro2::Span;
use syn::spanned::Spanned as _;
use syn::{Block, FnArg, Ident, Pat, ReturnType, Signature, Type, Visibility};

use crate::key::Key;

/// A function or method with its body.
pub(crate) struct Function {
    pub(crate) attributes: Vec<syn::Attribute>,
    pub(crate) visibility: Visibility,
    pub(crate) signature: Signature,
    pub(crate) body: Block,
}

impl Function {
    pub(crate) fn read(item: proc_macro2::TokenStream) -> syn::Result<Self> {
        let first = item.clone().into_iter().next().map_or_else(Span::call_site, |t| t.span());
        let read: syn::Result<syn::ItemFn> = syn::parse2(item);
        let Ok(syn::ItemFn { attrs, vis, sig, block }) = read else {
            return Err(syn::Error::new(
                first,
                "`locked` stands on async functions and methods with a body",
            ));
        };
        Ok(Self { attributes: attrs, visibility: vis, signature: sig, body: *block })
    }

    /// Checks what has to be so whatever the options are.
    pub(crate) fn check(&self) -> syn::Result<()> {
        if self.signature.asyncness.is_none() {
            let message = "a lock is waited for, so the function has to be async: write `async fn`";
            return Err(syn::Error::new(self.signature.fn_token.span, message));
        }
        let message = "the lock may be held by somebody else, so the function has to return a Result \
                       (by a name that ends so) whose error is `From<firstcome_lock::LockedError>`";
        match &self.signature.output {
            ReturnType::Default => Err(syn::Error::new(self.signature.ident.span(), message)),
            ReturnType::Type(_, returned) if returns_result(returned) => Ok(()),
            ReturnType::Type(_, returned) => Err(syn::Error::new(returned.span(), message)),
        }?;
        match self.arguments().into_iter().find(|argument| argument == "lease") {
            None => Ok(()),
            Some(argument) => Err(syn::Error::new(
                argument.span(),
                "the body has the lease by this name: call the argument something else",
            )),
        }
    }

    /// Checks that the places of the key are arguments.
    pub(crate) fn check_key(&self, key: &Key) -> syn::Result<()> {
        let arguments = self.arguments();
        for place in &key.places {
            if arguments.iter().all(|argument| *argument != place.argument) {
                let names: Vec<String> = arguments.iter().map(|name| format!("`{name}`")).collect();
                let message = format!(
                    "there is no argument `{}` to make the key of; there {}",
                    place.argument,
                    match &names[..] {
                        [] => "are none at all".to_owned(),
                        [only] => format!("is {only}"),
                        several => format!("are {}", several.join(", ")),
                    }
                );
                return Err(syn::Error::new(key.span(), message));
            }
        }
        Ok(())
    }

    /// Returns the names of the arguments, `self` among them.
    pub(crate) fn arguments(&self) -> Vec<Ident> {
        let mut names = Vec::new();
        for input in &self.signature.inputs {
            match input {
                FnArg::Receiver(receiver) => {
                    names.push(Ident::new("self", receiver.self_token.span))
                }
                FnArg::Typed(typed) => collect(&typed.pat, &mut names),
            }
        }
        names
    }
}

/// Tells whether a type is written with a name that ends in `Result`.
fn returns_result(returned: &Type) -> bool {
    let Type::Path(path) = returned else { return false };
    path.path.segments.last().is_some_and(|last| last.ident.to_string().ends_with("Result"))
}

/// Collects the names that a pattern binds.
#[expect(
    clippy::wildcard_enum_match_arm,
    reason = "the other patterns bind nothing or are no arguments"
)]
fn collect(pattern: &Pat, names: &mut Vec<Ident>) {
    match pattern {
        Pat::Ident(name) => names.push(name.ident.clone()),
        Pat::Paren(inner) => collect(&inner.pat, names),
        Pat::Reference(inner) => collect(&inner.pat, names),
        Pat::Type(inner) => collect(&inner.pat, names),
        Pat::Tuple(tuple) => tuple.elems.iter().for_each(|pattern| collect(pattern, names)),
        Pat::TupleStruct(tuple) => tuple.elems.iter().for_each(|pattern| collect(pattern, names)),
        Pat::Slice(slice) => slice.elems.iter().for_each(|pattern| collect(pattern, names)),
        Pat::Struct(fields) => {
            fields.fields.iter().for_each(|field| collect(&field.pat, names));
        }
        _ => {}
    }
}
