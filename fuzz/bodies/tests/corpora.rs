//! Every input that is kept, through the body of its target: seeds, what fuzzing found worth keeping, and
//! regressions.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use ringtap_fuzz_bodies::{BODIES, engine_counters};

/// The files of one target in one of the folders, in order of their names.
fn inputs(folder: &str, target: &str) -> Vec<PathBuf> {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(folder).join(target);
    let entries = fs::read_dir(directory).into_iter().flatten();
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.expect("a readable folder").path()).collect();
    paths.sort();
    paths
}

#[expect(clippy::print_stdout, reason = "names the input that fails; shown then alone")]
fn run(target: &str) {
    let (_, body) = BODIES.iter().find(|(name, _)| *name == target).expect("a target of that name");
    let folders = ["seeds", "corpus", "regressions"];
    let paths: Vec<PathBuf> = folders.iter().flat_map(|folder| inputs(folder, target)).collect();
    assert!(!paths.is_empty(), "a target without inputs finds nothing");
    for path in paths {
        println!("{}", path.display());
        body(&fs::read(&path).expect("a readable file"));
    }
}

/// What a single engine without an added tracker does not count: messages between workers, datagrams of added
/// trackers (`crates/engine/tests/extending.rs` reaches those), RTCP of more streams than there may be, more
/// reports than are listed, quality reports (both have unit tests), thousands of codec names
/// (`crates/engine/tests/hostile`), and messages that find no room although older ones gave way (a unit test
/// of their table does).
const NOT_HERE: [&str; 11] = [
    "messages_refused",
    "sip_forwards_lost",
    "worker_messages_lost",
    "calls_incomplete",
    "tracked",
    "tracked_refused",
    "rtcp_refused",
    "rtcp_reports_refused",
    "quality_reports_unmatched",
    "codecs_refused",
    "codecs_evicted",
];

/// Every kind of packet, and every way to drop one: the scripts reach the state in which it happens.
#[test]
fn the_inputs_of_the_engine_reach_every_counter() {
    let folders = ["seeds", "corpus"];
    let mut reached: BTreeMap<&str, u64> = BTreeMap::new();
    for path in folders.iter().flat_map(|folder| inputs(folder, "engine")) {
        let counters = engine_counters(&fs::read(&path).expect("a readable file"));
        let counts = counters.kinds().into_iter().chain(counters.drops());
        for (name, count) in counts.filter(|(name, _)| !NOT_HERE.contains(name)) {
            *reached.entry(name).or_default() += count;
        }
    }
    let missing: Vec<&str> =
        reached.into_iter().filter(|(_, count)| *count == 0).map(|(name, _)| name).collect();
    assert_eq!(missing, [""; 0], "never counted");
}

macro_rules! targets {
    ($($name:ident),*) => {
        $(#[test]
        fn $name() {
            run(stringify!($name));
        })*

        #[test]
        fn each_body_has_a_test_and_a_target() {
            let tests = [$(stringify!($name)),*];
            let targets = Path::new(env!("CARGO_MANIFEST_DIR")).join("../fuzz_targets");
            for (name, _) in BODIES {
                assert!(tests.contains(&name), "{name} has no test");
                let target = targets.join(format!("{name}.rs"));
                assert!(target.is_file(), "{name} has no target");
            }
        }
    };
}

targets!(
    frame,
    media,
    hep,
    handover,
    radius,
    dhcp,
    pppoe,
    sip,
    stream,
    sdp,
    websocket,
    capture,
    audio,
    engine,
    anonymise,
    spool,
    seals,
    chain,
    deletions,
    far,
    network,
    journal,
    outbox,
    compact,
    configuration,
    control,
    search,
    target,
    acts,
    x1
);
