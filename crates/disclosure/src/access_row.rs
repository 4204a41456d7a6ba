//! What is given of a session of access to the Internet.

use std::ops::Range;

use ringtap_model::{Id, Identity, Nanos, SessionBegin, SessionEnd, SessionSource};
use serde::Serialize;

use crate::subjects::was_held_in;

/// A session: Article 5(1)(a)(2), (c)(2), (d)(2) and (e)(3).
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct AccessRow {
    /// The id of its record.
    pub id: Id,
    /// By what it was found: kinds of subjects.
    pub found_by: Vec<&'static str>,
    /// What tells of it.
    pub source: Option<SessionSource>,
    /// Log-in, or the begin of a lease.
    #[serde(rename = "log_in_us")]
    pub log_in: Nanos,
    /// By what its begin is known.
    pub begun_by: SessionBegin,
    /// Log-off; null where it had not ended when it was last heard of.
    #[serde(rename = "log_off_us")]
    pub log_off: Option<Nanos>,
    /// Why it ended.
    pub end_cause: Option<SessionEnd>,
    /// User-Name.
    pub user: Option<String>,
    /// Calling-Station-Id, or hardware address of a lease.
    pub station: Option<String>,
    /// Called-Station-Id.
    pub called_station: Option<String>,
    /// Subscriber-ID of the relay agent.
    pub subscriber: Option<String>,
    /// Client identifier or DUID.
    pub client_id: Option<String>,
    /// NAS, or relay agent.
    pub nas: String,
    /// NAS-Identifier, or server of the lease.
    pub nas_identifier: Option<String>,
    /// NAS-Port.
    pub nas_port: Option<u32>,
    /// NAS-Port-Id.
    pub nas_port_id: Option<String>,
    /// Line, as the access node names it.
    pub circuit: Option<String>,
    /// Subscriber, as the access node names it.
    pub remote: Option<String>,
    /// 3GPP-IMSI.
    pub imsi: Option<String>,
    /// 3GPP-IMEISV.
    pub imeisv: Option<String>,
    /// What it had in the period.
    pub addresses: Vec<HeldNetwork>,
}

/// An address, a prefix, or a block of ports at a shared address.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct HeldNetwork {
    /// Address, or prefix with its length.
    pub network: String,
    /// First port of the block; null where all ports are the subscriber's.
    pub first_port: Option<u16>,
    /// Last port of the block.
    pub last_port: Option<u16>,
    /// From when on it had it.
    #[serde(rename = "from_us")]
    pub from: Nanos,
    /// Until when.
    #[serde(rename = "until_us")]
    pub until: Option<Nanos>,
}

impl AccessRow {
    pub(crate) fn new(session: Identity, found_by: Vec<&'static str>, period: &Range<Nanos>) -> Self {
        let held = session.addresses.into_iter().filter(|held| was_held_in(held, period));
        let addresses = held.map(|held| HeldNetwork {
            network: held.network,
            first_port: held.first_port,
            last_port: held.last_port,
            from: held.from,
            until: held.until,
        });
        Self {
            id: session.id,
            found_by,
            source: session.source,
            log_in: session.start,
            begun_by: session.begun_by,
            log_off: session.end,
            end_cause: session.end_cause,
            user: session.user,
            station: session.station,
            called_station: session.called_station,
            subscriber: session.subscriber,
            client_id: session.client_id,
            nas: session.nas,
            nas_identifier: session.nas_identifier,
            nas_port: session.nas_port,
            nas_port_id: session.nas_port_id,
            circuit: session.circuit,
            remote: session.remote,
            imsi: session.imsi,
            imeisv: session.imeisv,
            addresses: addresses.collect(),
        }
    }
}
