//! Rules on a wire, by one worker and by two of a team. With two, one sees the signalling and what callers
//! say, the other what callees say: whoever has a call's signalling, media of it come to the other one.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on ends")]

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use ringtap_spool::rules::CallShare;
use ringtap_spool::{key, of_call};
use serde_json::Value;

use crate::daemon::{Daemon, Place};
use crate::rules::{holds, of, packets, ringtap, spooled};
use crate::talk::{Side, Talk, play, write};
use crate::wire::{assert_inside, inside};

/// One worker on one wire, and two on two.
pub(crate) const TEAMS: [(&str, &[&str]); 2] = [("\"va\"", &["vb"]), ("\"va\", \"vc\"", &["vb", "vd"])];

/// A live daemon's folder with these lines in `[spool]`, and these rules.
pub(crate) fn place(dir: &Path, interfaces: &str, spool: &str, rules: &str) -> Place {
    let place = Place::new(dir);
    let path = place.configure(&format!("interfaces = [{interfaces}]\ndirection = \"incoming\""), "");
    let text = fs::read_to_string(&path).unwrap();
    let dir = dir.display();
    let text = format!(
        "{text}[process]\ncontrol = \"{dir}/control\"\n\
         [spool]\ndirectory = \"{dir}/spool\"\nmemory = \"32MiB\"\nage = \"1s\"\n{spool}\n{rules}"
    );
    fs::write(&path, text).unwrap();
    place
}

pub(crate) type Calls = BTreeMap<String, (Value, Vec<Value>)>;

/// Plays them before a daemon; at each of `stops`, when it has taken every frame of before, `act` has its
/// turn.
fn run(
    place: &mut Place,
    talks: Vec<Talk>,
    wires: &[&str],
    stops: &[u64],
    mut act: impl FnMut(&mut Daemon, u64),
) -> Calls {
    let mut daemon = place.start();
    daemon.says("/metrics and /health");
    let calls = talks.len() as u64;
    let sent = play(talks, wires, stops, |at, sent| {
        daemon.counts("ringtap_frames_total", |frames| frames >= sent);
        act(&mut daemon, at);
    });
    daemon.counts("ringtap_frames_total", |frames| frames >= sent);
    daemon.counts("ringtap_calls_begun_total", |begun| begun >= calls);
    daemon.counts("ringtap_calls", |under_way| under_way == 0);
    assert_eq!(daemon.metric("ringtap_drops_total"), 0);
    daemon.signal("TERM");
    let (status, log) = daemon.end();
    assert_eq!(status, Some(0), "{log}");
    assert!(!log.contains("ERROR"), "{log}");
    place.calls()
}

/// What is on the disk of a call, against what its record says of it.
fn is_whole(dir: &Path, call_id: &str, (call, streams): &(Value, Vec<Value>)) {
    let messages = of(dir, of_call(call_id.as_bytes())).len() as u64;
    let media: u64 = streams.iter().map(|stream| packets(dir, stream).len() as u64).sum();
    assert_eq!(call["recorded_packets"].as_u64(), Some(messages + media), "{call_id}: {call}");
    assert_eq!(call["recorded_missing"], 0, "{call_id}: {call}");
    assert_eq!(call["messages"].as_u64(), Some(messages), "{call_id}");
    let counted: u64 = streams.iter().map(|stream| stream["packets"].as_u64().unwrap()).sum();
    assert_eq!(counted, if call["recorded"] == "signalling" { 0 } else { media }, "{call_id}");
}

#[test]
fn rules_on_a_wire() {
    inside("kept::inside_rules");
}

const RULES: &str = r#"
[[keep]]
callee = ["+99*"]
keep = "nothing"
[[keep]]
caller = ["+491*"]
keep = "full"
[[keep]]
caller = ["+492*"]
keep = "headers"
[[keep]]
caller = ["+493*"]
mos_below = 1.7
keep = "full"
[[keep]]
caller = ["+494*"]
answered = true
keep = "full"
[[keep]]
caller = ["+495*"]
share = "50%"
keep = "full"
[[keep]]
caller = ["+496*"]
answered = true
keep = "nothing"
[[keep]]
caller = ["+496*"]
keep = "full"
"#;

