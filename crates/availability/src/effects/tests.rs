//! The function of failovers and facts, without packets.

use std::sync::LazyLock;

use ringtap_model::{Call, CallState, Endpoint, Nanos, Party, Transport};

use super::facts::{Attempt, CallFacts, Ending, Gap, MediaFacts, Observed, Release};
use super::{AffectedCall, Effects, effects, totals};
use crate::evidence::{Evidence, EvidenceKind, Place};
use crate::failover::{Failover, failovers};
use crate::observation::Observer;
use crate::record::{Findings, Outage, OutageKind, Role, ServiceAddress, ServiceSummary};

const END: Nanos = Nanos::from_secs(200);

fn at(millis: u64) -> Nanos {
    Nanos::from_millis(100_000 + millis)
}

fn end(text: &str) -> Endpoint {
    text.parse().expect("an endpoint")
}

fn service() -> Endpoint {
    end("192.0.2.1:5060")
}

fn outage(kind: OutageKind, from: u64, until: Option<u64>) -> Outage {
    Outage {
        service: service(),
        transport: Transport::Udp,
        role: Role::Service,
        kind,
        last_answer: Some(at(from).since(Nanos::from_millis(5))),
        last_sign: Some(at(from).since(Nanos::from_millis(5))),
        begun: None,
        first_unanswered: at(from),
        first_answer: until.map(at),
        down: Nanos::from_secs(1),
        unobserved: Nanos::ZERO,
        requests: 3,
        sent: 3,
        clients: 2,
        refused: None,
    }
}

fn joined(outages: Vec<Outage>, evidence: Vec<Evidence>) -> Vec<Failover> {
    failovers(&Findings { outages, evidence, ..Findings::default() }, &[])
}

fn silent() -> Vec<Failover> {
    joined(vec![outage(OutageKind::Unanswered, 0, Some(3_000))], Vec::new())
}

/// What a record alone tells.
fn facts(call: &Call) -> Option<CallFacts> {
    static OBSERVER: LazyLock<Observer> = LazyLock::new(Observer::default);
    CallFacts::of(call, &OBSERVER)
}

/// A record of a call to the service.
fn record(id: &str, invite: u64) -> Call {
    Call {
        call_id: id.to_owned(),
        src: end("198.51.100.7:5060"),
        dst: service(),
        from_user: Some(format!("from-{id}")),
        to_user: Some("all".to_owned()),
        invite: Some(at(invite)),
        ..Call::UNKNOWN
    }
}

fn told(failovers: &[Failover], calls: Vec<CallFacts>) -> Effects {
    let total = calls.len() as u64;
    let observed = Observed { calls, until: END, total, ..Observed::default() };
    effects(failovers, &observed).remove(0)
}

fn of(effects: &Effects) -> Vec<(&str, Option<&str>)> {
    effects.affected.iter().map(|call: &AffectedCall| (&call.call_id[..], call.effect)).collect()
}

/// A call that was established long before.
fn established(id: &str) -> CallFacts {
    let mut facts = facts(&record(id, 0)).expect("an INVITE");
    let begun = at(0).since(Nanos::from_secs(20));
    facts.invite = begun;
    facts.answered = Some(begun);
    facts.ending = Ending::Answered;
    for attempt in &mut facts.attempts {
        (attempt.first, attempt.last, attempt.answered, attempt.ended) =
            (begun, begun, Some(begun), Some(begun));
        attempt.code = 200;
    }
    facts
}

