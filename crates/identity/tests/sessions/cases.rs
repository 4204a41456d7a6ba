//! Sessions in the order in which packets really come.

use ringtap_identity::{Limits, Secrets, Sessions};
use ringtap_model::{Nanos, SessionBegin, SessionEnd};
use ringtap_wire::radius::code;

use crate::packets::*;

const NAS: &str = "192.0.2.1";

fn secs(seconds: u64) -> Option<Nanos> {
    Some(Nanos::from_secs(seconds))
}

#[test]
fn from_login_to_stop_it_is_one_session() {
    let mut wire = Wire::new();
    wire.access(10, NAS, &[user("bob"), a(31, b"line 1"), int(5, 9)], &[v4("203.0.113.1"), int(85, 600)]);
    wire.accounting(12, NAS, START, &[user("bob"), a(31, b"line 1"), int(5, 9), id("S1"), v4("203.0.113.1")]);
    wire.accounting(600, NAS, INTERIM, &[user("bob"), id("S1"), int(42, 100), int(43, 1_000)]);
    let stop = [user("bob"), id("S1"), int(42, 200), int(43, 2_000), int(49, 1), int(46, 990)];
    let last = wire.accounting(1_000, NAS, STOP, &stop);
    let records = wire.close();
    assert_eq!(records.len(), 1, "{records:#?}");
    let record = &records[0];
    assert_eq!((Some(record.start), record.end), (secs(11), secs(1_000)));
    assert_eq!((record.begun_by, record.end_cause), (SessionBegin::Started, Some(SessionEnd::Stopped)));
    assert_eq!((record.octets_in, record.octets_out), (Some(200), Some(2_000)));
    assert_eq!((record.packets, record.retransmissions, record.terminate_cause), (5, 0, Some(1)));
    assert_eq!((record.addresses[0].from_frame, record.addresses[0].until_frame), (2, Some(last)));
    assert_eq!(record.addresses.len(), 1, "the report names the same address again");
}

#[test]
fn an_address_that_another_session_gets_ends_the_first() {
    let mut wire = Wire::new();
    wire.accounting(10, NAS, START, &[user("alice"), id("S1"), v4("203.0.113.1")]);
    wire.accounting(
        10,
        NAS,
        START,
        &[user("carol"), id("S2"), v4("203.0.113.2"), prefix(97, "2001:db8:2::/64")],
    );
    let to_bob = wire.accounting(50, "192.0.2.2", START, &[user("bob"), id("S1"), v4("203.0.113.1")]);
    wire.accounting(60, NAS, START, &[user("dave"), id("S3"), v4("203.0.113.2")]);
    assert_eq!(wire.sessions.counts().reassigned, 2);
    let records = wire.close();
    let of = |name: &str| records.iter().find(|record| record.user.as_deref() == Some(name)).unwrap();
    assert_eq!((of("alice").end, of("alice").end_cause), (secs(50), Some(SessionEnd::Reassigned)));
    assert_eq!(of("alice").addresses[0].until_frame, Some(to_bob));
    assert_eq!(of("carol").end, None, "it has its prefix still");
    assert_eq!(of("carol").addresses[0].end_cause, Some(SessionEnd::Reassigned));
    assert_eq!(who(&records, "203.0.113.1", None, 49), ["alice"]);
    assert_eq!(who(&records, "203.0.113.1", None, 50), ["bob"]);
    assert_eq!(who(&records, "203.0.113.2", None, 60), ["dave"]);
    assert_eq!(who(&records, "2001:db8:2::9", None, 60), ["carol"]);
}

/// RFC 3162 section 2.2: on a shared link users differ in their interface identifier.
#[test]
fn a_prefix_that_users_share_is_taken_from_nobody() {
    let mut wire = Wire::new();
    let on_link = |last: u8| [prefix(97, "2001:db8:9::/64"), a(96, &[0, 0, 0, 0, 0, 0, 0, last])];
    wire.accounting(10, NAS, START, &[&[user("alice"), id("S1")], &on_link(1)[..]].concat());
    wire.accounting(11, NAS, START, &[&[user("bob"), id("S2")], &on_link(2)[..]].concat());
    assert_eq!(wire.sessions.counts().reassigned, 0);
    assert_eq!(who(&wire.close(), "2001:db8:9::1", None, 12), ["bob", "alice"], "the latest first");
}

