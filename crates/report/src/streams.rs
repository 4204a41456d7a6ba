//! Tables of streams and of their intervals.

use std::io::{self, Write};

use ringtap_model::{Endpoint, Interval, LostAt, Nanos, Stream};
use ringtap_quality::MosBasis;

use crate::calls::{arrow, figure, loss_pct, loss_style, percent};
use crate::fields::Layout;
use crate::reported;
use crate::style::Style;
use crate::table::{self, Cell, Column};
use crate::time;

const COLUMNS: &[Column] = &[
    Column::word("TIME", 0),
    Column::text("SOURCE", 21, 15, 0),
    Column::text("DESTINATION", 21, 15, 0),
    Column::word("SSRC", 3),
    Column::text("CODEC", 8, 5, 2),
    Column::figure("LENGTH", 5),
    Column::figure("PACKETS", 0),
    Column::figure("LOSS", 0),
    Column::word("LOST AT", 6),
    Column::figure("JITTER", 4),
    Column::figure("MOS", 0),
];

const INTERVALS: &[Column] = &[
    Column::word("TIME", 0),
    Column::figure("PACKETS", 0),
    Column::figure("LOST", 0),
    Column::figure("DISCARDED", 3),
    Column::figure("JITTER", 0),
    Column::figure("MOS", 0),
    Column::figure("FIXED 50", 2),
    Column::figure("FIXED 200", 1),
];

/// The short line of a stream that belongs to no call: what it does not show is not kept.
pub struct Row {
    first: Nanos,
    src: Endpoint,
    dst: Endpoint,
    ssrc: u32,
    codec: Box<str>,
    length: Nanos,
    packets: u64,
    loss: f64,
    lost_at: Option<LostAt>,
    jitter: Option<f64>,
    mos: Option<f64>,
}

impl Row {
    /// The line of `stream`.
    pub fn new(stream: &Stream) -> Self {
        Self {
            first: stream.first,
            src: stream.src,
            dst: stream.dst,
            ssrc: stream.ssrc,
            codec: codec(stream).into(),
            length: stream.last.since(stream.first),
            packets: stream.packets,
            loss: loss_pct(stream),
            lost_at: stream.lost_at,
            jitter: stream.jitter_ms_max,
            mos: stream.mos,
        }
    }

    fn cells(&self, dated: bool) -> Vec<Cell> {
        let loss = Some(self.loss);
        vec![
            Cell::plain(time::moment(self.first, dated)),
            Cell::plain(self.src.to_string()),
            Cell::plain(self.dst.to_string()),
            Cell::plain(format!("{:08x}", self.ssrc)),
            Cell::plain(&self.codec),
            Cell::plain(time::span(self.length.millis_f64())),
            Cell::plain(self.packets.to_string()),
            Cell::new(percent(loss), loss_style(loss)),
            Cell::plain(reported::place(self.lost_at)),
            Cell::known(self.jitter.map(|jitter| format!("{jitter:.1} ms"))),
            Cell::new(figure(self.mos, 2), Style::of_mos(self.mos)),
        ]
    }
}

/// The codec's name, or its payload type where nothing named it.
pub fn codec(stream: &Stream) -> String {
    stream.codec.clone().unwrap_or_else(|| format!("type {}", stream.payload_type))
}

/// Writes the table in order of time.
pub fn write(out: &mut dyn Write, mut rows: Vec<Row>, width: usize, colour: bool) -> io::Result<()> {
    rows.sort_by_key(|row| row.first);
    let dated = table::day(out, rows.iter().map(|row| row.first), colour)?;
    table::write(out, COLUMNS, rows.iter().map(|row| row.cells(dated)), width, colour)
}

