//! A call for people and programs: its record as JSON, its ladder as text and as a drawing.

use std::io::{self, Write};

use ringtap_model::{Call, Dtmf, Nanos, Stream};
use ringtap_report::ladder::{self, Band, Page};
use ringtap_report::svg::{self, Picture};
use ringtap_report::time;
use ringtap_report::{detail, json, streams};
use serde_json::{Value, json};

use crate::find::{Meant, Slice};
use crate::replay::Replay;
use crate::steps::Steps;

/// Columns of a text that goes into a file.
const WIDTH: usize = 120;

/// One object: `call` and `streams` as records have them, `messages` in the order in which they passed,
/// `kept`.
pub fn json(
    out: &mut dyn Write,
    call: Option<&Call>,
    streams: &[Stream],
    replay: &Replay,
    kept: Value,
) -> io::Result<()> {
    let export = json!({ "type": "export", "call": call, "streams": streams, "messages": replay.messages, "kept": kept });
    json::line(out, &export)
}

/// What `ringtap call` shows, with media and digits in the ladder.
pub fn text(out: &mut dyn Write, meant: &Meant, replay: &Replay) -> io::Result<()> {
    let page = Page { width: WIDTH, colour: false, ascii: false };
    for (found, slice) in &meant.0 {
        detail::write(out, &found.call, WIDTH, false)?;
        writeln!(out)?;
        let rows = ladder::rows(&replay.steps.within(*slice), &replay.bands(), &notes(&found.call.dtmf));
        ladder::draw(out, &rows, page)?;
        for remark in replay.steps.remarks(*slice) {
            writeln!(out, "{remark}")?;
        }
        for stream in &found.streams {
            writeln!(out)?;
            streams::detail(out, &stream.record, WIDTH, false)?;
        }
    }
    Ok(())
}

/// The same ladder as a drawing.
pub fn drawing(
    out: &mut dyn Write,
    call: &Call,
    steps: &Steps,
    slice: Slice,
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
    let start = call.start().map(|start| format!("{} UTC, ", time::full(start))).unwrap_or_default();
    let heading = [
        format!("{from} \u{2192} {}", party(&call.to_user, &call.to_host)),
        format!("{start}{}", outcome.join(", ")),
        format!("Call-ID {}", call.call_id),
    ];
    let picture = Picture {
        heading: &heading,
        steps: &steps.within(slice),
        bands,
        notes: &notes(&call.dtmf),
        remarks: &steps.remarks(slice),
    };
    svg::draw(out, &picture)
}

fn notes(digits: &[Dtmf]) -> Vec<(Nanos, String)> {
    digits.iter().map(|digit| (digit.time, format!("DTMF {}", digit.digit))).collect()
}
