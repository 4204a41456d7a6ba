//! One service: who waits for it, when it answered last, how long it served.

use std::collections::{BTreeSet, HashSet};
use std::net::IpAddr;

use ringtap_model::Nanos;

use crate::rate::RegisterRate;
use crate::record::{Outage, OutageKind, Role, ServiceAddress, ServiceSummary};
use crate::refusals::{Refusals, RequestKind, is_refusal};
use crate::settings::{GIVEN_UP, Settings};
use crate::silence::{Silence, Waited};
use crate::transactions::{Transaction, Transactions};

/// Clients that are known to be served; beyond these, all count as known.
const KNOWN: usize = 4096;
/// OPTIONS outside of calls from which on a service counts as monitored.
const MONITORED: u64 = 3;
/// At the end of the input requests have to have waited so many times longer: their answers may be next.
const AT_END: u64 = 4;

#[derive(Clone, Debug)]
pub(crate) struct Service {
    pub(crate) address: ServiceAddress,
    first: Nanos,
    last: Nanos,
    requests: u64,
    answered: u64,
    answered_late: u64,
    unanswered: u64,
    undecided: u64,
    outages: u64,
    options: u64,
    last_answer: Option<Nanos>,
    /// The last message of any kind from here.
    last_sign: Option<Nanos>,
    /// An outage that a request from here has ended, until the first answer.
    ended: Option<Outage>,
    /// Until when its time is accounted for.
    since: Option<Nanos>,
    /// Packets were lost: nothing that waited by then says anything.
    lost_at: Nanos,
    waiting: BTreeSet<(Nanos, u64)>,
    silence: Silence,
    known: HashSet<IpAddr>,
    /// There was no room for a client: all count as known.
    knows_all: bool,
    up: Nanos,
    down: Nanos,
    unobserved: Nanos,
    refusals: [Refusals; RequestKind::ALL.len()],
    pub(crate) registers: RegisterRate,
}

impl Service {
    pub(crate) fn new(address: ServiceAddress, now: Nanos) -> Self {
        Self {
            address,
            first: now,
            last: now,
            requests: 0,
            answered: 0,
            answered_late: 0,
            unanswered: 0,
            undecided: 0,
            outages: 0,
            options: 0,
            last_answer: None,
            last_sign: None,
            ended: None,
            since: None,
            lost_at: Nanos::ZERO,
            waiting: BTreeSet::new(),
            silence: Silence::default(),
            known: HashSet::new(),
            knows_all: false,
            up: Nanos::ZERO,
            down: Nanos::ZERO,
            unobserved: Nanos::ZERO,
            refusals: Default::default(),
            registers: RegisterRate::default(),
        }
    }

    /// A new request.
    pub(crate) fn requested(&mut self, key: u64, now: Nanos, is_options: bool) {
        self.requests += 1;
        self.options += u64::from(is_options);
        self.last = now;
        self.waiting.insert((now, key));
        self.silence.sent(now, now);
    }

    /// A request that waits was sent again.
    pub(crate) fn repeated(&mut self, key: u64, now: Nanos, transaction: &mut Transaction) {
        self.last = now;
        if transaction.first <= self.lost_at {
            transaction.first = now;
            self.undecided = self.undecided.saturating_sub(1);
        }
        self.waiting.insert((transaction.first, key));
        self.silence.sent(now, transaction.first);
    }

    /// It sent a request: a proxy passes on what only the far end can answer (RFC 4320 section 4.1), so that
    /// it lives although it answers nothing.
    pub(crate) fn sent_request(
        &mut self,
        now: Nanos,
        transactions: &Transactions,
        settings: &Settings,
    ) -> Option<Outage> {
        let outage = self.judge(now, None, transactions, settings);
        self.account(now, outage.as_ref().map(Outage::from), settings);
        self.last_sign = Some(now);
        outage.and_then(|outage| {
            self.outages += 1;
            self.ended.replace(Outage { first_answer: None, ..outage })
        })
    }

