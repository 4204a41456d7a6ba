//! Layers below the messages: VLAN tags, tunnels, fragments, ICMP, and capture records that contradict
//! themselves.

use ringtap_model::{Endpoint, Nanos};
use serde_json::json;

use crate::story::packet::{ethernet, fragments, gre, gtp_u, tagged, udp, unreachable, vxlan};
use crate::story::rtp::Rtp;
use crate::story::sip::{Dialog, Msg, Peer, alice, alice_media, bob, bob_media, end, sdp};
use crate::story::wire::Wire;
use crate::story::{START, Story, at_us, ms, secs};

/// The cases of this file.
pub(super) fn all() -> Vec<Story> {
    vec![
        tags_and_tunnels(),
        ipv6_call(),
        fragments_v4(),
        fragments_v6(),
        second_fragment_without_first(),
        icmp_quotes(),
        wire_length_smaller(),
        snap_length(),
        hep_mirrored(),
        hep_compressed(),
        times_that_go_back(),
        wire_and_hep(),
        fragmented_tunnel(),
    ]
}

fn offer() -> String {
    sdp(alice_media(), "0", &[])
}

fn answer() -> String {
    sdp(bob_media(), "0", &[])
}

/// The IP packet of a message.
fn packet(message: &Msg) -> Vec<u8> {
    udp(message.src, message.dst, &message.bytes())
}

/// One call whose messages pass with a VLAN tag, with two (QinQ), in GRE, in VXLAN, and plainly: five ways to
/// the same seven messages. Its media is tagged twice; sizes are those of the inner IP packets.
pub(super) fn tags_and_tunnels() -> Story {
    let mut wire = Wire::new();
    let dialog = Dialog::new("tunnels@example.com");
    let invite = dialog.open("INVITE", 1).sdp(&offer());
    let (ack, bye) = (dialog.by_caller("ACK", 1), dialog.by_caller("BYE", 2));
    let [here, there] = [1, 2].map(|last| [10, 9, 0, last].into());
    let double = [(0x88a8, 100), (0x8100, 200)];
    wire.frame(ms(0), tagged(&[(0x8100, 100)], &packet(&invite)));
    wire.frame(ms(10), tagged(&double, &packet(&invite.answer(100, "Trying", ""))));
    wire.packet(ms(200), &gre(here, there, 7, &packet(&invite.answer(180, "Ringing", "callee"))));
    let ok = ethernet(&packet(&invite.answer(200, "OK", "callee").sdp(&answer())));
    wire.packet(ms(1000), &vxlan(here, there, 4096, &ok));
    wire.frame(ms(1020), ethernet(&packet(&ack)));
    let voice = Rtp::new(alice_media(), bob_media(), 0x7a9);
    for index in 0..50 {
        let packet = udp(voice.src, voice.dst, &voice.nth(index).packet());
        wire.frame(ms(1100 + 20 * u64::from(index)), tagged(&double, &packet));
    }
    let inner = ethernet(&gre(there, here, 8, &packet(&bye)));
    wire.packet(ms(3000), &vxlan(here, there, 5, &inner));
    wire.send(ms(3020), &bye.answer(200, "OK", ""));
    Story::new("vlan-qinq-gre-vxlan", wire)
        .calls([json!({ "state": "completed", "messages": 7, "retransmissions": 0, "trying_us": at_us(10),
            "ringing_us": at_us(200), "answer_us": at_us(1000), "end_us": at_us(3000),
            "src": "192.0.2.10:5060",
            "dst": "198.51.100.20:5060" })])
        .streams([json!({ "packets": 50, "lost": 0, "size_min": 200, "size_max": 200, "ip_bytes": 10_000 })])
}

