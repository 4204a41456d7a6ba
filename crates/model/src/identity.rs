//! The record of a subscriber's session: who had which addresses, from RADIUS, DHCP, PPPoE or a file.

use crate::definition::{names, record};
use crate::{Id, Nanos};

names! {
    /// What tells of a session.
    pub enum SessionSource {
        /// A NAS and its server (RADIUS).
        Radius = "radius",
        /// A server of DHCPv4 that lent an address.
        Dhcpv4 = "dhcpv4",
        /// A server of DHCPv6 that lent an address or a prefix.
        Dhcpv6 = "dhcpv6",
        /// A file that names whose addresses are always the same.
        Static = "static",
        /// A client and an access concentrator that agree on addresses by PPP (PPPoE).
        Pppoe = "pppoe",
    }
}

impl SessionSource {
    /// Whether it is of a lease.
    pub const fn is_lease(self) -> bool {
        matches!(self, Self::Dhcpv4 | Self::Dhcpv6)
    }

    /// Whether sessions of both take addresses from each other. One line may have the same address by RADIUS,
    /// PPPoE and DHCP.
    pub const fn is_like(self, other: Self) -> bool {
        self.is_lease() && other.is_lease() || self as u8 == other as u8
    }
}

names! {
    /// What a session was first heard of by.
    pub enum SessionBegin {
        /// The server let the user in (Access-Accept), and no accounting followed.
        Accepted = "accepted",
        /// The NAS reported its start.
        Started = "started",
        /// An interim report: the session began before the capture, or its start was lost.
        Interim = "interim",
        /// The report of its end: nothing was heard of it before.
        Stopped = "stopped",
        /// A server of DHCP lent the address (DHCPACK, or Reply of DHCPv6).
        Leased = "leased",
        /// A file names it.
        Configured = "configured",
        /// The access concentrator acknowledged an address (Configure-Ack of IPCP or IPv6CP).
        Negotiated = "negotiated",
    }
}

names! {
    /// Why a session ended, or an address was no longer its user's.
    pub enum SessionEnd {
        /// The NAS reported the end.
        Stopped = "stopped",
        /// The server had the NAS end it (Disconnect-ACK).
        Disconnected = "disconnected",
        /// The NAS restarted, or went out of service (Accounting-On, Accounting-Off).
        NasRestarted = "nas_restarted",
        /// Another session got the address; of a session, the last one that it had.
        Reassigned = "reassigned",
        /// The NAS reported other addresses of the same kind, or took the address back; a server of DHCP took
        /// it back.
        Changed = "changed",
        /// The NAS, or the access concentrator, began another session under the same session id.
        Replaced = "replaced",
        /// Nothing was heard of the session for as long as a session may be silent; a lease was not renewed
        /// in its time.
        Expired = "expired",
        /// The client gave the address back (DHCPRELEASE, or Release of DHCPv6).
        Released = "released",
        /// The client found that another one uses the address (DHCPDECLINE, or Decline of DHCPv6).
        Declined = "declined",
        /// One side of PPP ended the session, and the other acknowledged it (Terminate-Ack), or PPPoE did
        /// (PADT).
        Terminated = "terminated",
    }
}

record! {
    /// An address, a prefix or a block of ports that a session had, and the packets that prove it.
    #[part]
    #[name = "held_address"]
    pub struct HeldAddress {
        /// Address, or prefix with its length in bits.
        pub network: String,
        /// First port of the block, where the address is shared; null where all ports are the user's.
        pub first_port: Option<u16>,
        /// Last port of the block.
        pub last_port: Option<u16>,
        /// Attribute that named it: of RADIUS; of DHCP `yiaddr`, `IA Address` or `IA Prefix`; of PPP
        /// `IP-Address` or `Interface-Identifier`; `static` of a file.
        pub attribute: String,
        /// Framed-Interface-Id, in hexadecimal digits: users who share the prefix of a link differ in it (RFC
        /// 3162 section 2.2).
        #[if_absent = default]
        pub interface_id: Option<String>,
        /// From when on the session had it.
        #[name = "from_us"]
        pub from: Nanos,
        /// Number of the frame that says so.
        pub from_frame: u64,
        /// Until when; null while it has it.
        #[name = "until_us"]
        pub until: Option<Nanos>,
        /// Number of the frame that says so; null where it is because nothing was heard.
        pub until_frame: Option<u64>,
        /// Why it no longer has it.
        pub end_cause: Option<SessionEnd>,
    }
}

