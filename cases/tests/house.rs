//! The rules of the house: a crate uses only lower layers, never its neighbours; layers 0 and 1 touch nothing
//! outside; modules do not import each other in circles; functions, files and lines stay short; no test skips
//! in silence.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use ringtap_figures::imports::{self, Cycle};
use ringtap_figures::lexer::tokens;
use ringtap_figures::report::FILE_LINES;
use ringtap_figures::source::{self, File};

/// Layer of each crate, from the bottom. What is not here has no place yet.
const LAYERS: [(&str, u8); 42] = [
    ("cpu", 0),
    ("wire", 0),
    ("model", 0),
    ("quality", 1),
    ("engine", 1),
    ("search", 1),
    ("access", 2),
    ("anonymise", 2),
    ("capture", 2),
    ("audio", 2),
    ("availability", 2),
    ("conversation", 2),
    ("handover", 2),
    ("identity", 2),
    ("investigate", 2),
    ("kpi", 2),
    ("notify", 2),
    ("report", 2),
    ("spool", 2),
    ("stir", 2),
    ("users", 2),
    ("warrant", 2),
    ("store", 2),
    ("traffic", 2),
    ("bench", 3),
    ("bucket", 3),
    ("alarm", 3),
    ("disclosure", 3),
    ("doctor", 3),
    ("export", 3),
    ("hook", 3),
    ("intercept", 3),
    ("live", 3),
    ("oidc", 3),
    ("recorder", 3),
    ("remote", 3),
    ("x1", 3),
    ("tui", 4),
    ("console", 4),
    ("mcp", 4),
    ("daemon", 4),
    ("ringtap", 5),
];

/// Within a layer nobody uses a neighbour, but for this: the engine judges what it measured.
const EXCEPTIONS: [(&str, &str); 1] = [("engine", "quality")];

/// What layers 0 and 1 may not name: sockets, files, threads, clocks, environment, printing.
const OUTSIDE: [&str; 12] = [
    "std::fs",
    "std::io",
    "std::env",
    "std::thread",
    "std::process",
    "std::net::Tcp",
    "std::net::Udp",
    "Instant::now",
    "SystemTime::now",
    "println!",
    "print!(",
    "tokio",
];

/// Folders, below the sources of a crate, whose files may import each other because the subject is recursive.
const RECURSIVE: [(&str, &str); 2] = [
    // A tunnel carries frames, and a frame may be a tunnel.
    ("wire", "frame"),
    // A header may hold a URI with headers.
    ("wire", "sip"),
];

const FUNCTION_LINES: usize = 80;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

fn layer(name: &str) -> Option<u8> {
    LAYERS.iter().find(|(other, _)| *other == name).map(|(_, layer)| *layer)
}

fn crates() -> Vec<String> {
    let mut names: Vec<String> = fs::read_dir(root().join("crates"))
        .expect("crates/ is beside this folder")
        .flatten()
        .filter(|entry| entry.path().join("Cargo.toml").is_file())
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    names
}

/// Crates of ours that a manifest depends on; those for its tests alone are free.
fn dependencies(manifest: &str) -> Vec<String> {
    let mut section = "";
    let mut found = Vec::new();
    for line in manifest.lines() {
        if let Some(name) = line.strip_prefix('[') {
            section = name.trim_end_matches(']');
        } else if section.ends_with("dependencies") && !section.contains("dev-") {
            let name = line.split(['.', '=', ' ']).next().unwrap_or_default();
            found.extend(name.strip_prefix("ringtap-").map(str::to_owned));
        }
    }
    found
}

#[test]
fn every_crate_uses_only_lower_layers() {
    let names = crates();
    assert!(names.len() >= 8, "only {names:?} under crates/");
    for name in names {
        let own = layer(&name).unwrap_or_else(|| panic!("crates/{name} has no layer: give it one in LAYERS"));
        let manifest = fs::read_to_string(root().join("crates").join(&name).join("Cargo.toml")).unwrap();
        for used in dependencies(&manifest) {
            let other = layer(&used).unwrap_or_else(|| panic!("{name} uses {used}, which has no layer"));
            let excepted = EXCEPTIONS.contains(&(name.as_str(), used.as_str()));
            assert!(other < own || excepted, "{name} (layer {own}) may not use {used} (layer {other})");
        }
    }
}

#[test]
fn layers_0_and_1_touch_nothing_outside() {
    for (name, _) in LAYERS.iter().filter(|(_, layer)| *layer <= 1) {
        for file in sources(&root().join("crates").join(name).join("src")) {
            let text = fs::read_to_string(&file).unwrap();
            assert!(
                name == &"cpu" || !text.lines().any(|line| line.trim_start().starts_with("unsafe ")),
                "{} has unsafe code",
                file.display()
            );
            for (number, line) in
                text.lines().enumerate().filter(|(_, line)| !line.trim_start().starts_with("//"))
            {
                for outside in OUTSIDE {
                    assert!(!line.contains(outside), "{}:{}: {outside}", file.display(), number + 1);
                }
            }
        }
    }
}

