//! One session: who it is, what it has, and how it becomes a record.

use std::sync::Arc;

use ringtap_model::{Id, Identity, Nanos, SessionBegin, SessionEnd, SessionSource};
use sha2::{Digest, Sha256};

use crate::counts::Counts;
use crate::facts::{Assigned, Facts};
use crate::hold::{Hold, Moment, hex};
use crate::known::{Field, Known};

/// A session.
#[derive(Debug)]
pub(crate) struct Session {
    pub(crate) id: Id,
    pub(crate) nas: Arc<str>,
    /// Its names, addresses and whatever else its packets say.
    pub(crate) known: Known,
    /// Its place in the order in which sessions came into the table.
    pub(crate) number: u64,
    /// When it was first heard of.
    pub(crate) first: Nanos,
    pub(crate) start: Nanos,
    pub(crate) last: Nanos,
    pub(crate) end: Option<(Nanos, SessionEnd)>,
    /// When it expires, or, once it has ended, when its record is made.
    pub(crate) deadline: Nanos,
    /// Heard of from then on, it has its record made again though nothing has changed.
    pub(crate) refresh: Nanos,
    /// Acct-Interim-Interval.
    pub(crate) interim: Option<u32>,
    /// Its bytes, when it was last weighed.
    pub(crate) weight: u32,
    pub(crate) packets: u32,
    pub(crate) retransmissions: u32,
    pub(crate) changes: u32,
    pub(crate) begun_by: SessionBegin,
    pub(crate) source: SessionSource,
    /// Whether it is among those whose record has to be made again.
    pub(crate) is_changed: bool,
}

impl Session {
    /// One that is first heard of now, by whom and how long it may be silent apart.
    pub(crate) fn new(id: Id, nas: Arc<str>, begun_by: SessionBegin, first: Nanos, start: Nanos) -> Self {
        Self {
            id,
            nas,
            known: Known::default(),
            number: 0,
            first,
            start,
            last: first,
            end: None,
            deadline: first,
            refresh: Nanos::ZERO,
            interim: None,
            weight: 0,
            packets: 0,
            retransmissions: 0,
            changes: 0,
            begun_by,
            source: SessionSource::Radius,
            is_changed: false,
        }
    }

    /// Acct-Session-Id.
    pub(crate) fn session(&self) -> Option<&str> {
        self.known.text(Field::Session)
    }

    /// The address that is assigned, if it has it now.
    pub(crate) fn holds(&self, assigned: &Assigned) -> bool {
        self.open().any(|hold| hold.assigned == *assigned)
    }

    /// Addresses that it had, in order.
    fn all(&self) -> impl Iterator<Item = Hold> {
        self.known.all(Field::Hold).filter_map(Hold::read)
    }

    /// Addresses that it has now.
    pub(crate) fn open(&self) -> impl Iterator<Item = Hold> {
        self.all().filter(|hold| hold.until.is_none())
    }

    /// Whether it still has an address of its own.
    pub(crate) fn has_address(&self) -> bool {
        self.open().any(|hold| !hold.assigned.kind.is_shared())
    }

    /// Adds what another packet says, but for its id: what it has not is left as it is.
    pub(crate) fn learn(&mut self, facts: &Facts, counts: &mut Counts) {
        self.known.learn(facts, counts);
        self.interim = facts.interim.or(self.interim);
    }

    /// Remembers that the session has this address from then on. Returns the one that had to give way, if it
    /// had that still.
    pub(crate) fn hold(&mut self, assigned: Assigned, from: Moment, counts: &mut Counts) -> Option<Assigned> {
        let mut given_way = None;
        if self.known.all(Field::Hold).count() >= MOST_HOLDS {
            counts.addresses_dropped += 1;
            let mut holds: Vec<Hold> = self.all().collect();
            let closed = holds.iter().position(|hold| hold.until.is_some());
            let gone = holds.remove(closed.unwrap_or(0));
            given_way = gone.until.is_none().then_some(gone.assigned);
            self.keep(&holds);
        }
        self.known.add(Field::Hold, &Hold { assigned, from, until: None }.to_bytes());
        given_way
    }

