//! What the program says to input and arguments that are wrong: one clear sentence and the right status,
//! never a panic.

use std::fs::File;
use std::io::Write;
use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant};

use nix::sys::signal::{self, Signal};
use nix::unistd::Pid;

use crate::run::{PCAP, Run, file, ringtap, run};

/// Fails with `status` and one sentence on standard error that names `what`, and with nothing on standard
/// output.
fn refused(run: &Run, status: i32, what: &str) {
    assert_eq!(run.status, status, "{run:?}");
    assert!(run.err.starts_with("ringtap: ") && run.err.contains(what), "{run:?}");
    assert!(!run.err.contains("panicked"), "{run:?}");
    assert_eq!(run.out, "", "{run:?}");
}

fn text(path: &Path) -> &str {
    path.to_str().expect("temporary paths are UTF-8")
}

#[test]
fn arguments_that_make_no_sense() {
    refused(&run(["analyze"]), 2, "<FILE>...");
    refused(&run(["analyze", "--frobnicate", "x"]), 2, "--frobnicate");
    refused(&run(["analize", "x"]), 2, "'analyze'");
    refused(&run(["analyze", "--state", "answered", "x"]), 2, "completed");
    refused(&run(["analyze", "--since", "yesterday", "x"]), 2, "2026-11-21 02:00");
    refused(&run(["analyze", "--mos-below", "6", "x"]), 2, "between 1 and 5");
    refused(&run(["analyze", "--code", "busy", "x"]), 2, "4xx");
    refused(&run(["analyze", "--duration", "30s", "x"]), 2, ">30s");
    refused(&run(["analyze", "--format", "table", "--csv", "streams", "x"]), 2, "--format csv");
    refused(&run(["call", "x", "--store", "records", "a.pcap"]), 2, "cannot be used with");
    refused(&run(["mos", "--codec", "H264"]), 2, "PCMU");
}

#[test]
fn help_teaches() {
    for command in [&["--help"][..], &["analyze", "--help"], &["call", "--help"], &["mos", "--help"]] {
        let run = run(command);
        assert_eq!((run.status, run.err.as_str()), (0, ""), "{command:?}");
        assert!(run.out.contains("Examples:"), "{command:?}");
    }
    assert!(run(["--version"]).out.starts_with("ringtap 0."));
}

#[test]
fn files_that_are_no_captures() {
    let folder = tempfile::tempdir().unwrap();
    let analyze = |path: &Path| run(["analyze", text(path)]);
    refused(&analyze(&folder.path().join("missing.pcap")), 1, "does not exist");
    refused(&analyze(folder.path()), 1, "is a directory");
    let jpeg = file(folder.path(), "photo.jpg", b"\xff\xd8\xff\xe0\x00\x10JFIF\0 and so on and so forth");
    refused(&analyze(&jpeg), 1, "JPEG");
    refused(&analyze(&file(folder.path(), "empty.pcap", b"")), 1, "is empty");
    refused(&analyze(&file(folder.path(), "cut.pcap", &PCAP[..20])), 1, "ends inside its pcap file header");
    refused(&run(["call", "x", text(&jpeg)]), 1, "JPEG");
}

#[test]
fn one_wrong_file_among_good_ones_costs_no_time() {
    let folder = tempfile::tempdir().unwrap();
    let good = file(folder.path(), "good.pcap", &PCAP);
    refused(&run(["analyze", text(&good), text(&folder.path().join("missing"))]), 1, "missing");
}

#[test]
fn hostile_file_names_are_shown_harmless() {
    let run = run(["analyze", "\x1b]0;owned\x07.pcap"]);
    refused(&run, 1, "\\x1b]0;owned\\x07.pcap");
    assert!(!run.err.contains('\x1b'));
}

#[test]
fn a_capture_without_packets_has_no_calls() {
    let folder = tempfile::tempdir().unwrap();
    let path = file(folder.path(), "none.pcap", &PCAP);
    let run = run(["analyze", text(&path)]);
    assert_eq!((run.status, run.err.as_str()), (0, ""));
    let lines = "Calls          0\nNo calls       the input has no packet\nPackets        none\n";
    assert_eq!(run.out, lines);
}

#[test]
fn a_damaged_capture_is_reported_after_its_results() {
    let folder = tempfile::tempdir().unwrap();
    let mut content = PCAP.to_vec();
    content.extend([1, 0, 0, 0, 0, 0, 0, 0, 4, 0, 0, 0, 4, 0, 0, 0, 1, 2, 3, 4]);
    content.extend([2, 0, 0, 0, 0, 0]);
    let path = file(folder.path(), "cut.pcap", &content);
    for format in ["table", "jsonl", "csv"] {
        let run = run(["analyze", "--format", format, text(&path)]);
        assert_eq!(run.status, 3, "{run:?}");
        assert!(run.err.starts_with("ringtap: `"), "{run:?}");
        assert!(run.err.contains("cut.pcap` is damaged") && run.err.contains("at byte 44"), "{run:?}");
        assert_eq!(run.err.lines().count(), 1, "{run:?}");
        assert_eq!(run.out.contains("Damage"), format == "table");
    }
}

