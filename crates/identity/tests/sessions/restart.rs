//! Changes are noted, and a session goes on from its record as if nothing had happened.

use ringtap_identity::{Limits, REFRESH, Secrets, Sessions};
use ringtap_model::{Identity, Nanos, SessionEnd};
use ringtap_wire::radius::code;

use crate::packets::{INTERIM, START, STOP, Wire, a, id, int, prefix, user, v4, who};

const NAS: &str = "192.0.2.1";

/// What a store has after each packet: the last record of each session.
fn stored(wire: &mut Wire, records: &mut Vec<Identity>) -> usize {
    let mut changed = wire.sessions.take_changed(usize::MAX);
    changed.extend(wire.sessions.take());
    let count = changed.len();
    for record in changed {
        records.retain(|old| old.id != record.id);
        records.push(record);
    }
    count
}

fn noting() -> Wire {
    let mut wire = Wire::new();
    wire.sessions = Sessions::new(Limits::default(), Secrets::default()).noting_changes();
    wire
}

fn resumed(records: &[Identity]) -> Wire {
    let mut wire = noting();
    records.iter().for_each(|record| wire.sessions.resume(record.clone()));
    wire
}

#[test]
fn each_change_is_noted_and_reports_without_one_are_not() {
    let (mut wire, mut records) = (noting(), Vec::new());
    let s1 = [id("S1"), user("alice")];
    wire.accounting(1_000, NAS, START, &[s1.concat(), v4("203.0.113.7")]);
    assert_eq!(stored(&mut wire, &mut records), 1);
    wire.accounting(1_060, NAS, INTERIM, &[s1.concat(), v4("203.0.113.7"), int(42, 5)]);
    assert_eq!(stored(&mut wire, &mut records), 0);
    wire.accounting(1_120, NAS, INTERIM, &[s1.concat(), v4("203.0.113.8")]);
    assert_eq!(stored(&mut wire, &mut records), 1, "another address");
    assert_eq!(records[0].ipv4, ["203.0.113.7", "203.0.113.8"]);
    let refreshed = 1_120 + REFRESH.micros() / 1_000_000;
    wire.accounting(refreshed, NAS, INTERIM, &[s1.concat(), v4("203.0.113.8"), int(42, 77)]);
    assert_eq!(stored(&mut wire, &mut records), 1, "it is ten minutes behind");
    assert_eq!(records[0].octets_in, Some(77));
    // Another session takes the address: both change, and the first ends.
    wire.accounting(3_000, NAS, START, &[id("S2"), user("bob"), v4("203.0.113.8")]);
    assert_eq!(stored(&mut wire, &mut records), 2);
    assert_eq!(records.iter().filter(|record| record.end_cause == Some(SessionEnd::Reassigned)).count(), 1);
    wire.accounting(3_030, NAS, STOP, &[id("S2"), user("bob")]);
    assert_eq!(stored(&mut wire, &mut records), 1, "the end is noted at once");
    assert!(records.iter().all(|record| record.end.is_some()), "{records:?}");
    wire.sessions.advance(Nanos::from_secs(9_000));
    stored(&mut wire, &mut records);
    assert_eq!((records.len(), wire.sessions.open()), (2, 0));
}

/// The id of a session that is let in before its Acct-Session-Id is known stays what it was.
#[test]
fn a_record_is_replaced_and_never_doubled() {
    let (mut wire, mut records) = (noting(), Vec::new());
    wire.access(10, NAS, &[user("alice"), a(31, b"02-00-5E-10-00-01")], &[v4("203.0.113.7"), a(25, b"c1")]);
    stored(&mut wire, &mut records);
    let before = records[0].id;
    wire.accounting(12, NAS, START, &[id("S1"), user("alice"), a(25, b"c1"), v4("203.0.113.7")]);
    stored(&mut wire, &mut records);
    assert_eq!((records.len(), records[0].id), (1, before));
    assert_eq!(records[0].session.as_deref(), Some("S1"));
}

/// Killed after any packet and resumed from what was stored, the sessions are the same in the end.
#[test]
fn sessions_that_go_on_after_a_restart_end_as_without_one() {
    let link = [prefix(97, "2001:db8:9::/64"), a(96, &[0, 0, 0, 0, 0, 0, 0, 1])].concat();
    let play = |wire: &mut Wire, step: usize| match step {
        0 => {
            let asked = [user("alice"), a(31, b"02-00-5E-10-00-01"), int(5, 7)];
            wire.access(10, NAS, &asked, &[v4("203.0.113.7"), a(25, b"c1"), int(85, 600)]);
        }
        1 => _ = wire.accounting(12, NAS, START, &[id("S1"), user("alice"), a(25, b"c1"), v4("203.0.113.7")]),
        2 => _ = wire.accounting(20, NAS, START, &[id("S2"), user("bob"), link.clone()]),
        3 => _ = wire.accounting(30, NAS, INTERIM, &[id("S2"), user("bob"), link.clone(), v4("203.0.113.9")]),
        4 => wire.told(40, NAS, (code::COA_REQUEST, code::COA_ACK), &[id("S2")]),
        5 => _ = wire.accounting(50, NAS, STOP, &[id("S1"), user("alice"), int(42, 99)]),
        _ => _ = wire.accounting(60, NAS, START, &[id("S3"), user("carol"), v4("203.0.113.9")]),
    };
    let (mut whole, mut expected) = (noting(), Vec::new());
    for step in 0..7 {
        play(&mut whole, step);
        stored(&mut whole, &mut expected);
    }
    expected.sort_by_key(|record| record.id);
    for killed in 0..7 {
        let (mut wire, mut records) = (noting(), Vec::new());
        for step in 0..7 {
            play(&mut wire, step);
            stored(&mut wire, &mut records);
            if step == killed {
                let open: Vec<Identity> =
                    records.iter().filter(|record| record.end.is_none()).cloned().collect();
                let frames = wire.frames();
                wire = resumed(&open);
                wire.go_on(frames);
                assert_eq!(wire.sessions.open(), open.len());
            }
        }
        records.sort_by_key(|record| record.id);
        // A report is counted when it changes nothing that has to be stored at once.
        let same = |records: &[Identity]| -> Vec<Identity> {
            let shown = |record: &Identity| Identity { packets: 0, last: Nanos::ZERO, ..record.clone() };
            records.iter().map(shown).collect()
        };
        assert_eq!(same(&records), same(&expected), "killed after step {killed}");
        assert_eq!(who(&records, "203.0.113.9", None, 55), ["bob"]);
        assert_eq!(who(&records, "203.0.113.9", None, 65), ["carol"]);
    }
}

/// The limit of silence goes on from when a session was last heard of.
#[test]
fn a_session_that_fell_silent_while_nobody_listened_expires() {
    let (mut wire, mut records) = (noting(), Vec::new());
    wire.access(10, NAS, &[user("alice"), int(5, 7)], &[v4("203.0.113.7"), int(85, 600)]);
    stored(&mut wire, &mut records);
    let mut wire = resumed(&records);
    wire.sessions.advance(Nanos::from_secs(10 + 3 * 600 + 299));
    assert_eq!(stored(&mut wire, &mut records), 0);
    wire.sessions.advance(Nanos::from_secs(20 + 3 * 600 + 300));
    assert_eq!(stored(&mut wire, &mut records), 1);
    assert_eq!(records[0].end_cause, Some(SessionEnd::Expired));
}