/// Everything about one stream, its intervals last.
pub fn detail(out: &mut dyn Write, stream: &Stream, width: usize, colour: bool) -> io::Result<()> {
    let arrow = stream.direction.map_or("?", arrow);
    let heading =
        format!("{arrow}  {}  {} -> {}  SSRC {:08x}", codec(stream), stream.src, stream.dst, stream.ssrc);
    writeln!(out, "{}", Style::Bold.paint(&crate::text::shown(&heading), colour))?;
    for (name, value) in figures(stream) {
        Layout::under_heading(width).line(out, name, &value, Style::Plain)?;
    }
    let width = width.saturating_sub(2);
    if !stream.intervals.is_empty() {
        writeln!(out)?;
        let rows = stream.intervals.iter().map(interval_row);
        table::write(&mut Indented { out, begin: true }, INTERVALS, rows, width, colour)?;
    }
    let mut reports = stream.reports.iter().filter_map(reported::row).peekable();
    if reports.peek().is_none() {
        return Ok(());
    }
    writeln!(out)?;
    table::write(&mut Indented { out, begin: true }, reported::COLUMNS, reports, width, colour)
}

/// Name and value of each figure.
pub fn figures(stream: &Stream) -> Vec<(&'static str, String)> {
    let ms = |value: Option<f64>, places| match value {
        Some(value) => format!("{value:.places$} ms"),
        None => "-".to_string(),
    };
    let length = stream.last.since(stream.first).millis_f64();
    let clock = stream.clock.map_or_else(|| "clock unknown".to_string(), |clock| format!("{} Hz", clock.0));
    let mut lines = vec![
        (
            "Time",
            format!("{} to {} ({})", time::full(stream.first), time::clock(stream.last), time::span(length)),
        ),
        (
            "Codec",
            format!(
                "{}, payload type {}, {clock}, {} a packet",
                codec(stream),
                stream.payload_type,
                ms(stream.ptime_ms, 0)
            ),
        ),
        (
            "Packets",
            format!(
                "{} ({} different, {} repeated, {} out of order)",
                stream.packets, stream.unique, stream.duplicates, stream.reordered
            ),
        ),
        ("Lost", lost(stream)),
        (
            "Jitter",
            format!("{} mean, {} max (RFC 3550)", ms(stream.jitter_ms_mean, 2), ms(stream.jitter_ms_max, 2)),
        ),
        (
            "Arrival",
            format!(
                "{} mean, {} min, {} max, {} sd; longest gap {}",
                ms(stream.iat_ms_mean, 1),
                ms(stream.iat_ms_min, 1),
                ms(stream.iat_ms_max, 1),
                ms(stream.iat_ms_sd, 1),
                ms(stream.delta_ms_max, 1)
            ),
        ),
        (
            "Size",
            format!(
                "{:.0} bytes mean, {} to {} at IP; {} in all, {}",
                stream.size_mean,
                stream.size_min,
                stream.size_max,
                bytes(stream.ip_bytes),
                rate(stream.rate_bps)
            ),
        ),
        ("Round trip", round_trip(stream)),
        (
            "MOS",
            format!(
                "{} (R {}) with an adaptive buffer; fixed 50 ms {}, fixed 200 ms {}, Cole {}",
                figure(stream.mos, 2),
                figure(stream.r_factor, 1),
                figure(stream.mos_fixed50, 2),
                figure(stream.mos_fixed200, 2),
                figure(stream.mos_cole, 2)
            ),
        ),
    ];
    lines.extend(conversational(stream).map(|text| ("MOS-CQ", text)));
    if let Some(basis) = &stream.mos_basis {
        let words = basis.parse::<MosBasis>().map(|basis| basis.words().join("; "));
        lines.push(("Assumed", words.unwrap_or_else(|_| basis.clone())));
    }
    lines.extend(reported::figures(stream));
    if let (Some(silence), Some(clipped)) = (stream.silence_pct, stream.clipped_pct) {
        lines.push(("Sound", format!("{silence:.1} % silence, {clipped:.2} % clipped")));
    }
    lines
}

fn conversational(stream: &Stream) -> Option<String> {
    let basis = stream.mos_cq_basis.as_deref().map(|basis| format!(": {basis}")).unwrap_or_default();
    Some(format!("{:.2} in conversation, with the delay that RTCP shows{basis}", stream.mos_cq?))
}