/// A call over IPv6: addresses in brackets with their ports, hosts of URIs too.
pub(super) fn ipv6_call() -> Story {
    let mut wire = Wire::new();
    let (here, there) = (end("[2001:db8::10]:40000"), end("[2001:db8::20]:50000"));
    let dialog = Dialog::between(
        "six@example.com",
        Peer { end: end("[2001:db8::10]:5060"), ..alice() },
        Peer { end: end("[2001:db8::20]:5060"), ..bob() },
    );
    dialog.set_up(&mut wire, ms(0), &sdp(here, "0", &[]), &sdp(there, "0", &[]));
    Rtp::new(here, there, 6).run(&mut wire, ms(1100), 50);
    dialog.hang_up(&mut wire, ms(3000));
    Story::new("ipv6-call", wire)
        .calls([json!({ "state": "completed", "messages": 7, "src": "[2001:db8::10]:5060",
            "dst": "[2001:db8::20]:5060", "ruri_user": "bob", "ruri_host": "[2001:db8::20]",
            "from_host": "example.com" })])
        .streams([
            json!({ "src": "[2001:db8::10]:40000", "dst": "[2001:db8::20]:50000", "packets": 50, "lost": 0,
            "direction": "caller_to_callee", "size_min": 220, "size_max": 220 }),
        ])
}

/// An INVITE too long for one packet, in parts that come last to first, one of them twice: one message.
fn fragmented(name: &'static str, here: [Endpoint; 2], there: [Endpoint; 2], caller: &'static str) -> Story {
    let mut wire = Wire::new();
    let dialog = Dialog::between(caller, Peer { end: here[0], ..alice() }, Peer { end: there[0], ..bob() });
    let long = "x".repeat(1500);
    let invite = dialog.open("INVITE", 1).header("X-Long", &long).sdp(&sdp(here[1], "0", &[]));
    let mut parts = fragments(&packet(&invite), 0x4242, 640);
    parts.push(parts[1].clone());
    let count = parts.len() as u64;
    for (place, part) in parts.iter().rev().enumerate() {
        wire.packet(ms(place as u64), part);
    }
    let ok = invite.answer(200, "OK", "callee").header("X-Long", &long).sdp(&sdp(there[1], "0", &[]));
    let parts = fragments(&packet(&ok), 0x4343, 1200);
    for (place, part) in parts.iter().enumerate() {
        wire.packet(ms(1000 + place as u64), part);
    }
    let sent = count + parts.len() as u64;
    wire.send(ms(1020), &dialog.by_caller("ACK", 1));
    Rtp::new(here[1], there[1], 1).run(&mut wire, ms(1100), 30);
    dialog.hang_up(&mut wire, ms(3000));
    Story::new(name, wire)
        // A message has passed when its last part has: four fragments and a repeat, then two.
        .calls([json!({ "call_id": caller, "state": "completed", "messages": 5, "retransmissions": 0,
            "src": here[0].to_string(), "dst": there[0].to_string(), "invite_us": at_us(count - 1),
            "answer_us": at_us(1001), "pdd_ms": 1001.0 - (count - 1) as f64 })])
        .streams([json!({ "call_id": caller, "direction": "caller_to_callee", "packets": 30, "lost": 0 })])
        .counter("fragments", sent)
        .counter("fragments_incomplete", 0)
        .counter("fragments_bad", 0)
}

/// IPv4, RFC 791.
pub(super) fn fragments_v4() -> Story {
    let (here, there) = ([alice().end, alice_media()], [bob().end, bob_media()]);
    fragmented("ip-fragments-v4", here, there, "parts-four@example.com")
}

/// IPv6, RFC 8200 section 4.5.
pub(super) fn fragments_v6() -> Story {
    let ends = |last: &str| [5060, 40_000].map(|port| end(&format!("[2001:db8::{last}]:{port}")));
    fragmented("ip-fragments-v6", ends("10"), ends("20"), "parts-six@example.com")
}

