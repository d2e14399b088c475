//! What the program has: its verbs and flags, read from their definitions in its sources.

#![expect(clippy::wildcard_enum_match_arm, reason = "of the forms that Rust has, clap uses few")]

use proc_macro2::{TokenStream, TokenTree};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// The sources of the command line, and the type that all verbs are variants of.
const SOURCES: &str = "crates/firstcome/src/cli";
const FIRST: &str = "crates/firstcome/src/cli.rs";
const ALL_VERBS: &str = "Verb";

/// The verbs of the program.
pub(crate) struct Program {
    verbs: Verb,
}

/// What can stand behind a verb.
#[derive(Clone, Default)]
struct Verb {
    flags: BTreeSet<String>,
    verbs: BTreeMap<String, Self>,
}

/// A struct or an enum of clap, and where it is.
struct Definition {
    file: PathBuf,
    item: syn::Item,
}

impl Program {
    pub(crate) fn read(root: &Path) -> Self {
        let mut definitions = BTreeMap::<String, Vec<Definition>>::new();
        let mut files = vec![root.join(FIRST)];
        collect(&root.join(SOURCES), &mut files);
        for file in files {
            let text = fs::read_to_string(&file).expect("a source");
            for item in syn::parse_file(&text).expect("Rust").items {
                let name = match &item {
                    syn::Item::Struct(item) => item.ident.to_string(),
                    syn::Item::Enum(item) => item.ident.to_string(),
                    _ => continue,
                };
                definitions.entry(name).or_default().push(Definition { file: file.clone(), item });
            }
        }
        let verbs = behind(&definitions, &root.join(FIRST), &[ALL_VERBS.to_owned()]);
        assert!(verbs.verbs.len() > 20, "the verbs are found");
        Self { verbs }
    }

    /// Returns the verb that these words begin with, such as `codes redeem`.
    pub(crate) fn verb_of(&self, words: &[String]) -> String {
        let (mut at, mut named) = (&self.verbs, Vec::new());
        for word in words {
            let Some(next) = at.verbs.get(word) else { break };
            named.push(word.as_str());
            at = next;
        }
        named.join(" ")
    }

    /// Says what is wrong with the words behind `firstcome`, if anything.
    pub(crate) fn wrong_with(&self, words: &[String]) -> Option<String> {
        let letter = |c: char| c.is_ascii_lowercase() || c == '-';
        let named = |word: &&String| !word.starts_with('-') && word.chars().all(letter);
        let first = words.first()?;
        if named(&first) && !self.verbs.verbs.contains_key(first) {
            return Some(format!("there is no verb {first}"));
        }
        // In the place of a verb there can be a word that stands for any.
        if !named(&first) && !first.starts_with('-') {
            return None;
        }
        let mut at = &self.verbs;
        for word in words {
            let Some(next) = at.verbs.get(word) else { break };
            at = next;
        }
        let typed = words.iter().take_while(|word| *word != "--");
        let flags = typed.filter_map(|word| word.trim_start_matches('[').strip_prefix("--"));
        let name = |flag: &str| flag.split(['=', ']']).next().unwrap_or_default().to_owned();
        let missing = flags.map(name).find(|flag| !at.flags.contains(flag) && !is_global(flag));
        missing.map(|flag| format!("the verb {:?} has no --{flag}", self.verb_of(words)))
    }

    /// Says whether any verb has a flag.
    pub(crate) fn has_flag(&self, name: &str) -> bool {
        fn has(verb: &Verb, name: &str) -> bool {
            verb.flags.contains(name) || verb.verbs.values().any(|verb| has(verb, name))
        }
        is_global(name) || has(&self.verbs, name)
    }
}

/// Says whether each verb has a flag.
fn is_global(name: &str) -> bool {
    ["json", "help", "version"].contains(&name)
}

fn collect(folder: &Path, into: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            collect(&path, into);
        } else if path.extension().is_some_and(|end| end == "rs") {
            into.push(path);
        }
    }
}

