//! How calls end: answered, refused, cancelled, redirected, timed out.

use serde_json::json;

use crate::story::packet::{gtp_u, udp, with_id};
use crate::story::rtp::Rtp;
use crate::story::sip::{Dialog, Msg, Peer, alice, alice_media, bob, bob_media, end, sdp};
use crate::story::wire::Wire;
use crate::story::{Story, at_us, ms, secs};

/// The cases of this file.
pub(super) fn all() -> Vec<Story> {
    vec![
        early_media(),
        prack_update(),
        challenge_answered(),
        challenge_unanswered(),
        forked(),
        fork_one_branch_busy(),
        cancelled(),
        diverted(),
        bye_by_callee(),
        failed(),
        never_answered(),
        answered_and_input_ends(),
        retransmissions_and_mirrored_copies(),
        sent_twice_at_once(),
        call_ids_nearly_equal(),
        cancel_without_487(),
        failure_again(),
    ]
}

fn offer() -> String {
    sdp(alice_media(), "0", &[])
}

fn answer() -> String {
    sdp(bob_media(), "0", &[])
}

/// 183 with a session description, and Bob's media from 250 ms on: before that 183, and long before the
/// answer at 2 s. The 183 is the first 18x: post-dial delay 300 ms. The stream begins with its first packet.
pub(super) fn early_media() -> Story {
    let mut wire = Wire::new();
    let dialog = Dialog::new("early@example.com");
    let invite = dialog.open("INVITE", 1).sdp(&offer());
    wire.send(ms(0), &invite);
    wire.send(ms(10), &invite.answer(100, "Trying", ""));
    wire.send(ms(300), &invite.answer(183, "Session Progress", "callee").sdp(&answer()));
    Rtp::new(bob_media(), alice_media(), 0xb0b).run(&mut wire, ms(250), 100);
    wire.send(ms(2000), &invite.answer(200, "OK", "callee").sdp(&answer()));
    wire.send(ms(2020), &dialog.by_caller("ACK", 1));
    dialog.hang_up(&mut wire, ms(4000));
    Story::new("early-media-before-answer", wire)
        .calls([
            json!({ "state": "completed", "messages": 7, "trying_us": at_us(10), "ringing_us": at_us(300),
            "answer_us": at_us(2000), "end_us": at_us(4000), "pdd_ms": 300.0, "duration_ms": 2000.0 }),
        ])
        .streams([json!({ "call_id": "early@example.com", "direction": "callee_to_caller", "packets": 100,
            "lost": 0, "codec": "PCMU", "first_us": at_us(250), "last_us": at_us(2230) })])
}

/// RFC 3262 and RFC 3311: the 200s to PRACK and UPDATE answer no call. Twelve messages, answered at 1.5 s.
pub(super) fn prack_update() -> Story {
    let mut wire = Wire::new();
    let dialog = Dialog::new("prack@example.com");
    let invite = dialog.open("INVITE", 1).header("Supported", "100rel").sdp(&offer());
    let prack = dialog.by_caller("PRACK", 2).header("RAck", "1 1 INVITE");
    let update = dialog.by_caller("UPDATE", 3).sdp(&offer());
    wire.send(ms(0), &invite);
    wire.send(ms(10), &invite.answer(100, "Trying", ""));
    let progress = invite.answer(183, "Session Progress", "callee");
    wire.send(ms(150), &progress.header("Require", "100rel").header("RSeq", "1").sdp(&answer()));
    wire.send(ms(200), &prack);
    wire.send(ms(240), &prack.answer(200, "OK", ""));
    wire.send(ms(300), &update);
    wire.send(ms(340), &update.answer(200, "OK", "").sdp(&answer()));
    wire.send(ms(500), &invite.answer(180, "Ringing", "callee"));
    wire.send(ms(1500), &invite.answer(200, "OK", "callee"));
    wire.send(ms(1520), &dialog.by_caller("ACK", 1));
    let bye = dialog.by_caller("BYE", 4);
    wire.send(ms(3500), &bye);
    wire.send(ms(3520), &bye.answer(200, "OK", ""));
    Story::new("prack-update", wire).calls([
        json!({ "state": "completed", "messages": 12, "retransmissions": 0,
        "ringing_us": at_us(150), "answer_us": at_us(1500), "pdd_ms": 150.0, "duration_ms": 2000.0,
        "final_code": 200 }),
    ])
}

