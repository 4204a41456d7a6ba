//! PPPoE discovery (RFC 2516), and the control protocols of PPP in its sessions: who logs in on which line,
//! and which addresses both sides agree on.
//!
//! [`View`] is a frame of either, with the tags of discovery; [`Control`] is a packet of LCP (RFC 1661), PAP
//! (RFC 1334), CHAP (RFC 1994), IPCP (RFC 1332) or IPv6CP (RFC 5072). Passwords and responses have no
//! accessor. Nothing is allocated.
//!
//! ```
//! use ringtap_wire::frame::link;
//! use ringtap_wire::pppoe::{View, is_control, protocol};
//!
//! let frame = [
//!     0x02, 0, 0, 0, 0, 2, 0x02, 0, 0, 0, 0, 1, 0x88, 0x64, // Ethernet II, PPPoE session
//!     0x11, 0, 0, 7, 0, 12, 0x80, 0x21, // session 7, twelve bytes, IPCP
//!     2, 1, 0, 10, 3, 6, 192, 0, 2, 9, // Configure-Ack of an IP-Address
//! ];
//! assert!(is_control(link::ETHERNET, &frame));
//! let view = View::parse(link::ETHERNET, &frame).expect("a whole frame");
//! let control = view.control().expect("a packet of PPP");
//! assert_eq!((view.session(), control.protocol), (7, protocol::IPCP));
//! assert_eq!(control.option(3), Some(&[192, 0, 2, 9][..]));
//! ```
//!
//! Read on Ethernet with its tags; not in other tunnels, nor of captures without Ethernet addresses.

mod control;
#[cfg(test)]
mod tests;
mod view;

pub use control::{Control, Options};
pub use view::{ParseError, Tags, View, Vlans, is_control};

/// Codes of discovery (RFC 2516 section 5); a frame of a session has 0.
pub mod code {
    #![expect(missing_docs, reason = "named as the RFC names them")]
    pub const SESSION: u8 = 0;
    pub const PADI: u8 = 0x09;
    pub const PADO: u8 = 0x07;
    pub const PADR: u8 = 0x19;
    pub const PADS: u8 = 0x65;
    pub const PADT: u8 = 0xa7;
}

/// Protocols of PPP whose packets are read.
pub mod protocol {
    #![expect(missing_docs, reason = "named as their RFCs name them")]
    pub const IPCP: u16 = 0x8021;
    pub const IPV6CP: u16 = 0x8057;
    pub const LCP: u16 = 0xc021;
    pub const PAP: u16 = 0xc023;
    pub const CHAP: u16 = 0xc223;
}

/// Codes of packets: of LCP and the protocols of the network phase (RFC 1661 section 5), of PAP (RFC 1334
/// section 2), of CHAP (RFC 1994 section 4).
pub mod packet {
    #![expect(missing_docs, reason = "named as their RFCs name them")]
    pub const CONFIGURE_REQUEST: u8 = 1;
    pub const CONFIGURE_ACK: u8 = 2;
    pub const CONFIGURE_NAK: u8 = 3;
    pub const TERMINATE_REQUEST: u8 = 5;
    pub const TERMINATE_ACK: u8 = 6;
    pub const PAP_REQUEST: u8 = 1;
    pub const PAP_ACK: u8 = 2;
    pub const PAP_NAK: u8 = 3;
    pub const CHAP_CHALLENGE: u8 = 1;
    pub const CHAP_RESPONSE: u8 = 2;
    pub const CHAP_SUCCESS: u8 = 3;
    pub const CHAP_FAILURE: u8 = 4;
}
