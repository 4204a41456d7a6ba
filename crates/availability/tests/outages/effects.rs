//! What a failover did to calls whose truth is known.

use ringtap_availability::{AffectedCall, Effects, Settings};
use ringtap_model::Direction;

use crate::calls::{Caller, Line, phone, text, watched};
use crate::wire::{OTHER, PROXY, Wire, at, follow};

/// The proxy is silent from 10 s to 13.002 s.
fn lost_proxy() -> Wire {
    let mut wire = Wire::default();
    watched(&mut wire, PROXY, (10, 13), 60);
    wire
}

fn told(wire: Wire) -> Effects {
    let (failover, effects, _) = wire.effects();
    assert_eq!((failover.from, failover.until), (at(10.0), Some(at(13.002))));
    effects
}

fn affected<'a>(effects: &'a Effects, call: &Caller) -> Option<&'a AffectedCall> {
    effects.affected.iter().find(|affected| affected.call_id == call.id())
}

fn none(effects: &Effects) {
    assert!(effects.affected.is_empty(), "{effects:?}");
    let counts = [effects.delayed, effects.failed, effects.cut, effects.given_up, effects.unknown];
    assert_eq!((counts, effects.users), ([0; 5], 0));
}

fn near(found: Option<f64>, expected: f64) -> bool {
    found.is_some_and(|found| (found - expected).abs() < 0.01)
}

/// Of telephone `number`: its INVITE waits from `sent` on and is answered when it is repeated the third time.
fn delayed(wire: &mut Wire, number: u8, sent: f64) -> Caller {
    let call = Caller::new(number);
    call.invite(wire, &[sent, sent + 0.5, sent + 1.5, sent + 3.5]);
    call.answer(wire, sent + 3.502, 100);
    call.answer(wire, sent + 3.5 + 0.01 * f64::from(number), 180);
    call.answer(wire, sent + 5.0, 200);
    call
}

#[test]
fn calls_that_waited_are_delayed_by_so_much() {
    let mut wire = lost_proxy();
    (1..=20).for_each(|number| _ = delayed(&mut wire, number, 10.0 + 0.1 * f64::from(number)));
    let effects = told(wire);
    assert_eq!((effects.delayed, effects.failed, effects.cut), (20, 0, 0), "{effects:?}");
    // 3,510 to 3,700 ms.
    let delays = effects.delays;
    assert!(near(delays.delay_ms_median, 3_605.0), "{delays:?}");
    assert!(near(delays.delay_ms_p95, 3_690.0) && near(delays.delay_ms_max, 3_700.0), "{delays:?}");
    assert_eq!((effects.users, effects.calls, effects.lost_per_million), (40, 20, Some(0.0)));
    let third = affected(&effects, &Caller::new(3)).expect("affected");
    assert!(third.effect == Some("delayed") && near(third.delay_ms, 3_530.0), "{third:?}");
}

#[test]
fn calls_of_other_times_and_quick_ones_are_not_delayed() {
    let mut wire = lost_proxy();
    // Slow, but long before and after.
    for (number, sent) in [(1, 2.0), (2, 20.0)] {
        let call = Caller::new(number);
        call.invite(&mut wire, &[sent, sent + 0.5]);
        call.answer(&mut wire, sent + 0.51, 100);
        call.answer(&mut wire, sent + 3.0, 180);
        call.answer(&mut wire, sent + 6.0, 200);
    }
    // Sent when it was nearly over, answered at once: who is called takes its time.
    let late = Caller::new(3);
    late.invite(&mut wire, &[12.99]);
    late.answer(&mut wire, 13.003, 100);
    late.answer(&mut wire, 15.0, 180);
    late.answer(&mut wire, 16.0, 200);
    // Accepted before; rings later than the service was back by far.
    let slow = Caller::new(4);
    slow.invite(&mut wire, &[9.5]);
    slow.answer(&mut wire, 9.51, 100);
    slow.answer(&mut wire, 14.5, 180);
    slow.answer(&mut wire, 16.0, 200);
    none(&told(wire));
}

