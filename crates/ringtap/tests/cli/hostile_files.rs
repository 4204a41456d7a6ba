//! Files that cost more than their size, or change while they are read.

use std::fs::{self, File};
use std::io::Write;
use std::path::Path;
use std::process::Stdio;
use std::thread;
use std::time::Duration;

use crate::built::{Built, CALL_ID, signalling};
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

/// An RTP packet.
fn rtp(payload_type: u8, number: u16, timestamp: u32, ssrc: u32, payload: &[u8]) -> Vec<u8> {
    let [number, timestamp, ssrc] =
        [&number.to_be_bytes()[..], &timestamp.to_be_bytes()[..], &ssrc.to_be_bytes()[..]];
    [&[0x80, payload_type], number, timestamp, ssrc, payload].concat()
}

/// A packet a minute for half a day: hardly any sound, and a gigabyte of silence.
#[test]
fn a_few_packets_over_hours_do_not_make_a_sound_of_hours() {
    let folder = tempfile::tempdir().expect("a folder");
    let (path, wav) = (folder.path().join("in.pcap"), folder.path().join("out.wav"));
    let mut built = Built::default();
    signalling(&mut built, "8", 12 * 3_600_000);
    for minute in 0..719_u32 {
        let packet = rtp(8, minute as u16, minute * 480_000, 7, &[0x55; 160]);
        built.udp(100 + 60_000 * u64::from(minute), (1, 4000), (2, 6000), &packet);
    }
    built.write(&path);
    assert!(path.metadata().expect("a file").len() < 200_000);
    let mut command = ringtap();
    command.arg("extract").arg(&path).args(["--call", CALL_ID, "--mix", "caller", "--rate", "4000", "--wav"]);
    let run: Run = command.arg(&wav).output().expect("the program starts").into();
    assert_eq!(run.status, 3, "{run:?}");
    assert!(run.err.contains("the sound ends here, of 11:58:00"), "{run:?}");
    assert!(run.err.contains("`--max-minutes` sets this limit"), "{run:?}");
    assert_eq!(wav.metadata().expect("a WAV").len(), 44 + 3_600 * 4_000 * 2);
    let run: Run = command.args(["--max-minutes", "2"]).output().expect("it starts").into();
    assert_eq!(wav.metadata().expect("a WAV").len(), 44 + 120 * 4_000 * 2, "{run:?}");
}

/// Processes that the one with this id has started.
fn children(id: u32) -> usize {
    let parent = |stat: String| stat.rsplit(')').next()?.split_whitespace().nth(1)?.parse::<u32>().ok();
    let entries = fs::read_dir("/proc").expect("Linux").flatten();
    let stats = entries.filter_map(|entry| fs::read_to_string(entry.path().join("stat")).ok());
    stats.filter_map(parent).filter(|parent| *parent == id).count()
}

/// Hundreds of streams of a codec that a process of its own decodes. Of short ones that begin together, every
/// second is delayed until the one before it ends.
#[test]
fn hundreds_of_streams_do_not_start_hundreds_of_processes() {
    for packets in [20, 40] {
        let Some((most, told)) = extract_streams(packets) else {
            return ringtap_testing::skip("streams of Opus", "libopus is not installed");
        };
        assert!(most <= 17, "{most} processes at the same time");
        let limit = "left out of the sound: too many at the same time; `--max-streams` sets this limit";
        assert!(told.contains(limit), "{told}");
    }
}

/// Extracts the sound of 150 streams of so many packets: the most processes at the same time, and what was
/// printed; None without the library.
fn extract_streams(packets: u16) -> Option<(usize, String)> {
    let folder = tempfile::tempdir().expect("a folder");
    let (path, wav) = (folder.path().join("in.pcap"), folder.path().join("out.wav"));
    let mut built = Built::default();
    signalling(&mut built, "96\r\na=rtpmap:96 opus/48000/2", 2_000);
    for ssrc in 1..=150_u32 {
        for number in 0..packets {
            // 20 ms of silence (RFC 6716 section 3.1).
            let packet = rtp(96, number, u32::from(number) * 960, ssrc, &[0xfc, 0xff, 0xfe]);
            built.udp(100 + 20 * u64::from(number), (1, 4000), (2, 6000), &packet);
        }
    }
    built.write(&path);
    let mut command = ringtap();
    command.arg("extract").arg(&path).args(["--call", CALL_ID, "--wav"]).arg(&wav);
    let mut child = command.stderr(Stdio::piped()).spawn().expect("the program starts");
    let mut most = 0;
    while child.try_wait().expect("a child").is_none() {
        most = children(child.id()).max(most);
        thread::sleep(Duration::from_millis(1));
    }
    let output = child.wait_with_output().expect("it has ended");
    let told = String::from_utf8_lossy(&output.stderr).into_owned();
    (!told.contains("not installed")).then_some((most, told))
}
