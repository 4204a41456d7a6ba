//! On a veth pair in a network namespace of its own. They need root and iproute2.

use std::path::Path;
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use ringtap_capture::live::{Injector, Source};
use ringtap_capture::{Capture, OwnedFrames};
use ringtap_model::Frame;

use crate::daemon::{Daemon, Place, calls};
use crate::disk::SmallDisk;

const DEMO: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../demo/calls.pcap");
/// Set for the tests that run inside the namespace.
const INSIDE: &str = "RINGTAP_RUN_INSIDE";

/// What is sent on `vb` comes in on `va`, on `vd` on `vc`. No address, or the kernel sends packets of its
/// own.
const VETH_PAIRS: [&str; 11] = [
    "link set lo up",
    "link add va type veth peer name vb",
    "link add vc type veth peer name vd",
    "link set va addrgenmode none",
    "link set vb addrgenmode none",
    "link set vc addrgenmode none",
    "link set vd addrgenmode none",
    "link set va up",
    "link set vb up",
    "link set vc up",
    "link set vd up",
];

/// Runs one of the tests of this program in a network namespace with [`VETH_PAIRS`].
#[track_caller]
pub(crate) fn inside(test: &str) {
    ringtap_testing::in_network_namespace(&VETH_PAIRS, || {
        let output = Command::new(std::env::current_exe().expect("this test"))
            .args(["--exact", test, "--ignored", "--nocapture", "--test-threads=1"])
            .env(INSIDE, "1")
            .output()
            .expect("this program starts again");
        let said =
            format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        assert!(output.status.success() && said.contains("1 passed"), "{said}");
    });
}

pub(crate) fn assert_inside() {
    assert!(std::env::var_os(INSIDE).is_some(), "this test runs in a network namespace alone; see `inside`");
}

fn demonstration() -> OwnedFrames {
    Capture::open(Path::new(DEMO), None).expect("the demonstration").frames().owned()
}

