//! What a machine carries, for people.

use std::io::{self, Write};

use ringtap_bench::{Figure, Machine, Measure, Outcome, Unit};
use ringtap_report::style::Style;
use ringtap_report::table::{self, Cell, Column};
use ringtap_report::text::grouped;
use serde::{Deserialize, Serialize};

/// Packets a second of a call in both directions, 20 ms each.
const PACKETS_OF_A_CALL: f64 = 100.0;

/// A whole run.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Report {
    pub(crate) version: String,
    pub(crate) machine: Machine,
    pub(crate) outcomes: Vec<Outcome>,
}

const RATES: &[Column] = &[
    Column::word("STAGE", 0),
    Column::figure("PER SECOND", 0),
    Column::figure("LEAST-MOST", 2),
    Column::figure("NS EACH", 0),
    Column::figure("OF REFERENCE", 0),
    Column::figure("Gb/s", 1),
    Column::text("WHAT", 40, 12, 3),
];

const TIMES: &[Column] = &[
    Column::word("OPERATION", 0),
    Column::figure("TIME", 0),
    Column::figure("LEAST-MOST", 1),
    Column::text("WHAT", 60, 12, 2),
];

/// Writes it.
pub(crate) fn write(out: &mut dyn Write, report: &Report, width: usize, colour: bool) -> io::Result<()> {
    writeln!(out, "{}", machine(&report.machine))?;
    for outcome in &report.outcomes {
        writeln!(out, "\n{}", Style::Bold.paint(&title(outcome), colour))?;
        let times = outcome.measures.iter().all(|measure| measure.unit == Unit::Nanos);
        if times {
            let rows = outcome.measures.iter().map(time);
            table::write(out, TIMES, rows, width, colour)?;
        } else {
            let rates = outcome.measures.iter().filter(|measure| measure.unit != Unit::Times);
            let rows = rates.map(|measure| rate(outcome, measure));
            table::write(out, RATES, rows, width, colour)?;
        }
        for line in conclusions(outcome) {
            writeln!(out, "  {line}")?;
        }
    }
    Ok(())
}

fn machine(machine: &Machine) -> String {
    let mut parts = vec![machine.processor.clone().unwrap_or_else(|| "unknown processor".to_owned())];
    parts.extend(machine.processors.map(|count| format!("{count} of them")));
    parts.extend(machine.caches.iter().cloned());
    parts.extend(machine.memory.map(|bytes| format!("{:.1} GB of memory", bytes as f64 / 1e9)));
    parts.extend(machine.kernel.clone());
    parts.extend(machine.load.map(|load| format!("load {load:.1} before it began")));
    parts.join(", ")
}

fn title(outcome: &Outcome) -> String {
    let Outcome { calls, streams, packets, rounds, .. } = *outcome;
    let mut title = format!("{}: {}", outcome.workload, outcome.what);
    if calls > 0 {
        title += &format!("; {} calls", grouped(calls));
    }
    if streams > 0 {
        title += &format!(", {} streams", grouped(streams));
    }
    if outcome.measures.iter().any(|measure| measure.unit != Unit::Nanos) {
        title += &format!("; {} packets of {:.0} bytes", grouped(packets), outcome.frame_bytes);
    }
    title + &format!("; {rounds} rounds")
}

fn rate(outcome: &Outcome, measure: &Measure) -> Vec<Cell> {
    let Figure { min, median, max } = measure.figure;
    // What a second means on the wire, where a unit is not a packet.
    let packets = outcome.measure("reference").map_or(1.0, |_| packets_each(outcome, measure.unit));
    vec![
        Cell::plain(&measure.name),
        Cell::plain(format!("{} {}", short(median), noun(measure.unit))),
        Cell::plain(format!("{}-{}", short(min), short(max))),
        Cell::plain(format!("{:.1}", 1e9 / median)),
        Cell::known(measure.ratio.map(|ratio| format!("{:.3}", ratio.median))),
        Cell::plain(format!("{:.1}", outcome.wire_gbps(median * packets))),
        Cell::plain(&measure.what),
    ]
}