#[test]
fn what_had_been_accepted_and_rings_once_the_service_is_back_is_delayed() {
    let mut wire = lost_proxy();
    let call = Caller::new(1);
    call.invite(&mut wire, &[9.5]);
    call.answer(&mut wire, 9.51, 100);
    call.answer(&mut wire, 13.1, 180);
    let effects = told(wire);
    assert_eq!(effects.delayed, 1);
    assert!(near(effects.delays.delay_ms_max, 3_600.0), "{effects:?}");
}

#[test]
fn calls_fail_for_reasons_of_the_network_only() {
    let mut wire = lost_proxy();
    let repeats = |sent: f64| [0.0, 0.5, 1.5, 3.5].map(|after| sent + after);
    for (number, code) in [(1, 503), (2, 408), (3, 500), (4, 486), (5, 404), (6, 603), (7, 501)] {
        let call = Caller::new(number);
        let sent = 10.0 + 0.1 * f64::from(number);
        call.invite(&mut wire, &repeats(sent));
        call.answer(&mut wire, sent + 3.51, code);
    }
    // Never answered by anything.
    let silent = Caller::new(8);
    silent.invite(&mut wire, &[11.0, 11.5, 12.5, 14.5, 18.5, 22.5, 26.5]);
    // Told twice: what comes second comes too late.
    let late = Caller::new(12);
    late.invite(&mut wire, &repeats(10.3));
    late.answer(&mut wire, 13.9, 408);
    late.answer(&mut wire, 14.1, 200);
    // It rings, and is lost all the same; and one that rings for too long.
    for (number, lost) in [(13, 14.4), (14, 44.0)] {
        let call = delayed_until_ringing(&mut wire, number);
        call.answer(&mut wire, lost, 408);
    }
    // Given up by who calls; and after it had rung.
    let impatient = Caller::new(9);
    impatient.invite(&mut wire, &repeats(10.2));
    impatient.cancel(&mut wire, 13.9);
    let rang = delayed_until_ringing(&mut wire, 10);
    rang.cancel(&mut wire, 19.0);
    // An established call in the same time: nothing happens to it.
    Caller::new(11).established(&mut wire, 5.0);
    let effects = told(wire);
    let effect = |number| affected(&effects, &Caller::new(number)).and_then(|call| call.effect);
    let found: Vec<_> = (1..=14).map(effect).collect();
    let (failed, delayed, given_up) = (Some("failed"), Some("delayed"), Some("given_up"));
    let expected = [
        failed, failed, failed, None, None, None, None, failed, given_up, delayed, None, failed, failed,
        delayed,
    ];
    assert_eq!(found, expected);
    assert_eq!((effects.failed, effects.given_up, effects.delayed, effects.cut), (6, 1, 2, 0));
    assert_eq!((effects.calls, effects.users), (14, 18));
    assert!(near(effects.lost_per_million, 1e6 * 6.0 / 14.0), "{effects:?}");
}

fn delayed_until_ringing(wire: &mut Wire, number: u8) -> Caller {
    let call = Caller::new(number);
    call.invite(wire, &[10.5, 11.0, 12.0, 14.0]);
    call.answer(wire, 14.01, 180);
    call
}

#[test]
fn calls_that_are_not_over_are_unknown() {
    let mut wire = lost_proxy();
    let call = Caller::new(1);
    call.invite(&mut wire, &[10.5, 11.0, 12.0, 14.0]);
    let effects = told(wire.until(30.0));
    assert_eq!((effects.unknown, effects.failed, effects.users), (1, 0, 0), "{effects:?}");
}