/// A call of three seconds in which both sides speak.
fn ordinary(number: u8, name: &str, from: &str) -> Talk {
    speaking(Talk::new(number, name, from))
}

/// One that begins when no command is to come: how it sounds depends on when its packets come.
fn after_commands(number: u8, name: &str, from: &str) -> Talk {
    let mut talk = Talk::new(number, name, from);
    talk.begins(2_600);
    talk.both_say(2_800, 4_200, "talk");
    talk.ends_at(4_300);
    talk
}

fn speaking(mut talk: Talk) -> Talk {
    talk.begins(100);
    talk.both_say(300, 2_900, "talk");
    talk.ends_at(3_000);
    talk
}

/// A call that has early media, and then an answer or none.
fn early(number: u8, name: &str, from: &str, status: &str) -> Talk {
    let mut talk = Talk::new(number, name, from);
    talk.invites(100);
    talk.answers(150, "183 Session Progress");
    talk.says(Side::Callee, 200, 1_400, "early");
    talk.answers(1_500, status);
    talk
}

#[test]
#[ignore = "started in a network namespace by `rules_on_a_wire`"]
fn inside_rules() {
    assert_inside();
    TEAMS.into_iter().for_each(|(interfaces, wires)| rules(interfaces, wires));
}

/// One call for each rule.
fn talks() -> Vec<Talk> {
    let mut answered = early(6, "answered", "+4946", "200 OK");
    answered.acknowledges(1_550);
    answered.both_say(1_600, 2_900, "talk");
    answered.ends_at(3_000);
    let mut refused = early(7, "refused", "+4947", "486 Busy Here");
    refused.acknowledges(1_550);
    // Nobody sees its ACK: that it is over, and not answered, is known all the same.
    let unanswered = early(8, "unanswered", "+4968", "486 Busy Here");
    let mut one_way = Talk::new(9, "one-way", "+4919");
    one_way.begins(100);
    one_way.says(Side::Caller, 300, 2_900, "talk");
    one_way.ends_at(3_000);
    vec![
        ordinary(1, "caller", "+4911"),
        speaking(Talk::new(2, "never", "+4912").to("+9912")),
        ordinary(3, "headers", "+4923"),
        after_commands(4, "bad", "+4934").lossy(),
        after_commands(5, "good", "+4935"),
        answered,
        refused,
        unanswered,
        one_way,
        spoken(10, "demanded", "+4900"),
        spoken(11, "paused", "+4911"),
    ]
}

/// Two legs of each of six calls, and what joins them.
fn pairs_of_legs() -> Vec<(String, [Talk; 2])> {
    let sessions = (0..6).map(|call| format!("{call:032x}")).map(|id| id.replace('0', "a"));
    let pair = |(call, session): (u8, String)| {
        let header = format!("Session-ID: {session};remote={}", "0".repeat(32));
        let pair = [0, 1].map(|leg| {
            let mut talk = Talk::new(20 + 2 * call + leg, "leg", "+4955").header(&header);
            talk.begins(100);
            talk.both_say(300, 700, "talk");
            talk.ends_at(800);
            talk
        });
        (session, pair)
    };
    (0..).zip(sessions).map(pair).collect()
}

