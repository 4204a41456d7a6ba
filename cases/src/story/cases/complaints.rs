//! What customers complain of: the captures of `docs/manual/complaints.md`.

use ringtap_model::{Endpoint, Nanos};
use serde_json::json;

use crate::story::rtp::Rtp;
use crate::story::sip::{Dialog, Peer, end, sdp};
use crate::story::wire::Wire;
use crate::story::{Story, ms, secs};

/// The cases of this file.
pub(super) fn all() -> Vec<Story> {
    vec![one_way(), choppy(), cannot_dial(), drops_after_30_s(), cannot_register()]
}

const CUSTOMER: &str = "+441632960205";
const FRIEND: &str = "+14155550138";

fn customer() -> Peer {
    Peer { user: CUSTOMER, end: end("192.0.2.31:5060") }
}

fn friend() -> Peer {
    Peer { user: FRIEND, end: end("198.51.100.20:5060") }
}

/// Where both want their media.
fn media() -> [Endpoint; 2] {
    [end("192.0.2.31:40000"), end("198.51.100.20:30000")]
}

fn g729(media: Endpoint) -> String {
    sdp(media, "18", &["rtpmap:18 G729/8000"])
}

/// A stream of G.729 in packets of 40 ms.
fn voice([from, to]: [Endpoint; 2], ssrc: u32) -> Rtp {
    let mut voice = Rtp::new(from, to, ssrc).codec(18, 320, 40);
    voice.ptime = ms(40);
    voice
}

fn back([one, two]: [Endpoint; 2]) -> [Endpoint; 2] {
    [two, one]
}

/// A call of the customer, answered after a second; the caller hangs up.
fn call(wire: &mut Wire, name: &str, at: Nanos, length: Nanos) {
    let dialog = Dialog::between(name, customer(), friend());
    let [caller, callee] = media();
    dialog.set_up(wire, at, &g729(caller), &g729(callee));
    dialog.hang_up(wire, at + secs(1) + length);
}

/// Two calls to one friend, who is heard in the first and not in the second.
fn one_way() -> Story {
    let mut wire = Wire::new();
    call(&mut wire, "heard@192.0.2.31", ms(0), secs(8));
    voice(media(), 1).run(&mut wire, ms(1040), 195);
    voice(back(media()), 2).run(&mut wire, ms(1050), 195);
    call(&mut wire, "not-heard@192.0.2.31", secs(60), secs(12));
    voice(media(), 3).run(&mut wire, ms(61_040), 295);
    let one_way = json!([{ "code": "one_way", "direction": "callee_to_caller", "value": 11_760.0 }]);
    let [caller, callee] = media();
    let stream = |ssrc: u32, packets: u32, from: Endpoint| {
        let src = from.to_string();
        json!({ "ssrc": ssrc, "packets": packets, "lost": 0, "src": src, "codec": "G729" })
    };
    Story::new("complaint-one-way", wire)
        .calls([
            json!({ "state": "completed", "notes": [] }),
            json!({ "state": "completed", "notes": one_way }),
        ])
        .streams([stream(1, 195, caller), stream(2, 195, callee), stream(3, 295, caller)])
}

/// The friend's voice comes with holes: one packet of ten, and at second 6 a second of it.
fn choppy() -> Story {
    let mut wire = Wire::new();
    call(&mut wire, "choppy@192.0.2.31", ms(0), secs(16));
    voice(media(), 1).run(&mut wire, ms(1040), 395);
    let holes = voice(back(media()), 2);
    let missing = |index: u16| index % 10 == 7 || (125..150).contains(&index);
    let sent: Vec<u16> = (0..395).filter(|index| !missing(*index)).collect();
    for index in &sent {
        holes.nth(*index).send(&mut wire, ms(1050 + 40 * u64::from(*index)));
    }
    // 39 of 395 end in 7, of which 3 lie in the second that is missing as a whole.
    let lost = 25 + 39 - 3;
    let stream = json!({ "ssrc": 2, "packets": 395 - lost, "lost": lost, "burst_len_max": 25 });
    Story::new("complaint-choppy", wire)
        .calls([json!({ "state": "completed", "final_code": 200 })])
        .streams([json!({ "ssrc": 1, "packets": 395, "lost": 0 }), stream])
}

