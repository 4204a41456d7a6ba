//! The indicators: each with its definition, its value, and the count behind it.

use ringtap_quality::kpi::{Kpi, KpiRatio, Outcomes};

use crate::cell::{Cell, Measure};
use crate::occupancy::Concurrent;

/// A cell as figures see it.
#[derive(Clone, Copy, Debug)]
pub struct View<'a> {
    /// The counts.
    pub cell: &'a Cell,
    /// Calls in progress over the time of the cell; `None` where they are not counted.
    pub concurrent: Option<Concurrent>,
}

/// What a figure is given in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FigureUnit {
    /// A plain number of calls.
    Count,
    /// Percent, 0 to 100.
    Percent,
    /// Milliseconds.
    Milliseconds,
    /// MOS, 1 to 4.5.
    Mos,
    /// A number with a fraction, such as erlangs.
    Number,
}

/// An indicator.
#[derive(Clone, Copy, Debug)]
pub struct Figure {
    /// Its name in JSON lines and CSV.
    pub name: &'static str,
    /// Its name for people.
    pub title: &'static str,
    /// What it is given in.
    pub unit: FigureUnit,
    /// How it is computed, to be shown beside it: others define some of these differently.
    pub definition: &'static str,
    /// Its value, `None` where it has none, and the number of calls, streams or registrations behind it.
    pub value: fn(&View<'_>) -> (Option<f64>, u64),
}

/// The indicator of that name.
pub fn figure(name: &str) -> Option<&'static Figure> {
    FIGURES.iter().find(|figure| figure.name == name)
}

fn ratio(view: &View<'_>, of: impl Fn(Outcomes<'_>, u64) -> KpiRatio) -> (Option<f64>, u64) {
    let codes: Vec<(u16, u64)> = view.cell.codes.iter().map(|(code, count)| (*code, *count)).collect();
    let outcomes = Outcomes(&codes);
    let ratio = of(outcomes, outcomes.attempts());
    (ratio.percent(), ratio.of)
}

fn of_kpi(view: &View<'_>, kpi: Kpi) -> (Option<f64>, u64) {
    ratio(view, |outcomes, _| kpi.of(outcomes))
}

fn answered(cell: &Cell) -> u64 {
    cell.codes.range(200..300).fold(0, |sum, (_, count)| sum.saturating_add(*count))
}

fn share(part: u64, of: u64) -> (Option<f64>, u64) {
    (KpiRatio { part, of }.percent(), of)
}

fn quantile(view: &View<'_>, measure: Measure, share: f64) -> (Option<f64>, u64) {
    let sketch = view.cell.sketch(measure);
    (sketch.quantile(share), sketch.count())
}

fn mean(view: &View<'_>, measure: Measure) -> (Option<f64>, u64) {
    let sketch = view.cell.sketch(measure);
    (sketch.mean(), sketch.count())
}

/// Defines the figures: name, title, unit, definition, value.
macro_rules! figures {
    ($($name:literal $title:literal $unit:ident: $definition:expr, |$view:ident| $value:expr;)+) => {
        /// All indicators, in display order.
        pub const FIGURES: &[Figure] = &[$(Figure {
            name: $name,
            title: $title,
            unit: FigureUnit::$unit,
            definition: $definition,
            value: |$view| $value,
        },)+];
    };
}

