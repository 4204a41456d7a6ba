//! Requests and answers of all services.

use std::collections::{HashMap, HashSet};
use std::net::IpAddr;

use ringtap_model::{Endpoint, Nanos};
use ringtap_wire::sip::Method;

use crate::attempts::Attempts;
use crate::evidence::{Evidence, EvidenceKind, EvidenceLog, Place};
use crate::observation::Observation;
use crate::record::{Counts, Findings, Outage, Role, ServiceAddress, ServiceSummary};
use crate::refusals::RequestKind;
use crate::service::Service;
use crate::settings::Settings;
use crate::transactions::{Transaction, Transactions};

/// The same request within this time is a mirror port's second copy.
const MIRRORED: Nanos = Nanos::from_millis(10);

/// How often what nobody uses any more is looked for.
const SWEEP: Nanos = Nanos::from_secs(60);
/// What never answered is forgotten after this time, where anything is.
const FORGET_SILENT: Nanos = Nanos::from_secs(300);

/// Follows services. Feed observations in order of time with [`Monitor::observe`]. Of an input that ends,
/// [`Monitor::close`] has what was found. Without an end, let time pass with [`Monitor::advance`], and take
/// what was found with [`Monitor::take_outages`], [`Monitor::take_evidence`] and [`Monitor::services`].
#[derive(Debug)]
pub struct Monitor {
    settings: Settings,
    now: Nanos,
    swept: Nanos,
    /// Numbers stay; those of services that were forgotten are used again.
    services: Vec<Option<Service>>,
    free: Vec<u32>,
    by_address: HashMap<ServiceAddress, u32>,
    transactions: Transactions,
    /// When each was last heard of.
    telephones: HashMap<Endpoint, Nanos>,
    outages: Vec<Outage>,
    attempts: Attempts,
    evidence: EvidenceLog,
    /// No further client is told apart from others.
    is_crowded: bool,
    counts: Counts,
}

impl Monitor {
    /// With empty tables.
    pub fn new(settings: Settings) -> Self {
        Self {
            settings,
            now: Nanos::ZERO,
            swept: Nanos::ZERO,
            services: Vec::new(),
            free: Vec::new(),
            by_address: HashMap::new(),
            transactions: Transactions::new(settings.transactions),
            telephones: HashMap::new(),
            outages: Vec::new(),
            attempts: Attempts::new(),
            evidence: EvidenceLog::default(),
            is_crowded: false,
            counts: Counts::default(),
        }
    }

    /// A SIP message.
    pub fn observe(&mut self, sip: &Observation) {
        self.now = self.now.max(sip.time);
        if sip.lost {
            self.lost_packets();
        }
        self.forget();
        match sip.code {
            _ if sip.method == Method::Ack => {}
            None => self.request(sip),
            Some(code) => self.response(sip, code),
        }
    }

    /// Time has passed without a message. No message from before may follow.
    pub fn advance(&mut self, now: Nanos) {
        self.now = self.now.max(now);
        self.forget();
    }

    fn request(&mut self, sip: &Observation) {
        if sip.method == Method::Register {
            self.learn_telephone(sip);
        }
        self.sender_lives(sip);
        if sip.method == Method::Invite && !sip.is_in_dialog {
            let telephones = &self.telephones;
            let sign = self.attempts.invite(sip, |end| telephones.contains_key(&end));
            sign.into_iter().for_each(|sign| self.evidence.add(sign));
        }
        let address = ServiceAddress { endpoint: sip.dst, transport: sip.transport };
        let Some(number) = self.service(address) else { return };
        let (now, key) = (self.now, sip.transaction);
        let Some(service) = self.services[number as usize].as_mut() else { return };
        match self.transactions.find(key) {
            Some(known) if known.is_answered || now.since(known.last) < MIRRORED => {}
            Some(known) => {
                known.sent += 1;
                known.last = now;
                if sip.method != Method::Cancel {
                    service.repeated(key, now, known);
                }
            }
            None => {
                let transaction = Transaction {
                    service: number,
                    client: sip.src.ip,
                    first: now,
                    last: now,
                    sent: 1,
                    is_answered: false,
                    is_final: false,
                };
                let burst = (sip.method == Method::Register).then(|| service.registers.add(now)).flatten();
                // A CANCEL goes with its INVITE: one request that waits.
                if sip.method != Method::Cancel {
                    let is_options = sip.method == Method::Options && !sip.is_in_dialog;
                    service.requested(key, now, is_options);
                }
                self.transactions.insert(key, transaction);
                if let Some(count) = burst {
                    self.evidence.add(register_burst(address, now, count));
                }
            }
        }
    }