fn rules(interfaces: &str, wires: &[&str]) {
    let dir = tempfile::tempdir().unwrap();
    let mut place =
        place(dir.path(), interfaces, "legs = [\"Session-ID\"]\nshare_key = \"the secret\"", RULES);
    let mut whole = talks();
    let mut legs = Vec::new();
    for (session, pair) in pairs_of_legs() {
        legs.push((session, [pair[0].call_id.clone(), pair[1].call_id.clone()]));
        whole.extend(pair);
    }
    let ids: BTreeMap<String, String> =
        whole.iter().map(|talk| (talk.word("talk"), talk.call_id.clone())).collect();
    let id = |name: &str| ids[&format!("<talk:{name}>")].as_str();
    let control = dir.path().join("control").to_str().unwrap().to_owned();
    let command = |words: &[&str], told: &str| {
        let (status, _, said) = ringtap(&[words, &["--control", &control]].concat());
        assert_eq!((status, said.as_str()), (Some(0), format!("ringtap: {told}\n").as_str()));
    };
    let calls = run(&mut place, whole, wires, &[1_200, 2_500], |_, at| {
        if at == 2_500 {
            return command(&["resume", id("paused")], "resumed");
        }
        command(&["keep", id("demanded"), "--what", "full"], "full from now on (was nothing)");
        command(&["pause", id("paused")], "paused");
    });
    assert_eq!(calls.len(), 23);
    let dir = dir.path();
    let bytes = spooled(dir);
    let said = |name: &str, word: &str| holds(&bytes, &format!("<{word}:{name}>"));

    for (name, recorded) in [
        ("caller", "full"),
        ("never", "none"),
        ("headers", "headers"),
        ("bad", "full"),
        ("good", "none"),
        ("answered", "full"),
        ("refused", "none"),
        ("unanswered", "full"),
        ("one-way", "full"),
        ("paused", "full"),
    ] {
        let call = &calls[id(name)];
        assert_eq!(call.0["recorded"], recorded, "{name}, {interfaces}");
        assert_eq!(holds(&bytes, id(name)), recorded != "none", "{name}, {interfaces}");
        match recorded {
            "none" => assert_eq!(call.0["recorded_packets"], Value::Null, "{name}"),
            _ => is_whole(dir, id(name), call),
        }
    }
    for name in ["caller", "bad", "answered", "one-way"] {
        assert!(said(name, "talk"), "{name}, {interfaces}");
    }
    for name in ["never", "headers", "good"] {
        assert!(!said(name, "talk"), "{name}, {interfaces}");
    }
    assert!(
        said("answered", "early") && said("unanswered", "early") && !said("refused", "early"),
        "{interfaces}"
    );
    for (name, empty) in [("caller", 0), ("headers", 0), ("bad", 0), ("answered", 0), ("one-way", 1)] {
        assert_eq!(calls[id(name)].0["recorded_empty"], empty, "{name}, {interfaces}");
    }
    assert!(
        calls[id("bad")].0["mos"].as_f64().unwrap() < 3.0
            && calls[id("good")].0["mos"].as_f64().unwrap() > 3.0
    );

    commands_hold(dir, &calls[id("demanded")], &calls[id("paused")], &said, interfaces);

    // The legs that the secret chooses, and no other.
    let half: CallShare = "50%".parse().unwrap();
    for (session, legs) in &legs {
        let chosen = half.holds(key([&b"the secret"[..], session.as_bytes()]));
        for leg in legs {
            assert_eq!(holds(&bytes, leg), chosen, "{leg}, {interfaces}");
            assert_eq!(calls[leg].0["recorded"], if chosen { "full" } else { "none" }, "{leg}, {interfaces}");
        }
    }
}

/// What was demanded and what was paused by command.
fn commands_hold(
    dir: &Path,
    demanded: &(Value, Vec<Value>),
    paused: &(Value, Vec<Value>),
    said: &dyn Fn(&str, &str) -> bool,
    interfaces: &str,
) {
    // From the command on, on both sides, and not a word of before.
    let (call, streams) = demanded;
    assert_eq!((&call["recorded"], &call["recorded_missing"]), (&"full".into(), &0.into()), "{interfaces}");
    assert!(
        streams.iter().all(|stream| !packets(dir, stream).is_empty()) && streams.len() == 2,
        "{interfaces}"
    );
    assert_eq!(call["recorded_empty"], 0);
    assert!(said("demanded", "after") && !said("demanded", "before"), "{interfaces}");
    // Nothing of what was said in the pause, on either side, though each packet is counted.
    assert!(said("paused", "before") && said("paused", "after") && !said("paused", "within"), "{interfaces}");
    let (_, streams) = paused;
    for stream in streams {
        let cut =
            packets(dir, stream).iter().filter(|(captured, sent)| *captured == 54 && *sent == 214).count();
        assert!(cut >= 30, "{cut} packets are headers alone, {interfaces}");
    }
}

