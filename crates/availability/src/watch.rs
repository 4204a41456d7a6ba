//! Services, links and failovers without an end: what is found is handed out as it becomes known.

use std::collections::{HashMap, HashSet};
use std::mem;

use ringtap_engine::LostTime;
use ringtap_model::{self as model, EvidenceKind, Frame, Id, Nanos, Network, ServiceHour};

use crate::effects::{CallReport, EffectCounts, EffectsWatch, Judged};
use crate::evidence::{Evidence, EvidenceLog};
use crate::failover::{Failover, is_around, joined};
use crate::link::LinkWatch;
use crate::monitor::Monitor;
use crate::observation::Observation;
use crate::record::{Counts, Outage, Role, ServiceAddress, ServiceSummary};
use crate::rows;
use crate::settings::Settings;

/// How often it is judged what is found.
const JUDGED: Nanos = Nanos::from_secs(1);
/// What goes on is handed out again after this time.
const AGAIN: Nanos = Nanos::from_secs(30);
/// So long after its first sign a failover is handed out: outages and evidence before them may follow.
const SETTLED: Nanos = Nanos::from_secs(10);
/// So long after its end nothing joins a failover any more.
const OVER: Nanos = Nanos::from_secs(60);
/// How long evidence waits for an outage: one is known after 32 s at the latest.
const WAITS: Nanos = Nanos::from_secs(120);
/// How often hours of services are handed out.
const MINUTE: Nanos = Nanos::from_secs(60);
const HOUR: Nanos = Nanos::from_secs(3_600);
/// Outages, and signs, that are joined to failovers at once.
const JOINED: usize = 2_000;
/// Services whose hours are handed out.
const SERVICES: usize = 10_000;
/// Outages, and hours, that wait to be taken.
const UNTAKEN: usize = 100_000;

/// Follows services, and who has their addresses, for months. Feed [`Watch::observe`] and [`Watch::frame`] in
/// order of time, [`Watch::call`] and [`Watch::lost_time`] in any, let time pass with [`Watch::advance`], and
/// take what was found with [`Watch::take`].
///
/// What it hands out is that of a [`Monitor`] that is closed, with these differences: a role is that of the
/// moment; an outage that goes on when packets are lost stays, without an end; a sign that comes more than a
/// minute after a failover does not join it. What failovers did to calls is told once for each, six minutes
/// after its end, or a quarter of an hour after its beginning if it goes on by then.
#[derive(Debug)]
pub struct Watch {
    monitor: Monitor,
    link: LinkWatch,
    /// Addresses whose services are handed out; all where empty.
    ours: Vec<Network>,
    now: Nanos,
    judged: Nanos,
    going_on: HashMap<(ServiceAddress, &'static str), GoingOn>,
    /// Outages that have ended, as long as something may join them.
    ended: Vec<Outage>,
    signs: EvidenceLog,
    failovers: Vec<Known>,
    effects: EffectsWatch,
    /// Failovers that wait for their effects, as they were handed out last.
    unjudged: Vec<model::Failover>,
    hours: Hours,
    found: Found,
    figures: Figures,
}

/// What became known, or changed: each replaces what was handed out with the same id.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Found {
    /// Outages.
    pub outages: Vec<model::Outage>,
    /// Failovers.
    pub failovers: Vec<model::Failover>,
    /// Calls that failovers had an effect on.
    pub affected: Vec<model::AffectedCall>,
    /// Services by the hour.
    pub hours: Vec<ServiceHour>,
}

/// Figures of this moment.
#[derive(Clone, Debug, Default)]
pub struct Figures {
    /// Of the monitor.
    pub counts: Counts,
    /// Outages that began.
    pub outages: u64,
    /// Failovers by cause.
    pub failovers: HashMap<&'static str, u64>,
    /// Addresses that two hosts claimed in turn: how often that began.
    pub conflicts: u64,
    /// What they did to calls.
    pub effects: EffectCounts,
    /// Services that are out of service now, and since when.
    pub out: Vec<(ServiceAddress, Nanos)>,
    /// Outages, services and failovers that could not be handed out or joined, since there were too many.
    pub refused: u64,
}

#[derive(Debug)]
struct GoingOn {
    outage: Outage,
    handed_out: Nanos,
}

/// A failover that was handed out.
#[derive(Debug)]
struct Known {
    id: Id,
    outages: HashSet<Id>,
    signs: HashSet<SignKey>,
    record: model::Failover,
    handed_out: Nanos,
}

type SignKey = (EvidenceKind, std::net::IpAddr, Nanos);

/// Services at the beginning of the hour, and as they were handed out last.
#[derive(Debug, Default)]
struct Hours {
    from: Nanos,
    looked: Nanos,
    services: HashMap<ServiceAddress, (Option<ServiceSummary>, ServiceSummary)>,
}

