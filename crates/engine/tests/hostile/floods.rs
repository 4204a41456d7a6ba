//! Real calls and registrations beside floods from the same address.

use ringtap_engine::Config;
use ringtap_model::{CallState, RegistrationState};

use crate::feed::{CORE, Feed, SBC, rtp, sdp, sip};

const INVITE: &str = "INVITE sip:bob@example.com SIP/2.0";

/// A call at its step, steps a second apart: it rings for three seconds, talks for two, and ends.
fn step_of_call(feed: &mut Feed, micros: u64, call: u32, step: u64) {
    let id = format!("real-{call}");
    let (ours, theirs) = (10_000 + 2 * call as u16, 30_000 + 2 * call as u16);
    let mut message = |back, start: &str, cseq: &str, rest: &str| {
        feed.sip(micros, back, &sip(start, &id, cseq, rest));
    };
    match step {
        0 => {
            message(false, INVITE, "1 INVITE", &sdp("192.0.2.1", ours, "8", ""));
            message(true, "SIP/2.0 100 Trying", "1 INVITE", "\r\n");
        }
        1 => message(true, "SIP/2.0 180 Ringing", "1 INVITE", "\r\n"),
        4 => {
            message(true, "SIP/2.0 200 OK", "1 INVITE", &sdp("198.51.100.1", theirs, "8", ""));
            message(false, "ACK sip:bob@example.com SIP/2.0", "1 ACK", "\r\n");
        }
        5 => {
            for index in 0..10 {
                feed.udp(micros, (SBC, ours), (CORE, theirs), &rtp(8, index, call));
                feed.udp(micros, (CORE, theirs), (SBC, ours), &rtp(8, index, call + 1_000_000));
            }
        }
        6 => {
            message(false, "BYE sip:bob@example.com SIP/2.0", "2 BYE", "\r\n");
            message(true, "SIP/2.0 200 OK", "2 BYE", "\r\n");
        }
        _ => {}
    }
}

/// What a flood sends at a time, each time with another number.
type Flood = fn(&mut Feed, u64, u64);

/// How many of 200 calls were recorded as they were, with a flood of 1,000 a second beside them against a
/// table of 2,000; and how many gave way.
fn beside(flood: Flood) -> (usize, u64) {
    let mut feed = Feed::new(Config { max_calls: 2_000, max_streams: 2_000, ..Config::default() });
    feed.records.wanted = Some("real-");
    for tick in 0..40_000u64 {
        let micros = tick * 1_000;
        if tick % 100 == 0 {
            // Ten calls begin a second.
            for call in 0..200 {
                let age = tick as i64 - i64::from(call) * 100;
                if age >= 0 && age % 1_000 == 0 {
                    step_of_call(&mut feed, micros, call, age as u64 / 1_000);
                }
            }
        }
        flood(&mut feed, micros + 500, tick);
    }
    let evicted = feed.dropped("calls_evicted");
    let records = feed.close();
    let is_whole = |(call, streams): &&(ringtap_model::Call, Vec<ringtap_engine::StreamEnd>)| {
        call.state == CallState::Completed
            && (call.messages, call.retransmissions) == (7, 0)
            && call.duration_ms == Some(2_000.0)
            && streams.len() == 2
            && streams
                .iter()
                .all(|end| end.record.packets == 10 && end.record.codec.as_deref() == Some("PCMA"))
    };
    (records.calls.iter().filter(is_whole).count(), evicted)
}

#[test]
fn invites_that_nobody_answers_displace_no_real_call_behind_the_same_sbc() {
    let (whole, evicted) = beside(|feed, micros, number| {
        feed.sip(micros, false, &sip(INVITE, &format!("flood-{number}"), "1 INVITE", "\r\n"));
    });
    assert_eq!(whole, 200);
    assert!(evicted > 30_000, "{evicted}");
}

#[test]
fn invites_that_are_refused_displace_no_real_call_behind_the_same_sbc() {
    let (whole, evicted) = beside(|feed, micros, number| {
        let id = format!("flood-{number}");
        feed.sip(micros, false, &sip(INVITE, &id, "1 INVITE", "\r\n"));
        feed.sip(micros, true, &sip("SIP/2.0 404 Not Found", &id, "1 INVITE", "\r\n"));
    });
    assert_eq!(whole, 200);
    // Their records were complete.
    assert_eq!(evicted, 0);
}

#[test]
fn invites_of_ever_other_sources_displace_no_real_call() {
    let (whole, evicted) = beside(|feed, micros, number| {
        let source = [10, (number >> 16) as u8, (number >> 8) as u8, number as u8];
        let text = sip(INVITE, &format!("flood-{number}"), "1 INVITE", "\r\n");
        feed.udp(micros, (source, 5060), (CORE, 5060), text.as_bytes());
    });
    assert_eq!(whole, 200);
    assert!(evicted > 30_000, "{evicted}");
}

