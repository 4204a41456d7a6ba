//! Every workload, small: the engine finds what was put in, and what it finds is looked at.

use ringtap_bench::{Codec, Error, Load, Unit, Workload, run, run_file};

fn load(calls: u32, packets: u32) -> Load {
    Load { calls, packets: Some(packets), rounds: 2, ..Load::default() }
}

#[test]
fn media_of_both_codecs() {
    for (codec, bytes) in [(Codec::G711, 214.0), (Codec::G729, 74.0)] {
        let outcome = run(Workload::Media, &Load { codec, ..load(300, 6_000) }, &mut |_| ()).unwrap();
        assert_eq!((outcome.calls, outcome.streams, outcome.packets), (300, 600, 6_000));
        assert_eq!(outcome.frame_bytes, bytes);
        let names: Vec<_> = outcome.measures.iter().map(|measure| measure.name.as_str()).collect();
        assert_eq!(names, ["reference", "decode", "rtp", "engine"]);
        assert!(outcome.measures.iter().all(|measure| measure.figure.min > 0.0));
    }
}

#[test]
fn calls_come_and_go() {
    let sip = run(Workload::Sip, &load(500, 2_100), &mut |_| ()).unwrap();
    assert_eq!((sip.calls, sip.streams, sip.packets), (500, 0, 2_100));
    assert_eq!(sip.measure("engine").unwrap().unit, Unit::Messages);
    let calls = run(Workload::Calls, &load(500, 2_700), &mut |_| ()).unwrap();
    assert_eq!((calls.calls, calls.streams, calls.packets), (500, 1_000, 2_700));
    assert_eq!(calls.measure("engine").unwrap().unit, Unit::Calls);
}

#[test]
fn other_traffic_is_dropped() {
    let outcome = run(Workload::Other, &load(1, 10_000), &mut |_| ()).unwrap();
    assert_eq!((outcome.packets, outcome.frame_bytes), (10_000, 60.0));
}

#[test]
fn changes_are_timed_one_by_one() {
    let outcome = run(Workload::Changes, &load(200, 1_500), &mut |_| ()).unwrap();
    for name in ["announce", "add", "add_worst", "add_worst_own", "end", "pause_worst"] {
        assert!(outcome.measure(name).is_some_and(|measure| measure.figure.median > 0.0), "{name}");
    }
}

#[test]
fn what_makes_no_sense_is_refused() {
    for wrong in [load(0, 100), load(100, 100), Load { rounds: 0, ..load(1, 100) }] {
        assert!(matches!(run(Workload::Media, &wrong, &mut |_| ()), Err(Error::Load(_))), "{wrong:?}");
    }
    let huge = load(1_000, u32::MAX);
    assert!(matches!(run(Workload::Media, &huge, &mut |_| ()), Err(Error::Memory { .. })));
}

#[test]
fn a_file_without_calls_is_no_bench() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("none.pcap");
    let header = [0xd4, 0xc3, 0xb2, 0xa1, 2, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 4, 0, 1, 0, 0, 0];
    std::fs::write(&path, header).unwrap();
    let error = run_file(&[&path], &Load::default(), &mut |_| ()).unwrap_err();
    assert!(error.to_string().contains("not one packet"), "{error}");
    // One ARP frame: packets, and nothing to measure.
    let mut frame = header.to_vec();
    frame.extend([0; 8]);
    frame.extend([14, 0, 0, 0, 14, 0, 0, 0]);
    frame.extend([0xff; 12]);
    frame.extend([8, 6]);
    std::fs::write(&path, frame).unwrap();
    let error = run_file(&[&path], &Load::default(), &mut |_| ()).unwrap_err();
    assert!(error.to_string().contains("neither calls nor streams"), "{error}");
}

#[test]
fn a_file_is_read_from_memory_and_from_disk() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../demo/calls.pcap");
    let outcome = run_file(&[path], &load(1, 1), &mut |_| ()).unwrap();
    assert!(outcome.calls >= 12 && outcome.streams > 12);
    assert!(outcome.measure("file").is_some());
}

#[test]
fn two_workers_find_what_one_finds() {
    let outcome = run(Workload::Workers, &load(300, 6_000), &mut |_| ()).unwrap();
    assert_eq!((outcome.calls, outcome.packets), (300, 6_000));
    assert!(outcome.measure("gain").is_some_and(|gain| gain.figure.median > 0.0));
}
