//! What the tests of several crates share: sample records, comparison with golden files, the programs,
//! networks and reference captures that tests need, and a list of the tests that were skipped without them.
//!
//! Not here: anything that a crate uses outside its tests.
//!
//! The one invariant: a test that does not run to its end calls [`skip`]. It never just returns.
//!
//! `make test` prints the list. With `CI=true` in the environment a skipped test fails, unless
//! `cases/allowed-skips.txt` names what was missing.
//!
//! ```
//! # fn main() {
//! if !ringtap_testing::program("true") {
//!     return;
//! }
//! # }
//! ```
#![forbid(unsafe_code)]

pub mod identity_provider;
pub mod pppoe;
pub mod samples;
pub mod tcp;
pub mod totp;

use std::env;
use std::fmt::Display;
use std::fs::OpenOptions;
use std::io::Write;
use std::panic::Location;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;

use nix::errno::Errno;
use nix::sched::{CloneFlags, unshare};

/// Records that the calling test, or a part of it, is skipped. `missing` names what it needs;
/// `cases/allowed-skips.txt` uses the same name. `reason` says how that was noticed, or how to install it.
///
/// # Panics
///
/// With `CI=true`, unless `cases/allowed-skips.txt` names `missing`.
#[track_caller]
#[expect(clippy::print_stderr, reason = "a test that skips says so")]
pub fn skip(missing: &str, reason: impl Display) {
    let test = test_name(Location::caller());
    // One line, so that the list can be sorted.
    let reason = reason.to_string().split_whitespace().collect::<Vec<_>>().join(" ");
    eprintln!("skipped: {test}: {missing}: {reason}");
    if let Some(list) = env::var_os(LIST) {
        append(Path::new(&list), &format!("{missing}\t{reason}\t{test}\n"));
    }
    let in_ci = env::var_os("CI").is_some_and(|value| value == "true");
    assert!(
        !in_ci || is_allowed(missing, ALLOWED),
        "CI may not skip this test for want of `{missing}` ({reason}): install it, \
         or add it to cases/allowed-skips.txt"
    );
}

/// Whether a program can be found; skips where it cannot.
#[track_caller]
pub fn program(name: &str) -> bool {
    let found = env::var_os("PATH")
        .is_some_and(|path| env::split_paths(&path).any(|folder| folder.join(name).is_file()));
    if !found {
        skip(name, "the program is not installed; `make packages-test` installs it");
    }
    found
}

/// Runs a test in a thread that has a network namespace of its own, in which `setup`, a list of `ip` commands
/// without the word `ip`, is carried out first. Programs that the test starts are in the namespace too; it is
/// gone when all of them have ended. Skips where namespaces may not be made or `ip` is not installed.
///
/// The thread leaves its namespace of mounts alone, unlike `ip netns exec`: so it works in a changed root
/// too, and `/sys/class/net` shows the interfaces of the host.
///
/// # Panics
///
/// When a command of `setup` fails, or when the test does.
#[track_caller]
pub fn in_network_namespace(setup: &[&str], test: impl FnOnce() + Send) {
    if !program("ip") {
        return;
    }
    let name = thread::current().name().unwrap_or("main").to_owned();
    let inside = || {
        unshare(CloneFlags::CLONE_NEWNET)?;
        setup.iter().for_each(|command| ip(command));
        test();
        Ok::<(), Errno>(())
    };
    let ended = thread::scope(|scope| {
        let thread = thread::Builder::new().name(name).spawn_scoped(scope, inside).expect("a thread");
        thread.join()
    });
    match ended {
        Ok(Ok(())) => {}
        Ok(Err(error)) => skip("network namespaces", error),
        Err(panic) => std::panic::resume_unwind(panic),
    }
}

/// Runs `ip` with these arguments, which spaces separate.
///
/// # Panics
///
/// When it cannot be started or fails.
pub fn ip(arguments: &str) {
    let output = Command::new("ip").args(arguments.split(' ')).output().expect("ip is installed");
    assert!(output.status.success(), "ip {arguments}: {}", String::from_utf8_lossy(&output.stderr));
}

/// The folder of reference captures and answers: `RINGTAP_SHARED`, otherwise `../shared` beside the project.
/// Skips where it is absent.
#[track_caller]
pub fn shared() -> Option<PathBuf> {
    let beside = || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared");
    let folder = env::var_os("RINGTAP_SHARED").map_or_else(beside, PathBuf::from);
    if folder.join("captures/MANIFEST.tsv").is_file() && folder.join("expected").is_dir() {
        return Some(folder);
    }
    skip("reference captures", format!("not in {}; RINGTAP_SHARED names another folder", folder.display()));
    None
}

fn append(list: &Path, line: &str) {
    let file = OpenOptions::new().create(true).append(true).open(list);
    // One write: tests of several processes append to the same file.
    let written = file.and_then(|mut file| file.write_all(line.as_bytes()));
    written.unwrap_or_else(|error| panic!("{}: {error}", list.display()));
}

/// File and name of the test; the file and line alone in a thread of its own.
fn test_name(caller: &Location<'_>) -> String {
    match thread::current().name() {
        Some(name) if name != "main" => format!("{}: {name}", caller.file()),
        _ => format!("{}:{}", caller.file(), caller.line()),
    }
}

/// Whether a line `missing: why it cannot be installed` is there.
fn is_allowed(missing: &str, allowed: &str) -> bool {
    let lines = allowed.lines().filter(|line| !line.starts_with('#'));
    lines.filter_map(|line| line.split_once(": ")).any(|(name, _)| name == missing)
}

/// Names the file that [`skip`] appends to: what is missing, the reason and the test, between tabs.
const LIST: &str = "RINGTAP_SKIPPED";
const ALLOWED: &str = include_str!("../../../cases/allowed-skips.txt");

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_listed_names_are_allowed() {
        let list = "# names: reasons\nreference captures: may not be distributed\n";
        assert!(is_allowed("reference captures", list));
        assert!(!is_allowed("tshark", list));
        assert!(!is_allowed("# names", list));
    }

    #[test]
    fn every_allowed_name_has_its_reason() {
        let lines = ALLOWED.lines().filter(|line| !line.starts_with('#'));
        for line in lines {
            assert!(line.split_once(": ").is_some_and(|(_, reason)| reason.len() > 20), "{line}");
        }
    }

    #[test]
    fn a_program_is_found_in_the_path() {
        assert!(program("sh"));
    }

    #[test]
    fn the_test_is_named() {
        let name = test_name(Location::caller());
        assert!(
            name.starts_with("tools/testing/src/lib.rs:") && name.ends_with("the_test_is_named"),
            "{name}"
        );
    }
}
