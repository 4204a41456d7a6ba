//! What the engine allocates: nothing for a media packet, a bounded amount for a call and for a stream.
//!
//! One test: the counts are those of the process.

mod counting;

use std::sync::atomic::Ordering::Relaxed;

use ringtap_engine::{Config, Engine, Sink, StreamEnd, team};
use ringtap_model::{Call, Frame, LinkType, Message, Nanos, Registration};

use counting::{CALLS, Counting, LIVE};

#[global_allocator]
static ALLOCATOR: Counting = Counting;

#[derive(Default)]
struct Count {
    calls: usize,
    streams: usize,
}

impl Sink for Count {
    fn call(&mut self, _: Call, streams: Vec<StreamEnd>) {
        self.calls += 1;
        self.streams += streams.len();
    }
    fn stream(&mut self, _: StreamEnd) {
        self.streams += 1;
    }
    fn registration(&mut self, _: Registration) {}
    fn message(&mut self, _: Message) {}
}

fn udp(src: [u8; 4], src_port: u16, dst: [u8; 4], dst_port: u16, payload: &[u8]) -> Vec<u8> {
    let total = (28 + payload.len()) as u16;
    let mut packet = vec![0x45, 0];
    packet.extend(total.to_be_bytes());
    packet.extend([0, 0, 0, 0, 64, 17, 0, 0]);
    packet.extend(src);
    packet.extend(dst);
    packet.extend(src_port.to_be_bytes());
    packet.extend(dst_port.to_be_bytes());
    packet.extend((8 + payload.len() as u16).to_be_bytes());
    packet.extend([0, 0]);
    packet.extend(payload);
    packet
}

const CALLER: [u8; 4] = [192, 0, 2, 1];
const CALLEE: [u8; 4] = [198, 51, 100, 1];

/// INVITE, 180, 200, ACK of a call as a softphone sends them, about 700 bytes each.
fn dialog(call: u16) -> Vec<Vec<u8>> {
    let message = |start: &str, cseq: &str, host: &str, sdp: bool| {
        let sdp = if sdp {
            format!(
                "v=0\r\no=- 1 1 IN IP4 {host}\r\ns=call\r\nc=IN IP4 {host}\r\nt=0 0\r\n\
                 m=audio {} RTP/AVP 8 0 101\r\n\
                 a=rtpmap:8 PCMA/8000\r\na=rtpmap:0 PCMU/8000\r\na=rtpmap:101 telephone-event/8000\r\n\
                 a=sendrecv\r\n",
                10_000 + 2 * call
            )
        } else {
            String::new()
        };
        format!(
            "{start}\r\nVia: SIP/2.0/UDP 192.0.2.1:5060;branch=z9hG4bK-{call}-{cseq};rport\r\n\
             Max-Forwards: 70\r\n\
             From: \"Alice Example\" <sip:+441632960{call:03}@example.com>;tag=a{call}\r\n\
             To: <sip:+441632961{call:03}@example.com>;tag=b{call}\r\nCall-ID: {call}-7f3c9a@192.0.2.1\r\n\
             CSeq: {cseq}\r\n\
             Contact: <sip:alice@192.0.2.1:5060>\r\nUser-Agent: Example Phone 1.0\r\n\
             Content-Type: application/sdp\r\n\
             Content-Length: {}\r\n\r\n{sdp}",
            sdp.len()
        )
    };
    let invite = format!("INVITE sip:+441632961{call:03}@198.51.100.1 SIP/2.0");
    let ack = format!("ACK sip:+441632961{call:03}@198.51.100.1 SIP/2.0");
    let there = |text: String| udp(CALLER, 5060, CALLEE, 5060, text.as_bytes());
    let back = |text: String| udp(CALLEE, 5060, CALLER, 5060, text.as_bytes());
    vec![
        there(message(&invite, "1 INVITE", "192.0.2.1", true)),
        back(message("SIP/2.0 180 Ringing", "1 INVITE", "198.51.100.1", false)),
        back(message("SIP/2.0 200 OK", "1 INVITE", "198.51.100.1", true)),
        there(message(&ack, "1 ACK", "192.0.2.1", false)),
    ]
}

fn media(call: u16, back: bool, index: u32) -> Vec<u8> {
    let mut rtp = vec![0x80, 8];
    rtp.extend((index as u16).to_be_bytes());
    rtp.extend((index * 160).to_be_bytes());
    rtp.extend((u32::from(call) * 2 + u32::from(back)).to_be_bytes());
    rtp.extend([0xd5; 160]);
    let port = 10_000 + 2 * call;
    if back { udp(CALLEE, port, CALLER, port, &rtp) } else { udp(CALLER, port, CALLEE, port, &rtp) }
}

/// Ethernet and IPv4 between the two, around what is given.
fn ethernet(proto: u8, payload: &[u8]) -> Vec<u8> {
    let mut frame = vec![2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1, 8, 0, 0x45, 0];
    frame.extend((20 + payload.len() as u16).to_be_bytes());
    frame.extend([0, 0, 0, 0, 64, proto, 0, 0]);
    frame.extend(CALLER);
    frame.extend(CALLEE);
    let start = frame.len();
    frame.extend(payload);
    match proto {
        // A header of 20 bytes, acknowledging.
        6 => frame[start + 12..start + 14].copy_from_slice(&[0x50, 0x10]),
        _ if payload[4..6] == [5, 5] => {
            frame[start + 4..start + 6].copy_from_slice(&(payload.len() as u16).to_be_bytes());
        }
        _ => {}
    }
    frame
}

