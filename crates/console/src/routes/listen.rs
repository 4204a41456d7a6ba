//! A call in progress, as it sounds now.

use std::convert::Infallible;

use axum::extract::State;
use axum::response::Sse;
use axum::response::sse::Event;
use futures_util::Stream as Events;
use ringtap_access::{Action, Right, What};
use ringtap_model::note::NoteCode;
use tokio::sync::mpsc::{Receiver, channel};

use super::ear::{Ear, Heard};
use super::found::{CallPath, find, id_of};
use crate::openapi::refusals::{Busy, Conflict, Missing};
use crate::problem::Problem;
use crate::request::Path;
use crate::state::App;
use crate::viewer::Viewer;

/// The sound of a call in progress, about a second after it was on the wire
///
/// Server-sent events, `event: sound`, each with a `Heard` in JSON as its `data`, until the call or the
/// session ends: the last one says why. Pauses and masks of the recording are silence, and what no rule
/// records is refused. Needs the right `listen`.
#[utoipa::path(
    get, path = "/calls/{id}/sound.live", operation_id = "listen_live", tag = "call", params(CallPath),
    responses(
        (status = 200, description = "Until it ends.", body = Heard, content_type = "text/event-stream"),
        Missing, Conflict, Busy
    )
)]
pub(crate) async fn live(
    State(app): State<App>,
    viewer: Viewer,
    Path(id): Path<String>,
) -> Result<Sse<impl Events<Item = Result<Event, Infallible>>>, Problem> {
    let id = id_of(&id)?;
    viewer.need(Right::Listen)?;
    let place = app.ears.place()?;
    app.note(&viewer, Action::Listen, What::from(format!("call {id} in progress"))).await?;
    let (seen, by) = (app.clone(), viewer.clone());
    let (events, heard) = channel(WAITING);
    let ear = app.work.read(move |stop| {
        let found = find(&seen, &by, &id, false, stop)?;
        if !found.in_progress {
            return Err(Problem::conflict("the call has ended: its sound is that of `sound.wav`"));
        }
        let (call, streams) = found.call().clone();
        if call.notes.iter().any(|note| note.code == NoteCode::Encrypted) {
            return Err(Problem::conflict("its media are encrypted (SRTP): there is nothing to be heard"));
        }
        Ear::open(&seen, &by, (call, streams), place, events)
    });
    let ear = ear.await?;
    std::thread::Builder::new()
        .name("ear".to_owned())
        .spawn(move || {
            crate::work::give_way();
            ear.run();
        })
        .map_err(|error| Problem::unavailable(format!("a thread cannot be started: {error}")))?;
    Ok(Sse::new(events_of(heard)))
}

fn events_of(heard: Receiver<Heard>) -> impl Events<Item = Result<Event, Infallible>> {
    futures_util::stream::unfold(heard, |mut heard| async move {
        let data = serde_json::to_string(&heard.recv().await?).unwrap_or_default();
        Some((Ok(Event::default().event("sound").data(data)), heard))
    })
}

/// Events that wait for a connection: those of some seconds.
const WAITING: usize = 32;