    fn sender_lives(&mut self, sip: &Observation) {
        let address = ServiceAddress { endpoint: sip.src, transport: sip.transport };
        let Some(number) = self.by_address.get(&address) else { return };
        let Some(service) = self.services[*number as usize].as_mut() else { return };
        let outage = service.sent_request(self.now, &self.transactions, &self.settings);
        outage.into_iter().for_each(|outage| self.keep(outage));
    }

    fn response(&mut self, sip: &Observation, code: u16) {
        self.learn_answer(sip, code);
        let address = ServiceAddress { endpoint: sip.src, transport: sip.transport };
        let Some(number) = self.by_address.get(&address).copied() else { return };
        let (now, key) = (self.now, sip.transaction);
        let Some(service) = self.services[number as usize].as_mut() else { return };
        let known = self.transactions.get(key).copied();
        let outage = service.answered(now, known.map(|_| key), &self.transactions, &self.settings);
        if let Some(known) = known {
            service.know(known.client, self.is_crowded);
        }
        let refusing = (code >= 200)
            .then(|| RequestKind::of(sip.method))
            .and_then(|kind| service.final_answer(now, code, kind, known.as_ref(), &self.settings));
        if let Some(known) = self.transactions.find(key) {
            known.is_answered = true;
            known.is_final |= code >= 200;
        }
        outage.into_iter().chain(refusing).for_each(|outage| self.keep(outage));
    }

    /// What an answer tells of calls that are tried elsewhere, and of contacts.
    fn learn_answer(&mut self, sip: &Observation, code: u16) {
        match (sip.method, code) {
            (Method::Register, 200) => self.attempts.registered(sip),
            (Method::Invite, _) => {
                self.attempts.answer(sip, code);
                let sign = (code == 404).then(|| self.attempts.not_found(sip)).flatten();
                sign.into_iter().for_each(|sign| self.evidence.add(sign));
            }
            _ => {}
        }
    }

    fn keep(&mut self, outage: Outage) {
        if self.outages.len() < self.settings.outages {
            self.outages.push(outage);
        } else {
            self.counts.outages_refused += 1;
        }
    }

    fn service(&mut self, address: ServiceAddress) -> Option<u32> {
        if let Some(number) = self.by_address.get(&address) {
            return Some(*number);
        }
        if self.by_address.len() >= self.settings.services {
            self.counts.services_refused += 1;
            return None;
        }
        let service = Some(Service::new(address, self.now));
        let number = match self.free.pop() {
            Some(number) => {
                self.services[number as usize] = service;
                number
            }
            None => {
                let number = u32::try_from(self.services.len()).ok()?;
                self.services.push(service);
                number
            }
        };
        self.by_address.insert(address, number);
        Some(number)
    }

    /// Who registers without a proxy before is a telephone, as are the addresses that it registers.
    fn learn_telephone(&mut self, sip: &Observation) {
        let src = sip.is_first_hop.then_some(sip.src);
        for endpoint in src.into_iter().chain(sip.contacts.iter().copied()) {
            if let Some(heard) = self.telephones.get_mut(&endpoint) {
                *heard = self.now;
            } else if self.telephones.len() < self.settings.telephones {
                self.telephones.insert(endpoint, self.now);
            }
        }
    }

    /// Forgets transactions whose time is over, or the oldest where there are too many.
    fn forget(&mut self) {
        while let Some((key, transaction)) = self.transactions.pop(Some(self.now)) {
            self.forgotten(key, &transaction);
        }
        while self.transactions.is_full() {
            let Some((key, transaction)) = self.transactions.pop(None) else { break };
            self.counts.transactions_evicted += 1;
            self.forgotten(key, &transaction);
        }
        if self.now.since(self.swept) >= SWEEP {
            self.swept = self.now;
            self.sweep();
        }
    }

    /// Forgets what nobody uses any more, and looks how much is remembered.
    fn sweep(&mut self) {
        let clients: usize = self.services.iter().flatten().map(Service::clients).sum();
        self.is_crowded = clients >= self.settings.clients;
        self.attempts.expire(self.now);
        let Some(forget) = self.settings.forget else { return };
        let now = self.now;
        self.telephones.retain(|_, heard| now.since(*heard) < forget);
        for (number, slot) in (0..).zip(&mut self.services) {
            let Some(service) = slot else { continue };
            let silence = if service.has_answered() { forget } else { FORGET_SILENT.min(forget) };
            if service.is_unused(now, silence) {
                self.by_address.remove(&service.address);
                self.free.push(number);
                *slot = None;
                self.counts.services_forgotten += 1;
            }
        }
    }

