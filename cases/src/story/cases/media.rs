//! Which call a stream belongs to: copies, relays, address translation, shared ports, ceilings.

use serde_json::{Value, json};

use crate::story::packet::gtp_u;
use crate::story::rtp::Rtp;
use crate::story::sip::{Dialog, Peer, alice, alice_media, bob, bob_media, end, sdp};
use crate::story::wire::Wire;
use crate::story::{Story, at_us, ms, secs};

/// The cases of this file.
pub(super) fn all() -> Vec<Story> {
    vec![
        mirrored_media(),
        volte_three_copies(),
        relay_two_legs(),
        proxy_several_hops(),
        source_port_changes(),
        media_on_ports_no_sdp_names(),
        media_behind_nat(),
        media_without_signalling(),
        shared_media_port(),
        codec_by_reinvite(),
        ceiling_of_calls(),
        ceiling_of_streams(),
        intervals(),
        header_parts(),
        ssrc_changes(),
        media_after_bye(),
    ]
}

/// Another of Alice's telephones: signalling and media.
fn caller(last: u8) -> (Peer, ringtap_model::Endpoint) {
    let peer = Peer { user: "alice", end: end(&format!("192.0.2.{last}:5060")) };
    (peer, end(&format!("192.0.2.{last}:40000")))
}

/// A mirror port shows each media packet twice, 0.1 ms apart: 200 packets, 100 different; loss (number 60),
/// order and jitter are those of the first copies.
pub(super) fn mirrored_media() -> Story {
    let mut wire = Wire::new();
    let dialog = Dialog::new("mirrored@example.com");
    dialog.set_up(&mut wire, ms(0), &sdp(alice_media(), "0", &[]), &sdp(bob_media(), "0", &[]));
    let voice = Rtp::new(alice_media(), bob_media(), 0x2222);
    for index in (0..60).chain(61..101) {
        let at = ms(1100 + 20 * u64::from(index));
        voice.nth(index).send(&mut wire, at);
        voice.nth(index).send(&mut wire, at + ringtap_model::Nanos::from_micros(100));
    }
    dialog.hang_up(&mut wire, secs(4));
    Story::new("mirrored-media", wire).calls([json!({ "state": "completed", "messages": 7 })]).streams([
        json!({ "packets": 200, "unique": 100, "duplicates": 100, "lost": 1, "loss_bursts": 1,
            "reordered": 0, "jitter_ms_mean": 0.0, "jitter_ms_max": 0.0, "delta_ms_max": 40.0,
            "bytes": 32_000,
            "ip_bytes": 40_000 }),
    ])
}

/// A VoLTE call is captured in GTP-U on two hops and then bare: every packet three times within half a
/// millisecond. Seven messages, none sent again; 150 media packets, 50 different, each 101 bytes within its
/// tunnel.
pub(super) fn volte_three_copies() -> Story {
    let mut once = Wire::new();
    let dialog = Dialog::new("volte@example.com");
    let codec = &["rtpmap:96 AMR-WB/16000"][..];
    dialog.set_up(&mut once, ms(0), &sdp(alice_media(), "96", codec), &sdp(bob_media(), "96", codec));
    Rtp::new(alice_media(), bob_media(), 0x3690).codec(96, 320, 61).run(&mut once, ms(1100), 50);
    dialog.hang_up(&mut once, ms(3000));
    let mut wire = Wire::new();
    for sent in once.frames_mut().drain(..) {
        let packet = &sent.data[14..];
        let [radio, edge, core] = [1, 2, 3].map(|last| [10, 0, 0, last].into());
        wire.packet(sent.at, &gtp_u(radio, edge, 0x1001, packet));
        wire.packet(sent.at + ringtap_model::Nanos::from_micros(200), &gtp_u(edge, core, 0x2002, packet));
        wire.raw(sent.at + ringtap_model::Nanos::from_micros(400), packet);
    }
    Story::new("volte-three-copies", wire)
        .calls([json!({ "state": "completed", "messages": 7, "retransmissions": 0, "src": "192.0.2.10:5060",
            "answer_us": at_us(1000), "end_us": at_us(3000), "duration_ms": 2000.0 })])
        .streams([
            json!({ "codec": "AMR-WB", "clock_hz": 16_000, "ptime_ms": 20.0, "packets": 150, "unique": 50,
            "duplicates": 100, "lost": 0, "reordered": 0, "jitter_ms_max": 0.0, "delta_ms_max": 20.0,
            "size_min": 101, "size_max": 101, "direction": "caller_to_callee" }),
        ])
}

