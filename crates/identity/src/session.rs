//! One session: who it is, what it has, and how it becomes a record.

use ringtap_model::{HeldAddress, Id, Identity, Nanos, SessionBegin, SessionEnd};
use sha2::{Digest, Sha256};

use crate::counts::Counts;
use crate::facts::{AddressKind, Assigned, Facts, MOST_NAMES};
use crate::line::Line;

/// When, and which frame says so.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Moment {
    pub(crate) time: Nanos,
    /// Number of the frame; `None` where it follows from silence.
    pub(crate) frame: Option<u64>,
}

/// An address of a session.
#[derive(Clone, Debug)]
pub(crate) struct Hold {
    pub(crate) assigned: Assigned,
    pub(crate) from: Moment,
    pub(crate) until: Option<(Moment, SessionEnd)>,
}

/// A session.
#[derive(Debug)]
pub(crate) struct Session {
    pub(crate) nas: String,
    pub(crate) facts: Facts,
    /// What it was found by before it had an id.
    pub(crate) lines: Vec<Line>,
    pub(crate) begun_by: SessionBegin,
    pub(crate) first_frame: u64,
    /// When it was first heard of.
    pub(crate) first: Nanos,
    pub(crate) start: Nanos,
    pub(crate) last: Nanos,
    pub(crate) end: Option<(Nanos, SessionEnd)>,
    /// When it expires, or, once it has ended, when its record is made.
    pub(crate) deadline: Nanos,
    pub(crate) holds: Vec<Hold>,
    /// Its bytes, when it was last weighed.
    pub(crate) weight: usize,
    pub(crate) packets: u32,
    pub(crate) retransmissions: u32,
    pub(crate) changes: u32,
}

impl Session {
    /// The address that is assigned, if it has it now.
    pub(crate) fn holds(&self, assigned: &Assigned) -> bool {
        self.open().any(|hold| hold.assigned == *assigned)
    }

    /// Addresses that it has now.
    pub(crate) fn open(&self) -> impl Iterator<Item = &Hold> {
        self.holds.iter().filter(|hold| hold.until.is_none())
    }

    /// Whether it still has an address of its own.
    pub(crate) fn has_address(&self) -> bool {
        self.open().any(|hold| !hold.assigned.kind.is_shared())
    }

    /// Adds what another packet says, but for its id: what it has not is left as it is.
    pub(crate) fn learn(&mut self, facts: &Facts, counts: &mut Counts) {
        let own = &mut self.facts;
        names(&mut own.users, &facts.users, counts);
        names(&mut own.stations, &facts.stations, counts);
        for (field, learnt) in [
            (&mut own.payer, &facts.payer),
            (&mut own.called, &facts.called),
            (&mut own.nas_name, &facts.nas_name),
            (&mut own.nas_port_id, &facts.nas_port_id),
            (&mut own.multi_session, &facts.multi_session),
            (&mut own.circuit, &facts.circuit),
            (&mut own.remote, &facts.remote),
            (&mut own.imsi, &facts.imsi),
            (&mut own.imeisv, &facts.imeisv),
        ] {
            if learnt.is_some() {
                field.clone_from(learnt);
            }
        }
        if facts.class.is_some() {
            own.class.clone_from(&facts.class);
        }
        for (field, learnt) in [
            (&mut own.nas_port, facts.nas_port),
            (&mut own.terminate_cause, facts.terminate_cause),
            (&mut own.interim, facts.interim),
            (&mut own.timeout, facts.timeout),
        ] {
            *field = learnt.or(*field);
        }
        // Reports may come out of order, and counters only grow.
        own.octets_in = own.octets_in.max(facts.octets_in);
        own.octets_out = own.octets_out.max(facts.octets_out);
        counts.names_dropped += facts.names_dropped;
        counts.addresses_dropped += facts.addresses_dropped;
    }

    /// Remembers that the session had this address from then on.
    pub(crate) fn hold(&mut self, assigned: Assigned, from: Moment, counts: &mut Counts) {
        if self.holds.len() >= MOST_HOLDS {
            counts.addresses_dropped += 1;
            let closed = self.holds.iter().position(|hold| hold.until.is_some());
            self.holds.remove(closed.unwrap_or(0));
        }
        self.holds.push(Hold { assigned, from, until: None });
    }

