//! How urgent a thread is, as the system tells it.
#![cfg(target_os = "linux")]
#![expect(clippy::unwrap_used, reason = "a test that cannot go on ends")]

use std::thread;

use ringtap_cpu::{give_way, short_slices};

/// The nice value of this thread: field 19 of proc_pid_stat(5), counted behind the name.
fn nice() -> i32 {
    let stat = std::fs::read_to_string("/proc/thread-self/stat").unwrap();
    let (_, behind_name) = stat.rsplit_once(") ").unwrap();
    behind_name.split(' ').nth(16).unwrap().parse().unwrap()
}

#[test]
#[cfg_attr(miri, ignore = "Miri has no priorities")]
fn a_thread_gives_way_and_others_do_not() {
    let before = nice();
    let more = (before + 3).min(19);
    let one = thread::spawn(move || {
        short_slices();
        assert_eq!(nice(), before);
        give_way(more);
        assert_eq!(nice(), more);
        give_way(before - 1);
        assert_eq!(nice(), more);
        // What it starts is as it is.
        thread::spawn(move || assert_eq!(nice(), more)).join().unwrap();
    });
    one.join().unwrap();
    assert_eq!(nice(), before);
}