/// The second part of an INVITE without its first makes no call, even if a start line stands in it; it is
/// counted.
pub(super) fn second_fragment_without_first() -> Story {
    let mut wire = Wire::new();
    let half = Dialog::new("half@example.com").open("INVITE", 1).header("X-Long", "y".repeat(900));
    let parts = fragments(&packet(&half.body("message/sip", half_message())), 7, 1200);
    wire.packet(ms(0), &parts[1]);
    let whole = Dialog::new("whole@example.com");
    whole.set_up(&mut wire, ms(100), &offer(), &answer());
    whole.hang_up(&mut wire, ms(3000));
    Story::new("second-fragment-without-first", wire)
        .calls([json!({ "call_id": "whole@example.com", "state": "completed", "messages": 7 })])
        .counter("sip", 7)
        .counter("fragments", 1)
        .counter("fragments_incomplete", 1)
}

/// What the second part carries: a message within the message.
fn half_message() -> Vec<u8> {
    let inner = Dialog::new("inner@example.com").open("INVITE", 1);
    [&b" ".repeat(300)[..], b"\r\n", &inner.bytes()].concat()
}

/// ICMP errors quote an INVITE and a media packet, as port unreachable does: neither passed again.
pub(super) fn icmp_quotes() -> Story {
    let mut wire = Wire::new();
    let dialog = Dialog::new("quoted@example.com");
    dialog.set_up(&mut wire, ms(0), &offer(), &answer());
    let voice = Rtp::new(alice_media(), bob_media(), 0x1c3);
    for index in 0..40 {
        let at = ms(1100 + 20 * u64::from(index));
        let packet = udp(voice.src, voice.dst, &voice.nth(index).packet());
        wire.packet(at, &packet);
        if index % 10 == 9 {
            wire.packet(at + ms(5), &unreachable(voice.dst.ip, voice.src.ip, &packet));
        }
    }
    let other = Dialog::new("never@example.com").open("INVITE", 1);
    wire.packet(ms(1050), &unreachable(other.dst.ip, other.src.ip, &packet(&other)));
    dialog.hang_up(&mut wire, ms(3000));
    Story::new("icmp-quotes-sip-and-rtp", wire)
        .calls([json!({ "call_id": "quoted@example.com", "state": "completed", "messages": 7 })])
        .streams([json!({ "packets": 40, "unique": 40, "duplicates": 0, "lost": 0, "jitter_ms_max": 0.0 })])
        .counter("icmp", 5)
        .counter("sip", 7)
}

/// Records that state a wire length smaller than what was captured, down to 0: the captured bytes count.
pub(super) fn wire_length_smaller() -> Story {
    let mut wire = Wire::new();
    let dialog = Dialog::new("length@example.com");
    dialog.set_up(&mut wire, ms(0), &offer(), &answer());
    Rtp::new(alice_media(), bob_media(), 0x1e6).run(&mut wire, ms(1100), 50);
    dialog.hang_up(&mut wire, ms(3000));
    for (index, sent) in wire.frames_mut().iter_mut().enumerate() {
        sent.wire_len = [0, 14, 60, sent.wire_len - 1][index % 4];
    }
    Story::new("wire-length-smaller-than-captured", wire)
        .calls([json!({ "state": "completed", "messages": 7, "duration_ms": 2000.0 })])
        .streams([json!({ "packets": 50, "lost": 0, "size_min": 200, "size_max": 200, "bytes": 8000 })])
}

/// A snap length cuts every frame after 64 bytes: Ethernet, IP, UDP and RTP headers are whole, and what was
/// on the wire is what their lengths say. The signalling was not cut.
pub(super) fn snap_length() -> Story {
    let mut wire = Wire::new();
    let dialog = Dialog::new("snap@example.com");
    dialog.set_up(&mut wire, ms(0), &offer(), &answer());
    Rtp::new(alice_media(), bob_media(), 0x54a9).run(&mut wire, ms(1100), 50);
    dialog.hang_up(&mut wire, ms(3000));
    for sent in wire.frames_mut().iter_mut().filter(|sent| sent.data.len() == 214) {
        sent.data.truncate(64);
    }
    Story::new("snap-length", wire)
        .calls([json!({ "state": "completed", "messages": 7 })])
        .streams([json!({ "packets": 50, "lost": 0, "size_min": 200, "size_max": 200, "bytes": 8000,
            "ip_bytes": 10_000 })])
}

