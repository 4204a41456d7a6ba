//! Calls on hold: what is held of one, by its record.

use std::path::Path;

use ringtap_model::{Endpoint, Nanos};
use ringtap_spool::{Hold, Holds, Part, of_call, of_stream};
use ringtap_store::{Query, Reader, Row};
use serde_json::Value;

/// Puts a call on hold by its record: the record, then its packets. A hold whose record is gone would find none.
pub(crate) fn place(
    store_dir: &Path,
    store: &Reader,
    spool: &Path,
    row: &Row,
    by: &By<'_>,
) -> anyhow::Result<Hold> {
    let streams = store.streams_of(&row.id)?;
    let hold = held(row, &streams, by);
    let records = std::iter::once(row.text.clone()).chain(streams.iter().map(ToString::to_string));
    ringtap_store::hold(store_dir, &records.collect::<Vec<_>>())?;
    hold.place(spool)?;
    Ok(hold)
}

/// For which case, since when.
#[derive(Clone, Copy, Debug)]
pub(crate) struct By<'a> {
    pub(crate) case: &'a str,
    pub(crate) since: Nanos,
    /// The interception product of the call.
    pub(crate) product: bool,
}

/// Calls that were put on hold while they were under way, and have their record by now, are held as any other. Returns these.
///
/// # Errors
///
/// A database or a hold that cannot be read or written.
pub(crate) fn complete(store_dir: &Path, spool: &Path) -> anyhow::Result<Vec<Hold>> {
    let holds = Holds::read(spool)?;
    let pending = holds.all().iter().filter_map(|hold| Some((hold, Nanos(hold.pending?))));
    let mut done = Vec::new();
    let mut store = None;
    for (hold, at) in pending {
        if store.is_none() {
            store = Some(Reader::open(store_dir)?);
        }
        let Some(store) = &store else { break };
        let query = Query { call_id: Some(hold.call_id.clone()), ..Query::default() };
        let rows = store.calls(&query)?.rows;
        let by = By { case: &hold.case, since: Nanos(hold.since), product: hold.product };
        let mut last = None;
        for row in rows.iter().filter(|row| was_under_way(row, at)) {
            last = Some(place(store_dir, store, spool, row, &by)?);
        }
        if let Some(held) = last {
            hold.becomes(&held, spool)?;
            done.push(held);
        }
    }
    Ok(done)
}

/// Whether the record is that of a call that was under way then: its Call-ID may have been used before.
fn was_under_way(row: &Row, at: Nanos) -> bool {
    let end = row.value["end_us"].as_u64().map(Nanos::from_micros);
    row.start <= at + BEFORE && end.is_none_or(|end| end + AFTER >= at)
}

/// Calls of that Call-ID or id: a Call-ID may have been used again.
pub(crate) fn named(store: &Reader, call: &str) -> anyhow::Result<Vec<Row>> {
    if let Ok(id) = call.parse()
        && let Some(row) = store.call(&id)?
    {
        return Ok(vec![row]);
    }
    let query = Query { call_id: Some(call.to_owned()), ..Query::default() };
    Ok(store.calls(&query)?.rows)
}

/// What is to be held of a call.
fn held(row: &Row, streams: &[Value], by: &By<'_>) -> Hold {
    let time = |value: &Value, name: &str| value[name].as_u64().map(Nanos::from_micros);
    let call_id = row.value["call_id"].as_str().unwrap_or_default();
    let end = time(&row.value, "end_us").unwrap_or(row.start);
    let last = streams.iter().filter_map(|stream| time(stream, "last_us")).max().unwrap_or(end);
    let part = |owner, from: Nanos, to: Nanos| Part {
        owner,
        from: from.0.saturating_sub(BEFORE.0),
        to: to.0.saturating_add(AFTER.0),
    };
    let media = streams.iter().filter_map(|stream| {
        let end = |name: &str| stream[name].as_str()?.parse::<Endpoint>().ok();
        let ssrc = u32::try_from(stream["ssrc"].as_u64()?).ok()?;
        let owner = of_stream(end("src")?, end("dst")?, ssrc);
        Some(part(owner, time(stream, "first_us")?, time(stream, "last_us")?))
    });
    let signalling = part(of_call(call_id.as_bytes()), row.start, end.max(last));
    Hold {
        case: by.case.to_owned(),
        id: row.id.to_string(),
        call_id: call_id.to_owned(),
        since: by.since.0,
        parts: std::iter::once(signalling).chain(media).collect(),
        pending: None,
        product: by.product,
    }
}

/// Challenges, retransmissions and RTCP may come before the record's times and after them.
const BEFORE: Nanos = Nanos::from_secs(1);
const AFTER: Nanos = Nanos::from_secs(64);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_id_that_was_used_before_is_another_call() {
        let row = |start: u64, end: Option<u64>| Row {
            id: ringtap_model::Id([0; 16]),
            start: Nanos::from_secs(start),
            text: String::new(),
            value: serde_json::json!({ "end_us": end.map(|end| end * 1_000_000) }),
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
            assert_eq!(was_under_way(&row(start, end), at), expected, "{start} {end:?}");
        }
    }
}