fn lost(stream: &Stream) -> String {
    let share = percent(Some(loss_pct(stream)));
    match (stream.lost, stream.burst_len_mean, stream.burst_len_max) {
        (0, ..) => "0".to_string(),
        (lost, Some(mean), Some(max)) => {
            let ratio = figure(stream.burst_ratio, 2);
            let runs = crate::text::counted(stream.loss_bursts, "run");
            format!("{lost} ({share}) in {runs} of {mean:.1} mean, {max} max; burst ratio {ratio}")
        }
        (lost, ..) => format!("{lost} ({share})"),
    }
}

fn round_trip(stream: &Stream) -> String {
    match (stream.rtt_ms, stream.rtt_source) {
        (Some(rtt), Some(source)) => format!("{rtt:.1} ms (from {})", source.name().to_uppercase()),
        (Some(rtt), None) => format!("{rtt:.1} ms"),
        (None, _) => "-".to_string(),
    }
}

/// `512 B`, `1.5 kB`, `20.1 MB`.
pub fn bytes(count: u64) -> String {
    match count {
        0..1_000 => format!("{count} B"),
        1_000..1_000_000 => format!("{:.1} kB", count as f64 / 1e3),
        1_000_000..1_000_000_000 => format!("{:.1} MB", count as f64 / 1e6),
        _ => format!("{:.2} GB", count as f64 / 1e9),
    }
}

fn rate(bps: Option<f64>) -> String {
    bps.map_or_else(|| "-".to_string(), |bps| format!("{:.1} kbit/s", bps / 1e3))
}

fn interval_row(interval: &Interval) -> Vec<Cell> {
    let lost = if interval.lost > 0 { Style::Fair } else { Style::Plain };
    vec![
        Cell::plain(time::clock(interval.start)),
        Cell::plain(interval.packets.to_string()),
        Cell::new(interval.lost.to_string(), lost),
        Cell::plain(interval.discarded.to_string()),
        Cell::plain(format!("{:.2} ms", interval.jitter_ms)),
        Cell::new(figure(interval.mos, 2), Style::of_mos(interval.mos)),
        Cell::new(figure(interval.mos_fixed50, 2), Style::of_mos(interval.mos_fixed50)),
        Cell::new(figure(interval.mos_fixed200, 2), Style::of_mos(interval.mos_fixed200)),
    ]
}

/// Sets each line in by two columns.
struct Indented<'a> {
    out: &'a mut dyn Write,
    begin: bool,
}

impl Write for Indented<'_> {
    fn write(&mut self, data: &[u8]) -> io::Result<usize> {
        for line in data.split_inclusive(|byte| *byte == b'\n') {
            if std::mem::take(&mut self.begin) {
                self.out.write_all(b"  ")?;
            }
            self.out.write_all(line)?;
            self.begin = line.ends_with(b"\n");
        }
        Ok(data.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

#[cfg(test)]
mod tests {
    use ringtap_testing::samples;

    use super::*;
    use crate::text;

    #[test]
    fn golden_detail() {
        let mut out = Vec::new();
        detail(&mut out, &samples::stream(), 80, false).unwrap();
        samples::golden("stream.txt", &String::from_utf8(out).unwrap());
    }

    #[test]
    fn golden_table() {
        let unknown = Stream { codec: None, mos: None, jitter_ms_max: None, ..samples::stream() };
        let mut out = Vec::new();
        write(&mut out, vec![Row::new(&unknown), Row::new(&samples::stream())], 80, false).unwrap();
        let text = String::from_utf8(out).unwrap();
        samples::golden("streams-80.txt", &text);
        assert!(text.lines().all(|line| text::width(line) <= 80));
    }

    #[test]
    fn hostile_codecs_are_harmless() {
        let evil = Stream { codec: Some("\x1b[2J".into()), ..samples::stream() };
        let mut out = Vec::new();
        detail(&mut out, &evil, 80, false).unwrap();
        write(&mut out, vec![Row::new(&evil)], 80, false).unwrap();
        assert!(!String::from_utf8(out).unwrap().contains('\x1b'));
    }
}
