//! Each note, where it must be and where it must not: hold, early media, T.38, suppressed silence, and a tap
//! that does not see everything.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use ringtap_cases::run;
use ringtap_cases::story::rtp::Rtp;
use ringtap_cases::story::sip::{Dialog, Peer, alice_media, bob, bob_media, end, sdp, sdp_of};
use ringtap_cases::story::wire::Wire;
use ringtap_cases::story::{Story, ms, secs};
use ringtap_engine::Config;
use ringtap_model::{Endpoint, Nanos, Note, NoteCode};

/// A capture in the making.
struct Scene {
    wire: Wire,
}

/// The notes of each call, in order.
type Notes = Vec<Vec<Note>>;

impl Scene {
    fn new() -> Self {
        Self { wire: Wire::new() }
    }

    /// A call of Alice to Bob that is answered a second after `at`, in PCMU, and released `length` after its
    /// answer.
    fn call(&mut self, name: &str, at: Nanos, length: Nanos) -> Dialog {
        self.call_as(name, (at, length), &sdp(alice_media(), "0", &[]), &sdp(bob_media(), "0", &[]))
    }

    fn call_as(&mut self, name: &str, (at, length): (Nanos, Nanos), offer: &str, answer: &str) -> Dialog {
        let dialog = Dialog::new(name);
        dialog.set_up(&mut self.wire, at, offer, answer);
        dialog.hang_up(&mut self.wire, at + secs(1) + length);
        dialog
    }

    fn alice_sends(&mut self, at: Nanos, packets: usize) {
        Rtp::new(alice_media(), bob_media(), 0xa).run(&mut self.wire, at, packets);
    }

    fn bob_sends(&mut self, at: Nanos, packets: usize) {
        Rtp::new(bob_media(), alice_media(), 0xb).run(&mut self.wire, at, packets);
    }

    /// A call with ten seconds of media in both directions: the tap sees both.
    fn both_ways(&mut self, at: Nanos) {
        self.call("both-ways@example.com", at, secs(10));
        self.alice_sends(at + ms(1100), 490);
        self.bob_sends(at + ms(1100), 490);
    }

    fn notes(self) -> Notes {
        let story = Story::new("notes", self.wire);
        let records = run::frames(story.frames(), Config::default(), 64);
        for line in records.lines() {
            // What is printed is read again.
            let value: serde_json::Value = serde_json::from_str(&line).unwrap();
            assert!(value["notes"].is_array() || !matches!(value["type"].as_str(), Some("call" | "stream")));
        }
        records.calls.into_iter().map(|call| call.notes).collect()
    }

    /// The codes of the last call.
    fn last(self) -> Vec<&'static str> {
        self.notes().pop().unwrap().iter().map(|note| note.code.name()).collect()
    }
}

const NONE: [&str; 0] = [];

/// Ten packets of silence or of full scale: PCMU.
fn sound(wire: &mut Wire, code: u8, at: Nanos, packets: u16) {
    let voice = Rtp::new(alice_media(), bob_media(), 0xa);
    for index in 0..packets {
        let packet = voice.nth(index).packet_of(0, &[code; 160]);
        wire.udp(at + ms(20 * u64::from(index)), voice.src, voice.dst, &packet);
    }
}

#[test]
fn a_good_call_has_no_note() {
    let mut scene = Scene::new();
    scene.both_ways(secs(0));
    assert_eq!(scene.last(), NONE);
}

#[test]
fn one_way_is_claimed_where_both_directions_of_another_call_were_seen() {
    let mut scene = Scene::new();
    scene.both_ways(secs(0));
    scene.call("one-way@example.com", secs(60), secs(10));
    scene.alice_sends(ms(61_100), 490);
    let notes = scene.notes();
    let [note] = &notes[1][..] else { panic!("{notes:?}") };
    assert_eq!((note.code, note.direction.unwrap().name()), (NoteCode::OneWay, "callee_to_caller"));
    assert_eq!(note.since.map(|since| since.since(ringtap_cases::story::START)), Some(secs(61)));
    assert!(note.evidence.starts_with("490 packets from the caller, none from the callee"), "{note:?}");
}

#[test]
fn one_way_without_that_is_a_direction_not_captured() {
    let mut scene = Scene::new();
    scene.call("one-way@example.com", secs(0), secs(10));
    scene.bob_sends(ms(1100), 490);
    assert_eq!(scene.last(), ["direction_not_captured"]);
}

