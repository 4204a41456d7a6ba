//! The section of a call.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use maud::{Markup, PreEscaped, html};
use ringtap_model::{Nanos, Stream};

use super::parts::{CallDetails, MessageText, Sound, class, codes};
use super::stream;
use crate::calls::{figure, party};
use crate::style::Style;
use crate::svg::{Picture, draw};
use crate::text::{counted, shown};
use crate::{detail, sentence, time};

pub(super) fn section(number: usize, details: &CallDetails<'_>) -> Markup {
    let call = details.call;
    html! {
        section id={ "c" (number) } {
            details {
                summary { (heading(details)) }
                div.in {
                    p.said { (shown(&sentence::of_call(call, details.streams))) }
                    @if !call.notes.is_empty() {
                        ul.notes { @for note in &call.notes { li { (shown(&detail::note_line(note))) } } }
                    }
                    dl {
                        @for (name, value) in detail::lines(call).iter().filter(|(name, _)| *name != "Note") {
                            dt { (name) }
                            dd { (shown(value)) }
                        }
                        dt { "Call-ID" }
                        dd { (shown(&call.call_id)) }
                    }
                    h4 { "Ladder" }
                    figure { (ladder(details)) }
                    (sound(details.sound))
                    (streams(details.streams))
                    (messages(details.messages))
                    p { a href="#calls" { "Back to the table" } }
                }
            }
        }
    }
}

fn heading(details: &CallDetails<'_>) -> Markup {
    let call = details.call;
    let start = call.start().map(time::clock).unwrap_or_default();
    let from = party(call.from_user.as_deref(), call.from_host.as_deref()).unwrap_or("unknown");
    let to = party(call.to_user.as_deref(), call.to_host.as_deref()).unwrap_or("unknown");
    html! {
        span.at { (start) }
        b { (shown(from)) " \u{2192} " (shown(to)) }
        " \u{00b7} "
        span class=[class(Style::of_state(call.state))] {
            (call.state.name())
            @if call.final_code > 200 { " " (call.final_code) }
        }
        @if let Some(mos) = call.mos {
            " \u{00b7} "
            span class=[class(Style::of_mos(Some(mos)))] { "MOS " (figure(Some(mos), 2)) }
        }
        @for code in codes(call) { " " span.tag { (code) } }
    }
}

fn ladder(details: &CallDetails<'_>) -> Markup {
    let digits: Vec<(Nanos, String)> =
        details.call.dtmf.iter().map(|digit| (digit.time, format!("DTMF {}", digit.digit))).collect();
    let picture = Picture {
        heading: &[],
        steps: details.steps,
        bands: details.bands,
        notes: &digits,
        remarks: details.remarks,
    };
    let mut svg = Vec::new();
    // Writing to memory cannot fail. The drawing escapes its texts itself.
    let _ = draw(&mut svg, &picture);
    PreEscaped(String::from_utf8(svg).unwrap_or_default())
}

fn sound(sound: Option<&Sound>) -> Markup {
    html! {
        @match sound {
            None => {}
            Some(Sound::Missing(why)) => { h4 { "Sound" } p.dim { (shown(why)) } }
            Some(Sound::File { mime, data, sides }) => {
                h4 { "Sound" }
                audio controls preload="metadata" src={ "data:" (mime) ";base64," (STANDARD.encode(data)) } {}
                p.dim { (shown(sides)) }
            }
        }
    }
}

fn streams(streams: &[Stream]) -> Markup {
    let first = streams.iter().map(|stream| stream.first).min().unwrap_or_default();
    let last = streams.iter().map(|stream| stream.last).max().unwrap_or_default();
    html! {
        @if !streams.is_empty() {
            h4 { "Streams over time" }
            @for stream in streams {
                p.msg { (stream::title(stream)) }
                (stream::body(stream, (first, last)))
            }
        }
    }
}

fn messages(messages: &[MessageText]) -> Markup {
    let text = |message: &MessageText| {
        let lines: Vec<_> = message.text.lines().map(|line| shown(line.trim_end_matches('\r'))).collect();
        lines.join("\n")
    };
    html! {
        @if !messages.is_empty() {
            details {
                summary { (counted(messages.len() as u64, "message")) " as text" }
                div.in {
                    @for message in messages {
                        p.msg {
                            (time::full(message.time)) "  " (message.src) " \u{2192} " (message.dst)
                        }
                        pre { (text(message)) }
                    }
                }
            }
        }
    }
}
