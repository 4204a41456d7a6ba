//! The modules of a crate: what each declares, imports and uses.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use crate::lexer::{Token, tokens};
use crate::source::rust_files;

/// `crate::a::b::Name` as `["a", "b", "Name"]`.
pub(crate) type Names = Vec<String>;

/// A module with a file of its own.
#[derive(Debug, Default)]
pub(crate) struct Module {
    pub(crate) file: String,
    /// What it declares itself.
    items: BTreeSet<String>,
    /// What its imports call what they import, private ones included.
    imports: BTreeMap<String, Names>,
    /// Modules that it re-exports whole.
    globs: Vec<Names>,
    /// Every path of the crate in it, but for re-exports.
    pub(crate) uses: Vec<Names>,
}

/// The modules of a crate by their paths.
pub(crate) struct Modules(pub(crate) BTreeMap<Names, Module>);

impl Modules {
    pub(crate) fn read(sources: &Path) -> Self {
        let mut paths = Vec::new();
        rust_files(sources, &mut paths);
        let mut modules = BTreeMap::new();
        for path in paths {
            let below = path.strip_prefix(sources).unwrap_or(&path);
            let name = module_name(below);
            if name.iter().any(|part| part == "tests") {
                continue;
            }
            let text =
                fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
            let mut module = Scan::new(&name, &tokens(&text)).module();
            module.file = below.to_string_lossy().replace('\\', "/");
            modules.insert(name, module);
        }
        Self(modules)
    }

    /// The file that declares what a path names. `depth` ends circles of re-exports.
    pub(crate) fn file_of(&self, path: &[String], depth: u8) -> Option<&str> {
        let length = (0..=path.len()).rev().find(|length| self.0.contains_key(&path[..*length]))?;
        let module = &self.0[&path[..length]];
        let Some(name) = path.get(length).filter(|_| depth < 8) else { return Some(&module.file) };
        if module.items.contains(name) {
            return Some(&module.file);
        }
        if let Some(imported) = module.imports.get(name) {
            let whole: Names = imported.iter().chain(&path[length + 1..]).cloned().collect();
            // What comes from another crate is declared nowhere here.
            return self.file_of(&whole, depth + 1);
        }
        let declares = |glob: &&Names| self.0.get(*glob).is_some_and(|target| target.items.contains(name));
        match module.globs.iter().find(declares) {
            Some(glob) => self.0.get(glob).map(|target| target.file.as_str()),
            None => Some(&module.file),
        }
    }
}

/// `media/flow.rs` is `["media", "flow"]`, `media/mod.rs` is `["media"]`, `lib.rs` is `[]`.
fn module_name(below: &Path) -> Names {
    let mut names: Names =
        below.with_extension("").iter().map(|part| part.to_string_lossy().into_owned()).collect();
    let last = names.last().map(String::as_str);
    if last == Some("mod") || names.len() == 1 && matches!(last, Some("lib" | "main")) {
        names.pop();
    }
    names
}

/// A pass over the tokens of a file.
struct Scan<'a> {
    name: &'a [String],
    tokens: &'a [Token<'a>],
    at: usize,
    /// Modules within the file, and the depth of braces where each ends.
    inline: Vec<(String, usize)>,
    depth: usize,
    children: BTreeSet<String>,
    module: Module,
}

impl<'a> Scan<'a> {
    fn new(name: &'a [String], tokens: &'a [Token<'a>]) -> Self {
        let children = tokens.windows(3).filter(|three| three[0].text == "mod" && three[2].text == ";");
        let children = children.map(|three| three[1].text.to_owned()).collect();
        Self { name, tokens, at: 0, inline: Vec::new(), depth: 0, children, module: Module::default() }
    }

    fn module(mut self) -> Module {
        while self.at < self.tokens.len() {
            self.step();
        }
        self.module
    }

    fn text(&self, ahead: usize) -> &'a str {
        self.tokens.get(self.at + ahead).map_or("", |token| token.text)
    }

