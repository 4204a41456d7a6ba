//! Streams of the calls looked at, and ten seconds after ten seconds of the one under the cursor.

use ringtap_model::{Interval, Stream};
use ringtap_report::calls::{arrow, figure, loss_pct, loss_style, percent};
use ringtap_report::streams::codec;
use ringtap_report::style::Style;
use ringtap_report::text::{Align, counted, fit};
use ringtap_report::time;

use super::pen::{self, Ink, Pen, plain};
use crate::app::App;

/// The stream at a row of the screen.
pub(crate) fn row_at(app: &App, row: u16) -> Option<usize> {
    let room = room(app.size.1);
    let place = usize::from(row.checked_sub(3)?);
    let index = app.stream.saturating_sub(room - 1) + place;
    (place < room && index < app.streams().count()).then_some(index)
}

/// Streams that the table shows on a screen of that height.
fn room(height: u16) -> usize {
    usize::from(height).saturating_sub(CHART + 5).max(2)
}

pub(super) fn draw(app: &App, pen: &mut Pen<'_>) {
    let title = match &app.open[..] {
        [one] => format!(" Streams of {}", one.call_id),
        several => format!(" Streams of {} calls", several.len()),
    };
    pen.heading(0, &title);
    let streams: Vec<&Stream> = app.streams().collect();
    if streams.is_empty() {
        pen.put(
            2,
            2,
            &pen::dim("No stream yet: they show with the first second of media, or when the call has ended."),
        );
        return;
    }
    let wide = pen.width() >= 100;
    let address = if wide { 21 } else { 19 };
    let head = format!(
        "{:3} {:address$} {:address$} {:6} {:>7} {:>7} {:>6} {:>4}",
        "Dir", "Source", "Destination", "Codec", "Packets", "Loss", "Jitter", "MOS"
    );
    pen.line(2, &[pen::bold(format!(" {head}{}", if wide { "  MOS, 10 s each" } else { "" }))]);
    let room = room(pen.height());
    let top = app.stream.saturating_sub(room - 1);
    for (index, stream) in streams.iter().enumerate().skip(top).take(room) {
        let row = (index - top) as u16 + 3;
        pen.line(row, &line(stream, wide, usize::from(pen.width())));
        if index == app.stream {
            pen.mark(row);
        }
    }
    if let Some(stream) = streams.get(app.stream) {
        let row = 4 + streams.len().min(room) as u16;
        chart(stream, row, pen);
    }
}

fn line(stream: &Stream, wide: bool, width: usize) -> Vec<Ink> {
    let loss = loss_pct(stream);
    let address = if wide { 21 } else { 19 };
    let mut line = vec![
        plain(format!(
            " {:3} {} {} {} {:>7} ",
            stream.direction.map_or("-", arrow),
            fit(&stream.src.to_string(), address, Align::Left),
            fit(&stream.dst.to_string(), address, Align::Left),
            fit(&codec(stream), 6, Align::Left),
            stream.packets
        )),
        pen::styled(format!("{:>7} ", percent(Some(loss))), loss_style(Some(loss))),
        plain(format!("{:>6} ", figure(stream.jitter_ms_max, 1))),
        pen::styled(format!("{:>4}", figure(stream.mos, 2)), Style::of_mos(stream.mos)),
    ];
    if wide {
        line.push(plain("  "));
        let room = width.saturating_sub(88);
        let last = stream.intervals.len().saturating_sub(room);
        line.extend(stream.intervals.iter().skip(last).map(|interval| mos_block(interval.mos)));
    }
    line
}

/// Bad is low: 1 to 4.5 as eight heights.
fn mos_block(mos: Option<f64>) -> Ink {
    match mos {
        None => pen::dim("·"),
        Some(mos) => pen::styled(block((mos - 1.0) / 3.5), Style::of_mos(Some(mos))),
    }
}

fn block(share: f64) -> String {
    let index = (share.clamp(0.0, 1.0) * 7.0).round() as usize;
    BLOCKS.get(index).copied().unwrap_or('█').to_string()
}

/// What a lane of the chart shows.
struct Lane<'a> {
    name: &'a str,
    scale: String,
    /// Of the full height.
    share: &'a dyn Fn(&Interval) -> Option<f64>,
    style: &'a dyn Fn(&Interval) -> Style,
}

