//! What was counted while sessions were followed.

use crate::radsec::TlsCounts;

/// Figures of a [`Sessions`](crate::Sessions).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// RADIUS packets that were read. What follows of packets is of RADIUS, too.
    pub packets: u64,
    /// Packets on the ports of RADIUS that are none, or were cut by the capture.
    pub malformed: u64,
    /// Requests and answers that repeat one already seen.
    pub retransmissions: u64,
    /// Answers whose request was not seen.
    pub unpaired: u64,
    /// Requests without an answer.
    pub unanswered: u64,
    /// Access-Rejects.
    pub rejected: u64,
    /// Packets whose authenticators were made with their client's secret.
    pub right: u64,
    /// Packets whose authenticators were not. They changed no session.
    pub wrong: u64,
    /// Packets that could not be checked: no secret, no request, nothing to check.
    pub unchecked: u64,
    /// Accounting reports of a session that had already ended, and were older than its end.
    pub stale: u64,
    /// Addresses that another session got while their session had not ended.
    pub reassigned: u64,
    /// Sessions that gave way to others at the ceiling; their records are whole up to then.
    pub evicted: u64,
    /// Requests that gave way at the ceiling before they were answered.
    pub requests_evicted: u64,
    /// User-Names and station ids of one packet or session that were too many.
    pub names_dropped: u64,
    /// Attempts to log in that were not kept: nobody took those before them.
    pub attempts_dropped: u64,
    /// Addresses of one packet or session that were too many.
    pub addresses_dropped: u64,
    /// Of DHCP, where leases are followed.
    pub dhcp: DhcpCounts,
    /// Of PPPoE, where it is followed.
    pub pppoe: PppoeCounts,
    /// Of RADIUS over TLS, where there are keys.
    pub tls: TlsCounts,
}

/// Figures of the DHCP messages that were read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DhcpCounts {
    /// Messages that were read.
    pub messages: u64,
    /// Datagrams on the ports of DHCP that are no message of it, or were cut by the capture.
    pub malformed: u64,
    /// Messages that were seen before on the other side of a relay agent.
    pub relayed: u64,
    /// Messages that repeat one already seen.
    pub retransmissions: u64,
    /// Acknowledgements and replies whose request was not seen.
    pub unpaired: u64,
    /// Exchanges in which the client was not answered.
    pub unanswered: u64,
    /// DHCPNAKs, and replies of DHCPv6 that say why not.
    pub rejected: u64,
    /// Leases given, the renewals of them included.
    pub leases: u64,
    /// Releases and declines of addresses that the client did not have.
    pub stale: u64,
    /// Exchanges that gave way at the ceiling before they were answered.
    pub exchanges_evicted: u64,
}

/// Figures of the frames of PPPoE that carry no IP packet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PppoeCounts {
    /// Frames that were read.
    pub frames: u64,
    /// Frames that are none of it by their further bytes, or were cut by the capture.
    pub malformed: u64,
    /// Sessions that got an address.
    pub sessions: u64,
    /// Sessions that got none within a minute.
    pub unfinished: u64,
    /// Names and passwords that were refused, and sessions that the access concentrator did not open.
    pub rejected: u64,
    /// Acknowledged addresses of sessions that nothing is known of: whose they are is not said.
    pub unpaired: u64,
    /// Sessions that gave way at the ceiling before they had an address.
    pub links_evicted: u64,
}
