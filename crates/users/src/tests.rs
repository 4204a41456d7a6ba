use proptest::prelude::*;
use ringtap_model::{Endpoint, Failure, MethodCount};
use ringtap_testing::samples;

use super::*;

fn at(seconds: u64) -> Nanos {
    Nanos::from_secs(1_795_262_400 + seconds)
}

/// A call with an answer, if that is 200.
fn call(from: &str, to: &str, seconds: u64, code: u16) -> Call {
    let answer = (code == 200).then(|| at(seconds + 2));
    Call {
        from_user: Some(from.into()),
        from_host: Some("Example.NET".into()),
        from_display: Some(format!("{from} at {seconds}")),
        to_user: Some(to.into()),
        to_host: Some("example.net".into()),
        state: if code == 200 { CallState::Completed } else { CallState::Failed },
        final_code: code,
        invite: Some(at(seconds)),
        answer,
        end: Some(at(seconds + 10)),
        user_agent_caller: Some("phone/1".into()),
        ..samples::call()
    }
}

fn registration(aor: &str, seconds: u64, (attempts, failed): (u32, u32)) -> Registration {
    Registration {
        aor: aor.into(),
        contact: Some("sip:alice@192.0.2.1".into()),
        user_agent: None,
        state: if failed > 0 { RegistrationState::Refused } else { RegistrationState::Active },
        code: if failed > 0 { 403 } else { 200 },
        first: at(seconds),
        last: at(seconds + 1),
        expires: (failed == 0).then(|| at(seconds + 600)),
        attempts: Some(attempts),
        failed: Some(failed),
        ..samples::registration()
    }
}

fn message(from: &str, to: &str, seconds: u64, code: u16) -> Message {
    Message { from: Some(from.into()), to: Some(to.into()), time: at(seconds), code, ..samples::message() }
}

fn transaction(method: &str, from: &str, seconds: u64, code: u16) -> Transaction {
    let user_agent = Some(format!("phone/{seconds}"));
    let (method, from) = (method.into(), Some(from.into()));
    Transaction { method, from, time: at(seconds), code, user_agent, ..samples::transaction() }
}

fn of<'a>(users: &'a [User], aor: &str) -> &'a User {
    users.iter().find(|user| user.aor == aor).expect("the user is there")
}

fn methods(user: &User) -> Vec<(&str, u32)> {
    user.methods.iter().map(|MethodCount { method, count }| (method.as_str(), *count)).collect()
}

fn failures(user: &User) -> Vec<(u16, u32)> {
    user.failures.iter().map(|Failure { code, count }| (*code, *count)).collect()
}

#[test]
fn all_records_of_one_address_are_one_user() {
    let mut users = Users::new(100);
    users.registration(&registration("alice@example.net", 0, (3, 0)));
    users.call(&call("alice", "bob", 100, 200));
    users.call(&call("alice", "bob", 200, 486));
    users.call(&call("bob", "alice", 300, 486));
    users.message(&message("alice@EXAMPLE.net", "bob@example.net", 400, 202));
    users.transaction(&transaction("OPTIONS", "alice@example.net", 410, 200));
    users.transaction(&transaction("OPTIONS", "alice@example.net", 420, 0));
    users.transaction(&transaction("SUBSCRIBE", "alice@example.net", 405, 489));
    // A server under its own name is no user.
    users.transaction(&transaction("OPTIONS", "192.0.2.7", 500, 200));
    let users = users.into_records();
    assert_eq!(users.len(), 2);
    let alice = of(&users, "alice@example.net");
    assert_eq!((alice.registrations, alice.registrations_failed), (3, 0));
    assert_eq!((alice.calls_made, alice.calls_made_answered, alice.calls_made_rejected), (2, 1, 1));
    assert_eq!((alice.calls_received, alice.calls_received_rejected, alice.messages_received), (1, 1, 0));
    assert_eq!(alice.display_name.as_deref(), Some("alice at 200"));
    assert_eq!(alice.user_agent.as_deref(), Some("phone/420"));
    assert_eq!((alice.first, alice.last, alice.registered_until), (at(0), at(420), Some(at(600))));
    let expected = [("REGISTER", 3), ("INVITE", 2), ("OPTIONS", 2), ("MESSAGE", 1), ("SUBSCRIBE", 1)];
    assert_eq!(methods(alice), expected);
    assert_eq!(failures(alice), [(0, 1), (486, 1), (489, 1)]);
    let bob = of(&users, "bob@example.net");
    assert_eq!((bob.calls_received, bob.calls_received_answered, bob.messages_received), (2, 1, 1));
    assert_eq!((methods(bob), failures(bob)), (vec![("INVITE", 1)], vec![(486, 1)]));
}

/// As phones of mobile networks write themselves: the same user in every record.
#[test]
fn a_user_without_a_host_is_one_user() {
    let mut users = Users::new(9);
    users.call(&Call { from_host: None, ..call("+420602", "bob", 0, 200) });
    users.message(&message("+420602@", "bob@x", 5, 200));
    users.registration(&registration("+420602@", 9, (1, 0)));
    let users = users.into_records();
    assert_eq!(methods(of(&users, "+420602")), [("INVITE", 1), ("MESSAGE", 1), ("REGISTER", 1)]);
}

