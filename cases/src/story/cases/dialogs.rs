//! Within a dialog: parties, digits, refused offers, messages that cross.

use serde_json::json;

use crate::story::rtp::Rtp;
use crate::story::sip::{Dialog, Peer, alice, alice_media, bob_media, end, sdp};
use crate::story::wire::Wire;
use crate::story::{Story, at_us, ms};

/// The cases of this file.
pub(super) fn all() -> Vec<Story> {
    vec![
        parties(),
        digits_by_info(),
        digits_by_notify(),
        reinvite_refused(),
        cancel_crosses_answer(),
        both_hang_up(),
        topology_hidden_and_transferred(),
    ]
}

fn offer() -> String {
    sdp(alice_media(), "0", &[])
}

fn answer() -> String {
    sdp(bob_media(), "0", &[])
}

/// The parties: From, To, Request-URI and P-Asserted-Identity all differ; both sides name their user agent.
pub(super) fn parties() -> Story {
    let mut wire = Wire::new();
    let dialog = Dialog::new("parties@example.com");
    let invite = dialog
        .open("INVITE", 1)
        .uri("sip:+420555@gw.example.net:5080;user=phone")
        .replace("From", "Anonymous <sip:anonymous@anonymous.invalid>;tag=caller")
        .replace("To", "<tel:+420555>")
        .header("P-Asserted-Identity", "\"Alice\" <sip:+420123@example.com>, <tel:+420123>")
        .header("User-Agent", "Telephone/1.0")
        .sdp(&offer());
    wire.send(ms(0), &invite);
    wire.send(ms(100), &invite.answer(180, "Ringing", "callee"));
    wire.send(ms(1000), &invite.answer(200, "OK", "callee").header("Server", "Exchange/2.0").sdp(&answer()));
    Story::new("parties", wire).calls([
        json!({ "state": "active", "messages": 3, "from_display": "Anonymous",
        "from_user": "anonymous", "from_host": "anonymous.invalid", "to_user": "+420555", "to_host": null,
        "ruri_user": "+420555", "ruri_host": "gw.example.net", "asserted_identity": "+420123",
        "user_agent_caller": "Telephone/1.0", "user_agent_callee": "Exchange/2.0" }),
    ])
}

/// Digits in INFO: `dtmf-relay` names a signal, `dtmf` is the digit alone; an INFO of another kind is none.
pub(super) fn digits_by_info() -> Story {
    let mut wire = Wire::new();
    let dialog = Dialog::new("info@example.com");
    dialog.set_up(&mut wire, ms(0), &offer(), &answer());
    let bodies = [
        ("application/dtmf-relay", "Signal=7\r\nDuration=160\r\n"),
        ("application/dtmf", "#"),
        ("application/media_control+xml", "<vfu/>"),
        ("application/dtmf-relay", "Signal= *\r\nDuration= 250\r\n"),
    ];
    for (index, (kind, body)) in bodies.into_iter().enumerate() {
        let info = dialog.by_caller("INFO", 2 + index as u32).body(kind, body);
        wire.send(ms(2000 + 500 * index as u64), &info);
        wire.send(ms(2020 + 500 * index as u64), &info.answer(200, "OK", ""));
    }
    let digit = |digit: &str, at: u64| json!({ "digit": digit, "source": "info", "time_us": at_us(at) });
    Story::new("dtmf-by-info", wire).calls([json!({ "state": "active", "messages": 13,
        "dtmf": [digit("7", 2000), digit("#", 2500), digit("*", 3500)] })])
}

