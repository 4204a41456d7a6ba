//! One call: its record, streams and sentences, its ladder, and its files.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::State;
use axum::http::header::{
    ACCEPT_RANGES, CONTENT_DISPOSITION, CONTENT_LENGTH, CONTENT_RANGE, CONTENT_TYPE, RANGE,
};
use axum::http::{HeaderMap, HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use ringtap_access::{Action, Right, What};
use ringtap_model::{Call, Id, Recorded, Stream};
use ringtap_report::sentence;
use ringtap_spool::Reader as Spool;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::{IntoParams, ToSchema};

use super::found::{CallPath, find, id_of};
use super::ladder::Ladder;
use super::lost_packets::Mark;
use super::packets::RecordedCall;
use super::recording;
use crate::answer::Answer;
use crate::openapi::FileBytes;
use crate::openapi::records::{CallRecord, StreamRecord};
use crate::openapi::refusals::{Busy, Conflict, Missing};
use crate::problem::Problem;
use crate::request::{Bounded, Path, Query};
use crate::sound_cache::{Erased, Sound};
use crate::state::{App, Shared};
use crate::viewer::Viewer;
use crate::work::Stop;

/// A call with its legs and streams.
#[derive(Serialize, ToSchema)]
struct CallDetails {
    #[schema(value_type = CallRecord)]
    call: Call,
    /// The legs of its conversation, itself included.
    #[schema(value_type = Vec<CallRecord>)]
    legs: Vec<Call>,
    /// Its own media streams.
    #[schema(value_type = Vec<StreamRecord>)]
    streams: Vec<Stream>,
    /// What happened, for people.
    sentences: Vec<String>,
    /// It has not ended: ask again for what happens next.
    in_progress: bool,
    /// The cases for which it is on hold; none are told without the right `hold`.
    holds: Vec<String>,
    packets: CallPackets,
    rights: CallRights,
}

/// What was recorded of a call, and whether it can be read here.
#[derive(Serialize, ToSchema)]
struct CallPackets {
    /// As the field `recorded` of the record.
    kept: &'static str,
    available: bool,
    /// Why they are not.
    reason: Option<String>,
}

/// What whoever asks may do with a call.
#[derive(Serialize, ToSchema)]
struct CallRights {
    signalling: bool,
    listen: bool,
    export: bool,
    hold: bool,
}

/// A call with its legs and streams
#[utoipa::path(
    get, path = "/calls/{id}", operation_id = "show_call", tag = "call", params(CallPath),
    responses((status = 200, description = "The call.", body = CallDetails), Missing, Busy)
)]
pub(crate) async fn show(
    State(app): State<App>,
    viewer: Viewer,
    Path(id): Path<String>,
) -> Result<Answer, Problem> {
    let id = id_of(&id)?;
    viewer.need(Right::Search)?;
    app.note_view(&viewer, format!("call {id}")).await?;
    let (seen, by) = (app.clone(), viewer.clone());
    let value = app
        .work
        .read(move |stop| {
            let found = find(&seen, &by, &id, true, stop)?;
            let (call, streams) = found.call().clone();
            let holds = if by.has(Right::Hold) { recording::cases(&seen, &call)? } else { Vec::new() };
            Ok(CallDetails {
                in_progress: found.in_progress,
                holds,
                sentences: vec![match found.in_progress {
                    true => sentence::of_call_so_far(&call, &streams),
                    false => sentence::of_call(&call, &streams),
                }],
                packets: packets(&seen, &call, found.in_progress),
                rights: CallRights {
                    signalling: by.has(Right::Signalling),
                    listen: by.has(Right::Listen),
                    export: by.has(Right::Export),
                    hold: by.has(Right::Hold),
                },
                legs: found.legs.into_iter().map(|(leg, _)| leg).collect(),
                call,
                streams,
            })
        })
        .await?;
    Ok(viewer.answer(&app, value))
}

/// What was recorded, and whether it can be read here.
fn packets(app: &Shared, call: &Call, in_progress: bool) -> CallPackets {
    let reason = match (call.recorded, &app.sources.spool) {
        // What is kept of a call in progress is known once it has a record.
        (Recorded::None, _) if !in_progress => {
            Some("no packets of this call were recorded: see [spool] and its rules")
        }
        (_, None) => Some("the console was started without `--spool`, so it cannot read recorded packets"),
        _ => None,
    };
    CallPackets { kept: call.recorded.name(), available: reason.is_none(), reason: reason.map(str::to_owned) }
}

