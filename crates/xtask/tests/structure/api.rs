//! The public interface of the published crates, as a list that is compared with the one that is committed.
//!
//! It is read from the sources: what `lib.rs` exports, and of each type its fields, variants, functions and traits. A change shows
//! in a review, and one that takes something away needs a new major version. `FIRSTCOME_BLESS=1` rewrites the lists.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use quote::ToTokens;
use syn::{Attribute, Fields, ImplItem, Item, TraitItem, UseTree, Visibility};

use crate::root;

/// The crates that have a list, in `api.txt`.
const CRATES: [&str; 3] = ["firstcome-lock", "firstcome-shedlock", "firstcome-client"];

/// Crates whose types would have a user depend on their versions.
const FOREIGN: [&str; 6] =
    ["redis ::", "tokio_postgres", "mysql_async", "async_nats", "rusqlite", "rustls"];

#[test]
fn the_public_interface_is_the_one_that_is_listed() {
    for name in CRATES {
        let listed = root().join("crates").join(name).join("api.txt");
        let found = listing(name);
        if std::env::var_os("FIRSTCOME_BLESS").is_some() {
            std::fs::write(&listed, &found).expect("it can be written");
        }
        let committed = std::fs::read_to_string(&listed).unwrap_or_default();
        let lines = |text: &str| text.lines().map(str::to_owned).collect::<BTreeSet<_>>();
        let (found, committed) = (lines(&found), lines(&committed));
        let (added, removed) = (&found - &committed, &committed - &found);
        assert!(
            added.is_empty() && removed.is_empty(),
            "{name}: not listed in api.txt {added:#?}, listed and not there {removed:#?}; FIRSTCOME_BLESS=1 rewrites it"
        );
    }
}

#[test]
fn no_type_of_another_crate_is_in_the_public_interface() {
    for name in CRATES {
        for line in listing(name).lines() {
            let leaks = FOREIGN.iter().find(|foreign| line.contains(*foreign));
            assert_eq!(leaks, None, "{name}: {line}");
        }
    }
}

/// Lists what a crate exports, a line each, sorted.
fn listing(name: &str) -> String {
    let folder = |name: &str| root().join("crates").join(name).join("src");
    let exports = exports(&folder(name).join("lib.rs"));
    let mut lines = BTreeSet::new();
    for (source, of) in [(name, "crate"), ("firstcome-store", "firstcome_store")] {
        let mut files = Vec::new();
        collect(&folder(source), &mut files);
        for file in files {
            let module = file.strip_prefix(folder(source)).expect("below it").with_extension("");
            let module = module.display().to_string();
            let shown = |ident: &str| {
                let known = exports.get(ident).into_iter().flatten();
                let mut known = known.filter(|export| export.of == of && export.is_of(&module));
                known.next().map(|export| export.shown.clone())
            };
            for item in parse(&file).items {
                list(&item, &shown, &mut lines);
            }
        }
    }
    lines.iter().map(|line| format!("{line}\n")).collect()
}

/// Something that `lib.rs` exports.
struct Export {
    /// `crate` or `firstcome_store`.
    of: &'static str,
    /// The module it is named by, where that says which of several of one name is meant.
    module: Option<String>,
    /// The name it is exported under.
    shown: String,
}

impl Export {
    fn is_of(&self, module: &str) -> bool {
        match &self.module {
            // `Options` alone is that of Redis.
            None => {
                self.of == "crate"
                    || !["postgres/", "mysql/", "nats/", "sqlite"]
                        .iter()
                        .any(|other| module.starts_with(other))
            }
            Some(named) => module.starts_with(named.as_str()),
        }
    }
}

fn exports(lib: &Path) -> BTreeMap<String, Vec<Export>> {
    let mut found: BTreeMap<String, Vec<Export>> = BTreeMap::new();
    for item in parse(lib).items {
        let Item::Use(item) = item else { continue };
        if !is_public(&item.vis) || is_hidden(&item.attrs) {
            continue;
        }
        let mut leaves = Vec::new();
        flatten(&item.tree, &mut Vec::new(), &mut leaves);
        for (path, name, shown) in leaves {
            let of = if path[0] == "firstcome_store" { "firstcome_store" } else { "crate" };
            let module = (of == "firstcome_store").then(|| path.get(1).cloned()).flatten();
            found.entry(name).or_default().push(Export { of, module, shown });
        }
    }
    found
}

