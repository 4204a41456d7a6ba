//! Requests that are not calls: REGISTER, MESSAGE, and those without a record.

use serde_json::json;

use crate::story::sip::{Dialog, Msg, Peer, alice, bob, end};
use crate::story::wire::Wire;
use crate::story::{Story, at_us, ms, secs};

/// The cases of this file.
pub(super) fn all() -> Vec<Story> {
    vec![register_states(), register_unanswered(), message_records(), transactions()]
}

/// A REGISTER of a user at the registrar.
fn register(user: &'static str, cseq: u32) -> Msg {
    let telephone = Peer { user, ..alice() };
    let registrar = Peer { user, end: end("203.0.113.1:5060") };
    let dialog = Dialog::between(&format!("{user}-registers@192.0.2.10"), telephone, registrar);
    dialog.open("REGISTER", cseq).uri("sip:example.com").header("User-Agent", "Telephone/1.0")
}

/// Five users in 200 s of capture. Anna answers a challenge and is granted less than she asked for: active.
/// Ben's minute runs out: expired. Cora registers and removes every contact: removed. Dan is refused. Eva
/// refreshes her two minutes after 100 s, challenged once more: active, until 120 s after the last 200.
pub(super) fn register_states() -> Story {
    let mut wire = Wire::new();
    let mut say = |at: u64, request: &Msg, code: u16, phrase: &str, headers: &[(&str, &str)]| {
        wire.send(ms(at), request);
        let answer = request.answer(code, phrase, "registrar");
        let answer = headers.iter().fold(answer, |answer, (name, value)| answer.header(name, value));
        wire.send(ms(at + 20), &answer);
    };
    let credentials = ("Authorization", "Digest username=\"x\", realm=\"example.com\", nonce=\"1\"");
    let hour = ("Expires", "3600");
    let anna = |cseq| register("anna", cseq).header(hour.0, hour.1);
    say(0, &anna(1), 401, "Unauthorized", &[]);
    let granted = ("Contact", "<sip:anna@192.0.2.10:5060>;expires=1800");
    say(100, &anna(2).header(credentials.0, credentials.1), 200, "OK", &[granted, hour]);
    say(1000, &register("ben", 1).header("Expires", "60"), 200, "OK", &[("Expires", "60")]);
    say(2000, &register("cora", 1).header(hour.0, hour.1), 200, "OK", &[hour]);
    say(3000, &register("dan", 1).header(hour.0, hour.1), 403, "Forbidden", &[]);
    let eva = |cseq| register("eva", cseq).header("Expires", "120");
    say(4000, &eva(1), 200, "OK", &[("Expires", "120")]);
    let gone = register("cora", 2).replace("Contact", "*").header("Expires", "0");
    say(50_000, &gone, 200, "OK", &[]);
    say(100_000, &eva(2), 401, "Unauthorized", &[]);
    say(100_100, &eva(3).header(credentials.0, credentials.1), 200, "OK", &[("Expires", "120")]);
    wire.udp(secs(200), alice().end, bob().end, b"\r\n\r\n");
    let record =
        |user: &str, state: &str, code: u16, requests: u32, first: u64, last: u64, expires: Option<u64>| {
            let contact = if user == "cora" { "*".to_owned() } else { format!("sip:{user}@192.0.2.10:5060") };
            json!({ "aor": format!("{user}@example.com"), "contact": contact, "src": "192.0.2.10:5060",
            "dst": "203.0.113.1:5060", "user_agent": "Telephone/1.0", "state": state, "code": code,
            "requests": requests, "first_us": at_us(first), "last_us": at_us(last),
            "expires_us": expires.map(at_us) })
        };
    Story::new("register-states", wire).registrations([
        record("anna", "active", 200, 2, 0, 120, Some(1_800_120)),
        record("ben", "expired", 200, 1, 1000, 1020, Some(61_020)),
        record("cora", "removed", 200, 2, 2000, 50_020, None),
        record("dan", "refused", 403, 1, 3000, 3020, None),
        record("eva", "active", 200, 3, 4000, 100_120, Some(220_120)),
    ])
}