/// Digits in NOTIFY. A gateway takes telephone-events out of RTP, six packets each with their numbers, and
/// tells of them as it gets the first and the last: nothing of the voice is lost by that, and three packets
/// later are. KPML has several keys in a NOTIFY, or none; `dtmf-relay` is as in INFO.
pub(super) fn digits_by_notify() -> Story {
    let mut wire = Wire::new();
    let dialog = Dialog::new("notify@example.com");
    dialog.set_up(&mut wire, ms(0), &offer(), &answer());
    let mut number = 2;
    let mut notify = |wire: &mut Wire, at: u64, kind: &str, body: &[u8]| {
        let notify = dialog.by_caller("NOTIFY", number).body(kind, body);
        wire.send(ms(at), &notify);
        wire.send(ms(at + 1), &notify.answer(200, "OK", ""));
        number += 1;
    };
    let mut voice = Rtp::new(alice_media(), bob_media(), 0xd1);
    voice.run(&mut wire, ms(1100), 45);
    for (at, code) in [(2000, 1), (3020, 11)] {
        notify(&mut wire, at, "audio/telephone-event", &[code, 0, 7, 208]);
        notify(&mut wire, at + 60, "audio/telephone-event", &[code, 0, 7, 208]);
        notify(&mut wire, at + 110, "audio/telephone-event", &[code, 0x80, 3, 192]);
        voice.lose(6);
        voice.run(&mut wire, ms(at + 120), 45);
    }
    voice.lose(3);
    voice.run(&mut wire, ms(4100), 50);
    let kpml = |digits: &str| format!("<kpml-response version=\"1.0\" code=\"200\" text=\"OK\" {digits}/>");
    notify(&mut wire, 4500, "application/kpml-response+xml", kpml("digits=\"4*\"").as_bytes());
    notify(&mut wire, 4600, "application/kpml-response+xml", kpml("").as_bytes());
    notify(&mut wire, 4700, "application/dtmf-relay", b"Signal=7\r\nDuration=160\r\n");
    notify(&mut wire, 4800, "application/reginfo+xml", b"<reginfo digits=\"9\"/>");
    let digit = |digit: &str, at: u64| json!({ "digit": digit, "source": "notify", "time_us": at_us(at) });
    Story::new("dtmf-by-notify", wire)
        .calls([json!({ "state": "active", "dtmf": [digit("1", 2000), digit("#", 3020), digit("4", 4500),
            digit("*", 4500), digit("7", 4700)] })])
        .streams([json!({ "packets": 185, "lost": 3, "loss_bursts": 1, "burst_len_max": 3 })])
}

/// A re-INVITE that is refused (488) leaves the call as it was: answered at one second, released by BYE.
pub(super) fn reinvite_refused() -> Story {
    let mut wire = Wire::new();
    let dialog = Dialog::new("stays@example.com");
    dialog.set_up(&mut wire, ms(0), &offer(), &answer());
    let again = dialog.by_callee("INVITE", 1).sdp(&answer());
    wire.send(ms(2000), &again);
    wire.send(ms(2010), &again.answer(100, "Trying", ""));
    wire.send(ms(2020), &again.answer(488, "Not Acceptable Here", ""));
    wire.send(ms(2040), &dialog.by_callee("ACK", 1));
    dialog.hang_up(&mut wire, ms(4000));
    Story::new("reinvite-refused", wire).calls([
        json!({ "state": "completed", "messages": 11, "final_code": 200,
        "final_reason": "OK", "trying_us": at_us(10), "answer_us": at_us(1000), "end_us": at_us(4000),
        "duration_ms": 3000.0 }),
    ])
}

/// CANCEL and 200 cross: the call was answered, so it is completed, and ends with the BYE that follows.
pub(super) fn cancel_crosses_answer() -> Story {
    let mut wire = Wire::new();
    let dialog = Dialog::new("crossing@example.com");
    let invite = dialog.open("INVITE", 1).sdp(&offer());
    let cancel = dialog.open("CANCEL", 1);
    wire.send(ms(0), &invite);
    wire.send(ms(200), &invite.answer(180, "Ringing", "callee"));
    wire.send(ms(3000), &cancel);
    wire.send(ms(3005), &invite.answer(200, "OK", "callee").sdp(&answer()));
    wire.send(ms(3020), &cancel.answer(481, "Call/Transaction Does Not Exist", "callee"));
    wire.send(ms(3030), &dialog.by_caller("ACK", 1));
    dialog.hang_up(&mut wire, ms(3050));
    Story::new("cancel-crosses-answer", wire).calls([json!({ "state": "completed", "messages": 8,
        "final_code": 200, "answer_us": at_us(3005), "end_us": at_us(3050), "duration_ms": 45.0,
        "released_by": "caller" })])
}

/// Both sides hang up at once: the first BYE ends the call and says who released it.
pub(super) fn both_hang_up() -> Story {
    let mut wire = Wire::new();
    let dialog = Dialog::new("glare@example.com");
    dialog.set_up(&mut wire, ms(0), &offer(), &answer());
    let (theirs, ours) = (dialog.by_callee("BYE", 1), dialog.by_caller("BYE", 2));
    wire.send(ms(3000), &theirs);
    wire.send(ms(3005), &ours);
    wire.send(ms(3025), &theirs.answer(200, "OK", ""));
    wire.send(ms(3030), &ours.answer(200, "OK", ""));
    Story::new("both-hang-up", wire)
        .calls([json!({ "state": "completed", "messages": 9, "retransmissions": 0,
        "released_by": "callee", "end_us": at_us(3000), "duration_ms": 2000.0 })])
}

