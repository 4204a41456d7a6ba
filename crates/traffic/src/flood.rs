//! How much hostile traffic a scenario has, and of what kinds.

use std::fmt;
use std::str::FromStr;

use crate::cross::Rate;
use crate::error::Error;
use crate::share::Mix;

/// Rate and kinds of hostile traffic, which is made to fill the tables of a monitor or to cost it time.
///
/// It has the addresses of the calls, as behind a session border controller that forwards everything, but no
/// endpoint of theirs: a monitor that withstands it records the calls as without it.
#[derive(Clone, Debug, PartialEq)]
pub struct Flood {
    /// Mean rate.
    pub rate: Rate,
    /// Kinds, by share of the packets.
    pub kinds: Mix<FloodKind>,
}

/// The kind of a hostile packet. Written in lower case.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FloodKind {
    /// INVITEs that nobody answers, some with a Call-ID of a thousand bytes.
    Invite,
    /// Registrations of new addresses of record, accepted for 136 years.
    Register,
    /// MESSAGE requests that nobody answers.
    Message,
    /// INVITEs with as many invented codecs as fit.
    Codecs,
    /// RTP with a new SSRC every few packets.
    Ssrc,
    /// RTP flows whose addresses and ports have the same sums.
    Collision,
    /// IPv4 fragments of datagrams that never become complete, some with the farthest offset.
    Fragment,
    /// TCP connections to SIP's port with a gap behind which data pile up.
    Hole,
    /// TCP connections to SIP's port with one byte a segment and a header that does not end.
    Bytes,
    /// TCP connections to SIP's port that begin and end in one segment.
    SynFin,
    /// WebSocket connections with a frame of a terabyte.
    WebSocket,
    /// SCTP packets of hundreds of chunks.
    Chunks,
    /// Packets whose lengths are wrong: of IP, UDP, SIP bodies, RTP headers, RTCP reports.
    Lengths,
}

impl FloodKind {
    /// All kinds.
    pub const ALL: [Self; 13] = [
        Self::Invite,
        Self::Register,
        Self::Message,
        Self::Codecs,
        Self::Ssrc,
        Self::Collision,
        Self::Fragment,
        Self::Hole,
        Self::Bytes,
        Self::SynFin,
        Self::WebSocket,
        Self::Chunks,
        Self::Lengths,
    ];

    /// Its name on a command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Invite => "invite",
            Self::Register => "register",
            Self::Message => "message",
            Self::Codecs => "codecs",
            Self::Ssrc => "ssrc",
            Self::Collision => "collision",
            Self::Fragment => "fragment",
            Self::Hole => "hole",
            Self::Bytes => "bytes",
            Self::SynFin => "synfin",
            Self::WebSocket => "websocket",
            Self::Chunks => "chunks",
            Self::Lengths => "lengths",
        }
    }
}

impl fmt::Display for FloodKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for FloodKind {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let right = "invite, register, message, codecs, ssrc, collision, fragment, hole, bytes, synfin, \
                     websocket, chunks or lengths";
        let known = Self::ALL.into_iter().find(|kind| kind.name() == text);
        known.ok_or_else(|| Error::Model { given: text.to_owned(), right })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_kind_is_read_by_its_name_and_the_error_lists_all() {
        for kind in FloodKind::ALL {
            assert_eq!(kind.name().parse(), Ok(kind));
        }
        let error = "pings".parse::<FloodKind>().unwrap_err().to_string();
        assert!(FloodKind::ALL.iter().all(|kind| error.contains(kind.name())), "{error}");
    }
}
