//! Telephone services: outages, failovers, and how available monitored services were.

use ringtap_availability::{EffectCounts, Figures};

use super::family::{Family, MetricKind, Value};
use crate::availability_figures::Known;

/// All of it; without samples where no services are followed.
pub(super) fn families(known: Option<&Known>) -> Vec<Family> {
    let figures = known.map(|known| &known.figures);
    let gauge =
        |value: Option<u64>| value.map(|value| (Vec::new(), Value::Whole(value))).into_iter().collect();
    let failovers = figures.into_iter().flat_map(|figures| {
        let mut causes: Vec<_> = figures.failovers.iter().collect();
        causes.sort_unstable();
        causes.into_iter().map(|(cause, count)| (vec![("cause", (*cause).to_owned())], Value::Whole(*count)))
    });
    let monitored = known.into_iter().flat_map(|known| &known.monitored).filter_map(|service| {
        let name = format!("{}/{}", service.service, service.transport.name());
        let share = service.availability_pct? / 100.0;
        Some((vec![("service", name)], Value::Real(share)))
    });
    let left_out = known.map_or_else(Vec::new, |known| {
        let counts = known.figures.counts;
        let rows = [
            ("queue", known.dropped),
            ("loss", counts.losses),
            ("service", counts.services_refused),
            ("request", counts.transactions_evicted),
            ("evidence", counts.evidence_refused),
            ("outage", counts.outages_refused + known.figures.refused),
            ("call", known.figures.effects.calls_refused),
            ("fact", known.facts_dropped + known.figures.effects.facts_refused),
        ];
        let row = |(what, count): (&str, u64)| (vec![("what", what.to_owned())], Value::Whole(count));
        rows.map(row).into()
    });
    let family = |name, help, kind, samples| Family { name, help, kind, samples };
    let mut families = vec![
        family(
            "ringtap_services",
            "Services that are followed: addresses, ports and transports that SIP requests are sent to.",
            MetricKind::Gauge,
            gauge(figures.map(|figures| figures.counts.services)),
        ),
        family(
            "ringtap_services_out",
            "Services that are out of service now.",
            MetricKind::Gauge,
            gauge(figures.map(|figures| figures.out.len() as u64)),
        ),
        family(
            "ringtap_service_outages",
            "Outages that began.",
            MetricKind::Counter,
            gauge(figures.map(|figures| figures.outages)),
        ),
        family("ringtap_failovers", "Failovers by cause.", MetricKind::Counter, failovers.collect()),
        family(
            "ringtap_address_conflicts",
            "Addresses that two hosts claimed in turn: how often that began.",
            MetricKind::Counter,
            gauge(figures.map(|figures| figures.conflicts)),
        ),
        family(
            "ringtap_service_availability_ratio",
            "Share of the observed time since the start in which a monitored service served, without an \
             outage that goes on; at most 200 services.",
            MetricKind::Gauge,
            monitored.collect(),
        ),
        family(
            "ringtap_availability_left_out",
            "What services were not followed by: messages without room in the `queue`, and each `loss` of \
             packets, around which time is unobserved; at a ceiling, requests to a further `service`, a \
             `request` that gave way to others, an `evidence` of failovers, an `outage`, failover or hour, a \
             `call`, or other `fact` of calls, that effects of failovers are judged by.",
            MetricKind::Counter,
            left_out,
        ),
    ];
    families.extend(effects(figures));
    families
}

fn effects(figures: Option<&Figures>) -> [Family; 2] {
    let judged = figures.map(|figures| (Vec::new(), Value::Whole(figures.effects.judged)));
    [
        Family {
            name: "ringtap_failovers_judged",
            help: "Failovers of which it is told what they did to calls: six minutes after their end.",
            kind: MetricKind::Counter,
            samples: judged.into_iter().collect(),
        },
        Family {
            name: "ringtap_failover_calls",
            help: "Calls that failovers had an `effect` on: `delayed`; lost ones are `failed` or `cut`; \
                   `given_up` by their caller; `unknown` where packets do not tell.",
            kind: MetricKind::Counter,
            samples: figures.into_iter().flat_map(calls).collect(),
        },
    ]
}

fn calls(figures: &Figures) -> [(Vec<(&'static str, String)>, Value); 5] {
    let EffectCounts { delayed, failed, cut, given_up, unknown, .. } = figures.effects;
    [("delayed", delayed), ("failed", failed), ("cut", cut), ("given_up", given_up), ("unknown", unknown)]
        .map(|(effect, count)| (vec![("effect", effect.to_owned())], Value::Whole(count)))
}