    /// Ends what it holds and `selects` names.
    pub(crate) fn release(
        &mut self,
        at: Moment,
        cause: SessionEnd,
        selects: impl Fn(&Assigned) -> bool,
    ) -> Vec<Assigned> {
        let mut released = Vec::new();
        for hold in &mut self.holds {
            if hold.until.is_none() && selects(&hold.assigned) {
                let time = at.time.max(hold.from.time);
                hold.until = Some((Moment { time, ..at }, cause));
                released.push(hold.assigned);
            }
        }
        released
    }

    /// Bytes that it takes, about: itself, its texts, and its entries in the indexes of the table.
    pub(crate) fn bytes(&self) -> usize {
        let facts = &self.facts;
        let texts = [
            &facts.payer,
            &facts.called,
            &facts.nas_name,
            &facts.nas_port_id,
            &facts.session,
            &facts.multi_session,
            &facts.circuit,
            &facts.remote,
            &facts.imsi,
            &facts.imeisv,
        ];
        let texts = texts.into_iter().flatten().chain(&facts.users).chain(&facts.stations);
        let texts: usize = texts.map(|text| text.len() + size_of::<String>()).sum();
        // Lines and ids are keys of the table too, and repeat names, NAS and Class.
        let indexed = 2 * (self.nas.len() + facts.class.as_ref().map_or(0, Vec::len) + size_of::<Line>());
        size_of::<Self>() + INDEXED + 2 * texts + indexed + self.holds.capacity() * (size_of::<Hold>() + HELD)
    }

    /// The record.
    pub(crate) fn into_record(self) -> Identity {
        let id = self.id();
        let Self { facts, holds, .. } = self;
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
        let nas_start = facts.event_time.map(|seconds| Nanos::from_secs(seconds.into()));
        let names = [&facts.users, &facts.stations].into_iter().flatten().chain(&facts.payer);
        Identity {
            id,
            names: names.cloned().collect(),
            user: facts.users.into_iter().next(),
            station: facts.stations.into_iter().next(),
            nas: self.nas,
            session: facts.session,
            ipv4,
            ipv6_prefixes,
            start: self.start,
            end: self.end.map(|(time, _)| time),
            end_cause: self.end.map(|(_, cause)| cause),
            octets_in: facts.octets_in,
            octets_out: facts.octets_out,
            begun_by: self.begun_by,
            last: self.last,
            terminate_cause: facts.terminate_cause,
            nas_start,
            called_station: facts.called,
            nas_identifier: facts.nas_name,
            nas_port: facts.nas_port,
            nas_port_id: facts.nas_port_id,
            circuit: facts.circuit,
            remote: facts.remote,
            imsi: facts.imsi,
            imeisv: facts.imeisv,
            multi_session: facts.multi_session,
            class: facts.class.map(|class| class.iter().map(|byte| format!("{byte:02x}")).collect()),
            addresses: holds.into_iter().map(held).collect(),
            packets: self.packets,
            retransmissions: self.retransmissions,
            changes: self.changes,
        }
    }

    fn id(&self) -> Id {
        let mut digest = Sha256::new();
        let session = self.facts.session.as_deref().unwrap_or_default();
        for part in ["identity", &self.nas, session] {
            digest.update((part.len() as u64).to_le_bytes());
            digest.update(part);
        }
        digest.update(self.first.0.to_le_bytes());
        digest.update(self.first_frame.to_le_bytes());
        let mut id = [0; 16];
        id.copy_from_slice(&digest.finalize()[..16]);
        Id(id)
    }
}

fn names(known: &mut Vec<String>, learnt: &[String], counts: &mut Counts) {
    for name in learnt {
        if known.contains(name) {
            continue;
        }
        if known.len() < MOST_NAMES {
            known.push(name.clone());
        } else {
            counts.names_dropped += 1;
        }
    }
}

fn held(hold: Hold) -> HeldAddress {
    let Hold { assigned: Assigned { kind, prefix, ports, .. }, from, until } = hold;
    HeldAddress {
        network: prefix.to_string(),
        first_port: ports.map(|(first, _)| first),
        last_port: ports.map(|(_, last)| last),
        attribute: AddressKind::name(kind).to_owned(),
        from: from.time,
        from_frame: from.frame.unwrap_or_default(),
        until: until.map(|(moment, _)| moment.time),
        until_frame: until.and_then(|(moment, _)| moment.frame),
        end_cause: until.map(|(_, cause)| cause),
    }
}

/// Addresses that are remembered of one session, those included that it no longer has.
const MOST_HOLDS: usize = 256;
/// Bytes of a session's entries in maps of the table, and of those of an address, without their texts.
const INDEXED: usize = 512;
const HELD: usize = 96;
