//! The call that a path names: stored, or in progress.

use std::time::Duration;

use ringtap_model::{Call, Id, Stream};
use utoipa::IntoParams;

use super::live;
use crate::problem::Problem;
use crate::state::Shared;
use crate::viewer::Viewer;
use crate::work::Stop;

/// A call with its legs, each with its streams; the call itself is `legs[chosen]`.
pub(super) struct Found {
    pub(super) legs: Vec<(Call, Vec<Stream>)>,
    chosen: usize,
    /// It has no record yet: the daemon told of it.
    pub(super) in_progress: bool,
}

impl Found {
    /// The call and its streams.
    pub(super) fn call(&self) -> &(Call, Vec<Stream>) {
        &self.legs[self.chosen]
    }
}

/// Finds a call that the viewer may see. One that is outside of the viewer's scope is not there.
pub(super) fn find(
    app: &Shared,
    viewer: &Viewer,
    id: &Id,
    with_legs: bool,
    stop: &Stop,
) -> Result<Found, Problem> {
    let reader = app.records(stop)?;
    let stored = reader.as_ref().map(|reader| reader.call(id)).transpose()?.flatten();
    let (Some(reader), Some(call)) = (reader, stored) else { return find_in_progress(app, viewer, id) };
    if !viewer.sees(&call) {
        return Err(missing(id));
    }
    let legs = match call.conversation {
        Some(conversation) if with_legs => reader.conversation(&conversation)?,
        _ => vec![call.clone()],
    };
    let mut legs: Vec<Call> = legs.into_iter().filter(|leg| viewer.sees(leg)).take(MOST_LEGS).collect();
    if !legs.iter().any(|leg| leg.id == *id) {
        legs.push(call);
    }
    let chosen = legs.iter().position(|leg| leg.id == *id).unwrap_or_default();
    let with_streams = |call: Call| -> Result<(Call, Vec<Stream>), Problem> {
        let streams = reader.streams_of(&call.id)?;
        Ok((call, streams))
    };
    let legs = legs.into_iter().map(with_streams).collect::<Result<_, _>>()?;
    Ok(Found { legs, chosen, in_progress: false })
}

/// Finds a call that has no record yet. Its other legs are shown once they have one.
fn find_in_progress(app: &Shared, viewer: &Viewer, id: &Id) -> Result<Found, Problem> {
    let Some(daemon) = &app.sources.daemon else { return Err(missing(id)) };
    // Without the daemon nothing is in progress.
    let ask = |most| live::listed(daemon.calls(most).unwrap_or_default());
    let is_it = |(call, _): &&(Call, Vec<Stream>)| call.id == *id && viewer.sees(call);
    let mut leg = None;
    // It may have begun since the list was asked for.
    for fresh in [live::FRESH, Duration::ZERO] {
        let listed = app.live_calls.get(live::MOST, fresh, ask)?;
        leg = listed.calls.iter().find(is_it).cloned();
        if leg.is_some() {
            break;
        }
    }
    Ok(Found { legs: vec![leg.ok_or_else(|| missing(id))?], chosen: 0, in_progress: true })
}

fn missing(id: &Id) -> Problem {
    Problem::not_found(format!(
        "no call has the id {id}: it was never stored, its retention has ended, or it is none of the {} \
         latest in progress",
        live::MOST
    ))
}

/// The id that stands in a path.
pub(super) fn id_of(text: &str) -> Result<Id, Problem> {
    text.parse().map_err(|_| {
        Problem::request(
            format!("`{text}` is no id of a call"),
            "an id has 32 hex digits, as in the field `id` of a record",
        )
    })
}

/// A call.
#[derive(IntoParams)]
#[into_params(parameter_in = Path)]
#[expect(dead_code, reason = "it describes the variable part of these paths")]
pub(super) struct CallPath {
    /// The id of its record: 32 hex digits.
    #[param(pattern = "^[0-9a-f]{32}$")]
    id: String,
}

/// Most legs of a conversation that a page shows.
const MOST_LEGS: usize = 50;