    /// It sent an answer, of the transaction with that key if it is remembered.
    pub(crate) fn answered(
        &mut self,
        now: Nanos,
        key: Option<u64>,
        transactions: &Transactions,
        settings: &Settings,
    ) -> Option<Outage> {
        self.last = now;
        let transaction = key.and_then(|key| transactions.get(key));
        let outage = self.judge(now, key, transactions, settings);
        self.account(now, outage.as_ref().map(Outage::from), settings);
        if let (Some(key), Some(transaction)) = (key, transaction) {
            if !transaction.is_answered {
                self.answered += 1;
                self.answered_late += u64::from(transaction.sent > 1);
            }
            self.waiting.remove(&(transaction.first, key));
        }
        self.last_answer = Some(now);
        self.last_sign = Some(now);
        self.outages += u64::from(outage.is_some());
        let ended = self.ended.take().map(|outage| Outage { first_answer: Some(now), ..outage });
        // Between the two there was no answer, so the first goes on with the second.
        match (ended, outage) {
            (Some(ended), Some(outage)) => Some(self.joined(ended, outage)),
            (ended, outage) => ended.or(outage),
        }
    }

    /// Two outages without an answer between them.
    fn joined(&mut self, ended: Outage, outage: Outage) -> Outage {
        self.outages = self.outages.saturating_sub(1);
        Outage {
            first_unanswered: ended.first_unanswered.min(outage.first_unanswered),
            down: ended.down + outage.down,
            unobserved: ended.unobserved + outage.unobserved,
            requests: ended.requests.max(outage.requests),
            sent: ended.sent.max(outage.sent),
            clients: ended.clients.max(outage.clients),
            ..outage
        }
    }

    /// Whether nothing was answered for long enough to be an outage that this answer ends.
    fn judge(
        &self,
        now: Nanos,
        answered: Option<u64>,
        transactions: &Transactions,
        settings: &Settings,
    ) -> Option<Outage> {
        if now.since(self.base()) < settings.after {
            return None;
        }
        let silence = self.waited(now, settings.after, settings, transactions);
        let client = answered.and_then(|key| transactions.get(key)).map(|transaction| transaction.client);
        let (sum, clients) = silence.sum(|client_known| self.knows(client_known, client));
        let own = answered.and_then(|key| transactions.get(key)).is_some_and(|transaction| {
            sum.requests == 1 && Some(transaction.first) == sum.first && !transaction.is_answered
        });
        // Of a single request each repeat may have been lost, where no answer says that the service is back.
        let is_outage = sum.requests >= 2 || sum.requests == 1 && sum.sent >= 2 && !own && answered.is_some();
        if !is_outage {
            return None;
        }
        let outage = self.unanswered(sum, clients, Some(now))?;
        let unobserved = silence.uncovered(now);
        let down = now.since(outage.from()).since(unobserved);
        Some(Outage { down, unobserved, ..outage })
    }

    /// What waited for at least `least` by `end`.
    fn waited(&self, end: Nanos, least: Nanos, settings: &Settings, transactions: &Transactions) -> Silence {
        let base = self.base();
        let mut silence = self.silence.clone();
        // Sent shortly before the last answer, a request may have come too late for it.
        for (first, key) in self.waiting.range((base.since(settings.after), 0)..) {
            let Some(transaction) = transactions.get(*key) else { continue };
            if end.since((*first).max(base)) >= least {
                silence.waited(Some(transaction.client), *first, transaction.sent);
            }
        }
        silence
    }

    /// A client that was answered at some time: others may be ignored on purpose.
    fn knows(&self, client: IpAddr, answered: Option<IpAddr>) -> bool {
        self.knows_all || Some(client) == answered || self.known.contains(&client)
    }

    /// Has answered this client.
    pub(crate) fn know(&mut self, client: IpAddr, is_crowded: bool) {
        if is_crowded || self.known.len() >= KNOWN {
            self.knows_all |= !self.known.contains(&client);
        } else {
            self.known.insert(client);
        }
    }

    /// Addresses that are told apart.
    pub(crate) fn clients(&self) -> usize {
        let refused: usize = self.refusals.iter().map(|refusals| refusals.clients.len()).sum();
        self.known.len() + self.silence.clients() + refused
    }

    /// Whether nothing waits here, and nothing was heard for that time.
    pub(crate) fn is_unused(&self, now: Nanos, silence: Nanos) -> bool {
        self.waiting.is_empty() && now.since(self.last) >= silence
    }

    fn base(&self) -> Nanos {
        self.last_sign.unwrap_or_default().max(self.lost_at)
    }

