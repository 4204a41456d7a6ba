//! A call in progress is listened to through the console, while its packets still arrive: what was said is
//! heard before the call has ended, what is paused is not, and nobody hears what is not his.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on ends")]

use std::fs;
use std::io::{BufReader, Lines};
use std::net::TcpStream;
use std::path::Path;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use ringtap_access::{AuditLog, AuditQuery};
use ringtap_audio::{AudioPacket, BuiltIn, Codec, MixSettings, Track, mix};
use ringtap_model::{Hz, Nanos};
use serde_json::Value;

use crate::console::{Console, PATIENCE};
use crate::daemon::{Daemon, Place};
use crate::rules::ringtap;
use crate::talk::{Side, Talk, write};

#[test]
fn a_call_in_progress_is_heard_and_what_is_paused_is_not() {
    let dir = tempfile::tempdir().unwrap();
    let (mut daemon, control) = begin(dir.path());
    daemon.counts("ringtap_calls", |calls| calls == 2);
    let console = Console::start(dir.path(), &control);
    let ana = console.login("ana");
    let id = console.id_of(&ana, "live-1");
    let mut ear = Ear { lines: console.events(&ana, &format!("/api/v1/calls/{id}/sound.live")) };

    // Both sides, each on its own, although the call goes on.
    let talk = Talk::new(1, "live", "+4930221");
    ear.until("the caller", |event| has(&event.left, &said(&talk, "question")));
    ear.until("the callee", |event| has(&event.right, &said(&talk, "answer")));
    assert_eq!(daemon.metric("ringtap_calls"), 2, "it has not ended");
    daemon.counts("ringtap_calls_listened", |calls| calls == 1);

    // What is paused is silence, once what was said before has been heard.
    assert_eq!(ringtap(&["pause", "live-1…", "--control", &control]).0, Some(0));
    ear.until("silence", |event| event.state == "paused" && event.is_silent());
    for _ in 0..10 {
        let event = ear.next();
        assert!(event.state == "paused" && event.is_silent(), "it is paused");
    }
    assert_eq!(ringtap(&["resume", "live-1…", "--control", &control]).0, Some(0));
    ear.until("the caller again", |event| has(&event.left, &said(&talk, "question")));

    // A session that ends stops it.
    console.logout(&ana);
    let end = ear.end();
    assert_eq!(end["reason"], "logged_out", "{end}");
    let log = AuditLog::open(&dir.path().join("people")).unwrap();
    let page = log.reader().read(&AuditQuery::default()).unwrap();
    let heard = page.entries.iter().filter(|entry| entry.action.name() == "listen");
    let heard: Vec<String> = heard.map(|entry| format!("{:?}", entry.what)).collect();
    assert!(heard.len() == 2 && heard.iter().all(|what| what.contains(&id)), "{heard:?}");
    assert!(heard.iter().any(|what| what.contains("in progress, for ")), "{heard:?}");
    drop(console);
    daemon.signal("TERM");
    let (status, log) = daemon.end();
    assert_eq!(status, Some(0), "{log}");
}

#[test]
fn nobody_hears_what_is_not_his_or_what_no_rule_keeps() {
    let dir = tempfile::tempdir().unwrap();
    let (mut daemon, control) = begin(dir.path());
    daemon.counts("ringtap_calls", |calls| calls == 2);
    let console = Console::start(dir.path(), &control);
    let ana = console.login("ana");
    let (live, mute) = (console.id_of(&ana, "live-1"), console.id_of(&ana, "mute-2"));
    let asked = |name: &str, id: &str| {
        let cookie = console.login(name);
        console.ask("GET", &format!("/api/v1/calls/{id}/sound.live"), &cookie, "")
    };
    for (name, id, status, said) in [
        ("vic", &live, 403, "\"listen\""),
        ("ten", &live, 404, "no call has the id"),
        ("ana", &mute, 409, "only its signalling"),
        ("ana", &"ab".repeat(16), 404, "no call has the id"),
    ] {
        let (found, body) = asked(name, id);
        assert!(found == status && body.contains(said), "{name}: {found} {body}");
    }
    assert_eq!(daemon.metric("ringtap_calls_listened"), 0);
    drop(console);
    daemon.signal("TERM");
    daemon.end();
}