/// Returns the path, the name and the exported name of each leaf of a `use`.
fn flatten(tree: &UseTree, path: &mut Vec<String>, into: &mut Vec<(Vec<String>, String, String)>) {
    match tree {
        UseTree::Path(part) => {
            path.push(part.ident.to_string());
            flatten(&part.tree, path, into);
            path.pop();
        }
        UseTree::Name(name) => {
            into.push((path.clone(), name.ident.to_string(), name.ident.to_string()))
        }
        UseTree::Rename(name) => {
            into.push((path.clone(), name.ident.to_string(), name.rename.to_string()))
        }
        UseTree::Group(group) => group.items.iter().for_each(|tree| flatten(tree, path, into)),
        UseTree::Glob(_) => panic!("lib.rs exports names, not everything of a module"),
    }
}

/// Adds what an item says of a type that is exported.
#[expect(
    clippy::wildcard_enum_match_arm,
    reason = "syn may add kinds of items; these are all that can be exported here"
)]
fn list(item: &Item, shown: &dyn Fn(&str) -> Option<String>, lines: &mut BTreeSet<String>) {
    match item {
        Item::Struct(item) if is_public(&item.vis) => {
            let Some(name) = shown(&item.ident.to_string()) else { return };
            lines.insert(format!("{}struct {name}", marks(&item.attrs)));
            fields(&name, &item.fields, false, lines);
        }
        Item::Enum(item) if is_public(&item.vis) => {
            let Some(name) = shown(&item.ident.to_string()) else { return };
            lines.insert(format!("{}enum {name}", marks(&item.attrs)));
            for variant in &item.variants {
                let path = format!("{name}::{}", variant.ident);
                lines.insert(format!("variant {path}"));
                fields(&path, &variant.fields, true, lines);
            }
        }
        Item::Impl(item) => {
            let Some(name) = shown(&text(&item.self_ty)) else { return };
            if let Some((_, of, _)) = &item.trait_ {
                lines.insert(format!("impl {} for {name}", text(of)));
                return;
            }
            for function in &item.items {
                let ImplItem::Fn(function) = function else { continue };
                let hidden = is_hidden(&function.attrs);
                if is_public(&function.vis) && !hidden {
                    lines.insert(format!("{name}: {}", text(&function.sig)));
                }
            }
        }
        Item::Trait(item) if is_public(&item.vis) => {
            let Some(name) = shown(&item.ident.to_string()) else { return };
            lines.insert(format!("trait {name}"));
            for part in &item.items {
                if let TraitItem::Fn(function) = part {
                    lines.insert(format!("{name}: {}", text(&function.sig)));
                }
            }
        }
        Item::Fn(item) if is_public(&item.vis) && shown(&item.sig.ident.to_string()).is_some() => {
            lines.insert(text(&item.sig));
        }
        _ => {}
    }
}

fn fields(path: &str, fields: &Fields, all: bool, lines: &mut BTreeSet<String>) {
    for (index, field) in fields.iter().enumerate() {
        if all || is_public(&field.vis) {
            let name = field.ident.as_ref().map_or_else(|| index.to_string(), ToString::to_string);
            lines.insert(format!("field {path}.{name}: {}", text(&field.ty)));
        }
    }
}

/// Returns what is derived, and whether more may be added without breaking anybody.
fn marks(attrs: &[Attribute]) -> String {
    let marks = attrs
        .iter()
        .filter(|attr| attr.path().is_ident("derive") || attr.path().is_ident("non_exhaustive"));
    marks.map(|attr| format!("{} ", text(attr))).collect()
}

fn is_public(visibility: &Visibility) -> bool {
    matches!(visibility, Visibility::Public(_))
}

/// Tells whether documentation leaves it out.
fn is_hidden(attrs: &[Attribute]) -> bool {
    let texts = attrs.iter().map(text);
    texts.into_iter().any(|attr| attr.contains("doc (hidden)"))
}

fn text(tokens: &impl ToTokens) -> String {
    tokens.to_token_stream().to_string()
}

fn collect(folder: &Path, files: &mut Vec<std::path::PathBuf>) {
    for entry in std::fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            collect(&path, files);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            files.push(path);
        }
    }
}

fn parse(file: &Path) -> syn::File {
    let text = std::fs::read_to_string(file).expect("text");
    syn::parse_file(&text).unwrap_or_else(|why| panic!("{}: {why}", file.display()))
}
