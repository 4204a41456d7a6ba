//! Outages and evidence that belong together, and what caused them.

use std::collections::{BTreeSet, HashSet};
use std::net::IpAddr;

pub use ringtap_model::FailoverCause as Cause;
use ringtap_model::Nanos;
use serde::Serialize;

use crate::evidence::{Evidence, EvidenceKind, is_move};
use crate::record::{Findings, Outage, OutageKind, Role, millis};

/// Outages that begin within this time of each other belong together.
const TOGETHER: Nanos = Nanos::from_secs(10);
/// Evidence belongs to an outage up to this time before it begins and after it ends.
pub(crate) const AROUND: Nanos = Nanos::from_secs(5);

/// One failure and how it was got over.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Failover {
    /// The first sign of it.
    #[serde(rename = "from_us")]
    pub from: Nanos,
    /// When all its services answered again; None where one did not.
    #[serde(rename = "until_us")]
    pub until: Option<Nanos>,
    /// The longest outage of a service in it.
    #[serde(rename = "down_ms", serialize_with = "millis")]
    pub down: Nanos,
    /// Why; several where several failed at once.
    pub causes: Vec<Cause>,
    /// Services that were out of service, or whose address moved.
    pub services: Vec<String>,
    /// What else was seen.
    pub evidence: Vec<Evidence>,
    #[serde(skip)]
    pub(crate) outages: Vec<Outage>,
}

/// Joins what was found in signalling with what was seen on the link.
pub fn failovers(findings: &Findings, link: &[Evidence]) -> Vec<Failover> {
    let addresses: HashSet<IpAddr> = findings
        .services
        .iter()
        .filter(|service| service.role != Role::Telephone && service.answered > 0)
        .map(|service| service.service.ip)
        .collect();
    joined(findings.outages.iter(), findings.evidence.iter().chain(link), &addresses)
}

/// Joins outages, in order of time, with evidence about the addresses of services.
pub(crate) fn joined<'a>(
    outages: impl Iterator<Item = &'a Outage>,
    evidence: impl Iterator<Item = &'a Evidence>,
    addresses: &HashSet<IpAddr>,
) -> Vec<Failover> {
    let is_shared = |outage: &&Outage| outage.role != Role::Telephone;
    let mut joined: Vec<Failover> = Vec::new();
    for outage in outages.filter(is_shared) {
        let is_near = |known: &&mut Failover| {
            known.outages.iter().any(|other| outage.from().since(other.from()) <= TOGETHER)
        };
        match joined.iter_mut().rev().take(8).find(is_near) {
            Some(known) => known.outages.push(outage.clone()),
            None => joined.push(Failover::of(outage.from(), vec![outage.clone()])),
        }
    }
    let mut signs: Vec<&Evidence> = evidence.filter(|sign| addresses.contains(&sign.address)).collect();
    signs.sort_by_key(|sign| (sign.first, sign.kind, sign.address));
    for sign in signs {
        match joined.iter_mut().find(|known| known.is_near(sign)) {
            Some(known) => known.evidence.push(sign.clone()),
            // Others say little alone.
            None if is_move(sign.kind)
                || matches!(sign.kind, EvidenceKind::AddressConflict | EvidenceKind::InviteRetried) =>
            {
                let mut failover = Failover::of(sign.first, Vec::new());
                failover.evidence.push(sign.clone());
                joined.push(failover);
            }
            None => {}
        }
    }
    joined.iter_mut().for_each(Failover::conclude);
    joined.sort_by_key(|failover| failover.from);
    joined
}

/// Whether a sign may belong to an outage by its time.
pub(crate) fn is_around(outage: &Outage, sign: &Evidence) -> bool {
    is_within(sign, outage.from(), outage.first_answer.unwrap_or(outage.from() + outage.down))
}

fn is_within(sign: &Evidence, from: Nanos, to: Nanos) -> bool {
    from.since(AROUND) <= sign.first && sign.first <= to + AROUND
}

impl Failover {
    /// The outages in it.
    pub(crate) fn outages(&self) -> &[Outage] {
        &self.outages
    }

    fn of(from: Nanos, outages: Vec<Outage>) -> Self {
        Self {
            from,
            until: None,
            down: Nanos::ZERO,
            causes: Vec::new(),
            services: Vec::new(),
            evidence: Vec::new(),
            outages,
        }
    }

    fn is_near(&self, sign: &Evidence) -> bool {
        let of_sign = |other: &Evidence| is_within(sign, other.first, other.last);
        self.outages.iter().any(|outage| is_around(outage, sign))
            || self.outages.is_empty() && self.evidence.iter().any(of_sign)
    }

    fn conclude(&mut self) {
        let begin = |outage: &Outage| outage.from();
        let first_sign = self.evidence.iter().map(|sign| sign.first);
        self.from = self.outages.iter().map(begin).min().or(first_sign.min()).unwrap_or(self.from);
        self.down = self.outages.iter().map(|outage| outage.down).max().unwrap_or_default();
        let ends = self.outages.iter().map(|outage| outage.first_answer);
        self.until = ends.collect::<Option<Vec<_>>>().and_then(|ends| ends.into_iter().max());
        if self.outages.is_empty() {
            self.until = self.evidence.iter().map(|sign| sign.last).max();
        }
        let services: BTreeSet<String> = self
            .outages
            .iter()
            .map(|outage| format!("{}/{}", outage.service, outage.transport.name()))
            .chain(
                self.evidence.iter().filter(|sign| is_move(sign.kind)).map(|sign| sign.address.to_string()),
            )
            .collect();
        self.services = services.into_iter().collect();
        self.causes = self.found_causes().into_iter().collect();
    }

    fn found_causes(&self) -> BTreeSet<Cause> {
        let mut causes = BTreeSet::new();
        let moved =
            |address: IpAddr| self.evidence.iter().any(|sign| is_move(sign.kind) && sign.address == address);
        for outage in &self.outages {
            causes.insert(match (outage.kind, outage.role) {
                (OutageKind::Refusing, _) => Cause::Refusing,
                _ if moved(outage.service.ip) => Cause::ProxyLost,
                (_, Role::Monitored) => Cause::PbxLost,
                _ => Cause::Unknown,
            });
        }
        for sign in &self.evidence {
            // One that refuses is not out: what moved may refuse since it lost what the former owner knew.
            let was_out = self
                .outages
                .iter()
                .any(|outage| outage.service.ip == sign.address && outage.kind != OutageKind::Refusing);
            match sign.kind {
                EvidenceKind::AddressConflict => _ = causes.insert(Cause::AddressConflict),
                EvidenceKind::InviteRetried => _ = causes.insert(Cause::PbxLost),
                _ if is_move(sign.kind) && !was_out => _ = causes.insert(Cause::AddressMoved),
                _ => {}
            }
        }
        // What is known explains the rest: calls through a lost PBX or proxy wait elsewhere, too.
        if causes.iter().any(|cause| !matches!(cause, Cause::Unknown | Cause::Refusing)) {
            causes.remove(&Cause::Unknown);
        }
        causes
    }
}