#[test]
fn a_side_that_falls_silent_is_one_way_from_then_on() {
    let mut scene = Scene::new();
    scene.call("falls-silent@example.com", secs(0), secs(31));
    scene.alice_sends(ms(1100), 1500);
    scene.bob_sends(ms(1100), 500);
    let notes = scene.notes();
    let [note] = &notes[0][..] else { panic!("{notes:?}") };
    assert_eq!((note.code, note.direction.unwrap().name()), (NoteCode::OneWay, "callee_to_caller"));
    assert_eq!(note.since.map(|since| since.since(ringtap_cases::story::START)), Some(ms(11_080)));
}

/// RFC 3264 section 8.4, in both forms.
#[test]
fn hold_is_not_one_way() {
    let held = sdp(alice_media(), "0", &["sendonly"]);
    let of_old = sdp_of(end("0.0.0.0:40000"), "m=audio 40000 RTP/AVP 0", &[]);
    for offer in [held, of_old] {
        let mut scene = Scene::new();
        scene.both_ways(secs(0));
        let dialog = scene.call("held@example.com", secs(60), secs(40));
        scene.alice_sends(ms(61_100), 1950);
        scene.bob_sends(ms(61_100), 500);
        let hold = dialog.by_caller("INVITE", 7).sdp(&offer);
        scene.wire.send(secs(71), &hold);
        let answer = sdp(bob_media(), "0", &["recvonly"]);
        scene.wire.send(ms(71_050), &hold.answer(200, "OK", "").sdp(&answer));
        assert_eq!(scene.last(), ["hold"], "{offer}");
    }
}

/// An announcement before the answer, to a caller that sends nothing yet; the call is refused.
#[test]
fn early_media_is_not_one_way() {
    let mut scene = Scene::new();
    scene.both_ways(secs(0));
    let dialog = Dialog::new("early@example.com");
    let invite = dialog.open("INVITE", 1).sdp(&sdp(alice_media(), "0", &[]));
    scene.wire.send(secs(60), &invite);
    let progress = invite.answer(183, "Session Progress", "callee").sdp(&sdp(bob_media(), "0", &[]));
    scene.wire.send(secs(61), &progress);
    scene.bob_sends(ms(61_100), 490);
    scene.wire.send(secs(75), &invite.answer(404, "Not Found", "callee"));
    assert_eq!(scene.last(), NONE);
}

#[test]
fn t38_is_a_fax_and_has_no_mos_but_a_refused_offer_of_it_is_not() {
    for accepted in [true, false] {
        let mut scene = Scene::new();
        let dialog = scene.call("fax@example.com", secs(0), secs(40));
        scene.alice_sends(ms(1100), if accepted { 300 } else { 1900 });
        scene.bob_sends(ms(1100), if accepted { 290 } else { 1900 });
        let of = |media: Endpoint| sdp_of(media, &format!("m=image {} udptl t38", media.port), &[]);
        let offer = dialog.by_callee("INVITE", 9).sdp(&of(bob_media()));
        scene.wire.send(secs(8), &offer);
        if accepted {
            scene.wire.send(ms(8_050), &offer.answer(200, "OK", "").sdp(&of(alice_media())));
        } else {
            scene.wire.send(ms(8_050), &offer.answer(488, "Not Acceptable Here", ""));
        }
        let story = Story::new("fax", scene.wire);
        let records = run::frames(story.frames(), Config::default(), 64);
        let codes: Vec<_> = records.calls[0].notes.iter().map(|note| note.code.name()).collect();
        assert_eq!(codes, if accepted { vec!["fax"] } else { vec![] });
        assert_eq!(records.calls[0].mos.is_none(), accepted);
        assert!(records.streams.iter().all(|stream| stream.mos.is_none() == accepted));
    }
}

/// Both sides know T.38 and talk.
#[test]
fn t38_beside_sound_is_no_fax() {
    let of = |media: Endpoint| {
        let line = format!("m=audio {} RTP/AVP 0\r\nm=image 6012 udptl t38", media.port);
        sdp_of(media, &line, &[])
    };
    let mut scene = Scene::new();
    scene.call_as("knows-t38@example.com", (secs(0), secs(10)), &of(alice_media()), &of(bob_media()));
    scene.alice_sends(ms(1100), 490);
    scene.bob_sends(ms(1100), 490);
    assert_eq!(scene.last(), NONE);
}