/// Three attempts: no circuit (Q.850 cause 34), a number that nobody has, a codec that nobody speaks.
fn cannot_dial() -> Story {
    let mut wire = Wire::new();
    for (index, code, phrase, reason) in [
        (0, 503, "Service Unavailable", "Q.850;cause=34;text=\"no circuit available\""),
        (1, 404, "Not Found", "Q.850;cause=1;text=\"unallocated number\""),
        (2, 488, "Not Acceptable Here", "SIP;cause=488;text=\"no common codec\""),
    ] {
        let at = secs(20 * index);
        let dialog = Dialog::between(&format!("attempt-{}@192.0.2.31", index + 1), customer(), friend());
        let invite = dialog.open("INVITE", 1).sdp(&g729(media()[0]));
        wire.send(at, &invite);
        wire.send(at + ms(15), &invite.answer(100, "Trying", ""));
        wire.send(at + ms(900), &invite.answer(code, phrase, "gateway").header("Reason", reason));
        wire.send(at + ms(920), &dialog.by_caller("ACK", 1));
    }
    let failed = |code, cause: Option<u16>| json!({ "state": "failed", "final_code": code, "cause": cause });
    Story::new("complaint-cannot-dial", wire).calls([
        failed(503, Some(34)),
        failed(404, Some(1)),
        failed(488, None),
    ])
}

/// The friend answers from behind a router, with a private address as the Contact: the ACK never gets there,
/// the answer is repeated as RFC 3261 section 13.3.1.4 has it, and after 32 s his telephone hangs up.
fn drops_after_30_s() -> Story {
    let mut wire = Wire::new();
    let dialog = Dialog::between("drops@192.0.2.31", customer(), friend());
    let [caller, callee] = media();
    let invite = dialog.open("INVITE", 1).sdp(&g729(caller));
    wire.send(ms(0), &invite);
    wire.send(ms(200), &invite.answer(180, "Ringing", "friend"));
    let contact = format!("<sip:{FRIEND}@192.168.1.20:5060>");
    let answer = invite.answer(200, "OK", "friend").header("Contact", contact).sdp(&g729(callee));
    for at in [2000, 2500, 3500, 5500, 9500, 13_500, 17_500, 21_500, 25_500, 29_500, 33_500] {
        wire.send(ms(at), &answer);
    }
    voice(media(), 1).run(&mut wire, ms(2040), 795);
    voice(back(media()), 2).run(&mut wire, ms(2050), 795);
    let bye = dialog.by_callee("BYE", 1);
    wire.send(secs(34), &bye);
    wire.send(ms(34_020), &bye.answer(200, "OK", ""));
    let evidence = "192.168.1.20 was announced as the Contact for the ACK in messages from 198.51.100.20";
    let notes = json!([
        { "code": "nat", "evidence": evidence },
        { "code": "no_ack", "value": 10.0 },
    ]);
    Story::new("complaint-drops-after-30-s", wire)
        .calls([
            json!({ "state": "completed", "released_by": "callee", "duration_ms": 32_000.0, "notes": notes }),
        ])
        .streams([json!({ "ssrc": 1, "packets": 795 }), json!({ "ssrc": 2, "packets": 795 })])
}

/// One telephone has a wrong password, another is not answered at all.
fn cannot_register() -> Story {
    let mut wire = Wire::new();
    let registrar = Peer { user: "registrar", end: end("203.0.113.1:5060") };
    let register = |user, from: &str, cseq| {
        let peer = Peer { user, end: end(from) };
        let dialog = Dialog::between(&format!("register@{from}"), peer, Peer { user, ..registrar });
        dialog.open("REGISTER", cseq).uri("sip:example.com").header("User-Agent", "Telephone/2.1")
    };
    let first = register(CUSTOMER, "192.0.2.31:5060", 1);
    wire.send(ms(0), &first);
    let challenge = "Digest realm=\"example.com\", nonce=\"5f1c\", algorithm=MD5";
    wire.send(ms(20), &first.answer(401, "Unauthorized", "registrar").header("WWW-Authenticate", challenge));
    let credentials = format!(
        "Digest username=\"{CUSTOMER}\", realm=\"example.com\", nonce=\"5f1c\", \
        uri=\"sip:example.com\", response=\"0f\""
    );
    let again = register(CUSTOMER, "192.0.2.31:5060", 2).header("Authorization", credentials);
    wire.send(ms(60), &again);
    wire.send(ms(80), &again.answer(403, "Forbidden", "registrar"));
    let lonely = register("+441632960734", "192.0.2.32:5060", 1);
    for at in [1000, 1500, 2500, 4500, 8500, 12_500] {
        wire.send(ms(at), &lonely);
    }
    Story::new("complaint-cannot-register", wire).registrations([
        json!({ "aor": format!("{CUSTOMER}@example.com"), "state": "refused", "code": 403, "requests": 2 }),
        json!({ "aor": "+441632960734@example.com", "state": "expired", "code": 0, "requests": 6 }),
    ])
}
