//! Live sources in a network namespace of their own, over a veth pair: what the injector sends at `v0`
//! arrives at `v1`.
//!
//! They need root (or CAP_SYS_ADMIN and CAP_NET_ADMIN) and iproute2.
#![cfg(target_os = "linux")]

use std::collections::{BTreeMap, BTreeSet};
use std::thread;
use std::time::{Duration, Instant};

use ringtap_capture::live::{
    self, Direction, Error, Fanout, Injector, Settings, Source, Tap, TapCounters, Timestamps, XdpMode,
};
use ringtap_testing::{in_network_namespace, ip};
use rustix::thread::{CapabilitySet, CapabilitySets, set_capabilities};

/// No address on the pair, so that the kernel sends nothing of its own.
const VETH_PAIR: [&str; 6] = [
    "link add v0 type veth peer name v1",
    "link set lo up",
    "link set v0 addrgenmode none",
    "link set v0 up",
    "link set v1 addrgenmode none",
    "link set v1 up",
];

/// Runs the test in a network namespace with a veth pair.
#[track_caller]
fn in_lab(test: impl FnOnce() + Send) {
    in_network_namespace(&VETH_PAIR, test);
}

fn settings() -> Settings {
    Settings { interface: "v1".to_owned(), ring: 8 << 20, ..Settings::default() }
}

fn send(injector: &mut Injector, frames: &[Vec<u8>]) {
    let frames: Vec<&[u8]> = frames.iter().map(Vec::as_slice).collect();
    let mut left = &frames[..];
    while !left.is_empty() {
        left = &left[injector.send(left).expect("sends")..];
    }
    injector.flush().expect("flushes");
}

/// Time, number, wire length and data of a frame.
type Got = (u64, u64, u32, Vec<u8>);

/// What comes until `count` frames have come, or five seconds have passed with fewer.
fn receive(tap: &mut Tap, count: usize) -> Vec<Got> {
    let mut got = Vec::new();
    let until = Instant::now() + Duration::from_secs(5);
    while got.len() < count && Instant::now() < until {
        let told = tap.batch(Duration::from_millis(50), |frames| {
            assert!((1..=live::BATCH).contains(&frames.len()));
            got.extend(frames.iter().map(|f| (f.time.0, f.number, f.wire_len, f.data.to_vec())));
        });
        told.expect("captures");
    }
    got
}

/// What is left in the ring, when nothing is sent any more.
fn rest(tap: &mut Tap) -> usize {
    let mut count = 0;
    while let more @ 1.. = tap.batch(Duration::from_millis(100), |_| ()).expect("captures") {
        count += more;
    }
    count
}

/// A UDP packet of `size` bytes on Ethernet, the tags before its type, whose payload tells its number.
fn udp(source: [u8; 4], port: u16, tags: &[u8], number: u32, size: usize) -> Vec<u8> {
    let mut frame = vec![2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1];
    frame.extend(tags);
    frame.extend([8, 0]);
    let length = (size - frame.len()) as u16;
    frame.extend([0x45, 0]);
    frame.extend(length.to_be_bytes());
    frame.extend([0, 0, 0, 0, 64, 17, 0, 0]);
    frame.extend(source);
    frame.extend([10, 8, 0, 2]);
    frame.extend(port.to_be_bytes());
    frame.extend([0x27, 0x10]);
    frame.extend((length - 20).to_be_bytes());
    frame.extend([0, 0]);
    frame.extend(number.to_be_bytes());
    frame.resize(size, number as u8);
    frame
}

#[test]
fn every_frame_arrives_once() {
    in_lab(|| every_frame_arrives(Source::Packet));
}

