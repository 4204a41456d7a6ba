//! Calls on hold: computes from a record which packets are held.

use std::path::Path;

use ringtap_model::filter::Pattern;
use ringtap_model::{Call, CallState, Filter, Nanos, Stream};
use ringtap_spool::{HeldRange, Hold, Holds, of_call, of_stream};
use ringtap_store::Reader;

/// Puts a call on hold: first its record, then its packets, since a hold without its record is useless.
pub fn place(
    store_dir: &Path,
    store: &Reader,
    spool: &Path,
    call: &Call,
    by: &By<'_>,
) -> anyhow::Result<Hold> {
    let streams = store.streams_of(&call.id)?;
    let hold = held(call, &streams, by);
    ringtap_store::hold(store_dir, call, &streams)?;
    hold.save(spool)?;
    Ok(hold)
}

/// The case of a hold, and its time.
#[derive(Clone, Copy, Debug)]
pub struct By<'a> {
    /// Name of the case.
    pub case: &'a str,
    /// When the hold was set.
    pub since: Nanos,
    /// The interception product of the call.
    pub product: bool,
}

/// Completes the holds of calls that were in progress and have a record by now. Returns these holds.
///
/// # Errors
///
/// A database or a hold cannot be read or written.
pub fn complete(store_dir: &Path, spool: &Path) -> anyhow::Result<Vec<Hold>> {
    let holds = Holds::read(spool)?;
    let pending = holds.all().iter().filter_map(|hold| Some((hold, Nanos(hold.pending?))));
    let mut done = Vec::new();
    let mut store = None;
    for (hold, at) in pending {
        if store.is_none() {
            store = Some(Reader::open(store_dir)?);
        }
        let Some(store) = &store else { break };
        let query = Filter::call_id(Pattern::exact(&hold.call_id)).into();
        let calls = store.calls(&query)?.records;
        let by = By { case: &hold.case, since: Nanos(hold.since), product: hold.product };
        let mut last = None;
        for call in calls.iter().filter(|call| was_under_way(call, at)) {
            let is_in_progress = is_in_progress(call);
            // A run that ended while the call was in progress: what it recorded is held, and the hold waits.
            if is_in_progress && is_held(&holds, call, hold) {
                continue;
            }
            let held = place(store_dir, store, spool, call, &by)?;
            last = (!is_in_progress).then_some(held).or(last);
        }
        if let Some(held) = last {
            hold.replace_with(&held, spool)?;
            done.push(held);
        }
    }
    Ok(done)
}

/// Whether the record is that of a call which may go on after a restart.
fn is_in_progress(call: &Call) -> bool {
    matches!(call.state, CallState::Active | CallState::Ringing | CallState::Trying)
}

/// Whether the call is on hold for the case of `pending`, as far as it is recorded.
fn is_held(holds: &Holds, call: &Call, pending: &Hold) -> bool {
    let id = call.id.to_string();
    holds.all().iter().any(|hold| hold.case == pending.case && hold.id == id && hold.pending.is_none())
}

/// Whether the record's call was in progress at that time: its Call-ID may have been used before.
fn was_under_way(call: &Call, at: Nanos) -> bool {
    call.start().unwrap_or_default() <= at + BEFORE && call.end.is_none_or(|end| end + AFTER >= at)
}

/// The hold of a call.
fn held(call: &Call, streams: &[Stream], by: &By<'_>) -> Hold {
    let start = call.start().unwrap_or_default();
    let end = call.end.unwrap_or(start);
    let last = streams.iter().map(|stream| stream.last).max().unwrap_or(end);
    let part = |owner, from: Nanos, to: Nanos| HeldRange {
        owner,
        from: from.0.saturating_sub(BEFORE.0),
        to: to.0.saturating_add(AFTER.0),
    };
    let media = streams.iter().map(|stream| {
        let owner = of_stream(stream.src, stream.dst, stream.ssrc);
        part(owner, stream.first, stream.last)
    });
    let signalling = part(of_call(call.call_id.as_bytes()), start, end.max(last));
    Hold {
        case: by.case.to_owned(),
        id: call.id.to_string(),
        call_id: call.call_id.clone(),
        since: by.since.0,
        parts: std::iter::once(signalling).chain(media).collect(),
        pending: None,
        product: by.product,
    }
}

/// Challenges, retransmissions and RTCP may precede and follow the record's times.
const BEFORE: Nanos = Nanos::from_secs(1);
const AFTER: Nanos = Nanos::from_secs(64);

#[cfg(test)]
mod tests {
    use ringtap_testing::samples;

    use super::*;

    #[test]
    fn a_call_id_that_was_used_before_is_another_call() {
        let call = |start: u64, end: Option<u64>| Call {
            invite: Some(Nanos::from_secs(start)),
            end: end.map(Nanos::from_secs),
            ..samples::call()
        };
        let at = Nanos::from_secs(1_000);
        for (start, end, expected) in [
            (900, Some(1_100), true),
            (900, Some(999), true),
            (900, None, true),
            (1_000, None, true),
            (100, Some(500), false),
            (1_002, Some(1_100), false),
        ] {
            assert_eq!(was_under_way(&call(start, end), at), expected, "{start} {end:?}");
        }
    }
}
