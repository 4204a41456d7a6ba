//! What a result is made of: outcomes, quality, time and the values of its fields, over every call of it.

use std::collections::{BTreeMap, HashMap};

use ringtap_kpi::Sketch;
use ringtap_model::{Call, Stream};
use ringtap_quality::kpi::{Kpi, Outcomes};
use serde::Serialize;
use utoipa::ToSchema;

use crate::find::CoverageAnswer;
use crate::problem::Problem;

/// Adds up calls one by one, in bounded memory.
#[derive(Debug, Default)]
pub(crate) struct Summary {
    calls: u64,
    answered: u64,
    codes: BTreeMap<u16, u64>,
    lengths: Sketch,
    delays: Sketch,
    mos: [u64; MOS_BINS],
    /// Calls, and those with a problem, by minute.
    minutes: BTreeMap<u64, (u64, u64)>,
    facets: Vec<(Facet, HashMap<String, u64>)>,
}

/// A field whose values are counted, by its name in the search language.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Facet {
    name: &'static str,
    values: fn(&Call, &[Stream]) -> Vec<String>,
}

impl Facet {
    /// The facets of these names, with commas.
    pub(crate) fn named(names: &str) -> Result<Vec<Self>, Problem> {
        let names = names.split(',').filter(|name| !name.is_empty());
        names
            .take(FACETS.len())
            .map(|name| {
                FACETS.iter().find(|facet| facet.name == name).copied().ok_or_else(|| {
                    let all: Vec<&str> = FACETS.iter().map(|facet| facet.name).collect();
                    Problem::request(
                        format!("the values of `{name}` are not counted"),
                        format!("`facets` are {}", all.join(", ")),
                    )
                })
            })
            .collect()
    }

    /// Whether streams are looked at.
    fn needs_streams(self) -> bool {
        self.name == "codec"
    }
}

impl Summary {
    /// With these facets.
    pub(crate) fn new(facets: Vec<Facet>) -> Self {
        Self { facets: facets.into_iter().map(|facet| (facet, HashMap::new())).collect(), ..Self::default() }
    }

    /// Whether it looks at streams.
    pub(crate) fn needs_streams(&self) -> bool {
        self.facets.iter().any(|(facet, _)| facet.needs_streams())
    }

    /// Adds a call.
    pub(crate) fn add(&mut self, call: &Call, streams: &[Stream]) {
        self.calls += 1;
        self.answered += u64::from(call.answer.is_some());
        *self.codes.entry(call.final_code).or_default() += 1;
        call.duration_ms.iter().for_each(|length| self.lengths.add(*length));
        call.pdd_ms.iter().for_each(|delay| self.delays.add(*delay));
        if let Some(mos) = call.mos {
            let bin = ((mos - 1.0) / MOS_STEP).floor().clamp(0.0, (MOS_BINS - 1) as f64);
            self.mos[bin as usize] += 1;
        }
        if let Some(start) = call.start() {
            let minute = start.micros() / MINUTE;
            if self.minutes.len() < MOST_MINUTES || self.minutes.contains_key(&minute) {
                let (calls, bad) = self.minutes.entry(minute).or_default();
                *calls += 1;
                *bad += u64::from(call.notes.iter().any(|note| note.code.is_problem()));
            }
        }
        for (facet, counts) in &mut self.facets {
            let mut values = (facet.values)(call, streams);
            values.sort_unstable();
            values.dedup();
            for value in values {
                let is_full = counts.len() >= MOST_VALUES && !counts.contains_key(&value);
                *counts.entry(if is_full { OTHERS.to_owned() } else { value }).or_default() += 1;
            }
        }
    }

    /// As the API has it; `coverage` says of what.
    pub(crate) fn into_answer(self, coverage: CoverageAnswer) -> CallSummary {
        let codes: Vec<(u16, u64)> = self.codes.iter().map(|(code, count)| (*code, *count)).collect();
        let outcomes = Outcomes(&codes);
        let with_mos = self.mos.iter().sum();
        let mos = self
            .mos
            .iter()
            .enumerate()
            .map(|(bin, calls)| {
                let from = 1.0 + bin as f64 * MOS_STEP;
                let round = |value: f64| (value * 10.0).round() / 10.0;
                MosBin { from: round(from), until: round(from + MOS_STEP), calls: *calls }
            })
            .collect();
        let time = over_time(&self.minutes);
        let facets = self
            .facets
            .into_iter()
            .map(|(facet, counts)| {
                let mut counts: Vec<(String, u64)> = counts.into_iter().collect();
                counts
                    .sort_by(|(one, calls), (other, others)| others.cmp(calls).then_with(|| one.cmp(other)));
                counts.truncate(SHOWN_VALUES);
                let values = counts.into_iter().map(|(value, calls)| FacetValue { value, calls });
                (facet.name, values.collect())
            })
            .collect();
        CallSummary {
            calls: self.calls,
            answered: self.answered,
            asr: Kpi::Asr.of(outcomes).percent(),
            ner: Kpi::Ner.of(outcomes).percent(),
            definitions: Definitions { asr: Kpi::Asr.definition(), ner: Kpi::Ner.definition() },
            acd_ms: self.lengths.mean(),
            pdd_ms_median: self.delays.quantile(0.5),
            with_mos,
            mos,
            time,
            facets,
            coverage,
        }
    }
}

