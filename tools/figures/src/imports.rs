//! Which file of a crate uses which, and the cycles among them.
//!
//! Only what a crate itself declares counts: paths that begin with `crate`, `super` or `self`, with a module
//! declared in the same file, or with a module that the file imports. A re-export leads on to the file that
//! declares the name, and is no use of that file by the one that re-exports it. Tests are left out.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use crate::modules::Modules;

/// Files or folders of one folder that use each other in a circle.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Cycle {
    /// The folder that holds them, below the folder of sources; empty for that folder itself.
    pub folder: String,
    /// Their names in order; those of folders end in `/`.
    pub members: Vec<String>,
}

impl Cycle {
    /// Whether a folder takes part. Otherwise files of one folder use each other.
    pub fn is_between_folders(&self) -> bool {
        self.members.iter().any(|member| member.ends_with('/'))
    }
}

/// The cycles in a folder of sources, such as `crates/wire/src`.
pub fn cycles(sources: &Path) -> Vec<Cycle> {
    let mut by_folder: BTreeMap<String, BTreeMap<String, BTreeSet<String>>> = BTreeMap::new();
    for (from, to) in uses(sources) {
        let (folder, from, to) = siblings(&from, &to);
        by_folder.entry(folder).or_default().entry(from).or_default().insert(to);
    }
    let mut found = Vec::new();
    for (folder, uses) in by_folder {
        let circles = circles(&uses).into_iter();
        found.extend(circles.map(|members| Cycle { folder: folder.clone(), members }));
    }
    found
}

/// The pairs of files, below the folder of sources, of which the first uses the second.
pub fn uses(sources: &Path) -> BTreeSet<(String, String)> {
    let modules = Modules::read(sources);
    let mut found = BTreeSet::new();
    for module in modules.0.values() {
        for path in &module.uses {
            let target = modules.file_of(path, 0);
            found.extend(
                target.filter(|to| *to != module.file).map(|to| (module.file.clone(), to.to_owned())),
            );
        }
    }
    found
}

/// The folder that holds both, and what in it holds each.
fn siblings(from: &str, to: &str) -> (String, String, String) {
    let (from, to): (Vec<&str>, Vec<&str>) = (from.split('/').collect(), to.split('/').collect());
    let common = from.iter().zip(&to).take_while(|(from, to)| from == to).count();
    let child = |path: &[&str]| match path.len() - common {
        1 => path[common].to_owned(),
        _ => format!("{}/", path[common]),
    };
    (from[..common].join("/"), child(&from), child(&to))
}

/// The sets of names that reach each other.
fn circles(uses: &BTreeMap<String, BTreeSet<String>>) -> Vec<Vec<String>> {
    let reach: BTreeMap<&str, BTreeSet<&str>> =
        uses.keys().map(|from| (from.as_str(), reached(uses, from))).collect();
    let mut found = BTreeSet::new();
    for (from, reached) in &reach {
        let back =
            reached.iter().filter(|to| reach.get(**to).is_some_and(|from_there| from_there.contains(from)));
        let circle: Vec<String> = back.map(|to| (*to).to_owned()).collect();
        if circle.len() > 1 {
            found.insert(circle);
        }
    }
    found.into_iter().collect()
}

fn reached<'a>(uses: &'a BTreeMap<String, BTreeSet<String>>, from: &str) -> BTreeSet<&'a str> {
    let mut found = BTreeSet::new();
    let mut next: Vec<&'a str> = uses.get(from).into_iter().flatten().map(String::as_str).collect();
    while let Some(name) = next.pop() {
        if found.insert(name) {
            next.extend(uses.get(name).into_iter().flatten().map(String::as_str));
        }
    }
    found
}

/// The folders of sources of all crates below `root`, by the name of the crate's folder.
pub fn crates(root: &Path) -> Vec<(String, PathBuf)> {
    let mut found = Vec::new();
    for entry in fs::read_dir(root.join("crates")).into_iter().flatten().flatten() {
        let sources = entry.path().join("src");
        if sources.is_dir() {
            found.push((entry.file_name().to_string_lossy().into_owned(), sources));
        }
    }
    found.sort();
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn circles_are_found_and_chains_are_not() {
        let uses = |pairs: &[(&str, &str)]| {
            let mut uses: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
            for (from, to) in pairs {
                uses.entry((*from).to_owned()).or_default().insert((*to).to_owned());
            }
            circles(&uses)
        };
        assert_eq!(uses(&[("a", "b"), ("b", "c")]), Vec::<Vec<String>>::new());
        assert_eq!(uses(&[("a", "b"), ("b", "c"), ("c", "a"), ("d", "a")]), [["a", "b", "c"]]);
    }

    #[test]
    fn a_use_lies_in_the_folder_of_both() {
        let of = |from, to| siblings(from, to);
        assert_eq!(of("a.rs", "b/c.rs"), (String::new(), "a.rs".into(), "b/".into()));
        assert_eq!(of("b/mod.rs", "b/d/e.rs"), ("b".into(), "mod.rs".into(), "d/".into()));
    }

    #[test]
    fn a_re_export_leads_on_to_the_file_that_declares() {
        let folder = std::env::temp_dir().join(format!("ringtap-figures-{}", std::process::id()));
        fs::create_dir_all(folder.join("a")).expect("a folder");
        let write = |name: &str, text: &str| fs::write(folder.join(name), text).expect("a file");
        write("lib.rs", "mod a; mod b; pub use a::One;");
        write("a/mod.rs", "mod one; mod two; pub use one::One; pub(crate) use two::Two;");
        write("a/one.rs", "use crate::b::help; pub struct One;");
        write("a/two.rs", "pub struct Two;");
        write("b.rs", "use crate::a::Two; pub fn help() { let x: crate::One; }");
        let found = cycles(&folder);
        fs::remove_dir_all(&folder).expect("removed");
        assert_eq!(found, [Cycle { folder: String::new(), members: vec!["a/".into(), "b.rs".into()] }]);
        assert!(found[0].is_between_folders());
    }
}
