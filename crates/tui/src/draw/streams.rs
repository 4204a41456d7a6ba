//! Streams of the calls looked at, and ten seconds after ten seconds of the one under the cursor.

use ringtap_model::{Interval, Stream};
use ringtap_report::calls::{arrow, figure, loss_pct, loss_style, percent};
use ringtap_report::streams::codec;
use ringtap_report::style::Style;
use ringtap_report::text::{Align, counted, fit};
use ringtap_report::time;

use super::pen::{self, Ink, Pen, plain};
use crate::app::App;

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
    // The chart below needs a dozen lines.
    let room = usize::from(pen.height()).saturating_sub(CHART + 5).max(2);
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

/// Four rows, each with its scale, and the last ten seconds in figures.
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
    let jitter = |interval: &Interval| interval.jitter_ms;
    let (most_packets, most_lost, most_jitter) = (most(&packets), most(&lost), most(&jitter));
    let lowest = shown.iter().filter_map(|interval| interval.mos).fold(f64::INFINITY, f64::min);
    let worst = if lowest.is_finite() { format!("lowest {lowest:.2}") } else { String::new() };
    let rows: [(&str, String, Vec<Ink>); 4] = [
        ("MOS", worst, shown.iter().map(|interval| mos_block(interval.mos)).collect()),
        (
            "Loss",
            format!("highest {most_lost:.1} %"),
            bars(&shown, &lost, most_lost.max(1.0), &|interval| loss_style(Some(lost(interval)))),
        ),
        (
            "Jitter",
            format!("highest {most_jitter:.1} ms"),
            bars(&shown, &jitter, most_jitter.max(10.0), &|_| Style::Plain),
        ),
        (
            "Packets",
            format!("highest {most_packets:.0}"),
            bars(&shown, &packets, most_packets.max(1.0), &|_| Style::Plain),
        ),
    ];
    for (index, (name, scale, bars)) in rows.into_iter().enumerate() {
        let mut line = vec![pen::dim(format!(" {name:<width$}", width = LABEL - 1))];
        line.extend(bars);
        line.push(pen::dim(format!("  {scale}")));
        pen.line(row + 1 + index as u16, &line);
    }
    if let Some(last) = shown.last() {
        let figures = format!(
            " Last 10 s from {}: {} packets, {} lost, jitter {:.1} ms, MOS {}",
            time::clock(last.start),
            last.packets,
            last.lost,
            last.jitter_ms,
            figure(last.mos, 2)
        );
        pen.line(row + 6, &[plain(figures)]);
    }
}

fn bars(
    shown: &[&Interval],
    of: &dyn Fn(&Interval) -> f64,
    most: f64,
    style: &dyn Fn(&Interval) -> Style,
) -> Vec<Ink> {
    let bar = |interval: &&Interval| match of(interval) {
        0.0 => pen::dim("·"),
        value => pen::styled(block(value / most), style(interval)),
    };
    shown.iter().map(bar).collect()
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
/// Lines of the chart.
const CHART: usize = 8;