/// A proxy with a media relay: each message on two hops (the session descriptions name the relay), the media
/// of each side on two legs with the same SSRC and numbers. One call; fourteen messages, none sent again;
/// four streams without repeats.
pub(super) fn relay_two_legs() -> Story {
    let mut wire = Wire::new();
    let dialog = Dialog::new("relayed@example.com");
    let (proxy, relay) = (end("203.0.113.1:5060"), [end("203.0.113.1:20000"), end("203.0.113.1:20002")]);
    let invite = dialog.open("INVITE", 1);
    let hops = [
        invite.clone().sdp(&sdp(alice_media(), "0", &[])).on(alice().end, proxy),
        invite.on(proxy, bob().end).sdp(&sdp(relay[1], "0", &[])),
    ];
    let answers = [sdp(relay[0], "0", &[]), sdp(bob_media(), "0", &[])];
    let (ack, bye) = (dialog.by_caller("ACK", 1), dialog.by_caller("BYE", 2));
    let path = [(alice().end, proxy), (proxy, bob().end)];
    for hop in 0..2 {
        let (there, back) = (2 * hop as u64, 2 - 2 * hop as u64);
        let (src, dst) = path[hop];
        let bye = bye.clone().on(src, dst);
        wire.send(ms(there), &hops[hop]);
        wire.send(ms(10 + back), &hops[hop].answer(100, "Trying", ""));
        wire.send(ms(200 + back), &hops[hop].answer(180, "Ringing", "callee"));
        wire.send(ms(1000 + back), &hops[hop].answer(200, "OK", "callee").sdp(&answers[hop]));
        wire.send(ms(1020 + there), &ack.clone().on(src, dst));
        wire.send(ms(3000 + there), &bye);
        wire.send(ms(3020 + back), &bye.answer(200, "OK", ""));
    }
    let legs = [
        (alice_media(), relay[0], 0xaa, 1100),
        (relay[1], bob_media(), 0xaa, 1102),
        (bob_media(), relay[1], 0xbb, 1105),
        (relay[0], alice_media(), 0xbb, 1107),
    ];
    for (src, dst, ssrc, at) in legs {
        Rtp::new(src, dst, ssrc).run(&mut wire, ms(at), 50);
    }
    let stream = |(src, dst, ssrc, at): (ringtap_model::Endpoint, ringtap_model::Endpoint, u32, u64)| {
        let direction = if ssrc == 0xaa { "caller_to_callee" } else { "callee_to_caller" };
        json!({ "call_id": "relayed@example.com", "src": src.to_string(), "dst": dst.to_string(),
            "ssrc": ssrc,
            "direction": direction, "packets": 50, "unique": 50, "duplicates": 0, "lost": 0,
            "first_us": at_us(at) })
    };
    Story::new("relay-two-legs-same-ssrc", wire)
        .calls([
            json!({ "state": "completed", "messages": 14, "retransmissions": 0, "src": "192.0.2.10:5060",
            "dst": "203.0.113.1:5060", "ringing_us": at_us(200), "answer_us": at_us(1000),
            "end_us": at_us(3000) }),
        ])
        .streams(legs.map(stream))
}