#[test]
fn modules_do_not_import_each_other_in_circles() {
    let mut wrong = Vec::new();
    for (name, sources) in imports::crates(&root()) {
        let cycles = imports::cycles(&sources);
        for folder in folders_of(&cycles) {
            let here = || cycles.iter().filter(|cycle| cycle.folder == folder);
            let recursive =
                RECURSIVE.contains(&(name.as_str(), folder)) && !here().any(Cycle::is_between_folders);
            let members: usize = here().map(|cycle| cycle.members.len()).sum();
            if !recursive && members > 0 {
                let shown: Vec<String> = here().map(|cycle| cycle.members.join(", ")).collect();
                wrong.push(format!("{members} in crates/{name}/src/{folder}: {}", shown.join("; ")));
            }
        }
    }
    assert!(wrong.is_empty(), "files and folders that import each other in circles:\n{}", wrong.join("\n"));
}

fn folders_of(cycles: &[Cycle]) -> Vec<&str> {
    let mut folders: Vec<&str> = cycles.iter().map(|cycle| cycle.folder.as_str()).collect();
    folders.dedup();
    folders
}

#[test]
fn functions_files_and_lines_are_short() {
    let files = source::files(&root());
    let long = |file: &File, function: &source::Function| {
        let (name, lines) = (&function.name, function.lines);
        (lines > FUNCTION_LINES).then(|| format!("{}:{} {name}: {lines}", file.path.display(), function.line))
    };
    let functions: Vec<String> = files
        .iter()
        .flat_map(|file| file.functions.iter().filter_map(|function| long(file, function)))
        .collect();
    assert!(functions.is_empty(), "functions over {FUNCTION_LINES} lines: {functions:#?}");
    let large = files.iter().filter(|file| file.lines > FILE_LINES);
    let large: Vec<String> = large.map(|file| format!("{}: {}", file.path.display(), file.lines)).collect();
    assert!(large.is_empty(), "files over {FILE_LINES} lines: {large:#?}");
    let wide = files.iter().flat_map(|file| {
        file.long_lines.iter().map(|(line, columns)| format!("{}:{line}: {columns}", file.path.display()))
    });
    let wide: Vec<String> = wide.collect();
    assert!(wide.is_empty(), "lines over {} columns: {wide:#?}", source::COLUMNS);
}

/// A promise without a test is not made.
#[test]
fn every_promise_of_security_names_tests_that_exist() {
    let page = fs::read_to_string(root().join("SECURITY.md")).unwrap();
    let promised = page.split("## What is promised\n").nth(1).unwrap().split("\n## ").next().unwrap();
    let code: String = source::files(&root())
        .iter()
        .map(|file| fs::read_to_string(root().join(&file.path)).unwrap())
        .collect();
    let mut promises = 0;
    for row in promised.lines().filter(|line| line.starts_with("| ")).skip(1) {
        let tests = row.trim_end_matches(" |").rsplit(" | ").next().unwrap();
        let names: Vec<&str> = tests.split('`').skip(1).step_by(2).collect();
        assert!(!names.is_empty(), "no test: {row}");
        for name in names {
            let is_there = match name.contains('/') {
                true => root().join(name).exists(),
                false => code.contains(&format!("fn {name}()")),
            };
            assert!(is_there, "SECURITY.md: `{name}` does not exist");
        }
        promises += 1;
    }
    assert!(promises > 10, "{promises} promises");
}

#[test]
fn the_glossary_names_what_is_in_the_code() {
    let mut words = BTreeSet::new();
    for (_, sources) in imports::crates(&root()) {
        for file in self::sources(&sources) {
            let text = fs::read_to_string(file).unwrap();
            words.extend(tokens(&text).iter().map(|token| token.text.to_owned()));
        }
    }
    let glossary = fs::read_to_string(root().join("docs/glossary.md")).unwrap();
    let rows: Vec<&str> =
        glossary.lines().filter(|line| line.starts_with("| ") && line.contains('`')).collect();
    assert!(rows.len() > 20, "only {} rows of docs/glossary.md name something in the code", rows.len());
    for row in rows {
        let (_, names) = row.trim_end_matches(" |").rsplit_once("| ").unwrap();
        for name in names.split(", ").map(|name| name.trim_matches('`')) {
            assert!(words.contains(name), "docs/glossary.md: `{name}` is no longer in the code: {row}");
        }
    }
}

/// A test that cannot run calls `ringtap_testing::skip`; a printed line would be seen by nobody.
#[test]
fn no_test_skips_in_silence() {
    for file in source::files(&root()).iter().filter(|file| !file.path.starts_with("tools")) {
        let text = fs::read_to_string(root().join(&file.path)).unwrap();
        for (index, line) in text.lines().enumerate() {
            let line = line.to_ascii_lowercase();
            let silent = line.contains(concat!("ln!(\"", "skip"));
            assert!(
                !silent,
                "{}:{} skips in silence: call ringtap_testing::skip",
                file.path.display(),
                index + 1
            );
        }
    }
}

fn sources(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() {
            found.extend(sources(&path));
        } else if path.extension().is_some_and(|end| end == "rs") {
            found.push(path);
        }
    }
    found
}

#[test]
fn the_check_itself_can_fail() {
    let manifest = "[dependencies]\nringtap-engine.workspace = true\n[dev-dependencies]\n\
        ringtap-store.workspace = true\n";
    assert_eq!(dependencies(manifest), ["engine"]);
    assert!(layer("engine") >= layer("quality"));
}