record! {
    /// A subscriber's session, from RADIUS, PPPoE or a file, or the lease of one address or prefix, from
    /// DHCP: who it was, and which addresses it had when.
    #[name = "identity"]
    pub struct Identity {
        /// Derived from the NAS, the session id or the leased address, and the time and the frame it was
        /// first heard of.
        pub id: Id,
        /// First User-Name; of PPPoE, the name that PAP or CHAP confirmed.
        pub user: Option<String>,
        /// First Calling-Station-Id: number, MAC address or line; of a lease and of PPPoE, the client's
        /// hardware address.
        pub station: Option<String>,
        /// The NAS: NAS-IP-Address, else NAS-IPv6-Address, else NAS-Identifier, else the sender of its
        /// requests. Of a lease, the relay agent beside the client, else the server. Of PPPoE, the MAC
        /// address of the access concentrator. Of a file, its name and the line.
        pub nas: String,
        /// Acct-Session-Id; of PPPoE, its session id.
        pub session: Option<String>,
        /// Every IPv4 address and network that it had.
        pub ipv4: Vec<String>,
        /// Every IPv6 address and prefix that it had.
        pub ipv6_prefixes: Vec<String>,
        /// When it began: by the report of its start, or by how long it had lasted in the first report.
        #[name = "start_us"]
        pub start: Nanos,
        /// When it ended; null where it had not when the input ended.
        #[name = "end_us"]
        pub end: Option<Nanos>,
        /// Why it ended.
        pub end_cause: Option<SessionEnd>,
        /// Bytes from the user, by the last report.
        #[unit = Bytes]
        pub octets_in: Option<u64>,
        /// Bytes to the user, by the last report.
        #[unit = Bytes]
        pub octets_out: Option<u64>,
        /// What it was first heard of by.
        pub begun_by: SessionBegin,
        /// When a packet was first about it.
        #[name = "first_us"]
        pub first: Nanos,
        /// When a packet was last about it.
        #[name = "last_us"]
        pub last: Nanos,
        /// Acct-Interim-Interval: seconds between its reports, where the server asked for them.
        #[if_absent = default]
        pub interim_s: Option<u32>,
        /// Acct-Terminate-Cause of its end (RFC 2866 section 5.10).
        pub terminate_cause: Option<u32>,
        /// When it began by the NAS's clock (Event-Timestamp of its start).
        #[name = "nas_start_us"]
        pub nas_start: Option<Nanos>,
        /// Every User-Name, Calling-Station-Id and Chargeable-User-Identity that its packets named; of a
        /// lease, the client's hardware address, its identifier and the subscriber's; of PPPoE, `user`,
        /// `station`, `circuit` and `remote`.
        pub names: Vec<String>,
        /// Called-Station-Id.
        pub called_station: Option<String>,
        /// NAS-Identifier; of a lease, the server: its address, or its DUID in hexadecimal digits; of PPPoE,
        /// AC-Name.
        pub nas_identifier: Option<String>,
        /// NAS-Port.
        pub nas_port: Option<u32>,
        /// NAS-Port-Id; of PPPoE, the VLANs of its frames, the outermost first: `vlan 100.7`.
        pub nas_port_id: Option<String>,
        /// Line: Agent-Circuit-Id (RFC 4679); of DHCP, Agent Circuit ID (RFC 3046) or Interface-Id (RFC
        /// 8415); of PPPoE, Agent Circuit ID (TR-101). Other bytes than text are `0x` and hexadecimal digits.
        pub circuit: Option<String>,
        /// Subscriber as the access node names it: Agent-Remote-Id (RFC 4679); of DHCP and PPPoE, Agent
        /// Remote ID (RFC 3046, RFC 4649, TR-101), written as `circuit` is.
        pub remote: Option<String>,
        /// 3GPP-IMSI.
        pub imsi: Option<String>,
        /// 3GPP-IMEISV.
        pub imeisv: Option<String>,
        /// Acct-Multi-Session-Id.
        pub multi_session: Option<String>,
        /// Class, in hexadecimal digits.
        pub class: Option<String>,
        /// Each address with its time and its evidence.
        pub addresses: Vec<HeldAddress>,
        /// Packets about it, repeats included. Of one that a relay agent passed on, one of both counts.
        #[unit = Packets]
        pub packets: u32,
        /// Those of them that repeat one already seen.
        pub retransmissions: u32,
        /// Changes of its authorisation that the NAS acknowledged (CoA-ACK).
        pub changes: u32,
        /// What tells of it; null in records of versions that knew RADIUS alone.
        #[if_absent = default]
        pub source: Option<SessionSource>,
        /// Client identifier (RFC 2132 section 9.14) or DUID (RFC 8415 section 11), in hexadecimal digits.
        #[if_absent = default]
        pub client_id: Option<String>,
        /// Subscriber-ID that the relay agent adds (RFC 3993, RFC 4580), written as `circuit` is.
        #[if_absent = default]
        pub subscriber: Option<String>,
        /// Host Name that the client gives itself (RFC 2132 section 3.14).
        #[if_absent = default]
        pub hostname: Option<String>,
        /// When the lease ends unless it is renewed; null where it has no end.
        #[name = "expires_us"]
        #[if_absent = default]
        pub expires: Option<Nanos>,
    }
}