/// A proxy without relay, captured on both its sides: one call, whose fourteen messages are none twice, whose
/// times are those of the first sight of each, and whose parties are those of the first hop.
pub(super) fn proxy_several_hops() -> Story {
    let mut wire = Wire::new();
    let dialog = Dialog::new("hops@example.com");
    let proxy = end("203.0.113.1:5060");
    let invite = dialog.open("INVITE", 1).sdp(&sdp(alice_media(), "0", &[]));
    let hops = [invite.clone().on(alice().end, proxy), invite.on(proxy, bob().end)];
    let (ack, bye) = (dialog.by_caller("ACK", 1), dialog.by_callee("BYE", 1));
    for (hop, invite) in hops.iter().enumerate() {
        let (there, back) = (20 * hop as u64, 20 - 20 * hop as u64);
        let ok = invite.answer(200, "OK", "callee").sdp(&sdp(bob_media(), "0", &[]));
        wire.send(ms(there), invite);
        wire.send(ms(100 + back), &invite.answer(100, "Trying", ""));
        wire.send(ms(200 + back), &invite.answer(180, "Ringing", "callee"));
        wire.send(ms(1000 + back), &ok);
        wire.send(ms(1100 + there), &ack.clone().on(invite.src, invite.dst));
        let bye = bye.clone().on(invite.dst, invite.src);
        wire.send(ms(3000 + back), &bye);
        wire.send(ms(3100 + there), &bye.answer(200, "OK", ""));
    }
    Rtp::new(alice_media(), bob_media(), 1).run(&mut wire, ms(1200), 50);
    Story::new("proxy-several-hops", wire)
        .calls([
            json!({ "state": "completed", "messages": 14, "retransmissions": 0, "src": "192.0.2.10:5060",
            "dst": "203.0.113.1:5060", "invite_us": at_us(0), "trying_us": at_us(100),
            "ringing_us": at_us(200),
            "answer_us": at_us(1000), "end_us": at_us(3000), "released_by": "callee",
            "duration_ms": 2000.0 }),
        ])
        .streams([json!({ "packets": 50, "lost": 0, "duplicates": 0 })])
}

/// A router gives Alice's media another source port in mid-stream. Each record says what was on the wire, so
/// there are two; both are the call's, in one direction, and the numbers that went from the other port are
/// not lost.
pub(super) fn source_port_changes() -> Story {
    let mut wire = Wire::new();
    let dialog = Dialog::new("port@example.com");
    dialog.set_up(&mut wire, ms(0), &sdp(alice_media(), "0", &[]), &sdp(bob_media(), "0", &[]));
    let mut voice = Rtp::new(alice_media(), bob_media(), 0x9047);
    let at = voice.run(&mut wire, ms(1100), 50);
    voice.src = end("192.0.2.10:40500");
    voice.run(&mut wire, at, 50);
    dialog.hang_up(&mut wire, secs(4));
    let stream = |src: &str, first: u64| {
        json!({ "call_id": "port@example.com", "direction": "caller_to_callee", "src": src, "ssrc": 0x9047,
            "packets": 50, "lost": 0, "first_us": at_us(first) })
    };
    Story::new("source-port-changes", wire)
        .calls([json!({ "state": "completed", "messages": 7 })])
        .streams([stream("192.0.2.10:40000", 1100), stream("192.0.2.10:40500", 2100)])
}

/// Alice is behind NAT: her session description names a private address, her media comes from a public one,
/// and Bob's goes back to where hers came from (RFC 4961). Both streams are the call's. A third, between
/// endpoints that no session description names, is a stream of no call, and its codec is that of the static
/// payload type.
pub(super) fn media_on_ports_no_sdp_names() -> Story {
    let mut wire = Wire::new();
    let dialog = Dialog::new("nat@example.com");
    let (private, public) = (end("10.0.0.5:40000"), end("192.0.2.99:61000"));
    dialog.set_up(&mut wire, ms(0), &sdp(private, "0", &[]), &sdp(bob_media(), "0", &[]));
    Rtp::new(public, bob_media(), 0xa).run(&mut wire, ms(1100), 50);
    Rtp::new(bob_media(), public, 0xb).run(&mut wire, ms(1150), 50);
    Rtp::new(end("192.0.2.50:30000"), end("198.51.100.50:31000"), 0xc).codec(8, 160, 160).run(
        &mut wire,
        ms(1200),
        50,
    );
    dialog.hang_up(&mut wire, secs(4));
    let stream = |ssrc: u32, call_id: Option<&str>, direction: Option<&str>, codec: &str| {
        json!({ "ssrc": ssrc, "call_id": call_id, "direction": direction, "codec": codec,
        "packets": 50, "lost": 0 })
    };
    Story::new("media-on-ports-no-sdp-names", wire)
        .calls([json!({ "state": "completed", "messages": 7 })])
        .streams([
            stream(0xa, Some("nat@example.com"), Some("caller_to_callee"), "PCMU"),
            stream(0xb, Some("nat@example.com"), Some("callee_to_caller"), "PCMU"),
            stream(0xc, None, None, "PCMA"),
        ])
}