/// A flood from one address leaves the calls of another that nobody has answered yet alone.
#[test]
fn one_source_has_a_share_of_the_calls_without_an_answer() {
    let mut feed = Feed::new(Config { max_calls: 1_000, ..Config::default() });
    feed.records.wanted = Some("slow-");
    for call in 0..650u32 {
        let text = sip(INVITE, &format!("slow-{call}"), "1 INVITE", "\r\n");
        feed.udp(0, ([203, 0, (call >> 8) as u8, call as u8], 5060), (CORE, 5060), text.as_bytes());
    }
    for number in 0..5_000u64 {
        feed.sip(1_000 + number, false, &sip(INVITE, &format!("flood-{number}"), "1 INVITE", "\r\n"));
    }
    assert_eq!(feed.records.calls.len(), 0, "calls of others that gave way");
    assert!(feed.dropped("calls_evicted") > 4_000);
    assert_eq!(feed.close().calls.len(), 650);
}

#[test]
fn registrations_that_nobody_accepts_displace_none_that_was_accepted() {
    let mut feed = Feed::new(Config { max_registrations: 1_000, ..Config::default() });
    feed.records.wanted = Some("real-");
    let register = "REGISTER sip:example.com SIP/2.0";
    for number in 0..20_000u64 {
        let micros = number * 1_000;
        feed.sip(micros, false, &sip(register, &format!("flood-{number}"), "1 REGISTER", "\r\n"));
        if number % 100 == 0 {
            let id = format!("real-{number}");
            feed.sip(micros, false, &sip(register, &id, "1 REGISTER", "Expires: 600\r\n\r\n"));
        }
        if number % 100 == 50 {
            let id = format!("real-{}", number - 50);
            feed.sip(micros, true, &sip("SIP/2.0 200 OK", &id, "1 REGISTER", "Expires: 600\r\n\r\n"));
        }
    }
    assert!(feed.dropped("registrations_evicted") > 15_000);
    let registrations = feed.close().registrations;
    let active = registrations.iter().filter(|record| record.state == RegistrationState::Active).count();
    assert_eq!((registrations.len(), active), (200, 200));
}

/// 512 names in each INVITE, none of them twice.
#[test]
fn invented_codec_names_leave_every_call_its_codec() {
    let mut feed = Feed::new(Config { max_calls: 100, max_streams: 100, ..Config::default() });
    feed.records.wanted = Some("real-");
    for invite in 0..20 {
        let mut body = String::new();
        for medium in 0..16 {
            body += &format!("m=audio {} RTP/AVP", 20_000 + medium * 2);
            (96..128).for_each(|number| body += &format!(" {number}"));
            body += "\r\n";
            for number in 96..128 {
                body += &format!("a=rtpmap:{number} x{invite}-{medium}-{number}/8000\r\n");
            }
        }
        let body = format!("v=0\r\no=- 1 1 IN IP4 192.0.2.9\r\ns=-\r\nc=IN IP4 192.0.2.9\r\nt=0 0\r\n{body}");
        let rest = format!("Content-Type: application/sdp\r\nContent-Length: {}\r\n\r\n{body}", body.len());
        feed.sip(1_000 * invite, false, &sip(INVITE, &format!("flood-{invite}"), "1 INVITE", &rest));
    }
    let cases = [("PCMA", 8, "PCMA/8000"), ("opus", 96, "opus/48000/2"), ("MELP", 97, "MELP/8000")];
    for (call, (name, number, map)) in (0..).zip(cases) {
        let port = 10_000 + 2 * call;
        let lines = format!("a=rtpmap:{number} {map}\r\n");
        let rest = sdp("198.51.100.1", port, &number.to_string(), &lines);
        feed.sip(1_000_000, false, &sip(INVITE, &format!("real-{name}"), "1 INVITE", &rest));
        for index in 0..10 {
            let micros = 1_100_000 + 20_000 * u64::from(index);
            feed.udp(micros, (SBC, port), (CORE, port), &rtp(number, index, u32::from(port)));
        }
    }
    assert_eq!(feed.dropped("codecs_refused"), 0);
    let calls = feed.close().calls;
    let codecs: Vec<_> = calls
        .iter()
        .map(|(call, streams)| {
            (call.call_id.as_str(), streams.first().and_then(|end| end.record.codec.as_deref()))
        })
        .collect();
    assert_eq!(
        codecs,
        [("real-PCMA", Some("PCMA")), ("real-opus", Some("opus")), ("real-MELP", Some("MELP"))]
    );
}
