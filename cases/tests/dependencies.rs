//! `make deny` finds what deny.toml does not permit, and `make sbom` lists what the program is built from.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use serde_json::{Value, json};

fn tool(arguments: &[&str]) -> Output {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut command = Command::new("python3");
    command.arg(root.join("tools/dependencies")).args(arguments).current_dir(root);
    command.output().expect("python3, which the tests need")
}

fn package(name: &str, license: Option<&str>, source: &str, wildcard: bool) -> Value {
    let dependencies = if wildcard { json!([{"name": "b", "req": "*"}]) } else { json!([]) };
    json!({
        "id": name, "name": name, "version": "1.0.0", "license": license, "repository": null,
        "source": if source.is_empty() { Value::Null } else { source.into() }, "dependencies": dependencies,
    })
}

const CRATES: &str = "registry+https://github.com/rust-lang/crates.io-index";

/// What the check says of one package more beside a good one.
fn said(package: Value, is_locked: bool) -> String {
    let dir = tempfile::tempdir().expect("a directory");
    let (metadata, lock) = (dir.path().join("metadata"), dir.path().join("lock"));
    let name = package["name"].as_str().expect("a name").to_owned();
    fs::write(&metadata, json!({ "packages": [package] }).to_string()).expect("written");
    let checksum = if is_locked { "checksum = \"00\"\n" } else { "" };
    let text = format!("[[package]]\nname = \"{name}\"\nversion = \"1.0.0\"\n{checksum}");
    fs::write(&lock, text).expect("written");
    let paths = [&metadata, &lock].map(|path| path.to_str().expect("UTF-8").to_owned());
    let output = tool(&["check", "--metadata", &paths[0], "--lock", &paths[1]]);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.success(), said.is_empty(), "{said}");
    said
}

#[test]
fn a_licence_or_source_that_is_not_permitted_is_named() {
    let licence = |text: &str| said(package("a", Some(text), CRATES, false), true);
    for good in ["MIT", "MIT/Apache-2.0", "GPL-3.0 OR MIT", "(MIT OR GPL-3.0) AND ISC", "0BSD OR (MIT)"] {
        assert_eq!(licence(good), "", "{good}");
    }
    for bad in ["GPL-3.0", "MIT AND GPL-3.0", "(MIT OR ISC) AND GPL-3.0", "Apache-2.0 WITH LLVM-exception"] {
        assert!(licence(bad).contains("a 1.0.0 is under"), "{bad}");
    }
    for broken in ["MIT OR", "(MIT", "MIT ISC", ""] {
        assert!(licence(broken).contains("a 1.0.0"), "{broken}");
    }
    assert!(said(package("a", None, CRATES, false), true).contains("names no licence"));
    let git = "git+https://example.net/a#0";
    assert!(said(package("a", Some("MIT"), git, false), true).contains("comes from git+https"));
    assert!(said(package("a", Some("MIT"), CRATES, false), false).contains("no checksum"));
    assert!(said(package("a", Some("MIT"), "", true), false).contains("any version of b"));
}

#[test]
fn the_bill_lists_what_the_program_is_built_from() {
    let dir = tempfile::tempdir().expect("a directory");
    let path = dir.path().join("bill.json");
    let output = tool(&["sbom", path.to_str().expect("UTF-8")]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let bill: Value = serde_json::from_slice(&fs::read(&path).expect("a file")).expect("JSON");
    assert_eq!((&bill["bomFormat"], &bill["specVersion"]), (&"CycloneDX".into(), &"1.5".into()));
    assert_eq!(bill["metadata"]["component"]["name"], "ringtap");
    let components = bill["components"].as_array().expect("a list");
    let named = |name: &str| components.iter().find(|component| component["name"] == name);
    assert_eq!(named("libsqlite3-sys").expect("it is compiled in")["hashes"][0]["alg"], "SHA-256");
    assert!(named("ringtap-engine").is_some());
    // A tool of development, and what only tests use.
    assert!(named("ringtap-figures").is_none() && named("proptest").is_none());
    assert!(components.iter().all(|component| component["licenses"][0]["expression"].is_string()));
}