    fn step(&mut self) {
        match self.text(0) {
            "#" if self.is_test() => self.skip_item(),
            "{" => self.depth += 1,
            "}" => {
                self.depth = self.depth.saturating_sub(1);
                self.inline.retain(|(_, depth)| *depth <= self.depth);
            }
            "mod" if self.text(2) == "{" => self.inline.push((self.text(1).to_owned(), self.depth + 1)),
            "use" => return self.import(),
            "struct" | "enum" | "trait" | "union" | "type" | "fn" | "const" | "static" => {
                self.declare(self.text(1))
            }
            "macro_rules" => self.declare(self.text(2)),
            word if self.begins_path(word) => return self.inline_path(),
            _ => {}
        }
        self.at += 1;
    }

    fn declare(&mut self, name: &str) {
        self.module.items.insert(name.to_owned());
    }

    fn is_test(&self) -> bool {
        ["#", "[", "cfg", "(", "test", ")", "]"]
            .iter()
            .enumerate()
            .all(|(ahead, text)| self.text(ahead) == *text)
    }

    /// Behind the item that follows an attribute.
    fn skip_item(&mut self) {
        let mut depth = 0_usize;
        // Behind the attribute itself.
        self.at += 7;
        while self.at < self.tokens.len() {
            match self.text(0) {
                "{" | "(" | "[" => depth += 1,
                "}" | ")" | "]" => depth = depth.saturating_sub(1),
                _ => {}
            }
            if depth == 0 && matches!(self.text(0), "}" | ";") {
                return;
            }
            self.at += 1;
        }
    }

    fn begins_path(&self, word: &str) -> bool {
        let follows = self.at.checked_sub(1).map_or("", |before| self.tokens[before].text);
        let known = || self.children.contains(word) || self.module.imports.contains_key(word);
        self.text(1) == ":"
            && self.text(2) == ":"
            && follows != ":"
            && follows != "."
            && !self.is_visibility()
            && (matches!(word, "crate" | "super" | "self") || known())
    }

    /// Whether the path at hand says where a name is visible: `pub(in crate::media)` uses nothing.
    fn is_visibility(&self) -> bool {
        let before = self.tokens[..self.at].iter().rev();
        before.map(|token| token.text).take(3).eq(["in", "(", "pub"])
    }

    fn inline_path(&mut self) {
        let mut words = vec![self.text(0).to_owned()];
        self.at += 1;
        while self.text(0) == ":" && self.text(1) == ":" && is_name(self.text(2)) {
            words.push(self.text(2).to_owned());
            self.at += 3;
        }
        if let Some(path) = self.absolute(&words) {
            self.module.uses.push(path);
        }
    }

    /// `use`, with all that is in its braces.
    fn import(&mut self) {
        let before = self.at.checked_sub(1).map_or("", |before| self.tokens[before].text);
        let is_public = matches!(before, "pub" | ")");
        self.at += 1;
        // `impl Trait + use<'_>` imports nothing.
        if self.text(0) == "<" {
            return;
        }
        let mut paths = Vec::new();
        self.tree(&mut Vec::new(), &mut paths);
        for (words, name) in paths {
            let Some(path) = self.absolute(&words) else { continue };
            match name.as_str() {
                "*" if is_public => self.module.globs.push(path.clone()),
                "*" | "_" => {}
                _ => _ = self.module.imports.insert(name, path.clone()),
            }
            if !is_public {
                self.module.uses.push(path);
            }
        }
    }