impl Watch {
    /// With empty tables. `ours`: addresses of the services that are handed out; all where empty.
    pub fn new(settings: Settings, ours: Vec<Network>) -> Self {
        Self {
            monitor: Monitor::new(settings),
            link: LinkWatch::default(),
            ours,
            now: Nanos::ZERO,
            judged: Nanos::ZERO,
            going_on: HashMap::new(),
            ended: Vec::new(),
            signs: EvidenceLog::default(),
            failovers: Vec::new(),
            effects: EffectsWatch::new(&settings),
            unjudged: Vec::new(),
            hours: Hours::default(),
            found: Found::default(),
            figures: Figures::default(),
        }
    }

    /// A SIP message.
    pub fn observe(&mut self, sip: &Observation) {
        self.advance(sip.time);
        self.effects.message(sip);
        // Of others, anybody could send answers until there is no room.
        let address = ServiceAddress { endpoint: sip.src, transport: sip.transport };
        if let Some(sender) = sip.sender
            && self.is_ours(sip.src.ip)
            && self.monitor.serves(address)
        {
            self.link.sent(sip.time, sip.src.ip, sender);
        }
        self.monitor.observe(sip);
    }

    /// A record of a call that goes on, or has ended.
    pub fn call(&mut self, report: Box<CallReport>) {
        self.effects.report(report);
    }

    /// Packets of a stream were lost for a while.
    pub fn lost_time(&mut self, lost: &LostTime) {
        self.effects.lost_time(lost);
    }

    /// A frame that may say who has an address.
    pub fn frame(&mut self, frame: &Frame<'_>) {
        self.advance(frame.time);
        self.link.frame(frame);
    }

    /// Packets were lost, other than an observation says.
    pub fn lost_packets(&mut self) {
        self.monitor.lost_packets();
    }

    /// Time has passed.
    pub fn advance(&mut self, now: Nanos) {
        self.now = self.now.max(now);
        if self.now.since(self.judged) < JUDGED {
            return;
        }
        self.judged = self.now;
        self.monitor.advance(self.now);
        self.link.forget(self.now);
        self.judge_outages();
        self.judge_failovers();
        self.judge_effects(false);
        self.effects.forget(self.now);
        if self.now.since(self.hours.looked) >= MINUTE {
            self.hand_out_hours();
        }
    }

    /// The end: judges what is known by now. What goes on is handed out as such.
    pub fn end(&mut self) {
        self.monitor.advance(self.now);
        self.monitor.end();
        for outage in self.monitor.take_outages() {
            self.ended_outage(outage);
        }
        self.going_on.clear();
        let now = self.now;
        self.now += SETTLED;
        self.judge_failovers();
        self.now = now;
        self.judge_effects(true);
        self.hand_out_hours();
    }

    /// What became known since the last time.
    pub fn take(&mut self) -> Found {
        mem::take(&mut self.found)
    }

    /// Until when time has passed.
    pub fn now(&self) -> Nanos {
        self.now
    }

    /// Figures of this moment.
    pub fn figures(&self) -> Figures {
        let mut counts = self.monitor.counts();
        counts.evidence_refused += self.link.refused() + self.signs.refused();
        let is_out = |going: &&GoingOn| self.now.since(going.outage.until()) < OVER;
        let out = self.going_on.values().filter(is_out);
        let mut out: Vec<_> = out.map(|going| (going.outage.address(), going.outage.from())).collect();
        out.sort_by_key(|(address, from)| (*from, address.endpoint));
        Figures { counts, out, effects: self.effects.counts(), ..self.figures.clone() }
    }

    /// Monitored services that are handed out, as they are now.
    pub fn monitored(&self) -> impl Iterator<Item = ServiceSummary> {
        let is_monitored = |service: &ServiceSummary| service.role == Role::Monitored;
        self.monitor.services().filter(is_monitored).filter(|service| self.is_ours(service.service.ip))
    }

    fn is_ours(&self, address: std::net::IpAddr) -> bool {
        self.ours.is_empty() || self.ours.iter().any(|network| network.holds(address))
    }

