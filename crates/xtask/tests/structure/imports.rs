//! Which file of a crate uses what is defined in which other one.

use crate::tokens::{Token, split};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

type Words = Vec<String>;

/// One file uses something of another.
#[derive(Debug)]
pub(crate) struct Arrow {
    pub(crate) from: PathBuf,
    pub(crate) line: usize,
    pub(crate) to: PathBuf,
    pub(crate) path: String,
}

#[derive(Debug, Default)]
struct Module {
    file: PathBuf,
    /// Where the files of its modules are.
    folder: PathBuf,
    parent: Option<usize>,
    children: BTreeMap<String, usize>,
    defined: BTreeSet<String>,
    imported: BTreeMap<String, Words>,
    /// Modules of which everything is imported.
    globs: Vec<Words>,
    /// Paths that stand in its code.
    paths: Vec<(usize, Words)>,
    /// Words that stand in its code, which may be of a module of which everything is imported.
    words: BTreeMap<String, usize>,
}

/// What a name stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Found {
    Module(usize),
    /// Something that this module defines.
    ItemOf(usize),
}

/// A library or a program, with all its modules; tests are left out.
#[derive(Debug, Default)]
pub(crate) struct Tree {
    modules: Vec<Module>,
}

impl Tree {
    /// Reads `lib.rs`, or `main.rs`, and all the modules below it.
    pub(crate) fn read(file: &Path) -> Self {
        let mut tree = Self::default();
        let folder = file.parent().expect("a file is in a folder").to_owned();
        tree.read_file(file.to_owned(), folder, None);
        tree
    }

    /// Returns an arrow for each use of what another file of the same tree defines.
    pub(crate) fn arrows(&self) -> Vec<Arrow> {
        let mut arrows = Vec::new();
        for (index, module) in self.modules.iter().enumerate() {
            let mut add = |line: usize, found: Option<Found>, path: String| {
                let Some(Found::Module(target) | Found::ItemOf(target)) = found else { return };
                let to = &self.modules[target].file;
                if *to != module.file {
                    arrows.push(Arrow { from: module.file.clone(), line, to: to.clone(), path });
                }
            };
            for (line, path) in &module.paths {
                add(*line, self.resolve(index, path, &mut Vec::new()), path.join("::"));
            }
            for glob in &module.globs {
                let Some(Found::Module(of)) = self.resolve(index, glob, &mut Vec::new()) else {
                    continue;
                };
                for (word, line) in &module.words {
                    if !module.defined.contains(word) && !module.imported.contains_key(word) {
                        add(*line, self.member(of, word, &mut Vec::new()), word.clone());
                    }
                }
            }
        }
        arrows
    }

    fn resolve(
        &self,
        from: usize,
        path: &[String],
        seen: &mut Vec<(usize, String)>,
    ) -> Option<Found> {
        let (first, rest) = path.split_first()?;
        let mut found = match first.as_str() {
            "crate" => Found::Module(0),
            "self" => Found::Module(from),
            "super" => Found::Module(self.modules[from].parent?),
            name => self.member(from, name, seen)?,
        };
        for name in rest {
            let Found::Module(module) = found else { break };
            found = match name.as_str() {
                "super" => Found::Module(self.modules[module].parent?),
                "self" => found,
                // What no pattern here finds, as what a macro makes, is of the module that is named.
                name => self.member(module, name, seen).unwrap_or(Found::ItemOf(module)),
            };
        }
        Some(found)
    }

    /// Returns what a name stands for in a module: there, or where it is imported from.
    fn member(&self, module: usize, name: &str, seen: &mut Vec<(usize, String)>) -> Option<Found> {
        let here = &self.modules[module];
        if let Some(child) = here.children.get(name) {
            return Some(Found::Module(*child));
        }
        if here.defined.contains(name) {
            return Some(Found::ItemOf(module));
        }
        let key = (module, name.to_owned());
        if seen.contains(&key) {
            return None;
        }
        seen.push(key);
        if let Some(path) = here.imported.get(name) {
            return self.resolve(module, path, seen);
        }
        here.globs.iter().find_map(|glob| match self.resolve(module, glob, seen) {
            Some(Found::Module(of)) if of != module => self.member(of, name, seen),
            _ => None,
        })
    }

    fn read_file(&mut self, file: PathBuf, folder: PathBuf, parent: Option<usize>) -> usize {
        let source = fs::read_to_string(&file).unwrap_or_else(|why| panic!("{file:?}: {why}"));
        let tokens = split(&source);
        let index = self.modules.len();
        self.modules.push(Module { file, folder, parent, ..Module::default() });
        self.read_items(index, &tokens);
        index
    }

