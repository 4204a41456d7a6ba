//! What is found as records, for databases and programs, and back.

use std::collections::BTreeMap;

use ringtap_model::{self as model, FailoverSign, Id, Nanos, ServiceHour};
use sha2::{Digest, Sha256};

use crate::effects::{AffectedCall, AffectedDirection, Delays, Effect, Effects, GapLengths};
use crate::evidence::Evidence;
use crate::failover::{Cause, Failover};
use crate::record::{Outage, ServiceAddress, ServiceSummary};
use crate::refusals::RequestKind;

impl Outage {
    /// Names it: its service, what it did not do, and when that began.
    pub fn id(&self) -> Id {
        let kind = self.refused.unwrap_or(self.kind.name());
        id_of(&["outage", &self.address().to_string(), kind], self.from())
    }

    /// Its record.
    pub fn record(&self) -> model::Outage {
        model::Outage {
            id: self.id(),
            service: self.service,
            transport: self.transport,
            role: self.role,
            kind: self.kind,
            from: self.from(),
            last_answer: self.last_answer,
            first_unanswered: self.first_unanswered,
            first_answer: self.first_answer,
            last: self.until(),
            down_ms: self.down.millis_f64(),
            unobserved_ms: self.unobserved.millis_f64(),
            requests: self.requests,
            sent: self.sent,
            clients: self.clients,
            refused: self.refused.map(str::to_owned),
        }
    }

    pub(crate) fn address(&self) -> ServiceAddress {
        ServiceAddress { endpoint: self.service, transport: self.transport }
    }
}

impl Outage {
    /// Of its record.
    pub fn of_record(record: &model::Outage) -> Self {
        let refused = record.refused.as_deref();
        Self {
            service: record.service,
            transport: record.transport,
            role: record.role,
            kind: record.kind,
            last_answer: record.last_answer,
            last_sign: None,
            begun: Some(record.from),
            first_unanswered: record.first_unanswered,
            first_answer: record.first_answer,
            down: nanos(record.down_ms),
            unobserved: nanos(record.unobserved_ms),
            requests: record.requests,
            sent: record.sent,
            clients: record.clients,
            refused: RequestKind::ALL.map(RequestKind::name).into_iter().find(|name| refused == Some(name)),
        }
    }
}

impl Failover {
    /// Of its record; `outages` has its outages, or not all of them.
    pub fn of_record(record: &model::Failover, outages: &[model::Outage]) -> Self {
        let own = outages.iter().filter(|outage| record.outages.contains(&outage.id));
        Self {
            from: record.from,
            until: record.until,
            down: nanos(record.down_ms),
            causes: record.causes.iter().filter_map(|cause| Cause::from_name(cause)).collect(),
            services: record.services.clone(),
            evidence: record.evidence.iter().filter_map(Evidence::of_record).collect(),
            outages: own.map(Outage::of_record).collect(),
        }
    }

    /// Names it: its beginning, and what it was first known by.
    pub fn id(&self) -> Id {
        let by = self.outages.first().map(|outage| outage.id().to_string());
        let sign = self.evidence.first().map(|sign| format!("{} {}", sign.kind.name(), sign.address));
        id_of(&["failover", &by.or(sign).unwrap_or_default()], self.from)
    }

    /// Its record.
    pub fn record(&self) -> model::Failover {
        model::Failover {
            id: self.id(),
            from: self.from,
            until: self.until,
            down_ms: self.down.millis_f64(),
            causes: self.causes.iter().map(|cause| cause.name().to_owned()).collect(),
            services: self.services.clone(),
            outages: self.outages.iter().map(Outage::id).collect(),
            evidence: self.evidence.iter().map(Evidence::record).collect(),
            ..model::Failover::UNKNOWN
        }
    }
}

