//! Counts of everything that passed, and of what did not.

use ringtap_live::calls::View;
use ringtap_report::calls::percent;
use ringtap_report::style::Style;
use ringtap_report::text::grouped;

use super::pen::{self, Ink, Pen, plain};
use crate::app::App;

pub(super) fn draw(app: &App, pen: &mut Pen<'_>) {
    pen.heading(0, " Statistics");
    let room = usize::from(pen.height()).saturating_sub(2);
    let lines = lines(app);
    let top = app.scroll.min(lines.len().saturating_sub(room));
    for (row, line) in lines.iter().skip(top).take(room).enumerate() {
        pen.line(row as u16 + 1, line);
    }
}

pub(super) fn lines(app: &App) -> Vec<Vec<Ink>> {
    let view = &app.view;
    let sections = [
        ("Calls", calls(view)),
        ("Requests", requests(view)),
        ("Answers", answers(view)),
        ("Packets", packets(view)),
        ("Lost or damaged, by place", losses(view)),
        ("Kept to be looked at", limits(view)),
    ];
    let mut lines = Vec::new();
    for (name, section) in sections {
        if !lines.is_empty() {
            lines.push(Vec::new());
        }
        lines.push(vec![pen::bold(format!(" {name}"))]);
        lines.extend(section);
    }
    lines
}

fn calls(view: &View) -> Vec<Vec<Ink>> {
    let totals = &view.totals;
    let mut lines = Vec::new();
    let (calls, streams) = view.under_way;
    lines.push(row(
        "followed now",
        &format!("{}, with {} streams", grouped(calls as u64), grouped(streams as u64)),
    ));
    lines.push(row("ended", &grouped(totals.ended)));
    for (state, count) in &totals.states {
        lines.push(share(state, *count, totals.ended));
    }
    let asr = totals.answered as f64 * 100.0 / totals.ended.max(1) as f64;
    if totals.ended > 0 {
        lines.push(row("ASR", &format!("{}, answered of ended", percent(Some(asr)))));
    }
    lines.push(row("streams without a call", &grouped(totals.loose_streams)));
    lines.push(row("registrations ended", &grouped(totals.registrations)));
    lines
}

fn requests(view: &View) -> Vec<Vec<Ink>> {
    let totals = &view.totals;
    let mut lines = Vec::new();
    let requests: u64 = totals.methods.values().sum();
    lines.extend(totals.methods.iter().map(|(method, count)| share(method, *count, requests)));
    lines
}

fn answers(view: &View) -> Vec<Vec<Ink>> {
    let totals = &view.totals;
    let mut lines = Vec::new();
    let answers: u64 = totals.codes.values().sum();
    for class in 1..=9_u16 {
        let of_class: Vec<_> = totals.codes.range(class * 100..class * 100 + 100).collect();
        let count: u64 = of_class.iter().map(|(_, count)| **count).sum();
        if count > 0 {
            let codes: Vec<String> =
                of_class.iter().map(|(code, count)| format!("{code}: {}", grouped(**count))).collect();
            let mut line = share(&format!("{class}xx"), count, answers);
            line.push(pen::dim(format!("   {}", codes.join("  "))));
            lines.push(line);
        }
    }
    lines.push(row("retransmissions", &grouped(totals.retransmissions)));
    lines
}

fn packets(view: &View) -> Vec<Vec<Ink>> {
    let mut lines = Vec::new();
    let packets = view.counters.frames;
    lines.push(row("all", &grouped(packets)));
    for (kind, count) in view.counters.kinds().into_iter().filter(|(_, count)| *count > 0) {
        lines.push(share(kind, count, packets));
    }
    lines
}

fn losses(view: &View) -> Vec<Vec<Ink>> {
    let mut lines = Vec::new();
    let own = view.counters.drops().into_iter().map(|(name, count)| (name.to_string(), count));
    let before = lines.len();
    for (place, count) in view.lost.iter().cloned().chain(own).filter(|(_, count)| *count > 0) {
        let mut line = row(&place, "");
        line.push(pen::styled(grouped(count), Style::Bad));
        lines.push(line);
    }
    if lines.len() == before {
        lines.push(row("nothing", ""));
    }
    lines
}

fn limits(view: &View) -> Vec<Vec<Ink>> {
    let totals = &view.totals;
    let mut lines = Vec::new();
    let limits = view.limits;
    lines.push(row(
        "calls and others",
        &format!("{} of at most {}", grouped(view.entries.len() as u64), grouped(limits.calls as u64)),
    ));
    lines.push(row("messages", &grouped(totals.messages)));
    lines.push(row(
        "memory",
        &format!("{:.1} of at most {} MiB", totals.bytes as f64 / f64::from(1 << 20), limits.bytes >> 20),
    ));
    let (media, gone) = totals.media;
    let most = limits.media_bytes >> 20;
    lines.push(row(
        "media packets",
        &format!("{} in at most {most} MiB, {} had to leave", grouped(media), grouped(gone)),
    ));
    lines.push(row(
        "left to make room",
        &format!("{}, {} of them still under way", grouped(totals.left), grouped(totals.left_early)),
    ));
    lines.push(row(
        "messages not kept",
        &format!(
            "{}, beyond {} of one call",
            grouped(totals.messages_left_out),
            grouped(limits.messages as u64)
        ),
    ));
    lines
}

fn row(name: &str, value: &str) -> Vec<Ink> {
    vec![plain(format!("   {name:<26}{value}"))]
}

fn share(name: &str, count: u64, of: u64) -> Vec<Ink> {
    let pct = count as f64 * 100.0 / of.max(1) as f64;
    vec![
        plain(format!("   {name:<22}{:>13}", grouped(count))),
        pen::dim(format!("  {:>7}", percent(Some(pct)))),
    ]
}
