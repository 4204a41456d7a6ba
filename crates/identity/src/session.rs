//! One session: who it is, what it has, and how it becomes a record.

use ringtap_model::{HeldAddress, Id, Identity, Nanos, SessionBegin, SessionEnd};
use sha2::{Digest, Sha256};

use crate::counts::Counts;
use crate::facts::{AddressKind, Assigned, Facts, MOST_NAMES};
use crate::key::Key;

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
    pub(crate) id: Id,
    pub(crate) nas: String,
    pub(crate) facts: Facts,
    /// What it was found by before it had an id.
    pub(crate) lines: Box<[Key]>,
    pub(crate) begun_by: SessionBegin,
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
    /// Whether it is among those whose record has to be made again.
    pub(crate) is_changed: bool,
    /// When it was last heard of as its record was last made; `None` before that.
    pub(crate) recorded: Option<Nanos>,
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

    /// How many names and stations are known of it.
    pub(crate) fn names(&self) -> usize {
        self.facts.users.len() + self.facts.stations.len() + usize::from(self.facts.payer.is_some())
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
        // Most sessions have one or two, for ever: no room beside them.
        self.holds.reserve_exact(usize::from(self.holds.len() == self.holds.capacity()));
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
        let others = self.nas.len() + facts.class.as_ref().map_or(0, Vec::len) + size_of_val(&*self.lines);
        size_of::<Self>() + INDEXED + texts + others + self.holds.capacity() * (size_of::<Hold>() + HELD)
    }

    /// The record, as the session is now.
    pub(crate) fn record(&self) -> Identity {
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
        let names = facts.users.iter().chain(&facts.stations).chain(&facts.payer);
        Identity {
            id: self.id,
            names: names.cloned().collect(),
            user: facts.users.first().cloned(),
            station: facts.stations.first().cloned(),
            nas: self.nas.clone(),
            session: facts.session.clone(),
            ipv4,
            ipv6_prefixes,
            start: self.start,
            end: self.end.map(|(time, _)| time),
            end_cause: self.end.map(|(_, cause)| cause),
            octets_in: facts.octets_in,
            octets_out: facts.octets_out,
            begun_by: self.begun_by,
            first: self.first,
            last: self.last,
            interim_s: facts.interim,
            terminate_cause: facts.terminate_cause,
            nas_start,
            called_station: facts.called.clone(),
            nas_identifier: facts.nas_name.clone(),
            nas_port: facts.nas_port,
            nas_port_id: facts.nas_port_id.clone(),
            circuit: facts.circuit.clone(),
            remote: facts.remote.clone(),
            imsi: facts.imsi.clone(),
            imeisv: facts.imeisv.clone(),
            multi_session: facts.multi_session.clone(),
            class: facts.class.as_deref().map(hex),
            addresses: holds.iter().map(held).collect(),
            packets: self.packets,
            retransmissions: self.retransmissions,
            changes: self.changes,
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

fn names(known: &mut Vec<String>, learnt: &[String], counts: &mut Counts) {
    for name in learnt {
        if known.contains(name) {
            continue;
        }
        if known.len() < MOST_NAMES {
            known.reserve_exact(1);
            known.push(name.clone());
        } else {
            counts.names_dropped += 1;
        }
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn held(hold: &Hold) -> HeldAddress {
    let Hold { assigned: Assigned { kind, prefix, ports, interface }, from, until } = *hold;
    HeldAddress {
        network: prefix.to_string(),
        first_port: ports.map(|(first, _)| first),
        last_port: ports.map(|(_, last)| last),
        attribute: AddressKind::name(kind).to_owned(),
        interface_id: interface.map(|id| hex(&id)),
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
const INDEXED: usize = 256;
const HELD: usize = 96;