/// A challenge and the INVITE that answers it are one attempt, which begins with the first INVITE: ten
/// messages.
pub(super) fn challenge_answered() -> Story {
    let mut wire = Wire::new();
    let dialog = Dialog::new("challenged@example.com");
    let first = dialog.open("INVITE", 1).sdp(&offer());
    let second = dialog
        .open("INVITE", 2)
        .header("Proxy-Authorization", "Digest username=\"alice\", realm=\"example.com\", nonce=\"1\"")
        .sdp(&offer());
    wire.send(ms(0), &first);
    let challenge = first.answer(407, "Proxy Authentication Required", "proxy");
    wire.send(ms(20), &challenge.header("Proxy-Authenticate", "Digest realm=\"example.com\", nonce=\"1\""));
    wire.send(ms(30), &dialog.open("ACK", 1));
    wire.send(ms(50), &second);
    wire.send(ms(60), &second.answer(100, "Trying", ""));
    wire.send(ms(400), &second.answer(180, "Ringing", "callee"));
    wire.send(ms(2000), &second.answer(200, "OK", "callee").sdp(&answer()));
    wire.send(ms(2020), &dialog.by_caller("ACK", 2));
    let bye = dialog.by_caller("BYE", 3);
    wire.send(ms(5000), &bye);
    wire.send(ms(5020), &bye.answer(200, "OK", ""));
    Story::new("407-retry", wire).calls([json!({ "state": "completed", "messages": 10, "retransmissions": 0,
        "final_code": 200, "final_reason": "OK", "invite_us": at_us(0), "trying_us": at_us(60),
        "ringing_us": at_us(400), "answer_us": at_us(2000), "end_us": at_us(5000), "pdd_ms": 400.0,
        "duration_ms": 3000.0, "released_by": "caller" })])
}

/// A challenge that nobody answers is a failure: 401, ended when it came.
pub(super) fn challenge_unanswered() -> Story {
    let mut wire = Wire::new();
    let dialog = Dialog::new("refused@example.com");
    let invite = dialog.open("INVITE", 1).sdp(&offer());
    wire.send(ms(0), &invite);
    wire.send(ms(30), &invite.answer(401, "Unauthorized", "callee"));
    wire.send(ms(40), &dialog.open("ACK", 1));
    Story::new("401-unanswered", wire).calls([json!({ "state": "failed", "messages": 3, "final_code": 401,
        "final_reason": "Unauthorized", "end_us": at_us(30), "answer_us": null, "duration_ms": null,
        "pdd_ms": null })])
}

/// A proxy forks to two telephones: 180 of either, 200 of the second. One call; the first 18x is the first
/// telephone's.
pub(super) fn forked() -> Story {
    let mut wire = Wire::new();
    let dialog = Dialog::new("forked@example.com");
    let invite = dialog.open("INVITE", 1).sdp(&offer());
    wire.send(ms(0), &invite);
    wire.send(ms(10), &invite.answer(100, "Trying", ""));
    wire.send(ms(200), &invite.answer(180, "Ringing", "desk"));
    wire.send(ms(300), &invite.answer(180, "Ringing", "callee"));
    wire.send(ms(1000), &invite.answer(200, "OK", "callee").sdp(&answer()));
    wire.send(ms(1020), &dialog.by_caller("ACK", 1));
    dialog.hang_up(&mut wire, ms(3000));
    Story::new("forked-18x", wire).calls([json!({ "state": "completed", "messages": 8, "retransmissions": 0,
        "ringing_us": at_us(200), "answer_us": at_us(1000), "pdd_ms": 200.0, "duration_ms": 2000.0 })])
}

