//! A stream: its figures, and MOS, loss and jitter over time.

use maud::{Markup, html};
use ringtap_model::{Interval, Nanos, Stream};

use super::parts::class;
use crate::calls::{arrow, figure, loss_pct, loss_style, percent};
use crate::detail::note_line;
use crate::streams::{codec, figures};
use crate::style::Style;
use crate::text::shown;
use crate::time;

const WIDTH: f64 = 900.0;
/// Left of the lanes: their names and scales.
const MARGIN: f64 = 130.0;
/// Height of a lane, and of the space to the next.
const LANE: f64 = 38.0;
const SPACE: f64 = 14.0;
/// Most bars of a lane; of a longer stream, each bar shows the worst of several intervals.
const BARS: usize = 360;
const INTERVAL_COLUMNS: [&str; 5] = ["Packets", "Lost", "Discarded", "Jitter", "MOS"];
/// Time of an interval.
const INTERVAL: Nanos = Nanos::from_secs(10);

/// Direction, codec, ends and the worst figures, in a line.
pub(super) fn title(stream: &Stream) -> Markup {
    let loss = loss_pct(stream);
    html! {
        @if let Some(direction) = stream.direction { (arrow(direction)) " " }
        (shown(&codec(stream))) " \u{00b7} " (stream.src) " \u{2192} " (stream.dst) " \u{00b7} "
        span class=[class(loss_style(Some(loss)))] { (percent(Some(loss))) " lost" }
        @if let Some(mos) = stream.mos {
            " \u{00b7} " span class=[class(Style::of_mos(Some(mos)))] { "MOS " (figure(Some(mos), 2)) }
        }
    }
}

/// The chart, drawn over `span` so that the streams of a call share one axis, and all figures.
pub(super) fn body(stream: &Stream, span: (Nanos, Nanos)) -> Markup {
    html! {
        @if !stream.intervals.is_empty() { figure { (chart(stream, span)) } }
        details {
            summary { "All figures of this stream" }
            div.in {
                dl {
                    @for (name, value) in figures(stream) { dt { (name) } dd { (shown(&value)) } }
                    dt { "SSRC" }
                    dd { (format!("0x{:08x}", stream.ssrc)) }
                    @for note in &stream.notes { dt { "Note" } dd { (shown(&note_line(note))) } }
                }
                (intervals(&stream.intervals))
            }
        }
    }
}

fn intervals(intervals: &[Interval]) -> Markup {
    html! {
        @if !intervals.is_empty() {
            div.scroll {
                table {
                    thead { tr {
                        th scope="col" { "Time" }
                        @for name in INTERVAL_COLUMNS { th.n scope="col" { (name) } }
                    } }
                    tbody {
                        @for interval in intervals.iter().take(BARS) {
                            tr {
                                td { (time::clock(interval.start)) }
                                td.n { (interval.packets) }
                                td.n { (interval.lost) }
                                td.n { (interval.discarded) }
                                td.n { (format!("{:.2} ms", interval.jitter_ms)) }
                                td.n { (figure(interval.mos, 2)) }
                            }
                        }
                    }
                }
            }
            @if intervals.len() > BARS {
                p.dim { (intervals.len() - BARS) " more intervals are in the chart alone." }
            }
        }
    }
}

/// What a bar shows: the worst of its intervals.
#[derive(Clone, Copy)]
struct Bar {
    start: Nanos,
    end: Nanos,
    mos: Option<f64>,
    lost: u64,
    packets: u64,
    loss: f64,
    jitter: f64,
}

impl Bar {
    fn of(interval: &Interval) -> Self {
        let (lost, packets) = (u64::from(interval.lost), u64::from(interval.packets));
        Self {
            start: interval.start,
            end: interval.start + INTERVAL,
            mos: interval.mos,
            lost,
            packets,
            loss: lost as f64 * 100.0 / (lost + packets).max(1) as f64,
            jitter: interval.jitter_ms,
        }
    }

    fn worst_of(intervals: &[Interval]) -> Option<Self> {
        intervals.iter().map(Self::of).reduce(|a, b| Self {
            start: a.start,
            end: b.end,
            mos: match (a.mos, b.mos) {
                (Some(a), Some(b)) => Some(a.min(b)),
                (a, b) => a.or(b),
            },
            lost: a.lost + b.lost,
            packets: a.packets + b.packets,
            loss: a.loss.max(b.loss),
            jitter: a.jitter.max(b.jitter),
        })
    }

    fn told(&self) -> String {
        format!(
            "{}: {} of {} packets lost ({}), jitter {:.1} ms, MOS {}",
            time::clock(self.start),
            self.lost,
            self.lost + self.packets,
            percent(Some(self.loss)),
            self.jitter,
            figure(self.mos, 2)
        )
    }
}

struct Lane<'a> {
    name: &'static str,
    /// Of the scale.
    most: f64,
    least: f64,
    unit: &'static str,
    value: &'a dyn Fn(&Bar) -> Option<f64>,
    style: &'a dyn Fn(&Bar) -> Style,
}