    fn read_items(&mut self, module: usize, tokens: &[Token]) {
        let text = |index: usize| tokens.get(index).map_or("", |token| token.text.as_str());
        let (mut index, mut depth) = (0, 0);
        while index < tokens.len() {
            let next = text(index + 1).to_owned();
            match text(index) {
                "#" if next == "[" || (next == "!" && text(index + 2) == "[") => {
                    let end = closed(tokens, index + if next == "[" { 1 } else { 2 });
                    let words = tokens[index..end].iter().map(|token| token.text.as_str());
                    let words: Vec<&str> = words.collect();
                    let only_tests = words.contains(&"cfg") && words.contains(&"test");
                    if only_tests && !words.contains(&"not") {
                        index = item_end(tokens, end);
                        continue;
                    }
                    index = end;
                    continue;
                }
                "mod" if text(index + 2) == ";" => {
                    let here = &self.modules[module];
                    let flat = here.folder.join(format!("{next}.rs"));
                    let below = here.folder.join(&next);
                    let child = self.read_file(flat, below, Some(module));
                    self.modules[module].children.insert(next, child);
                    index += 3;
                    continue;
                }
                "mod" if text(index + 2) == "{" => {
                    let (child, end) = (self.modules.len(), closed(tokens, index + 2));
                    let here = &self.modules[module];
                    let (file, folder) = (here.file.clone(), here.folder.join(&next));
                    let inline = Module { file, folder, parent: Some(module), ..Module::default() };
                    self.modules.push(inline);
                    self.modules[module].children.insert(next, child);
                    self.read_items(child, &tokens[index + 3..end - 1]);
                    index = end;
                    continue;
                }
                "use" => {
                    let line = tokens[index].line;
                    index = self.read_use(module, tokens, index + 1, &mut Vec::new(), line);
                    continue;
                }
                "{" => depth += 1,
                "}" => depth -= 1,
                "macro_rules" if next == "!" => {
                    self.modules[module].defined.insert(text(index + 2).to_owned());
                }
                "fn" | "struct" | "enum" | "trait" | "type" | "const" | "static" | "union"
                    if depth == 0 =>
                {
                    self.modules[module].defined.insert(next);
                }
                word if is_word(word) && (index == 0 || text(index - 1) != "::") => {
                    let line = tokens[index].line;
                    self.modules[module].words.entry(word.to_owned()).or_insert(line);
                    // `pub(in crate::a)` says who may see it, and uses nothing.
                    if next == "::" && (index == 0 || text(index - 1) != "in") {
                        let mut path = vec![word.to_owned()];
                        while text(index + 1) == "::" && is_word(text(index + 2)) {
                            path.push(text(index + 2).to_owned());
                            index += 2;
                        }
                        self.modules[module].paths.push((line, path));
                    }
                }
                _ => {}
            }
            index += 1;
        }
    }

    /// Reads one tree of a `use` and gives where it ends.
    fn read_use(
        &mut self,
        module: usize,
        tokens: &[Token],
        mut index: usize,
        prefix: &mut Words,
        line: usize,
    ) -> usize {
        let text = |index: usize| tokens.get(index).map_or("", |token| token.text.as_str());
        let before = prefix.len();
        let mut name = None;
        loop {
            match text(index) {
                "{" => {
                    while text(index) != "}" {
                        index = self.read_use(module, tokens, index + 1, prefix, line);
                    }
                    index += 1;
                    break;
                }
                "*" => {
                    self.modules[module].globs.push(prefix.clone());
                    index += 1;
                    break;
                }
                "as" => {
                    name = Some(text(index + 1).to_owned());
                    index += 2;
                }
                "::" => index += 1,
                word if is_word(word) => {
                    // `a::{self}` is `a`.
                    if word != "self" || prefix.is_empty() {
                        prefix.push(word.to_owned());
                    }
                    name = prefix.last().cloned();
                    index += 1;
                }
                _ => break,
            }
        }
        if let Some(name) = name.filter(|_| !matches!(text(index - 1), "}" | "*")) {
            let here = &mut self.modules[module];
            here.paths.push((line, prefix.clone()));
            here.imported.insert(name, prefix.clone());
        }
        prefix.truncate(before);
        if before == 0 { index + 1 } else { index }
    }
}

fn is_word(text: &str) -> bool {
    text.starts_with(|c: char| c.is_alphabetic() || c == '_')
}

/// Returns what follows the bracket that closes the one at `index`.
fn closed(tokens: &[Token], index: usize) -> usize {
    let mut depth = 0;
    for (offset, token) in tokens[index..].iter().enumerate() {
        match token.text.as_str() {
            "(" | "[" | "{" => depth += 1,
            ")" | "]" | "}" => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return index + offset + 1;
        }
    }
    tokens.len()
}

/// Returns what follows the item that begins at `index`, with its attributes.
fn item_end(tokens: &[Token], mut index: usize) -> usize {
    let is_use = tokens[index..].iter().take(6).any(|token| token.text == "use");
    while let Some(token) = tokens.get(index) {
        match token.text.as_str() {
            ";" | "," => return index + 1,
            "{" if !is_use => return closed(tokens, index),
            "(" | "[" | "{" => index = closed(tokens, index),
            _ => index += 1,
        }
    }
    index
}