/// Behind a forking proxy: one branch is busy, the other answers. The busy branch ends nothing: completed
/// with 200.
pub(super) fn fork_one_branch_busy() -> Story {
    let mut wire = Wire::new();
    let dialog = Dialog::new("branches@example.com");
    let (proxy, desk, mobile) =
        (end("203.0.113.1:5060"), end("198.51.100.21:5060"), end("198.51.100.22:5060"));
    let invite = dialog.open("INVITE", 1).sdp(&offer());
    let (at_desk, at_mobile) = (invite.clone().on(proxy, desk), invite.on(proxy, mobile));
    wire.send(ms(0), &at_desk);
    wire.send(ms(1), &at_mobile);
    wire.send(ms(300), &at_desk.answer(486, "Busy Here", "desk"));
    wire.send(ms(310), &dialog.open("ACK", 1).on(proxy, desk));
    wire.send(ms(400), &at_mobile.answer(180, "Ringing", "callee"));
    wire.send(ms(1000), &at_mobile.answer(200, "OK", "callee").sdp(&answer()));
    wire.send(ms(1020), &dialog.by_caller("ACK", 1).on(proxy, mobile));
    let bye = dialog.by_caller("BYE", 2).on(proxy, mobile);
    wire.send(ms(3000), &bye);
    wire.send(ms(3020), &bye.answer(200, "OK", ""));
    Story::new("fork-one-branch-busy", wire).calls([json!({ "state": "completed", "messages": 9,
        "retransmissions": 0, "final_code": 200, "final_reason": "OK", "src": "203.0.113.1:5060",
        "dst": "198.51.100.21:5060", "ringing_us": at_us(400), "answer_us": at_us(1000),
        "end_us": at_us(3000),
        "duration_ms": 2000.0 })])
}

/// Cancelled while it rings. The 200 answers CANCEL, not the call; the end is the CANCEL, not the 487 after
/// it.
pub(super) fn cancelled() -> Story {
    let mut wire = Wire::new();
    let dialog = Dialog::new("cancel@example.com");
    let invite = dialog.open("INVITE", 1).sdp(&offer());
    let cancel = dialog.open("CANCEL", 1);
    wire.send(ms(0), &invite);
    wire.send(ms(10), &invite.answer(100, "Trying", ""));
    wire.send(ms(250), &invite.answer(180, "Ringing", "callee"));
    wire.send(ms(4000), &cancel);
    wire.send(ms(4020), &cancel.answer(200, "OK", "callee"));
    wire.send(ms(4040), &invite.answer(487, "Request Terminated", "callee"));
    wire.send(ms(4060), &dialog.open("ACK", 1));
    Story::new("cancel-487", wire).calls([json!({ "state": "cancelled", "messages": 7, "retransmissions": 0,
        "final_code": 487, "final_reason": "Request Terminated", "released_by": "caller", "answer_us": null,
        "ringing_us": at_us(250), "end_us": at_us(4000), "pdd_ms": 250.0, "duration_ms": null })])
}

/// Three ways of being routed on. 302: redirected, to the Contact. Diversion and History-Info: the numbers in
/// them, each once. REFER within a call: to whom it refers.
pub(super) fn diverted() -> Story {
    let mut wire = Wire::new();
    let redirected = Dialog::new("302@example.com");
    let invite = redirected.open("INVITE", 1).sdp(&offer());
    wire.send(ms(0), &invite);
    let moved = invite.answer(302, "Moved Temporarily", "callee");
    wire.send(ms(50), &moved.header("Contact", "<sip:carol@203.0.113.9>"));
    wire.send(ms(60), &redirected.open("ACK", 1));

    let diverted = Dialog::new("diverted@example.com");
    let history = "<sip:bob@example.com>;index=1, <sip:dave@example.com;cause=302>;index=1.1";
    let invite = diverted
        .open("INVITE", 1)
        .header("Diversion", "<sip:bob@example.com>;reason=unconditional")
        .header("History-Info", history);
    wire.send(secs(10), &invite);
    wire.send(secs(10) + ms(100), &invite.answer(404, "Not Found", "callee"));
    wire.send(secs(10) + ms(110), &diverted.open("ACK", 1));

    let transferred = Dialog::new("refer@example.com");
    transferred.set_up(&mut wire, secs(20), &offer(), &answer());
    let refer = transferred.by_callee("REFER", 1).header("Refer-To", "<sip:erin@example.com>");
    let notify = transferred.by_caller("NOTIFY", 2).header("Event", "refer");
    wire.send(secs(22), &refer);
    wire.send(secs(22) + ms(20), &refer.answer(202, "Accepted", ""));
    wire.send(secs(23), &notify);
    wire.send(secs(23) + ms(20), &notify.answer(200, "OK", ""));
    let bye = transferred.by_callee("BYE", 2);
    wire.send(secs(24), &bye);
    wire.send(secs(24) + ms(20), &bye.answer(200, "OK", ""));
    Story::new("redirect-302-diverted-to", wire).calls([
        json!({ "state": "redirected", "final_code": 302, "final_reason": "Moved Temporarily", "messages": 3,
            "diverted_to": ["carol"], "end_us": at_us(50) }),
        json!({ "state": "failed", "final_code": 404, "messages": 3, "diverted_to": ["bob", "dave"] }),
        json!({ "state": "completed", "messages": 11, "diverted_to": ["erin"], "released_by": "callee",
            "end_us": at_us(24_000), "duration_ms": 3000.0 }),
    ])
}