/// An agent in the proxy mirrors the call in HEP: the addresses are those that it saw, not its own and the
/// collector's.
pub(super) fn hep_mirrored() -> Story {
    let mut wire = Wire::new();
    let mut once = Wire::new();
    let dialog = Dialog::new("hep@example.com");
    dialog.set_up(&mut once, ms(0), &offer(), &answer());
    dialog.hang_up(&mut once, secs(3));
    for sent in once.frames_mut().drain(..) {
        wire.udp(sent.at, end("203.0.113.1:41000"), end("203.0.113.200:9060"), &hep(sent.at, &sent.data));
    }
    Story::new("hep-mirrored-call", wire)
        .calls([json!({ "state": "completed", "transport": "hep", "messages": 7, "src": "192.0.2.10:5060",
            "dst": "198.51.100.20:5060", "invite_us": at_us(0), "answer_us": at_us(1000),
            "end_us": at_us(3000) })])
        .counter("hep", 7)
        .counter("sip", 7)
}

/// An agent that compresses what it mirrors (chunk 0x10) in zlib's format: the same call. The answer to the
/// BYE is compressed by something else, and counted as that.
pub(super) fn hep_compressed() -> Story {
    let mut wire = Wire::new();
    let mut once = Wire::new();
    let dialog = Dialog::new("packed@example.com");
    dialog.set_up(&mut once, ms(0), &offer(), &answer());
    dialog.hang_up(&mut once, secs(3));
    let count = once.frames_mut().len();
    for (index, sent) in once.frames_mut().drain(..).enumerate() {
        let packed = if index + 1 < count { zlib(&sent.data[42..]) } else { b"something else".to_vec() };
        let packet = hep_with(sent.at, &sent.data, (0x10, &packed));
        wire.udp(sent.at, end("203.0.113.1:41000"), end("203.0.113.200:9060"), &packet);
    }
    Story::new("hep-compressed", wire)
        .calls([json!({ "state": "completed", "transport": "hep", "messages": 6, "src": "192.0.2.10:5060",
            "dst": "198.51.100.20:5060", "answer_us": at_us(1000), "end_us": at_us(3000) })])
        .counter("hep", 7)
        .counter("sip", 6)
        .counter("hep_bad", 1)
}

/// RFC 1950, with a block that is stored (RFC 1951 section 3.2.4).
fn zlib(content: &[u8]) -> Vec<u8> {
    let (low, high) = content.iter().fold((1u32, 0u32), |(low, high), byte| {
        let low = (low + u32::from(*byte)) % 65_521;
        (low, (high + low) % 65_521)
    });
    let len = content.len() as u16;
    let head = [&[0x78, 0x01, 0x01][..], &len.to_le_bytes(), &(!len).to_le_bytes()].concat();
    [&head[..], content, &(high << 16 | low).to_be_bytes()].concat()
}

/// A capture of several queues: every seventh record is 3 ms behind its neighbours, so times go back. Nothing
/// is lost, repeated or out of order, since the records are in order.
pub(super) fn times_that_go_back() -> Story {
    let mut wire = Wire::new();
    let dialog = Dialog::new("disordered@example.com");
    dialog.set_up(&mut wire, ms(0), &sdp(alice_media(), "0", &[]), &sdp(bob_media(), "0", &[]));
    Rtp::new(alice_media(), bob_media(), 1).run(&mut wire, ms(1100), 40);
    dialog.hang_up(&mut wire, ms(3000));
    for (index, sent) in wire.frames_mut().iter_mut().enumerate() {
        sent.ahead = if index % 7 == 0 { ms(0) } else { ms(3) };
    }
    Story::new("times-that-go-back", wire)
        .calls([json!({ "state": "completed", "messages": 7 })])
        .streams([json!({ "packets": 40,
        "unique": 40, "lost": 0, "duplicates": 0, "reordered": 0 })])
}

