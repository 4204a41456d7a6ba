//! Who had the address of an end of a call.

use std::collections::BTreeSet;
use std::net::IpAddr;
use std::ops::Bound;

use ringtap_identity::Holders;
use ringtap_model::{Endpoint, Id, Identity, Nanos, Network, SessionSource};
use serde::Serialize;

/// A subscriber who had an address at the time of a call, with the equipment and the line.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct AddressHolder {
    /// The endpoint of the call whose address it is.
    pub endpoint: Endpoint,
    /// The session that had it.
    pub session: Id,
    /// What tells of the session.
    pub source: Option<SessionSource>,
    /// User-Name.
    pub user: Option<String>,
    /// Calling-Station-Id, or hardware address of a lease.
    pub station: Option<String>,
    /// Subscriber-ID of the relay agent.
    pub subscriber: Option<String>,
    /// NAS, or relay agent.
    pub nas: String,
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
    /// The address, the prefix or the shared address that was the session's.
    pub network: String,
    /// First port of its block, of a shared address.
    pub first_port: Option<u16>,
    /// Last port of its block.
    pub last_port: Option<u16>,
    /// From when on it had it.
    #[serde(rename = "from_us")]
    pub from: Nanos,
    /// Until when.
    #[serde(rename = "until_us")]
    pub until: Option<Nanos>,
}

/// Those who had an endpoint at that time: of the narrowest network first, of these the latest.
pub(crate) fn of_endpoint(endpoint: Endpoint, at: Nanos, holders: &Holders<'_>) -> Vec<AddressHolder> {
    let found = holders.find(endpoint.ip.to_canonical(), Some(endpoint.port), Some(at));
    let held = found.into_iter().take(MOST_HOLDERS).map(|holder| {
        let Identity { id, source, user, station, subscriber, nas, .. } = holder.identity.clone();
        let Identity { nas_port, nas_port_id, circuit, remote, imsi, imeisv, .. } = holder.identity.clone();
        AddressHolder {
            endpoint,
            session: id,
            source,
            user,
            station,
            subscriber,
            nas,
            nas_port,
            nas_port_id,
            circuit,
            remote,
            imsi,
            imeisv,
            network: holder.held.network.clone(),
            first_port: holder.held.first_port,
            last_port: holder.held.last_port,
            from: holder.held.from,
            until: holder.held.until,
        }
    });
    held.collect()
}

/// Addresses of calls, to know which sessions are needed to tell who had them.
#[derive(Default)]
pub(crate) struct AddressSet(BTreeSet<IpAddr>);

impl AddressSet {
    pub(crate) fn add(&mut self, address: IpAddr) {
        self.0.insert(address.to_canonical());
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether one of them is in a network.
    pub(crate) fn has_any_of(&self, network: Network) -> bool {
        let (first, last) = network.ends();
        self.0.range((Bound::Included(first), Bound::Included(last))).next().is_some()
    }
}

/// Of one endpoint: more would be records that contradict each other.
const MOST_HOLDERS: usize = 8;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_found_in_any_network_that_holds_it() {
        let mut set = AddressSet::default();
        assert!(set.is_empty());
        for address in ["203.0.113.7", "2001:db8:7::1", "::ffff:198.51.100.2"] {
            set.add(address.parse().unwrap());
        }
        let has = |network: &str| set.has_any_of(network.parse().unwrap());
        for network in ["203.0.113.7", "203.0.113.0/24", "0.0.0.0/0", "2001:db8:7::/48", "198.51.100.2/32"] {
            assert!(has(network), "{network}");
        }
        for network in ["203.0.113.8", "203.0.114.0/24", "2001:db8:8::/48", "2001:db8:7::2"] {
            assert!(!has(network), "{network}");
        }
    }
}