figures! {
    "attempts" "ATTEMPTS" Count: "call attempts: first INVITEs; one that is challenged (401, 407), repeated \
        or forked is one attempt",
        |view| (Some(view.cell.attempts() as f64), view.cell.attempts());
    "answered" "ANSWERED" Count: "attempts that ended with a 2xx",
        |view| (Some(answered(view.cell) as f64), view.cell.attempts());
    "asr" "ASR" Percent: Kpi::Asr.definition(), |view| of_kpi(view, Kpi::Asr);
    "abr" "ABR" Percent: "answered (2xx) / bids; in SIP every attempt is a bid and a seizure, so it equals \
        ASR",
        |view| of_kpi(view, Kpi::Asr);
    "ner" "NER" Percent: Kpi::Ner.definition(), |view| of_kpi(view, Kpi::Ner);
    "ner_isa" "NER-ISA" Percent: "100 - ISA, as in GSMA IR.42: (attempts - (408, 500, 503 and 504)) / \
        attempts",
        |view| ratio(view, |outcomes, attempts| {
            KpiRatio { part: attempts.saturating_sub(Kpi::Isa.of(outcomes).part), of: attempts }
        });
    "ner_without_4xx" "NER-4XX" Percent: "answered (2xx) / (attempts - those that ended with 400 to 499)",
        |view| ratio(view, |outcomes, attempts| {
            let refused = outcomes.count(|code| (400..500).contains(&code));
            KpiRatio { part: Kpi::Asr.of(outcomes).part, of: attempts.saturating_sub(refused) }
        });
    "ser" "SER" Percent: Kpi::Ser.definition(), |view| of_kpi(view, Kpi::Ser);
    "seer" "SEER" Percent: Kpi::Seer.definition(), |view| of_kpi(view, Kpi::Seer);
    "isa" "ISA" Percent: Kpi::Isa.definition(), |view| of_kpi(view, Kpi::Isa);
    "scr" "SCR" Percent: "RFC 6076: completed (answered, then released) / attempts, redirected ones included",
        |view| share(view.cell.completed, view.cell.attempts());
    "acd_ms" "ACD" Milliseconds: "mean time from answer to release of the answered calls that were released",
        |view| mean(view, Measure::Duration);
    "duration_ms_p50" "DURATION" Milliseconds: "median time from answer to release",
        |view| quantile(view, Measure::Duration, 0.5);
    "pdd_ms_p50" "PDD" Milliseconds: "post-dial delay: first INVITE to first 18x, or to the 2xx where there \
        is none; median. RFC 6076 calls it SRD of successful set-ups",
        |view| quantile(view, Measure::PostDialDelay, 0.5);
    "pdd_ms_p95" "PDD 95%" Milliseconds: "post-dial delay that 95 % of the calls do not exceed",
        |view| quantile(view, Measure::PostDialDelay, 0.95);
    "srd_failed_ms_p50" "SRD FAILED" Milliseconds: "RFC 6076, failed set-ups: first INVITE to a final 4xx \
        (not \
        401, 402, 407), 5xx or 6xx; median. Calls that the caller cancelled are left out",
        |view| quantile(view, Measure::FailureDelay, 0.5);
    "srd_failed_ms_p95" "SRD FAILED 95%" Milliseconds: "the same, which 95 % of the failed attempts do not \
        exceed",
        |view| quantile(view, Measure::FailureDelay, 0.95);
    "ttr_ms_p50" "TTR" Milliseconds: "first INVITE to first 1xx, or to the 2xx where there is none; median",
        |view| quantile(view, Measure::TryingDelay, 0.5);
    "answer_ms_p50" "ANSWER TIME" Milliseconds: "first INVITE to first 2xx; median",
        |view| quantile(view, Measure::AnswerTime, 0.5);
    "sdd_ms_p50" "SDD" Milliseconds: "RFC 6076: BYE to its answer; median",
        |view| quantile(view, Measure::DisconnectDelay, 0.5);
    "sdd_ms_p95" "SDD 95%" Milliseconds: "BYE to its answer, which 95 % do not exceed",
        |view| quantile(view, Measure::DisconnectDelay, 0.95);
    "short_calls" "SHORT" Count: "answered calls that were released within [kpi] short_call, 3 s unless \
        configured; of the answered ones",
        |view| (Some(view.cell.short as f64), answered(view.cell));
    "repeated_calls" "REPEATED" Count: "attempts from the same number to the same number as another that \
        began within 5 minutes before; callers without a number are not compared",
        |view| (Some(view.cell.repeated as f64), view.cell.attempts());
    "concurrent_max" "MOST AT ONCE" Count: "most calls in progress at one full second, from INVITE to end; \
        of codecs, devices, prefixes and codes this is not counted",
        |view| (view.concurrent.map(|concurrent| concurrent.most as f64), view.cell.attempts());
    "concurrent_mean" "ERLANG" Number: "mean number of calls in progress, from INVITE to end, over all full \
        seconds",
        |view| (view.concurrent.map(|concurrent| concurrent.mean), view.cell.attempts());
    "mos_p50" "MOS" Mos: "MOS-LQ (G.107) of the streams; median",
        |view| quantile(view, Measure::Mos, 0.5);
    "mos_p5" "MOS 5%" Mos: "MOS-LQ that 5 % of the streams do not exceed",
        |view| quantile(view, Measure::Mos, 0.05);
    "loss_pct_p50" "LOSS" Percent: "packets lost / packets expected of a stream; median",
        |view| quantile(view, Measure::Loss, 0.5);
    "loss_pct_p95" "LOSS 95%" Percent: "the same, which 95 % of the streams do not exceed",
        |view| quantile(view, Measure::Loss, 0.95);
    "jitter_ms_p95" "JITTER 95%" Milliseconds: "mean jitter (RFC 3550) of a stream, which 95 % do not exceed",
        |view| quantile(view, Measure::Jitter, 0.95);
    "rtt_ms_p50" "RTT" Milliseconds: "round trip of a stream, from RTCP; median",
        |view| quantile(view, Measure::RoundTrip, 0.5);
    "rtt_ms_p95" "RTT 95%" Milliseconds: "round trip of a stream, which 95 % do not exceed",
        |view| quantile(view, Measure::RoundTrip, 0.95);
    "ira" "IRA" Percent: "RFC 6076: attempts to register that failed, or were never answered / all of them; \
        a 401 that is then answered is no failure",
        |view| share(view.cell.registrations_failed, view.cell.registrations);
    "rrd_ms_p50" "RRD" Milliseconds: "RFC 6076: REGISTER to its 200, mean of each registration; median of \
        these",
        |view| quantile(view, Measure::RegistrationDelay, 0.5);
    "rrd_ms_p95" "RRD 95%" Milliseconds: "the same, which 95 % of the registrations do not exceed",
        |view| quantile(view, Measure::RegistrationDelay, 0.95);
    "begun_before" "BEGUN BEFORE" Count: "calls of which the INVITE was not seen; they are no attempts",
        |view| (Some(view.cell.begun_before as f64), view.cell.begun_before);
    "capture_drops" "CAPTURE LOSS" Count: "packets that the monitor itself lost, at least: the most during \
        one of the calls",
        |view| (Some(view.cell.capture_drops as f64), view.cell.packets);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique_and_defined() {
        for (place, figure) in FIGURES.iter().enumerate() {
            assert!(!figure.definition.is_empty() && !figure.title.is_empty());
            let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
            assert!(figure.name.chars().all(plain), "{}", figure.name);
            assert!(FIGURES[..place].iter().all(|other| other.name != figure.name), "{}", figure.name);
        }
    }

    /// `docs/manual/kpis.md` has every figure with its definition; `RINGTAP_BLESS=1` writes them there.
    #[test]
    fn the_manual_has_every_definition() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/manual/kpis.md");
        let manual = std::fs::read_to_string(path).unwrap();
        let (before, rest) = manual.split_once("|---|---|---|\n").unwrap();
        let (_, after) = rest.split_once("\n\n").unwrap();
        let rows: Vec<String> = FIGURES
            .iter()
            .map(|Figure { name, title, definition, .. }| format!("| `{name}` | {title} | {definition} |\n"))
            .collect();
        let made = format!("{before}|---|---|---|\n{}\n{after}", rows.concat());
        if std::env::var_os("RINGTAP_BLESS").is_some() {
            std::fs::write(path, &made).unwrap();
            return;
        }
        assert_eq!(manual, made, "write it again with RINGTAP_BLESS=1");
    }

    /// By hand: 100 attempts, 50 of them answered.
    #[test]
    fn ratios_by_hand() {
        let codes = [(200, 50), (486, 10), (487, 5), (503, 8), (302, 7), (404, 6), (0, 4), (603, 10)];
        let mut cell = Cell::default();
        cell.codes = codes.into();
        (cell.completed, cell.short, cell.repeated) = (48, 3, 2);
        let view = View { cell: &cell, concurrent: None };
        let of = |name: &str| (figure(name).unwrap().value)(&view);
        for (name, value, count) in [
            ("attempts", Some(100.0), 100),
            ("answered", Some(50.0), 100),
            ("asr", Some(50.0), 100),
            ("abr", Some(50.0), 100),
            ("ner", Some(75.0), 100),
            ("ner_isa", Some(92.0), 100),
            ("ner_without_4xx", Some(100.0 * 50.0 / 79.0), 79),
            ("ser", Some(100.0 * 50.0 / 93.0), 93),
            ("seer", Some(100.0 * 70.0 / 93.0), 93),
            ("isa", Some(8.0), 100),
            ("scr", Some(48.0), 100),
            ("short_calls", Some(3.0), 50),
            ("repeated_calls", Some(2.0), 100),
            ("pdd_ms_p50", None, 0),
            ("concurrent_max", None, 100),
            ("ira", None, 0),
        ] {
            assert_eq!(of(name), (value, count), "{name}");
        }
    }
}