/// The called side hangs up, with the cause that its switch gave (Q.850 16, normal clearing).
pub(super) fn bye_by_callee() -> Story {
    let mut wire = Wire::new();
    let dialog = Dialog::new("callee-hangs-up@example.com");
    dialog.set_up(&mut wire, ms(0), &offer(), &answer());
    let bye = dialog.by_callee("BYE", 1).header("Reason", "Q.850;cause=16;text=\"Terminated\"");
    wire.send(ms(3500), &bye);
    wire.send(ms(3520), &bye.answer(200, "OK", ""));
    Story::new("bye-by-callee", wire)
        .calls([json!({ "state": "completed", "released_by": "callee", "cause": 16,
        "messages": 7, "end_us": at_us(3500), "duration_ms": 2500.0, "pdd_ms": 200.0, "final_code": 200 })])
}

/// Final answers of each class that is a failure; Q.850 cause where a Reason says it; the phrase as sent,
/// null when empty.
pub(super) fn failed() -> Story {
    let answers: [(u16, &str, &str); 4] = [
        (486, "Busy Here", "Q.850;cause=17"),
        (503, "Service Unavailable", "SIP;cause=503"),
        (603, "Decline", ""),
        (404, "", ""),
    ];
    let mut wire = Wire::new();
    for (index, (code, phrase, reason)) in answers.into_iter().enumerate() {
        let at = secs(index as u64);
        let dialog = Dialog::new(&format!("failed-{code}@example.com"));
        let invite = dialog.open("INVITE", 1).sdp(&offer());
        wire.send(at, &invite);
        wire.send(at + ms(10), &invite.answer(100, "Trying", ""));
        let refusal = invite.answer(code, phrase, "callee");
        wire.send(at + ms(200), &if reason.is_empty() { refusal } else { refusal.header("Reason", reason) });
        wire.send(at + ms(220), &dialog.open("ACK", 1));
    }
    let call = |index: u64, code: u16, phrase: Option<&str>, cause: Option<u16>| {
        json!({ "state": "failed", "final_code": code, "final_reason": phrase, "cause": cause, "messages": 4,
            "trying_us": at_us(1000 * index + 10), "ringing_us": null, "pdd_ms": null, "duration_ms": null,
            "end_us": at_us(1000 * index + 200) })
    };
    Story::new("failed-4xx-5xx-6xx", wire).calls([
        call(0, 486, Some("Busy Here"), Some(17)),
        call(1, 503, Some("Service Unavailable"), None),
        call(2, 603, Some("Decline"), None),
        call(3, 404, None, None),
    ])
}

/// Four calls without a final answer. Of the first nothing but its INVITE is seen, sent seven times on timer
/// A (RFC 3261 section 17.1.1.2); the second rings: both are past the limit of 200 s when the capture ends,
/// and timed out. The third is rung, the fourth tried, a second before the end.
pub(super) fn never_answered() -> Story {
    let mut wire = Wire::new();
    let lost = Dialog::new("lost@example.com").open("INVITE", 1).sdp(&offer());
    for at in [0, 500, 1500, 3500, 7500, 15_500, 31_500] {
        wire.send(ms(at), &lost);
    }
    for (name, at, ringing) in [("rings", 1000, true), ("ringing", 260_000, true), ("trying", 260_500, false)]
    {
        let invite = Dialog::new(&format!("{name}@example.com")).open("INVITE", 1).sdp(&offer());
        wire.send(ms(at), &invite);
        wire.send(ms(at + 10), &invite.answer(100, "Trying", ""));
        if ringing {
            wire.send(ms(at + 300), &invite.answer(180, "Ringing", "callee"));
        }
    }
    let call = |name: &str, state: &str, messages: u32, retransmissions: u32| {
        json!({ "call_id": format!("{name}@example.com"), "state": state, "messages": messages,
            "retransmissions": retransmissions, "final_code": 0, "final_reason": null, "answer_us": null,
            "end_us": null, "duration_ms": null })
    };
    Story::new("never-answered", wire).calls([
        call("lost", "timeout", 7, 6),
        call("rings", "timeout", 3, 0),
        call("ringing", "ringing", 3, 0),
        call("trying", "trying", 2, 0),
    ])
}