/// Bob's telephone suppresses silence, and he listens for the last twenty seconds.
#[test]
fn suppressed_silence_is_neither_one_way_nor_a_gap() {
    let mut scene = Scene::new();
    scene.both_ways(secs(0));
    scene.call("dtx@example.com", secs(60), secs(30));
    scene.alice_sends(ms(61_100), 1490);
    let mut voice = Rtp::new(bob_media(), alice_media(), 0xb);
    voice.run(&mut scene.wire, ms(61_100), 100);
    voice.hush(300);
    voice.run(&mut scene.wire, ms(69_100), 50);
    assert_eq!(scene.last(), NONE);
}

#[test]
fn a_call_without_media_is_judged_by_what_else_is_seen() {
    let alone = |name: &str, at| {
        let mut scene = Scene::new();
        scene.call(name, at, secs(10));
        scene
    };
    assert_eq!(alone("alone@example.com", secs(0)).last(), ["signalling_only"]);
    let mut scene = alone("no-audio@example.com", secs(60));
    scene.both_ways(secs(0));
    assert_eq!(scene.last(), ["no_audio"]);
    let mut scene = Scene::new();
    scene.both_ways(secs(0));
    let elsewhere = [end("203.0.113.5:4000"), end("203.0.113.6:4000")].map(|media| sdp(media, "0", &[]));
    scene.call_as("elsewhere@example.com", (secs(60), secs(10)), &elsewhere[0], &elsewhere[1]);
    assert_eq!(scene.last(), ["media_elsewhere"]);
    // Too short to tell, and no description at all.
    let mut scene = Scene::new();
    scene.call("short@example.com", secs(0), secs(4));
    assert_eq!(scene.last(), NONE);
    let mut scene = Scene::new();
    scene.call_as("bare@example.com", (secs(0), secs(10)), "", "");
    assert_eq!(scene.last(), NONE);
}

#[test]
fn late_packets_explain_a_low_mos_without_loss() {
    let mut scene = Scene::new();
    scene.call("late@example.com", secs(0), secs(21));
    scene.bob_sends(ms(1100), 1000);
    let voice = Rtp::new(alice_media(), bob_media(), 0xa);
    for index in 0..1000u16 {
        let late = if index % 50 == 25 { 600 } else { 0 };
        voice.nth(index).send(&mut scene.wire, ms(1100 + 20 * u64::from(index) + late));
    }
    let notes = scene.notes();
    let [note] = &notes[0][..] else { panic!("{notes:?}") };
    assert_eq!((note.code, note.value, note.threshold), (NoteCode::LatePackets, Some(2.0), Some(1.0)));
}

#[test]
fn a_gap_is_what_was_lost_in_a_row_or_came_all_at_once() {
    for (lost, stalled, expected) in [
        (60, 0, Some("60 packets in a row were lost")),
        (0, 1500, Some("nothing came for 1520 ms")),
        (49, 0, None),
        (20, 0, None),
        (0, 400, None),
    ] {
        let mut scene = Scene::new();
        scene.call("gap@example.com", secs(0), secs(21));
        scene.bob_sends(ms(1100), 1000);
        let voice = Rtp::new(alice_media(), bob_media(), 0xa);
        for index in (0..1000u16).filter(|index| !(500..500 + lost).contains(index)) {
            let due = 1100 + 20 * u64::from(index);
            let at = if (11_100..11_100 + stalled).contains(&due) { 11_100 + stalled } else { due };
            voice.nth(index).send(&mut scene.wire, ms(at));
        }
        let notes = scene.notes().pop().unwrap();
        let gap = notes.iter().find(|note| note.code == NoteCode::LongGap).map(|note| note.evidence.as_str());
        let words = expected.map(|words| gap.is_some_and(|gap| gap.starts_with(words)));
        assert!(words.unwrap_or(gap.is_none()), "{lost} {stalled}: {gap:?}");
    }
}

#[test]
fn encrypted_media_is_named_and_its_mos_says_so() {
    let of = |media: Endpoint| sdp_of(media, &format!("m=audio {} RTP/SAVP 0", media.port), &[]);
    let mut scene = Scene::new();
    let (offer, answer) = (of(alice_media()), of(bob_media()));
    scene.call_as("secure@example.com", (secs(0), secs(10)), &offer, &answer);
    scene.alice_sends(ms(1100), 490);
    scene.bob_sends(ms(1100), 490);
    let story = Story::new("secure", scene.wire);
    let records = run::frames(story.frames(), Config::default(), 64);
    assert!(records.calls[0].notes.iter().any(|note| note.code == NoteCode::Encrypted));
    let basis = records.streams[0].mos_basis.as_deref().unwrap();
    assert!(basis.ends_with("payload=encrypted"), "{basis}");
}

