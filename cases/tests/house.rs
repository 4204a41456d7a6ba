//! The rule of the house: a crate uses only lower layers, never its neighbours; layers 0 and 1 touch nothing
//! outside.

use std::fs;
use std::path::{Path, PathBuf};

/// Layer of each crate, from the bottom. What is not here has no place yet.
const LAYERS: [(&str, u8); 22] = [
    ("cpu", 0),
    ("wire", 0),
    ("model", 0),
    ("quality", 1),
    ("engine", 1),
    ("anonymise", 2),
    ("capture", 2),
    ("audio", 2),
    ("report", 2),
    ("spool", 2),
    ("store", 2),
    ("traffic", 2),
    ("bench", 3),
    ("bucket", 3),
    ("doctor", 3),
    ("export", 3),
    ("live", 3),
    ("recorder", 3),
    ("console", 3),
    ("tui", 4),
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