#[test]
fn a_call_that_the_proxy_ends_is_cut() {
    let mut wire = lost_proxy();
    for number in 1..=5 {
        Caller::new(number).established(&mut wire, 2.0 + f64::from(number));
    }
    // Made by the proxy: it has no Via but its own.
    Caller::new(1).hung_up(&mut wire, 13.5, &["192.0.2.1"], "");
    // Passed on by it.
    Caller::new(2).hung_up(&mut wire, 13.5, &["192.0.2.1", "203.0.113.9"], "");
    // Passed on, with a reason; and with that of a usual end.
    let reason = |cause| format!("Reason: Q.850;cause={cause};text=\"x\"\r\n");
    Caller::new(3).hung_up(&mut wire, 13.6, &["192.0.2.1", "203.0.113.9"], &reason(41));
    Caller::new(4).hung_up(&mut wire, 13.6, &["192.0.2.1", "203.0.113.9"], &reason(16));
    // The telephone's own, repeated until the proxy is back.
    Caller::new(5).hang_up(&mut wire, &[11.0, 11.5, 12.5, 14.5]);
    // It is the far end, and hangs up.
    let menu = Caller::new(8).of_the_proxy();
    menu.established(&mut wire, 4.0);
    menu.hung_up(&mut wire, 13.4, &["192.0.2.1"], "");
    // One that the proxy ends much later, and one that was set up afterwards.
    for (number, from) in [(6, 8.0), (7, 20.0)] {
        Caller::new(number).established(&mut wire, from);
        Caller::new(number).hung_up(&mut wire, 40.0, &["192.0.2.1"], "");
    }
    let effects = told(wire);
    assert_eq!(effects.cut, 2, "{effects:?}");
    for number in [1, 3] {
        assert_eq!(affected(&effects, &Caller::new(number)).and_then(|call| call.effect), Some("cut"));
    }
    assert_eq!((effects.users, effects.delayed, effects.failed), (4, 0, 0));
    assert!(near(effects.lost_per_million, 1e6 * 2.0 / 7.0), "{effects:?}");
}

/// The proxy has recorded no route, so that nothing but its BYEs tell that it is none of the two.
#[test]
fn bye_to_both_telephones_from_one_host_is_a_cut() {
    for (number, is_both) in [(1, true), (2, false)] {
        let mut wire = lost_proxy();
        let (caller, callee) = (phone(number), phone(100 + number));
        let id = "both";
        let line = |start, cseq, tags, vias| Line { start, cseq, tags, vias, more: "", body: "" };
        let invite = line("INVITE sip:b@example.org SIP/2.0", "1 INVITE", ["a", ""], &["198.51.100.1"]);
        let answer = line("SIP/2.0 200 OK", "1 INVITE", ["a", "b"], &["198.51.100.1"]);
        wire.datagram(5.0, &caller, PROXY, &text(id, ("a", "b"), invite));
        wire.datagram(5.01, PROXY, &callee, &text(id, ("a", "b"), invite));
        wire.datagram(5.5, &callee, PROXY, &text(id, ("a", "b"), answer));
        wire.datagram(5.51, PROXY, &caller, &text(id, ("a", "b"), answer));
        let to_caller = line("BYE sip:a@example.org SIP/2.0", "1 BYE", ["b", "a"], &["192.0.2.1"]);
        let to_callee = line("BYE sip:b@example.org SIP/2.0", "2 BYE", ["a", "b"], &["192.0.2.1"]);
        wire.datagram(13.5, PROXY, &caller, &text(id, ("b", "a"), to_caller));
        if is_both {
            wire.datagram(13.5, PROXY, &callee, &text(id, ("a", "b"), to_callee));
        }
        let effects = told(wire);
        assert_eq!(effects.cut, u64::from(is_both), "{effects:?}");
    }
}

#[test]
fn gaps_have_the_length_of_what_is_missing() {
    let mut wire = lost_proxy();
    let nothing = (0.0, 0.0);
    for (number, lost) in [
        (1, [(10.5, 12.9), (10.5, 13.1)]),
        // Too short, and at another time.
        (2, [(11.0, 11.05), (20.0, 22.0)]),
        (3, [nothing, (9.0, 10.2)]),
    ] {
        let call = Caller::new(number);
        call.established(&mut wire, 5.0);
        call.sound(&mut wire, (5.1, 30.0), lost);
        call.hang_up(&mut wire, &[30.5]);
    }
    let effects = told(wire);
    assert_eq!((effects.gaps, effects.cut, effects.unknown), (Some(3), 0, 0), "{effects:?}");
    let first = affected(&effects, &Caller::new(1)).expect("gaps");
    let directions: Vec<_> = first.gaps.iter().map(|gap| gap.direction).collect();
    assert_eq!(directions, [Some(Direction::CallerToCallee), Some(Direction::CalleeToCaller)]);
    // From the last packet to the next: up to 20 ms more than is missing.
    let lengths: Vec<f64> = first.gaps.iter().map(|gap| gap.gap_ms).collect();
    assert!((2_400.0..=2_440.0).contains(&lengths[0]), "{lengths:?}");
    assert!((2_600.0..=2_640.0).contains(&lengths[1]), "{lengths:?}");
    assert!(first.gaps[0].from >= at(10.46) && first.gaps[0].from < at(10.5));
    assert_eq!((first.effect, first.delay_ms), (None, None));
    assert!(effects.gap_lengths.gap_ms_max.is_some_and(|most| (2_600.0..=2_640.0).contains(&most)));
    assert!(affected(&effects, &Caller::new(2)).is_none());
    assert_eq!(effects.users, 4);
}