#[test]
fn sound_that_is_silent_or_clipped() {
    for (code, expected) in [(0xff, "silent"), (0x80, "clipped")] {
        let mut scene = Scene::new();
        scene.call("sound@example.com", secs(0), secs(12));
        scene.bob_sends(ms(1100), 590);
        sound(&mut scene.wire, code, ms(1100), 590);
        assert_eq!(scene.last(), [expected]);
    }
    let mut scene = Scene::new();
    scene.call("sound@example.com", secs(0), secs(6));
    scene.bob_sends(ms(1100), 290);
    sound(&mut scene.wire, 0xff, ms(1100), 290);
    assert_eq!(scene.last(), NONE, "six seconds of silence are a listener");
}

#[test]
fn packets_have_the_time_that_the_receiver_asked_for() {
    for (asked, expected) in [("ptime:30", vec!["packet_time"]), ("ptime:20", vec![])] {
        let mut scene = Scene::new();
        let (offer, answer) = (sdp(alice_media(), "0", &[]), sdp(bob_media(), "0", &[asked]));
        scene.call_as("ptime@example.com", (secs(0), secs(10)), &offer, &answer);
        scene.alice_sends(ms(1100), 490);
        scene.bob_sends(ms(1100), 490);
        assert_eq!(scene.last(), expected);
    }
}

#[test]
fn a_slow_set_up_and_a_short_call() {
    for (ringing, length, expected) in
        [(secs(11), ms(2000), vec!["slow_set_up", "short_call"]), (secs(9), ms(4000), vec![])]
    {
        let mut scene = Scene::new();
        let dialog = Dialog::new("slow@example.com");
        let invite = dialog.open("INVITE", 1);
        scene.wire.send(secs(0), &invite);
        scene.wire.send(ringing, &invite.answer(180, "Ringing", "callee"));
        scene.wire.send(secs(12), &invite.answer(200, "OK", "callee"));
        dialog.hang_up(&mut scene.wire, secs(12) + length);
        assert_eq!(scene.last(), expected);
    }
}

#[test]
fn a_private_address_from_behind_a_public_one_is_trouble_where_media_is_missing() {
    for (heard, expected) in [(false, vec!["nat", "direction_not_captured"]), (true, vec![])] {
        let mut scene = Scene::new();
        let offer = sdp_of(end("10.1.1.7:40000"), "m=audio 40000 RTP/AVP 0", &[]);
        let answer = sdp(bob_media(), "0", &[]);
        scene.call_as("nat@example.com", (secs(0), secs(10)), &offer, &answer);
        scene.alice_sends(ms(1100), 490);
        if heard {
            scene.bob_sends(ms(1100), 490);
        }
        assert_eq!(scene.last(), expected);
    }
}

/// RFC 3261 section 13.3.1.4: 0.5, 1, 2, 4, 4 ... s between the copies, and a BYE after 32 s.
#[test]
fn an_answer_that_nobody_confirms() {
    let contact = |host: &str| format!("<sip:bob@{host}:5060>");
    for (confirmed, host, route, expected) in [
        (None, "192.168.1.7", None, vec!["nat", "no_ack"]),
        (None, "192.168.1.7", Some("<sip:203.0.113.1;lr>"), vec!["no_ack"]),
        (None, "203.0.113.7", None, vec!["no_ack"]),
        (Some(ms(20_000)), "192.168.1.7", None, vec![]),
    ] {
        let mut scene = Scene::new();
        let dialog = Dialog::new("no-ack@example.com");
        let invite = dialog.open("INVITE", 1).sdp(&sdp(alice_media(), "0", &[]));
        scene.wire.send(secs(0), &invite);
        let mut answer = invite.answer(200, "OK", "callee").header("Contact", contact(host));
        if let Some(route) = route {
            answer = answer.header("Record-Route", route);
        }
        let answer = answer.sdp(&sdp(bob_media(), "0", &[]));
        for at in [1000, 1500, 2500, 4500, 8500, 12_500] {
            scene.wire.send(ms(at), &answer);
        }
        if let Some(at) = confirmed {
            scene.wire.send(at, &dialog.by_caller("ACK", 1));
        }
        scene.alice_sends(ms(1100), 1500);
        scene.bob_sends(ms(1100), 1500);
        scene.wire.send(secs(33), &dialog.by_callee("BYE", 2));
        assert_eq!(scene.last(), expected, "{host} {route:?}");
    }
}

