//! Searches a database for calls that match the filters of the command line.

use ringtap_model::{Call, CallState, NoteCode};
use ringtap_store::{Error, FoundCalls, Query, Reader};

use crate::filter::{Filter, Pattern};

/// Finds at most `limit` calls, the earliest; 0 is all.
///
/// # Errors
///
/// A day cannot be read: a result is complete or an error.
pub(crate) fn search(reader: &Reader, filter: &Filter, limit: usize) -> Result<FoundCalls, Error> {
    let limit = if limit == 0 { usize::MAX } else { limit };
    // One search for each state: a query has one.
    let states: Vec<Option<CallState>> = match &filter.state[..] {
        [] => vec![None],
        states => states.iter().copied().map(Some).collect(),
    };
    let mut all = FoundCalls::default();
    for state in states {
        let found = reader.calls(&query(filter, state, limit))?;
        all.days = all.days.max(found.days);
        all.cut |= found.cut;
        all.calls.extend(found.calls.into_iter().filter(|call| has_call_id(filter, call)));
    }
    all.calls.sort_by_key(|call| (call.start(), call.id));
    all.calls.dedup_by_key(|call| call.id);
    all.cut |= all.calls.len() > limit;
    all.calls.truncate(limit);
    Ok(all)
}

fn query(filter: &Filter, state: Option<CallState>, limit: usize) -> Query {
    let Filter { from, to, number, call_id, since, until, mos_below, note, problems, .. } = filter;
    let text = |pattern: &Option<Pattern>| pattern.as_ref().map(ToString::to_string);
    // The database searches for whole Call-IDs only: prefixes are matched here.
    let whole = call_id.as_ref().filter(|pattern| !pattern.prefix).map(|pattern| pattern.text.clone());
    let limit = if call_id.is_some() { usize::MAX } else { limit };
    Query {
        from: text(from),
        to: text(to),
        number: text(number),
        call_id: whole,
        state,
        since: *since,
        until: *until,
        mos_below: *mos_below,
        notes: if *problems && note.is_empty() { NoteCode::ALL.to_vec() } else { note.clone() },
        limit,
    }
}

fn has_call_id(filter: &Filter, call: &Call) -> bool {
    filter.call_id.as_ref().is_none_or(|pattern| pattern.matches(&call.call_id))
}