/// A daemon in whose time a call of ten minutes goes on, and another of which no sound is recorded.
fn begin(dir: &Path) -> (Daemon, String) {
    let talks = [("live", 1, "+442079460138"), ("mute", 2, "+442079460139")].map(|(name, number, to)| {
        let mut talk = Talk::new(number, name, "+4930221").to(to);
        talk.begins(0);
        talk.says(Side::Caller, 200, 600_000, "question");
        talk.says(Side::Callee, 200, 600_000, "answer");
        talk.ends_at(600_000);
        talk
    });
    write(talks.into(), &dir.join("calls.pcap"));
    let (mut place, shown) = (Place::new(dir), dir.display());
    let path = place.configure(&format!("files = [\"{shown}/calls.pcap\"]\nspeed = 1"), "");
    let text = fs::read_to_string(&path).unwrap();
    let control = format!("{shown}/control");
    let more = format!(
        "[process]\ncontrol = \"{control}\"\n[spool]\ndirectory = \"{shown}/spool\"\n\
         [[keep]]\nnumber = [\"+442079460139\"]\nkeep = \"signalling\"\n[[keep]]\nkeep = \"full\"\n"
    );
    fs::write(&path, format!("{text}{more}")).unwrap();
    (place.start(), control)
}

/// What a packet of this word sounds like.
fn said(talk: &Talk, word: &str) -> Vec<i16> {
    let payload: Vec<u8> = talk.word(word).bytes().cycle().take(160).collect();
    let mut track = Track::new(Codec::Pcmu, Hz(8_000));
    let arrival = Nanos::from_secs(1);
    track.push(AudioPacket { arrival, sequence: 1, timestamp: 0, payload_type: 0, payload: &payload });
    let left = [track];
    let (mut samples, mut other) = ([0; 160], [0; 160]);
    let mut recording = mix(&left, &[], MixSettings::default(), &BuiltIn).unwrap();
    recording.read([&mut samples, &mut other]).unwrap();
    samples.to_vec()
}

/// Whether the samples have a whole packet of it.
fn has(samples: &[i16], packet: &[i16]) -> bool {
    samples.windows(packet.len()).any(|window| window == packet)
}

/// Events as they come.
struct Ear {
    lines: Lines<BufReader<TcpStream>>,
}

struct Piece {
    state: String,
    left: Vec<i16>,
    right: Vec<i16>,
}

impl Piece {
    fn is_silent(&self) -> bool {
        !self.left.is_empty() && self.left.iter().chain(&self.right).all(|sample| *sample == 0)
    }
}

impl Ear {
    fn event(&mut self) -> Value {
        loop {
            let line = self.lines.next().expect("it goes on").expect("it is in time");
            if let Some(data) = line.strip_prefix("data: ") {
                return serde_json::from_str(data).unwrap();
            }
        }
    }

    fn next(&mut self) -> Piece {
        let event = self.event();
        assert_eq!(event["end"], Value::Null, "{event}");
        let bytes = BASE64_STANDARD.decode(event["samples"].as_str().unwrap()).unwrap();
        let side = |offset: usize| {
            let samples = bytes.chunks_exact(4).map(|both| [both[offset], both[offset + 1]]);
            samples.map(i16::from_le_bytes).collect()
        };
        let state = event["state"].as_str().unwrap().to_owned();
        Piece { state, left: side(0), right: side(2) }
    }

    fn until(&mut self, what: &str, mut is_it: impl FnMut(&Piece) -> bool) {
        // Some 5 events a second.
        for _ in 0..PATIENCE.as_secs() * 5 {
            if is_it(&self.next()) {
                return;
            }
        }
        panic!("{what} was not heard");
    }

    fn end(&mut self) -> Value {
        loop {
            let event = self.event();
            if !event["end"].is_null() {
                return event["end"].clone();
            }
        }
    }
}