/// A call in parts, with room between them for what changes there to take effect: `before` until 1 s,
/// `within` from 1.7 to 2.3 s, `after` from 3 s on.
fn spoken(number: u8, name: &str, from: &str) -> Talk {
    let mut talk = Talk::new(number, name, from);
    talk.begins(100);
    talk.both_say(300, 1_000, "before");
    talk.both_say(1_000, 1_700, "talk");
    talk.both_say(1_700, 2_300, "within");
    talk.both_say(2_300, 3_000, "talk");
    talk.both_say(3_000, 3_600, "after");
    talk.ends_at(3_700);
    talk
}

#[test]
fn pauses_on_a_wire() {
    inside("kept::inside_pauses");
}

const PAUSES: &str = "pause_digits = \"*7\"\nresume_digits = \"*8\"\n\
    pause_header = \"X-Recording: off\"\nresume_header = \"X-Recording: on\"";

const MASKED: &str = r#"
[[keep]]
caller = ["+491*"]
keep = "full"
[[keep]]
caller = ["+492*"]
keep = "full"
mask_dtmf = true
[[keep]]
caller = ["+493*"]
keep = "full"
may_pause = false
"#;

#[test]
#[ignore = "started in a network namespace by `pauses_on_a_wire`"]
fn inside_pauses() {
    assert_inside();
    TEAMS.into_iter().for_each(|(interfaces, wires)| pauses(interfaces, wires));
}

