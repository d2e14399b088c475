//! Generates the function that takes the lock, from the attribute and the function under it.

use std::time::Duration;

use proc_macro2::{Span, TokenStream, TokenTree};
use quote::{quote, quote_spanned};
use syn::spanned::Spanned as _;
use syn::{Ident, ReturnType};

use crate::function::Function;
use crate::options::{Lease, MacroOptions, OnLoss};

/// Returns the new function; after a mistake, its error and a function that causes no others.
pub(crate) fn locked(options: TokenStream, item: TokenStream) -> TokenStream {
    match try_locked(options, item.clone()) {
        Ok(function) => function,
        Err(mistake) => {
            let mistake = mistake.into_compile_error();
            let item = Function::read(item.clone()).map_or(item, |function| bare(&function));
            quote! { #mistake #item }
        }
    }
}

/// Returns the function without a lock, whose body still knows the lease.
fn bare(function: &Function) -> TokenStream {
    let Function { attributes, visibility, signature, body } = function;
    let (name, statements) = (Ident::new("lease", Span::call_site()), &body.stmts);
    quote! {
        #(#attributes)*
        #[allow(unreachable_code, unused_variables)]
        #visibility #signature {
            let #name: &::firstcome_lock::Lease = ::core::unreachable!();
            #(#statements)*
        }
    }
}

pub(crate) fn try_locked(options: TokenStream, item: TokenStream) -> syn::Result<TokenStream> {
    let function = Function::read(item)?;
    function.check()?;
    let options: MacroOptions = syn::parse2(options)?;
    function.check_key(&options.key)?;
    let locks = locks(&function, &options)?;

    let key = options.key.expression();
    let lease = lease(options.lease);
    let wait = duration(options.wait);
    let Function { attributes, visibility, signature, body } = &function;
    // Known in the body by this name, as if it had been written there.
    let name = Ident::new("lease", Span::call_site());
    let statements = &body.stmts;
    let hint = return_type_hint(&signature.output);
    let work = quote_spanned! {body.span()=>
        async {
            #hint
            let #name: &::firstcome_lock::Lease = &__firstcome_lease;
            _ = #name;
            #(#statements)*
        }
    };
    let run = match options.on_loss {
        OnLoss::Finish => quote! {
            let __firstcome_output = #work.await;
        },
        OnLoss::Stop => quote! {
            let __firstcome_output =
                match ::firstcome_lock::under_lock::while_held(&__firstcome_lease, #work).await {
                    ::core::result::Result::Ok(output) => output,
                    ::core::result::Result::Err(barred) => {
                        ::core::result::Result::Err(::core::convert::From::from(barred))
                    }
                };
        },
    };
    Ok(quote! {
        #(#attributes)*
        #visibility #signature {
            let __firstcome_locks: &::firstcome_lock::Locks = &#locks;
            let __firstcome_lease = match ::firstcome_lock::under_lock::take(
                __firstcome_locks,
                &#key,
                #lease,
                #wait,
            )
            .await
            {
                ::core::result::Result::Ok(lease) => lease,
                ::core::result::Result::Err(barred) => {
                    return ::core::result::Result::Err(::core::convert::From::from(barred));
                }
            };
            #run
            ::firstcome_lock::under_lock::give_back(__firstcome_lease).await;
            __firstcome_output
        }
    })
}

/// Returns what sets the lease of the lock.
fn lease(lease: Lease) -> TokenStream {
    let calls = match lease {
        Lease::Fixed(lease) => {
            let lease = duration(lease);
            quote! { .lease(#lease) }
        }
        Lease::Renewed { each, at_most } => {
            let each = each.map(duration).into_iter();
            let at_most = at_most.map(duration).into_iter();
            quote! { #(.renewed(#each))* #(.hold_at_most(#at_most))* }
        }
    };
    quote! { |lock: ::firstcome_lock::Lock| lock #calls }
}

fn duration(time: Duration) -> TokenStream {
    let millis = u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
    quote! { ::core::time::Duration::from_millis(#millis) }
}

/// Returns where the `Locks` come from.
fn locks(function: &Function, options: &MacroOptions) -> syn::Result<TokenStream> {
    if let Some(expression) = &options.locks {
        return Ok(quote_spanned! {expression.span()=> (#expression) });
    }
    let arguments = function.arguments();
    if let Some(argument) = arguments.iter().find(|argument| *argument == "locks") {
        return Ok(quote! { #argument });
    }
    if let Some(this) = arguments.iter().find(|argument| *argument == "self") {
        return Ok(quote_spanned! {this.span()=> #this.locks });
    }
    let message = "where do the locks come from? Add an argument `locks: &Locks`, or say `locks = EXPRESSION`";
    Err(syn::Error::new(function.signature.ident.span(), message))
}

/// Tells the compiler what the body gives, so that its `?` and its `return` need no guessing.
fn return_type_hint(output: &ReturnType) -> TokenStream {
    let ReturnType::Type(_, returned) = output else { return TokenStream::new() };
    if hides_a_type(quote! { #returned }) {
        return TokenStream::new();
    }
    quote! {
        #[allow(unreachable_code, clippy::all)]
        if false {
            let never: #returned = ::core::unreachable!();
            return never;
        }
    }
}

/// Tells whether `impl Trait` stands anywhere in a type: such a type cannot be named again.
fn hides_a_type(tokens: TokenStream) -> bool {
    tokens.into_iter().any(|token| match token {
        TokenTree::Ident(word) => word == "impl",
        TokenTree::Group(group) => hides_a_type(group.stream()),
        TokenTree::Punct(_) | TokenTree::Literal(_) => false,
    })
}
