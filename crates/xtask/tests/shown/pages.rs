//! The commands on the pages.

use std::fs;
use std::path::Path;

/// A page of the documents.
pub(crate) struct Page {
    /// Its path from the root.
    pub(crate) path: String,
    text: String,
}

/// One command, as its words.
#[derive(Debug)]
pub(crate) struct Command {
    /// The program and what stands behind it; at least one word.
    pub(crate) words: Vec<String>,
}

impl Page {
    /// Returns all pages: those at the root, in `docs`, and beside the crates.
    pub(crate) fn all(root: &Path) -> Vec<Self> {
        let mut found = Vec::new();
        collect(root, root, &mut found);
        assert!(found.len() > 60, "{} pages", found.len());
        found
    }

    /// Returns the commands in its blocks of `sh`.
    pub(crate) fn typed(&self) -> Vec<Command> {
        let blocks = fences(&self.text).into_iter().filter(|(kind, _)| kind == "sh");
        blocks.flat_map(|(_, block)| commands(&block)).collect()
    }

    /// Returns the commands in its blocks, and those that stand in a sentence, between backticks.
    pub(crate) fn shown(&self) -> Vec<Command> {
        let mut outside = String::new();
        let mut inside = false;
        for line in self.text.lines() {
            match line.trim_start().starts_with("```") {
                true => inside = !inside,
                false if !inside => outside.extend([line, "\n"]),
                false => {}
            }
        }
        let spans = outside.split('`').skip(1).step_by(2).flat_map(commands);
        let plain = |kind: &str| ["sh", "", "text"].contains(&kind);
        let blocks = fences(&self.text).into_iter().filter(|(kind, _)| plain(kind));
        blocks.flat_map(|(_, block)| commands(&block)).chain(spans).collect()
    }
}

fn collect(folder: &Path, root: &Path, into: &mut Vec<Page>) {
    for entry in fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if path.is_dir() {
            let skipped = ["target", "node_modules", "firstcome-data", "golden"];
            if !name.starts_with('.') && !skipped.contains(&name.as_str()) {
                collect(&path, root, into);
            }
        } else if name.ends_with(".md") {
            let inside = path.strip_prefix(root).expect("below the root").display().to_string();
            into.push(Page { path: inside, text: fs::read_to_string(&path).expect("a page") });
        }
    }
}

/// Returns the fenced blocks of a text: what stands behind the fence, and the lines.
fn fences(text: &str) -> Vec<(String, String)> {
    let (mut blocks, mut open) = (Vec::new(), None::<(String, String)>);
    for line in text.lines() {
        match (line.trim_start().strip_prefix("```"), &mut open) {
            (Some(kind), None) => open = Some((kind.to_owned(), String::new())),
            (Some(_), Some(_)) => blocks.extend(open.take()),
            (None, Some((_, block))) => block.extend([line, "\n"]),
            (None, None) => {}
        }
    }
    blocks
}

/// Returns the commands of a few lines of shell: without assignments, redirections, comments and the text of a here-document.
fn commands(text: &str) -> Vec<Command> {
    let (mut found, mut words) = (Vec::new(), Vec::new());
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        let mut line = line.to_owned();
        while let Some(whole) = line.strip_suffix('\\') {
            line = format!("{whole} {}", lines.next().unwrap_or_default());
        }
        for word in split(&line) {
            match &*word {
                "|" | "&" | ";" | "||" | "&&" => finish(&mut words, &mut found),
                "#" => break,
                _ => words.push(word),
            }
        }
        if let Some((_, end)) = line.split_once("<<") {
            let end = end.trim_matches([' ', '\'', '"']);
            lines.by_ref().take_while(|line| *line != end).for_each(drop);
        }
        finish(&mut words, &mut found);
    }
    found
}

/// Adds the words so far as a command, if they are one.
fn finish(words: &mut Vec<String>, found: &mut Vec<Command>) {
    let all = std::mem::take(words);
    let mut kept: Vec<String> = Vec::new();
    let mut redirected = false;
    for word in all {
        let operator =
            word.trim_start_matches(|c: char| c.is_ascii_digit()).starts_with(['<', '>']);
        let assigned = |word: &str| word.split('=').next().is_some_and(is_variable);
        if operator {
            redirected = word.ends_with(['<', '>']);
        } else if redirected {
            redirected = false;
        } else if !(kept.is_empty() && word.contains('=') && assigned(&word)) {
            kept.push(word);
        }
    }
    if kept.first().is_some_and(|first| first != "export" && first != "wait") {
        found.push(Command { words: kept });
    }
}

fn is_variable(name: &str) -> bool {
    !name.is_empty() && name.chars().all(|c| c.is_ascii_uppercase() || c == '_')
}

/// Splits a line into words and operators; what is in quotes stays together, without the quotes.
fn split(line: &str) -> Vec<String> {
    let (mut words, mut word, mut quote) = (Vec::new(), String::new(), None);
    let mut any = false;
    for c in line.chars() {
        match quote {
            Some(end) if c == end => quote = None,
            Some(_) => word.push(c),
            None if c == '\'' || c == '"' => (quote, any) = (Some(c), true),
            None if c.is_whitespace() => {
                if any || !word.is_empty() {
                    words.push(std::mem::take(&mut word));
                    any = false;
                }
            }
            None if c == '#' && word.is_empty() && !any => {
                return [words, vec!["#".into()]].concat();
            }
            None => word.push(c),
        }
    }
    if any || !word.is_empty() {
        words.push(word);
    }
    words
}