/// Calls over time, in at most [`BARS`] bars of whole minutes.
fn over_time(minutes: &BTreeMap<u64, (u64, u64)>) -> Vec<TimeBar> {
    let (Some((first, _)), Some((last, _))) = (minutes.first_key_value(), minutes.last_key_value()) else {
        return Vec::new();
    };
    let step =
        STEPS.into_iter().find(|step| (last - first) / step < BARS).unwrap_or((last - first) / BARS + 1);
    let begin = first / step * step;
    let bars = ((last - begin) / step + 1) as usize;
    let mut counts = vec![(0, 0); bars];
    for (minute, (calls, bad)) in minutes {
        if let Some(bar) = counts.get_mut(((minute - begin) / step) as usize) {
            bar.0 += calls;
            bar.1 += bad;
        }
    }
    let bar = |(place, (calls, bad)): (usize, (u64, u64))| {
        let from = (begin + place as u64 * step) * MINUTE;
        TimeBar { from_us: from, until_us: from + step * MINUTE, calls, bad }
    };
    counts.into_iter().enumerate().map(bar).collect()
}

/// What a result is made of.
#[derive(Serialize, ToSchema)]
pub(crate) struct CallSummary {
    calls: u64,
    answered: u64,
    /// Answer-seizure ratio, in percent.
    asr: Option<f64>,
    /// Network effectiveness ratio, in percent.
    ner: Option<f64>,
    definitions: Definitions,
    /// Mean length of answered calls.
    acd_ms: Option<f64>,
    pdd_ms_median: Option<f64>,
    /// Calls that have a MOS.
    with_mos: u64,
    /// Calls by their MOS, from 1 to 5.
    mos: Vec<MosBin>,
    /// Calls over time, in at most 120 bars of whole minutes.
    time: Vec<TimeBar>,
    /// The commonest values of each field that was asked for.
    facets: BTreeMap<&'static str, Vec<FacetValue>>,
    coverage: CoverageAnswer,
}

/// How ratios are computed.
#[derive(Serialize, ToSchema)]
struct Definitions {
    asr: &'static str,
    ner: &'static str,
}

/// Calls whose MOS is in this span.
#[derive(Serialize, ToSchema)]
struct MosBin {
    from: f64,
    /// Not included.
    until: f64,
    calls: u64,
}

/// Calls that began in this span.
#[derive(Serialize, ToSchema)]
struct TimeBar {
    from_us: u64,
    /// Not included.
    until_us: u64,
    calls: u64,
    /// Calls with a note that tells of a problem.
    bad: u64,
}

/// Calls that have this value.
#[derive(Serialize, ToSchema)]
struct FacetValue {
    value: String,
    calls: u64,
}

/// Fields whose values can be counted.
const FACETS: &[Facet] = &[
    Facet { name: "state", values: |call, _| vec![call.state.name().to_owned()] },
    Facet { name: "code", values: |call, _| vec![call.final_code.to_string()] },
    Facet {
        name: "trunk",
        values: |call, _| [&call.trunk_from, &call.trunk_to].into_iter().flatten().cloned().collect(),
    },
    Facet { name: "trunk_from", values: |call, _| call.trunk_from.iter().cloned().collect() },
    Facet { name: "trunk_to", values: |call, _| call.trunk_to.iter().cloned().collect() },
    Facet {
        name: "codec",
        values: |_, streams| streams.iter().filter_map(|stream| stream.codec.clone()).collect(),
    },
    Facet {
        name: "ua",
        values: |call, _| {
            [&call.user_agent_caller, &call.user_agent_callee].into_iter().flatten().cloned().collect()
        },
    },
    Facet { name: "ip", values: |call, _| vec![call.src.ip.to_string(), call.dst.ip.to_string()] },
    Facet {
        name: "note",
        values: |call, _| call.notes.iter().map(|note| note.code.name().to_owned()).collect(),
    },
    Facet {
        name: "hangup",
        values: |call, _| call.released_by.iter().map(|party| party.name().to_owned()).collect(),
    },
    Facet { name: "recorded", values: |call, _| vec![call.recorded.name().to_owned()] },
];
const MOS_STEP: f64 = 0.2;
/// From 1.0 to 5.0.
const MOS_BINS: usize = 20;
/// Microseconds.
const MINUTE: u64 = 60_000_000;
/// Most minutes over which calls are counted: 190 days.
const MOST_MINUTES: usize = 1 << 18;
/// Most values of a field that are told apart.
const MOST_VALUES: usize = 10_000;
const OTHERS: &str = "(others)";
/// Values of a field that are shown.
const SHOWN_VALUES: usize = 12;
const BARS: u64 = 120;
/// Lengths of a bar in minutes.
const STEPS: [u64; 9] = [1, 2, 5, 10, 30, 60, 180, 720, 1_440];

#[cfg(test)]
mod tests {
    use ringtap_model::Nanos;
    use ringtap_testing::samples;

    use super::*;
    use crate::find::Coverage;

    #[test]
    fn calls_add_up() {
        let mut summary = Summary::new(Facet::named("state,codec").unwrap());
        assert!(summary.needs_streams());
        for minute in 0..200_u64 {
            let invite = Some(samples::START + Nanos::from_secs(60 * minute));
            let call = Call { invite, mos: Some(4.35), ..samples::call() };
            summary.add(&call, &[samples::stream()]);
        }
        let value = serde_json::to_value(summary.into_answer(Coverage::default().answer())).unwrap();
        assert_eq!(value["calls"], 200);
        assert_eq!(value["mos"][16]["calls"], 200, "{}", value["mos"]);
        assert_eq!(value["mos"][16]["from"], 4.2);
        let bars = value["time"].as_array().unwrap();
        assert!(bars.len() <= BARS as usize);
        assert_eq!(bars.iter().map(|bar| bar["calls"].as_u64().unwrap()).sum::<u64>(), 200);
        assert_eq!(value["facets"]["codec"][0]["calls"], 200);
        assert!(Facet::named("password").is_err());
    }
}