/// Nothing is lost by a stream that pauses: its numbers go on where they ended.
#[test]
fn silence_hold_and_other_sources_are_no_gaps() {
    let mut wire = lost_proxy();
    let silent = Caller::new(1);
    silent.established(&mut wire, 5.0);
    // Nothing from 9 s to 14 s but comfort noise, and one of its packets is lost.
    for side in 0..2 {
        let mut number = 0;
        for step in 0..1_000_u32 {
            let time = 5.1 + f64::from(step) * 0.02;
            let is_noise = (9.0..14.0).contains(&time);
            if is_noise && step % 50 != 0 {
                continue;
            }
            number += 1;
            if step != 350 {
                silent.rtp(&mut wire, time, side, (number, step * 160, side as u32));
            }
        }
    }
    // On hold from 9 s to 15 s: numbers go on meanwhile, at a place that is not seen here.
    let held = Caller::new(2);
    held.established(&mut wire, 5.0);
    held.describe_again(&mut wire, 9.0, 2, ["sendonly", "recvonly"]);
    held.sound(&mut wire, (5.1, 30.0), [(9.0, 15.1); 2]);
    held.describe_again(&mut wire, 15.0, 3, ["sendrecv", "sendrecv"]);
    // Its end.
    let ended = Caller::new(3);
    ended.established(&mut wire, 5.0);
    ended.sound(&mut wire, (5.1, 11.0), [(0.0, 0.0); 2]);
    ended.hang_up(&mut wire, &[11.0, 11.5, 12.5, 14.5]);
    let effects = told(wire);
    none(&effects);
    assert_eq!(effects.gaps, Some(0));
}

#[test]
fn another_source_that_takes_over_ends_a_gap() {
    for is_told in [false, true] {
        let mut wire = lost_proxy();
        let call = Caller::new(1);
        call.established(&mut wire, 5.0);
        call.sound(&mut wire, (5.1, 30.0), [(0.0, 0.0), (11.0, 30.0)]);
        // From 12.5 s on with another SSRC: 1,520 ms after the last packet.
        for step in 0..500_u16 {
            let time = 12.5 + f64::from(step) * 0.02;
            call.rtp(&mut wire, time, 1, (7_000 + step, 99 + 160 * u32::from(step), 77));
        }
        if is_told {
            call.describe_again(&mut wire, 12.4, 2, ["sendrecv", "sendrecv"]);
        }
        let effects = told(wire);
        if is_told {
            none(&effects);
            continue;
        }
        assert_eq!(effects.gaps, Some(1), "{effects:?}");
        let gap = affected(&effects, &call).expect("a gap").gaps[0];
        assert_eq!(gap.direction, Some(Direction::CalleeToCaller));
        assert!((1_500.0..=1_540.0).contains(&gap.gap_ms), "{gap:?}");
    }
}

