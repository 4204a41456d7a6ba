//! Any number of workers gives the records of one.

use std::path::{Path, PathBuf};

use ringtap_capture::Capture;
use ringtap_cases::run::{self, Records};
use ringtap_cases::shared;
use ringtap_engine::Config;
use ringtap_model::{Frame, LinkType, Nanos};
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
    let Ok(capture) = Capture::open(path) else { return Vec::new() };
    let single = run::frames(capture.frames(), config.clone(), 64);
    let wanted = sorted(&single);
    let mut faults = Vec::new();
    for workers in WORKERS {
        for batch in BATCHES {
            let team = run::team(capture.frames(), config, workers, batch);
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
    // Limits so short that calls and streams end all the time, while others go on.
    let hasty = Config {
        invite_limit: Nanos::from_secs(3),
        idle_limit: Nanos::from_secs(2),
        linger: Nanos::from_millis(700),
        challenge_limit: Nanos::from_secs(1),
        stream_idle: Nanos::from_secs(1),
        provisional_limit: Nanos::from_millis(600),
        ..Config::default()
    };
    let faults: Vec<String> = paths
        .iter()
        .flat_map(|path| [check(path, &Config::default()), check(path, &hasty)].concat())
        .collect();
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
    if let Some(folder) = shared::folder() {
        check_all(&shared::captures(&folder.join("captures")));
    }
}

/// Calls of every kind over a bad network, hundreds at once.
#[test]
fn generated_traffic() {
    for (seed, transport) in [(1, Transport::Udp), (2, Transport::Tcp)] {
        let share = |share: f64| Share::new(share).unwrap();
        let mut traffic = Traffic::new(Scenario {
            calls: 300,
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
        })
        .unwrap();
        let mut frames = Vec::new();
        while let Some((time, frame)) = traffic.next() {
            frames.push((time, frame.to_vec()));
        }
        let frames = || {
            (1..).zip(&frames).map(|(number, (time, data))| Frame {
                time: *time,
                number,
                link: LinkType(1),
                wire_len: data.len() as u32,
                data,
            })
        };
        let single = run::frames(frames(), Config::default(), 64);
        assert_eq!(single.calls.len(), 300);
        for workers in [2, 3, 8] {
            let team = run::team(frames(), &Config::default(), workers, 4096);
            let difference = difference(&sorted(&single), &sorted(&team)).unwrap_or_default();
            assert!(difference.is_empty(), "{workers} workers:\n{difference}");
            assert_eq!(team.counters, single.counters);
        }
    }
}
