//! A Rust file, measured.

use std::fs;
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};

use crate::lexer::{Token, tokens};

/// A file, its functions and types.
#[derive(Clone, Debug)]
pub struct File {
    /// Below the folder of the project.
    pub path: PathBuf,
    /// Lines of the file, comments and blank lines included.
    pub lines: usize,
    /// Of those: lines in folders `tests`, `benches` and `examples`, and in modules under `#[cfg(test)]`.
    pub test_lines: usize,
    /// Columns of each line that is longer than [`COLUMNS`], with its number.
    pub long_lines: Vec<(usize, usize)>,
    /// Every function that has a body.
    pub functions: Vec<Function>,
    /// Names of structs, enums, traits, unions and type aliases.
    pub types: Vec<String>,
    /// How many functions have the attribute `test`.
    pub tests: usize,
}

/// A function with a body.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Function {
    /// Its name without its type.
    pub name: String,
    /// The line with `fn`.
    pub line: usize,
    /// From the line with `fn` to the closing brace, comments and blank lines included; attributes and
    /// documentation are not.
    pub lines: usize,
    /// Lines between the braces of the body; 1 where all of it is on the line of the brace, 0 where there is
    /// nothing.
    pub body: usize,
    /// Whether it is in a folder of tests, benchmarks or examples, or in a module under `#[cfg(test)]`.
    pub is_test: bool,
}

/// Columns that a line may have.
pub const COLUMNS: usize = 110;

impl File {
    /// Measures a file below `root`.
    pub fn read(root: &Path, path: &Path) -> Self {
        let text = fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        let path = path.strip_prefix(root).unwrap_or(path);
        Self::of(path, &text)
    }

    /// Measures a file of that text.
    pub fn of(path: &Path, text: &str) -> Self {
        let tokens = tokens(text);
        let lines = text.lines().count();
        let is_test = path.components().any(|part| {
            ["tests", "benches", "examples", "tests.rs"].iter().any(|name| part.as_os_str() == *name)
        });
        let modules = test_modules(&tokens);
        let in_tests = |line: usize| is_test || modules.iter().any(|module| module.contains(&line));
        let long = |(index, line): (usize, &str)| {
            let columns = line.chars().count();
            (columns > COLUMNS).then_some((index + 1, columns))
        };
        Self {
            path: path.to_owned(),
            lines,
            test_lines: if is_test {
                lines
            } else {
                modules.iter().map(|module| module.clone().count()).sum()
            },
            long_lines: text.lines().enumerate().filter_map(long).collect(),
            functions: functions(&tokens, &in_tests),
            types: types(&tokens),
            tests: tests(&tokens),
        }
    }
}

/// Every Rust file of the project but generated ones, in order of path.
pub fn files(root: &Path) -> Vec<File> {
    let mut paths = Vec::new();
    ["crates", "cases", "fuzz", "tools"].iter().for_each(|folder| rust_files(&root.join(folder), &mut paths));
    paths.sort();
    paths.iter().map(|path| File::read(root, path)).collect()
}

/// Adds the Rust files below a folder.
pub fn rust_files(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() && !path.ends_with("target") {
            rust_files(&path, found);
        } else if path.extension().is_some_and(|end| end == "rs") {
            found.push(path);
        }
    }
}

