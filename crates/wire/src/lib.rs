//! Bytes of a telephone network turned into views: link layers, tunnels, IP, UDP, TCP, SCTP, RTP, RTCP, SIP, SDP, HEP.
//!
//! Not here: state of any kind. A fragment is a fragment, a TCP segment a segment; putting them together is the engine's.
//!
//! The one invariant: no input panics, loops or allocates. `parse` checks every length once, accessors after it cannot fail.
#![forbid(unsafe_code)]

pub mod frame;
pub mod hep;
pub mod rtcp;
pub mod rtp;
pub mod sdp;
pub mod sip;
pub mod stun;
pub mod websocket;
