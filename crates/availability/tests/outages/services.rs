//! One service.

use ringtap_availability::{Findings, OutageKind, Role, Settings};
use ringtap_model::Nanos;

use crate::wire::{OTHER, PHONE, PROXY, Wire, at};

const CALLS: (&str, &str) = (PHONE, PROXY);

/// OPTIONS each second from `from` on, all answered.
fn pings(wire: &mut Wire, from: u32, to: u32) {
    (from..to).for_each(|second| {
        wire.exchange(f64::from(second), CALLS, "OPTIONS", &format!("ping{second}"), 200);
    });
}

fn found(wire: Wire) -> Findings {
    wire.findings(Settings::default())
}

fn close(a: Nanos, b: Nanos) -> bool {
    a.since(b).max(b.since(a)) < Nanos::from_micros(10)
}

#[test]
fn an_outage_has_the_times_of_its_packets() {
    let mut wire = Wire::default();
    pings(&mut wire, 0, 10);
    for (id, from) in [("a", 10.0), ("b", 10.2)] {
        for repeat in [0.0, 0.5, 1.5] {
            wire.request(from + repeat, CALLS, "OPTIONS", id);
        }
    }
    wire.answer(11.705, CALLS, "OPTIONS", "b", 200);
    pings(&mut wire, 12, 20);
    let findings = found(wire);
    let [outage] = &findings.outages[..] else { panic!("{findings:?}") };
    assert_eq!(outage.kind, OutageKind::Unanswered);
    assert_eq!(outage.role, Role::Monitored);
    assert!(close(outage.last_answer.unwrap(), at(9.005)));
    assert!(close(outage.first_unanswered, at(10.0)));
    assert!(close(outage.first_answer.unwrap(), at(11.705)));
    assert!(close(outage.down, Nanos::from_millis(1705)));
    assert_eq!((outage.requests, outage.sent, outage.clients), (2, 6, 1));
    let service = &findings.services[0];
    assert_eq!((service.requests, service.outages, service.answered_late), (20, 1, 1));
    assert!(close(service.observed, Nanos::from_millis(19_005)), "{service:?}");
    let available = 100.0 * (19.005 - 1.705) / 19.005;
    assert!((service.availability_pct.unwrap() - available).abs() < 1e-3, "{service:?}");
}

#[test]
fn lost_packets_and_slow_answers_are_no_outage() {
    let mut wire = Wire::default();
    pings(&mut wire, 0, 5);
    // One request, repeated, and answered late.
    wire.request(5.0, CALLS, "REGISTER", "slow");
    wire.request(5.5, CALLS, "REGISTER", "slow");
    wire.answer(5.9, CALLS, "REGISTER", "slow", 200);
    // One that is ignored while others are answered.
    for second in [0.1, 0.6, 1.6, 3.6] {
        wire.request(second, (OTHER, PROXY), "REGISTER", "ignored");
    }
    pings(&mut wire, 6, 40);
    let findings = found(wire);
    assert!(findings.outages.is_empty(), "{findings:?}");
    assert_eq!((findings.services[0].unanswered, findings.services[0].answered_late), (1, 1));
}

/// A proxy answers no BYE before the far end does (RFC 4320): it forwards each repeat.
#[test]
fn a_proxy_that_passes_requests_on_lives() {
    let mut wire = Wire::default();
    pings(&mut wire, 0, 5);
    for (id, from) in [("a", 5.0), ("b", 5.1)] {
        for repeat in [0.0, 0.5, 1.5] {
            wire.request(from + repeat, CALLS, "BYE", id);
            wire.request(from + repeat + 0.001, (PROXY, OTHER), "BYE", &format!("{id}-forwarded"));
        }
    }
    pings(&mut wire, 8, 12);
    let findings = found(wire);
    assert!(findings.outages.is_empty(), "{findings:?}");
}