fn pauses(interfaces: &str, wires: &[&str]) {
    let dir = tempfile::tempdir().unwrap();
    let mut place = place(dir.path(), interfaces, PAUSES, MASKED);
    let by_events = |number, name: &str, from: &str, side| {
        let mut talk = spoken(number, name, from);
        for (start, digits) in [(1_050, [10, 7]), (2_400, [10, 8])] {
            talk.presses(side, start, digits[0]);
            talk.presses(side, start + 120, digits[1]);
        }
        talk
    };
    let by_info = |number, name: &str, from: &str| {
        let mut talk = spoken(number, name, from);
        for (start, digits) in [(1_050, ['*', '7']), (2_400, ['*', '8'])] {
            talk.informs(start, digits[0]);
            talk.informs(start + 120, digits[1]);
        }
        talk
    };
    let mut by_header = spoken(50, "header", "+4910");
    by_header.request(1_050, "INFO", "X-Recording: off\r\n", "");
    by_header.request(2_400, "INFO", "x-recording:  ON\r\n", "");
    let talks = vec![
        by_events(40, "caller-events", "+4910", Side::Caller),
        by_events(41, "callee-events", "+4910", Side::Callee),
        by_info(42, "info", "+4910"),
        by_events(43, "masked-caller-events", "+4920", Side::Caller),
        by_events(44, "masked-callee-events", "+4920", Side::Callee),
        by_info(45, "masked-info", "+4920"),
        by_events(46, "unpaused-events", "+4930", Side::Caller),
        by_info(47, "unpaused-info", "+4930"),
        by_header,
    ];
    let marks: Vec<(String, String, Vec<u8>)> = talks
        .iter()
        .map(|talk| (talk.name.clone(), talk.call_id.clone(), talk.event(0)[1..].to_vec()))
        .collect();
    let (path, mut journal) = (dir.path().to_owned(), String::new());
    let calls = run(&mut place, talks, wires, &[4_200], |daemon, _| {
        // Released: the journal has had them with what was pressed.
        daemon.until("both calls are in the journal", |_| {
            journal = String::from_utf8_lossy(&fs::read(path.join("journal")).unwrap()).into_owned();
            let pressed = |name| journaled(&journal, name).contains(r#""digit":""#);
            pressed("info-42") && pressed("masked-info-45")
        });
    });
    let is_readable = |name| journaled(&journal, name).contains(r#""digit":"7""#);
    assert!(is_readable("info-42") && !is_readable("masked-info-45"), "{journal}");
    let dir = dir.path();
    let bytes = spooled(dir);
    let everywhere = everything(dir);
    for (name, call_id, event) in &marks {
        let said = |word: &str| holds(&bytes, &format!("<{word}:{name}>"));
        assert!(said("before") && said("after"), "{name}, {interfaces}");
        assert_eq!(said("within"), name.starts_with("unpaused"), "{name}, {interfaces}");
        let (call, streams) = &calls[call_id];
        is_whole(dir, call_id, &calls[call_id]);
        assert_eq!(call["recorded_empty"], 0);
        assert_eq!(streams.len(), 2);
        if name == "header" {
            continue;
        }
        // What was pressed, as the record has it and as bytes are on the disk: anywhere, the log and the
        // database included.
        let masked = name.starts_with("masked");
        let pressed: String =
            call["dtmf"].as_array().unwrap().iter().map(|one| one["digit"].as_str().unwrap()).collect();
        assert_eq!(pressed, if masked { "xxxx" } else { "*7*8" }, "{name}, {interfaces}");
        let found = |bytes: &[u8]| everywhere.windows(bytes.len()).any(|part| part == bytes);
        let traces = match name.ends_with("info") {
            true => found(format!("Duration=47{}\r\n", event[0] & 0x3f).as_bytes()),
            false => [7, 8, 10].into_iter().any(|digit| found(&[&[digit], &event[..]].concat())),
        };
        assert_eq!(traces, !masked, "{name}, {interfaces}");
    }
}

/// The last entry of a call whose Call-ID begins so.
fn journaled<'a>(journal: &'a str, name: &str) -> &'a str {
    journal.split(r#""call_id":""#).filter(|entry| entry.starts_with(name)).last().unwrap_or_default()
}

#[test]
fn a_kill_on_a_wire() {
    inside("kept::inside_kill");
}

/// A bad call loses two packets of five: its MOS is 1.55. A good one has 4.4, and stays above the limit if a
/// busy machine sends some of its packets late.
const UNTIL_THE_END: &str = r#"
[[keep]]
caller = ["+491*"]
keep = "full"
[[keep]]
mos_below = 1.7
keep = "full"
[[keep]]
caller = ["+492*"]
keep = "signalling"
"#;

#[test]
#[ignore = "started in a network namespace by `a_kill_on_a_wire`"]
fn inside_kill() {
    assert_inside();
    TEAMS.into_iter().for_each(|(interfaces, wires)| kill(interfaces, wires));
}

/// What was on the disk until the end of calls should tell goes at the next start, when a kill came before
/// the end, or between the end and the erasing.
fn kill(interfaces: &str, wires: &[&str]) {
    let dir = tempfile::tempdir().unwrap();
    let mut place = place(dir.path(), interfaces, "", UNTIL_THE_END);
    let dir = dir.path();
    let talk = |number, name: &str, from: &str, until| {
        let mut talk = Talk::new(number, name, from);
        talk.begins(100);
        talk.both_say(300, until, "talk");
        talk
    };
    let ended = |mut talk: Talk| {
        talk.ends_at(1_600);
        talk
    };
    let talks = vec![
        talk(1, "wanted", "+4910", 5_200),
        talk(2, "doubtful", "+4930", 5_200),
        talk(3, "half", "+4920", 5_200),
        talk(6, "demanded", "+4930", 5_200),
        ended(talk(4, "good", "+4930", 1_500)),
        ended(talk(5, "bad", "+4930", 1_500).lossy()),
    ];
    let ids: BTreeMap<String, String> =
        talks.iter().map(|talk| (talk.name.clone(), talk.call_id.clone())).collect();
    let mut daemon = place.start();
    daemon.says("/metrics and /health");
    let control = dir.join("control").to_str().unwrap().to_owned();
    play(talks, wires, &[1_000, 5_000], |at, sent| {
        daemon.counts("ringtap_frames_total", |frames| frames >= sent);
        if at == 1_000 {
            let demand = ["keep", &ids["demanded"], "--what", "full", "--control", &control];
            let (status, _, said) = ringtap(&demand);
            return assert_eq!(status, Some(0), "{said}");
        }
        daemon.counts("ringtap_store_written_total", |written| written >= 6);
        daemon.signal("KILL");
    });
    assert_eq!(daemon.end().0, None);
    let said = |bytes: &[u8], name: &str| holds(bytes, &format!("<talk:{name}>"));
    let bytes = spooled(dir);
    for name in ids.keys() {
        assert!(said(&bytes, name) && holds(&bytes, &ids[name]), "{name} is on the disk, {interfaces}");
    }

    let mut daemon = place.start();
    daemon.says("the previous run ended before 3 calls could be decided: erased");
    daemon.counts("ringtap_calls_cleared_total", |cleared| cleared == 3);
    daemon.signal("TERM");
    assert_eq!(daemon.end().0, Some(0));
    let bytes = spooled(dir);
    for (name, call, media) in [
        ("wanted", true, true),
        ("doubtful", false, false),
        ("half", true, false),
        ("demanded", true, true),
        ("good", false, false),
        ("bad", true, true),
    ] {
        assert_eq!(holds(&bytes, &ids[name]), call, "{name}, {interfaces}");
        assert_eq!(said(&bytes, name), media, "{name}, {interfaces}");
    }
    let calls = place.calls();
    assert_eq!(calls.len(), 6);
    is_whole(dir, &ids["bad"], &calls[&ids["bad"]]);

    // And that was that.
    let mut daemon = place.start();
    daemon.says("/metrics and /health");
    daemon.signal("TERM");
    let (_, log) = daemon.end();
    assert!(!log.contains("the previous run ended before"), "{log}");
    assert_eq!(fs::metadata(dir.join("spool/provisional")).unwrap().len(), 8);
}

/// Digits that are pressed before anybody knows which payload type they have, or whose they are; and digits
/// in a part of a body.
#[test]
fn digits_that_no_description_has_told_of() {
    let dir = tempfile::tempdir().unwrap();
    let mut first = Talk::new(60, "first", "+4910");
    first.both_say(20, 200, "before");
    first.presses(Side::Callee, 100, 5);
    first.begins(300);
    first.both_say(500, 900, "after");
    first.presses(Side::Callee, 600, 6);
    let parts = "--b\r\nContent-Type: application/dtmf-relay\r\n\r\nSignal=9\r\nDuration=4760\r\n--b--\r\n";
    first.request(700, "INFO", "Content-Type: multipart/mixed;boundary=b\r\n", parts);
    first.ends_at(1_000);
    // Of these nothing but media is ever seen.
    let mut alone = Talk::new(61, "alone", "+4910");
    alone.both_say(0, 1_500, "alone");
    alone.presses(Side::Caller, 700, 7);
    let events = [first.event(5), first.event(6), alone.event(7)];
    write(vec![first, alone], &dir.path().join("calls.pcap"));
    for mask in [false, true] {
        let dir_of = dir.path().join(format!("masked-{mask}"));
        fs::create_dir(&dir_of).unwrap();
        let mut place = Place::new(&dir_of);
        let files = format!("files = [\"{}/calls.pcap\"]\nspeed = \"max\"", dir.path().display());
        let path = place.configure(&files, "");
        let text = fs::read_to_string(&path).unwrap();
        let spool = dir_of.join("spool");
        let rules = format!("[[keep]]\nkeep = \"full\"\nmask_dtmf = {mask}\n");
        fs::write(&path, format!("{text}[spool]\ndirectory = \"{}\"\n{rules}", spool.display())).unwrap();
        let (status, log) = place.start().end();
        assert_eq!(status, Some(0), "{log}");
        let bytes = everything(&dir_of);
        for word in ["<before:first>", "<after:first>", "<alone:alone>"] {
            assert!(holds(&bytes, word), "{word}");
        }
        for event in events {
            assert_eq!(bytes.windows(4).any(|part| part == event), !mask, "{event:?}");
        }
        assert_eq!(holds(&bytes, "Duration=4760"), !mask);
        assert_eq!(place.calls().values().next().unwrap().0["recorded_missing"], 0);
    }
}

/// Every byte that was written, the database, the journal and the log included.
fn everything(dir: &Path) -> Vec<u8> {
    fs::read_dir(dir)
        .unwrap()
        .flatten()
        .flat_map(|entry| match entry.file_type().unwrap() {
            kind if kind.is_dir() => everything(&entry.path()),
            kind if kind.is_file() => fs::read(entry.path()).unwrap(),
            _ => Vec::new(),
        })
        .collect()
}