fn every_frame_arrives(source: Source) {
    let mut tap = live::open(&Settings { source, ..settings() }).expect("opens").remove(0);
    let mut injector = Injector::open("v0", source).expect("opens");
    let sizes = (0..3000u32).map(|number| (number, 60 + number as usize * 7 % 1455));
    let sent: Vec<_> = sizes.map(|(number, size)| udp([10, 9, 0, 1], 10_000, &[], number, size)).collect();
    send(&mut injector, &sent);
    let got = receive(&mut tap, sent.len());
    assert_eq!(got.len(), sent.len());
    let now = std::time::SystemTime::UNIX_EPOCH.elapsed().expect("after 1970").as_nanos() as u64;
    for (index, (time, number, wire_len, data)) in got.iter().enumerate() {
        assert_eq!(data, &sent[index]);
        assert_eq!((*number, *wire_len as usize), (index as u64 + 1, data.len()));
        assert!(now - time < 60_000_000_000, "frame {number} at {time}, now {now}");
        assert!(index == 0 || got[index - 1].0 <= *time, "frame {number} is earlier than the one before");
    }
    let times: BTreeSet<_> = got.iter().map(|(time, ..)| time).collect();
    assert!(times.len() > sent.len() / 2, "only {} times for {} frames", times.len(), sent.len());
    assert_eq!(rest(&mut tap), 0);
    let counts = tap.counters();
    assert_eq!((counts.received, counts.ring_drops, counts.damaged), (3000, 0, 0));
    assert_eq!(counts.bytes, sent.iter().map(|frame| frame.len() as u64).sum::<u64>());
    assert_eq!((injector.sent().frames, injector.sent().bytes), (3000, counts.bytes));
}

#[test]
fn a_fan_out_loses_none_and_keeps_a_source_together() {
    in_lab(|| {
        for fanout in [Fanout::Source, Fanout::Flow] {
            fan_out(fanout);
        }
        // The loopback interface is captured by all the same, each packet once.
        let settings = Settings { interface: "lo".to_owned(), workers: 3, ..settings() };
        let mut taps = live::open(&settings).expect("opens");
        let socket = std::net::UdpSocket::bind("127.0.0.1:0").expect("binds");
        for _ in 0..50 {
            socket.send_to(b"once", "127.0.0.1:9").expect("sends");
        }
        let got: Vec<_> =
            taps.iter_mut().flat_map(|tap| receive_for(tap, Duration::from_millis(200))).collect();
        assert_eq!(got.iter().filter(|(.., data)| data.ends_with(b"once") && data[23] == 17).count(), 50);
    });
}

fn receive_for(tap: &mut Tap, span: Duration) -> Vec<Got> {
    let mut got = Vec::new();
    while let 1.. = tap
        .batch(span, |frames| {
            got.extend(frames.iter().map(|f| (f.time.0, f.number, f.wire_len, f.data.to_vec())));
        })
        .expect("captures")
    {}
    got
}

fn fan_out(fanout: Fanout) {
    let taps = live::open(&Settings { workers: 2, fanout, ..settings() }).expect("opens");
    let mut injector = Injector::open("v0", Source::Packet).expect("opens");
    let source = |number: u32| ([10, 9, (number % 200) as u8, 1], 10_000 + (number / 200 % 2) as u16);
    let frame = |number| {
        let (address, port) = source(number);
        udp(address, port, if number % 3 == 0 { &[0x81, 0, 0, 5] } else { &[] }, number, 214)
    };
    let sent: Vec<_> = (0..4000).map(frame).collect();
    let workers: Vec<_> = taps
        .into_iter()
        .map(|mut tap| {
            thread::spawn(move || (receive_for(&mut tap, Duration::from_millis(500)), tap.counters()))
        })
        .collect();
    send(&mut injector, &sent);
    let shares: Vec<(Vec<Got>, TapCounters)> = workers.into_iter().map(|w| w.join().expect("ends")).collect();

    let numbers: BTreeSet<u64> = shares.iter().flat_map(|(got, _)| got.iter().map(|got| got.1)).collect();
    assert_eq!(numbers.len(), sent.len(), "numbers are unique over the workers");
    let mut all = BTreeMap::new();
    for (worker, (got, counts)) in shares.iter().enumerate() {
        assert!(got.len() > sent.len() / 4, "{fanout:?}: worker {worker} has {}", got.len());
        assert_eq!((counts.received, counts.ring_drops), (got.len() as u64, 0));
        for (.., data) in got {
            *all.entry(data).or_insert(0) += 1;
        }
    }
    assert_eq!(all.len(), sent.len(), "{fanout:?}");
    assert!(sent.iter().all(|frame| all.get(frame) == Some(&1)), "{fanout:?}: each frame once");
    if fanout == Fanout::Source {
        let mut worker_of = BTreeMap::new();
        for (worker, (got, _)) in shares.iter().enumerate() {
            for (.., data) in got {
                let ip = if data[12] == 8 { 14 } else { 18 };
                let source = data[ip + 12..ip + 16].to_vec();
                assert_eq!(*worker_of.entry(source.clone()).or_insert(worker), worker, "{source:?}");
            }
        }
        assert_eq!(worker_of.len(), 200);
    }
}

