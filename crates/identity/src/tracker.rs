//! Sessions as a tracker of the engine.

use ringtap_engine::{Context, Datagram, Sink, TcpFraming, TcpWants, Tracker, Wants};
use ringtap_model::Frame;
use ringtap_wire::radius::{looks_like_radius, total_len};

use crate::carried::Carried;
use crate::radsec::{self, is_record, record_len};
use crate::sessions::{RADIUS_PORTS, Sessions};

/// Emits an [`Identity`](ringtap_model::Identity) for each session that is over and, where its sessions note
/// changes, for each change; an [`Attempt`](crate::Attempt) for each of those that they note; and
/// [`Counts`](crate::Counts) at the end.
///
/// For one engine: of a team, workers would see the NAS's packets or the server's.
#[derive(Debug)]
pub struct IdentityTracker(Sessions);

impl IdentityTracker {
    /// Follows these sessions.
    pub fn new(sessions: Sessions) -> Self {
        Self(sessions)
    }

    /// The sessions.
    pub fn sessions(&mut self) -> &mut Sessions {
        &mut self.0
    }

    fn tell<S: Sink>(&mut self, cx: &mut Context<'_, S>) {
        self.0.take_attempts().iter().for_each(|attempt| cx.emit(attempt));
        self.0.take_changed(usize::MAX).iter().for_each(|identity| cx.emit(identity));
        self.0.take().iter().for_each(|identity| cx.emit(identity));
    }
}

impl Tracker for IdentityTracker {
    const WANTS: Wants =
        Wants { ports: &PORTS, sniff: Some(is_radius), pppoe: true, tcp: Some(TCP), ..Wants::NOTHING };

    fn datagram<S: Sink>(&mut self, datagram: &Datagram<'_>, cx: &mut Context<'_, S>) {
        let frame = datagram.frames.last().copied().unwrap_or_default();
        let Datagram { time, src, dst, .. } = *datagram;
        self.0.datagram(datagram.data, Carried { time, src, dst, frame });
        self.tell(cx);
    }

    fn pppoe<S: Sink>(&mut self, frame: &Frame<'_>, cx: &mut Context<'_, S>) {
        self.0.pppoe(frame.link.0, frame.data, frame.time, frame.number);
        self.tell(cx);
    }

    fn close<S: Sink>(&mut self, cx: &mut Context<'_, S>) {
        self.0.close().iter().for_each(|identity| cx.emit(identity));
        cx.emit(&self.0.counts());
    }
}

/// Whether a datagram is on a port of DHCP, and not on one of RADIUS or one of its packets by its content.
pub fn is_dhcp(datagram: &Datagram<'_>) -> bool {
    let on = |ports: &[u16]| ports.contains(&datagram.src.port) || ports.contains(&datagram.dst.port);
    on(&DHCP_PORTS) && !on(&RADIUS_PORTS) && !is_radius(datagram)
}

/// Whether a datagram is a RADIUS packet by its content.
pub fn is_radius(datagram: &Datagram<'_>) -> bool {
    looks_like_radius(datagram.data)
}

/// How packets of RADIUS follow each other over TCP (RFC 6613 section 2.6.4), and records over TLS.
fn framing(bytes: &[u8]) -> TcpFraming {
    if is_record(bytes) {
        return match record_len(bytes) {
            Some(len) if len > LONGEST_RECORD => TcpFraming::OutOfStep,
            Some(len) if len <= bytes.len() => TcpFraming::Message(len),
            _ => TcpFraming::Incomplete,
        };
    }
    // The beginning of one: no packet of RADIUS has such a code.
    if matches!(bytes, [20..=23] | [20..=23, 3]) {
        return TcpFraming::Incomplete;
    }
    match total_len(bytes) {
        Ok(Some(len)) if len > LONGEST => TcpFraming::OutOfStep,
        Ok(Some(len)) if len <= bytes.len() => TcpFraming::Message(len),
        Ok(_) => TcpFraming::Incomplete,
        Err(_) => TcpFraming::OutOfStep,
    }
}

/// RADIUS over TCP, on the ports of authentication, accounting and dynamic authorisation, and over TLS.
pub const TCP: TcpWants = TcpWants { ports: &[1812, 1813, 3799, radsec::PORT], framing };
/// Bytes of the longest record, header included (RFC 5246 section 6.2.3).
const LONGEST_RECORD: usize = 5 + (1 << 14) + 2048;
/// Bytes of the longest packet (RFC 2865 section 3).
const LONGEST: usize = 4_096;
const DHCP_PORTS: [u16; 4] = [67, 68, 546, 547];
/// Ports of all that is followed: of RADIUS ([`RADIUS_PORTS`]), of DHCPv4 and of DHCPv6.
pub const PORTS: [u16; 11] = [1812, 1813, 1645, 1646, 3799, 1700, 67, 68, 546, 547, radsec::PORT];
