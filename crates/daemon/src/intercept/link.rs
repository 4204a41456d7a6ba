//! What a worker and the thread that intercepts share, and the worker's two sides of it.
//!
//! A worker passes on whole frames: those that carried signalling, which its tracker names, and those that
//! may be a target's, which its sink names. The rest of its frames it only remembers. It takes no lock,
//! allocates nothing for a frame and waits for nobody but in a replay, which has time.

use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering, fence};
use std::thread;
use std::time::Duration;

use ringtap_capture::live::BATCH;
use ringtap_engine::{Datagram, SipMessage, TargetSeen};
use ringtap_identity::is_dhcp;
use ringtap_intercept::{FrameHistory, FrameRing};
use ringtap_model::{Endpoint, Frame, LinkType, Nanos, Transport};
use ringtap_wire::frame::udp_datagram;

/// Between one worker and the thread.
#[derive(Debug)]
pub(crate) struct WorkerLink {
    pub(crate) ring: FrameRing,
    pub(crate) history: Option<FrameHistory>,
    /// Batches that the worker has begun, and those whose frames are in `ring` and `history`.
    begun: AtomicU64,
    done: AtomicU64,
    /// Batches after which the thread has looked: a replay waits for it.
    handled: AtomicU64,
    /// Time of its latest frame.
    now: AtomicU64,
    /// Up to when all of its frames have been passed on, as far as it knows.
    reached: AtomicU64,
    has_ended: AtomicBool,
}

impl WorkerLink {
    /// With memory of these sizes; `history` may be none. And whether the system keeps it in memory.
    pub(crate) fn new(ring: u64, history: u64) -> (Self, bool) {
        let mut ring = FrameRing::new(ring);
        let mut history = (history > 0).then(|| FrameHistory::new(history));
        let is_kept = ring.keep_in_memory() & history.as_mut().is_none_or(FrameHistory::keep_in_memory);
        let zero = || AtomicU64::new(0);
        let has_ended = AtomicBool::new(false);
        (
            Self {
                ring,
                history,
                begun: zero(),
                done: zero(),
                handled: zero(),
                now: zero(),
                reached: zero(),
                has_ended,
            },
            is_kept,
        )
    }

    /// Batches whose frames have been passed on.
    pub(crate) fn done(&self) -> u64 {
        self.done.load(Ordering::Acquire)
    }

    /// Batches that began before now. A change of the targets that was made before counts in all others.
    pub(crate) fn begun(&self) -> u64 {
        fence(Ordering::SeqCst);
        self.begun.load(Ordering::SeqCst)
    }

    pub(crate) fn handled(&self, batches: u64) {
        self.handled.store(batches, Ordering::Release);
    }

    pub(crate) fn now(&self) -> Nanos {
        Nanos(self.now.load(Ordering::Acquire))
    }

    /// Up to when all of its frames have been passed on: a worker that was held up comes with them later.
    pub(crate) fn reached(&self) -> Nanos {
        if self.has_ended() { Nanos::MAX } else { Nanos(self.reached.load(Ordering::Acquire)) }
    }

    pub(crate) fn has_ended(&self) -> bool {
        self.has_ended.load(Ordering::Acquire)
    }
}

/// The tracker's side: frames with signalling.
#[derive(Debug)]
pub(crate) struct SignallingFeed {
    link: Arc<WorkerLink>,
    /// Numbers of the frames of the batch in hand.
    numbers: Vec<u64>,
    /// A bit for each of them: it carried signalling.
    marks: [u64; BATCH / 64],
    follows: Follows,
}

/// What workers follow besides SIP and RADIUS, and how fast.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Follows {
    /// DHCP.
    pub(crate) leases: bool,
    pub(crate) pppoe: bool,
    pub(crate) is_replay: bool,
}

/// The sink's side: frames that may be a target's.
#[derive(Debug)]
pub(crate) struct PacketFeed {
    link: Arc<WorkerLink>,
    /// Their numbers, in order.
    wanted: Vec<u64>,
}