    fn judge_outages(&mut self) {
        for outage in self.monitor.take_outages() {
            self.ended_outage(outage);
        }
        let now: Vec<Outage> = self.monitor.outages_that_go_on();
        let still: HashSet<_> = now.iter().map(key).collect();
        // After a loss of packets nobody knows how it ended.
        let gone: Vec<_> = self.going_on.keys().filter(|key| !still.contains(key)).copied().collect();
        for going in gone.into_iter().filter_map(|key| self.going_on.remove(&key)).collect::<Vec<_>>() {
            self.hand_out(&going.outage);
            self.keep_ended(going.outage);
        }
        for mut outage in now {
            if outage.role == Role::Telephone || !self.is_ours(outage.service.ip) {
                continue;
            }
            let known = self.going_on.get(&key(&outage));
            outage.begun = Some(known.map_or_else(|| outage.from(), |known| known.outage.from()));
            let is_new = known.is_none();
            let is_due = known.is_none_or(|known| outage.until().since(known.handed_out) >= AGAIN);
            let handed_out = match known {
                Some(known) if !is_due => known.handed_out,
                _ => outage.until(),
            };
            if is_due {
                self.hand_out(&outage);
            }
            self.figures.outages += u64::from(is_new);
            self.going_on.insert(key(&outage), GoingOn { outage, handed_out });
        }
    }

    fn ended_outage(&mut self, mut outage: Outage) {
        if outage.role == Role::Telephone || !self.is_ours(outage.service.ip) {
            return;
        }
        let known = self.going_on.remove(&key(&outage));
        self.figures.outages += u64::from(known.is_none());
        outage.begun = known.map(|known| known.outage.from());
        self.hand_out(&outage);
        self.keep_ended(outage);
    }

    fn keep_ended(&mut self, outage: Outage) {
        if self.ended.len() < JOINED {
            self.ended.push(outage);
        } else {
            self.figures.refused += 1;
        }
    }

    fn hand_out(&mut self, outage: &Outage) {
        if self.found.outages.len() < UNTAKEN {
            self.found.outages.push(outage.record());
        } else {
            self.figures.refused += 1;
        }
    }

    fn judge_failovers(&mut self) {
        let signs = self.monitor.take_evidence().into_iter().chain(self.link.take());
        for sign in signs.collect::<Vec<_>>() {
            if self.is_ours(sign.address) {
                self.signs.add(sign);
            }
        }
        let mut outages: Vec<&Outage> =
            self.ended.iter().chain(self.going_on.values().map(|going| &going.outage)).collect();
        if outages.is_empty() && self.signs.is_empty() {
            return self.failovers.clear();
        }
        outages.sort_by_key(|outage| (outage.from(), outage.service, outage.kind as u8));
        outages.truncate(JOINED);
        let addresses = self.monitor.serving_addresses();
        // Answers alone are few: where they take two ways in turn, that is no move.
        let tells = |sign: &&Evidence| {
            let was_out = |outage: &&Outage| outage.service.ip == sign.address && is_around(outage, sign);
            sign.kind != EvidenceKind::SourceMoved || outages.iter().any(was_out)
        };
        let signs: Vec<&Evidence> = self.signs.iter().filter(tells).take(JOINED).collect();
        let failovers = joined(outages.into_iter(), signs.into_iter(), &addresses);
        let mut kept: HashSet<SignKey> = HashSet::new();
        let mut over: (HashSet<Id>, HashSet<SignKey>) = Default::default();
        let mut still = HashSet::new();
        for failover in failovers {
            let outages = failover.outages.iter().map(Outage::until);
            let last = outages.chain(failover.evidence.iter().map(|sign| sign.last)).max();
            let goes_on = failover.outages.iter().any(|outage| self.going_on.contains_key(&key(outage)));
            let is_over = !goes_on && self.now.since(last.unwrap_or_default()) >= OVER;
            if self.now.since(failover.from) >= SETTLED {
                let id = self.hand_out_failover(&failover, is_over);
                still.extend(id.filter(|_| !is_over));
            }
            if is_over {
                over.0.extend(failover.outages.iter().map(Outage::id));
                over.1.extend(failover.evidence.iter().map(sign_key));
            } else {
                kept.extend(failover.evidence.iter().map(sign_key));
            }
        }
        self.failovers.retain(|known| still.contains(&known.id));
        self.ended.retain(|outage| !over.0.contains(&outage.id()));
        let now = self.now;
        self.signs.retain(|sign| {
            let key = sign_key(sign);
            kept.contains(&key) || !over.1.contains(&key) && now.since(sign.last) < WAITS
        });
    }

    /// Hands a failover out if it is new or has changed; returns its id.
    fn hand_out_failover(&mut self, failover: &Failover, is_over: bool) -> Option<Id> {
        let outages: HashSet<Id> = failover.outages.iter().map(Outage::id).collect();
        let signs: HashSet<SignKey> = failover.evidence.iter().map(sign_key).collect();
        let is_same =
            |known: &&mut Known| !known.outages.is_disjoint(&outages) || !known.signs.is_disjoint(&signs);
        let now = self.now;
        let mut record = failover.record();
        let Some(known) = self.failovers.iter_mut().find(is_same) else {
            return self.hand_out_new(failover, record, (outages, signs));
        };
        // What is learnt later changes neither id nor beginning.
        record = model::Failover {
            until: record.until,
            down_ms: record.down_ms,
            causes: record.causes,
            services: record.services,
            outages: record.outages,
            evidence: record.evidence,
            ..known.record.clone()
        };
        known.outages.extend(outages);
        known.signs.extend(signs);
        let is_news = known.record.until != record.until
            || known.record.causes != record.causes
            || known.record.services != record.services
            || known.record.outages != record.outages;
        if record != known.record && (is_news || is_over || now.since(known.handed_out) >= AGAIN) {
            known.record = record.clone();
            known.handed_out = now;
            self.found.failovers.push(record);
        }
        let (id, is_judged) = (known.id, known.record.judged_until.is_some());
        if !is_judged {
            let record = known.record.clone();
            self.await_effects(failover, record);
        }
        Some(id)
    }