/// Descriptions name addresses that the packets do not have. In the first call both sides are telephones
/// behind NAT, whose packets have the addresses of their signalling and the ports of SDP. In the second a
/// server behind a static NAT names its public address, and the port of the telephone is not that of SDP.
/// Two telephones behind one NAT name one port, and call one server that names one port for both: whose those
/// streams are nobody can say.
pub(super) fn media_behind_nat() -> Story {
    let mut wire = Wire::new();
    let peer = |user, at: &str| Peer { user, end: end(at) };
    let dialog = Dialog::between(
        "phones@example.com",
        peer("alice", "203.0.113.1:5060"),
        peer("bob", "203.0.113.2:5060"),
    );
    let (here, there) = (end("192.168.1.5:4000"), end("10.0.0.7:6000"));
    dialog.set_up(&mut wire, ms(0), &sdp(here, "0", &[]), &sdp(there, "0", &[]));
    let (here, there) = (end("203.0.113.1:4000"), end("203.0.113.2:6000"));
    Rtp::new(here, there, 1).run(&mut wire, ms(1100), 50);
    Rtp::new(there, here, 2).run(&mut wire, ms(1100), 50);
    Rtp::new(end("203.0.113.1:4002"), end("203.0.113.9:6000"), 3).run(&mut wire, ms(1100), 50);
    dialog.hang_up(&mut wire, secs(3));
    let server = peer("bob", "10.1.1.1:5060");
    let dialog = Dialog::between("server@example.com", peer("alice", "203.0.113.3:5060"), server);
    let (here, there) = (end("192.168.1.5:4000"), end("198.51.100.8:7000"));
    dialog.set_up(&mut wire, secs(10), &sdp(here, "0", &[]), &sdp(there, "0", &[]));
    let (here, there) = (end("203.0.113.3:41234"), end("10.1.1.1:7000"));
    Rtp::new(here, there, 4).run(&mut wire, ms(11_100), 50);
    Rtp::new(there, here, 5).run(&mut wire, ms(11_100), 50);
    Rtp::new(end("203.0.113.4:4000"), there, 6).run(&mut wire, ms(11_100), 50);
    dialog.hang_up(&mut wire, secs(13));
    for name in ["one@example.com", "other@example.com"] {
        let dialog = Dialog::between(name, peer("alice", "203.0.113.5:5060"), server);
        dialog.set_up(
            &mut wire,
            secs(20),
            &sdp(end("192.168.1.5:4000"), "0", &[]),
            &sdp(there_at(7000), "0", &[]),
        );
        dialog.hang_up(&mut wire, secs(23));
    }
    Rtp::new(end("203.0.113.5:4000"), there, 7).run(&mut wire, ms(21_100), 50);
    let stream = |ssrc: u32, call: Option<&str>, direction: Option<&str>| {
        let (packets, call_id) = (50, call);
        json!({ "ssrc": ssrc, "packets": packets, "call_id": call_id, "direction": direction })
    };
    let (phones, server) = (Some("phones@example.com"), Some("server@example.com"));
    let (up, down) = (Some("caller_to_callee"), Some("callee_to_caller"));
    let call = |id: &str| json!({ "call_id": id, "state": "completed" });
    Story::new("media-behind-nat", wire)
        .calls([
            call("phones@example.com"),
            call("server@example.com"),
            call("one@example.com"),
            call("other@example.com"),
        ])
        .streams([
            stream(1, phones, up),
            stream(2, phones, down),
            stream(3, None, None),
            stream(4, server, up),
            stream(5, server, down),
            stream(6, None, None),
            stream(7, None, None),
        ])
}