/// Answered calls without BYE, idle limit one minute: one is silent past it and timed out; one is kept by its
/// media, a packet each 30 s; one was answered just before the end. The last two are active, and have no
/// duration.
pub(super) fn answered_and_input_ends() -> Story {
    let mut wire = Wire::new();
    let silent = Dialog::new("silent@example.com");
    silent.set_up(&mut wire, ms(0), &offer(), &answer());
    let (here, there) = (end("192.0.2.11:40000"), end("198.51.100.21:50000"));
    let talking = Dialog::between(
        "talking@example.com",
        Peer { end: end("192.0.2.11:5060"), ..alice() },
        Peer { end: end("198.51.100.21:5060"), ..bob() },
    );
    talking.set_up(&mut wire, ms(500), &sdp(here, "0", &[]), &sdp(there, "0", &[]));
    let mut voice = Rtp::new(here, there, 0x7a1c);
    for at in (2..=122).step_by(30) {
        voice.send(&mut wire, secs(at));
        voice.hush(1499);
    }
    Dialog::new("late@example.com").set_up(&mut wire, secs(121), &offer(), &answer());
    let call = |name: &str, state: &str, answered: u64| {
        json!({ "call_id": format!("{name}@example.com"), "state": state, "messages": 5,
            "answer_us": at_us(answered), "end_us": null, "duration_ms": null, "final_code": 200 })
    };
    Story::new("answered-and-input-ends", wire)
        .config("invite_limit_s = 40\nidle_limit_s = 60\n")
        .calls([
            call("silent", "timeout", 1000),
            call("talking", "active", 1500),
            call("late", "active", 122_000),
        ])
        .streams([json!({ "call_id": "talking@example.com", "packets": 5, "lost": 0 })])
}

/// The mirror port shows every message twice: those copies count nowhere. What the telephones send again
/// does: INVITE after 500 ms, 200 and ACK after another 500 ms. Ten messages, three of them sent again, and
/// no time moves.
pub(super) fn retransmissions_and_mirrored_copies() -> Story {
    let mut wire = Wire::new();
    let dialog = Dialog::new("again@example.com");
    let invite = dialog.open("INVITE", 1).sdp(&offer());
    let ok = invite.answer(200, "OK", "callee").sdp(&answer());
    let (ack, bye) = (dialog.by_caller("ACK", 1), dialog.by_caller("BYE", 2));
    let messages = [
        (0, &invite),
        (500, &invite),
        (510, &invite.answer(100, "Trying", "")),
        (700, &invite.answer(180, "Ringing", "callee")),
        (1000, &ok),
        (1020, &ack),
        (1500, &ok),
        (1520, &ack),
        (3000, &bye),
        (3020, &bye.answer(200, "OK", "")),
    ];
    for (index, (at, message)) in messages.into_iter().enumerate() {
        wire.send(ms(at), message);
        // Copies come within 10 ms, the slowest after nine.
        wire.send(ms(at + index as u64 % 10), message);
    }
    Story::new("retransmissions-and-mirrored-copies", wire)
        .calls([json!({ "state": "completed", "messages": 10, "retransmissions": 3, "invite_us": at_us(0),
            "trying_us": at_us(510), "ringing_us": at_us(700), "answer_us": at_us(1000),
            "end_us": at_us(3000),
            "pdd_ms": 700.0, "duration_ms": 2000.0 })])
        .counter("sip", 20)
}

