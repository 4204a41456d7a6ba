//! All figures as Markdown.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;

use crate::imports;
use crate::source::{COLUMNS, File, Function};

/// Names of types that say nothing about what they are.
pub const EMPTY_TYPE_NAMES: [&str; 5] = ["Keeper", "Kept", "Kind", "Part", "Place"];
/// Lines that a file should have at most.
pub const FILE_LINES: usize = 600;

/// The page: figures of these files and of the crates below `root`, then what was measured elsewhere.
pub fn page(root: &Path, files: &[File]) -> String {
    let mut page = String::from(HEAD);
    sizes(&mut page, files);
    cycles(&mut page, root);
    names(&mut page, files);
    for (title, path) in MEASURED {
        if let Ok(text) = std::fs::read_to_string(root.join(path)) {
            let _ = write!(page, "\n## {title}\n\n{}\n", text.trim());
        }
    }
    tree(&mut page, files);
    page
}

/// The value below which `percent` of the values lie, which are in order.
pub fn percentile(sorted: &[usize], percent: usize) -> usize {
    let at = (sorted.len() * percent).div_ceil(100).max(1) - 1;
    sorted.get(at).copied().unwrap_or(0)
}

fn sorted(values: impl Iterator<Item = usize>) -> Vec<usize> {
    let mut values: Vec<usize> = values.collect();
    values.sort_unstable();
    values
}

/// Four cells of a table: median, 90 %, 95 %, all.
fn percentiles(sorted: &[usize]) -> String {
    [50, 90, 95, 100].map(|percent| percentile(sorted, percent).to_string()).join(" | ")
}

fn sizes(page: &mut String, files: &[File]) {
    let functions = longest_first(files);
    let lengths = sorted(functions.iter().map(|(_, function)| function.lines));
    let bodies = sorted(functions.iter().map(|(_, function)| function.body));
    let own = functions.iter().filter(|(_, function)| !function.is_test);
    let own_bodies = sorted(own.map(|(_, function)| function.body));
    let lines = sorted(files.iter().map(|file| file.lines));
    let (all, tests) =
        files.iter().fold((0, 0), |(all, tests), file| (all + file.lines, tests + file.test_lines));
    let over_80 = lengths.iter().filter(|length| **length > 80).count();
    let over_600 = lines.iter().filter(|lines| **lines > FILE_LINES).count();
    let long_lines: usize = files.iter().map(|file| file.long_lines.len()).sum();
    let widest =
        files.iter().flat_map(|file| &file.long_lines).map(|(_, columns)| *columns).max().unwrap_or(COLUMNS);
    let count: usize = files.iter().map(|file| file.tests).sum();
    let _ = write!(
        page,
        "\n## Sizes\n\n\
         | | median | 90 % | 95 % | longest | too long |\n|---|---|---|---|---|---|\n\
         | lines of a function | {} | {over_80} over 80 |\n\
         | lines of a function's body | {} | |\n\
         | the same without tests | {} | |\n\
         | lines of a file | {} | {over_600} over {FILE_LINES} |\n\
         | columns of a line | | | | {widest} | {long_lines} over {COLUMNS} |\n\n\
         {} functions, {count} tests; {tests} lines of tests to {} lines of code, a ratio of {:.2}.\n\n\
         The longest functions:\n\n| lines | function | file |\n|---|---|---|\n",
        percentiles(&lengths),
        percentiles(&bodies),
        percentiles(&own_bodies),
        percentiles(&lines),
        lengths.len(),
        all - tests,
        tests as f64 / (all - tests).max(1) as f64,
    );
    for (file, function) in functions.iter().take(10) {
        let _ = writeln!(
            page,
            "| {} | `{}` | {}:{} |",
            function.lines,
            function.name,
            file.path.display(),
            function.line
        );
    }
    let large: Vec<&File> = files.iter().filter(|file| file.lines > FILE_LINES).collect();
    if !large.is_empty() {
        let _ = writeln!(page, "\nFiles over {FILE_LINES} lines:\n\n| lines | file |\n|---|---|");
    }
    for file in large {
        let _ = writeln!(page, "| {} | {} |", file.lines, file.path.display());
    }
}

