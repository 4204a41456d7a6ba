//! A share of a hundred thousand calls of two legs each: both legs are kept, or neither.

use std::collections::HashSet;
use std::path::Path;
use std::sync::Arc;

use ringtap_engine::Engine;
use ringtap_model::{Endpoint, Frame, LinkType, Nanos};
use ringtap_recorder::policy::SharedPolicy;
use ringtap_recorder::recorder::{Recorder, RecordingSink, wrapped};
use ringtap_spool::{WriterSettings, of_call, scan};
use ringtap_traffic::{Batch, Scenario, Share, Traffic};

use super::worker::StoreSink;
use crate::config::Config;

const CALLS: u64 = 100_000;

/// The two legs of a message between endpoints: as it came, and behind a B2BUA that gave its leg another
/// Call-ID. Both have the Session-ID of the side that called.
fn legs(message: &str) -> Option<([String; 2], String)> {
    let call_id = message.lines().find_map(|line| line.strip_prefix("Call-ID: "))?;
    let session = format!("{:016x}{:016x}", of_call(call_id.as_bytes()), of_call(b"session"));
    let nobody = "0".repeat(32);
    let header = match message.starts_with("SIP/2.0") {
        true => format!("Session-ID: {};remote={session}\r\n", nobody.replace('0', "b")),
        false => format!("Session-ID: {session};remote={nobody}\r\n"),
    };
    let at = message.find("\r\n")? + 2;
    let first = format!("{}{header}{}", &message[..at], &message[at..]);
    let second = first.replace(call_id, &format!("{call_id}.b2bua"));
    Some(([first, second], call_id.to_owned()))
}

/// Calls that are all refused, and nothing else.
fn scenario() -> Scenario {
    let none = Share::NONE;
    Scenario {
        calls: CALLS,
        rate: 1000.0,
        failed: Share::new(1.0).unwrap(),
        cancelled: none,
        challenged: none,
        retransmit: none,
        dtmf: none,
        reinvite: none,
        ..Scenario::new(7)
    }
}

/// The messages of a batch with those of the second legs, as frames; the Call-IDs of the first legs go into
/// `ids`.
fn both_legs(batch: &Batch, ids: &mut HashSet<String>) -> Vec<(Nanos, Vec<u8>)> {
    let mut data: Vec<(Nanos, Vec<u8>)> = Vec::new();
    for (time, frame) in batch.frames() {
        // Ethernet, IPv4 and UDP are in front of the message.
        let address = |at: usize| std::net::IpAddr::from(<[u8; 4]>::try_from(&frame[at..at + 4]).unwrap());
        let (src, dst) = (address(26), address(30));
        let message = std::str::from_utf8(&frame[42..]).unwrap();
        let (legs, call_id) = legs(message).unwrap();
        ids.insert(call_id);
        for (leg, port) in legs.iter().zip([5060, 5080]) {
            let ends = (Endpoint::new(src, port), Endpoint::new(dst, port));
            data.push((time, wrapped(ends, leg.as_bytes(), LinkType(1)).unwrap()));
        }
    }
    data
}

/// Owners of every chunk in the segments of a spool.
fn owners_in(spool: &Path) -> HashSet<u64> {
    let mut owners = HashSet::new();
    for day in std::fs::read_dir(spool).unwrap().flatten() {
        for file in std::fs::read_dir(day.path()).into_iter().flatten().flatten() {
            if file.path().extension().is_some_and(|end| end == "pcap") {
                let scanned = scan(&std::fs::read(file.path()).unwrap());
                assert!(scanned.is_sound());
                owners.extend(scanned.rows.iter().map(|row| row.chunk.owner));
            }
        }
    }
    owners
}

#[test]
fn both_legs_of_one_in_a_hundred_calls() {
    let dir = tempfile::tempdir().unwrap();
    let at = |name: &str| dir.path().join(name);
    let text = format!(
        "[capture]\ninterfaces = [\"eth0\"]\n[spool]\ndirectory = \"{}\"\n[[keep]]\nshare = \"1%\"\nkeep = \
        \"signalling\"\n",
        at("spool").display()
    );
    let config: Config = toml::from_str(&text).unwrap();
    let shared_policy =
        Arc::new(SharedPolicy::new(super::recording::policy(&config, "a secret").unwrap(), 1, 1 << 16));
    let settings =
        WriterSettings { memory: 8 << 20, owners: 4096, wait: true, ..WriterSettings::new(at("spool")) };
    let mut recorder = Recorder::open(settings, 1_000, 1 << 20, shared_policy, None).unwrap();
    let store = ringtap_store::StoreSettings {
        directory: at("records"),
        queue: 16,
        cache: 1 << 20,
        outbox: at("outbox"),
        outbox_size: 1 << 20,
        journal: None,
        retain: ringtap_store::Retain::default(),
    };
    // What it finds no room for is none of this test's.
    let (store, _) = ringtap_store::StoreWriter::open(&store, |_| ()).unwrap();
    let mut sink = StoreSink::new(store.sender().unwrap(), Default::default(), None, None);
    let limits =
        ringtap_engine::Config { max_calls: 1 << 16, linger: Nanos::from_millis(100), ..Default::default() };
    let mut engine = Engine::new(limits);

    let mut traffic = Traffic::new(scenario()).unwrap();
    let mut batch = Batch::new(256);
    let (mut ids, mut number) = (HashSet::new(), 0);
    let mut now = Nanos::ZERO;
    while traffic.fill(&mut batch) > 0 {
        let data = both_legs(&batch, &mut ids);
        let frames: Vec<Frame<'_>> = data
            .iter()
            .map(|(time, data)| {
                number += 1;
                Frame { time: *time, number, link: LinkType(1), wire_len: data.len() as u32, data }
            })
            .collect();
        now = frames.last().map_or(now, |last| last.time);
        recorder.begin(frames.len(), now);
        engine.batch(&frames, &mut RecordingSink::new(&mut sink, &mut recorder, &frames));
        recorder.tick(now);
        batch.clear();
        traffic.truth().for_each(drop);
    }
    engine.close(&mut RecordingSink::new(&mut sink, &mut recorder, &[]));
    assert_eq!((ids.len() as u64, engine.counters().calls_refused), (CALLS, 0));
    let decided = recorder.counts().decisions.calls;
    assert_eq!(decided.iter().sum::<u64>(), 2 * CALLS);
    recorder.close(now);

    let owners = owners_in(&at("spool"));
    let is_kept = |call_id: &str| owners.contains(&of_call(call_id.as_bytes()));
    let mut kept = 0;
    for call_id in &ids {
        let legs = [is_kept(call_id), is_kept(&format!("{call_id}.b2bua"))];
        assert!(legs[0] == legs[1], "one leg of {call_id}");
        kept += u64::from(legs[0]);
    }
    assert!((CALLS * 9 / 1000..=CALLS * 11 / 1000).contains(&kept), "{kept} of {CALLS}");
    assert_eq!((owners.len() as u64, decided), (2 * kept, [2 * (CALLS - kept), 2 * kept, 0, 0]));
}
