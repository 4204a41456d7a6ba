//! A session made of its record, to go on with after a restart.

use std::sync::Arc;

use ringtap_model::{HeldAddress, Identity, SessionSource};

use crate::counts::Counts;
use crate::facts::{AddressKind, Assigned, Facts};
use crate::hold::{Hold, Moment};
use crate::known::Field;
use crate::prefix::Prefix;
use crate::session::{REFRESH, Session};

/// The session of this record, and what its packets said. What only these have is lost: which of its names
/// was Chargeable-User-Identity.
pub(crate) fn session(record: Identity, nas: Arc<str>) -> (Session, Facts) {
    let (users, stations) = names(&record);
    let facts = Facts {
        users,
        stations,
        called: record.called_station,
        nas_name: record.nas_identifier,
        nas_port: record.nas_port,
        nas_port_id: record.nas_port_id,
        session: record.session,
        multi_session: record.multi_session,
        class: record.class.as_deref().and_then(bytes),
        circuit: record.circuit,
        remote: record.remote,
        imsi: record.imsi,
        imeisv: record.imeisv,
        octets_in: record.octets_in,
        octets_out: record.octets_out,
        interim: record.interim_s,
        client_id: record.client_id.as_deref().and_then(bytes),
        subscriber: record.subscriber,
        hostname: record.hostname,
        expires: record.expires,
        ..Facts::default()
    };
    let mut session = Session {
        last: record.last,
        refresh: record.last + REFRESH,
        packets: record.packets,
        retransmissions: record.retransmissions,
        changes: record.changes,
        source: record.source.unwrap_or(SessionSource::Radius),
        ..Session::new(record.id, nas, record.begun_by, record.first, record.start)
    };
    session.learn(&facts, &mut Counts::default());
    if let Some(id) = &facts.session {
        session.known.set(Field::Session, id.as_bytes());
    }
    let started = record.nas_start.and_then(|start| u32::try_from(start.micros() / 1_000_000).ok());
    if let Some(seconds) = started {
        session.known.set(Field::EventTime, &seconds.to_le_bytes());
    }
    let holds = record.addresses.iter().filter_map(hold).map(Hold::to_bytes);
    holds.for_each(|hold| session.known.add(Field::Hold, &hold));
    (session, facts)
}

/// User-Names and stations: the record has those before these, in one list.
fn names(record: &Identity) -> (Vec<String>, Vec<String>) {
    let mut users = record.names.clone();
    // A user may be named as its station is.
    let begin = usize::from(record.user.is_some());
    let station = record.station.as_ref().and_then(|station| {
        let place = users.iter().skip(begin).position(|name| name == station)?;
        Some(begin + place)
    });
    let stations = users.split_off(station.unwrap_or(users.len()));
    (users, stations)
}

fn hold(held: &HeldAddress) -> Option<Hold> {
    let assigned = Assigned {
        kind: AddressKind::of_name(&held.attribute)?,
        prefix: Prefix::parse(&held.network)?,
        ports: held.first_port.zip(held.last_port),
        interface: held.interface_id.as_deref().and_then(bytes).and_then(|id| id.try_into().ok()),
    };
    let from = Moment { time: held.from, frame: Some(held.from_frame) };
    let until = held.until.zip(held.end_cause);
    let until = until.map(|(time, cause)| (Moment { time, frame: held.until_frame }, cause));
    Some(Hold { assigned, from, until })
}

/// Bytes of their hexadecimal digits.
fn bytes(digits: &str) -> Option<Vec<u8>> {
    let pair = |pair: &[u8]| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok();
    digits.as_bytes().chunks(2).map(pair).collect()
}