    /// Ends what it holds and `selects` names.
    pub(crate) fn release(
        &mut self,
        at: Moment,
        cause: SessionEnd,
        selects: impl Fn(&Assigned) -> bool,
    ) -> Vec<Assigned> {
        let mut released = Vec::new();
        if !self.open().any(|hold| selects(&hold.assigned)) {
            return released;
        }
        let mut holds: Vec<Hold> = self.all().collect();
        for hold in &mut holds {
            if hold.until.is_none() && selects(&hold.assigned) {
                let time = at.time.max(hold.from.time);
                hold.until = Some((Moment { time, ..at }, cause));
                released.push(hold.assigned);
            }
        }
        self.keep(&holds);
        released
    }

    fn keep(&mut self, holds: &[Hold]) {
        let holds: Vec<Vec<u8>> = holds.iter().map(|hold| hold.to_bytes()).collect();
        self.known.replace(Field::Hold, &holds);
    }

    /// Bytes that it takes, about: itself, what is known of it, and its entries in the indexes of the table.
    pub(crate) fn bytes(&self) -> usize {
        let entries = self.known.all(Field::Hold).chain(self.known.all(Field::Line)).count();
        size_of::<Self>() + self.known.len() + INDEXED + entries * ENTRY
    }

    /// The record, as the session is now.
    pub(crate) fn record(&self) -> Identity {
        let known = &self.known;
        let text = |field| known.text(field).map(str::to_owned);
        let holds: Vec<Hold> = self.all().collect();
        let networks = |is_ipv4: bool| {
            let mut networks = Vec::new();
            for hold in holds.iter().filter(|hold| hold.assigned.prefix.is_ipv4() == is_ipv4) {
                let text = hold.assigned.prefix.to_string();
                if !networks.contains(&text) {
                    networks.push(text);
                }
            }
            networks
        };
        let (ipv4, ipv6_prefixes) = (networks(true), networks(false));
        let nas_start = known.number(Field::EventTime).map(|seconds| Nanos::from_secs(seconds.into()));
        let names = [Field::User, Field::Station, Field::Payer];
        Identity {
            id: self.id,
            names: names.into_iter().flat_map(|field| known.texts(field)).map(str::to_owned).collect(),
            user: text(Field::User),
            station: text(Field::Station),
            nas: self.nas.as_ref().to_owned(),
            session: text(Field::Session),
            ipv4,
            ipv6_prefixes,
            start: self.start,
            end: self.end.map(|(time, _)| time),
            end_cause: self.end.map(|(_, cause)| cause),
            octets_in: known.count(Field::OctetsIn),
            octets_out: known.count(Field::OctetsOut),
            begun_by: self.begun_by,
            first: self.first,
            last: self.last,
            interim_s: self.interim,
            terminate_cause: known.number(Field::TerminateCause),
            nas_start,
            called_station: text(Field::Called),
            nas_identifier: text(Field::NasName),
            nas_port: known.number(Field::NasPort),
            nas_port_id: text(Field::NasPortId),
            circuit: text(Field::Circuit),
            remote: text(Field::Remote),
            imsi: text(Field::Imsi),
            imeisv: text(Field::Imeisv),
            multi_session: text(Field::MultiSession),
            class: known.bytes(Field::Class).map(hex),
            addresses: holds.iter().map(Hold::held).collect(),
            packets: self.packets,
            retransmissions: self.retransmissions,
            changes: self.changes,
            source: Some(self.source),
            client_id: known.bytes(Field::ClientId).map(hex),
            subscriber: text(Field::Subscriber),
            hostname: text(Field::Hostname),
            expires: known.count(Field::Expires).map(Nanos),
        }
    }
}

/// The id of a session: what is learnt of it later never changes it.
pub(crate) fn id_of(nas: &str, session: Option<&str>, first: Nanos, first_frame: u64) -> Id {
    let mut digest = Sha256::new();
    for part in ["identity", nas, session.unwrap_or_default()] {
        digest.update((part.len() as u64).to_le_bytes());
        digest.update(part);
    }
    digest.update(first.0.to_le_bytes());
    digest.update(first_frame.to_le_bytes());
    let mut id = [0; 16];
    id.copy_from_slice(&digest.finalize()[..16]);
    Id(id)
}

/// How long the record of a session that goes on without a change may be behind.
pub const REFRESH: Nanos = Nanos::from_secs(600);
/// Addresses that are remembered of one session, those included that it no longer has.
const MOST_HOLDS: usize = 256;
/// Bytes of a session in the table beside its own, and of an entry in one of its indexes.
const INDEXED: usize = 96;
const ENTRY: usize = 20;