/// Sends frames onto `vb`, so many times as fast as they were: how many.
fn send(frames: &[Frame<'_>], speed: f64) -> u64 {
    let mut injector = Injector::open("vb", Source::Packet).expect("sends");
    let began = Instant::now();
    for frame in frames {
        let due = Duration::from_secs_f64((frame.time - frames[0].time).secs_f64() / speed);
        thread::sleep(due.saturating_sub(began.elapsed()));
        while injector.send(&[frame.data]).expect("sends") == 0 {
            injector.flush().expect("sends");
        }
    }
    injector.flush().expect("sends");
    frames.len() as u64
}

pub(crate) const INTERFACE: &str = "interfaces = [\"va\"]\ndirection = \"incoming\"";

#[test]
fn calls_on_an_interface() {
    inside("wire::inside_calls");
}

/// Every call that was sent is in the store, with the codecs, packets and MOS that `analyze` finds in the
/// capture.
#[test]
#[ignore = "started in a network namespace by `calls_on_an_interface`"]
fn inside_calls() {
    assert_inside();
    for workers in [1, 2] {
        let dir = tempfile::tempdir().expect("a directory");
        let mut place = Place::new(dir.path());
        place.configure(&format!("{INTERFACE}\nworkers = {workers}"), "");
        let mut daemon = place.start();
        daemon.says("/metrics and /health");
        let sent = send(&demonstration().iter().collect::<Vec<_>>(), 6.0);
        daemon.counts("ringtap_frames_total", |frames| frames >= sent);
        thread::sleep(Duration::from_millis(300));
        assert_eq!(daemon.metric("ringtap_frames_total"), sent);
        let held = std::fs::read_to_string(format!("/proc/{}/status", daemon.id())).expect("its status");
        assert!(held.contains("CapPrm:\t0000000000000000\n") && held.contains("NoNewPrivs:\t1\n"), "{held}");
        daemon.signal("TERM");
        let (status, log) = daemon.end();
        assert_eq!(status, Some(0), "{log}");
        assert!(log.contains("timestamps by kernel"), "{log}");

        let analyzed = dir.path().join("analyzed");
        let program = Command::new(env!("CARGO_BIN_EXE_ringtap"))
            .args(["analyze", DEMO, "--store"])
            .arg(&analyzed)
            .output();
        assert!(program.expect("the program starts").status.success());
        let (live, filed) = (place.calls(), calls(&analyzed));
        assert_eq!(live.keys().collect::<Vec<_>>(), filed.keys().collect::<Vec<_>>());
        for (call_id, (call, streams)) in &live {
            let (wanted, wanted_streams) = &filed[call_id];
            assert_eq!(call["state"], wanted["state"], "{call_id}, {workers} workers");
            assert_eq!(call["capture_drops"], 0, "{call_id}");
            let of = |streams: &[serde_json::Value]| {
                let mut of: Vec<_> = streams
                    .iter()
                    .map(|one| format!("{} {} {} {}", one["ssrc"], one["codec"], one["packets"], one["lost"]))
                    .collect();
                of.sort();
                of
            };
            assert_eq!(of(streams), of(wanted_streams), "{call_id}, {workers} workers");
            if let Some(mos) = call["mos"].as_f64() {
                assert!((1.0..=4.5).contains(&mos), "{call}");
            }
        }
    }
}

#[test]
fn loss_on_an_interface() {
    inside("wire::inside_loss");
}

/// Frames of [`DEMO`] before the first of its last call.
const BEFORE_THE_LAST_CALL: usize = 4_623;
const LAST_CALL: &str = "0d6d8cadbfcfc2aa0000000b@192.0.2.76";

/// A worker that sleeps while its small ring overflows: what was sent is what was analysed and what was
/// counted, the calls of that time are marked, and one after it is not.
#[test]
#[ignore = "started in a network namespace by `loss_on_an_interface`"]
fn inside_loss() {
    assert_inside();
    let dir = tempfile::tempdir().expect("a directory");
    let mut place = Place::new(dir.path());
    place.configure(&format!("{INTERFACE}\nring = \"64KiB\""), "");
    let mut daemon = place.start();
    daemon.says("/metrics and /health");
    let demonstration = demonstration();
    let frames: Vec<_> = demonstration.iter().collect();
    let (during, after) = frames.split_at(BEFORE_THE_LAST_CALL);
    let figures =
        |daemon: &Daemon| (daemon.metric("ringtap_frames_total"), daemon.metric("ringtap_ring_drops_total"));
    let mut sent = thread::scope(|scope| {
        let sender = scope.spawn(|| send(during, 10.0));
        daemon.counts("ringtap_calls", |calls| calls >= 2);
        daemon.signal("STOP");
        thread::sleep(Duration::from_millis(1_000));
        daemon.signal("CONT");
        sender.join().expect("sends")
    });
    daemon.says("drops began at ring");
    daemon.until("all frames are analysed or counted as lost", |daemon| {
        let (taken, lost) = figures(daemon);
        taken + lost >= sent
    });
    let lost = daemon.metric("ringtap_ring_drops_total");
    assert!(lost > 0);
    // Never more than the ring holds, however slow this machine is.
    for some in after.chunks(64) {
        sent += send(some, f64::INFINITY);
        daemon.counts("ringtap_frames_total", |taken| taken + lost >= sent);
    }
    thread::sleep(Duration::from_millis(300));
    assert_eq!(figures(&daemon), (sent - lost, lost), "of {sent}");
    daemon.signal("TERM");
    assert_eq!(daemon.end().0, Some(0));
    let calls = place.calls();
    let drops = |call_id: &str| calls[call_id].0["capture_drops"].as_u64().expect("a count");
    assert_eq!(drops(LAST_CALL), 0);
    let marked = calls.keys().filter(|call_id| drops(call_id) > 0).count();
    assert!(marked > 0, "none of {} calls is marked", calls.len());
}

#[test]
fn a_full_disk() {
    inside("wire::inside_full");
}

/// The disk of the records is full: they wait in the outbox, and are there when it has room again.
#[test]
#[ignore = "started in a network namespace by `a_full_disk`"]
fn inside_full() {
    assert_inside();
    let dir = tempfile::tempdir().expect("a directory");
    let mut place = Place::new(dir.path());
    let records = dir.path().join("records");
    std::fs::create_dir(&records).expect("a directory");
    // The test that started this one finds whether it passed, not whether it was skipped.
    let disk = SmallDisk::mount(&records, "256k").expect("a small disk");
    std::fs::write(disk.file("ballast"), vec![0; 250 << 10]).expect("fills the disk");
    place.configure(INTERFACE, "");
    let mut daemon = place.start();
    daemon.says("/metrics and /health");
    send(&demonstration().iter().collect::<Vec<_>>(), 10.0);
    daemon.counts("ringtap_store_outbox_records", |waiting| waiting >= 20);
    assert!(daemon.log().contains("; records wait until the store works again"), "{}", daemon.log());
    assert_eq!(daemon.log().matches("records wait until").count(), 1, "it is said once");
    assert!(daemon.page("/health").unwrap_or_default().contains("\"degraded\""));
    std::fs::remove_file(disk.file("ballast")).expect("makes room");
    disk.resize("64m");
    daemon.says("the outbox is empty: the day files have caught up");
    daemon.signal("TERM");
    let (status, log) = daemon.end();
    assert_eq!(status, Some(0), "{log}");
    assert_eq!(place.calls().len(), 12);
}