/// Where the server of [`media_behind_nat`] says that it wants its media.
fn there_at(port: u16) -> ringtap_model::Endpoint {
    end(&format!("198.51.100.8:{port}"))
}

/// Media without signalling: a static payload type names its codec; of a dynamic one neither codec, nor
/// clock, nor jitter, nor MOS is known.
pub(super) fn media_without_signalling() -> Story {
    let mut wire = Wire::new();
    Rtp::new(alice_media(), bob_media(), 1).codec(18, 160, 20).run(&mut wire, ms(0), 60);
    Rtp::new(bob_media(), alice_media(), 2).codec(111, 960, 80).run(&mut wire, ms(10), 60);
    Story::new("media-without-signalling", wire).streams([
        json!({ "call": null, "call_id": null, "direction": null, "codec": "G729", "clock_hz": 8000,
            "packets": 60,
            "lost": 0, "jitter_ms_max": 0.0, "rtt_ms": null, "rtt_source": null }),
        json!({ "call": null, "call_id": null, "direction": null, "codec": null, "clock_hz": null,
            "packets": 60,
            "lost": 0, "jitter_ms_max": null, "jitter_ms_mean": null, "mos": null, "ptime_ms": null }),
    ])
}

/// One media port serves three calls, each set up while the media of those before it runs: the other end
/// tells whose stream it is.
pub(super) fn shared_media_port() -> Story {
    let mut wire = Wire::new();
    let mut wanted = Vec::new();
    for (index, last) in [11, 12, 13].into_iter().enumerate() {
        let (peer, media) = caller(last);
        let at = 1300 * index as u64;
        let call_id = format!("shared-{last}@example.com");
        let dialog = Dialog::between(&call_id, peer, bob());
        dialog.set_up(&mut wire, ms(at), &sdp(media, "18", &[]), &sdp(bob_media(), "18", &[]));
        Rtp::new(media, bob_media(), 1).codec(18, 160, 20).run(&mut wire, ms(1100 + at), 120);
        Rtp::new(bob_media(), media, 2).codec(18, 160, 20).run(&mut wire, ms(1150 + at), 120);
        dialog.hang_up(&mut wire, ms(4600 + at));
        for (ssrc, direction) in [(1, "caller_to_callee"), (2, "callee_to_caller")] {
            wanted.push(
                json!({ "call_id": call_id, "ssrc": ssrc, "direction": direction, "packets": 120, "lost": 0,
                "duplicates": 0 }),
            );
        }
    }
    let call = |last: u8| {
        json!({ "call_id": format!("shared-{last}@example.com"), "state": "completed",
        "messages": 7 })
    };
    let [a, b, c, d, e, f] = [0, 1, 2, 3, 4, 5].map(|index: usize| wanted[index].clone());
    Story::new("shared-media-port", wire).calls([11, 12, 13].map(call)).streams([a, b, c, d, e, f])
}

/// The telephones change from G.729 to PCMU by re-INVITE, and 20 ms stay 20 ms: one stream, whose codec is
/// that of most of its packets.
pub(super) fn codec_by_reinvite() -> Story {
    let mut wire = Wire::new();
    let dialog = Dialog::new("codec@example.com");
    dialog.set_up(&mut wire, ms(0), &sdp(alice_media(), "18", &[]), &sdp(bob_media(), "18", &[]));
    let mut voice = Rtp::new(alice_media(), bob_media(), 0xc0dec).codec(18, 160, 20);
    let at = voice.run(&mut wire, ms(1100), 40);
    let invite = dialog.by_caller("INVITE", 2).sdp(&sdp(alice_media(), "0", &[]));
    wire.send(at - ms(80), &invite);
    wire.send(at - ms(60), &invite.answer(200, "OK", "").sdp(&sdp(bob_media(), "0", &[])));
    wire.send(at - ms(40), &dialog.by_caller("ACK", 2));
    voice.codec(0, 160, 160).run(&mut wire, at, 100);
    let bye = dialog.by_caller("BYE", 3);
    wire.send(secs(5), &bye);
    wire.send(secs(5) + ms(20), &bye.answer(200, "OK", ""));
    Story::new("codec-by-reinvite", wire)
        .calls([
            json!({ "state": "completed", "messages": 10, "retransmissions": 0, "answer_us": at_us(1000),
            "final_code": 200, "duration_ms": 4000.0 }),
        ])
        .streams([
            json!({ "payload_type": 0, "codec": "PCMU", "clock_hz": 8000, "ptime_ms": 20.0, "packets": 140,
            "unique": 140, "lost": 0, "reordered": 0, "delta_ms_max": 20.0, "jitter_ms_max": 0.0 }),
        ])
}