#[test]
fn strangers_may_be_ignored_on_purpose() {
    let mut wire = Wire::default();
    wire.exchange(0.0, CALLS, "OPTIONS", "first", 200);
    for id in ["x", "y", "z"] {
        for second in [5.0, 5.5, 6.5] {
            wire.request(second, (OTHER, PROXY), "REGISTER", id);
        }
    }
    wire.exchange(60.0, CALLS, "OPTIONS", "last", 200);
    assert!(found(wire).outages.is_empty());
}

#[test]
fn time_without_requests_is_unobserved() {
    let mut wire = Wire::default();
    pings(&mut wire, 0, 5);
    pings(&mut wire, 105, 110);
    let findings = found(wire);
    let service = &findings.services[0];
    assert_eq!((service.outages, service.availability_pct), (0, Some(100.0)));
    assert!(close(service.observed, Nanos::from_millis(4_005 + 4_005)), "{service:?}");
    assert!(close(service.unobserved, Nanos::from_millis(100_995)), "{service:?}");
}

#[test]
fn what_never_answers_is_not_judged() {
    let mut wire = Wire::default();
    for second in 0..50 {
        wire.request(f64::from(second), CALLS, "OPTIONS", &format!("scan{second}"));
    }
    let findings = found(wire);
    assert!(findings.outages.is_empty());
    assert_eq!(findings.counts.never_answered, 1);
    assert_eq!(findings.services[0].availability_pct, None);
}

#[test]
fn an_outage_may_last_to_the_end_and_from_the_beginning() {
    let mut wire = Wire::default();
    for id in ["a", "b"] {
        wire.request(0.0, CALLS, "OPTIONS", id);
        wire.request(0.5, CALLS, "OPTIONS", id);
    }
    pings(&mut wire, 1, 5);
    for second in 5..9 {
        wire.request(f64::from(second), CALLS, "OPTIONS", &format!("in-vain{second}"));
    }
    let findings = found(wire);
    let [first, last] = &findings.outages[..] else { panic!("{findings:?}") };
    assert_eq!((first.last_answer, first.first_answer.is_some()), (None, true));
    assert!(close(last.first_unanswered, at(5.0)) && last.first_answer.is_none());
    assert!(close(last.down, Nanos::from_secs(3)), "{last:?}");
}

#[test]
fn refusals_are_a_kind_of_their_own() {
    let mut wire = Wire::default();
    pings(&mut wire, 0, 20);
    for second in 0..20 {
        let code = if (5..10).contains(&second) { 503 } else { 486 };
        let id = format!("call{second}");
        wire.exchange(f64::from(second) + 0.3, CALLS, "INVITE", &id, code);
    }
    let findings = found(wire);
    let [outage] = &findings.outages[..] else { panic!("{findings:?}") };
    assert_eq!((outage.kind, outage.refused), (OutageKind::Refusing, Some("INVITE")));
    assert!(close(outage.first_unanswered, at(5.3)) && close(outage.last_answer.unwrap(), at(4.305)));
    assert!(close(outage.first_answer.unwrap(), at(10.305)));
    assert_eq!(outage.requests, 5);
    assert!(close(findings.services[0].down, Nanos::from_millis(5_005)), "{findings:?}");
}

#[test]
fn ceilings_hold_and_are_counted() {
    let settings = Settings { services: 2, transactions: 10, outages: 0, ..Settings::default() };
    let mut wire = Wire::default();
    for number in 0..50 {
        let service = format!("203.0.113.{number}:5060");
        wire.exchange(0.1 * f64::from(number), (PHONE, &service), "OPTIONS", &format!("n{number}"), 200);
    }
    let counts = wire.findings(settings).counts;
    assert_eq!((counts.services, counts.services_refused), (2, 48));
    let mut wire = Wire::default();
    pings(&mut wire, 0, 30);
    let counts = wire.findings(settings).counts;
    assert_eq!(counts.transactions_evicted, 21);
}