fn chart(stream: &Stream, (first, last): (Nanos, Nanos)) -> Markup {
    let several = stream.intervals.len().div_ceil(BARS).max(1);
    let bars: Vec<Bar> = stream.intervals.chunks(several).filter_map(Bar::worst_of).collect();
    let begin = stream.intervals.first().map_or(first, |interval| interval.start.min(first));
    // A stream of two seconds is one bar, not a stripe.
    let span = last.since(begin).max(INTERVAL);
    let most = |value: &dyn Fn(&Bar) -> f64, least: f64| bars.iter().map(value).fold(least, f64::max);
    let lanes = [
        Lane {
            name: "MOS",
            most: 5.0,
            least: 1.0,
            unit: "",
            value: &|bar| bar.mos,
            style: &|bar| Style::of_mos(bar.mos),
        },
        Lane {
            name: "Loss",
            most: most(&|bar| bar.loss, 1.0),
            least: 0.0,
            unit: " %",
            value: &|bar| Some(bar.loss),
            // What was lost must be seen, however little.
            style: &|bar| match loss_style(Some(bar.loss)) {
                Style::Plain if bar.loss > 0.0 => Style::Fair,
                style => style,
            },
        },
        Lane {
            name: "Jitter",
            most: most(&|bar| bar.jitter, 5.0),
            least: 0.0,
            unit: " ms",
            value: &|bar| Some(bar.jitter),
            style: &|_| Style::Plain,
        },
    ];
    let height = lanes.len() as f64 * (LANE + SPACE) + 30.0;
    let label = format!(
        "MOS, loss and jitter of each 10 s from {} to {}",
        time::clock(begin),
        time::clock(begin + span)
    );
    html! {
        svg xmlns="http://www.w3.org/2000/svg" width=(WIDTH) height=(height)
            viewBox={ "0 0 " (WIDTH) " " (height) } role="img" aria-label=(label)
            font-family="sans-serif" font-size="11"
        {
            rect.paper x="0.5" y="0.5" width=(WIDTH - 1.0) height=(height - 1.0)
                fill="#ffffff" stroke="#c8ced5" {}
            @for (index, lane) in lanes.iter().enumerate() {
                (drawn(lane, 10.0 + index as f64 * (LANE + SPACE), &bars, (begin, span)))
            }
            (ticks(height - 12.0, (begin, span)))
        }
    }
}

fn drawn(lane: &Lane<'_>, top: f64, bars: &[Bar], (begin, span): (Nanos, Nanos)) -> Markup {
    let room = WIDTH - MARGIN - 20.0;
    let at = |time: Nanos| MARGIN + room * (time.since(begin).secs_f64() / span.secs_f64()).clamp(0.0, 1.0);
    let scale = |value: f64| LANE * ((value - lane.least) / (lane.most - lane.least)).clamp(0.0, 1.0);
    let most = format!("{:.*}{}", usize::from(lane.most < 10.0), lane.most, lane.unit);
    html! {
        text.ink x="14" y=(top + LANE / 2.0 + 4.0) font-weight="700" fill="#1b1f24" { (lane.name) }
        text.dim x=(MARGIN - 8.0) y=(top + 8.0) text-anchor="end" fill="#5c646d" { (most) }
        text.dim x=(MARGIN - 8.0) y=(top + LANE) text-anchor="end" fill="#5c646d" { (lane.least) (lane.unit) }
        path.rule d=(format!("M{MARGIN} {top}h{room}M{MARGIN} {}h{room}", top + LANE))
            fill="none" stroke="#d5dae0" {}
        @for bar in bars {
            @if let Some(value) = (lane.value)(bar) {
                @let (x, tall) = (at(bar.start), scale(value));
                @let (name, colour) = colour((lane.style)(bar));
                // A value of nothing is a hair, so that it differs from no value.
                @let tall = tall.max(1.0);
                @let wide = (at(bar.end) - x - 1.0).max(1.0);
                rect.fill.(name) x=(format!("{x:.1}")) y=(format!("{:.1}", top + LANE - tall))
                    width=(format!("{wide:.1}")) height=(format!("{tall:.1}"))
                    fill=(colour) fill-opacity="0.8"
                { title { (bar.told()) } }
            }
        }
    }
}

/// The times at the foot: the beginning, the end, and three between.
fn ticks(y: f64, (begin, span): (Nanos, Nanos)) -> Markup {
    const TICKS: u64 = 4;
    let room = WIDTH - MARGIN - 20.0;
    html! {
        @for tick in 0..=TICKS {
            @let anchor = match tick { 0 => "start", TICKS => "end", _ => "middle" };
            @let x = MARGIN + room * tick as f64 / TICKS as f64;
            text.dim x=(x) y=(y) text-anchor=(anchor) fill="#5c646d" {
                (time::clock(begin + Nanos(span.0 / TICKS * tick)))
            }
        }
    }
}

fn colour(style: Style) -> (&'static str, &'static str) {
    match style {
        Style::Good => ("good", "#157a3c"),
        Style::Fair => ("fair", "#9a6100"),
        Style::Bad => ("bad", "#c0262d"),
        Style::Plain | Style::Bold | Style::Dim => ("ink", "#1b1f24"),
    }
}