/// Room for two calls, and two more come when both are in conversation: the first two are right, the others,
/// of which no more than the INVITE is seen, counted as refused. Their media is still seen, as streams of no
/// call.
pub(super) fn ceiling_of_calls() -> Story {
    let mut wire = Wire::new();
    let lasts = [11, 12, 13, 14];
    for (index, last) in lasts.into_iter().enumerate() {
        let (peer, media) = caller(last);
        let there = end(&format!("198.51.100.{last}:50000"));
        let at = 1200 * index as u64;
        let called = Peer { end: end(&format!("198.51.100.{last}:5060")), ..bob() };
        let dialog = Dialog::between(&format!("room-{last}@example.com"), peer, called);
        if last <= 12 {
            dialog.set_up(&mut wire, ms(at), &sdp(media, "0", &[]), &sdp(there, "0", &[]));
        } else {
            wire.send(ms(at), &dialog.open("INVITE", 1).sdp(&sdp(media, "0", &[])));
        }
        Rtp::new(media, there, u32::from(last)).run(&mut wire, ms(2000 + at), 40);
        dialog.hang_up(&mut wire, ms(4000 + at));
    }
    let call = |last: u8| {
        json!({ "call_id": format!("room-{last}@example.com"), "state": "completed", "messages": 7,
            "duration_ms": 3000.0 })
    };
    let stream = |last: u8| -> Value {
        let call_id = (last <= 12).then(|| format!("room-{last}@example.com"));
        json!({ "call_id": call_id, "ssrc": last, "packets": 40, "lost": 0 })
    };
    Story::new("ceiling-of-calls", wire)
        .config("max_calls = 2\n")
        .calls([11, 12].map(call))
        .streams(lasts.map(stream))
        .counter("calls_refused", 2)
}

/// Room for one stream, and two come: of the second, every packet is counted as refused, and the first is
/// right.
pub(super) fn ceiling_of_streams() -> Story {
    let mut wire = Wire::new();
    let dialog = Dialog::new("streams@example.com");
    dialog.set_up(&mut wire, ms(0), &sdp(alice_media(), "0", &[]), &sdp(bob_media(), "0", &[]));
    Rtp::new(alice_media(), bob_media(), 1).run(&mut wire, ms(1100), 40);
    Rtp::new(bob_media(), alice_media(), 2).run(&mut wire, ms(1110), 30);
    dialog.hang_up(&mut wire, secs(3));
    Story::new("ceiling-of-streams", wire)
        .config("max_streams = 1\n")
        .calls([json!({ "state": "completed", "messages": 7 })])
        .streams([json!({ "direction": "caller_to_callee", "packets": 40, "lost": 0 })])
        .counter("flows_refused", 30)
}