/// Both sides of a worker.
pub(crate) fn feeds(link: &Arc<WorkerLink>, follows: Follows) -> (SignallingFeed, PacketFeed) {
    let signalling = SignallingFeed {
        link: Arc::clone(link),
        numbers: Vec::with_capacity(BATCH),
        marks: [0; BATCH / 64],
        follows,
    };
    (signalling, PacketFeed { link: Arc::clone(link), wanted: Vec::with_capacity(BATCH) })
}

impl Drop for SignallingFeed {
    fn drop(&mut self) {
        self.link.has_ended.store(true, Ordering::Release);
    }
}

impl SignallingFeed {
    /// Before a batch.
    pub(crate) fn begin(&mut self, frames: &[Frame<'_>]) {
        self.numbers.clear();
        self.numbers.extend(frames.iter().take(BATCH).map(|frame| frame.number));
        self.link.begun.fetch_add(1, Ordering::SeqCst);
        // The targets are read after it: see `WorkerLink::begun`.
        fence(Ordering::SeqCst);
    }

    /// After it: passes on what was named.
    // HOT: a look at two bits for each frame, and a copy while frames are remembered.
    pub(crate) fn pass_on(&mut self, frames: &[Frame<'_>], packets: &mut PacketFeed) {
        let Self { link, numbers, marks, .. } = self;
        let mut wanted = packets.wanted.iter().peekable();
        let is_any = marks.iter().any(|bits| *bits != 0) || wanted.peek().is_some();
        for (at, frame) in frames.iter().enumerate() {
            let mut is_passed = false;
            if is_any {
                let is_signalling = marks.get(at / 64).is_some_and(|bits| bits >> (at % 64) & 1 == 1);
                let is_wanted = wanted.next_if(|number| **number == frame.number).is_some();
                is_passed = (is_signalling || is_wanted) && link.ring.push(frame, is_signalling);
            }
            if let Some(history) = &link.history {
                history.push(frame, is_passed);
            }
        }
        marks.fill(0);
        numbers.clear();
        packets.wanted.clear();
        if let Some(last) = frames.last() {
            link.now.fetch_max(last.time.0, Ordering::Release);
            link.reached.fetch_max(last.time.0, Ordering::Release);
        }
        let batch = link.done.fetch_add(1, Ordering::Release) + 1;
        if self.follows.is_replay && !frames.is_empty() {
            self.wait_for(batch);
        }
    }

    /// There was nothing left to take when the worker looked, after that time.
    pub(crate) fn idle(&self, since: Nanos) {
        self.link.reached.fetch_max(since.0, Ordering::Release);
    }

    fn wait_for(&self, batch: u64) {
        // The thread lets go of it when it ends.
        while self.link.handled.load(Ordering::Acquire) < batch && Arc::strong_count(&self.link) > 2 {
            thread::sleep(PAUSE);
        }
    }

    /// A datagram that is signalling.
    pub(crate) fn datagram(&mut self, datagram: &Datagram<'_>) {
        if !self.follows.leases && is_dhcp(datagram) {
            return;
        }
        let Datagram { time, src, dst, data, frames, .. } = *datagram;
        if !self.mark(frames) {
            self.pass_made((time, 0), (src, dst), data, frames);
        }
    }

    /// A message of RADIUS over TCP. Its segments say nothing without those before them: the thread has it as
    /// a datagram between the same ports.
    pub(crate) fn tcp_message(&mut self, message: &Datagram<'_>) {
        let Datagram { time, src, dst, data, frames, .. } = *message;
        self.pass_made((time, 0), (src, dst), data, frames);
    }

    /// A frame of PPPoE that is signalling: one of the batch in hand.
    pub(crate) fn pppoe(&mut self, frame: &Frame<'_>) {
        if self.follows.pppoe {
            self.mark(&[frame.number]);
        }
    }

    /// A SIP message.
    pub(crate) fn sip(&mut self, sip: &SipMessage<'_>) {
        let hop = sip.hop;
        // Segments of a connection say nothing without those before them.
        let is_datagram = matches!(hop.transport, Transport::Udp | Transport::Hep);
        if !(is_datagram && self.mark(sip.frames)) {
            self.pass_made((hop.time, hop.ip_id), (hop.src, hop.dst), sip.message.raw(), sip.frames);
        }
    }

    /// Marks the one frame that carried it, if it is in this batch.
    fn mark(&mut self, frames: &[u64]) -> bool {
        let [number] = frames else { return false };
        let Ok(at) = self.numbers.binary_search(number) else { return false };
        if let Some(bits) = self.marks.get_mut(at / 64) {
            *bits |= 1 << (at % 64);
        }
        true
    }

    /// Passes on what was carried in several frames, or came by way of another worker, in one of its own.
    #[cold]
    fn pass_made(
        &self,
        (time, ip_id): (Nanos, u16),
        (src, dst): (Endpoint, Endpoint),
        data: &[u8],
        frames: &[u64],
    ) {
        let Some(mut packet) = udp_datagram((src.ip, src.port), (dst.ip, dst.port), data) else {
            return self.link.ring.count_dropped();
        };
        if matches!(src.ip, IpAddr::V4(_)) {
            identify(&mut packet, ip_id);
        }
        pass_packet(&self.link, (time, frames), &packet, packet.len() as u32, true);
    }
}

impl PacketFeed {
    /// A packet that may be a target's.
    pub(crate) fn target(&mut self, seen: &TargetSeen<'_>) {
        match seen.frame {
            Some(frame) if self.wanted.last() == Some(&frame.number) => {}
            Some(frame) if self.wanted.len() < self.wanted.capacity() => self.wanted.push(frame.number),
            Some(_) => self.link.ring.count_dropped(),
            // Its frames were only fragments of the tunnel around it.
            None => pass_packet(&self.link, (seen.time, seen.frames), seen.packet, seen.ip.len, false),
        }
    }
}

/// Passes on an IP packet without the frame that it came in.
fn pass_packet(
    link: &WorkerLink,
    (time, frames): (Nanos, &[u64]),
    data: &[u8],
    wire_len: u32,
    is_signalling: bool,
) {
    let number = frames.last().copied().unwrap_or_default();
    link.ring.push(&Frame { time, number, link: RAW, wire_len, data }, is_signalling);
}

/// Gives an IPv4 packet with identification 0 another one, by which copies are known; its checksum stays
/// right (RFC 1624).
fn identify(packet: &mut [u8], ip_id: u16) {
    let Some(header) = packet.first_chunk_mut::<20>().filter(|header| header[4..6] == [0, 0]) else { return };
    let sum = u32::from(!u16::from_be_bytes([header[10], header[11]])) + u32::from(ip_id);
    let sum = !((sum & 0xffff) + (sum >> 16)) as u16;
    header[4..6].copy_from_slice(&ip_id.to_be_bytes());
    header[10..12].copy_from_slice(&sum.to_be_bytes());
}

/// LINKTYPE_RAW: begins with an IP header.
const RAW: LinkType = LinkType(101);
/// Between two looks of a replay at what the thread has done.
const PAUSE: Duration = Duration::from_micros(50);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_packet_keeps_a_right_checksum_with_its_identification() {
        let end = |port| (IpAddr::from([192, 0, 2, 1]), port);
        for ip_id in [0, 1, 0x1234, 0xffff] {
            let mut packet = udp_datagram(end(5060), end(5060), b"hello").unwrap_or_default();
            identify(&mut packet, ip_id);
            let words = packet[..20].chunks(2).map(|word| u32::from(u16::from_be_bytes([word[0], word[1]])));
            let sum: u32 = words.sum();
            assert_eq!((sum & 0xffff) + (sum >> 16), 0xffff, "{ip_id}");
            assert_eq!(packet[4..6], ip_id.to_be_bytes());
        }
    }
}