/// Three legs and a fourth, as SIPp, Kamailio and Asterisk sent them: a proxy hides topology (another
/// Call-ID, the same description), a box makes a leg of its own behind it, its callee transfers the caller
/// with a REFER and hangs up, and the box calls the target. The first two have the same media, which is the
/// first one's.
pub(super) fn topology_hidden_and_transferred() -> Story {
    let mut wire = Wire::new();
    let (proxy, pbx) = (end("192.0.2.20:5060"), end("192.0.2.21:5060"));
    let (own, to_asker, to_target) =
        (end("192.0.2.21:10000"), end("192.0.2.21:10002"), end("192.0.2.21:10004"));
    let (asker, target) = (end("198.51.100.30:50000"), end("198.51.100.40:50000"));
    let peer = |user, end| Peer { user, end };
    let caller = peer("493088800001", alice().end);
    let called = |end| peer("493020000001", end);
    let before = Dialog::between("before@example.com", caller, called(proxy));
    let behind = Dialog::between("behind@example.com", peer("493088800001", proxy), called(pbx));
    let first =
        Dialog::between("first@example.com", peer("493088800001", pbx), called(end("198.51.100.30:5060")));
    let last = Dialog::between(
        "last@example.com",
        peer("493088800001", pbx),
        peer("493030000001", end("198.51.100.40:5060")),
    );
    let offer = sdp(alice_media(), "0", &[]).replace("o=- 1 1", "o=- 3795262400 1");
    let answer = sdp(own, "0", &[]);
    before.set_up(&mut wire, ms(0), &offer, &answer);
    behind.set_up(&mut wire, ms(1), &offer, &answer);
    first.set_up(&mut wire, ms(3), &sdp(to_asker, "0", &[]), &sdp(asker, "0", &[]));
    for (from, to, ssrc) in [(alice_media(), own, 1), (own, alice_media(), 2)] {
        Rtp::new(from, to, ssrc).run(&mut wire, ms(1100), 60);
    }
    for (from, to, ssrc) in [(to_asker, asker, 3), (asker, to_asker, 4)] {
        Rtp::new(from, to, ssrc).run(&mut wire, ms(1100), 40);
    }
    let refer = first.by_callee("REFER", 1).header("Refer-To", "<sip:493030000001@192.0.2.21>");
    wire.send(ms(3200), &refer);
    wire.send(ms(3210), &refer.answer(202, "Accepted", ""));
    last.set_up(&mut wire, ms(3220), &sdp(to_target, "0", &[]), &sdp(target, "0", &[]));
    for (from, to, ssrc) in [(to_target, target, 5), (target, to_target, 6)] {
        Rtp::new(from, to, ssrc).run(&mut wire, ms(4300), 50);
    }
    let bye = first.by_callee("BYE", 2);
    wire.send(ms(4250), &bye);
    wire.send(ms(4270), &bye.answer(200, "OK", ""));
    before.hang_up(&mut wire, ms(9100));
    behind.hang_up(&mut wire, ms(9101));
    last.hang_up(&mut wire, ms(9103));
    let note = |code: &str| json!([{ "code": code }]);
    let call = |id: &str, messages: u32| json!({ "call_id": id, "state": "completed", "messages": messages });
    let stream = |id: &str, packets: u32| json!({ "call_id": id, "packets": packets });
    let both = |id: &str, packets: u32| [stream(id, packets), stream(id, packets)];
    let mut calls = [
        call("before@example.com", 7),
        call("behind@example.com", 7),
        call("first@example.com", 9),
        call("last@example.com", 7),
    ];
    calls[0]["notes"] = json!([]);
    calls[1]["notes"] = note("shared_media");
    calls[1]["streams"] = json!([]);
    calls[2]["notes"] = note("transfer");
    calls[2]["diverted_to"] = json!(["493030000001"]);
    let [one, two] = both("before@example.com", 60);
    let [three, four] = both("first@example.com", 40);
    let [five, six] = both("last@example.com", 50);
    Story::new("hidden-topology-and-transfer", wire).calls(calls).streams([one, two, three, four, five, six])
}
