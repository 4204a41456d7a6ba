//! Formats a call: its record as JSON, its ladder as text and as SVG.

use std::io::{self, Write};

use ringtap_model::{Call, Dtmf, Nanos, Stream};
use ringtap_report::ladder::{self, Band, Page};
use ringtap_report::svg::{Picture, draw};
use ringtap_report::{detail, json, sentence, streams, time};
use serde_json::{Value, json};

use crate::find::{SelectedCalls, TimeRange};
use crate::replay::Replay;
use crate::steps::Steps;

/// Columns of text written to a file.
const WIDTH: usize = 120;

/// Writes one JSON object: `sentence`; `call` and `streams` as in the records; `messages` in order of time;
/// and `kept`.
pub fn json(
    out: &mut dyn Write,
    call: Option<&Call>,
    streams: &[Stream],
    replay: &Replay,
    kept: Value,
) -> io::Result<()> {
    let messages = &replay.messages;
    let sentence = call.map(|call| sentence::of_call(call, streams));
    let export = json!({
        "type": "export",
        "sentence": sentence,
        "call": call,
        "streams": streams,
        "messages": messages,
        "kept": kept,
    });
    json::line(out, &export)
}

/// Writes the same text as `ringtap call`, with media and digits in the ladder.
pub fn text(out: &mut dyn Write, selected: &SelectedCalls, replay: &Replay) -> io::Result<()> {
    let page = Page { width: WIDTH, colour: false, ascii: false };
    for (found, range) in &selected.0 {
        detail::write(out, &found.call, &found.records(), WIDTH, false)?;
        writeln!(out)?;
        let rows = ladder::rows(&replay.steps.within(*range), &replay.bands(), &notes(&found.call.dtmf));
        ladder::draw(out, &rows, page)?;
        for remark in replay.steps.remarks(*range) {
            writeln!(out, "{remark}")?;
        }
        for stream in &found.streams {
            writeln!(out)?;
            streams::detail(out, &stream.record, WIDTH, false)?;
        }
    }
    Ok(())
}

/// Draws the same ladder as SVG.
pub fn svg(
    out: &mut dyn Write,
    call: &Call,
    steps: &Steps,
    range: TimeRange,
    bands: &[Band],
) -> io::Result<()> {
    let party = |user: &Option<String>, host: &Option<String>| {
        [user.as_deref(), host.as_deref()].into_iter().flatten().collect::<Vec<_>>().join("@")
    };
    let from = party(&call.from_user, &call.from_host);
    let from = call.from_display.as_ref().map_or(from.clone(), |display| format!("\"{display}\" {from}"));
    let mut outcome = vec![call.state.name().to_owned()];
    outcome.extend((call.final_code > 0).then(|| call.final_code.to_string()));
    outcome.extend(call.duration_ms.map(time::span));
    outcome.extend(call.mos.map(|mos| format!("MOS {mos:.2}")));
    let start = call
        .start()
        .map(|start| format!("{} {}, ", time::full(start), time::zone_name()))
        .unwrap_or_default();
    let heading = [
        format!("{from} \u{2192} {}", party(&call.to_user, &call.to_host)),
        format!("{start}{}", outcome.join(", ")),
        format!("Call-ID {}", call.call_id),
    ];
    let picture = Picture {
        heading: &heading,
        steps: &steps.within(range),
        bands,
        notes: &notes(&call.dtmf),
        remarks: &steps.remarks(range),
    };
    draw(out, &picture)
}

fn notes(digits: &[Dtmf]) -> Vec<(Nanos, String)> {
    digits.iter().map(|digit| (digit.time, format!("DTMF {}", digit.digit))).collect()
}
