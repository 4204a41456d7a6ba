//! Media behind NAT, of which SDP has the ports but not the addresses.
//!
//! A description names an address that its packets do not have where the tap is: a telephone names the
//! private one that its NAT replaces, or a server behind a static NAT the public one. The signalling of that
//! side has the other address, and the port is often the same. That is little, so a stream is a call's only
//! where nothing announced it and the evidence is of one call alone: both its ends are of that kind, on
//! opposite sides; or one is a private address, which is one host's, and the other is where that side signals
//! from.

use std::net::{IpAddr, Ipv4Addr};

use ringtap_model::Endpoint;

use super::StreamTable;
use super::details::NONE;
use super::replicas::{FlowEnds, MAX_NATTED, NattedLeg};
use crate::update::Side;

/// Calls that are looked at under one endpoint; where there are more, none of them is taken.
const MOST_SEARCHED: usize = 8;

impl StreamTable {
    /// Enters where media of an endpoint are behind NAT, and returns that; None where nothing says so.
    pub(super) fn add_natted(&mut self, call: u32, announced: Endpoint, side: Side) -> Option<Endpoint> {
        let view = self.replicas.get_mut(call)?;
        let host = view.host(side);
        if is_private(host) == is_private(announced.ip) || view.natted.len() >= MAX_NATTED {
            return None;
        }
        let endpoint = Endpoint::new(host, announced.port);
        let number = self.endpoints.find(endpoint);
        if view.natted.iter().any(|leg| Some(leg.number) == number && leg.side == side) {
            return None;
        }
        let node = self.endpoints.add_natted(endpoint, call, side)?;
        let number = self.endpoints.number(node).unwrap_or(NONE);
        view.natted.push(NattedLeg { node, number, side, is_one_host: is_private(host) });
        Some(endpoint)
    }

    /// The one call in progress that explains a stream as media behind NAT; None where several do.
    pub(super) fn find_natted(&self, ends: &FlowEnds) -> Option<u32> {
        let mut found = None;
        for end in [ends.dst, ends.src] {
            for (index, call) in self.endpoints.natted(end).enumerate() {
                let view = self.replicas.get(call).filter(|view| !view.status.is_over);
                let explains = view.is_some_and(|view| view.natted_sender(ends).is_some());
                if index == MOST_SEARCHED || explains && found.is_some_and(|other| other != call) {
                    return None;
                }
                if explains {
                    found = Some(call);
                }
            }
        }
        found
    }
}

/// RFC 1918, RFC 6598 and RFC 4193.
fn is_private(ip: IpAddr) -> bool {
    const SHARED: u32 = Ipv4Addr::new(100, 64, 0, 0).to_bits();
    match ip {
        IpAddr::V4(ip) => ip.is_private() || ip.to_bits() & 0xffc0_0000 == SHARED,
        IpAddr::V6(ip) => ip.is_unique_local(),
    }
}
