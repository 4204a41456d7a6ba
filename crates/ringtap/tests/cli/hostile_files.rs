//! Files that cost more than their size, or change while they are read.

use std::fs::{self, File};
use std::io::Write;
use std::path::Path;
use std::process::Stdio;
use std::thread;
use std::time::Duration;

use crate::run::{Run, ringtap};

/// Whether the program has opened the file.
fn has_opened(id: u32, path: &Path) -> bool {
    let maps = fs::read_to_string(format!("/proc/{id}/maps")).unwrap_or_default();
    let descriptors = fs::read_dir(format!("/proc/{id}/fd")).into_iter().flatten().flatten();
    let mut targets = descriptors.filter_map(|entry| fs::read_link(entry.path()).ok());
    targets.any(|target| target == path) || maps.contains(&path.display().to_string())
}

/// Somebody truncates the file while the program reads it at its pace.
#[test]
fn a_file_that_is_truncated_while_it_is_read_ends_nobody() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("in.pcap");
    let demo = concat!(env!("CARGO_MANIFEST_DIR"), "/../../demo/calls.pcap");
    fs::copy(demo, &path).expect("a copy");
    let mut command = ringtap();
    command.args(["live", "--records", "--speed", "20"]).arg(&path);
    let mut child =
        command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("the program starts");
    while !has_opened(child.id(), &path) {
        assert!(child.try_wait().expect("a child").is_none(), "it reads for seconds");
        thread::sleep(Duration::from_millis(5));
    }
    File::options().write(true).open(&path).and_then(|file| file.set_len(100)).expect("truncated");
    let output = child.wait_with_output().expect("it ends");
    assert!(output.status.code().is_some(), "{}", output.status);
    assert!(String::from_utf8_lossy(&output.stderr).contains("packets; "), "{output:?}");
}

/// A pcapng block without packets, of `length` bytes.
fn block(kind: u32, length: usize) -> Vec<u8> {
    let size = (length as u32).to_le_bytes();
    let mut block = vec![0; length];
    block[..4].copy_from_slice(&kind.to_le_bytes());
    block[4..8].copy_from_slice(&size);
    block[length - 4..].copy_from_slice(&size);
    block
}

/// A hundred kilobytes that unpack to more than a GiB.
fn bomb(path: &Path) {
    let mut section = block(0x0a0d_0d0a, 28);
    section[8..12].copy_from_slice(&[0x4d, 0x3c, 0x2b, 0x1a]);
    let mut encoder = zstd::Encoder::new(File::create(path).expect("a file"), 1).expect("memory");
    encoder.write_all(&section).expect("written");
    let unknown = block(0x0bad, 16 << 20);
    for _ in 0..66 {
        encoder.write_all(&unknown).expect("written");
    }
    encoder.finish().expect("written");
}

#[test]
fn a_compression_bomb_is_read_to_the_limit_and_takes_no_disk() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("bomb.pcapng.zst");
    bomb(&path);
    assert!(path.metadata().expect("a file").len() < 200_000);
    let analyze = |arguments: &[&str]| -> Run {
        let mut command = ringtap();
        // There is no room for what is unpacked.
        command.arg("analyze").args(arguments).arg(&path).env("TMPDIR", folder.path().join("nowhere"));
        command.output().expect("the program starts").into()
    };
    let run = analyze(&[]);
    assert_eq!(run.status, 3, "{run:?}");
    let limit = "unpack to more than 1073741824 bytes; `--max-unpacked` sets this limit";
    assert!(run.err.contains(limit), "{run:?}");
    assert_eq!((analyze(&["--max-unpacked", "2"]).status), 0);
}
