//! `streams`: how the media streams of a call were.

use std::cmp::Ordering;

use ringtap_model::{Interval, Stream};
use ringtap_report::time;
use rmcp::model::JsonObject;
use serde::Deserialize;
use serde_json::{Value, json};

use super::tool::{Definition, arguments, within};
use crate::bounds::Room;
use crate::refusal::Refusal;
use crate::request::Request;
use crate::schema;

pub(super) const TOOL: Definition = Definition {
    name: "streams",
    title: "Media streams of a call",
    description: "\
The RTP streams of one call: packets, loss, jitter, bursts, MOS under several jitter buffers, what the far \
end reported, notes with their evidence, and the worst intervals of 10 s of each. A MOS is MOS-LQ of the \
E-model (G.107): codec, loss after the jitter buffer and burstiness. `lost` counts what never passed this \
monitor's tap; `far_*` fields say what the receiver missed. The resource ringtap://records has all fields.",
    arguments: || {
        schema::object(
            &["id"],
            json!({
                "id": schema::text("Id of the call's record, 32 hex digits."),
                "worst": schema::number("Worst intervals of each stream.", 0, MOST, 5),
            }),
        )
    },
    answer: || {
        let stream = schema::open_object(
            &["id", "loss_pct", "worst_intervals", "untrusted"],
            json!({
                "id": schema::text("Id of the stream's record."),
                "direction": schema::text_or_null("caller_to_callee or callee_to_caller."),
                "loss_pct": { "type": "number" },
                "worst_intervals": schema::list(json!({ "type": "object" })),
                "untrusted": schema::untrusted(),
            }),
        );
        schema::open_object(
            &["id", "streams", "of"],
            json!({
                "id": schema::text("Id of the call's record."),
                "streams": schema::list(stream),
                "of": schema::count("Streams of the call."),
                "left_out": schema::left_out(),
            }),
        )
    },
    counts_all: false,
    run,
};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Arguments {
    id: String,
    worst: Option<usize>,
}

fn run(request: &Request, given: JsonObject) -> Result<Value, Refusal> {
    let wanted: Arguments = arguments(&TOOL, given)?;
    let worst = within("worst", wanted.worst, (0, MOST, 5))?;
    let (call, mut streams) = request.call(&wanted.id)?;
    let of = streams.len();
    // The worst first: what does not fit is the best.
    streams.sort_by(|one, other| ordered(one.mos, other.mos));
    let parts = streams.iter().map(|stream| request.shown(part(stream, worst)));
    let (shown, missing) = Room::default().fill(parts);
    let left_out = (missing > 0).then(|| format!("{missing} streams that sound better: lower `worst`"));
    Ok(json!({ "id": call.id, "streams": shown, "of": of, "left_out": left_out }))
}

fn part(stream: &Stream, worst: usize) -> Value {
    let mut record = serde_json::to_value(stream).unwrap_or_default();
    if let Some(fields) = record.as_object_mut() {
        fields.remove("intervals");
        fields.retain(|_, value| !value.is_null());
    }
    let mut intervals: Vec<&Interval> = stream.intervals.iter().collect();
    intervals.sort_by(|one, other| ordered(one.mos, other.mos).then(other.lost.cmp(&one.lost)));
    let interval = |interval: &&Interval| {
        json!({
            "began": time::rfc3339(interval.start),
            "packets": interval.packets,
            "lost": interval.lost,
            "discarded": interval.discarded,
            "jitter_ms": interval.jitter_ms,
            "mos": interval.mos,
        })
    };
    json!({
        "id": stream.id,
        "direction": stream.direction.map(|direction| direction.name()),
        "began": time::rfc3339(stream.first),
        "ended": time::rfc3339(stream.last),
        "loss_pct": stream.loss_pct(),
        "intervals": stream.intervals.len(),
        "worst_intervals": intervals.iter().take(worst).map(interval).collect::<Vec<_>>(),
        "untrusted": { "record": record },
    })
}

/// The lowest first; what is not known comes last.
fn ordered(one: Option<f64>, other: Option<f64>) -> Ordering {
    one.unwrap_or(f64::MAX).total_cmp(&other.unwrap_or(f64::MAX))
}

/// Most intervals of a stream.
const MOST: usize = 30;
