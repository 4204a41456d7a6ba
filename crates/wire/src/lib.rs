//! Parsers that turn the bytes of a telephone network into views: link layers, tunnels, IP, UDP, TCP, SCTP,
//! RTP, RTCP, SIP, SDP, HEP, RADIUS, DHCP, PPPoE.
//!
//! Not here: state of any kind. The engine reassembles fragments and TCP segments.
//!
//! Invariant: no input makes a parser panic, loop or allocate. `parse` checks every length once; the
//! accessors after it cannot fail.
//!
//! ```
//! use ringtap_wire::frame::{Payload, decode, link};
//! use ringtap_wire::rtp;
//!
//! // A media packet of 20 ms of PCMU, captured with a snap length of 58 bytes.
//! let frame = [
//!     0x02, 0, 0, 0, 0, 2, 0x02, 0, 0, 0, 0, 1, 0x08, 0x00, // Ethernet
//!     0x45, 0xb8, 0, 200, 0, 1, 0x40, 0, 64, 17, 0, 0, 192, 0, 2, 1, 192, 0, 2, 2, // IPv4
//!     0x40, 0, 0x40, 2, 0, 180, 0, 0, // UDP 16384 to 16386
//!     0x80, 0, 0x12, 0x34, 0, 0, 0, 160, 0xde, 0xad, 0xbe, 0xef, // RTP
//!     0xff, 0x7f, 0xff, 0x7f,
//! ];
//! let packet = decode(link::ETHERNET, 214, &frame).expect("an IP packet");
//! let Payload::Udp(udp) = packet.payload else { panic!("not UDP") };
//! assert!(rtp::looks_like_rtp(udp.data));
//! let view = rtp::View::parse(udp.data, udp.len).expect("an RTP packet");
//! assert_eq!((view.payload_type(), view.sequence(), view.ssrc()), (0, 0x1234, 0xdead_beef));
//! // Four bytes were captured, the headers tell of 160.
//! assert_eq!((view.payload().len(), view.payload_len()), (4, 160));
//! ```
//!
//! | module | reads |
//! |---|---|
//! | [`frame`] | captured frames: link layers, tags, tunnels, IP, to UDP, TCP, SCTP or a fragment |
//! | [`rtp`] | media packets, telephone events |
//! | [`rtcp`] | reports on media, with the quality metrics that receivers measure |
//! | [`sip`] | signalling messages |
//! | [`sdp`] | session descriptions in their bodies: where media goes, and in which codecs |
//! | [`quality`] | quality reports in signalling: RFC 6035, and header fields of a BYE |
//! | [`websocket`] | the framing of SIP over WebSocket |
//! | [`stun`] | STUN, which shares ports with media, and media relayed by TURN |
//! | [`hep`] | messages from capture agents in proxies and switches |
//! | [`radius`] | who was let into a network, and which addresses it was given |
//! | [`dhcp`] | which addresses a server lends to a client, and where that client is attached |
//! | [`pppoe`] | who logs in on a line by PPP, and which addresses both sides agree on |
//! | [`neighbour`] | nothing: it tells frames by which hosts claim addresses, of ARP and IPv6 |
//! | [`unfollowed`] | nothing: it names protocols of telephony that no tracker follows |
#![forbid(unsafe_code)]

pub mod dhcp;
pub mod frame;
pub mod hep;
pub mod neighbour;
pub mod pppoe;
pub mod quality;
pub mod radius;
pub mod rtcp;
pub mod rtp;
pub mod sdp;
pub mod sip;
pub mod stun;
pub mod unfollowed;
pub mod websocket;