#[test]
fn a_database_that_cannot_be_written_or_read() {
    let folder = tempfile::tempdir().unwrap();
    let path = file(folder.path(), "none.pcap", &PCAP);
    // Nobody may create a directory there, root included.
    let refusal = run(["analyze", "--store", "/proc/ringtap", text(&path)]);
    assert_eq!(refusal.status, 1, "{refusal:?}");
    assert!(refusal.err.starts_with("ringtap: /proc/ringtap"), "{refusal:?}");
    refused(&run(["analyze", "--store", text(&path), text(&path)]), 1, "is not a directory");
    refused(&run(["calls", "--store", "/no/such"]), 1, "/no/such does not exist");
    refused(&run(["calls", "--store", text(folder.path())]), 1, "holds no day files");
    // What changes evidence has no database by default: it may be another spool's.
    for arguments in [&["forget", "x", "--spool", "s"][..], &["hold", "x", "--case", "c", "--spool", "s"]] {
        refused(&run(arguments), 2, "--store <DIR>");
    }
    // Unless ringtap runs on this machine.
    if !Path::new("/var/lib/ringtap/records").exists() {
        for arguments in
            [&["calls"][..], &["streams"], &["call", "x"], &["export", "x", "--spool", "s", "--pcap"]]
        {
            refused(&run(arguments), 2, "--store <DIR>");
        }
    }
}

#[test]
fn an_unknown_call_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let path = file(folder.path(), "none.pcap", &PCAP);
    refused(
        &run(["call", "4f2a19", text(&path)]),
        1,
        "no call has the Call-ID `4f2a19`; there is no call in the input",
    );
}

#[test]
fn a_full_disk_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let path = file(folder.path(), "none.pcap", &PCAP);
    for arguments in [&["analyze", text(&path)][..], &["analyze", "--csv", "calls", text(&path)], &["mos"]] {
        let full = File::create("/dev/full").expect("Linux");
        let run: Run = ringtap().args(arguments).stdout(full).output().unwrap().into();
        refused(&run, 1, "free some space");
    }
}

#[test]
fn a_reader_that_leaves_ends_it_quietly() {
    let folder = tempfile::tempdir().unwrap();
    let path = file(folder.path(), "none.pcap", &PCAP);
    for arguments in [&["analyze", text(&path)][..], &["mos"], &["--help"]] {
        let mut child =
            ringtap().args(arguments).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        drop(child.stdout.take());
        let run: Run = child.wait_with_output().unwrap().into();
        assert_eq!((run.status, run.err.as_str()), (0, ""), "{arguments:?}");
    }
}

#[test]
fn standard_input_is_read_once() {
    let run: Run = ringtap().args(["analyze", "-", "-"]).output().unwrap().into();
    refused(&run, 1, "only once");
    let mut child =
        ringtap().args(["analyze", "-"]).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(&PCAP).unwrap();
    let run: Run = child.wait_with_output().unwrap().into();
    assert_eq!(run.status, 0);
    assert!(run.out.starts_with("Calls          0\n"));
}

fn interrupt(process: u32) {
    let process = Pid::from_raw(process.cast_signed());
    signal::kill(process, Signal::SIGINT).expect("it runs");
}

/// Waits until the process catches SIGINT: before that the signal would end it as it ends any other.
fn listening(process: u32) {
    let catches = || {
        let status = std::fs::read_to_string(format!("/proc/{process}/status")).expect("Linux");
        let caught = status.lines().find_map(|line| line.strip_prefix("SigCgt:")).expect("a mask");
        u64::from_str_radix(caught.trim(), 16).expect("hex digits") & 2 != 0
    };
    let begin = Instant::now();
    while !catches() {
        assert!(begin.elapsed() < Duration::from_secs(20), "it never listens");
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn ctrl_c_ends_waiting_for_a_pipe() {
    let waiting = || {
        let mut command = ringtap();
        command.args(["analyze", "-"]).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let pipe = child.stdin.take().unwrap();
        listening(child.id());
        (child, pipe)
    };
    let (child, pipe) = waiting();
    interrupt(child.id());
    let run: Run = child.wait_with_output().unwrap().into();
    refused(&run, 130, "interrupted");
    drop(pipe);

    let (child, pipe) = waiting();
    let begin = Instant::now();
    interrupt(child.id());
    std::thread::sleep(Duration::from_millis(100));
    interrupt(child.id());
    assert_eq!(Run::from(child.wait_with_output().unwrap()).status, 130);
    assert!(begin.elapsed() < Duration::from_millis(1_500), "the second one does not wait");
    drop(pipe);

    // As in `tcpdump -w - | ringtap analyze -`: the same Ctrl-C ended the writer.
    let (child, mut pipe) = waiting();
    pipe.write_all(&PCAP).unwrap();
    interrupt(child.id());
    // The signal is heard by a thread of its own; an end of input that overtakes it is an ordinary end.
    std::thread::sleep(Duration::from_millis(300));
    drop(pipe);
    let run: Run = child.wait_with_output().unwrap().into();
    assert_eq!(run.status, 130, "{run:?}");
    assert!(run.out.starts_with("Calls          0\n") && run.err.contains("interrupted"), "{run:?}");
}