    fn forgotten(&mut self, key: u64, transaction: &Transaction) {
        if let Some(Some(service)) = self.services.get_mut(transaction.service as usize) {
            service.forgotten(key, transaction, (self.now, self.is_crowded), &self.settings);
        }
    }

    /// Packets were lost: what waits may have been answered.
    pub fn lost_packets(&mut self) {
        self.counts.losses += 1;
        let (now, settings) = (self.now, self.settings);
        let services = self.services.iter_mut().flatten();
        let outages: Vec<Outage> =
            services.flat_map(|service| service.lost_packets(now, &settings)).collect();
        outages.into_iter().for_each(|outage| self.keep(outage));
    }

    /// Outages that have ended since the last time, in order of their ends.
    pub fn take_outages(&mut self) -> Vec<Outage> {
        let mut outages = std::mem::take(&mut self.outages);
        outages.iter_mut().for_each(|outage| outage.role = self.role_of(outage));
        outages
    }

    /// Outages that go on now, as far as they are known.
    pub fn outages_that_go_on(&self) -> Vec<Outage> {
        let services = self.services.iter().flatten();
        let mut outages: Vec<Outage> = services
            .flat_map(|service| service.outages_that_go_on(self.now, &self.transactions, &self.settings))
            .collect();
        outages.iter_mut().for_each(|outage| outage.role = self.role_of(outage));
        outages
    }

    /// Signs of failovers since the last time, in the order in which they were first seen.
    pub fn take_evidence(&mut self) -> Vec<Evidence> {
        self.evidence.take()
    }

    /// All services as they are now.
    pub fn services(&self) -> impl Iterator<Item = ServiceSummary> {
        self.services.iter().flatten().map(|service| service.summary(self.role(service)))
    }

    /// Addresses of services other than telephones that have answered.
    pub(crate) fn serving_addresses(&self) -> HashSet<IpAddr> {
        let serves = |service: &&Service| service.has_answered() && self.role(service) != Role::Telephone;
        self.services.iter().flatten().filter(serves).map(|service| service.address.endpoint.ip).collect()
    }

    /// Whether it is a service that has answered, and no telephone.
    pub(crate) fn serves(&self, address: ServiceAddress) -> bool {
        let number = self.by_address.get(&address);
        let service = number.and_then(|number| self.services.get(*number as usize)?.as_ref());
        service.is_some_and(|service| service.has_answered() && self.role(service) != Role::Telephone)
    }

    /// Figures so far.
    pub fn counts(&self) -> Counts {
        let never_answered = self.services.iter().flatten().filter(|service| !service.has_answered()).count();
        Counts {
            services: self.by_address.len() as u64,
            never_answered: never_answered as u64,
            evidence_refused: self.counts.evidence_refused
                + self.evidence.refused()
                + self.attempts.refused(),
            ..self.counts
        }
    }

    fn role(&self, service: &Service) -> Role {
        service.role(self.telephones.contains_key(&service.address.endpoint))
    }

    fn role_of(&self, outage: &Outage) -> Role {
        let address = ServiceAddress { endpoint: outage.service, transport: outage.transport };
        let number = self.by_address.get(&address);
        let service = number.and_then(|number| self.services[*number as usize].as_ref());
        service.map_or(outage.role, |service| self.role(service))
    }

    /// Ends outages that go on, since nothing follows.
    pub(crate) fn end(&mut self) {
        let (now, settings) = (self.now, self.settings);
        for number in 0..self.services.len() {
            let Some(service) = self.services[number].as_mut() else { continue };
            let outages = service.close(now, &self.transactions, &settings);
            outages.into_iter().for_each(|outage| self.keep(outage));
        }
    }

    /// The input has ended: what was found.
    pub fn close(mut self) -> Findings {
        self.end();
        let mut outages = self.take_outages();
        outages.sort_by_key(|outage| (outage.from(), outage.service, outage.kind as u8));
        let (services, counts) = (self.services().collect(), self.counts());
        Findings { outages, services, evidence: self.take_evidence(), counts }
    }
}

fn register_burst(address: ServiceAddress, now: Nanos, count: u64) -> Evidence {
    Evidence {
        kind: EvidenceKind::RegisterBurst,
        first: now,
        last: now,
        count,
        address: address.endpoint.ip,
        from: None,
        to: Some(Place::Service(address.endpoint)),
    }
}