/// Every function with its file.
fn longest_first(files: &[File]) -> Vec<(&File, &Function)> {
    let all = files.iter().flat_map(|file| file.functions.iter().map(move |function| (file, function)));
    let mut all: Vec<_> = all.collect();
    all.sort_by_key(|(_, function)| std::cmp::Reverse(function.lines));
    all
}

fn cycles(page: &mut String, root: &Path) {
    let _ = write!(page, "\n## Import cycles\n\n| crate | folder | members |\n|---|---|---|\n");
    let mut none = true;
    for (name, sources) in imports::crates(root) {
        for cycle in imports::cycles(&sources) {
            none = false;
            let _ = writeln!(page, "| {name} | src/{} | {} |", cycle.folder, cycle.members.join(", "));
        }
    }
    if none {
        page.push_str("| none | | |\n");
    }
}

fn names(page: &mut String, files: &[File]) {
    let types = files.iter().flat_map(|file| &file.types);
    let empty: Vec<&String> = types.filter(|name| EMPTY_TYPE_NAMES.contains(&name.as_str())).collect();
    let takes =
        files.iter().flat_map(|file| &file.functions).filter(|function| function.name == "take").count();
    let _ = write!(page, "\n## Names\n\n| name | uses |\n|---|---|\n");
    for name in EMPTY_TYPE_NAMES {
        let _ =
            writeln!(page, "| type `{name}` | {} |", empty.iter().filter(|found| **found == name).count());
    }
    let _ = writeln!(page, "| function `take` | {takes} |");
}

fn tree(page: &mut String, files: &[File]) {
    let mut folders: BTreeMap<String, (usize, usize, usize)> = BTreeMap::new();
    for file in files {
        let folder = file.path.parent().unwrap_or(Path::new("")).display().to_string();
        let (count, lines, tests) = folders.entry(folder).or_default();
        *count += 1;
        *lines += file.lines;
        *tests += file.tests;
    }
    let _ = write!(page, "\n## Source tree\n\n| folder | files | lines | tests |\n|---|---|---|---|\n");
    for (folder, (count, lines, tests)) in &folders {
        let _ = writeln!(page, "| {folder} | {count} | {lines} | {tests} |");
    }
}

const HEAD: &str = "# Figures of the source tree\n\n\
    `make figures` writes this page. A function counts from the line with `fn` to its closing brace,\n\
    comments and blank lines included. Its body is what lies between the lines of its braces, comments and\n\
    blank lines included, signature and closing brace not; a body on the line of its brace counts one.\n\
    Lines of tests are those in `tests`, `benches` and `examples` and in modules under `#[cfg(test)]`, and\n\
    so are functions there. An import cycle is a set of files or folders of one folder that use each other\n\
    in a circle, tests and re-exports aside.\n";
/// Figures that take long to measure, and the files with them.
const MEASURED: [(&str, &str); 2] =
    [("Builds", "bench/results/builds.md"), ("Mutants of the engine", "bench/results/mutants.md")];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles() {
        let values: Vec<usize> = (1..=20).collect();
        assert_eq!([50, 90, 95, 100].map(|percent| percentile(&values, percent)), [10, 18, 19, 20]);
        assert_eq!(percentile(&[], 50), 0);
    }

    #[test]
    fn the_page_names_what_is_too_long() {
        let text = format!("fn take() {{\n{}}}\n", "    x();\n".repeat(700));
        let file = File::of(Path::new("crates/x/src/y.rs"), &text);
        let page = page(Path::new("/nowhere"), &[file]);
        assert!(page.contains("| 702 | `take` | crates/x/src/y.rs:1 |"), "{page}");
        assert!(
            page.contains("| 702 | crates/x/src/y.rs |") && page.contains("| function `take` | 1 |"),
            "{page}"
        );
        assert!(page.contains("| none | | |") && page.contains("| crates/x/src | 1 | 702 | 0 |"), "{page}");
    }
}