/// The same call on the wire and, 2 ms later, from the agent: the second sight of each message is a copy (the
/// same addresses, ports and payload within 10 ms), and nothing is counted twice.
pub(super) fn wire_and_hep() -> Story {
    let mut wire = Wire::new();
    let dialog = Dialog::new("both@example.com");
    dialog.set_up(&mut wire, ms(0), &offer(), &answer());
    dialog.hang_up(&mut wire, secs(3));
    for sent in wire.clone().frames_mut() {
        let at = sent.at + ms(2);
        wire.udp(at, end("203.0.113.1:41000"), end("203.0.113.200:9060"), &hep(sent.at, &sent.data));
    }
    Story::new("wire-and-hep", wire)
        .calls([json!({ "state": "completed", "transport": "udp", "messages": 7, "retransmissions": 0,
            "answer_us": at_us(1000), "end_us": at_us(3000) })])
        .counter("hep", 7)
        .counter("sip", 14)
}

/// A HEP packet (revision 37) around the payload of an Ethernet frame with IPv4 and UDP, with its addresses.
fn hep(at: Nanos, frame: &[u8]) -> Vec<u8> {
    hep_with(at, frame, (0x0f, &frame[42..]))
}

/// With its payload in a chunk of that kind.
fn hep_with(at: Nanos, frame: &[u8], (kind, payload): (u8, &[u8])) -> Vec<u8> {
    let head = &frame[14..42];
    let chunk = |kind: u8, content: &[u8]| {
        [&[0, 0, 0, kind][..], &(6 + content.len() as u16).to_be_bytes(), content].concat()
    };
    let micros = (START + at).micros();
    let chunks = [
        chunk(0x01, &[2]),
        chunk(0x02, &[17]),
        chunk(0x03, &head[12..16]),
        chunk(0x04, &head[16..20]),
        chunk(0x07, &head[20..22]),
        chunk(0x08, &head[22..24]),
        chunk(0x09, &((micros / 1_000_000) as u32).to_be_bytes()),
        chunk(0x0a, &((micros % 1_000_000) as u32).to_be_bytes()),
        chunk(0x0b, &[1]),
        chunk(0x0c, &[0, 0, 7, 0xd1]),
        chunk(kind, payload),
    ]
    .concat();
    [b"HEP3", &(6 + chunks.len() as u16).to_be_bytes()[..], &chunks].concat()
}

/// A long INVITE in GTP-U whose outer packet is fragmented, the parts in the wrong order: the tunnel is
/// opened once the datagram is whole.
pub(super) fn fragmented_tunnel() -> Story {
    let mut wire = Wire::new();
    let dialog = Dialog::new("tunnel-parts@example.com");
    let invite = dialog.open("INVITE", 1).header("X-Long", "z".repeat(1200)).sdp(&offer());
    let [radio, core] = [1, 2].map(|last| [10, 0, 0, last].into());
    let parts = fragments(&gtp_u(radio, core, 9, &packet(&invite)), 77, 800);
    let count = parts.len() as u64;
    for (place, part) in parts.iter().rev().enumerate() {
        wire.packet(ms(place as u64), part);
    }
    let busy = invite.answer(486, "Busy Here", "callee");
    wire.packet(ms(100), &gtp_u(core, radio, 10, &packet(&busy)));
    Story::new("fragmented-tunnel", wire)
        .calls([
            json!({ "state": "failed", "messages": 2, "src": "192.0.2.10:5060", "dst": "198.51.100.20:5060",
            "invite_us": at_us(count - 1), "end_us": at_us(100), "final_code": 486 }),
        ])
        .counter("fragments", count)
        .counter("fragments_incomplete", 0)
}