    fn unanswered(&self, sum: Waited, clients: u64, first_answer: Option<Nanos>) -> Option<Outage> {
        Some(Outage {
            service: self.address.endpoint,
            transport: self.address.transport,
            role: Role::Service,
            kind: OutageKind::Unanswered,
            last_answer: self.last_answer,
            last_sign: self.last_sign,
            begun: None,
            first_unanswered: sum.first?,
            first_answer,
            down: Nanos::ZERO,
            unobserved: Nanos::ZERO,
            requests: sum.requests,
            sent: sum.sent,
            clients,
            refused: None,
        })
    }

    /// Adds the time until `now` to what is known of it: `from` is when an outage began that ends now.
    fn account(&mut self, now: Nanos, from: Option<Nanos>, settings: &Settings) {
        let silence = std::mem::take(&mut self.silence);
        let asked = from.or(silence.first_sent).unwrap_or(now).min(now);
        if let Some(since) = self.since {
            self.add_served(asked.since(since), settings);
        }
        if from.is_some() {
            let unobserved = silence.uncovered(now);
            self.unobserved += unobserved;
            self.down += now.since(asked).since(unobserved);
        } else {
            self.add_served(now.since(asked.max(self.since.unwrap_or_default())), settings);
        }
        self.since = Some(now);
    }

    /// Between two signs of life it served, unless they are too far apart.
    fn add_served(&mut self, span: Nanos, settings: &Settings) {
        if span <= settings.observe {
            self.up += span;
        } else {
            self.unobserved += span;
        }
    }

    /// A final answer, the first of its request where that is remembered.
    pub(crate) fn final_answer(
        &mut self,
        now: Nanos,
        code: u16,
        kind: RequestKind,
        transaction: Option<&Transaction>,
        settings: &Settings,
    ) -> Option<Outage> {
        if is_refusal(code) {
            let accounted = self.down + self.unobserved;
            let refusals = &mut self.refusals[kind as usize];
            if let Some(transaction) = transaction.filter(|transaction| !transaction.is_final) {
                if refusals.count == 0 {
                    refusals.accounted = accounted;
                }
                refusals.add(now, transaction.first, transaction.sent, transaction.client);
            }
            return None;
        }
        // Who sends wrong credentials, a wrong number or is busy was served.
        let outage = self.end_refusals(kind, Some(now), settings);
        self.refusals[kind as usize] = Refusals { last_good: Some(now), ..Refusals::default() };
        outage
    }

    fn end_refusals(
        &mut self,
        kind: RequestKind,
        good: Option<Nanos>,
        settings: &Settings,
    ) -> Option<Outage> {
        let outage = self.refusing(kind, good, settings);
        self.refusals[kind as usize] = Refusals::default();
        let down = outage.as_ref()?.down;
        self.up = self.up.since(down);
        self.down += down;
        self.outages += 1;
        outage
    }

    /// What was refused in a row, if that is an outage: until a request was served, if one was.
    fn refusing(&self, kind: RequestKind, good: Option<Nanos>, settings: &Settings) -> Option<Outage> {
        let refusals = &self.refusals[kind as usize];
        let first = refusals.first.filter(|_| refusals.is_outage(settings.after))?;
        let end = good.filter(|good| good.since(refusals.last) <= settings.observe).unwrap_or(refusals.last);
        let accounted = (self.down + self.unobserved).since(refusals.accounted);
        let down = end.since(first).since(accounted);
        Some(Outage {
            service: self.address.endpoint,
            transport: self.address.transport,
            role: Role::Service,
            kind: OutageKind::Refusing,
            last_answer: refusals.last_good,
            last_sign: refusals.last_good,
            begun: None,
            first_unanswered: first,
            first_answer: good,
            down,
            unobserved: good.unwrap_or(end).since(first).since(down),
            requests: refusals.count,
            sent: refusals.sent,
            clients: refusals.clients.len() as u64,
            refused: Some(kind.name()),
        })
    }

    /// A request is forgotten that was not answered.
    pub(crate) fn forgotten(
        &mut self,
        key: u64,
        transaction: &Transaction,
        (now, is_crowded): (Nanos, bool),
        settings: &Settings,
    ) {
        if !self.waiting.remove(&(transaction.first, key)) {
            return;
        }
        if transaction.first + settings.after >= self.base() {
            let client = (!is_crowded).then_some(transaction.client);
            self.silence.waited(client, transaction.first, transaction.sent);
        }
        self.decide(transaction, now);
    }