/// Returns what a type stands for, which is named in `file`; where several have the name, all that may be meant.
fn behind(all: &BTreeMap<String, Vec<Definition>>, file: &Path, named: &[String]) -> Verb {
    let (name, module) = (&named[named.len() - 1], named.len().checked_sub(2).map(|at| &named[at]));
    let found = all.get(name).map(Vec::as_slice).unwrap_or_default();
    let stem = |found: &Definition| found.file.file_stem().map(|stem| stem.display().to_string());
    let is_meant = |found: &&Definition| match module {
        None => found.file == file,
        Some(module) => stem(found).as_ref() == Some(module),
    };
    let mut meant: Vec<&Definition> = found.iter().filter(is_meant).collect();
    // A module `hold` may have it from one of its own.
    if meant.is_empty() {
        meant = found.iter().collect();
    }
    let mut verb = Verb::default();
    for definition in meant {
        let inner = match &definition.item {
            syn::Item::Struct(item) => of_fields(all, &definition.file, &item.fields),
            syn::Item::Enum(item) => of_variants(all, &definition.file, item),
            _ => continue,
        };
        verb.flags.extend(inner.flags);
        verb.verbs.extend(inner.verbs);
    }
    verb
}

fn of_fields(all: &BTreeMap<String, Vec<Definition>>, file: &Path, fields: &syn::Fields) -> Verb {
    let mut verb = Verb::default();
    for field in fields {
        let said = words(&field.attrs);
        if let Some(long) = said.get("long") {
            let name = field.ident.as_ref().map(|name| name.to_string().replace('_', "-"));
            verb.flags.extend(long.clone().or(name));
        }
        if said.contains_key("flatten") || said.contains_key("subcommand") {
            let inner = behind(all, file, &path_of(&field.ty));
            verb.flags.extend(inner.flags);
            verb.verbs.extend(inner.verbs);
        }
    }
    verb
}

fn of_variants(all: &BTreeMap<String, Vec<Definition>>, file: &Path, item: &syn::ItemEnum) -> Verb {
    let mut verb = Verb::default();
    for variant in &item.variants {
        let said = words(&variant.attrs);
        let name = said.get("name").cloned().flatten();
        let inner = match &variant.fields {
            syn::Fields::Unnamed(fields) => behind(all, file, &path_of(&fields.unnamed[0].ty)),
            fields => of_fields(all, file, fields),
        };
        verb.verbs.insert(name.unwrap_or_else(|| with_hyphens(&variant.ident.to_string())), inner);
    }
    verb
}

/// Writes `RollBack` as `roll-back`.
fn with_hyphens(name: &str) -> String {
    let mut written = String::new();
    for c in name.chars() {
        if c.is_ascii_uppercase() && !written.is_empty() {
            written.push('-');
        }
        written.push(c.to_ascii_lowercase());
    }
    written
}

/// Returns the path of a type, without a box or an option around it.
fn path_of(ty: &syn::Type) -> Vec<String> {
    let syn::Type::Path(path) = ty else { return vec![String::new()] };
    let last = path.path.segments.last().expect("a name");
    if let ("Box" | "Option", syn::PathArguments::AngleBracketed(inner)) =
        (&*last.ident.to_string(), &last.arguments)
        && let Some(syn::GenericArgument::Type(inner)) = inner.args.first()
    {
        return path_of(inner);
    }
    path.path.segments.iter().map(|segment| segment.ident.to_string()).collect()
}

/// Returns the words that the attributes `arg` and `command` say, with the text that one is set to.
fn words(attributes: &[syn::Attribute]) -> BTreeMap<String, Option<String>> {
    let mut found = BTreeMap::new();
    for attribute in attributes {
        let ours = attribute.path().is_ident("arg") || attribute.path().is_ident("command");
        if let (true, syn::Meta::List(list)) = (ours, &attribute.meta) {
            found.extend(words_in(list.tokens.clone()));
        }
    }
    found
}

fn words_in(tokens: TokenStream) -> Vec<(String, Option<String>)> {
    let (mut found, mut fresh) = (Vec::<(String, Option<String>)>::new(), true);
    for token in tokens {
        match token {
            TokenTree::Ident(word) if fresh => found.push((word.to_string(), None)),
            TokenTree::Literal(text) => {
                if let Some((_, set)) = found.last_mut() {
                    let text = text.to_string();
                    set.get_or_insert_with(|| text.trim_matches('"').to_owned());
                }
            }
            TokenTree::Punct(mark) if mark.as_char() == ',' => {
                fresh = true;
                continue;
            }
            TokenTree::Ident(_) | TokenTree::Punct(_) | TokenTree::Group(_) => {}
        }
        fresh = false;
    }
    found
}