    fn hand_out_new(
        &mut self,
        failover: &Failover,
        record: model::Failover,
        (outages, signs): (HashSet<Id>, HashSet<SignKey>),
    ) -> Option<Id> {
        if self.failovers.len() >= JOINED {
            self.figures.refused += 1;
            return None;
        }
        for cause in &failover.causes {
            *self.figures.failovers.entry(cause.name()).or_default() += 1;
        }
        let is_conflict = |sign: &&Evidence| sign.kind == EvidenceKind::AddressConflict;
        self.figures.conflicts += failover.evidence.iter().filter(is_conflict).count() as u64;
        let id = record.id;
        self.found.failovers.push(record.clone());
        self.await_effects(failover, record.clone());
        self.failovers.push(Known { id, outages, signs, record, handed_out: self.now });
        Some(id)
    }

    /// Its effects are judged later, by what is known of it now.
    fn await_effects(&mut self, failover: &Failover, record: model::Failover) {
        let failover = Failover { from: record.from, ..failover.clone() };
        if !self.effects.follow(record.id, &failover, self.now) {
            return;
        }
        match self.unjudged.iter_mut().find(|known| known.id == record.id) {
            Some(known) => *known = record,
            None => self.unjudged.push(record),
        }
    }

    /// Hands failovers out with their effects, and the calls that these had one on.
    fn judge_effects(&mut self, is_end: bool) {
        for Judged { id, effects, until } in self.effects.judge(self.now, is_end) {
            let known = self.failovers.iter_mut().find(|known| known.id == id);
            let place = self.unjudged.iter().position(|record| record.id == id);
            let Some(mut record) = place.map(|place| self.unjudged.swap_remove(place)) else { continue };
            effects.describe(&mut record, until);
            if let Some(known) = known {
                known.record = record.clone();
            }
            self.found.failovers.push(record);
            let room = UNTAKEN.saturating_sub(self.found.affected.len());
            self.figures.refused += effects.affected.len().saturating_sub(room) as u64;
            self.found.affected.extend(effects.affected.iter().take(room).map(|call| call.record(id)));
        }
    }

    fn hand_out_hours(&mut self) {
        let now = self.now;
        let is_shown = |service: &ServiceSummary| {
            service.role != Role::Telephone && service.answered > 0 && self.is_ours(service.service.ip)
        };
        let services: Vec<ServiceSummary> = self.monitor.services().filter(is_shown).collect();
        let Self { hours, found, figures, .. } = self;
        hours.looked = now;
        if hours.from == Nanos::ZERO {
            // The first part of an hour begins with the first service.
            hours.from = services.iter().map(|service| service.first).min().unwrap_or(now);
        }
        let present: HashSet<_> = services.iter().map(address).collect();
        hours.services.retain(|address, _| present.contains(address));
        let is_next = now.0 / HOUR.0 > hours.from.0 / HOUR.0;
        for service in services {
            let has_room = hours.services.len() < SERVICES || hours.services.contains_key(&address(&service));
            if !has_room || found.hours.len() >= UNTAKEN {
                figures.refused += 1;
                continue;
            }
            let (before, last) = match hours.services.remove(&address(&service)) {
                Some((before, last)) => (before, Some(last)),
                None => (None, None),
            };
            if last.as_ref() != Some(&service) {
                found.hours.extend(rows::hour(hours.from, before.as_ref(), &service));
            }
            let before = if is_next { Some(service.clone()) } else { before };
            hours.services.insert(address(&service), (before, service));
        }
        if is_next {
            hours.from = Nanos(now.0 / HOUR.0 * HOUR.0);
        }
    }
}

fn key(outage: &Outage) -> (ServiceAddress, &'static str) {
    (outage.address(), outage.refused.unwrap_or("unanswered"))
}

fn sign_key(sign: &Evidence) -> SignKey {
    (sign.kind, sign.address, sign.first)
}

fn address(service: &ServiceSummary) -> ServiceAddress {
    ServiceAddress { endpoint: service.service, transport: service.transport }
}
