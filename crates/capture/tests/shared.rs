//! Real captures, where they are at hand: as many packets as their manifest says, and what tshark says of
//! their times.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use ringtap_capture::{Capture, Format};

/// Path, packets, link type of every capture in the manifest.
fn manifest(root: &Path) -> Vec<(PathBuf, u64, String)> {
    let text = fs::read_to_string(root.join("captures/MANIFEST.tsv")).expect("readable");
    let mut lines = text.lines().map(|line| line.split('\t').collect::<Vec<_>>());
    let header = lines.next().expect("a header");
    let column = |name| header.iter().position(|column| *column == name).expect("a column");
    let (path, packets, link) = (column("path"), column("packets"), column("link_type"));
    lines
        .filter_map(|line| Some((root.join(line[path]), line[packets].parse().ok()?, line[link].to_owned())))
        .collect()
}

#[test]
fn every_capture_has_the_packets_of_the_manifest() {
    let Some(root) = ringtap_testing::shared() else { return };
    let captures = manifest(&root);
    assert!(captures.len() > 250, "only {} captures with a count of packets", captures.len());
    for (path, packets, _) in captures {
        let capture = Capture::open(&path, None).unwrap_or_else(|error| panic!("{error}"));
        let mut frames = capture.frames();
        let mut count = 0;
        loop {
            match frames.batch(1000).len() {
                0 => break,
                read => count += read as u64,
            }
        }
        println!("{}: {count} packets, {:?}", path.display(), frames.damage());
        assert_eq!(count, packets, "{}", path.display());
    }
}

/// Another program's writer as the oracle: a capture and what `editcap` makes of it have the same packets.
#[test]
fn what_editcap_converts_to_snoop_and_netmon_has_the_packets_of_the_original() {
    if !ringtap_testing::program("editcap") {
        return;
    }
    let Some(root) = ringtap_testing::shared() else { return };
    let directory = tempfile::tempdir().expect("a directory");
    let mut compared = [0; 2];
    for (path, packets, link) in manifest(&root) {
        // Of the larger ones a few are enough.
        if packets > 2_000 || link != "ether" {
            continue;
        }
        let original = Capture::open(&path, None).expect("good").frames().owned();
        for (index, (format, expected)) in
            [("snoop", Format::Snoop), ("netmon2", Format::NetMon)].into_iter().enumerate()
        {
            let converted = directory.path().join(format);
            let mut command = Command::new("editcap");
            command.args(["-F", format]).arg(&path).arg(&converted).env("TZ", "UTC");
            if !command.output().expect("editcap runs").status.success() {
                continue;
            }
            let capture = Capture::open(&converted, None).unwrap_or_else(|error| panic!("{error}"));
            assert_eq!(capture.format(), expected);
            let mut frames = capture.frames();
            while !frames.batch(1000).is_empty() {}
            assert_eq!(frames.damage(), None, "{} as {format}", path.display());
            let ours = capture.frames().owned();
            assert_eq!(ours.len(), original.len(), "{} as {format}", path.display());
            for (one, other) in ours.iter().zip(original.iter()) {
                assert_eq!(
                    (one.number, one.link, one.wire_len, one.data),
                    (other.number, other.link, other.wire_len, other.data),
                    "{} as {format}",
                    path.display()
                );
                // Both formats have microseconds; one program rounds them, the other cuts them.
                assert!(one.time.0.abs_diff(other.time.0) < 1_000, "{} as {format}", path.display());
            }
            compared[index] += 1;
        }
    }
    println!("compared {compared:?}");
    assert!(compared.iter().all(|count| *count > 50), "{compared:?}");
}

/// Number, time, wire length and captured length of each packet, as tshark prints them.
fn tshark(path: &Path) -> Vec<String> {
    let fields = ["frame.number", "frame.time_epoch", "frame.len", "frame.cap_len"];
    let mut command = Command::new("tshark");
    command.args(["-n", "-T", "fields", "-r"]).arg(path);
    fields.iter().for_each(|field| {
        command.args(["-e", field]);
    });
    let output = command.output().expect("tshark runs");
    String::from_utf8_lossy(&output.stdout).lines().map(str::to_owned).collect()
}

#[test]
fn formats_have_the_times_and_lengths_that_tshark_prints() {
    if !ringtap_testing::program("tshark") {
        return;
    }
    let Some(root) = ringtap_testing::shared() else { return };
    let name = |path: &Path| path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    // Of pcapng there, Simple Packet Blocks have no time and tshark numbers custom blocks; nor does it carry
    // seconds over.
    let comparable = |name: &str| !name.ends_with(".pcapng") && !name.contains("timestamp_invalid");
    let odd = |path: &Path| path.ends_with("kuko6-hovor_rtp.pcapng") || path.ends_with("pss-pss.pcap");
    for (path, ..) in manifest(&root) {
        let format = path.starts_with(root.join("captures/formats")) && comparable(&name(&path));
        if !format && !odd(&path) {
            continue;
        }
        let theirs = tshark(&path);
        let capture = Capture::open(&path, None).expect("good");
        let frames = capture.frames().owned();
        let ours = frames.iter().map(|frame| {
            let (second, nanos) = (frame.time.0 / 1_000_000_000, frame.time.0 % 1_000_000_000);
            format!("{}\t{second}.{nanos:09}\t{}\t{}", frame.number, frame.wire_len, frame.data.len())
        });
        let ours: Vec<_> = ours.collect();
        assert_eq!(ours, theirs, "{}", path.display());
    }
}