/// The messages of a call, all legs of its conversation on one sheet
///
/// Needs the right `signalling`.
#[utoipa::path(
    get, path = "/calls/{id}/ladder", operation_id = "show_ladder", tag = "call", params(CallPath),
    responses((status = 200, description = "The ladder.", body = Ladder), Missing, Busy)
)]
pub(crate) async fn ladder(
    State(app): State<App>,
    viewer: Viewer,
    Path(id): Path<String>,
) -> Result<Answer, Problem> {
    let id = id_of(&id)?;
    viewer.need(Right::Signalling)?;
    app.note_view(&viewer, format!("messages of call {id}")).await?;
    let (seen, by) = (app.clone(), viewer.clone());
    let value = app
        .work
        .read(move |stop| {
            let found = find(&seen, &by, &id, true, stop)?;
            let tokens = (!by.has(Right::Numbers)).then_some(&seen.tokens);
            let mut spool = seen.sources.spool.as_ref().map(|open| open()).transpose()?;
            Ok(Ladder::of(&found.legs, spool.as_mut(), tokens, stop)?)
        })
        .await?;
    Ok(Answer::of(value))
}

/// A file of a call, made by `write`.
async fn file<F>(
    app: &App,
    viewer: &Viewer,
    id: Id,
    name: String,
    kind: &'static str,
    write: F,
) -> Result<Response, Problem>
where
    F: FnOnce(&mut RecordedCall<'_>, &mut Vec<u8>) -> anyhow::Result<()> + Send + 'static,
{
    let (seen, by) = (app.clone(), viewer.clone());
    let bytes = app
        .work
        .read(move |stop| {
            let found = find(&seen, &by, &id, false, stop)?;
            let mut spool = spool(&seen)?;
            let (call, streams) = found.call();
            let mut recorded = recorded(&mut spool, call, streams, stop)?;
            let mut bytes = Vec::new();
            write(&mut recorded, &mut bytes)?;
            Ok(bytes)
        })
        .await?;
    let disposition = format!("attachment; filename=\"{name}\"");
    let mut response = Response::new(Body::from(bytes));
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(kind));
    headers.extend(HeaderValue::from_str(&disposition).ok().map(|value| (CONTENT_DISPOSITION, value)));
    Ok(response)
}

fn spool(app: &Shared) -> Result<Spool, Problem> {
    let Some(open) = &app.sources.spool else {
        return Err(Problem::conflict(
            "the console was started without `--spool`, so it cannot read recorded packets",
        ));
    };
    Ok(open()?)
}

fn recorded<'a>(
    spool: &'a mut Spool,
    call: &Call,
    streams: &[Stream],
    stop: &Stop,
) -> Result<RecordedCall<'a>, Problem> {
    RecordedCall::find(spool, call, streams, stop).map_err(|error| Problem::conflict(format!("{error:#}")))
}

/// The packets of a call as pcapng
///
/// Needs the rights `export`, `signalling`, `numbers` and `listen`: the packets of its media are the call
/// itself.
#[utoipa::path(
    get, path = "/calls/{id}/packets.pcap", operation_id = "download_packets", tag = "call", params(CallPath),
    responses(
        (status = 200, description = "A file.", body = inline(FileBytes),
            content_type = "application/x-pcapng"),
        Missing, Conflict, Busy
    )
)]
pub(crate) async fn pcap(
    State(app): State<App>,
    viewer: Viewer,
    Path(id): Path<String>,
) -> Result<Response, Problem> {
    let id = id_of(&id)?;
    viewer.need(Right::Export)?;
    viewer.need(Right::Signalling)?;
    viewer.need(Right::Numbers)?;
    // The packets of its media are the call itself.
    viewer.need(Right::Listen)?;
    app.note(&viewer, Action::Export, What::from(format!("packets of call {id}"))).await?;
    let name = format!("{id}.pcapng");
    file(&app, &viewer, id, name, "application/x-pcapng", |call, bytes| call.pcap(bytes)).await
}

/// The ladder of a call as a picture
///
/// Needs the rights `signalling` and `numbers`.
#[utoipa::path(
    get, path = "/calls/{id}/ladder.svg", operation_id = "draw_ladder", tag = "call", params(CallPath),
    responses(
        (status = 200, description = "A picture.", body = String, content_type = "image/svg+xml"),
        Missing, Conflict, Busy
    )
)]
pub(crate) async fn svg(
    State(app): State<App>,
    viewer: Viewer,
    Path(id): Path<String>,
) -> Result<Response, Problem> {
    let id = id_of(&id)?;
    viewer.need(Right::Signalling)?;
    viewer.need(Right::Numbers)?;
    app.note(&viewer, Action::Export, What::from(format!("ladder of call {id}"))).await?;
    let name = format!("{id}.svg");
    file(&app, &viewer, id, name, "image/svg+xml", |call, bytes| call.svg(bytes)).await
}