#[test]
fn a_repeat_changes_nothing_and_is_counted() {
    let mut wire = Wire::new();
    let client = wire.client(NAS);
    let start = bytes(code::ACCOUNTING_REQUEST, 9, 1, &[int(40, START), user("bob"), id("S1")].concat());
    let response = bytes(code::ACCOUNTING_RESPONSE, 9, 2, &[]);
    for second in [10, 13, 16] {
        wire.packet(second, client, server(1813), &start);
    }
    for second in [17, 18] {
        wire.packet(second, server(1813), client, &response);
    }
    let counts = wire.sessions.counts();
    assert_eq!((counts.packets, counts.retransmissions, counts.unpaired), (5, 3, 0));
    let records = wire.close();
    assert_eq!((records.len(), records[0].packets, records[0].retransmissions), (1, 5, 3));
    assert_eq!(Some(records[0].start), secs(10));
}

/// RFC 2866 section 5.2: a repeat that says how long it is delayed is another packet.
#[test]
fn a_report_that_comes_late_is_dated_by_its_delay() {
    let mut wire = Wire::new();
    wire.accounting(20, NAS, START, &[user("bob"), id("S1"), v4("203.0.113.1"), int(41, 10)]);
    wire.accounting(40, NAS, STOP, &[user("bob"), id("S1"), int(46, 30)]);
    // All three are about the session that has ended.
    wire.accounting(44, NAS, START, &[user("bob"), id("S1"), v4("203.0.113.1"), int(41, 34)]);
    wire.accounting(44, NAS, STOP, &[user("bob"), id("S1"), int(46, 30), int(41, 4)]);
    wire.accounting(45, NAS, INTERIM, &[user("bob"), id("S1"), v4("203.0.113.1"), int(41, 20)]);
    // This one is not.
    wire.accounting(50, NAS, START, &[user("bob"), id("S1"), v4("203.0.113.1")]);
    assert_eq!(wire.sessions.counts().stale, 2);
    let records = wire.close();
    let times: Vec<_> = records.iter().map(|record| (Some(record.start), record.end)).collect();
    assert_eq!(times, [(secs(10), secs(40)), (secs(50), None)]);
}

#[test]
fn a_stop_that_overtakes_its_start_is_one_session() {
    let mut wire = Wire::new();
    wire.accounting(10, NAS, STOP, &[user("bob"), id("S1"), v4("203.0.113.1"), int(46, 0)]);
    wire.accounting(11, NAS, START, &[user("bob"), id("S1"), v4("203.0.113.1")]);
    let records = wire.close();
    assert_eq!((records.len(), records[0].end), (1, secs(10)));
}

#[test]
fn a_session_of_which_only_the_end_was_seen() {
    let mut wire = Wire::new();
    wire.accounting(1_000, NAS, STOP, &[user("bob"), id("S1"), v4("203.0.113.1"), int(46, 400)]);
    let records = wire.close();
    assert_eq!((records[0].begun_by, Some(records[0].start)), (SessionBegin::Stopped, secs(600)));
    assert_eq!(who(&records, "203.0.113.1", None, 800), ["bob"]);
    assert!(who(&records, "203.0.113.1", None, 1_000).is_empty());
}

#[test]
fn an_id_that_is_used_again_is_another_session() {
    let mut wire = Wire::new();
    wire.accounting(10, NAS, START, &[user("alice"), id("1"), v4("203.0.113.1")]);
    wire.accounting(20, NAS, START, &[user("bob"), id("1"), v4("203.0.113.2")]);
    let records = wire.close();
    assert_eq!(records.len(), 2);
    assert_eq!((records[0].end_cause, records[0].end), (Some(SessionEnd::Replaced), secs(20)));
    assert_eq!(records[1].user.as_deref(), Some("bob"));
}

/// A line that logs in under a new id is another session, and the reports of both find their own.
#[test]
fn a_login_under_a_new_id_on_the_same_line_is_another_session() {
    let mut wire = Wire::new();
    let line = |session: &str| [user("bob"), a(31, b"line 1"), id(session)];
    wire.access(10, NAS, &line("S1"), &[v4("203.0.113.1")]);
    wire.access(20, NAS, &line("S2"), &[v4("203.0.113.2")]);
    wire.accounting(30, NAS, STOP, &line("S1"));
    wire.accounting(40, NAS, INTERIM, &line("S2"));
    let records = wire.close();
    let ends: Vec<_> = records.iter().map(|record| (record.session.as_deref(), record.end)).collect();
    assert_eq!(ends, [(Some("S1"), secs(30)), (Some("S2"), None)]);
    assert_eq!(who(&records, "203.0.113.2", None, 45), ["bob"]);
}

