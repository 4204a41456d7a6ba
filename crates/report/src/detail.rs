//! The head of one call: parties, times, outcome.

use std::io::{self, Write};

use ringtap_model::{Call, Join, Nanos, Note, Party, Stream};

use crate::calls::{arrow, figure};
use crate::fields::Layout;
use crate::reported;
use crate::style::Style;
use crate::text::{counted, shown, wrap};
use crate::{sentence, time};

/// Writes what happened, in words, then the call's own fields, one line each, unknown ones left out.
pub fn write(
    out: &mut dyn Write,
    call: &Call,
    streams: &[Stream],
    width: usize,
    colour: bool,
) -> io::Result<()> {
    writeln!(out, "{}", Style::Bold.paint(&format!("Call {}", shown(&call.call_id)), colour))?;
    let said = sentence::of_call(call, streams);
    wrap(&shown(&said), width.max(20)).iter().try_for_each(|line| writeln!(out, "{line}"))?;
    let layout = Layout::under_heading(width);
    lines(call).iter().try_for_each(|(name, value)| layout.line(out, name, value, Style::Plain))
}

/// Name and value of each field, as they came from the network.
pub fn lines(call: &Call) -> Vec<(&'static str, String)> {
    let mut lines = parties(call);
    lines.extend(call.conversation.filter(|id| *id != call.id).map(|id| ("Conversation", id.to_string())));
    let joined = |join: &Join| {
        let certainty = 100.0 * join.confidence;
        format!("{}: {}, {certainty:.0} %", join.call, join.evidence)
    };
    lines.extend(call.joins.iter().map(|join| ("Joined to", joined(join))));
    lines.push(("Signalling", signalling(call)));
    let agents = [("Caller's UA", &call.user_agent_caller), ("Callee's UA", &call.user_agent_callee)];
    lines.extend(agents.into_iter().filter_map(|(name, agent)| Some((name, agent.clone()?))));
    lines.push(("Outcome", outcome(call)));
    lines.extend(times(call));
    if call.mos.is_some() {
        let worst = figure(call.mos_worst_interval, 2);
        lines.push(("MOS", format!("{}, worst 10 s {worst}", figure(call.mos, 2))));
    }
    if !call.dtmf.is_empty() {
        let digits: Vec<_> = call.dtmf.iter().map(|digit| digit.digit.as_str()).collect();
        lines.push(("DTMF", digits.join(" ")));
    }
    lines.extend(reported::quality(call));
    lines.extend(call.notes.iter().map(|note| ("Note", note_line(note))));
    if call.capture_drops > 0 {
        let dropped = counted(call.capture_drops, "packet");
        lines.push(("Capture", format!("{dropped} dropped by this monitor meanwhile")));
    }
    lines
}

fn parties(call: &Call) -> Vec<(&'static str, String)> {
    let display = call.from_display.as_deref();
    let mut lines = vec![
        ("Record", call.id.to_string()),
        ("From", party(display, call.from_user.as_deref(), call.from_host.as_deref())),
        ("To", party(None, call.to_user.as_deref(), call.to_host.as_deref())),
    ];
    if call.ruri_user != call.to_user || call.ruri_host != call.to_host {
        let uri = party(None, call.ruri_user.as_deref(), call.ruri_host.as_deref());
        lines.push(("Request-URI", uri));
    }
    lines.extend(call.asserted_identity.iter().map(|identity| ("Asserted", identity.clone())));
    if !call.diverted_to.is_empty() {
        lines.push(("Diverted to", call.diverted_to.join(", ")));
    }
    lines
}

/// Code, direction, since when, and the evidence.
pub fn note_line(note: &Note) -> String {
    let direction = note.direction.map_or_else(String::new, |direction| format!(" {}", arrow(direction)));
    let since = note.since.map_or_else(String::new, |since| format!(" since {}", time::clock(since)));
    format!("{}{direction}{since}: {}", note.code.name(), note.evidence)
}

fn party(display: Option<&str>, user: Option<&str>, host: Option<&str>) -> String {
    let uri = match (user, host) {
        (Some(user), Some(host)) => format!("{user}@{host}"),
        (Some(one), None) | (None, Some(one)) => one.to_string(),
        (None, None) => "unknown".to_string(),
    };
    display.map_or_else(|| uri.clone(), |display| format!("\"{display}\" <{uri}>"))
}

fn signalling(call: &Call) -> String {
    let upper = |name: &dyn std::fmt::Debug| format!("{name:?}").to_uppercase();
    let carrier = format!("{} over {}", upper(&call.protocol), upper(&call.transport));
    let messages = counted(call.messages.into(), "message");
    let again = counted(call.retransmissions.into(), "retransmission");
    format!("{carrier}, {} -> {}, {messages}, {again}", call.src, call.dst)
}

fn outcome(call: &Call) -> String {
    let mut text = call.state.name().to_string();
    if call.final_code > 0 {
        text = format!("{text}, {} {}", call.final_code, call.final_reason.as_deref().unwrap_or(""))
            .trim_end()
            .to_string();
    }
    if let Some(cause) = call.cause {
        text = format!("{text}, Q.850 cause {cause}");
    }
    let by = call.released_by.map(|party| match party {
        Party::Caller => "the caller",
        Party::Callee => "the callee",
        Party::Network => "the network",
    });
    by.map_or(text.clone(), |by| format!("{text}, released by {by}"))
}

/// Each time with its offset from the first.
fn times(call: &Call) -> Vec<(&'static str, String)> {
    let start = call.start();
    let at = |time: Nanos| match start {
        Some(start) if time > start => {
            format!("{}  +{:.3} s", time::full(time), time.since(start).secs_f64())
        }
        _ => time::full(time),
    };
    let named = [
        ("Invited", call.invite),
        ("Trying", call.trying),
        ("Ringing", call.ringing),
        ("Answered", call.answer),
        ("Ended", call.end),
    ];
    let mut lines: Vec<_> = named.into_iter().filter_map(|(name, time)| Some((name, at(time?)))).collect();
    if let Some(pdd) = call.pdd_ms {
        lines.push(("Post-dial", time::span(pdd)));
    }
    if let Some(duration) = call.duration_ms {
        lines.push(("Duration", time::span(duration)));
    }
    lines
}

#[cfg(test)]
mod tests {
    use ringtap_testing::samples;

    use super::*;
    use crate::text;

    fn written(call: &Call) -> String {
        let mut out = Vec::new();
        write(&mut out, call, &[samples::stream()], 80, false).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn golden_call() {
        samples::golden("call.txt", &written(&samples::call()));
    }

    #[test]
    fn nothing_hostile_passes() {
        let text = written(&samples::hostile_call());
        assert!(text.lines().all(|line| !line.chars().any(text::hostile)), "{text}");
        assert!(text.contains("\"\\x1b[2J\\nroot\\x9b31m\""), "{text}");
    }
}
