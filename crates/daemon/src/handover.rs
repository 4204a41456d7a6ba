//! Calls of the previous run that go on in this one.

use std::collections::HashSet;

use ringtap_engine::{ContinuedCall, ContinuedLeg};
use ringtap_model::{CallState, Id, Nanos};
use ringtap_recorder::recovery::{CallOfJournal, RecoveredCalls};
use ringtap_report::text::counted;
use ringtap_store::RecoveredCall;

use crate::call_notes::legs_of_note;
use crate::worker::Worker;

/// Lets the workers go on with the calls of the previous run, before they see their first packet. Returns
/// which do: the others are recorded as they are.
///
/// Call `settle` to let the journal write what it was told: it has a queue of bounded length.
pub(crate) fn go_on(
    calls: &RecoveredCalls,
    (last, now): (Nanos, Nanos),
    workers: &mut [Worker],
    settle: impl Fn(),
) -> HashSet<Id> {
    let mut going_on = HashSet::new();
    let in_progress: Vec<_> = calls.iter().filter(|entry| is_in_progress(&entry.call)).collect();
    if in_progress.is_empty() {
        return going_on;
    }
    let all = counted(in_progress.len() as u64, "call");
    if let Some(reason) = too_far(last, now) {
        log::warn!(
            target: "run",
            "{all} of the previous run end with it: {reason}; they are recorded as interrupted",
        );
        return going_on;
    }
    let mut unread = 0;
    for entry in in_progress {
        let legs = entry.call.notes.iter().find_map(legs_of_note).unwrap_or_else(|| {
            unread += u64::from(entry.call.is_handed_over());
            Vec::new()
        });
        let (continued, decision) = (continued(entry, legs, last.min(now)), entry.decision());
        let media = workers.iter_mut().find_map(|worker| worker.go_on(&continued, decision, now));
        if let Some(media) = media {
            going_on.insert(continued.record.id);
            workers.iter_mut().for_each(|worker| worker.engine.continue_media(&media));
            if going_on.len().is_multiple_of(TOGETHER) {
                settle();
            }
        }
    }
    if unread > 0 {
        log::warn!(
            target: "run",
            "what another version of ringtap noted of the media of {} is not read: media are expected where \
             they were recorded",
            counted(unread, "call"),
        );
    }
    log::info!(
        target: "run",
        "{} of {all} of the previous run go on, {:.1} s after it ended",
        going_on.len(),
        now.since(last).secs_f64(),
    );
    going_on
}

fn is_in_progress(call: &RecoveredCall) -> bool {
    matches!(call.state, CallState::Active | CallState::Ringing | CallState::Trying)
}

/// Why no call can go on: when the previous run ended is too far from now. A clock that was set back is no
/// reason to take a call for one that has just begun.
fn too_far(last: Nanos, now: Nanos) -> Option<String> {
    if last.since(now) > CLOCKS_DIFFER {
        let ahead = last.since(now).secs_f64();
        return Some(format!(
            "the journal's time is {ahead:.1} s ahead of the system's clock, which was set back"
        ));
    }
    let gap = now.since(last);
    let limit = LONGEST_GAP.secs_f64();
    (gap > LONGEST_GAP).then(|| {
        format!("that was {:.0} s ago, and a call goes on over {limit:.0} s at most", gap.secs_f64())
    })
}

/// The call as the engine goes on with it. After a kill less is known: media are expected where they were.
fn continued(entry: &CallOfJournal, mut legs: Vec<ContinuedLeg>, until: Nanos) -> ContinuedCall {
    let record = entry.continued_record();
    for stream in &entry.streams {
        let by_caller = stream.src.ip == record.src.ip || stream.dst.ip == record.dst.ip;
        for (endpoint, is_caller) in [(stream.src, by_caller), (stream.dst, !by_caller)] {
            if !legs.iter().any(|leg| leg.endpoint == endpoint) {
                legs.push(ContinuedLeg { endpoint, is_caller, codecs: Vec::new() });
            }
        }
    }
    ContinuedCall { record, legs, until }
}

/// Calls do not go on over a longer gap: those that ended meanwhile would be many.
const LONGEST_GAP: Nanos = Nanos::from_secs(300);
/// Calls that the journal is told of before it is waited for: up to three entries each.
const TOGETHER: usize = 2_048;
/// Time stamps of packets and the system's clock differ by less.
const CLOCKS_DIFFER: Nanos = Nanos::from_secs(5);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_goes_on_for_five_minutes_and_not_if_the_clock_was_set_back() {
        let now = Nanos::from_secs(1_000_000);
        for (ago, goes_on) in [(0, true), (300_000, true), (300_001, false), (-5_000, true), (-5_001, false)]
        {
            let last = Nanos(now.0.strict_sub_signed(ago * 1_000_000));
            assert_eq!(too_far(last, now).is_none(), goes_on, "{ago}");
        }
        assert!(too_far(Nanos::MAX, now).is_some() && too_far(Nanos::ZERO, now).is_some());
    }
}
