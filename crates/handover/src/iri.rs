//! Intercept related information: what the target's sessions and calls did.

use std::net::IpAddr;

use ringtap_model::Nanos;

/// One event of a session or call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Iri {
    /// Its place in the session or call.
    pub kind: IriKind,
    /// When it took place.
    pub at: Nanos,
    /// What took place.
    pub event: IriEvent,
}

/// Whether an event begins, goes on with or ends a communication (TS 102 232-1 clause 5.2.10).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IriKind {
    /// The first of a communication.
    Begin,
    /// The last.
    End,
    /// Another between them.
    Continue,
    /// One outside of any communication.
    Report,
}

/// What took place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum IriEvent {
    /// To the target's internet access (IPIRI, TS 102 232-3).
    Access(Box<AccessIri>),
    /// A SIP message of the target (IPMMIRI, TS 102 232-5).
    Sip(SipIri),
}

/// An event of the target's internet access (IPIRIContents, TS 102 232-3 clause 8).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AccessIri {
    /// What happened.
    pub event: AccessEvent,
    /// Name that the target logs in with; empty where there is none.
    pub username: Vec<u8>,
    /// What the target connects by.
    pub access: AccessType,
    /// Every address and prefix that the target has, IPv4 and IPv6, in the order in which they were assigned.
    /// At most [`MOST_ADDRESSES`].
    pub addresses: Vec<TargetAddress>,
    /// MAC address or number that the target connects from: up to 20 characters, longer ones are cut.
    pub network_id: Option<String>,
    /// Equipment of the target, such as a relay agent's information: up to 128 characters.
    pub equipment_id: Option<String>,
    /// Where the target is: up to 64 characters.
    pub location: Option<String>,
    /// Where the target's traffic enters the network.
    pub pop: PointOfPresence,
    /// Number that the target is called back at: up to 20 characters.
    pub call_back: Option<String>,
    /// Start of the session or lease.
    pub start: Option<Nanos>,
    /// End of the session or lease.
    pub end: Option<Nanos>,
    /// When the session or lease is expected to end.
    pub expected_end: Option<Nanos>,
    /// Why it ended.
    pub end_reason: Option<EndReason>,
    /// Octets that the target received: RADIUS counts them as output.
    pub octets_received: Option<u64>,
    /// Octets that the target sent: RADIUS counts them as input.
    pub octets_sent: Option<u64>,
    /// The packet of the authentication server, as seen.
    pub raw: Option<Vec<u8>>,
    /// Who authenticates the target.
    pub authentication: Option<Authentication>,
}

impl AccessIri {
    /// An event of which only the mandatory fields are known.
    pub fn new(event: AccessEvent, username: &[u8], access: AccessType) -> Self {
        Self {
            event,
            username: username.to_vec(),
            access,
            addresses: Vec::new(),
            network_id: None,
            equipment_id: None,
            location: None,
            pop: PointOfPresence::default(),
            call_back: None,
            start: None,
            end: None,
            expected_end: None,
            end_reason: None,
            octets_received: None,
            octets_sent: None,
            raw: None,
            authentication: None,
        }
    }
}

/// What happened to the target's internet access (AccessEventType; sessionStart and sessionEnd are out of
/// use).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AccessEvent {
    /// The target asks for access.
    Attempt,
    /// Access is granted: the session begins.
    Accept,
    /// Access is refused.
    Reject,
    /// The attempt timed out, or failed otherwise.
    Failed,
    /// A report between begin and end.
    Interim,
    /// The warrant began while the session was there.
    StartWhileActive,
    /// The session ended.
    End,
    /// The warrant ended while the session was there.
    EndWhileActive,
    /// Something else.
    Unknown,
}

/// What the target connects by (InternetAccessType).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AccessType {
    /// It is not known.
    Undefined,
    /// Dial-up.
    DialUp,
    /// DSL.
    Dsl,
    /// Cable modem.
    Cable,
    /// LAN.
    Lan,
    /// Wireless LAN.
    WirelessLan,
    /// Fibre.
    Fibre,
    /// WiMAX or HIPERMAN.
    WiMax,
    /// Satellite.
    Satellite,
    /// Wireless, other.
    OtherWireless,
}

/// An address or a prefix of the target (IPAddress, TS 102 232-1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TargetAddress {
    /// The address, or the first of the prefix.
    pub ip: IpAddr,
    /// Length of the prefix in bits; 32 or 128 for one address.
    pub prefix: u8,
    /// How it was assigned.
    pub assignment: Assignment,
}

impl TargetAddress {
    /// One whole address.
    pub fn host(ip: IpAddr, assignment: Assignment) -> Self {
        let prefix = if ip.is_ipv4() { 32 } else { 128 };
        Self { ip, prefix, assignment }
    }
}

/// How an address was assigned (iP-assignment).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Assignment {
    /// It is always the target's.
    Static,
    /// For the time of the session.
    Dynamic,
    /// It is not known.
    NotKnown,
}

/// Where the target's traffic enters the network: what RADIUS calls the NAS.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PointOfPresence {
    /// NAS-Port.
    pub port: Option<u32>,
    /// NAS-Port-Id (RFC 2869 section 5.17), as RADIUS has it.
    pub port_id: Option<Vec<u8>>,
    /// NAS-Identifier.
    pub identifier: Option<String>,
    /// NAS-IP-Address or NAS-IPv6-Address.
    pub address: Option<IpAddr>,
    /// Called-Station-Id: number that the target dialled: up to 20 characters.
    pub phone: Option<String>,
}

/// Why a session ended (EndReason).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EndReason {
    /// It is not known.
    Undefined,
    /// The target logged off.
    RegularLogoff,
    /// The connection was lost.
    ConnectionLoss,
    /// The connection timed out.
    Timeout,
    /// The lease of the address expired.
    LeaseExpired,
}

impl EndReason {
    /// Of an Acct-Terminate-Cause (RFC 2866 section 5.10): 1 is a user's request, 4 and 5 are timeouts.
    pub fn of_terminate_cause(cause: u32) -> Self {
        match cause {
            1 => Self::RegularLogoff,
            4 | 5 => Self::Timeout,
            _ => Self::ConnectionLoss,
        }
    }
}

/// Who authenticates the target (AuthenticationType).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Authentication {
    /// It is not known.
    Unknown,
    /// Nobody: the address is always the target's.
    Static,
    /// RADIUS.
    Radius,
    /// DHCP.
    Dhcp,
    /// Diameter.
    Diameter,
}

/// A SIP message as it was on the wire (SIPMessage, TS 102 232-5 clause 5.3). The standard has no room
/// for ports.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SipIri {
    /// Who sent it.
    pub source: IpAddr,
    /// Whom it was sent to.
    pub destination: IpAddr,
    /// The message, from its start line to the end of its body.
    pub message: Vec<u8>,
}

/// Most addresses of a target in one PDU; further ones are left out.
pub const MOST_ADDRESSES: usize = 64;