/// The callee sends 180 and 200 twice, 4 ms apart: two IP packets have two identifications. The mirror port
/// shows each of the four twice, with the same identification, within GTP-U too, and BYE and ACK, which have
/// none. Eight messages, two of them sent again.
pub(super) fn sent_twice_at_once() -> Story {
    let mut wire = Wire::new();
    let dialog = Dialog::new("twice@example.com");
    let invite = dialog.open("INVITE", 1).sdp(&offer());
    let (ack, bye) = (dialog.by_caller("ACK", 1), dialog.by_caller("BYE", 2));
    let ringing = invite.answer(180, "Ringing", "callee");
    let ok = invite.answer(200, "OK", "callee").sdp(&answer());
    let packet = |message: &Msg| udp(message.src, message.dst, &message.bytes());
    let [one, other] = [1, 2].map(|last| [10, 0, 0, last].into());
    wire.send(ms(0), &invite);
    for (at, message) in [(300, &ringing), (1000, &ok)] {
        for (after, id) in [(0, 0x1111), (4, 0x2222)] {
            let packet = with_id(packet(message), id);
            wire.packet(ms(at + after), &packet);
            wire.packet(ms(at + after + 1), &packet);
            wire.packet(ms(at + after + 2), &gtp_u(one, other, 7, &packet));
        }
    }
    for (at, message) in [(1020, &ack), (3000, &bye), (3020, &bye.answer(200, "OK", ""))] {
        wire.send(ms(at), message);
        wire.send(ms(at + 1), message);
    }
    Story::new("sent-twice-at-once", wire).calls([json!({ "state": "completed", "messages": 8,
        "retransmissions": 2, "ringing_us": at_us(300), "answer_us": at_us(1000), "end_us": at_us(3000) })])
}

/// A Call-ID is compared byte by byte (RFC 3261 section 8.1.1.4): four that differ in case, in length or
/// behind the @ are four calls, however they overlap in time.
pub(super) fn call_ids_nearly_equal() -> Story {
    let ids = ["abc@example.com", "ABC@example.com", "abc@example.comm", "abc"];
    let mut wire = Wire::new();
    for (index, id) in ids.into_iter().enumerate() {
        let dialog = Dialog::new(id);
        let at = ms(10 * index as u64);
        dialog.set_up(&mut wire, at, &offer(), &answer());
        dialog.hang_up(&mut wire, at + secs(2) + ms(100 * index as u64));
    }
    let call = |index: usize| {
        json!({ "call_id": ids[index], "state": "completed", "messages": 7, "retransmissions": 0,
            "invite_us": at_us(10 * index as u64), "duration_ms": 1000.0 + 100.0 * index as f64 })
    };
    Story::new("call-ids-nearly-equal", wire).calls([0, 1, 2, 3].map(call))
}

/// The CANCEL is sent twice and answered by nobody: cancelled all the same, at the first, without a final
/// answer.
pub(super) fn cancel_without_487() -> Story {
    let mut wire = Wire::new();
    let dialog = Dialog::new("no-487@example.com");
    let invite = dialog.open("INVITE", 1).sdp(&offer());
    let cancel = dialog.open("CANCEL", 1);
    wire.send(ms(0), &invite);
    wire.send(ms(10), &invite.answer(100, "Trying", ""));
    wire.send(ms(3000), &cancel);
    wire.send(ms(3500), &cancel);
    Story::new("cancel-without-487", wire)
        .calls([json!({ "state": "cancelled", "messages": 4, "retransmissions": 1,
        "final_code": 0, "final_reason": null, "end_us": at_us(3000), "released_by": "caller" })])
}

/// A failure that is sent until its ACK comes (RFC 3261 section 17.2.1): the first of them was the end.
pub(super) fn failure_again() -> Story {
    let mut wire = Wire::new();
    let dialog = Dialog::new("failure-again@example.com");
    let invite = dialog.open("INVITE", 1).sdp(&offer());
    let busy = invite.answer(486, "Busy Here", "callee");
    wire.send(ms(0), &invite);
    for at in [100, 600, 1600, 3600] {
        wire.send(ms(at), &busy);
    }
    wire.send(ms(3650), &dialog.open("ACK", 1));
    Story::new("failure-again", wire).calls([json!({ "state": "failed", "messages": 6, "retransmissions": 3,
        "end_us": at_us(100) })])
}
