//! Requests and answers of all services.

use std::collections::{HashMap, HashSet};

use ringtap_engine::SipMessage;
use ringtap_model::{Endpoint, Nanos};
use ringtap_wire::sip::{Message, Method, StartLine};

use crate::attempts::Attempts;
use crate::evidence::{Evidence, EvidenceKind, EvidenceLog, Place};
use crate::record::{Counts, Findings, Outage, ServiceAddress};
use crate::refusals::RequestKind;
use crate::service::Service;
use crate::settings::Settings;
use crate::transactions::{Transaction, Transactions};

/// The same request within this time is a mirror port's second copy.
const MIRRORED: Nanos = Nanos::from_millis(10);

/// Follows services. Feed SIP messages in order of time with [`Monitor::message`], end with
/// [`Monitor::close`].
#[derive(Debug)]
pub struct Monitor {
    settings: Settings,
    now: Nanos,
    drops: u64,
    services: Vec<Service>,
    by_address: HashMap<ServiceAddress, u32>,
    transactions: Transactions,
    telephones: HashSet<Endpoint>,
    outages: Vec<Outage>,
    attempts: Attempts,
    evidence: EvidenceLog,
    counts: Counts,
}

impl Monitor {
    /// With empty tables.
    pub fn new(settings: Settings) -> Self {
        Self {
            settings,
            now: Nanos::ZERO,
            drops: 0,
            services: Vec::new(),
            by_address: HashMap::new(),
            transactions: Transactions::new(settings.transactions),
            telephones: HashSet::new(),
            outages: Vec::new(),
            attempts: Attempts::new(),
            evidence: EvidenceLog::default(),
            counts: Counts::default(),
        }
    }

    /// A SIP message. `drops`: packets known to be lost by the capture so far.
    pub fn message(&mut self, sip: &SipMessage<'_>, drops: u64) {
        self.now = self.now.max(sip.hop.time);
        if drops > self.drops {
            self.drops = drops;
            self.lost_packets();
        }
        self.forget();
        match sip.message.start() {
            _ if sip.method == Method::Ack => {}
            StartLine::Request { .. } => self.request(sip),
            StartLine::Response { code, .. } => self.response(sip, code),
        }
    }

    fn request(&mut self, sip: &SipMessage<'_>) {
        if sip.method == Method::Register {
            self.learn_telephone(sip);
        }
        self.sender_lives(sip);
        if sip.method == Method::Invite && !is_in_dialog(sip.message) {
            let telephones = &self.telephones;
            let sign = self.attempts.invite(sip, |end| telephones.contains(&end));
            sign.into_iter().for_each(|sign| self.evidence.add(sign));
        }
        let address = ServiceAddress { endpoint: sip.hop.dst, transport: sip.hop.transport };
        let Some(number) = self.service(address) else { return };
        let (now, key) = (self.now, self.transactions.key(sip, address.endpoint));
        let service = &mut self.services[number as usize];
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
                    client: sip.hop.src.ip,
                    first: now,
                    last: now,
                    sent: 1,
                    is_answered: false,
                    is_final: false,
                };
                let burst = (sip.method == Method::Register).then(|| service.registers.add(now)).flatten();
                // A CANCEL goes with its INVITE: one request that waits.
                if sip.method != Method::Cancel {
                    let is_options = sip.method == Method::Options && !is_in_dialog(sip.message);
                    service.requested(key, now, is_options);
                }
                self.transactions.insert(key, transaction);
                if let Some(count) = burst {
                    self.evidence.add(register_burst(address, now, count));
                }
            }
        }
    }

    fn sender_lives(&mut self, sip: &SipMessage<'_>) {
        let address = ServiceAddress { endpoint: sip.hop.src, transport: sip.hop.transport };
        let Some(number) = self.by_address.get(&address) else { return };
        let service = &mut self.services[*number as usize];
        let outage = service.sent_request(self.now, &self.transactions, &self.settings);
        outage.into_iter().for_each(|outage| self.keep(outage));
    }

    fn response(&mut self, sip: &SipMessage<'_>, code: u16) {
        self.learn_answer(sip, code);
        let address = ServiceAddress { endpoint: sip.hop.src, transport: sip.hop.transport };
        let Some(number) = self.by_address.get(&address).copied() else { return };
        let (now, key) = (self.now, self.transactions.key(sip, address.endpoint));
        let service = &mut self.services[number as usize];
        let known = self.transactions.get(key).copied();
        let outage = service.answered(now, known.map(|_| key), &self.transactions, &self.settings);
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
    fn learn_answer(&mut self, sip: &SipMessage<'_>, code: u16) {
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
        if self.services.len() >= self.settings.services {
            self.counts.services_refused += 1;
            return None;
        }
        let number = u32::try_from(self.services.len()).ok()?;
        self.services.push(Service::new(address, self.now));
        self.by_address.insert(address, number);
        Some(number)
    }

    /// Who registers without a proxy before is a telephone, as are the addresses that it registers.
    fn learn_telephone(&mut self, sip: &SipMessage<'_>) {
        let src = (sip.message.vias().count() == 1).then_some(sip.hop.src);
        let registered = sip.message.contacts().filter_map(|contact| {
            let port = contact.uri.port.unwrap_or(5060);
            Some(Endpoint::new(contact.uri.ip()?, port))
        });
        for endpoint in src.into_iter().chain(registered) {
            if self.telephones.len() < self.settings.telephones {
                self.telephones.insert(endpoint);
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
    }

    fn forgotten(&mut self, key: u64, transaction: &Transaction) {
        if let Some(service) = self.services.get_mut(transaction.service as usize) {
            service.forgotten(key, transaction, self.now, &self.settings);
        }
    }

    fn lost_packets(&mut self) {
        self.counts.losses += 1;
        let (now, settings) = (self.now, self.settings);
        let outages: Vec<Outage> =
            self.services.iter_mut().flat_map(|service| service.lost_packets(now, &settings)).collect();
        outages.into_iter().for_each(|outage| self.keep(outage));
    }

    /// The input has ended: what was found.
    pub fn close(mut self) -> Findings {
        let (now, settings) = (self.now, self.settings);
        for number in 0..self.services.len() {
            let outages = self.services[number].close(now, &self.transactions, &settings);
            outages.into_iter().for_each(|outage| self.keep(outage));
        }
        let role = |service: &Service| service.role(self.telephones.contains(&service.address.endpoint));
        for outage in &mut self.outages {
            let address = ServiceAddress { endpoint: outage.service, transport: outage.transport };
            if let Some(number) = self.by_address.get(&address) {
                outage.role = role(&self.services[*number as usize]);
            }
        }
        self.outages.sort_by_key(|outage| (outage.from(), outage.service, outage.kind as u8));
        let services = self.services.iter().map(|service| service.summary(role(service))).collect();
        let never_answered = self.services.iter().filter(|service| !service.has_answered()).count() as u64;
        let (evidence, refused) = self.evidence.into_parts();
        let evidence_refused = refused + self.attempts.refused();
        let number = self.services.len() as u64;
        let counts = Counts { services: number, never_answered, evidence_refused, ..self.counts };
        Findings { outages: self.outages, services, evidence, counts }
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

fn is_in_dialog(message: &Message<'_>) -> bool {
    message.to().is_some_and(|to| to.tag().is_some())
}
