//! Head, policy, summary and tables of the page.

use std::collections::BTreeMap;
use std::io::{self, Write};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use maud::{Markup, PreEscaped, html};
use ringtap_model::{Call, Stream};
use sha2::{Digest, Sha256};

use super::parts::{CallEntry, Page, class, codes};
use super::stream;
use crate::calls::{arrow, figure, loss_pct, loss_style, party, percent, worst};
use crate::style::Style;
use crate::text::shown;
use crate::time;

const CSS: &str = include_str!("page.css");
const SCRIPT: &str = include_str!("page.js");

/// Heading of each column, and whether it holds figures.
const COLUMNS: [(&str, bool); 12] = [
    ("Time", false),
    ("From", false),
    ("To", false),
    ("State", false),
    ("Code", true),
    ("PDD", true),
    ("Length", true),
    ("Worst", false),
    ("Loss", true),
    ("Jitter", true),
    ("MOS", true),
    ("Notes", false),
];

pub(super) fn write(out: &mut dyn Write, page: &Page<'_>) -> io::Result<()> {
    // Tags that stay open while calls are written one by one; all else is balanced by the templates.
    out.write_all(b"<!DOCTYPE html>\n<html lang=\"en\">\n")?;
    put(out, head(page))?;
    out.write_all(b"<body>\n")?;
    put(out, header(page))?;
    out.write_all(b"<main>\n")?;
    if !page.calls.is_empty() {
        calls(out, page.calls)?;
    }
    if !page.streams.is_empty() {
        put(out, streams(page.streams))?;
    }
    out.write_all(b"</main>\n")?;
    put(out, footer(page))?;
    put(out, html! { script { (PreEscaped(SCRIPT)) } })?;
    out.write_all(b"</body>\n</html>\n")
}

fn put(out: &mut dyn Write, markup: Markup) -> io::Result<()> {
    out.write_all(markup.into_string().as_bytes())?;
    out.write_all(b"\n")
}

/// Nothing may run, load or be sent but the page's own style sheet and script, and its own sound.
fn policy() -> String {
    let hash = |text: &str| format!("'sha256-{}'", STANDARD.encode(Sha256::digest(text)));
    format!(
        "default-src 'none'; style-src {}; script-src {}; img-src data:; media-src data:; base-uri 'none'; \
         form-action 'none'",
        hash(CSS),
        hash(SCRIPT)
    )
}

fn head(page: &Page<'_>) -> Markup {
    html! {
        head {
            meta charset="utf-8";
            meta http-equiv="Content-Security-Policy" content=(policy());
            meta name="viewport" content="width=device-width, initial-scale=1";
            meta name="referrer" content="no-referrer";
            meta name="generator" content=(concat!("ringtap ", env!("CARGO_PKG_VERSION")));
            title { (shown(page.title)) }
            // Without it a browser asks the server for one, against the policy.
            link rel="icon" href="data:,";
            style { (PreEscaped(CSS)) }
        }
    }
}

fn header(page: &Page<'_>) -> Markup {
    html! {
        header {
            h1 { (shown(page.title)) }
            @for sentence in page.about { p.dim { (shown(sentence)) } }
            @for sentence in page.left_out { p.fair { "Not on this page: " (shown(sentence)) } }
            dl.panel {
                @for (name, value) in page.summary {
                    dt { (name) }
                    dd class=[matches!(*name, "Dropped" | "Damage").then_some("bad")] { (shown(value)) }
                }
            }
        }
    }
}

fn calls(out: &mut dyn Write, calls: &[CallEntry]) -> io::Result<()> {
    let mut notes: BTreeMap<&str, u64> = BTreeMap::new();
    for code in calls.iter().flat_map(|call| &call.notes) {
        *notes.entry(code).or_default() += 1;
    }
    put(out, html! { h2 { "Calls" } (search(&notes)) })?;
    out.write_all(b"<div class=\"scroll\"><table id=\"calls\">\n")?;
    let headings = html! {
        thead { tr { @for (name, figures) in COLUMNS { th.n[figures] scope="col" { (name) } } } }
    };
    put(out, headings)?;
    out.write_all(b"<tbody>\n")?;
    for call in calls {
        out.write_all(call.row.as_bytes())?;
        out.write_all(b"\n")?;
    }
    out.write_all(b"</tbody></table></div>\n")?;
    put(out, html! { h2 { "Each call" } })?;
    for section in calls.iter().filter_map(|call| call.section.as_deref()) {
        out.write_all(section.as_bytes())?;
        out.write_all(b"\n")?;
    }
    Ok(())
}

