//! DHCP: which addresses a server lends to a client, and where that client is attached (RFC 2131, RFC 8415).
//!
//! [`v4::View`] is a message of DHCPv4 with its options, those in the fields `file` and `sname` too;
//! [`v6::View`] is a message of DHCPv6 inside of the relay agents' messages that carry it. Nothing is
//! allocated.
//!
//! ```
//! use ringtap_wire::dhcp::v4::{View, code, kind};
//!
//! let mut message = [0; 247];
//! message[..3].copy_from_slice(&[2, 1, 6]); // BOOTREPLY, Ethernet
//! message[16..20].copy_from_slice(&[192, 0, 2, 9]); // yiaddr
//! message[236..].copy_from_slice(&[99, 130, 83, 99, 53, 1, 5, 12, 1, b'a', 255]);
//! let view = View::parse(&message).expect("a message with two options");
//! assert_eq!((view.kind(), view.yiaddr()), (kind::ACK, [192, 0, 2, 9].into()));
//! assert_eq!(view.find(code::HOST_NAME), Some(&b"a"[..]));
//! ```
//!
//! | module | reads |
//! |---|---|
//! | [`v4`] | messages of DHCPv4, options in all three fields, Relay Agent Information |
//! | [`v6`] | messages of DHCPv6, relays around them, identity associations, DUIDs |

#[cfg(test)]
mod tests;
pub mod v4;
pub mod v6;

/// Why bytes are not a DHCP message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ParseError {
    /// Shorter than the fixed fields.
    Truncated,
    /// Neither a request nor a reply; of DHCPv6, a message of no known type.
    UnknownType,
    /// The cookie before the options is another, or no option says which message it is: BOOTP.
    NotDhcp,
    /// An option ends behind the field that it is in.
    BadOption,
    /// More relays than [`v6::MOST_RELAYS`].
    TooDeep,
    /// A relay's message carries none.
    NoMessage,
}

/// A hardware address of six bytes on Ethernet; `None` where the type is another one (RFC 2131 section 2).
pub fn mac(hardware_type: u16, address: &[u8]) -> Option<[u8; 6]> {
    address.try_into().ok().filter(|_| hardware_type == ETHERNET)
}

/// Ethernet, in the list of hardware types of ARP.
const ETHERNET: u16 = 1;
