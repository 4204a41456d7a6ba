//! What holds for any scenario.

use std::collections::BTreeSet;

use proptest::prelude::*;
use ringtap_model::{CallState, Nanos};
use ringtap_traffic::{
    Batch, Codec, Cross, HoldingTime, Jitter, Loss, Mix, Rate, Scenario, Share, Traffic, Transport, Truth,
};
use ringtap_wire::sip::Message;
use ringtap_wire::{rtp, sdp};

use crate::made::make;

fn share(most: f64) -> impl Strategy<Value = Share> {
    (0.0..=most).prop_map(|share| Share::new(share).unwrap())
}

fn hold() -> impl Strategy<Value = HoldingTime> {
    prop_oneof![
        (0.001..20.0).prop_map(HoldingTime::Constant),
        (0.001..5.0, 0.0..5.0).prop_map(|(low, more)| HoldingTime::Uniform { low, high: low + more }),
        (0.001..5.0).prop_map(|mean| HoldingTime::Exponential { mean }),
        (0.001..5.0, 0.001..1.0).prop_map(|(median, sigma)| HoldingTime::LogNormal { median, sigma }),
        (0.001..5.0, 0.001..50.0).prop_map(|(mean, shape)| HoldingTime::InverseGaussian { mean, shape }),
    ]
}

fn loss() -> impl Strategy<Value = Loss> {
    prop_oneof![
        Just(Loss::None),
        share(1.0).prop_map(Loss::Bernoulli),
        (share(0.3), share(1.0), share(1.0), share(0.1))
            .prop_map(|(to_bad, to_good, bad, good)| Loss::Gilbert { to_bad, to_good, bad, good }),
    ]
}

fn jitter() -> impl Strategy<Value = Jitter> {
    prop_oneof![
        Just(Jitter::None),
        (0.1..10.0, 0.001..100.0).prop_map(|(shape, scale)| Jitter::Gamma { shape, scale }),
    ]
}