/// Four lanes over time, as tall as there is room, each with its scale, and the last ten seconds in figures.
fn chart(stream: &Stream, row: u16, pen: &mut Pen<'_>) {
    let head = format!(
        " SSRC 0x{:08x}, {} to {}, {} of 10 s",
        stream.ssrc,
        time::clock(stream.first),
        time::clock(stream.last),
        counted(stream.intervals.len() as u64, "interval")
    );
    pen.line(row, &[pen::bold(head)]);
    let room = usize::from(pen.width()).saturating_sub(LABEL + 24);
    let skip = stream.intervals.len().saturating_sub(room);
    let shown: Vec<&Interval> = stream.intervals.iter().skip(skip).collect();
    let lost = |interval: &Interval| share(interval.lost, interval.packets);
    let most = |of: &dyn Fn(&Interval) -> f64| shown.iter().map(|interval| of(interval)).fold(0.0, f64::max);
    let packets = |interval: &Interval| f64::from(interval.packets);
    let (most_packets, most_lost) = (most(&packets), most(&lost));
    let most_jitter = most(&|interval| interval.jitter_ms);
    let lowest = shown.iter().filter_map(|interval| interval.mos).fold(f64::INFINITY, f64::min);
    let some = |value: f64, most: f64| (value > 0.0).then_some(value / most);
    let lanes = [
        Lane {
            name: "MOS",
            scale: if lowest.is_finite() { format!("lowest {lowest:.2}") } else { String::new() },
            share: &|interval| interval.mos.map(|mos| (mos - 1.0) / 3.5),
            style: &|interval| Style::of_mos(interval.mos),
        },
        Lane {
            name: "Loss",
            scale: format!("highest {most_lost:.1} %"),
            share: &|interval| some(lost(interval), most_lost.max(1.0)),
            style: &|interval| loss_style(Some(lost(interval))),
        },
        Lane {
            name: "Jitter",
            scale: format!("highest {most_jitter:.1} ms"),
            share: &|interval| some(interval.jitter_ms, most_jitter.max(10.0)),
            style: &|_| Style::Plain,
        },
        Lane {
            name: "Packets",
            scale: format!("highest {most_packets:.0}"),
            share: &|interval| some(packets(interval), most_packets.max(1.0)),
            style: &|_| Style::Plain,
        },
    ];
    let left = pen.height().saturating_sub(row + 5);
    let tall = (left / lanes.len() as u16).clamp(1, TALLEST);
    // A short stream is stretched, so that its chart can be read.
    let each = (room / shown.len().max(1)).clamp(1, WIDEST);
    let mut at = row + 1;
    for lane in &lanes {
        drawn(lane, &shown, (at, tall, each), pen);
        at += tall;
    }
    if let Some(last) = shown.last() {
        let first = shown.first().map(|interval| time::clock(interval.start)).unwrap_or_default();
        let axis =
            format!("{:LABEL$}{first}, {} column{} each 10 s", "", each, if each == 1 { "" } else { "s" });
        pen.line(at, &[pen::dim(axis)]);
        let figures = format!(
            " Last 10 s from {}: {} packets, {} lost, jitter {:.1} ms, MOS {}",
            time::clock(last.start),
            last.packets,
            last.lost,
            last.jitter_ms,
            figure(last.mos, 2)
        );
        pen.line(at + 1, &[plain(figures)]);
    }
}

fn drawn(lane: &Lane<'_>, shown: &[&Interval], (at, tall, each): (u16, u16, usize), pen: &mut Pen<'_>) {
    for row in 0..tall {
        let is_lowest = row + 1 == tall;
        let name = if is_lowest { lane.name } else { "" };
        let mut line = vec![pen::dim(format!(" {name:<width$}", width = LABEL - 1))];
        line.extend(shown.iter().map(|interval| match (lane.share)(interval) {
            None if is_lowest => pen::dim("\u{b7}".repeat(each)),
            None => plain(" ".repeat(each)),
            Some(share) => {
                pen::styled(piece(share, tall, tall - 1 - row).repeat(each), (lane.style)(interval))
            }
        }));
        if is_lowest {
            line.push(pen::dim(format!("  {}", lane.scale)));
        }
        pen.line(at + row, &line);
    }
}

/// The piece of a bar at a height above its foot, of a bar that is `share` of `tall`.
fn piece(share: f64, tall: u16, height: u16) -> String {
    let eighths = (share.clamp(0.0, 1.0) * f64::from(tall) * 8.0).round().max(1.0) as usize;
    match eighths.saturating_sub(usize::from(height) * 8) {
        0 => ' '.to_string(),
        part => BLOCKS.get(part - 1).copied().unwrap_or('█').to_string(),
    }
}

/// Lost of what should have come, in percent.
fn share(lost: u32, packets: u32) -> f64 {
    match lost.saturating_add(packets) {
        0 => 0.0,
        expected => f64::from(lost) * 100.0 / f64::from(expected),
    }
}

const BLOCKS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
const LABEL: usize = 10;
/// Lines that the chart needs at least.
const CHART: usize = 8;
/// Rows of a lane at most.
const TALLEST: u16 = 6;
/// Columns of an interval at most.
const WIDEST: usize = 6;