#[test]
fn vlan_tags_are_as_on_the_wire() {
    in_lab(|| {
        let mut tap = live::open(&settings()).expect("opens").remove(0);
        let mut injector = Injector::open("v0", Source::Packet).expect("opens");
        let tags: [&[u8]; 4] =
            [&[], &[0x81, 0, 0x20, 5], &[0x88, 0xa8, 0, 7], &[0x88, 0xa8, 0, 7, 0x81, 0, 0xe0, 9]];
        let sent: Vec<_> =
            (0..400u32).map(|n| udp([10, 9, 0, 1], 10_000, tags[n as usize % 4], n, 214)).collect();
        send(&mut injector, &sent);
        let got = receive(&mut tap, sent.len());
        assert_eq!(got.len(), sent.len());
        for ((_, number, wire_len, data), sent) in got.iter().zip(&sent) {
            assert_eq!((data, *wire_len as usize), (sent, sent.len()), "frame {number}");
        }
    });
}

#[test]
fn filters_keep_what_they_describe() {
    in_lab(|| {
        for source in SOURCES {
            // In the kernel, then beside it: with `vlan` all tags are seen.
            for (expression, kept) in [
                ("udp src port 10001", 200usize),
                ("vlan and udp src port 10001", 100),
                ("net 192.0.2.0/24 or udp port 10002", 0),
            ] {
                let filter = Some(expression.to_owned());
                let opened = live::open(&Settings { filter, source, ..settings() });
                if let Err(Error::FilterLibrary { what, .. }) = &opened {
                    return ringtap_testing::skip("libpcap", what);
                }
                let mut tap = opened.expect("opens").remove(0);
                let mut injector = Injector::open("v0", Source::Packet).expect("opens");
                let frame = |number: u32| {
                    let tags: &[u8] = if number % 4 < 2 { &[0x81, 0, 0, 5] } else { &[] };
                    udp([10, 9, 0, 1], 10_000 + (number % 2) as u16, tags, number, 214)
                };
                let sent: Vec<_> = (0..400).map(frame).collect();
                send(&mut injector, &sent);
                let got = receive_for(&mut tap, Duration::from_millis(300));
                assert_eq!(got.len(), kept, "{expression}");
            }
        }
    });
}

#[test]
fn a_ring_too_small_drops_and_counts_to_the_packet() {
    in_lab(|| {
        let mut tap = live::open(&Settings { ring: 1 << 16, ..settings() }).expect("opens").remove(0);
        let mut injector = Injector::open("v0", Source::Packet).expect("opens");
        let sent: Vec<_> = (0..2000).map(|n| udp([10, 9, 0, 1], 10_000, &[], n, 1000)).collect();
        send(&mut injector, &sent);
        let full = tap.counters();
        assert!(full.fill > 0.99, "{full:?}");
        let received = rest(&mut tap) as u64;
        let counts = tap.counters();
        assert!(counts.ring_drops > 1500 && counts.freezes > 0, "{counts:?}");
        assert_eq!(received, counts.received);
        assert_eq!(counts.received + counts.ring_drops, 2000, "{counts:?}");
        assert!(counts.fill < 0.01, "{counts:?}");
        // It goes on as if nothing had been, and the totals stay.
        send(&mut injector, &sent[..10]);
        assert_eq!(receive(&mut tap, 10).len(), 10);
        assert_eq!(tap.counters().ring_drops, counts.ring_drops);
    });
}

