//! What the engine holds while somebody fills its tables, by a counting allocator.

use ringtap_engine::Config;

use crate::feed::{ACK, CORE, Feed, SYN, fragment, ip, live, sdp, sip};

/// What the tables may hold together.
const MEMORY: usize = 32 << 20;
/// What is beside them: indices and timers that grow with the number of entries, one message in hand.
const BESIDE: usize = 6 << 20;

/// The most that an engine held more than at its start, and the engine.
fn held(config: Config, packets: impl IntoIterator<Item = impl FnOnce(&mut Feed)>) -> (usize, Feed) {
    let mut feed = Feed::new(Config { memory: MEMORY, ..config });
    feed.records.wanted = Some("nobody");
    let start = live();
    let mut most = 0;
    for packet in packets {
        packet(&mut feed);
        most = most.max(live().saturating_sub(start));
    }
    (most, feed)
}

#[test]
fn half_open_connections_hold_no_more_than_their_share() {
    let packets = (0..500u32 * 40).map(|index| {
        move |feed: &mut Feed| {
            let (round, port) = (index / 500, 1_000 + (index % 500) as u16);
            if round == 0 {
                feed.tcp(u64::from(index), port, 0, SYN, b"");
                feed.tcp(u64::from(index), port, 1, ACK, b"INVITE sip:bob@example.com SIP/2.0\r\nX: ");
            }
            feed.tcp(u64::from(index), port, 40 + round * 1_400, ACK, &[b'x'; 1_400]);
        }
    });
    let (most, mut feed) = held(Config { max_connections: 4_096, ..Config::default() }, packets);
    assert!(most < MEMORY / 4 + BESIDE, "{most}");
    assert!(feed.dropped("connections_evicted") > 100);
}

#[test]
fn segments_behind_holes_hold_no_more_than_their_share() {
    let packets = (0..500u32 * 40).map(|index| {
        move |feed: &mut Feed| {
            let (round, port) = (index / 500, 1_000 + (index % 500) as u16);
            if round == 0 {
                feed.tcp(u64::from(index), port, 0, SYN, b"");
            }
            feed.tcp(u64::from(index), port, 100 + round * 1_400, ACK, &[b'x'; 1_400]);
        }
    });
    let (most, mut feed) = held(Config { max_connections: 4_096, ..Config::default() }, packets);
    assert!(most < MEMORY / 4 + BESIDE, "{most}");
    assert!(feed.dropped("connections_evicted") > 100);
}

#[test]
fn websocket_messages_without_end_hold_no_more_than_their_share() {
    let head = "GET / HTTP/1.1\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n";
    let packets = (0..500u32 * 40).map(|index| {
        move |feed: &mut Feed| {
            let (round, port) = (index / 500, 1_000 + (index % 500) as u16);
            let mut data = if round == 0 { head.as_bytes().to_vec() } else { Vec::new() };
            let seq = if round == 0 { 1 } else { 1 + head.len() as u32 + round * 1_404 };
            data.extend([if round == 0 { 1 } else { 0 }, 126, 5, 120]);
            data.extend([b'x'; 1_400]);
            feed.tcp(u64::from(index), port, seq, ACK, &data);
        }
    });
    let (most, mut feed) = held(Config { max_connections: 4_096, ..Config::default() }, packets);
    assert!(most < MEMORY / 4 + BESIDE, "{most}");
    assert!(feed.dropped("connections_evicted") > 100);
}

#[test]
fn connections_that_begin_and_end_leave_nothing_behind() {
    // Few timers are reserved.
    let mut feed = Feed::new(Config {
        max_connections: 64,
        max_calls: 64,
        max_streams: 64,
        max_registrations: 64,
        max_messages: 64,
        ..Config::default()
    });
    let both = |feed: &mut Feed, index: u32| {
        let port = (index % 60_000) as u16;
        feed.tcp(u64::from(index), port, index, SYN | 1, b"");
        feed.tcp(u64::from(index), port, index, SYN, b"");
        feed.tcp(u64::from(index), port, index, 4, b"");
    };
    (0..1_000).for_each(|index| both(&mut feed, index));
    let before = live();
    (1_000..50_000).for_each(|index| both(&mut feed, index));
    assert!(live() <= before + 4_096, "{} bytes", live() - before);
    assert_eq!(feed.dropped("connections_refused"), 0);
}

#[test]
fn fragments_without_end_hold_no_more_than_their_share() {
    let packets = (0..20_000u32).map(|index| {
        move |feed: &mut Feed| {
            let source = [10, 0, (index >> 8) as u8, index as u8];
            feed.packet(u64::from(index), &fragment(7, source, 0, &[0; 1_400]));
        }
    });
    let (most, mut feed) = held(Config { max_fragmented: 20_000, ..Config::default() }, packets);
    assert!(most < MEMORY / 10 + BESIDE, "{most}");
    assert!(feed.dropped("fragments_evicted") > 10_000);
}