prop_compose! {
    fn scenario()(
        seed in any::<u64>(),
        (calls, registrations) in (0_u64..12, 0_u64..6),
        rate in 0.1..1_000.0,
        (hold, loss, jitter) in (hold(), loss(), jitter()),
        codec in prop::sample::select(Codec::all().collect::<Vec<_>>()),
        // Whole frames of every codec.
        ptime in Just(60_u64),
        (reorder, duplicate) in (share(1.0), share(1.0)),
        (failed, cancelled, challenged) in (share(0.5), share(0.5), share(1.0)),
        (retransmit, reinvite, dtmf) in (share(1.0), share(1.0), share(1.0)),
        tcp in any::<bool>(),
    ) -> Scenario {
        Scenario {
            calls, registrations, rate, hold, reorder, duplicate, failed, cancelled, challenged, retransmit,
                reinvite, dtmf,
            codecs: Mix::only(codec),
            loss: Mix::only(loss),
            jitter: Mix::only(jitter),
            ptime: Mix::only(Nanos::from_millis(ptime)),
            transport: Mix::only(if tcp { Transport::Tcp } else { Transport::Udp }),
            ..Scenario::new(seed)
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    /// It ends, its times never go back and are whole microseconds, its messages and packets are what they
    /// should be, and each call and registration is told once.
    #[test]
    fn any_scenario_makes_sense(scenario in scenario()) {
        let (calls, registrations) = (scenario.calls, scenario.registrations);
        let start = scenario.start;
        let made = make(scenario);
        let mut last = start;
        for packet in made.packets() {
            prop_assert!(packet.time >= last && packet.time.0.is_multiple_of(1_000));
            last = packet.time;
            match packet.payload.first() {
                Some(0x80) => prop_assert!(rtp::View::parse(packet.payload, packet.payload.len()).is_ok()),
                Some(_) if !packet.tcp => {
                    let message = Message::parse(packet.payload).unwrap();
                    prop_assert!(message.cseq().is_some() && message.top_via().is_some());
                    prop_assert!(message.from().is_some_and(|from| from.tag().is_some()));
                    if let Some(body) = message.sdp() {
                        let body = sdp::Sdp::parse(body).unwrap();
                        prop_assert_eq!(body.media().count(), 1);
                    }
                }
                _ => prop_assert!(packet.tcp),
            }
        }
        let count = |of: fn(&Truth) -> bool| made.truth.iter().filter(|truth| of(truth)).count() as u64;
        prop_assert_eq!(count(|truth| matches!(truth, Truth::Call(_))), calls);
        prop_assert_eq!(count(|truth| matches!(truth, Truth::Registration(_))), registrations);
    }

    #[test]
    fn the_same_seed_makes_the_same_bytes(scenario in scenario()) {
        let (one, other) = (make(scenario.clone()), make(scenario));
        prop_assert_eq!(one.frames, other.frames);
        prop_assert_eq!(one.truth, other.truth);
    }
}

#[test]
fn different_seeds_make_different_calls() {
    let call_ids = |seed| -> BTreeSet<String> {
        let truth = make(Scenario { hold: HoldingTime::Constant(0.5), ..Scenario::new(seed) }).truth;
        truth
            .into_iter()
            .filter_map(|truth| match truth {
                Truth::Call(call) => Some(call.call_id),
                _ => None,
            })
            .collect()
    };
    let (one, other) = (call_ids(1), call_ids(2));
    assert_eq!((one.len(), other.len()), (20, 20));
    assert!(one.is_disjoint(&other));
}

/// Shares of 4,000 calls: five standard deviations are four per cent.
#[test]
fn shares_and_rates_are_as_asked() {
    let share = |value| Share::new(value).unwrap();
    let scenario = Scenario {
        calls: 4_000,
        rate: 50.0,
        hold: HoldingTime::Constant(0.1),
        failed: share(0.2),
        cancelled: share(0.1),
        challenged: share(0.3),
        ..Scenario::new(9)
    };
    let start = scenario.start;
    let calls: Vec<_> = make(scenario)
        .truth
        .into_iter()
        .filter_map(|truth| match truth {
            Truth::Call(call) => Some(call),
            _ => None,
        })
        .collect();
    let share_of = |state| calls.iter().filter(|call| call.state == state).count() as f64 / 4_000.0;
    assert!((share_of(CallState::Failed) - 0.2).abs() < 0.04);
    assert!((share_of(CallState::Cancelled) - 0.1).abs() < 0.04);
    assert!((share_of(CallState::Completed) - 0.7).abs() < 0.04);
    let mut begins: Vec<f64> = calls.iter().map(|call| (call.invite.unwrap() - start).secs_f64()).collect();
    begins.sort_by(f64::total_cmp);
    let took = begins[begins.len() - 1];
    assert!((took / 80.0 - 1.0).abs() < 0.08, "4,000 calls at 50 a second took {took} s");
    // Poisson: the time between two is exponential, so its deviation is its mean.
    let gaps: Vec<f64> = begins.windows(2).map(|pair| pair[1] - pair[0]).collect();
    let mean = gaps.iter().sum::<f64>() / gaps.len() as f64;
    let variance = gaps.iter().map(|gap| (gap - mean).powi(2)).sum::<f64>() / gaps.len() as f64;
    assert!((variance.sqrt() / mean - 1.0).abs() < 0.1);
}

/// However many calls: what is held is what is under way.
#[test]
fn memory_is_that_of_the_calls_under_way() {
    let scenario =
        Scenario { calls: 3_000, rate: 100.0, hold: HoldingTime::Constant(0.2), ..Scenario::new(4) };
    let mut traffic = Traffic::new(scenario).unwrap();
    let (mut most, mut told) = (0, 0);
    while traffic.next().is_some() {
        most = most.max(traffic.active_sessions());
        told += traffic.truth().filter(|truth| matches!(truth, Truth::Call(_))).count();
    }
    assert_eq!(told, 3_000);
    // A call takes 13 s at most here, some 6 s on average: 100 a second are 600 at once.
    assert!((300..1_200).contains(&most), "{most}");
}

/// Sent when due, and late: the same frames, and a truth with the times at which they went.
#[test]
fn what_is_sent_late_is_told_late() {
    // Reports tell of the jitter that there was, which is another one here.
    let scenario = || Scenario {
        calls: 5,
        hold: HoldingTime::Constant(1.0),
        cross: Some(Cross::new(Rate::Packets(50.0))),
        rtcp: Share::NONE,
        ..Scenario::everything(3)
    };
    let plain = make(scenario());
    let mut traffic = Traffic::new(scenario()).unwrap();
    let (mut now, mut frames) = (scenario().start, Vec::new());
    let mut batch = Batch::new(16);
    loop {
        batch.clear();
        let next = traffic.fill_due(now, &mut batch);
        assert!(batch.frames().all(|(due, _)| due <= now));
        frames.extend(batch.frames().map(|(due, frame)| (due, frame.to_vec())));
        let Some(next) = next else { break };
        // Three milliseconds late, always.
        now = now.max(next + Nanos::from_millis(3));
    }
    assert!(frames == plain.frames, "{} frames, not {}", frames.len(), plain.frames.len());
    let told: Vec<Truth> = traffic.truth().collect();
    assert_eq!(told.len(), plain.truth.len());
    for (late, truth) in told.iter().zip(&plain.truth) {
        if let (Truth::Call(late), Truth::Call(truth)) = (late, truth) {
            let behind = late.invite.unwrap() - truth.invite.unwrap();
            assert!((Nanos::ZERO..=Nanos::from_millis(3)).contains(&behind), "{behind:?}");
            assert_eq!((late.messages, &late.call_id), (truth.messages, &truth.call_id));
        }
    }
}

#[test]
fn values_that_do_not_go_together_are_refused() {
    let refused = |scenario: Scenario| Traffic::new(scenario).map(drop).unwrap_err().to_string();
    let base = || Scenario::new(1);
    let share = |value| Share::new(value).unwrap();
    assert!(refused(Scenario { rate: 0.0, ..base() }).contains("calls per second"));
    assert!(refused(Scenario { rate: f64::NAN, ..base() }).contains("calls per second"));
    assert!(refused(Scenario { calls: u64::MAX, ..base() }).contains("6,000,000"));
    assert!(refused(Scenario { failed: share(0.6), cancelled: share(0.6), ..base() }).contains("60% failed"));
    assert!(refused(Scenario { start: Nanos::MAX, ..base() }).contains("2100"));
    assert!(
        refused(Scenario { ptime: Mix::only(Nanos::from_millis(25)), ..base() })
            .contains("multiple of 10 ms")
    );
}

/// A digest of everything that a scenario with all of it makes. Where it changes, so does every capture that
/// someone has described by its command, and `demo/calls.pcap` with them: change it knowingly.
#[test]
fn a_seed_keeps_its_bytes() {
    let share = |value| Share::new(value).unwrap();
    let everything = Scenario {
        hold: "lognormal:3,0.5".parse().unwrap(),
        codecs: "PCMU=1,PCMA=1,G722=1,G729=1,GSM=1,opus=1".parse().unwrap(),
        loss: Mix::only("gilbert:2%,25%,90%,0.5%".parse().unwrap()),
        reorder: share(0.02),
        duplicate: share(0.02),
        failed: share(0.1),
        reinvite: share(0.3),
        dtmf: share(0.3),
        registrations: 3,
        ..Scenario::new(1)
    };
    let made = make(everything);
    // FNV-1a.
    let mut digest = 0xcbf2_9ce4_8422_2325_u64;
    for (time, frame) in &made.frames {
        for octet in time.0.to_le_bytes().iter().chain(frame) {
            digest = (digest ^ u64::from(*octet)).wrapping_mul(0x0000_0100_0000_01b3);
        }
    }
    assert_eq!((made.frames.len(), format!("{digest:016x}").as_str()), (5_175, "a9f82cd44e7a6ed1"));
}