fn functions(tokens: &[Token<'_>], in_tests: &dyn Fn(usize) -> bool) -> Vec<Function> {
    let named = |(at, pair): (usize, &[Token<'_>])| {
        // `fn(u8)` is a type.
        let is_function =
            pair[0].text == "fn" && pair[1].text.starts_with(|c: char| c == '_' || c.is_alphabetic());
        let (open, close) = if is_function { body(tokens, at) } else { None }?;
        let [first, last] = [open, close].map(|brace| tokens[brace].line);
        Some(Function {
            name: pair[1].text.to_owned(),
            line: pair[0].line,
            lines: last - pair[0].line + 1,
            body: if first < last { last - first - 1 } else { usize::from(close > open + 1) },
            is_test: in_tests(pair[0].line),
        })
    };
    tokens.windows(2).enumerate().filter_map(named).collect()
}

/// The braces of the body of the item at `at`; None for an item without one.
fn body(tokens: &[Token<'_>], at: usize) -> Option<(usize, usize)> {
    let mut brackets = 0_usize;
    let begin = (at..tokens.len()).find(|index| match tokens[*index].text {
        "(" | "[" => {
            brackets += 1;
            false
        }
        ")" | "]" => {
            brackets = brackets.saturating_sub(1);
            false
        }
        "{" | ";" => brackets == 0,
        _ => false,
    })?;
    let mut depth = 0_usize;
    for (index, token) in tokens.iter().enumerate().skip(begin) {
        match token.text {
            "{" => depth += 1,
            "}" => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return (token.text == "}").then_some((begin, index));
        }
    }
    None
}

fn types(tokens: &[Token<'_>]) -> Vec<String> {
    let keywords = ["struct", "enum", "trait", "union", "type"];
    let is_type = |pair: &&[Token<'_>]| {
        keywords.contains(&pair[0].text) && pair[1].text.starts_with(|c: char| c.is_ascii_uppercase())
    };
    tokens.windows(2).filter(is_type).map(|pair| pair[1].text.to_owned()).collect()
}

fn tests(tokens: &[Token<'_>]) -> usize {
    tokens.windows(4).filter(|four| texts(four) == ["#", "[", "test", "]"]).count()
}

/// The lines of each module under `#[cfg(test)]`.
fn test_modules(tokens: &[Token<'_>]) -> Vec<RangeInclusive<usize>> {
    let mark = ["#", "[", "cfg", "(", "test", ")", "]"];
    let mut modules = Vec::new();
    for (at, seven) in tokens.windows(mark.len()).enumerate() {
        let item = at + mark.len();
        if texts(seven) == mark
            && tokens[item..].iter().take(3).any(|token| token.text == "mod")
            && let Some((_, close)) = body(tokens, item)
        {
            modules.push(seven[0].line..=tokens[close].line);
        }
    }
    modules
}

fn texts<'a>(tokens: &[Token<'a>]) -> Vec<&'a str> {
    tokens.iter().map(|token| token.text).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "
/// Documentation.
pub struct Kept<T>(T);
trait Shape {
    fn area(&self) -> [u8; { 1 + 1 }];
}
fn one(f: fn(u8)) -> u8 { f(b'{') }
#[inline]
pub(crate) fn two<F>(f: F)
where
    F: Fn() -> [u8; 2],
{
    // }
    let text = \"}\";

    fn inner() {}
    f();
}
#[cfg(test)]
mod tests {
    #[test]
    fn three() {
    }
}
";

    #[test]
    fn functions_end_at_their_brace() {
        let file = File::of(Path::new("crates/x/src/lib.rs"), TEXT);
        let found: Vec<_> = file.functions.iter().map(|f| (f.name.as_str(), f.line, f.lines)).collect();
        assert_eq!(found, [("one", 7, 1), ("two", 9, 10), ("inner", 16, 1), ("three", 22, 2)]);
    }

    #[test]
    fn bodies_lie_between_their_braces() {
        let file = File::of(Path::new("crates/x/src/lib.rs"), TEXT);
        let found: Vec<_> = file.functions.iter().map(|f| (f.name.as_str(), f.body, f.is_test)).collect();
        assert_eq!(found, [("one", 1, false), ("two", 5, false), ("inner", 0, false), ("three", 0, true)]);
        let file = File::of(Path::new("crates/x/benches/y.rs"), "fn f() {\n    g();\n}\n");
        assert!(file.functions[0].body == 1 && file.functions[0].is_test);
    }

    #[test]
    fn tests_are_told_from_code() {
        let file = File::of(Path::new("crates/x/src/lib.rs"), TEXT);
        assert_eq!((file.lines, file.test_lines, file.tests), (24, 6, 1));
        assert_eq!(File::of(Path::new("crates/x/tests/y.rs"), TEXT).test_lines, 24);
    }

    #[test]
    fn types_are_named() {
        assert_eq!(File::of(Path::new("x.rs"), TEXT).types, ["Kept", "Shape"]);
    }

    #[test]
    fn long_lines_are_counted_in_characters() {
        let text = format!("// {}\n// {}\n", "ä".repeat(107), "ä".repeat(108));
        assert_eq!(File::of(Path::new("x.rs"), &text).long_lines, [(2, 111)]);
    }
}