/// RFC 9260 section 3.3.1: a DATA chunk that begins a message and does not end it.
#[test]
fn sctp_messages_without_end_hold_no_more_than_their_share() {
    let packets = (0..20_000u32).map(|index| {
        move |feed: &mut Feed| {
            let text = format!(
                "{}X: {}",
                sip("INVITE sip:b@example.com SIP/2.0", "a", "1 INVITE", ""),
                "x".repeat(1_200)
            );
            let mut packet = vec![0x13, 0xc4, 0x13, 0xc4, 0, 0, 0, 1, 0, 0, 0, 0, 0, 2];
            packet.extend(((16 + text.len()) as u16).to_be_bytes());
            packet.extend([0, 0, 0, 1]);
            packet.extend((index as u16).to_be_bytes());
            packet.extend([0; 6]);
            packet.extend(text.as_bytes());
            feed.packet(u64::from(index), &ip(132, [10, 0, 0, (index >> 16) as u8], CORE, &packet));
        }
    });
    let (most, mut feed) = held(Config { max_fragmented: 20_000, ..Config::default() }, packets);
    assert!(most < MEMORY / 20 + BESIDE, "{most}");
    assert!(feed.dropped("sctp_evicted") > 10_000);
}

#[test]
fn long_call_ids_hold_no_more_than_their_share() {
    for (method, evicted) in
        [("INVITE", "calls_evicted"), ("REGISTER", "registrations_evicted"), ("MESSAGE", "messages_evicted")]
    {
        let packets = (0..20_000u32).map(|index| {
            move |feed: &mut Feed| {
                // Some 60 KB at first, which is what was measured; then more of them.
                let len = if index < 200 { 60_000 } else { 1_000 };
                let id = format!("{index}-{}", "x".repeat(len));
                let text =
                    sip(&format!("{method} sip:b@example.com SIP/2.0"), &id, &format!("1 {method}"), "\r\n");
                feed.sip(u64::from(index), false, &text);
            }
        });
        let config = Config {
            max_calls: 20_000,
            max_registrations: 20_000,
            max_messages: 20_000,
            ..Config::default()
        };
        let (most, mut feed) = held(config, packets);
        let share = if method == "INVITE" { MEMORY * 45 / 100 } else { MEMORY / 10 };
        assert!(most < share + BESIDE, "{method}: {most}");
        assert!(feed.dropped(evicted) > 0 || most < share, "{method}: nothing gave way");
    }
}

/// 32 endpoints with 32 payload types each.
#[test]
fn calls_that_announce_all_they_can_hold_no_more_than_their_share() {
    let packets = (0..3_000u32).map(|index| {
        move |feed: &mut Feed| {
            let mut lines = String::new();
            for medium in 0..15 {
                let formats: String = (96..128).map(|number| format!(" {number}")).collect();
                lines += &format!("m=audio {} RTP/AVP{formats}\r\n", 20_000 + index * 32 + medium * 2);
                (96..128).for_each(|number| lines += &format!("a=rtpmap:{number} opus/48000/2\r\n"));
                lines += &format!("a=candidate:1 1 UDP 1 10.0.0.{medium} {} typ host\r\n", index + 1);
            }
            let rest = sdp("192.0.2.1", 4_000, "8", &lines);
            let text = sip("INVITE sip:b@example.com SIP/2.0", &format!("flood-{index}"), "1 INVITE", &rest);
            feed.sip(u64::from(index), false, &text);
        }
    });
    let (most, mut feed) = held(Config { max_calls: 3_000, ..Config::default() }, packets);
    assert!(most < MEMORY * 45 / 100 + BESIDE, "{most}");
    assert!(feed.dropped("calls_evicted") > 0);
}

/// Bytes of memory that are no file's: pages, not what was asked of the allocator.
fn resident() -> usize {
    let status = std::fs::read_to_string("/proc/self/status").expect("Linux has it");
    let line = status.lines().find_map(|line| line.strip_prefix("RssAnon:")).expect("Linux has it");
    let kibibytes: usize = line.trim().trim_end_matches(" kB").parse().expect("a number");
    kibibytes << 10
}

/// An INVITE whose description names 28 codecs that nobody else names.
fn invite_with_codecs(index: u32) -> String {
    let formats: String = (100..128).map(|number| format!(" {number}")).collect();
    let lines: String =
        (100..128).map(|number| format!("a=rtpmap:{number} {index:06x}{number}/8000\r\n")).collect();
    let host = format!("10.1.{}.{}", index >> 8 & 255, index & 255);
    let rest = sdp(&host, 6_000, &formats[1..], &lines);
    sip("INVITE sip:b@example.com SIP/2.0", &format!("flood-{index}"), "1 INVITE", &rest)
}

/// In a program of its own, whose memory no other test changes.
#[test]
fn calls_that_invent_codecs_take_no_more_than_their_share_of_pages() {
    let output = std::process::Command::new(std::env::current_exe().expect("this test"))
        .args(["--exact", "memory::alone_with_invented_codecs", "--ignored", "--nocapture"])
        .output()
        .expect("this program starts again");
    let said = [output.stdout, output.stderr].map(|said| String::from_utf8_lossy(&said).into_owned());
    assert!(output.status.success() && said[0].contains("1 passed"), "{said:?}");
}

#[test]
#[ignore = "started alone by `calls_that_invent_codecs_take_no_more_than_their_share_of_pages`"]
fn alone_with_invented_codecs() {
    let memory = 2 * MEMORY;
    let mut feed = Feed::new(Config { memory, ..Config::default() });
    feed.records.wanted = Some("nobody");
    let start = resident();
    (0..60_000).for_each(|index| feed.sip(u64::from(index), false, &invite_with_codecs(index)));
    let taken = resident() - start;
    assert!(feed.dropped("calls_evicted") > 0, "the table was not full");
    assert!(taken < memory * 45 / 100 + BESIDE, "{} KiB", taken >> 10);
}