/// Many servers send one Class to all users.
#[test]
fn one_class_of_many_users_makes_no_one_session() {
    let mut wire = Wire::new();
    for (index, name) in ["alice", "bob", "carol"].into_iter().enumerate() {
        wire.access(10, NAS, &[user(name), int(5, index as u32)], &[a(25, b"gold")]);
    }
    for (index, name) in ["alice", "bob", "carol"].into_iter().enumerate() {
        let address = format!("203.0.113.{index}");
        let report = [user(name), int(5, index as u32), a(25, b"gold"), id(name), v4(&address)];
        wire.accounting(20, NAS, START, &report);
    }
    let records = wire.close();
    assert_eq!(records.len(), 3, "{records:#?}");
    for (index, name) in ["alice", "bob", "carol"].into_iter().enumerate() {
        assert_eq!(who(&records, &format!("203.0.113.{index}"), None, 30), [name]);
    }
    assert!(records.iter().all(|record| Some(record.start) == secs(11)), "each begins with its login");
}

#[test]
fn rejected_and_unanswered_and_unpaired_are_counted() {
    let mut wire = Wire::new();
    let client = wire.client(NAS);
    wire.packet(10, client, server(1812), &bytes(code::ACCESS_REQUEST, 1, 1, &user("bob")));
    wire.packet(11, server(1812), client, &bytes(code::ACCESS_REJECT, 1, 2, &[]));
    wire.packet(12, client, server(1812), &bytes(code::ACCESS_REQUEST, 2, 3, &user("bob")));
    wire.packet(13, server(1812), client, &bytes(code::ACCESS_REJECT, 9, 4, &[]));
    // The address is known, its user is not.
    wire.packet(14, server(1812), client, &bytes(code::ACCESS_ACCEPT, 8, 5, &v4("203.0.113.1")));
    wire.packet(100, client, server(1812), &bytes(code::ACCESS_REQUEST, 3, 6, &user("bob")));
    let counts = wire.sessions.counts();
    assert_eq!((counts.rejected, counts.unanswered, counts.unpaired), (1, 1, 2));
    let records = wire.close();
    assert_eq!(records.len(), 1);
    assert_eq!((records[0].nas.as_str(), &records[0].ipv4[0][..]), (NAS, "203.0.113.1"));
}

/// Those that were silent for longest give way, and nothing is lost of what they were.
#[test]
fn at_the_ceiling_the_oldest_give_way_and_are_counted() {
    let mut wire = Wire::with(Limits { sessions: 3, requests: 2, ..Limits::default() });
    for number in 0..5_u64 {
        let name = format!("user{number}");
        let address = format!("203.0.113.{number}");
        wire.accounting(10 + number, NAS, START, &[user(&name), id(&name), v4(&address)]);
    }
    let counts = wire.sessions.counts();
    assert_eq!((counts.evicted, counts.requests_evicted), (2, 3));
    let early: Vec<_> = wire.sessions.take().into_iter().filter_map(|record| record.user).collect();
    assert_eq!(early, ["user0", "user1"]);
    assert_eq!(wire.close().len(), 3);
}

/// What a session remembers is up to who sends the packets: the longest names there are fill no memory.
#[test]
fn sessions_that_take_more_memory_than_there_may_be_give_way() {
    let mut wire = Wire::with(Limits { memory: 50_000, ..Limits::default() });
    for number in 0..200_u64 {
        let name = format!("{number:0>240}");
        let id = id(&number.to_string());
        wire.accounting(10 + number, NAS, START, &[user(&name), id, a(31, name.as_bytes())]);
    }
    let evicted = wire.sessions.counts().evicted;
    assert!((100..190).contains(&evicted), "{evicted}");
    assert_eq!(wire.sessions.take().len() as u64, evicted);
    assert_eq!(wire.close().len() as u64, 200 - evicted);
}

#[test]
fn packets_with_a_wrong_authenticator_change_no_session() {
    let secrets = Secrets::parse("192.0.2.0/24 testing123").unwrap();
    let mut wire = Wire::new();
    wire.sessions = Sessions::new(Limits::default(), secrets);
    // Made with Python's hashlib: Accounting-Request, Start of session S1.
    let right = [
        0x04, 0x0a, 0x00, 0x1e, 0xbc, 0x35, 0xf7, 0xe7, 0xe6, 0x30, 0x8f, 0xab, 0x1e, 0x93, 0xd5, 0x65, 0xe3,
        0x08, 0x46, 0x70, 0x28, 0x06, 0x00, 0x00, 0x00, 0x01, 0x2c, 0x04, 0x53, 0x31,
    ];
    let mut wrong = right;
    wrong[29] = b'2';
    let client = wire.client(NAS);
    wire.packet(10, client, server(1813), &right);
    wire.packet(11, client, server(1813), &wrong);
    wire.packet(12, client, server(1812), &bytes(code::ACCESS_REQUEST, 1, 1, &user("bob")));
    let counts = wire.sessions.counts();
    assert_eq!((counts.right, counts.wrong, counts.unchecked), (1, 1, 1));
    let sessions: Vec<_> = wire.close().into_iter().filter_map(|record| record.session).collect();
    assert_eq!(sessions, ["S1"]);
}