#[test]
fn media_that_stops_without_bye_is_a_cut_where_it_is_known_to_have_stopped() {
    for (bye, until, expected) in [
        (None, 60.0, (1, 0)),
        (None, 18.0, (0, 1)),
        // Hung up since nothing was heard, or after a silence: nobody knows.
        (Some(20.0), 60.0, (0, 1)),
        (Some(10.6), 60.0, (0, 0)),
    ] {
        let mut wire = lost_proxy();
        let call = Caller::new(1);
        call.established(&mut wire, 5.0);
        call.sound(&mut wire, (5.1, 10.5), [(0.0, 0.0); 2]);
        if let Some(bye) = bye {
            call.hang_up(&mut wire, &[bye]);
        }
        let effects = told(wire.until(until));
        assert_eq!((effects.cut, effects.unknown), expected, "{bye:?} {until}: {effects:?}");
    }
    // On hold there is no sound.
    let mut wire = lost_proxy();
    let call = Caller::new(1);
    call.established(&mut wire, 5.0);
    call.sound(&mut wire, (5.1, 10.5), [(0.0, 0.0); 2]);
    call.describe_again(&mut wire, 9.8, 2, ["inactive", "inactive"]);
    none(&told(wire));
}

#[test]
fn copies_of_a_mirror_port_change_nothing() {
    let traffic = || {
        let mut wire = lost_proxy();
        (1..=3).for_each(|number| _ = delayed(&mut wire, number, 10.5));
        let established = Caller::new(9);
        established.established(&mut wire, 5.0);
        established.sound(&mut wire, (5.1, 30.0), [(10.5, 12.9), (0.0, 0.0)]);
        established.hang_up(&mut wire, &[30.5]);
        let once = Caller::new(10);
        once.invite(&mut wire, &[12.95]);
        once.answer(&mut wire, 13.003, 486);
        wire
    };
    let plain = told(traffic());
    let (_, copied, observed) = traffic().mirrored().effects();
    assert_eq!((copied.delayed, copied.gaps, copied.users), (3, Some(1), 8), "{copied:?}");
    assert_eq!((plain.delayed, plain.gaps, plain.users), (3, Some(1), 8), "{plain:?}");
    let once = observed.calls.iter().find(|call| call.call_id == "call-10").expect("its facts");
    assert_eq!(once.attempts.len(), 1);
    assert_eq!(once.attempts[0].repeated, None);
}

#[test]
fn who_registers_meanwhile_waits_too() {
    let mut wire = lost_proxy();
    for (id, from, answered) in [("r1", 10.5, 14.0), ("r2", 11.0, 14.5), ("r3", 20.0, 20.01)] {
        wire.request(from, (OTHER, PROXY), "REGISTER", id);
        wire.request(from + 0.005, (OTHER, PROXY), "REGISTER", id);
        wire.answer(answered, (OTHER, PROXY), "REGISTER", id, 200);
    }
    let effects = told(wire);
    // All register the same user.
    assert_eq!((effects.registering_users, effects.users), (1, 1), "{effects:?}");
}

/// A call that the proxy sends to one PBX after the other, and calls that it refuses since none is left.
#[test]
fn a_lost_pbx_delays_what_is_sent_on_and_fails_what_is_refused() {
    let (first, second) = ("203.0.113.1:5060", "203.0.113.2:5060");
    let mut wire = Wire::default();
    watched(&mut wire, first, (10, 14), 60);
    watched(&mut wire, second, (0, 0), 60);
    let hop = |wire: &mut Wire, seconds: f64, ends: (&str, &str), id: &str, codes: &[(f64, u16)]| {
        wire.request(seconds, ends, "INVITE", id);
        codes.iter().for_each(|(time, code)| wire.answer(*time, ends, "INVITE", id, *code));
    };
    let caller = phone(1);
    hop(&mut wire, 10.5, (&caller, PROXY), "sent-on", &[(10.51, 100), (12.6, 180), (13.0, 200)]);
    hop(&mut wire, 10.52, (PROXY, first), "sent-on", &[]);
    hop(&mut wire, 11.02, (PROXY, first), "sent-on", &[]);
    hop(&mut wire, 12.5, (PROXY, second), "sent-on", &[(12.59, 180), (12.99, 200)]);
    // The proxy knows by now.
    hop(&mut wire, 12.7, (&caller, PROXY), "refused", &[(12.71, 503)]);
    hop(&mut wire, 12.8, (&caller, PROXY), "busy", &[(12.81, 486)]);
    hop(&mut wire, 13.0, (&caller, PROXY), "other", &[(13.01, 100), (13.2, 503)]);
    hop(&mut wire, 13.02, (PROXY, second), "other", &[(13.19, 503)]);
    let (_, effects, observed) = wire.effects();
    let found: Vec<_> = effects.affected.iter().map(|call| (&call.call_id[..], call.effect)).collect();
    assert_eq!(found, [("sent-on", Some("delayed")), ("refused", Some("failed"))], "{effects:?}");
    assert!(near(effects.delays.delay_ms_max, 2_090.0), "{effects:?}");
    // A Call-ID counts once, on however many hops.
    assert_eq!((observed.total, effects.calls), (4, 4));
}