/// 22.5 s of media in packets of 60 ms, numbers 200 to 209 lost, 12 s after the first: three intervals, the
/// loss in the second. 167 packets fit into ten seconds.
pub(super) fn intervals() -> Story {
    let mut wire = Wire::new();
    let dialog = Dialog::new("intervals@example.com");
    dialog.set_up(&mut wire, ms(0), &sdp(alice_media(), "18", &[]), &sdp(bob_media(), "18", &[]));
    let mut voice = Rtp::new(alice_media(), bob_media(), 0x17e).codec(18, 480, 60);
    voice.ptime = ms(60);
    let at = voice.run(&mut wire, ms(1100), 200) + ms(600);
    voice.lose(10);
    voice.run(&mut wire, at, 165);
    dialog.hang_up(&mut wire, secs(25));
    let interval = |start: u64, packets: u32, lost: u32| {
        json!({ "start_us": at_us(start), "packets": packets,
        "lost": lost, "jitter_ms": 0.0, "discarded": 0 })
    };
    Story::new("intervals-of-ten-seconds", wire).calls([json!({ "state": "completed" })]).streams([json!({
        "codec": "G729", "ptime_ms": 60.0, "packets": 365, "lost": 10, "loss_bursts": 1, "burst_len_max": 10,
        "delta_ms_max": 660.0, "first_us": at_us(1100), "last_us": at_us(23_540),
        "intervals": [interval(1100, 167, 0), interval(11_100, 157, 10), interval(21_100, 41, 0)] })])
}

/// Everything that RTP may carry besides its payload (RFC 3550 section 5): two contributing sources, a header
/// extension of one word, four bytes of padding. 160 bytes are payload, 220 are the packet.
pub(super) fn header_parts() -> Story {
    let mut wire = Wire::new();
    let dialog = Dialog::new("header@example.com");
    dialog.set_up(&mut wire, ms(0), &sdp(alice_media(), "0", &[]), &sdp(bob_media(), "0", &[]));
    let voice = Rtp::new(alice_media(), bob_media(), 0x4ead);
    for index in 0..40 {
        let plain = voice.nth(index).packet();
        let (head, payload) = plain.split_at(12);
        let parts =
            [&head[1..], &[1; 4], &[2; 4], &[0xbe, 0xde, 0, 1, 0x10, 0xff, 0, 0], payload, &[0, 0, 0, 4]];
        let packet = [&[0xb2][..], &parts.concat()].concat();
        wire.udp(ms(1100 + 20 * u64::from(index)), voice.src, voice.dst, &packet);
    }
    dialog.hang_up(&mut wire, secs(3));
    Story::new("rtp-header-parts", wire).calls([json!({ "state": "completed" })]).streams([
        json!({ "packets": 40,
        "lost": 0, "ssrc": 0x4ead, "bytes": 6400, "ip_bytes": 8800, "size_min": 220, "size_max": 220,
        "jitter_ms_max": 0.0 }),
    ])
}

/// A telephone changes its SSRC in mid-call: two streams of the call, of one direction, without loss.
pub(super) fn ssrc_changes() -> Story {
    let mut wire = Wire::new();
    let dialog = Dialog::new("ssrc@example.com");
    dialog.set_up(&mut wire, ms(0), &sdp(alice_media(), "0", &[]), &sdp(bob_media(), "0", &[]));
    let at = Rtp::new(alice_media(), bob_media(), 1).run(&mut wire, ms(1100), 40);
    Rtp::new(alice_media(), bob_media(), 2).from(9, 9).run(&mut wire, at, 40);
    dialog.hang_up(&mut wire, at + secs(1));
    let stream = |ssrc: u32| {
        json!({ "ssrc": ssrc, "call_id": "ssrc@example.com",
        "direction": "caller_to_callee", "packets": 40, "lost": 0 })
    };
    Story::new("ssrc-changes", wire).calls([json!({ "state": "completed" })]).streams([stream(1), stream(2)])
}

/// Media goes on for a second after BYE: it is the call's, and the call ended with BYE.
pub(super) fn media_after_bye() -> Story {
    let mut wire = Wire::new();
    let dialog = Dialog::new("after@example.com");
    dialog.set_up(&mut wire, ms(0), &sdp(alice_media(), "0", &[]), &sdp(bob_media(), "0", &[]));
    Rtp::new(alice_media(), bob_media(), 1).run(&mut wire, ms(1100), 100);
    dialog.hang_up(&mut wire, ms(2100));
    Story::new("media-after-bye", wire)
        .calls([json!({ "state": "completed", "end_us": at_us(2100), "duration_ms": 1100.0 })])
        .streams([json!({ "packets": 100, "lost": 0, "call_id": "after@example.com" })])
}