#[test]
fn long_packets_are_cut_and_counted() {
    in_lab(|| {
        let mut tap = live::open(&Settings { snaplen: 100, ..settings() }).expect("opens").remove(0);
        let mut injector = Injector::open("v0", Source::Packet).expect("opens");
        send(
            &mut injector,
            &[udp([10, 9, 0, 1], 10_000, &[], 1, 1000), udp([10, 9, 0, 1], 10_000, &[], 2, 90)],
        );
        let got = receive(&mut tap, 2);
        let lengths: Vec<_> = got.iter().map(|(.., wire_len, data)| (*wire_len, data.len())).collect();
        assert_eq!(lengths, [(1000, 100), (90, 90)]);
        assert_eq!((tap.counters().cut, tap.counters().bytes), (1, 1090));
        let error = injector.send(&[&[0; 4000]]).expect_err("too long");
        assert!(
            error.to_string().contains("cannot send a frame of 4000 bytes on `v0` (MTU 1500)"),
            "{error}"
        );
    });
}

#[test]
fn what_this_host_sends_comes_once_or_not_at_all() {
    in_lab(|| {
        ip("address add 10.8.0.1/24 dev v1");
        ip("neighbour add 10.8.0.9 lladdr 02:00:00:00:00:09 dev v1");
        let socket = std::net::UdpSocket::bind("10.8.0.1:0").expect("binds");
        let mut injector = Injector::open("v0", Source::Packet).expect("opens");
        for (workers, direction, expected) in [
            (1, Direction::Both, 30),
            (1, Direction::Incoming, 10),
            (2, Direction::Both, 30),
            (2, Direction::Incoming, 10),
        ] {
            let mut taps = live::open(&Settings { workers, direction, ..settings() }).expect("opens");
            let mut itself = Injector::open("v1", Source::Packet).expect("opens");
            for number in 0..10 {
                socket.send_to(b"sent by the host", "10.8.0.9:9").expect("sends");
                socket.send_to(b"sent by the host", "10.8.0.9:11").expect("sends");
                send(&mut injector, &[udp([10, 9, 0, 1], 10_000, &[], number, 214)]);
                // The other end sees these, not this one.
                send(&mut itself, &[udp([10, 9, 0, 2], 10_000, &[], number, 214)]);
            }
            let got = taps.iter_mut().flat_map(|tap| receive_for(tap, Duration::from_millis(200)));
            let udp: Vec<_> = got.filter(|(.., data)| data[12..14] == [8, 0] && data[23] == 17).collect();
            assert_eq!(udp.len(), expected, "{workers} workers, {direction:?}");
            assert!(udp.iter().all(|(.., data)| data[26..30] != [10, 9, 0, 2]));
        }
    });
}

#[test]
fn without_capabilities_it_says_which() {
    in_lab(|| {
        for source in SOURCES {
            let refused = thread::spawn(move || {
                set_capabilities(
                    None,
                    CapabilitySets {
                        effective: CapabilitySet::empty(),
                        permitted: CapabilitySet::empty(),
                        inheritable: CapabilitySet::empty(),
                    },
                )
                .expect("gives them up");
                let opened = live::open(&Settings { source, ..settings() }).expect_err("no permission");
                let sends = Injector::open("v0", source).expect_err("no permission");
                [opened.to_string(), sends.to_string()]
            });
            for said in refused.join().expect("ends") {
                assert!(said.starts_with("no permission to "), "{said}");
                assert!(said.contains("`setcap cap_net_raw,"), "{said}");
            }
        }
    });
}

#[test]
fn packets_longer_than_the_interface_carries_are_counted_as_merged() {
    in_lab(|| {
        let mut tap = live::open(&settings()).expect("opens").remove(0);
        for end in ["v0", "v1"] {
            ip(&format!("link set {end} mtu 9000"));
        }
        let mut injector = Injector::open("v0", Source::Packet).expect("opens");
        let frames = [1514, 1522, 1523, 4000].map(|size| udp([10, 9, 0, 1], 10_000, &[], 1, size));
        send(&mut injector, &frames);
        assert_eq!(receive(&mut tap, 4).len(), 4);
        assert_eq!(tap.counters().merged, 2);
    });
}

