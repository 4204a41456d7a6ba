//! Calls at once that have one number in common: which legs are rivals of each other.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on ends")]

use std::collections::HashMap;

use ringtap_conversation::{Joiner, Settings};
use ringtap_model::{Call, CallState, Endpoint, Id, Nanos};
use ringtap_testing::samples;

/// A leg of 10 s from one host to another.
fn leg(id: u8, [from, to]: [u8; 2], [caller, callee]: [&str; 2], start_ms: u64) -> Call {
    let at = |ms| Nanos::from_secs(1_795_262_400) + Nanos::from_millis(ms);
    let end = |host: u8| Endpoint::new([192, 0, 2, host].into(), 5060);
    Call {
        id: Id([id; 16]),
        call_id: format!("{id}@192.0.2.{from}"),
        src: end(from),
        dst: end(to),
        from_user: Some(caller.into()),
        to_user: Some(callee.into()),
        ruri_user: Some(callee.into()),
        asserted_identity: None,
        conversation: None,
        joins: Vec::new(),
        links: Vec::new(),
        state: CallState::Completed,
        invite: Some(at(start_ms)),
        trying: None,
        ringing: None,
        answer: Some(at(1_000)),
        end: Some(at(10_000)),
        ..samples::call()
    }
}

/// The conversation of each leg, by its id's first byte, after all records.
fn joined(calls: &[Call]) -> HashMap<u8, Id> {
    let mut joiner = Joiner::new(Settings::default());
    let mut found = HashMap::new();
    for mut call in calls.iter().cloned() {
        let amendments = joiner.add(&mut call);
        found.insert(call.id.0[0], call.conversation.unwrap());
        found.extend(amendments.iter().map(|amendment| (amendment.call.0[0], amendment.conversation)));
    }
    found
}

/// All orders of some calls.
fn orders(calls: &[Call]) -> Vec<Vec<Call>> {
    if calls.len() < 2 {
        return vec![calls.to_vec()];
    }
    let place = |at: usize| {
        let mut rest = calls.to_vec();
        let first = rest.remove(at);
        orders(&rest).into_iter().map(move |order| [vec![first.clone()], order].concat())
    };
    (0..calls.len()).flat_map(place).collect()
}

/// Two callers of one number, through one box, within 20 ms: the leg with the other's number is no rival of
/// the one with both numbers.
#[test]
fn two_callers_of_one_number_at_once_are_told_apart() {
    let (one, two) = (["493088800201", "493010000200"], ["493088800202", "493010000200"]);
    let calls = [
        leg(1, [11, 21], one, 0),
        leg(2, [21, 12], one, 5),
        leg(3, [11, 21], two, 12),
        leg(4, [21, 12], two, 18),
    ];
    for order in orders(&calls) {
        let found = joined(&order);
        let ids: Vec<u8> = order.iter().map(|call| call.id.0[0]).collect();
        assert_eq!(found[&1], found[&2], "{ids:?}");
        assert_eq!(found[&3], found[&4], "{ids:?}");
        assert_ne!(found[&1], found[&3], "{ids:?}");
    }
}

/// A proxy sends a call on with its Call-ID: the box behind it is a hop of the first leg, not its receiver.
#[test]
fn a_leg_behind_a_proxy_that_keeps_the_call_id_is_joined() {
    let numbers = ["493088800500", "493010000500"];
    let mut through = leg(1, [11, 22], numbers, 0);
    let calls = [through.clone(), leg(2, [21, 12], numbers, 5)];
    assert_ne!(joined(&calls)[&1], joined(&calls)[&2], "nothing says that it came to .21");
    through.links.push("hop=192.0.2.21".into());
    for order in orders(&[through, leg(2, [21, 12], numbers, 5)]) {
        let found = joined(&order);
        assert_eq!(found[&1], found[&2]);
    }
}

/// The caller behind a proxy asks the box to call somebody else: the box is a hop.
#[test]
fn a_refer_through_a_proxy_is_followed_by_the_call_of_the_box() {
    let mut asks = leg(1, [11, 22], ["493088800500", "493010000500"], 0);
    let at = asks.answer.unwrap().micros() + 2_000_000;
    asks.links = vec!["hop=192.0.2.21".into(), format!("refer_to=493030000500@192.0.2.21;at={at};by=caller")];
    let mut follows = leg(2, [21, 14], ["493010000500", "493030000500"], 3_050);
    follows.answer = Some(follows.invite.unwrap() + Nanos::from_secs(1));
    for order in orders(&[asks, follows]) {
        let found = joined(&order);
        assert_eq!(found[&1], found[&2]);
    }
}

/// With the same two numbers, nobody can tell.
#[test]
fn two_calls_with_the_same_numbers_at_once_stay_apart() {
    let numbers = ["493088800300", "493010000300"];
    let calls = [
        leg(1, [11, 21], numbers, 0),
        leg(2, [21, 12], numbers, 5),
        leg(3, [11, 21], numbers, 12),
        leg(4, [21, 12], numbers, 18),
    ];
    for order in orders(&calls) {
        let mut conversations: Vec<Id> = joined(&order).into_values().collect();
        conversations.sort_unstable();
        conversations.dedup();
        assert_eq!(conversations.len(), 4);
    }
}
