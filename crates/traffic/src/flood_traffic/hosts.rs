//! Where hostile packets come from and go to: the hosts of the calls.

use std::net::SocketAddr;

use crate::addresses::{SIP_PORT, Subnet};
use crate::frame::Head;
use crate::rng::Rng;

/// A caller's SIP endpoint, and a callee's: hosts that also have calls.
pub(super) fn sip_hosts(rng: &mut Rng) -> [SocketAddr; 2] {
    [Subnet::Callers, Subnet::Callees]
        .map(|subnet| SocketAddr::new(subnet.host(rng.next_u64() >> 8, false), SIP_PORT))
}

/// Endpoints of media at such hosts, on ports that no call uses.
pub(super) fn media_hosts(rng: &mut Rng) -> [SocketAddr; 2] {
    sip_hosts(rng).map(|host| SocketAddr::new(host.ip(), FIRST_PORT + 2 * rng.below(PORTS) as u16))
}

/// Headers from the first to the second.
pub(super) fn head([from, to]: [SocketAddr; 2]) -> Head {
    Head::new(from, to, None)
}

/// Calls have media below this port, registrations a source port above the last.
pub(super) const FIRST_PORT: u16 = 60_000;
const PORTS: u64 = 500;