/// The sound of a call, decoded now or lately.
async fn sound(app: &App, viewer: &Viewer, id: Id) -> Result<Arc<Sound>, Problem> {
    let (seen, by) = (app.clone(), viewer.clone());
    app.work
        .read(move |stop| {
            // The scope is looked at in any case.
            let found = find(&seen, &by, &id, false, stop)?;
            // Before the packets are read: what is erased meanwhile has another state.
            let erased = Erased::of(seen.sources.spool_directory.as_deref());
            if let Some(sound) = seen.sounds.of(&id, erased).filter(|_| !found.in_progress) {
                return Ok(sound);
            }
            let mut spool = spool(&seen)?;
            let (call, streams) = found.call();
            let mut recorded = recorded(&mut spool, call, streams, stop)?;
            let wav = tempfile::tempfile().map_err(anyhow::Error::from)?;
            let mut peaks = Vec::new();
            let marks = recorded
                .sound(&*seen.sources.decoders, &wav, &mut peaks)
                .map_err(|error| Problem::conflict(format!("{error:#}")))?;
            let length = wav.metadata().map_err(anyhow::Error::from)?.len();
            let sound = Arc::new(Sound {
                wav,
                length,
                peaks,
                marks: serde_json::to_value(marks).unwrap_or_default(),
                erased,
            });
            if !found.in_progress {
                seen.sounds.add(id, Arc::clone(&sound));
            }
            Ok(sound)
        })
        .await
}

/// The sound of a call as WAV
///
/// Two channels, the caller left and the callee right, whole or a range of bytes (RFC 9110 section 14).
/// Needs the right `listen`.
#[utoipa::path(
    get, path = "/calls/{id}/sound.wav", operation_id = "download_sound", tag = "call",
    params(
        CallPath,
        ("Range" = Option<String>, Header, description = "`bytes=A-B`, `bytes=A-` or `bytes=-N`.",
            example = "bytes=0-65535")
    ),
    responses(
        (status = 200, description = "All of it.", body = inline(FileBytes), content_type = "audio/wav",
            headers(("Accept-Ranges" = String, description = "`bytes`"))),
        (status = 206, description = "The range, or the first MiB of it.", body = inline(FileBytes),
            content_type = "audio/wav",
            headers(("Content-Range" = String, description = "`bytes A-B/LENGTH`"))),
        (status = 416, description = "There is no such range; without a body.",
            headers(("Content-Range" = String, description = "`bytes */LENGTH`"))),
        Missing, Conflict, Busy
    )
)]
pub(crate) async fn wav(
    State(app): State<App>,
    viewer: Viewer,
    Path(id): Path<String>,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    let id = id_of(&id)?;
    viewer.need(Right::Listen)?;
    let range = headers.get(RANGE).and_then(|range| range.to_str().ok());
    // A player asks for many ranges: whoever listens is noted with the first.
    if range.is_none_or(|range| range.starts_with("bytes=0-")) {
        app.note(&viewer, Action::Listen, What::from(format!("call {id}"))).await?;
    }
    let sound = sound(&app, &viewer, id).await?;
    let Some((from, to)) = range.map_or(Some((0, sound.length)), |range| span(range, sound.length)) else {
        let whole = format!("bytes */{}", sound.length);
        return Ok((StatusCode::RANGE_NOT_SATISFIABLE, [(CONTENT_RANGE, whole)]).into_response());
    };
    // Not more than a piece at once: a player that wants the rest asks again.
    let to = if range.is_some() { to.min(from + PIECE) } else { to };
    let whole = sound.length;
    let mut response = Response::new(Body::from_stream(pieces(sound, from, to)));
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("audio/wav"));
    headers.insert(ACCEPT_RANGES, HeaderValue::from_static("bytes"));
    headers.insert(CONTENT_LENGTH, HeaderValue::from(to - from));
    if range.is_some() {
        let value = format!("bytes {from}-{}/{whole}", to.saturating_sub(1));
        headers.extend(HeaderValue::from_str(&value).ok().map(|value| (CONTENT_RANGE, value)));
        *response.status_mut() = StatusCode::PARTIAL_CONTENT;
    }
    Ok(response)
}

/// The bytes of a sound, some at a time.
fn pieces(
    sound: Arc<Sound>,
    from: u64,
    to: u64,
) -> impl futures_util::Stream<Item = std::io::Result<Vec<u8>>> {
    // Nothing follows an error.
    futures_util::stream::unfold(Some((sound, from)), move |state| async move {
        let (sound, at) = state?;
        if at >= to {
            return None;
        }
        let until = (at + PIECE).min(to);
        let read = tokio::task::spawn_blocking(move || {
            let mut bytes = vec![0; (until - at) as usize];
            // Others may read the same file: no common position.
            std::os::unix::fs::FileExt::read_exact_at(&sound.wav, &mut bytes, at)?;
            Ok((bytes, sound))
        });
        match read.await {
            Ok(Ok((bytes, sound))) => Some((Ok(bytes), Some((sound, until)))),
            Ok(Err(error)) => Some((Err(error), None)),
            Err(_) => None,
        }
    })
}