#[test]
fn lost_packets_and_a_low_mos() {
    let burst: Vec<u16> = (100..110).collect();
    for (lost, expected) in [
        ((0..1000).step_by(6).collect(), vec!["low_mos", "loss"]),
        ((0..1000).step_by(60).collect(), vec!["loss"]),
        (burst.clone(), vec!["loss"]),
        (burst[..9].to_vec(), vec![]),
    ] {
        let mut scene = Scene::new();
        scene.call("loss@example.com", secs(0), secs(21));
        scene.bob_sends(ms(1100), 1000);
        let voice = Rtp::new(alice_media(), bob_media(), 0xa);
        for index in (1..1000).filter(|index| !lost.contains(index)) {
            voice.nth(index).send(&mut scene.wire, ms(1100 + 20 * u64::from(index)));
        }
        assert_eq!(scene.last(), expected, "{lost:?}");
    }
    // Three packets of a second are no complaint.
    let mut scene = Scene::new();
    scene.call("short-loss@example.com", secs(0), secs(4));
    scene.bob_sends(ms(1100), 190);
    let mut voice = Rtp::new(alice_media(), bob_media(), 0xa);
    voice.run(&mut scene.wire, ms(1100), 60);
    voice.lose(4);
    voice.run(&mut scene.wire, ms(2380), 120);
    assert_eq!(scene.last(), NONE);
}

#[test]
fn media_that_begins_long_after_the_answer() {
    for (first, expected) in [(4_000, vec!["late_media"]), (2_500, vec![])] {
        let mut scene = Scene::new();
        scene.call("late-media@example.com", secs(0), secs(20));
        scene.alice_sends(ms(1100), 990);
        scene.bob_sends(ms(first), 840);
        assert_eq!(scene.last(), expected);
    }
}

#[test]
fn both_sides_differ_in_codec_payload_type_packet_time_or_duration() {
    let both = ["rtpmap:96 iLBC/8000", "rtpmap:97 iLBC/8000"];
    let codec = |payload_type, step, size, ptime| (payload_type, step, size, ms(ptime));
    for (bobs, packets, expected) in [
        (codec(0, 160, 160, 20), 990, vec![]),
        (codec(8, 160, 160, 20), 990, vec!["codecs_differ"]),
        (codec(0, 240, 240, 30), 660, vec!["packet_times_differ"]),
        (codec(0, 160, 160, 20), 600, vec!["durations_differ"]),
    ] {
        let mut scene = Scene::new();
        let (offer, answer) = (sdp(alice_media(), "0 8", &[]), sdp(bob_media(), "0 8", &[]));
        scene.call_as("differ@example.com", (secs(0), secs(20)), &offer, &answer);
        scene.alice_sends(ms(1100), 990);
        let (payload_type, step, size, ptime) = bobs;
        let mut voice = Rtp::new(bob_media(), alice_media(), 0xb).codec(payload_type, step, size);
        voice.ptime = ptime;
        voice.run(&mut scene.wire, ms(1100), packets);
        assert_eq!(scene.last(), expected);
    }
    let mut scene = Scene::new();
    let (offer, answer) = (sdp(alice_media(), "96", &both[..1]), sdp(bob_media(), "97", &both[1..]));
    scene.call_as("types@example.com", (secs(0), secs(20)), &offer, &answer);
    Rtp::new(alice_media(), bob_media(), 0xa).codec(97, 160, 38).run(&mut scene.wire, ms(1100), 990);
    Rtp::new(bob_media(), alice_media(), 0xb).codec(96, 160, 38).run(&mut scene.wire, ms(1100), 990);
    assert_eq!(scene.last(), ["payload_types_differ"]);
}

/// Peers of another pair of places say nothing of this one.
#[test]
fn both_directions_elsewhere_are_no_evidence() {
    let mut scene = Scene::new();
    scene.both_ways(secs(0));
    let carol = Peer { user: "carol", end: end("203.0.113.9:5060") };
    let media = end("203.0.113.9:40000");
    let dialog = Dialog::between("carol@example.com", carol, bob());
    let (offer, answer) = (sdp(media, "0", &[]), sdp(bob_media(), "0", &[]));
    dialog.set_up(&mut scene.wire, secs(60), &offer, &answer);
    dialog.hang_up(&mut scene.wire, secs(71));
    Rtp::new(media, bob_media(), 0xc).run(&mut scene.wire, ms(61_100), 490);
    assert_eq!(scene.last(), ["direction_not_captured"]);
}