/// Frames that one message or one call has on the wire.
fn packets_each(outcome: &Outcome, unit: Unit) -> f64 {
    match unit {
        Unit::Calls if outcome.streams > 0 => 9.0,
        _ => 1.0,
    }
}

fn noun(unit: Unit) -> &'static str {
    match unit {
        Unit::Packets => "packets",
        Unit::Messages => "messages",
        Unit::Calls => "calls",
        Unit::Times | Unit::Nanos => "",
    }
}

fn time(measure: &Measure) -> Vec<Cell> {
    let Figure { min, median, max } = measure.figure;
    vec![
        Cell::plain(measure.name.replace('_', " ")),
        Cell::plain(span(median)),
        Cell::plain(if min < max { format!("{}-{}", span(min), span(max)) } else { String::new() }),
        Cell::plain(&measure.what),
    ]
}

/// What the figures mean, in sentences.
fn conclusions(outcome: &Outcome) -> Vec<String> {
    let mut lines = Vec::new();
    lines.extend(outcome.memory.map(|memory| {
        let (total, each) = (memory.total as f64 / 1e6, grouped(memory.per_call));
        format!("Memory         {total:.0} MB, {each} bytes a call")
    }));
    let Some(engine) = outcome.measure("engine") else { return lines };
    if engine.unit == Unit::Packets {
        let line_rate = 10.0 / outcome.wire_gbps(1.0);
        lines.push(format!(
            "10 GbE         full of such packets is {} packets/s: one core carries {:.2} of it",
            short(line_rate),
            engine.figure.median / line_rate,
        ));
    }
    if outcome.workload == "media" {
        let calls = engine.figure.median / PACKETS_OF_A_CALL;
        lines.push(format!("One core       as many packets as {} such calls have", grouped(calls as u64)));
    }
    if let Some(Measure { figure: Figure { min, median, max }, .. }) = outcome.measure("gain") {
        lines.push(format!("Two workers    {median:.2} times one ({min:.2} to {max:.2})"));
        return lines;
    }
    lines.extend(limit(outcome));
    lines
}

/// Where the time of one goes: each stage does what the one before it does, and more.
fn limit(outcome: &Outcome) -> Option<String> {
    let rates: Vec<&Measure> = outcome
        .measures
        .iter()
        .filter(|measure| measure.unit != Unit::Nanos && measure.name != "file")
        .collect();
    let whole = 1e9 / rates.last()?.figure.median;
    let mut before = 0.0;
    let mut parts = Vec::new();
    for measure in rates {
        let own = (1e9 / measure.figure.median - before).max(0.0);
        before = 1e9 / measure.figure.median;
        let name = match measure.name.as_str() {
            "reference" => "reading memory",
            "decode" => "decoding",
            "rtp" => "RTP headers",
            "sip" => "indexing SIP",
            _ => "following calls and streams",
        };
        parts.push((name, own));
    }
    let most = parts.iter().max_by(|(_, one), (_, other)| one.total_cmp(other))?.0;
    let parts: Vec<String> =
        parts.iter().map(|(name, own)| format!("{name} {:.0} %", own * 100.0 / whole)).collect();
    Some(format!("What limits it {most}: of {} {}", span(whole), parts.join(", ")))
}

/// A count in three digits or so.
fn short(count: f64) -> String {
    match count {
        _ if count >= 1e6 => format!("{:.2} M", count / 1e6),
        _ if count >= 1e4 => format!("{:.0} k", count / 1e3),
        _ => format!("{count:.0}"),
    }
}

fn span(nanos: f64) -> String {
    match nanos {
        _ if nanos >= 1e6 => format!("{:.2} ms", nanos / 1e6),
        _ if nanos >= 1e3 => format!("{:.2} us", nanos / 1e3),
        _ => format!("{nanos:.1} ns"),
    }
}
