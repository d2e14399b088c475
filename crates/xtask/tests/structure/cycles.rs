//! Files that use each other in a loop: none can be read, or moved, without the others.

use crate::imports::{Arrow, Tree};
use crate::root;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

/// A group of files that may use each other in a loop, and why that is the lesser evil.
type Excuse = (&'static [&'static str], &'static str);

/// How many excuses there may be.
const MOST: usize = 2;

/// The groups that may be; all files of each, from the root.
const EXCUSED: &[Excuse] = &[
    (
        &[
            "crates/firstcome-lock/src/lease.rs",
            "crates/firstcome-lock/src/wait/local_waiters.rs",
            "crates/firstcome-lock/src/release.rs",
            "crates/firstcome-lock/src/shared.rs",
        ],
        "a lease gives itself back when it is dropped, and a release passes the lock as a new lease",
    ),
    (
        &[
            "crates/firstcome-model/src/campaign.rs",
            "crates/firstcome-model/src/coupons.rs",
            "crates/firstcome-model/src/holding.rs",
            "crates/firstcome-model/src/lists.rs",
            "crates/firstcome-model/src/stocking.rs",
            "crates/firstcome-model/src/wanted.rs",
        ],
        "the rules of a campaign, written once more in six files",
    ),
];

/// Files, and the arrows between them.
struct Group {
    files: BTreeSet<String>,
    text: String,
}

#[test]
fn files_do_not_use_each_other_in_loops() {
    assert!(EXCUSED.len() <= MOST, "at most {MOST} groups may be excused");
    let groups = groups();
    let is = |group: &Group, files: &[&str]| {
        group.files == files.iter().map(|file| (*file).to_owned()).collect()
    };
    let excused = |group: &&Group| EXCUSED.iter().any(|(files, _)| is(group, files));
    let others: Vec<&Group> = groups.iter().filter(|group| !excused(group)).collect();
    let texts: String = others.iter().map(|group| group.text.as_str()).collect();
    assert!(others.is_empty(), "these groups of files use each other in loops:\n{texts}");
    let needed = |files: &[&str]| groups.iter().any(|group| is(group, files));
    let idle: Vec<_> = EXCUSED.iter().filter(|(files, _)| !needed(files)).collect();
    assert!(idle.is_empty(), "these excuses are not needed any more: {idle:#?}");
}

/// Returns the groups of the whole workspace.
fn groups() -> Vec<Group> {
    let mut groups = Vec::new();
    let mut crates: Vec<PathBuf> = std::fs::read_dir(root().join("crates"))
        .expect("the crates")
        .map(|entry| entry.expect("an entry").path())
        .collect();
    crates.sort();
    for folder in crates {
        let files = ["src/lib.rs", "src/main.rs"].map(|file| folder.join(file));
        for file in files.iter().filter(|file| file.exists()) {
            let mut arrows = Tree::read(file).arrows();
            arrows.retain(|arrow| !is_below(&arrow.to, &arrow.from));
            groups.extend(groups_of(&arrows));
        }
    }
    groups
}

/// Says whether a file is in the folder of another one: `a/b/c.rs` of `a/b.rs`.
///
/// A file and its folder are one subject: it may show what its children offer, and they may use what it defines.
fn is_below(child: &Path, parent: &Path) -> bool {
    child.starts_with(parent.with_extension(""))
}

/// Returns the strongly connected components of more than one file.
fn groups_of(arrows: &[Arrow]) -> Vec<Group> {
    let mut next: BTreeMap<&PathBuf, BTreeSet<&PathBuf>> = BTreeMap::new();
    for arrow in arrows {
        next.entry(&arrow.from).or_default().insert(&arrow.to);
    }
    let reach = |from: &PathBuf| {
        let (mut reached, mut todo) = (BTreeSet::new(), vec![from.clone()]);
        while let Some(file) = todo.pop() {
            for to in next.get(&file).into_iter().flatten() {
                if reached.insert((*to).clone()) {
                    todo.push((*to).clone());
                }
            }
        }
        reached
    };
    let reached: BTreeMap<&PathBuf, BTreeSet<PathBuf>> =
        next.keys().map(|file| (*file, reach(file))).collect();
    let mut groups: Vec<BTreeSet<PathBuf>> = Vec::new();
    for (file, beyond) in &reached {
        let back = |to: &&PathBuf| reached.get(to).is_some_and(|beyond| beyond.contains(*file));
        let group: BTreeSet<PathBuf> = beyond.iter().filter(back).cloned().collect();
        if group.len() > 1 && !groups.contains(&group) {
            groups.push(group);
        }
    }
    groups.into_iter().map(|files| described(&files, arrows)).collect()
}

/// Says which file of a group uses which other one, once for each pair.
fn described(files: &BTreeSet<PathBuf>, arrows: &[Arrow]) -> Group {
    let short = |file: &PathBuf| {
        file.strip_prefix(root()).expect("below the root").to_string_lossy().into_owned()
    };
    let mut text = format!("\n{} files:\n", files.len());
    let mut seen = BTreeSet::new();
    for arrow in arrows {
        let inside = files.contains(&arrow.from) && files.contains(&arrow.to);
        if inside && seen.insert((&arrow.from, &arrow.to)) {
            let (from, to) = (short(&arrow.from), short(&arrow.to));
            writeln!(text, "  {from}:{} -> {to} ({})", arrow.line, arrow.path).expect("a string");
        }
    }
    Group { files: files.iter().map(short).collect(), text }
}

/// A crate that has each kind of arrow, and those that are none.
#[test]
fn loops_are_found_and_what_is_none_is_not() {
    let folder = root().join("crates/xtask/tests/structure/example");
    let arrows = Tree::read(&folder.join("lib.rs")).arrows();
    let groups = groups_of(&arrows);
    let names: Vec<Vec<&str>> = groups
        .iter()
        .map(|group| group.files.iter().filter_map(|file| file.rsplit('/').next()).collect())
        .collect();
    let texts: String = groups.iter().map(|group| group.text.as_str()).collect();
    assert_eq!(names, [["left.rs", "right.rs"], ["parent.rs", "child.rs"]], "{texts}");
}
