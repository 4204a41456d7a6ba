//! Any number of workers gives the records of one.
#![expect(clippy::unwrap_used, reason = "a scenario that does not parse fails the test")]

use std::collections::VecDeque;
use std::path::{Path, PathBuf};

use proptest::prelude::*;
use ringtap_capture::Capture;
use ringtap_cases::run::{self, Records};
use ringtap_cases::shared;
use ringtap_engine::config::TRANSACTIONS;
use ringtap_engine::{Config, Engine, team};
use ringtap_model::{Call, Frame, Id, LinkType, Nanos};
use ringtap_traffic::{Mix, Scenario, Share, Traffic, Transport};

const WORKERS: [usize; 3] = [1, 2, 4];
/// Batches in one case and another: the cut must not show either.
const BATCHES: [usize; 2] = [7, 1000];

fn sorted(records: &Records) -> Vec<String> {
    let mut lines: Vec<String> = records.lines().collect();
    lines.sort();
    lines
}

/// What differs, if anything does: lines of one side that the other has not.
fn difference(one: &[String], other: &[String]) -> Option<String> {
    let lacks = |lines: &[String], of: &[String], sign: &str| -> Vec<String> {
        let lacking = lines.iter().filter(|line| of.binary_search(line).is_err());
        lacking.take(4).map(|line| format!("    {sign} {line}")).collect()
    };
    let found = [lacks(one, other, "-"), lacks(other, one, "+")].concat();
    if found.is_empty() && one.len() == other.len() { None } else { Some(found.join("\n")) }
}

fn check(path: &Path, config: &Config) -> Vec<String> {
    // What cannot be opened is another test's.
    let Ok(capture) = Capture::open(path, None) else { return Vec::new() };
    let captured = capture.frames().owned();
    let single = run::frames(captured.iter(), config.clone(), 64);
    let wanted = sorted(&single);
    let mut faults = Vec::new();
    let deferred = run::deferred(captured.iter(), config.clone(), 64);
    if let Some(difference) = difference(&wanted, &sorted(&deferred)) {
        faults.push(format!("{}: records made after the end:\n{difference}", path.display()));
    }
    for workers in WORKERS {
        for batch in BATCHES {
            let team = run::team(captured.iter(), config, workers, batch);
            let name = path.display();
            if let Some(difference) = difference(&wanted, &sorted(&team)) {
                faults.push(format!("{name}: {workers} workers, batches of {batch}:\n{difference}"));
            }
            if team.counters != single.counters {
                faults.push(format!(
                    "{name}: {workers} workers, batches of {batch}:\n    - {:?}\n    + {:?}",
                    single.counters, team.counters
                ));
            }
        }
    }
    faults
}

fn check_all(paths: &[PathBuf]) {
    let usual = Config { transactions: TRANSACTIONS.to_vec(), ..Config::default() };
    // Limits so short that calls and streams end all the time, while others go on.
    let hasty = Config {
        invite_limit: Nanos::from_secs(3),
        idle_limit: Nanos::from_secs(2),
        linger: Nanos::from_millis(700),
        challenge_limit: Nanos::from_secs(1),
        stream_idle: Nanos::from_secs(1),
        provisional_limit: Nanos::from_millis(600),
        ..usual.clone()
    };
    let faults: Vec<String> =
        paths.iter().flat_map(|path| [check(path, &usual), check(path, &hasty)].concat()).collect();
    assert!(
        faults.is_empty(),
        "{} differences in {} captures:\n{}",
        faults.len(),
        paths.len(),
        faults.join("\n")
    );
}

#[test]
fn every_case() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let cases = shared::captures(root);
    assert!(cases.len() > 80, "only {} cases", cases.len());
    check_all(&cases);
}

#[test]
fn every_shared_capture() {
    if let Some(folder) = ringtap_testing::shared() {
        check_all(&shared::captures(&folder.join("captures")));
    }
}

/// Calls of every kind over a bad network, many at once.
struct Captured(Vec<(Nanos, Vec<u8>)>);

impl Captured {
    fn new(seed: u64, calls: u64, transport: Transport) -> Self {
        let share = |share: f64| Share::new(share).unwrap();
        let scenario = Scenario {
            calls,
            rate: 10.0,
            hold: "lognormal:6,1".parse().unwrap(),
            loss: "gilbert:1%,20%,90%,0.2%".parse().map(Mix::only).unwrap(),
            jitter: "gamma:2,1.5".parse().map(Mix::only).unwrap(),
            reorder: share(0.01),
            duplicate: share(0.01),
            failed: share(0.1),
            cancelled: share(0.1),
            challenged: share(0.2),
            retransmit: share(0.1),
            reinvite: share(0.3),
            dtmf: share(0.3),
            registrations: 60,
            transport: Mix::only(transport),
            ..Scenario::new(seed)
        };
        let mut traffic = Traffic::new(scenario).unwrap();
        let mut frames = Vec::new();
        while let Some((time, frame)) = traffic.next() {
            frames.push((time, frame.to_vec()));
        }
        Self(frames)
    }

    fn frames(&self) -> impl Iterator<Item = Frame<'_>> {
        (1..).zip(&self.0).map(|(number, (time, data))| Frame {
            time: *time,
            number,
            link: LinkType(1),
            wire_len: data.len() as u32,
            data,
        })
    }
}