impl Effects {
    /// Writes them into the record of their failover. `until`: nothing later is among them.
    pub(crate) fn describe(&self, record: &mut model::Failover, until: Nanos) {
        record.judged_until = Some(until);
        record.calls = Some(self.calls);
        record.delayed = Some(self.delayed);
        record.failed = Some(self.failed);
        record.cut = Some(self.cut);
        record.given_up = Some(self.given_up);
        record.unknown = Some(self.unknown);
        record.users = Some(self.users);
        record.registering_users = Some(self.registering_users);
        record.lost_per_million = self.lost_per_million;
        let Delays { delay_ms_median, delay_ms_p95, delay_ms_max } = self.delays;
        (record.delay_ms_median, record.delay_ms_p95) = (delay_ms_median, delay_ms_p95);
        record.delay_ms_max = delay_ms_max;
        record.gaps = self.gaps;
        let GapLengths { gap_ms_median, gap_ms_p95, gap_ms_max } = self.gap_lengths;
        (record.gap_ms_median, record.gap_ms_p95) = (gap_ms_median, gap_ms_p95);
        record.gap_ms_max = gap_ms_max;
    }

    /// Of the record of a failover, with those of its calls among `affected`. None where it was not judged.
    pub fn of_record(record: &model::Failover, affected: &[model::AffectedCall]) -> Option<Self> {
        record.judged_until?;
        let own = affected.iter().filter(|call| call.failover == record.id);
        let count = |figure: Option<u64>| figure.unwrap_or_default();
        Some(Self {
            calls: count(record.calls),
            delayed: count(record.delayed),
            delays: Delays {
                delay_ms_median: record.delay_ms_median,
                delay_ms_p95: record.delay_ms_p95,
                delay_ms_max: record.delay_ms_max,
            },
            failed: count(record.failed),
            cut: count(record.cut),
            given_up: count(record.given_up),
            unknown: count(record.unknown),
            users: count(record.users),
            registering_users: count(record.registering_users),
            gaps: record.gaps,
            gap_lengths: GapLengths {
                gap_ms_median: record.gap_ms_median,
                gap_ms_p95: record.gap_ms_p95,
                gap_ms_max: record.gap_ms_max,
            },
            lost_per_million: record.lost_per_million,
            affected: own.map(AffectedCall::of_record).collect(),
        })
    }
}

impl AffectedCall {
    /// Its record, in a failover of that id.
    pub(crate) fn record(&self, failover: Id) -> model::AffectedCall {
        let gap = |gap: &AffectedDirection| model::AffectedGap {
            direction: gap.direction,
            from: gap.from,
            gap_ms: gap.gap_ms,
        };
        model::AffectedCall {
            id: id_of(&["affected_call", &failover.to_string(), &self.call_id], self.failover),
            failover,
            failover_from: self.failover,
            call: self.id,
            call_id: self.call_id.clone(),
            invite: self.invite,
            effect: self.effect.map(str::to_owned),
            delay_ms: self.delay_ms,
            gaps: self.gaps.iter().map(gap).collect(),
        }
    }

    fn of_record(record: &model::AffectedCall) -> Self {
        let gap = |gap: &model::AffectedGap| AffectedDirection {
            direction: gap.direction,
            from: gap.from,
            gap_ms: gap.gap_ms,
        };
        Self {
            failover: record.failover_from,
            call_id: record.call_id.clone(),
            id: record.call,
            invite: record.invite,
            effect: record.effect.as_deref().and_then(Effect::name_of),
            delay_ms: record.delay_ms,
            gaps: record.gaps.iter().map(gap).collect(),
        }
    }
}

impl Evidence {
    fn of_record(record: &FailoverSign) -> Option<Self> {
        let place = |text: &Option<String>| text.as_deref().and_then(|text| text.parse().ok());
        Some(Self {
            kind: record.kind,
            first: record.first,
            last: record.last,
            count: record.count,
            address: record.address.parse().ok()?,
            from: place(&record.from),
            to: place(&record.to),
        })
    }