#[test]
fn an_interface_that_goes_down_comes_back_and_one_that_goes_away_is_an_error() {
    in_lab(|| {
        let mut tap = live::open(&settings()).expect("opens").remove(0);
        let mut injector = Injector::open("v0", Source::Packet).expect("opens");
        let frames = [udp([10, 9, 0, 1], 10_000, &[], 1, 214)];
        ip("link set v1 down");
        assert_eq!(tap.batch(Duration::from_millis(20), |_| ()).expect("waits"), 0);
        assert_eq!(tap.counters().downs, 1);
        // While it is down it gets another name, by which nobody looks for it.
        ip("link set v1 name v2");
        ip("link set v2 up");
        send(&mut injector, &frames);
        assert_eq!(receive(&mut tap, 1).len(), 1);
        let mut other =
            live::open(&Settings { interface: "v2".to_owned(), ..settings() }).expect("opens").remove(0);
        // The one hears of both at once; the other had heard that it is down before it was removed.
        ip("link set v2 down");
        assert_eq!(other.batch(Duration::from_millis(20), |_| ()).expect("waits"), 0);
        ip("link del v0");
        for (tap, name) in [(&mut tap, "v1"), (&mut other, "v2")] {
            let began = Instant::now();
            let error = loop {
                match tap.batch(Duration::from_millis(200), |_| ()) {
                    Ok(_) => assert!(began.elapsed() < Duration::from_secs(5), "hangs"),
                    Err(error) => break error,
                }
            };
            assert!(error.to_string().starts_with(&format!("interface `{name}` is gone")), "{error}");
        }
        assert!(injector.send(&[&frames[0]]).is_err());
    });
}

#[test]
fn what_cannot_be_opened_says_why() {
    in_lab(|| {
        let open = |settings: Settings| live::open(&settings).expect_err("cannot be opened").to_string();
        let nowhere = open(Settings { interface: "v7".to_owned(), ..settings() });
        assert_eq!(nowhere, "there is no interface `v7`; choose one of: lo, v0, v1");
        assert!(
            open(Settings { workers: 0, ..settings() }).contains("workers = 0 is not valid: use 1 to 256")
        );
        assert!(open(Settings { ring: 1, ..settings() }).contains("64 KiB"));
        ip("link set v1 down");
        assert!(open(settings()).contains("`ip link set dev v1 up`"));
        ip("link set v1 up");
        let wrong = live::open(&Settings { filter: Some("udp prt 5060".to_owned()), ..settings() });
        match wrong.expect_err("a wrong filter") {
            Error::FilterLibrary { what, .. } => ringtap_testing::skip("libpcap", what),
            error => assert!(error.to_string().contains("on: `prt 5060`"), "{error}"),
        }
        assert!(live::pin(1023).expect_err("no such CPU").to_string().contains("this process may run on"));
        let soft = Settings { hardware_time: true, ..settings() };
        let tap = live::open(&soft).expect("opens without").remove(0);
        assert!(tap.warnings()[0].contains("no time stamps in hardware"), "{:?}", tap.warnings());
        assert_eq!(tap.timestamps(), Timestamps::Kernel);
    });
}

#[test]
fn every_frame_arrives_once_by_af_xdp() {
    in_lab(|| {
        for mode in [XdpMode::Copy, XdpMode::Generic, XdpMode::Auto] {
            every_frame_arrives(Source::Xdp { mode });
        }
    });
}

