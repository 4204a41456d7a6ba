//! Power cuts at any moment, and syncs that fail: what somebody was told is done is still done afterwards.
//!
//! The calls that change files are recorded while a spool is written, held, forgotten and expired. Each power
//! cut leaves what was synced before a moment, and some of the rest. `make faults` tries a thousand:
//!
//! ```text
//! RINGTAP_POWER_CUTS=1000 cargo test -p ringtap-spool --test power
//! ```

#[expect(dead_code, reason = "shared with the faults")]
#[path = "../faults/dice.rs"]
mod dice;
mod record;
mod sync;
mod sys;
mod work;

use std::collections::BTreeMap;
use std::env;
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};

use dice::Dice;
use record::{Event, Loss};
use work::{History, Work};

/// Power cuts that the ordinary tests try.
const SAMPLE: u64 = 60;

/// One test at a time is recorded.
static TURN: Mutex<()> = Mutex::new(());

fn turn() -> MutexGuard<'static, ()> {
    TURN.lock().unwrap_or_else(PoisonError::into_inner)
}

fn number(name: &str) -> Option<u64> {
    env::var(name).ok().map(|value| value.parse().unwrap_or_else(|_| panic!("{name}={value}: not a number")))
}

/// A directory in memory if there is one.
fn scratch() -> tempfile::TempDir {
    let memory = Path::new("/dev/shm");
    let dir = if memory.is_dir() { memory.to_owned() } else { env::temp_dir() };
    tempfile::Builder::new().prefix("ringtap-power").tempdir_in(dir).expect("a directory")
}

#[test]
fn a_power_cut_at_any_moment_loses_nothing_that_was_told_to_be_done() {
    let _turn = turn();
    let home = scratch();
    let live = home.path().join("live");
    sys::watch(live.to_str().expect("text"));
    let work = Work::carry_out(&live);
    let events = sys::unwatch();
    assert!(events.len() > 300, "{} calls were recorded", events.len());
    assert!(events.iter().any(|event| matches!(event, Event::Write { .. })));
    let (first, count) = match number("RINGTAP_POWER_CUT") {
        Some(one) => (one, 1),
        None => (0, number("RINGTAP_POWER_CUTS").unwrap_or(SAMPLE)),
    };
    let (mut problems, mut tried) = (Vec::new(), BTreeMap::new());
    for number in first..first + count {
        let mut dice = Dice::of(number);
        let end = 1 + dice.below(events.len());
        let loss = [Loss::All, Loss::Some, Loss::Journal][dice.below(3)];
        let dir = home.path().join("cut");
        record::cut(&events[..end], loss, &mut dice, &dir);
        let history = History::of(&events[..end]);
        let found = work.check(&dir, &history);
        let row: &mut (u64, u64) = tried.entry(format!("{loss:?}")).or_default();
        *row = (row.0 + 1, row.1 + u64::from(!found.is_empty()));
        if !found.is_empty() {
            problems.push(format!(
                "{number}: after {end} of {} calls, {loss:?}: {}",
                events.len(),
                found.join("; ")
            ));
        }
        std::fs::remove_dir_all(&dir).expect("removed");
    }
    println!("| what was not synced | power cuts | with a problem |\n|---|---|---|");
    for (loss, (cuts, bad)) in tried {
        println!("| {loss} | {cuts} | {bad} |");
    }
    problems.truncate(40);
    assert!(problems.is_empty(), "{}", problems.join("\n"));
}