/// One REGISTER, sent 22 times, never answered: one record, never active, without a code.
pub(super) fn register_unanswered() -> Story {
    let mut wire = Wire::new();
    let request = register("anna", 1).header("Expires", "3600");
    for time in 0..22 {
        wire.send(secs(4 * time), &request);
    }
    Story::new("register-unanswered-22-times", wire)
        .registrations([json!({ "aor": "anna@example.com", "state": "expired", "code": 0, "requests": 22,
            "first_us": at_us(0), "last_us": at_us(84_000), "expires_us": null })])
        .counter("sip", 22)
}

/// Three MESSAGEs (RFC 3428): sent twice and accepted; the next in the same Call-ID, refused; one never
/// answered. Three records with sizes and parties, no text, and no call.
pub(super) fn message_records() -> Story {
    let mut wire = Wire::new();
    let dialog = Dialog::new("texts@example.com");
    let first = dialog.open("MESSAGE", 1).body("text/plain", "Good morning");
    wire.send(ms(0), &first);
    wire.send(ms(500), &first);
    wire.send(ms(520), &first.answer(202, "Accepted", "callee"));
    let second = dialog.open("MESSAGE", 2).body("text/html; charset=utf-8", "<p>Good evening</p>");
    wire.send(ms(1000), &second);
    wire.send(ms(1020), &second.answer(486, "Busy Here", "callee"));
    wire.send(ms(2000), &Dialog::new("unheard@example.com").open("MESSAGE", 1).body("text/plain", ""));
    let record = |call_id: &str, code: u16, at: u64, kind: &str, size: usize| {
        json!({ "call_id": call_id, "code": code, "time_us": at_us(at), "content_type": kind, "size": size,
            "src": "192.0.2.10:5060", "dst": "198.51.100.20:5060", "from": "alice@example.com",
            "to": "bob@example.com" })
    };
    Story::new("message-records", wire).messages([
        record("texts@example.com", 202, 0, "text/plain", 12),
        record("texts@example.com", 486, 1000, "text/html; charset=utf-8", 19),
        record("unheard@example.com", 0, 2000, "text/plain", 0),
    ])
}

/// OPTIONS, SUBSCRIBE, NOTIFY and PUBLISH with their answers, one of which a proxy asked for credentials. Not
/// all are asked for.
fn transactions() -> Story {
    let mut wire = Wire::new();
    for (index, method) in ["OPTIONS", "SUBSCRIBE", "NOTIFY", "PUBLISH"].into_iter().enumerate() {
        let request = Dialog::new(&format!("{method}@example.com")).open(method, 1);
        wire.send(secs(index as u64), &request);
        wire.send(secs(index as u64) + ms(20), &request.answer(200, "OK", "callee"));
    }
    let dialog = Dialog::new("asked@example.com");
    let first = dialog.open("PUBLISH", 1);
    wire.send(secs(10), &first);
    wire.send(secs(10) + ms(5), &first.answer(407, "Proxy Authentication Required", "callee"));
    let again = dialog.open("PUBLISH", 2).header("Proxy-Authorization", "Digest username=\"alice\"");
    wire.send(secs(10) + ms(10), &again);
    wire.send(secs(10) + ms(35), &again.answer(412, "Conditional Request Failed", "callee"));
    let record = |method: &str, call_id: &str, code: u16, at: u64, delay_ms: f64| {
        json!({ "method": method, "call_id": format!("{call_id}@example.com"), "code": code,
            "time_us": at_us(at), "delay_ms": delay_ms, "src": "192.0.2.10:5060", "dst": "198.51.100.20:5060",
            "from": "alice@example.com", "to": "bob@example.com" })
    };
    Story::new("options-subscribe-publish", wire)
        .config("transactions = [\"OPTIONS\", \"SUBSCRIBE\", \"PUBLISH\"]\n")
        .transactions([
            record("OPTIONS", "OPTIONS", 200, 0, 20.0),
            record("SUBSCRIBE", "SUBSCRIBE", 200, 1000, 20.0),
            record("PUBLISH", "PUBLISH", 200, 3000, 20.0),
            record("PUBLISH", "asked", 412, 10_000, 35.0),
        ])
        .counter("sip", 12)
}