#[test]
fn af_xdp_gives_the_tags_and_what_it_does_not_take_stays_with_the_host() {
    in_lab(|| {
        let source = Source::Xdp { mode: XdpMode::Copy };
        let mut tap = live::open(&Settings { source, ..settings() }).expect("opens").remove(0);
        assert_eq!(tap.warnings(), ["AF_XDP on `v1`: native mode, with a copy of each packet"]);
        let mut injector = Injector::open("v0", Source::Packet).expect("opens");
        let sent = [
            udp([10, 9, 0, 1], 10_000, &[0x81, 0, 0x20, 5], 1, 214),
            udp([10, 9, 0, 1], 10_000, &[0x88, 0xa8, 0, 7, 0x81, 0, 0xe0, 9], 2, 90),
        ];
        send(&mut injector, &sent);
        let got: Vec<_> = receive(&mut tap, 2).into_iter().map(|(.., data)| data).collect();
        assert_eq!(got, sent);
        assert_eq!(tap.timestamps(), Timestamps::Kernel);
        // Dropped, it leaves the interface as it was, also for the one that comes after it.
        drop(tap);
        let mut tap = live::open(&settings()).expect("opens").remove(0);
        send(&mut injector, &sent);
        assert_eq!(receive(&mut tap, 2).len(), 2);
        let again = live::open(&Settings { source, ..settings() }).expect("opens").remove(0);
        let second = live::open(&Settings { source, ..settings() }).expect_err("the queue is taken");
        assert!(second.to_string().contains("another program uses that queue"), "{second}");
        drop(again);
    });
}

#[test]
fn af_xdp_with_too_little_room_drops_and_counts_to_the_packet() {
    in_lab(|| {
        for mode in [XdpMode::Copy, XdpMode::Generic] {
            let source = Source::Xdp { mode };
            let mut tap =
                live::open(&Settings { source, ring: 1 << 17, ..settings() }).expect("opens").remove(0);
            let mut injector = Injector::open("v0", Source::Packet).expect("opens");
            let sent: Vec<_> = (0..1000).map(|n| udp([10, 9, 0, 1], 10_000, &[], n, 214)).collect();
            send(&mut injector, &sent);
            let full = tap.counters();
            assert!(full.fill > 0.99, "{full:?}");
            let received = rest(&mut tap) as u64;
            let counts = tap.counters();
            assert_eq!((received, counts.received), (64, 64));
            assert_eq!(counts.received + counts.ring_drops, 1000, "{mode:?}: {counts:?}");
            send(&mut injector, &sent[..10]);
            assert_eq!(receive(&mut tap, 10).len(), 10);
        }
    });
}

#[test]
fn af_xdp_says_when_its_interface_is_gone_and_what_it_cannot() {
    in_lab(|| {
        let source = Source::Xdp { mode: XdpMode::Auto };
        let open = |settings: Settings| live::open(&settings).expect_err("cannot be opened").to_string();
        let loopback = open(Settings { interface: "lo".to_owned(), source, ..settings() });
        assert_eq!(loopback, "AF_XDP does not work on `lo` (it has no Ethernet driver): use AF_PACKET there");
        let queues = open(Settings { workers: 7, source, ..settings() });
        assert!(
            queues.contains("one worker serves one receive queue") || queues.contains("ethtool -l"),
            "{queues}"
        );
        let zero_copy = Source::Xdp { mode: XdpMode::ZeroCopy };
        let refused = open(Settings { source: zero_copy, ..settings() });
        assert!(refused.contains("does not support zero copy"), "{refused}");

        let mut tap = live::open(&Settings { source, ..settings() }).expect("opens").remove(0);
        ip("link set v1 down");
        assert_eq!(tap.batch(Duration::from_millis(20), |_| ()).expect("waits"), 0);
        ip("link set v1 up");
        let mut injector = Injector::open("v0", Source::Packet).expect("opens");
        send(&mut injector, &[udp([10, 9, 0, 1], 10_000, &[], 1, 214)]);
        assert_eq!(receive(&mut tap, 1).len(), 1);
        ip("link del v0");
        let began = Instant::now();
        let error = loop {
            match tap.batch(Duration::from_millis(200), |_| ()) {
                Ok(_) => assert!(began.elapsed() < Duration::from_secs(5), "hangs"),
                Err(error) => break error,
            }
        };
        assert!(error.to_string().starts_with("interface `v1` is gone"), "{error}");
    });
}

const SOURCES: [Source; 2] = [Source::Packet, Source::Xdp { mode: XdpMode::Copy }];