    fn record(&self) -> FailoverSign {
        FailoverSign {
            kind: self.kind,
            first: self.first,
            last: self.last,
            count: self.count,
            address: self.address.to_string(),
            from: self.from.map(|place| place.to_string()),
            to: self.to.map(|place| place.to_string()),
        }
    }
}

/// What became of a service between two moments. None where nothing did.
pub(crate) fn hour(
    from: Nanos,
    before: Option<&ServiceSummary>,
    now: &ServiceSummary,
) -> Option<ServiceHour> {
    if before.is_some_and(|before| before == now) {
        return None;
    }
    let since = |figure: fn(&ServiceSummary) -> u64| figure(now).saturating_sub(before.map_or(0, figure));
    let span = |figure: fn(&ServiceSummary) -> Nanos| {
        figure(now).since(before.map_or(Nanos::ZERO, figure)).millis_f64()
    };
    let address = ServiceAddress { endpoint: now.service, transport: now.transport };
    Some(ServiceHour {
        id: id_of(&["service_hour", &address.to_string()], from),
        service: now.service,
        transport: now.transport,
        role: now.role,
        from,
        first: before.map_or(now.first, |before| before.last),
        last: now.last,
        requests: since(|of| of.requests),
        answered: since(|of| of.answered),
        answered_late: since(|of| of.answered_late),
        unanswered: since(|of| of.unanswered),
        undecided: since(|of| of.undecided),
        outages: since(|of| of.outages),
        observed_ms: span(|of| of.observed),
        down_ms: span(|of| of.down),
    })
}

/// Services over several hours, in order of their first request. Only their hours tell of them: of one whose
/// first request was earlier, it is that of the first hour.
pub fn summaries(hours: impl IntoIterator<Item = ServiceHour>) -> Vec<ServiceSummary> {
    let mut services: BTreeMap<(model::Endpoint, &str), ServiceSummary> = BTreeMap::new();
    for hour in hours {
        let sum = services.entry((hour.service, hour.transport.name())).or_insert_with(|| ServiceSummary {
            service: hour.service,
            transport: hour.transport,
            role: hour.role,
            first: hour.first,
            last: hour.last,
            requests: 0,
            answered: 0,
            answered_late: 0,
            unanswered: 0,
            undecided: 0,
            outages: 0,
            observed: Nanos::ZERO,
            unobserved: Nanos::ZERO,
            down: Nanos::ZERO,
            availability_pct: None,
        });
        if hour.last >= sum.last {
            sum.role = hour.role;
        }
        (sum.first, sum.last) = (sum.first.min(hour.first), sum.last.max(hour.last));
        sum.requests += hour.requests;
        sum.answered += hour.answered;
        sum.answered_late += hour.answered_late;
        sum.unanswered += hour.unanswered;
        sum.undecided += hour.undecided;
        sum.outages += hour.outages;
        sum.observed += nanos(hour.observed_ms);
        sum.down += nanos(hour.down_ms);
    }
    let mut services: Vec<ServiceSummary> = services.into_values().collect();
    for service in &mut services {
        service.unobserved = service.last.since(service.first).since(service.observed);
        let (down, observed) = (service.down.secs_f64(), service.observed.secs_f64());
        service.availability_pct = (observed > 0.0).then(|| 100.0 * (observed - down).max(0.0) / observed);
    }
    services.sort_by_key(|service| (service.first, service.service));
    services
}

fn nanos(millis: f64) -> Nanos {
    Nanos((millis.max(0.0) * 1e6).round() as u64)
}

fn id_of(parts: &[&str], from: Nanos) -> Id {
    let mut digest = Sha256::new();
    for part in parts {
        digest.update((part.len() as u64).to_le_bytes());
        digest.update(part);
    }
    // As records have it.
    digest.update(from.micros().to_le_bytes());
    let mut id = [0; 16];
    id.copy_from_slice(&digest.finalize()[..16]);
    Id(id)
}