    fn decide(&mut self, transaction: &Transaction, now: Nanos) {
        if now.since(transaction.first) >= GIVEN_UP {
            self.unanswered += 1;
        } else {
            self.undecided += 1;
        }
    }

    /// Packets were lost by now: what waits may have been answered.
    pub(crate) fn lost_packets(&mut self, now: Nanos, settings: &Settings) -> Vec<Outage> {
        let outages = self.end_all_refusals(settings);
        self.undecided += self.waiting.len() as u64;
        self.waiting.clear();
        self.silence = Silence::default();
        if let Some(since) = self.since {
            self.unobserved += now.since(since);
            self.since = Some(now);
        }
        self.lost_at = now;
        outages
    }

    fn end_all_refusals(&mut self, settings: &Settings) -> Vec<Outage> {
        RequestKind::ALL.into_iter().filter_map(|kind| self.end_refusals(kind, None, settings)).collect()
    }

    /// The input has ended: outages that go on.
    pub(crate) fn close(
        &mut self,
        now: Nanos,
        transactions: &Transactions,
        settings: &Settings,
    ) -> Vec<Outage> {
        let mut outages = self.end_all_refusals(settings);
        outages.extend(self.ended.take());
        if let Some(outage) = self.open_outage(now, transactions, settings) {
            let from = outage.from();
            if let Some(since) = self.since {
                self.add_served(from.since(since), settings);
            }
            self.down += outage.down;
            self.unobserved += outage.unobserved;
            self.last = self.last.max(from + outage.down + outage.unobserved);
            self.outages += 1;
            outages.push(outage);
        }
        for (_, key) in std::mem::take(&mut self.waiting) {
            if let Some(transaction) = transactions.get(key) {
                let transaction = *transaction;
                self.decide(&transaction, now);
            }
        }
        outages
    }

    /// Outages that go on, as far as they are known.
    pub(crate) fn outages_that_go_on(
        &self,
        now: Nanos,
        transactions: &Transactions,
        settings: &Settings,
    ) -> impl Iterator<Item = Outage> {
        let unanswered = self.ended.clone().or_else(|| self.open_outage(now, transactions, settings));
        let refusing = RequestKind::ALL.into_iter().filter_map(|kind| self.refusing(kind, None, settings));
        unanswered.into_iter().chain(refusing)
    }

    fn open_outage(&self, now: Nanos, transactions: &Transactions, settings: &Settings) -> Option<Outage> {
        // Where no answer was ever seen, answers may take another way.
        self.last_answer?;
        let end = self.silence.covered_until()?.min(now);
        let silence =
            self.waited(end, Nanos(settings.after.0.saturating_mul(AT_END)), settings, transactions);
        let (sum, clients) = silence.sum(|client| self.knows(client, None));
        let is_given_up = sum.first.is_some_and(|first| now.since(first) >= GIVEN_UP);
        if sum.requests < 2 && !(sum.requests == 1 && sum.sent >= 2 && is_given_up) {
            return None;
        }
        let outage = self.unanswered(sum, clients, None)?;
        let unobserved = silence.uncovered(end);
        let down = end.since(outage.from()).since(unobserved);
        Some(Outage { down, unobserved, ..outage })
    }

    pub(crate) fn has_answered(&self) -> bool {
        self.last_answer.is_some()
    }

    pub(crate) fn role(&self, is_telephone: bool) -> Role {
        match is_telephone {
            true => Role::Telephone,
            false if self.options >= MONITORED => Role::Monitored,
            false => Role::Service,
        }
    }

    pub(crate) fn summary(&self, role: Role) -> ServiceSummary {
        let observed = self.up + self.down;
        let is_known = observed > Nanos::ZERO && self.has_answered();
        ServiceSummary {
            service: self.address.endpoint,
            transport: self.address.transport,
            role,
            first: self.first,
            last: self.last,
            requests: self.requests,
            answered: self.answered,
            answered_late: self.answered_late,
            unanswered: self.unanswered,
            undecided: self.undecided,
            outages: self.outages,
            observed,
            unobserved: self.last.since(self.first).since(observed),
            down: self.down,
            availability_pct: is_known.then(|| 100.0 * self.up.secs_f64() / observed.secs_f64()),
        }
    }
}