/// Shown by the script, since it does nothing without it.
fn search(notes: &BTreeMap<&str, u64>) -> Markup {
    html! {
        form hidden {
            input type="search" name="text" aria-label="Search calls" autocomplete="off"
                placeholder="Number, state, code, note, Call-ID";
            select name="note" aria-label="Note" {
                option value="" { "Any call" }
                @if !notes.is_empty() { option value="*" { "With a note" } }
                @for (code, count) in notes { option value=(code) { (code) " (" (count) ")" } }
            }
            output.dim aria-live="polite" {}
        }
    }
}

/// A row of the table of calls; `linked` where the page has its section.
pub(super) fn row(number: usize, call: &Call, streams: &[Stream], linked: bool) -> Markup {
    let stream = worst(streams.iter());
    let loss = stream.map(loss_pct);
    let jitter = stream.and_then(|stream| stream.jitter_ms_max);
    let start = call.start();
    let begins = start.map(|start| format!("{} {}", time::date(start), time::clock(start)));
    let from = party(call.from_user.as_deref(), call.from_host.as_deref()).unwrap_or_default();
    let to = party(call.to_user.as_deref(), call.to_host.as_deref()).unwrap_or_default();
    let codes = codes(call);
    html! {
        tr data-number=(number) data-id=(shown(&call.call_id)) data-notes=(codes.join(" ")) {
            td data-value=(start.map_or(0, |start| start.micros())) {
                @let begins = begins.as_deref().unwrap_or("unknown");
                @if linked { a href={ "#c" (number) } { (begins) } } @else { (begins) }
            }
            td.party { (shown(from)) }
            td.party { (shown(to)) }
            td class=[class(Style::of_state(call.state))] { (call.state.name()) }
            td.n { @if call.final_code > 0 { (call.final_code) } }
            (cell(call.pdd_ms, time::span, Style::Plain))
            (cell(call.duration_ms, time::span, Style::Plain))
            td { (stream.map(worst_of).unwrap_or_default()) }
            (cell(loss, |loss| percent(Some(loss)), loss_style(loss)))
            (cell(jitter, |jitter| format!("{jitter:.1} ms"), Style::Plain))
            (cell(call.mos, |mos| figure(Some(mos), 2), Style::of_mos(call.mos)))
            td.notes { @for code in &codes { span.tag { (code) } } }
        }
    }
}

fn worst_of(stream: &Stream) -> String {
    let arrow = stream.direction.map_or("", arrow);
    shown(format!("{arrow} {}", crate::streams::codec(stream)).trim_start()).into_owned()
}

/// A figure, with its value to sort by.
fn cell(value: Option<f64>, told: impl Fn(f64) -> String, style: Style) -> Markup {
    html! {
        @let sorted = value.map(|value| value.to_string()).unwrap_or_default();
        td.n.(class(style).unwrap_or_default()) data-value=(sorted) {
            (value.map(told).unwrap_or_default())
        }
    }
}

fn streams(streams: &[Stream]) -> Markup {
    html! {
        h2 { "Streams without signalling" }
        @for stream in streams {
            section {
                details {
                    summary { (stream::title(stream)) }
                    div.in { (stream::body(stream, (stream.first, stream.last))) }
                }
            }
        }
    }
}

fn footer(page: &Page<'_>) -> Markup {
    html! {
        footer {
            p {
                "Made by ringtap " (env!("CARGO_PKG_VERSION")) ". Times are in " (time::zone_name())
                ". MOS is MOS-LQ of the "
                "E-model (G.107) after an adaptive jitter buffer; each stream says what it assumes. The page "
                "is complete in itself: it fetches nothing and sends nothing."
            }
            @if page.calls.iter().any(|call| call.section.is_none()) {
                p { "Calls without a link are in the table alone." }
            }
        }
    }
}