/// A record has the last code alone, and how many attempts failed.
#[test]
fn failed_registrations_are_counted_with_the_code_that_is_known() {
    let mut users = Users::new(9);
    users.registration(&registration("a@example.net", 0, (4, 3)));
    users.registration(&Registration { failed: Some(1), ..registration("b@example.net", 0, (2, 0)) });
    users.registration(&Registration {
        attempts: None,
        failed: None,
        ..registration("c@example.net", 0, (0, 0))
    });
    let users = users.into_records();
    assert_eq!(failures(of(&users, "a@example.net")), [(0, 2), (403, 1)]);
    assert_eq!(failures(of(&users, "b@example.net")), [(0, 1)]);
    assert_eq!(methods(of(&users, "c@example.net")), [("REGISTER", 1)]);
}

/// A refused or removed binding is none; a later record says what is true now.
#[test]
fn a_binding_holds_until_a_later_registration_ends_it() {
    let mut users = Users::new(9);
    users.registration(&Registration {
        state: RegistrationState::Removed,
        ..registration("a@x", 100, (1, 0))
    });
    users.registration(&registration("a@x", 0, (1, 0)));
    users.registration(&registration("b@x", 0, (1, 0)));
    let users = users.into_records();
    assert_eq!((users[0].registered_until, users[1].registered_until), (None, Some(at(600))));
    assert_eq!(users[1].address, Some(Endpoint::new([192, 0, 2, 1].into(), 5060)));
}

#[test]
fn at_the_ceiling_who_was_not_seen_for_longest_gives_way_and_is_told() {
    let mut users = Users::new(8);
    for number in 0..8 {
        users.registration(&registration(&format!("u{number}@example.net"), number, (1, 0)));
    }
    users.registration(&registration("u0@example.net", 100, (1, 0)));
    users.registration(&registration("new@example.net", 200, (1, 0)));
    let evicted: Vec<_> = users.take_evicted().into_iter().map(|user| user.aor).collect();
    assert_eq!(evicted, ["u1@example.net"]);
    assert_eq!((users.take_evicted(), users.into_records().len()), (vec![], 8));
}

#[derive(Clone, Debug)]
enum Any {
    Call(Box<Call>),
    Registration(Registration),
    Message(Message),
    Transaction(Transaction),
}

fn any() -> impl Strategy<Value = Any> {
    let code = prop::sample::select(vec![0_u16, 200, 302, 403, 486]);
    (0_u8..4, 0_u32..3, 0_u32..3, 0_u64..6, code).prop_map(|(kind, from, to, seconds, code)| {
        let (one, other) = (format!("u{from}"), format!("u{to}"));
        let (from, to) = (format!("{one}@example.net"), format!("{other}@example.net"));
        match kind {
            0 => Any::Call(Box::new(call(&one, &other, seconds, code))),
            1 => Any::Registration(registration(&from, seconds, (2, u32::from(code / 400)))),
            2 => Any::Message(message(&from, &to, seconds, code)),
            _ => Any::Transaction(transaction("OPTIONS", &from, seconds, code)),
        }
    })
}

fn users(records: &[Any]) -> Vec<User> {
    let mut users = Users::new(100);
    for record in records {
        match record {
            Any::Call(call) => users.call(call),
            Any::Registration(registration) => users.registration(registration),
            Any::Message(message) => users.message(message),
            Any::Transaction(transaction) => users.transaction(transaction),
        }
    }
    users.into_records()
}

proptest! {
    /// Records come from several workers and days, in any order.
    #[test]
    fn the_order_of_records_changes_nothing(
        (records, shuffled) in prop::collection::vec(any(), 0..20)
            .prop_flat_map(|records| (Just(records.clone()), Just(records).prop_shuffle()))
    ) {
        prop_assert_eq!(users(&records), users(&shuffled));
    }

    /// Each record is counted once, by its method.
    #[test]
    fn what_was_sent_adds_up(records in prop::collection::vec(any(), 0..20)) {
        let users = users(&records);
        let sent = |wanted: &str| -> u32 {
            let all = users.iter().flat_map(|user| &user.methods);
            all.filter(|method| method.method == wanted).map(|method| method.count).sum()
        };
        let count = |is: fn(&Any) -> bool| records.iter().filter(|record| is(record)).count() as u32;
        prop_assert_eq!(sent("INVITE"), count(|record| matches!(record, Any::Call(_))));
        prop_assert_eq!(sent("REGISTER"), 2 * count(|record| matches!(record, Any::Registration(_))));
        prop_assert_eq!(sent("MESSAGE"), count(|record| matches!(record, Any::Message(_))));
        prop_assert_eq!(sent("OPTIONS"), count(|record| matches!(record, Any::Transaction(_))));
        let received: u32 = users.iter().map(|user| user.messages_received).sum();
        prop_assert_eq!(received, sent("MESSAGE"));
    }
}