    /// One path of a tree of imports, or several in braces: words, and what they are called here.
    fn tree(&mut self, words: &mut Names, paths: &mut Vec<(Names, String)>) {
        let length = words.len();
        while self.at < self.tokens.len() {
            match self.text(0) {
                "{" => return self.branches(words, length, paths),
                "," | "}" | ";" => break,
                ":" => {}
                "as" => {
                    paths.push((words.clone(), self.text(1).to_owned()));
                    self.at += 2;
                    words.truncate(length);
                    return;
                }
                "*" => {
                    paths.push((words.clone(), "*".to_owned()));
                    self.at += 1;
                    words.truncate(length);
                    return;
                }
                word => words.push(word.to_owned()),
            }
            self.at += 1;
        }
        // `a::{self}` is `a`.
        if words.len() > 1 && words.last().is_some_and(|last| last == "self") {
            words.pop();
        }
        if let Some(last) = words.last() {
            paths.push((words.clone(), last.clone()));
        }
        words.truncate(length);
    }

    fn branches(&mut self, words: &mut Names, length: usize, paths: &mut Vec<(Names, String)>) {
        self.at += 1;
        while self.at < self.tokens.len() && self.text(0) != "}" {
            let (begin, shared) = (self.at, words.len());
            self.tree(words, paths);
            words.truncate(shared);
            // No branch is empty, whatever the text.
            if self.text(0) == "," || self.at == begin {
                self.at += 1;
            }
        }
        self.at += 1;
        words.truncate(length);
    }

    /// The path from the root of the crate; None for one into another crate.
    fn absolute(&self, words: &[String]) -> Option<Names> {
        let inline = self.inline.iter().map(|(name, _)| name.clone());
        let mut path: Names = self.name.iter().cloned().chain(inline).collect();
        let mut words = words;
        match words.first()?.as_str() {
            "crate" => {
                path.clear();
                words = &words[1..];
            }
            "self" => words = &words[1..],
            "super" => {
                while words.first().is_some_and(|word| word == "super") {
                    path.pop();
                    words = &words[1..];
                }
            }
            first if self.children.contains(first) => path = self.name.to_vec(),
            first => {
                path = self.module.imports.get(first)?.clone();
                words = &words[1..];
            }
        }
        path.extend(words.iter().cloned());
        Some(path)
    }
}

fn is_name(text: &str) -> bool {
    text.starts_with(|first: char| first == '_' || first.is_alphabetic())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scan(name: &[&str], text: &str) -> Module {
        let name: Names = name.iter().map(|part| (*part).to_owned()).collect();
        Scan::new(&name, &tokens(text)).module()
    }

    fn joined(paths: &[Names]) -> Vec<String> {
        paths.iter().map(|path| path.join("::")).collect()
    }

    #[test]
    fn imports_are_read_as_trees() {
        let text =
            "use std::fs; use crate::a::{self, b::{C, D as E}, F}; use super::g::*; pub use self::h::I;";
        let module = scan(&["x", "y"], text);
        assert_eq!(joined(&module.uses), ["a", "a::b::C", "a::b::D", "a::F", "x::g"]);
        assert_eq!(module.imports["E"].join("::"), "a::b::D");
        assert_eq!(module.imports["I"].join("::"), "x::y::h::I");
    }

    #[test]
    fn a_visibility_uses_nothing() {
        let module = scan(&["x", "y"], "pub(in crate::x) fn f() { for z in crate::x::all() {} }");
        assert_eq!(joined(&module.uses), ["x::all"]);
    }

    #[test]
    fn inline_paths_count_and_tests_do_not() {
        let text =
            "mod child; use crate::a; fn f() { super::g(); a::h(crate::i::J::new()); child::k(); x::y() }
            #[cfg(test)] mod tests { use crate::never::X; } mod inner { fn l() { super::m(); self::n() } }";
        let module = scan(&["x"], text);
        assert_eq!(
            joined(&module.uses),
            ["a", "g", "a::h", "i::J::new", "x::child::k", "x::m", "x::inner::n"]
        );
    }

    #[test]
    fn files_are_modules() {
        let name = |path: &str| module_name(Path::new(path)).join("::");
        assert_eq!(["lib.rs", "media/mod.rs", "media/flow.rs"].map(name), ["", "media", "media::flow"]);
    }
}