struct Feed {
    engine: Engine,
    count: Count,
    number: u64,
}

impl Feed {
    fn frame(&mut self, micros: u64, data: &[u8]) {
        self.number += 1;
        let time = Nanos::from_secs(1_700_000_000) + Nanos::from_micros(micros);
        let frame =
            Frame { time, number: self.number, link: LinkType(101), wire_len: data.len() as u32, data };
        self.engine.batch(&[frame], &mut self.count);
    }
}

/// The same with signalling at one worker and media at another.
fn a_team_allocates_nothing_either() {
    let config = Config { max_calls: 200, max_streams: 400, ..Config::default() };
    let mut workers = Engine::team(&config, 2).into_iter();
    let [mut front, mut media_only] = [(); 2].map(|()| Feed {
        engine: workers.next().expect("two workers"),
        count: Count::default(),
        number: 0,
    });
    for call in 0..50 {
        for message in dialog(call) {
            front.frame(u64::from(call) * 100, &message);
        }
    }
    // Time passes for both, so that messages are taken and announcements arrive.
    for _ in 0..3 {
        for feed in [&mut front, &mut media_only] {
            feed.engine.tick(Nanos::from_secs(1_700_000_002), &mut feed.count);
        }
    }
    for call in 0..50 {
        media_only.frame(2_000_000, &media(call, false, 0));
        media_only.frame(2_000_000, &media(call, true, 0));
    }
    let packets: Vec<_> = (1..3000u32).flat_map(|index| [(index, false), (index, true)]).collect();
    let packets: Vec<_> = packets
        .into_iter()
        .map(|(index, back)| (2_000_000 + u64::from(index) * 20_000, media(7, back, index)))
        .collect();
    let before = CALLS.load(Relaxed);
    for (micros, packet) in &packets {
        media_only.frame(*micros, packet);
    }
    assert_eq!(CALLS.load(Relaxed) - before, 0, "allocations for {} media packets of a team", packets.len());

    let (mut count, mut engines) = (Count::default(), [front.engine, media_only.engine]);
    team::close(|stage| {
        engines.iter_mut().fold(false, |more, engine| engine.stage(stage, &[], &mut count) | more)
    });
    assert_eq!((count.calls, count.streams), (50, 100));
}

#[test]
fn media_allocates_nothing_and_a_call_is_small() {
    const CALLS_UNDER_WAY: u16 = 1000;
    let config = Config { max_calls: 2000, max_streams: 4000, ..Config::default() };
    let mut feed = Feed { engine: Engine::new(config), count: Count::default(), number: 0 };
    let empty = LIVE.load(Relaxed);
    for call in 0..CALLS_UNDER_WAY {
        for (step, message) in dialog(call).into_iter().enumerate() {
            feed.frame(u64::from(call) * 100 + step as u64, &message);
        }
    }
    let with_calls = LIVE.load(Relaxed);
    for call in 0..CALLS_UNDER_WAY {
        feed.frame(200_000, &media(call, false, 0));
        feed.frame(200_000, &media(call, true, 0));
    }
    let with_streams = LIVE.load(Relaxed);

    // Two minutes of media, with loss, repeats and late packets, for one call: every kind of media packet
    // there is.
    let packets: Vec<_> = (1..6000u32)
        .filter(|index| index % 50 != 0)
        .flat_map(|index| [(index, false), (index, true)])
        .map(|(index, back)| {
            (u64::from(index) * 20_000 + 200_000, media(7, back, index ^ u32::from(index % 70 == 0)))
        })
        .collect();
    let before = CALLS.load(Relaxed);
    for (micros, packet) in &packets {
        feed.frame(*micros, packet);
    }
    let allocated = CALLS.load(Relaxed) - before;
    assert_eq!(allocated, 0, "allocations for {} media packets", packets.len());

    // Every stream in its turn, whole batches, with strangers in between: plain segments, datagrams of
    // nothing.
    let round: Vec<Vec<u8>> = (0..CALLS_UNDER_WAY)
        .flat_map(|call| {
            let segment = ethernet(6, &[0x17; 26]);
            [ethernet(17, &media(call, false, 1)[20..]), segment, ethernet(17, &[0x05; 12])]
        })
        .collect();
    let frames: Vec<Frame<'_>> = round
        .iter()
        .map(|data| Frame {
            time: Nanos::from_secs(1_700_000_200),
            number: 1_000_000,
            link: LinkType(1),
            wire_len: data.len() as u32,
            data,
        })
        .collect();
    let before = CALLS.load(Relaxed);
    for batch in frames.chunks(64) {
        feed.engine.batch(batch, &mut feed.count);
    }
    assert_eq!(CALLS.load(Relaxed) - before, 0, "allocations for {} frames in batches", frames.len());
    let counters = feed.engine.counters();
    assert_eq!((counters.tcp, counters.udp_other), (1000, 1000));

    let per_call = (with_calls - empty) / usize::from(CALLS_UNDER_WAY);
    let per_stream = (with_streams - with_calls) / (2 * usize::from(CALLS_UNDER_WAY));
    println!("{per_call} bytes a call, {per_stream} bytes a stream");
    // All in: the record (400 bytes at most, which the engine asserts where it is defined) and its entries in
    // the tables.
    assert!(per_call < 2048, "{per_call} bytes a call");
    assert!(per_stream < 560, "{per_stream} bytes a stream");

    a_team_allocates_nothing_either();

    feed.engine.close(&mut feed.count);
    assert_eq!((feed.count.calls, feed.count.streams), (1000, 2000));
}
