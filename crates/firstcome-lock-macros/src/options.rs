//! Parses the options of the attribute.

use std::time::Duration;

use proc_macro2::Span;
use syn::parse::{Parse, ParseStream};
use syn::{Expr, Ident, LitStr, Token};

use crate::duration;
use crate::key::Key;

/// The lease, where nothing else is said of it.
const LEASE: Duration = Duration::from_secs(480);

/// The shortest lease that the library grants.
const LEAST_LEASE: Duration = Duration::from_millis(50);

/// The wait, where nothing else is said.
const WAIT: Duration = Duration::from_secs(3);

const KNOWN: &str = "`key`, `lease`, `renewed`, `hold_at_most`, `wait`, `on_loss` and `locks`";

/// The options as written, defaults filled in.
pub(crate) struct MacroOptions {
    pub(crate) key: Key,
    pub(crate) lease: Lease,
    pub(crate) wait: Duration,
    pub(crate) on_loss: OnLoss,
    /// Where the `Locks` come from, if it is said.
    pub(crate) locks: Option<Expr>,
}

/// How long the lock is held.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Lease {
    /// For so long at most.
    Fixed(Duration),
    /// As long as the body runs.
    Renewed {
        /// For how long at a time, if that is said.
        each: Option<Duration>,
        /// For how long in all, if that is said.
        at_most: Option<Duration>,
    },
}

/// What becomes of the body when the lease is lost.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum OnLoss {
    Stop,
    Finish,
}

impl Parse for MacroOptions {
    fn parse(input: ParseStream<'_>) -> syn::Result<Self> {
        let (mut key, mut wait, mut on_loss, mut locks) = (None, None, None, None);
        let (mut lease, mut renewed, mut at_most) = (None, None, None);
        while !input.is_empty() {
            let option: Ident = input.parse()?;
            match option.to_string().as_str() {
                "key" => once(&option, &mut key, Key::read(&text(input)?)?)?,
                "lease" => {
                    let given = (option.span(), lease_of(&text(input)?)?);
                    once(&option, &mut lease, given)?;
                }
                "renewed" => {
                    let each =
                        input.peek(Token![=]).then(|| lease_of(&text(input)?)).transpose()?;
                    once(&option, &mut renewed, each)?;
                }
                "hold_at_most" => {
                    let given = (option.span(), lease_of(&text(input)?)?);
                    once(&option, &mut at_most, given)?;
                }
                "wait" => once(&option, &mut wait, duration::read(&text(input)?)?)?,
                "on_loss" => once(&option, &mut on_loss, loss_of(input)?)?,
                "locks" => {
                    input.parse::<Token![=]>()?;
                    once(&option, &mut locks, input.parse()?)?;
                }
                other => {
                    let message = format!("there is no option `{other}`, only {KNOWN}");
                    return Err(syn::Error::new(option.span(), message));
                }
            }
            if !input.is_empty() {
                input.parse::<Token![,]>()?;
            }
        }
        let nameless = "the lock needs a name, as in key = \"order:{order.id}\"";
        Ok(Self {
            key: key.ok_or_else(|| syn::Error::new(Span::call_site(), nameless))?,
            lease: Lease::of(lease, renewed, at_most)?,
            wait: wait.unwrap_or(WAIT),
            on_loss: on_loss.unwrap_or(OnLoss::Stop),
            locks,
        })
    }
}

impl Lease {
    /// Puts together what is said of the lease; what cannot be together is pointed at.
    fn of(
        lease: Option<(Span, Duration)>,
        renewed: Option<Option<Duration>>,
        at_most: Option<(Span, Duration)>,
    ) -> syn::Result<Self> {
        match (lease, renewed, at_most) {
            (Some((at, _)), Some(_), _) => Err(syn::Error::new(
                at,
                "`lease` is the time of a lease that is not renewed: leave it out, and say `renewed = \"30s\"` \
                 if each renewal is to last for another time",
            )),
            (_, None, Some((at, _))) => Err(syn::Error::new(
                at,
                "`hold_at_most` ends a lease that is renewed: add `renewed`, or say the time with `lease`",
            )),
            (lease, None, None) => Ok(Self::Fixed(lease.map_or(LEASE, |(_, lease)| lease))),
            (None, Some(each), at_most) => {
                Ok(Self::Renewed { each, at_most: at_most.map(|(_, time)| time) })
            }
        }
    }
}

/// Keeps the value of an option that is given for the first time.
fn once<T>(option: &Ident, place: &mut Option<T>, value: T) -> syn::Result<()> {
    match place.replace(value) {
        None => Ok(()),
        Some(_) => Err(syn::Error::new(option.span(), format!("`{option}` is given twice"))),
    }
}

fn text(input: ParseStream<'_>) -> syn::Result<LitStr> {
    input.parse::<Token![=]>()?;
    input.parse()
}

fn lease_of(text: &LitStr) -> syn::Result<Duration> {
    let lease = duration::read(text)?;
    if lease < LEAST_LEASE {
        return Err(syn::Error::new(text.span(), "a lease has at least 50ms"));
    }
    Ok(lease)
}

fn loss_of(input: ParseStream<'_>) -> syn::Result<OnLoss> {
    input.parse::<Token![=]>()?;
    let (word, span) = if input.peek(LitStr) {
        let text: LitStr = input.parse()?;
        (text.value(), text.span())
    } else {
        let word: Ident = input.parse()?;
        (word.to_string(), word.span())
    };
    match word.as_str() {
        "stop" => Ok(OnLoss::Stop),
        "finish" => Ok(OnLoss::Finish),
        other => {
            let message = format!("`on_loss` is `stop` or `finish`, not `{other}`");
            Err(syn::Error::new(span, message))
        }
    }
}