#[test]
fn records_alone_tell_of_delays_and_failures() {
    let ringing = |id, invite, rang| {
        let (ringing, answer) = (Some(at(rang)), Some(at(rang + 1_000)));
        Call { state: CallState::Active, final_code: 200, ringing, answer, ..record(id, invite) }
    };
    let failed = |id, code, cause| {
        let state = CallState::Failed;
        Call { state, final_code: code, cause, end: Some(at(3_500)), ..record(id, 1_000) }
    };
    let never = Call { state: CallState::Timeout, ..record("never", 1_000) };
    let given_up = Call {
        state: CallState::Cancelled,
        end: Some(at(2_500)),
        released_by: Some(Party::Caller),
        ..record("given-up", 1_000)
    };
    let calls = [
        ringing("late", 1_000, 3_400),
        ringing("before", 0, 5),
        failed("refused", 503, None),
        failed("busy", 486, None),
        // A gateway's 503 for somebody who is busy (Q.850 17).
        failed("busy-too", 503, Some(17)),
        never,
        given_up,
    ];
    let effects = told(&silent(), calls.iter().filter_map(facts).collect());
    let expected = [
        ("late", Some("delayed")),
        ("refused", Some("failed")),
        ("never", Some("failed")),
        ("given-up", Some("given_up")),
    ];
    assert_eq!(of(&effects), expected);
    assert_eq!(effects.delays.delay_ms_max, Some(2_400.0));
    assert_eq!((effects.calls, effects.users, effects.gaps), (7, 5, None), "{effects:?}");
    assert!(facts(&Call { invite: None, ..Call::UNKNOWN }).is_none());
}

/// The proxy was lost with it; its answer to the repeated INVITE is by who took over.
#[test]
fn an_answer_that_got_no_further_than_a_lost_proxy_ends_no_wait() {
    let mut call = facts(&record("unheard", 0)).expect("an INVITE");
    let challenged = Attempt {
        ended: Some(at(1)),
        answered: Some(at(1)),
        progressed: Some(at(1)),
        code: 407,
        ..call.attempts[0]
    };
    let heard = Some(at(3_200));
    let sent = Attempt {
        first: at(2),
        last: at(1_500),
        answered: heard,
        progressed: heard,
        ended: heard,
        code: 200,
        ..challenged
    };
    call.attempts = vec![challenged, sent];
    (call.answered, call.ending) = (Some(at(200)), Ending::Answered);
    let effects = told(&silent(), vec![call]);
    assert_eq!(
        (of(&effects), effects.delays.delay_ms_max),
        (vec![("unheard", Some("delayed"))], Some(3_200.0))
    );
}

#[test]
fn a_refused_call_that_another_service_takes_is_delayed_and_one_that_ends_there_failed() {
    let failovers = joined(vec![outage(OutageKind::Refusing, 0, Some(3_000))], Vec::new());
    let refused =
        Call { state: CallState::Failed, final_code: 503, end: Some(at(1_010)), ..record("refused", 1_000) };
    let mut taken = facts(&Call { call_id: "taken".to_owned(), ..refused.clone() }).expect("facts");
    let second = ServiceAddress { endpoint: end("192.0.2.2:5060"), transport: Transport::Udp };
    let next = Attempt { service: second, first: at(1_300), last: at(1_300), ..taken.attempts[0] };
    taken.attempts.push(Attempt { code: 200, ..next });
    (taken.rang, taken.answered, taken.ending) = (Some(at(1_500)), Some(at(2_000)), Ending::Answered);
    let effects = told(&failovers, vec![facts(&refused).expect("facts"), taken]);
    assert_eq!(of(&effects), [("refused", Some("failed")), ("taken", Some("delayed"))]);
    assert_eq!(effects.delays.delay_ms_max, Some(500.0));
}

/// No outage is known of the service; that calls go elsewhere is.
#[test]
fn calls_that_were_sent_on_are_delayed_without_an_outage() {
    let sign = Evidence {
        kind: EvidenceKind::InviteRetried,
        first: at(1_600),
        last: at(1_600),
        count: 1,
        address: service().ip,
        from: Some(Place::Service(service())),
        to: None,
    };
    let mut findings = Findings { evidence: vec![sign], ..Findings::default() };
    findings.services.push(served());
    let failovers = failovers(&findings, &[]);
    let mut call = facts(&record("sent-on", 1_000)).expect("facts");
    let second = ServiceAddress { endpoint: end("192.0.2.2:5060"), transport: Transport::Udp };
    call.attempts.push(Attempt { service: second, first: at(1_600), last: at(1_600), ..call.attempts[0] });
    call.rang = Some(at(1_700));
    let effects = told(&failovers, vec![call]);
    assert_eq!((of(&effects), effects.users), (vec![("sent-on", Some("delayed"))], 2));
}

