//! What the profile `small` takes in memory, in all processes together. The code of a program that is not
//! optimised is larger than the profile allows for: `cargo test --release -p ringtap --test run small::`
//! checks the whole, any other build the data alone.

use std::fs;
use std::process::Command;
use std::thread;
use std::time::Duration;

use crate::daemon::{Daemon, Place};
use crate::wire::{assert_inside, inside};

/// What the profile promises: docs/manual/memory.md.
const MOST: u64 = 64 << 20;
/// The same without code, in any build: a release has 35 MiB of data, one that is not optimised 39.
const MOST_DATA: u64 = 42 << 20;
/// Calls at once for which it is made.
const CALLS: u64 = 100;

#[test]
fn a_hundred_calls_fit_into_64_mib_by_the_small_profile() {
    inside("small::inside_calls");
}

/// Bytes of processes: what they share counts once.
#[derive(Clone, Copy, Default)]
struct Memory {
    all: u64,
    /// Without pages of files, which are code.
    data: u64,
}

/// Of a process and of those that it started.
fn memory(process: u32) -> Memory {
    let children =
        fs::read_to_string(format!("/proc/{process}/task/{process}/children")).expect("its children");
    let text = fs::read_to_string(format!("/proc/{process}/smaps_rollup")).expect("it runs");
    let bytes = |name: &str| -> u64 {
        let line = text.lines().find_map(|line| line.strip_prefix(name)).expect("its share");
        let kibibytes: u64 = line.trim().trim_end_matches(" kB").parse().expect("a number");
        kibibytes << 10
    };
    let (all, code) = (bytes("Pss:"), bytes("Pss_File:"));
    children.split_whitespace().map(|child| memory(child.parse().expect("a process"))).fold(
        Memory { all, data: all - code },
        |sum, child| Memory { all: sum.all + child.all, data: sum.data + child.data },
    )
}

/// The most calls at once that the daemon follows while the sender runs, and the most memory.
fn watch(daemon: &Daemon, mut sending: impl FnMut() -> bool) -> (u64, Memory) {
    let (mut calls, mut most) = (0, Memory::default());
    loop {
        let is_sending = sending();
        let now = memory(daemon.id());
        most = Memory { all: most.all.max(now.all), data: most.data.max(now.data) };
        if !is_sending {
            return (calls, most);
        }
        calls = calls.max(daemon.metric("ringtap_calls"));
        thread::sleep(Duration::from_millis(200));
    }
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
    assert!(most.data <= MOST_DATA, "{} MiB of data with {calls} calls at once", most.data >> 20);
    if !cfg!(debug_assertions) {
        assert!(most.all <= MOST, "{} MiB with {calls} calls at once", most.all >> 20);
    }
    daemon.signal("TERM");
    let (status, log) = daemon.end();
    assert_eq!(status, Some(0), "{log}");
    assert!(log.contains("tables hold 500 calls and 4000 streams"), "{log}");
}
