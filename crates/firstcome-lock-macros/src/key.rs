//! Parses the lock's name: text with placeholders for arguments and their fields.

use proc_macro2::{Span, TokenStream};
use quote::{quote, quote_spanned};
use syn::{Ident, LitStr, Member};

/// A name, read.
pub(crate) struct Key {
    span: Span,
    /// What `format!` is given: the text with an empty place for each value.
    template: String,
    pub(crate) places: Vec<Place>,
}

/// An argument, and the way to the field that is meant.
pub(crate) struct Place {
    pub(crate) argument: Ident,
    fields: Vec<Member>,
}

impl Key {
    pub(crate) fn read(text: &LitStr) -> syn::Result<Self> {
        let (value, span) = (text.value(), text.span());
        let wrong = |message: String| Err(syn::Error::new(span, message));
        if value.is_empty() {
            return wrong("the lock's name is empty".to_owned());
        }
        let (mut template, mut places) = (String::new(), Vec::new());
        let mut rest = value.as_str();
        while let Some(at) = rest.find(['{', '}']) {
            let (before, from) = rest.split_at(at);
            template.push_str(before);
            if let Some(after) = from.strip_prefix("{{").or_else(|| from.strip_prefix("}}")) {
                template.push_str(&from[..2]);
                rest = after;
                continue;
            }
            let Some(inner) = from.strip_prefix('{') else {
                return wrong("a `}` without its `{`; write `}}` for the brace itself".to_owned());
            };
            let Some((inside, after)) = inner.split_once('}') else {
                return wrong("a `{` without its `}`; write `{{` for the brace itself".to_owned());
            };
            places.push(Place::read(inside, span)?);
            template.push_str("{}");
            rest = after;
        }
        template.push_str(rest);
        Ok(Self { span, template, places })
    }

    pub(crate) fn span(&self) -> Span {
        self.span
    }

    /// Returns the expression that makes the name.
    pub(crate) fn expression(&self) -> TokenStream {
        let template = LitStr::new(&self.template, self.span);
        let values = self.places.iter().map(|Place { argument, fields }| {
            // A wrong field, or one that cannot be displayed, is pointed at where the key is written.
            quote_spanned! {self.span=> #argument #(.#fields)* }
        });
        quote! { ::std::format!(#template #(, #values)*) }
    }
}

impl Place {
    fn read(inside: &str, span: Span) -> syn::Result<Self> {
        let wrong = || {
            let message = format!(
                "`{{{inside}}}` is no argument: write its name, or a field of it, like {{order.id}}"
            );
            syn::Error::new(span, message)
        };
        let mut steps = inside.split('.').map(str::trim);
        let first = steps.next().unwrap_or_default();
        let argument: Ident = match first {
            "self" => Ident::new("self", span),
            name => syn::parse_str(name).map_err(|_| wrong())?,
        };
        let fields = steps.map(|step| {
            let mut member: Member = syn::parse_str(step).map_err(|_| wrong())?;
            match &mut member {
                Member::Named(name) => name.set_span(span),
                Member::Unnamed(index) => index.span = span,
            }
            Ok(member)
        });
        let fields = fields.collect::<syn::Result<_>>()?;
        Ok(Self { argument: Ident::new(&argument.to_string(), span), fields })
    }
}
