//! What the profile `small` takes in memory, in all processes together, beside the code of the program: that
//! of a program compiled for tests is larger than a release's.

use std::fs;
use std::process::Command;
use std::thread;
use std::time::Duration;

use crate::daemon::{Daemon, Place};
use crate::wire::{assert_inside, inside};

/// What the profile promises, 64 MiB (docs/manual/memory.md), less 20 MiB for the pages of a release's code.
const MOST: u64 = 44 << 20;
/// Calls at once for which it is made.
const CALLS: u64 = 100;

#[test]
fn a_hundred_calls_fit_into_64_mib_by_the_small_profile() {
    inside("small::inside_calls");
}

/// Bytes of a process and of those that it started, but pages of files: what they share counts once.
fn memory(process: u32) -> u64 {
    let children =
        fs::read_to_string(format!("/proc/{process}/task/{process}/children")).expect("its children");
    let children = children.split_whitespace().map(|child| memory(child.parse().expect("a process")));
    let text = fs::read_to_string(format!("/proc/{process}/smaps_rollup")).expect("it runs");
    let kibibytes = |name: &str| -> u64 {
        let line = text.lines().find_map(|line| line.strip_prefix(name)).expect("its share");
        line.trim().trim_end_matches(" kB").parse().expect("a number")
    };
    ((kibibytes("Pss:") - kibibytes("Pss_File:")) << 10) + children.sum::<u64>()
}

/// The most calls at once that the daemon follows while the sender runs, and the most memory.
fn watch(daemon: &Daemon, mut sending: impl FnMut() -> bool) -> (u64, u64) {
    let (mut calls, mut most) = (0, 0);
    while sending() {
        calls = calls.max(daemon.metric("ringtap_calls"));
        most = most.max(memory(daemon.id()));
        thread::sleep(Duration::from_millis(200));
    }
    (calls, most.max(memory(daemon.id())))
}

#[test]
#[ignore = "started in a network namespace by `a_hundred_calls_fit_into_64_mib_by_the_small_profile`"]
fn inside_calls() {
    assert_inside();
    let dir = tempfile::tempdir().expect("a directory");
    let mut place = Place::new(dir.path());
    let path = place.configure("interfaces = [\"va\"]\ndirection = \"incoming\"", "");
    let key = dir.path().join("seal.key");
    let program = env!("CARGO_BIN_EXE_ringtap");
    let made = Command::new(program).args(["key", "--seal"]).arg(&key).status().expect("the program starts");
    assert!(made.success());
    let text = fs::read_to_string(&path).expect("a configuration");
    let more = format!(
        "[process]\nprofile = \"small\"\n[spool]\ndirectory = \"{}/spool\"\nseal = \"{}\"\n",
        dir.path().display(),
        key.display()
    );
    fs::write(&path, text + &more).expect("a configuration");
    let mut daemon = place.start();
    daemon.says("/metrics and /health");
    let mut sender = Command::new(program)
        .args([
            "generate",
            "--interface",
            "vb",
            "--calls",
            "280",
            "--rate",
            "40",
            "--hold",
            "3",
            "--seed",
            "1",
        ])
        .spawn()
        .expect("the program starts");
    let (calls, most) = watch(&daemon, || sender.try_wait().expect("a child").is_none());
    assert!(calls >= CALLS, "{calls} calls at once");
    assert!(most <= MOST, "{} MiB with {calls} calls at once", most >> 20);
    daemon.signal("TERM");
    let (status, log) = daemon.end();
    assert_eq!(status, Some(0), "{log}");
    assert!(log.contains("tables hold 500 calls and 4000 streams"), "{log}");
}