/// First and one after the last byte of `bytes=a-b`, `bytes=a-` or `bytes=-n`; none if there is no such.
fn span(range: &str, length: u64) -> Option<(u64, u64)> {
    let (from, to) = range.strip_prefix("bytes=")?.split_once('-')?;
    let (from, to) = match (from.parse::<u64>().ok(), to.parse::<u64>().ok()) {
        (Some(from), Some(last)) => (from, last.saturating_add(1).min(length)),
        (Some(from), None) if to.is_empty() => (from, length),
        (None, Some(count)) if from.is_empty() => (length.saturating_sub(count), length),
        _ => return None,
    };
    (from < to).then_some((from, to))
}

/// How many points are drawn.
#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub(crate) struct Points {
    /// Most points of a track; 2,000 unless it is given.
    #[param(value_type = Option<usize>, minimum = 10, maximum = 20000)]
    points: Option<Bounded<10, 20_000>>,
}

/// The waveform of a call.
#[derive(Serialize, ToSchema)]
struct Waveform {
    tracks: Vec<WaveTrack>,
    /// Where packets are missing.
    #[schema(value_type = Vec<Mark>)]
    marks: Value,
}

/// One direction.
#[derive(Serialize, ToSchema)]
struct WaveTrack {
    #[schema(example = "caller_to_callee")]
    direction: &'static str,
    /// When it begins.
    first_us: Option<u64>,
    seconds: Option<f64>,
    /// The lowest and the highest sample of each point, -1 to 1.
    peaks: Vec<[f64; 2]>,
}

/// The waveform of a call
///
/// Needs the right `listen`.
#[utoipa::path(
    get, path = "/calls/{id}/peaks", operation_id = "show_waveform", tag = "call", params(CallPath, Points),
    responses((status = 200, description = "The waveform.", body = Waveform), Missing, Conflict, Busy)
)]
pub(crate) async fn peaks(
    State(app): State<App>,
    viewer: Viewer,
    Path(id): Path<String>,
    Query(wanted): Query<Points>,
) -> Result<Answer, Problem> {
    let id = id_of(&id)?;
    viewer.need(Right::Listen)?;
    let sound = sound(&app, &viewer, id).await?;
    let whole: Value = serde_json::from_slice(&sound.peaks).map_err(anyhow::Error::from)?;
    Ok(Answer::of(drawn(&whole, &sound.marks, wanted.points.map_or(2_000, Bounded::get))))
}

/// The waveform in at most so many points: of several, the lowest and the highest.
fn drawn(whole: &Value, marks: &Value, points: usize) -> Waveform {
    let channels = whole["peaks"].as_array().map(Vec::as_slice).unwrap_or_default();
    let directions = ["caller_to_callee", "callee_to_caller"];
    let tracks = channels
        .iter()
        .zip(directions)
        .map(|(channel, direction)| {
            let numbers: Vec<f64> = channel
                .as_array()
                .into_iter()
                .flatten()
                .map(|number| number.as_f64().unwrap_or(0.0))
                .collect();
            let step = (numbers.len() / 2).div_ceil(points).max(1) * 2;
            let peaks: Vec<[f64; 2]> = numbers
                .chunks(step)
                .map(|part| {
                    let low = part.iter().copied().fold(f64::INFINITY, f64::min);
                    let high = part.iter().copied().fold(f64::NEG_INFINITY, f64::max);
                    [low, high]
                })
                .collect();
            let (first_us, seconds) = (whole["start_us"].as_u64(), whole["duration"].as_f64());
            WaveTrack { direction, first_us, seconds, peaks }
        })
        .collect();
    Waveform { tracks, marks: marks.clone() }
}

/// Bytes that are read at a time.
const PIECE: u64 = 1 << 20;

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn ranges() {
        for (text, expected) in [
            ("bytes=0-", Some((0, 100))),
            ("bytes=10-19", Some((10, 20))),
            ("bytes=90-200", Some((90, 100))),
            ("bytes=-10", Some((90, 100))),
            ("bytes=100-", None),
            ("bytes=20-10", None),
            ("bytes=a-b", None),
            ("bytes=-", None),
            ("lines=0-1", None),
            ("bytes=0-18446744073709551615", Some((0, 100))),
        ] {
            assert_eq!(span(text, 100), expected, "{text}");
        }
    }

    #[test]
    fn a_waveform_keeps_its_lows_and_highs() {
        let whole = json!({ "start_us": 5, "duration": 1.0, "peaks": [[-0.1, 0.2, -0.5, 0.1, 0.0, 0.9]] });
        let drawn = drawn(&whole, &json!([]), 2);
        assert_eq!(drawn.tracks[0].peaks, [[-0.5, 0.2], [0.0, 0.9]]);
    }
}