#[test]
fn ceilings_hold_and_what_they_turn_away_is_counted() {
    let mut wire = lost_proxy();
    for number in 1..=6 {
        let call = Caller::new(number);
        call.established(&mut wire, 5.0 + 0.1 * f64::from(number));
        call.sound(&mut wire, (6.0, 20.0), [(10.5, 12.9), (10.5, 12.9)]);
        let id = format!("r{number}");
        wire.request(10.5 + 0.1 * f64::from(number), (OTHER, PROXY), "REGISTER", &id);
        wire.answer(14.0, (OTHER, PROXY), "REGISTER", &id, 200);
        call.hang_up(&mut wire, &[20.1]);
    }
    let settings = Settings { calls: 2, registers: 2, gaps: 2, ..Settings::default() };
    let (_, effects, observed) = wire.effects_by(settings);
    assert_eq!((observed.calls.len(), observed.registers.len()), (2, 2));
    assert_eq!((observed.calls_refused, observed.total), (4, 6), "{effects:?}");
    // Four REGISTER, ten gaps, and the INVITEs of four calls.
    assert_eq!(observed.facts_refused, 4 + 10 + 4);
    assert!(effects.gaps.is_some_and(|gaps| gaps <= 2));
}

#[test]
fn effects_are_told_once_the_calls_of_a_failover_are_known() {
    let mut wire = lost_proxy();
    _ = delayed(&mut wire, 1, 10.1);
    // Two go on for longer than is waited for them: of one, sound was lost in one direction.
    Caller::new(2).established(&mut wire, 5.0);
    Caller::new(2).sound(&mut wire, (6.0, 480.0), [(10.5, 12.9), (0.0, 0.0)]);
    Caller::new(3).established(&mut wire, 5.1);
    Caller::new(3).sound(&mut wire, (6.0, 480.0), [(0.0, 0.0); 2]);
    // One falls silent in both, and nobody ends it.
    Caller::new(4).established(&mut wire, 5.2);
    Caller::new(4).sound(&mut wire, (6.0, 11.0), [(0.0, 0.0); 2]);
    let frames = wire.frames().to_vec();
    let before: Vec<_> = frames.iter().filter(|(time, _)| *time < at(370.0)).cloned().collect();
    assert_eq!(follow(&before, Settings::default(), 0.5), [], "too early");
    let told = follow(&frames, Settings::default(), 100.0);
    let [effects] = &told[..] else { panic!("{told:?}") };
    assert_eq!((effects.delayed, effects.cut, effects.gaps, effects.calls), (1, 1, Some(1), 4));
    let gap = affected(effects, &Caller::new(2)).expect("a gap").gaps[0];
    assert_eq!((gap.direction, near(Some(gap.gap_ms), 2_420.0)), (Some(Direction::CallerToCallee), true));
    assert_eq!(affected(effects, &Caller::new(4)).and_then(|call| call.effect), Some("cut"));
}

#[test]
fn a_service_that_stays_away_is_judged_after_a_quarter_of_an_hour() {
    let mut wire = Wire::default();
    watched(&mut wire, PROXY, (10, 2_000), 2_000);
    let call = Caller::new(1);
    call.invite(&mut wire, &[11.0, 11.5, 12.5, 14.5, 18.5, 22.5, 26.5]);
    let frames = wire.frames().to_vec();
    let until =
        |second: f64| frames.iter().filter(|(time, _)| *time < at(second)).cloned().collect::<Vec<_>>();
    assert_eq!(follow(&until(905.0), Settings::default(), 0.5), []);
    let told = follow(&frames, Settings::default(), 0.5);
    assert_eq!(told.iter().map(|effects| effects.failed).collect::<Vec<_>>(), [1]);
}