#[test]
fn generated_traffic() {
    for (seed, transport) in [(1, Transport::Udp), (2, Transport::Tcp)] {
        let captured = Captured::new(seed, 300, transport);
        let single = run::frames(captured.frames(), Config::default(), 64);
        assert_eq!(single.calls.len(), 300);
        for workers in [2, 3, 8] {
            let team = run::team(captured.frames(), &Config::default(), workers, 4096);
            let difference = difference(&sorted(&single), &sorted(&team)).unwrap_or_default();
            assert!(difference.is_empty(), "{workers} workers:\n{difference}");
            assert_eq!(team.counters, single.counters);
        }
    }
}

/// How a network card might share packets out.
#[derive(Clone, Copy, Debug)]
enum Spread {
    /// By source.
    Source,
    /// By both ends, as receive-side scaling does.
    Flow,
}

/// The worker of a frame of generated traffic (Ethernet, IPv4, UDP or TCP), and SIP messages anywhere.
fn lands(frame: &Frame<'_>, spread: Spread, salt: u64, workers: usize) -> usize {
    let (ends, ports) = (&frame.data[26..34], &frame.data[34..38]);
    let key = match (spread, ports == [0x13, 0xc4, 0x13, 0xc4]) {
        (_, true) => frame.number.to_be_bytes().to_vec(),
        (Spread::Source, _) => [&ends[..4], &ports[..2]].concat(),
        (Spread::Flow, _) => [ends, ports].concat(),
    };
    let hash =
        key.iter().fold(salt, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3));
    (hash >> 24) as usize % workers
}

/// A live team: every worker takes its own frames as fast as it can, none more than `lag` behind another.
fn live(captured: &Captured, spread: Spread, salt: u64, workers: usize, lag: Nanos) -> Records {
    let mut engines = Engine::team(&Config::default(), workers);
    let mut queues: Vec<VecDeque<Frame<'_>>> = vec![VecDeque::new(); workers];
    captured.frames().for_each(|frame| queues[lands(&frame, spread, salt, workers)].push_back(frame));
    let mut records = Records::default();
    let mut random = salt | 1;
    while let Some(oldest) = queues.iter().filter_map(|queue| Some(queue.front()?.time)).min() {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let worker = (random >> 33) as usize % workers;
        let mut batch = Vec::new();
        while batch.len() < (random >> 60) as usize
            && let Some(frame) = queues[worker].pop_front_if(|frame| frame.time <= oldest + lag)
        {
            batch.push(frame);
        }
        // With nothing to take, too: others wait for answers.
        engines[worker].batch(&batch, &mut records);
    }
    team::close(|stage| {
        let each = engines.iter_mut();
        each.fold(false, |more, engine| engine.stage(stage, &[], &mut records) | more)
    });
    engines.iter().for_each(|engine| records.counters += engine.counters());
    records
}

/// What does not depend on when one worker hears of another's news: calls in full, but for the streams'
/// judgement.
fn essence(records: &Records, spread: Spread) -> Vec<String> {
    let calls = records.calls.iter().map(|call| {
        let streams = vec![Id([0; 16]); call.streams.len()];
        format!("{:?}", Call { streams, mos: None, mos_worst_interval: None, ..call.clone() })
    });
    let streams = records.streams.iter().map(|stream| {
        let ends = (stream.src, stream.dst, stream.ssrc);
        let counts = (stream.packets, stream.unique, stream.duplicates, stream.reordered);
        // Numbers spent on another destination are told from lost ones where both streams have one worker.
        let lost = matches!(spread, Spread::Source).then_some(stream.lost);
        let call = (&stream.call_id, stream.direction, &stream.codec, stream.clock);
        format!("{ends:?} {call:?} {counts:?} {lost:?}")
    });
    let registrations = records.registrations.iter().map(|registration| format!("{registration:?}"));
    let mut lines: Vec<String> = calls.chain(streams).chain(registrations).collect();
    lines.sort();
    lines
}

/// The last answer of a call waits at a worker whose own next frame comes when the time of that call is over.
#[test]
fn a_message_that_waits_comes_before_a_long_silence() {
    let captured = Captured::new(671, 40, Transport::Udp);
    let single = run::frames(captured.frames(), Config::default(), 64);
    let team = live(&captured, Spread::Flow, 3_605_819_142_292_956_244, 4, Nanos::ZERO);
    let (single, team) = (essence(&single, Spread::Flow), essence(&team, Spread::Flow));
    let difference = difference(&single, &team).unwrap_or_default();
    assert!(difference.is_empty(), "\n{difference}");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, failure_persistence: None, ..ProptestConfig::default() })]

    /// Wherever packets land, and whenever who gets to them.
    #[test]
    fn a_live_team_finds_the_same_calls(
        seed in 0..1000u64,
        salt: u64,
        workers in 2..6usize,
        spread in prop_oneof![Just(Spread::Source), Just(Spread::Flow)],
        lag in 0..60_000u64,
    ) {
        let captured = Captured::new(seed, 40, Transport::Udp);
        let single = run::frames(captured.frames(), Config::default(), 64);
        let team = live(&captured, spread, salt, workers, Nanos::from_micros(lag));
        let difference = difference(&essence(&single, spread), &essence(&team, spread)).unwrap_or_default();
        prop_assert!(difference.is_empty(), "\n{}", difference);
        let lost = (team.counters.sip_forwards_lost, team.counters.worker_messages_lost,
            team.counters.calls_incomplete);
        prop_assert_eq!(lost, (0, 0, 0));
        prop_assert_eq!(team.counters.sip, single.counters.sip);
    }
}