fn served() -> ServiceSummary {
    ServiceSummary {
        service: service(),
        transport: Transport::Udp,
        role: Role::Service,
        first: at(0),
        last: at(9_000),
        requests: 9,
        answered: 9,
        answered_late: 0,
        unanswered: 0,
        undecided: 0,
        outages: 0,
        observed: Nanos::from_secs(9),
        unobserved: Nanos::ZERO,
        down: Nanos::ZERO,
        availability_pct: Some(100.0),
    }
}

#[test]
fn calls_through_other_services_are_not_concerned() {
    let elsewhere = end("192.0.2.9:5060");
    let call = Call {
        dst: elsewhere,
        state: CallState::Failed,
        final_code: 503,
        end: Some(at(2_000)),
        ..record("elsewhere", 1_000)
    };
    let mut cut = established("cut-elsewhere");
    cut.attempts[0].service.endpoint = elsewhere;
    cut.release = Release { bye: Some(at(1_000)), by_proxy: Some(at(1_000)), reason: None };
    cut.gaps = vec![Gap { direction: None, from: at(500), until: at(1_500) }];
    let effects = told(&silent(), vec![facts(&call).expect("facts"), cut]);
    assert!(effects.affected.is_empty(), "{effects:?}");
    assert_eq!((effects.calls, effects.lost_per_million), (2, Some(0.0)));
}

#[test]
fn a_call_that_two_failovers_cut_is_lost_once() {
    let two = joined(
        vec![
            outage(OutageKind::Unanswered, 0, Some(3_000)),
            outage(OutageKind::Unanswered, 12_000, Some(15_000)),
        ],
        Vec::new(),
    );
    assert_eq!(two.len(), 2);
    let mut call = established("cut");
    call.release = Release { bye: Some(at(9_000)), by_proxy: Some(at(9_000)), reason: None };
    call.ended = Some(at(9_000));
    let observed =
        Observed { calls: vec![call, established("kept")], until: END, total: 2, ..Observed::default() };
    let effects = effects(&two, &observed);
    assert_eq!((effects[0].cut, effects[1].cut), (1, 1));
    let totals = totals(&effects, &observed);
    assert_eq!((totals.lost_calls, totals.lost_per_million), (1, Some(500_000.0)));
}

#[test]
fn gaps_are_null_where_no_media_was_seen_and_the_longest_of_a_direction_counts() {
    let silent = silent();
    let call = established("blind");
    assert_eq!(told(&silent, vec![call.clone()]).gaps, None);
    let gap = |from: u64, until: u64| Gap { direction: None, from: at(from), until: at(until) };
    let media = MediaFacts { direction: None, first: at(0).since(Nanos::from_secs(9)), last: at(9_000) };
    let with = |gaps: &[Gap]| CallFacts { media: Some(vec![media]), gaps: gaps.to_vec(), ..call.clone() };
    let seen = told(&silent, vec![with(&[])]);
    assert_eq!((seen.gaps, seen.gap_lengths.gap_ms_max), (Some(0), None));
    let gaps = [gap(100, 300), gap(1_000, 1_400), gap(4_000, 6_000), gap(500, 599)];
    let effects = told(&silent, vec![with(&gaps)]);
    assert_eq!((effects.gaps, effects.gap_lengths.gap_ms_max), (Some(1), Some(400.0)));
    assert_eq!(effects.affected[0].gaps.len(), 1);
    let held = CallFacts { holds: vec![(at(1_800), at(2_000))], ..with(&gaps) };
    let effects = told(&silent, vec![held]);
    assert_eq!(effects.gap_lengths.gap_ms_max, Some(200.0));
}

#[test]
fn an_outage_that_does_not_end_reaches_to_the_end_of_the_input() {
    let open = joined(vec![outage(OutageKind::Unanswered, 0, None)], Vec::new());
    let fresh = Call { state: CallState::Trying, ..record("fresh", 99_000) };
    let old = Call { state: CallState::Trying, ..record("old", 1_000) };
    let effects = told(&open, [fresh, old].iter().filter_map(facts).collect());
    assert_eq!(of(&effects), [("fresh", Some("unknown")), ("old", Some("failed"))]);
}
