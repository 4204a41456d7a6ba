//! Frames looked at ahead of time, so that the memory they need is in the cache when they are handled.

use std::net::Ipv4Addr;

use ringtap_model::{Endpoint, Frame, Nanos};
use ringtap_wire::frame::{self, Hosts, Udp};
use ringtap_wire::{rtcp, rtp, sip, stun, unfollowed};

use crate::context::Datagram;
use crate::input::tcp;
use crate::media::{Key, RtpPacket, StreamTable};
use crate::sink::Sink;
use crate::table::hash::Hasher;
use crate::table::index::NONE;
use crate::targets::TargetsView;
use crate::tracker::{Tracker, Wants};

/// Frames between decoding a frame, looking it up in the index, and handling it: enough for memory to answer,
/// few enough that all they fetched is still in the first-level cache, where each has eight lines.
const DEPTH: usize = 12;
/// Frames between fetching a frame's first cache lines and decoding it.
const AHEAD: usize = 8;
/// Frames in the ring.
const RING: usize = 32;

const _: () = assert!(2 * DEPTH < RING && RING.is_power_of_two());

/// What a frame seems to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FrameKind {
    /// Anything: decoded when it is handled.
    Any,
    /// RTP over UDP below usual headers.
    Rtp,
    /// A TCP segment that begins no signalling: ignored unless its connection is already tracked.
    TcpSegment,
    /// A UDP datagram of no protocol that the engine knows.
    UnknownUdp,
}

/// What is known about a frame before it is handled: one cache line.
#[derive(Clone, Copy)]
#[repr(align(64))]
pub(crate) struct PrefetchedFrame {
    /// RTP: key of its flow.
    pub(crate) key: Key,
    /// RTP and TCP: hash of its key.
    pub(crate) hash: u64,
    /// RTP: its first bytes, see [`rtp::View::head`].
    head: u64,
    payload_len: u32,
    ip_len: u32,
    /// Offsets of its payload in the frame.
    start: u32,
    end: u32,
    /// Its flow according to the index: to be verified.
    pub(crate) slot: u32,
    pub(crate) kind: FrameKind,
    /// It may be a target's: it is to be offered to a sink that wants those.
    is_offered: bool,
}

const _: () = assert!(size_of::<PrefetchedFrame>() == ringtap_cpu::LINE);

impl PrefetchedFrame {
    const EMPTY: Self = Self {
        key: Key::NONE,
        hash: 0,
        head: 0,
        payload_len: 0,
        ip_len: 0,
        start: 0,
        end: 0,
        slot: NONE,
        kind: FrameKind::Any,
        is_offered: false,
    };

    /// Enters RTP whose key is entered.
    #[inline(always)]
    fn enter(&mut self, frame: &Frame<'_>, view: &rtp::View<'_>, ip_len: u32, hasher: &Hasher) -> FrameKind {
        self.hash = self.key.hash(hasher);
        self.head = view.head();
        (self.payload_len, self.ip_len) = (view.payload_len() as u32, ip_len);
        let payload = view.payload();
        // An empty one need not lie in the frame.
        let start =
            if payload.is_empty() { 0 } else { payload.as_ptr() as usize - frame.data.as_ptr() as usize };
        (self.start, self.end) = (start as u32, (start + payload.len()) as u32);
        FrameKind::Rtp
    }

    /// The RTP packet.
    #[inline]
    pub(crate) fn packet(&self, now: Nanos) -> RtpPacket {
        RtpPacket::of(self.head, now, self.payload_len, self.ip_len)
    }

    /// Its captured payload.
    #[inline]
    pub(crate) fn payload<'a>(&self, frame: &Frame<'a>) -> &'a [u8] {
        frame.data.get(self.start as usize..self.end as usize).unwrap_or_default()
    }
}

/// The next frames of a batch, each at a stage of being prefetched.
pub(crate) struct PrefetchRing([PrefetchedFrame; RING]);

impl Default for PrefetchRing {
    fn default() -> Self {
        Self([PrefetchedFrame::EMPTY; RING])
    }
}

impl PrefetchRing {
    /// Prefetches the first frames of a batch.
    // Once a batch: kept apart, so that the loop over frames has the registers.
    #[inline(never)]
    pub(crate) fn begin<X: Tracker, S: Sink>(
        &mut self,
        frames: &[Frame<'_>],
        streams: &StreamTable,
        hasher: &Hasher,
        targets: Option<&TargetsView<'_>>,
    ) {
        frames.iter().take(AHEAD).for_each(fetch);
        for at in 0..2 * DEPTH {
            self.decode::<X, S>(frames, at, streams, hasher, targets);
        }
        for at in 0..DEPTH.min(frames.len()) {
            self.find(at, streams);
        }
    }

    /// Returns what is known about the frame at `index`, which is handled now, and prefetches for those after
    /// it. HOT.
    #[inline]
    pub(crate) fn step<X: Tracker, S: Sink>(
        &mut self,
        frames: &[Frame<'_>],
        index: usize,
        streams: &StreamTable,
        hasher: &Hasher,
        targets: Option<&TargetsView<'_>>,
    ) -> &PrefetchedFrame {
        self.decode::<X, S>(frames, index + 2 * DEPTH, streams, hasher, targets);
        // Past the last frame this repeats one of those before it: cheaper than a check.
        self.find(index + DEPTH, streams);
        &self.0[index % RING]
    }

    /// Before [`PrefetchRing::step`], for a sink that wants packets: prefetches the stream entries of the
    /// next packets.
    #[inline]
    pub(crate) fn prefetch_sink<S: Sink>(&self, index: usize, streams: &StreamTable, sink: &S) {
        let rtp = |at: usize| self.0.get(at % RING).filter(|entry| entry.kind == FrameKind::Rtp);
        // The last one that was looked up.
        if let Some(entry) = rtp(index + DEPTH - 1) {
            streams.prefetch_names(entry.slot);
        }
        if let Some(entry) = rtp(index + 2 * DEPTH / 3) {
            streams.prefetch_replica(entry.slot);
            sink.prefetch(entry.slot);
        }
        if let Some(entry) = rtp(index + DEPTH / 3) {
            sink.prefetch_further(entry.slot);
        }
    }

    /// Decodes and hashes a frame, and prefetches its index entry.
    // Inlined, since a call for each frame costs 7 % of the fast path.
    #[inline(always)]
    fn decode<X: Tracker, S: Sink>(
        &mut self,
        frames: &[Frame<'_>],
        at: usize,
        streams: &StreamTable,
        hasher: &Hasher,
        targets: Option<&TargetsView<'_>>,
    ) {
        let Some(frame) = frames.get(at) else { return };
        if let Some(ahead) = frames.get(at + AHEAD) {
            fetch(ahead);
        }
        let entry = &mut self.0[at % RING];
        entry.kind = decode::<X, S>(frame, entry, hasher, targets);
        if entry.kind == FrameKind::Rtp {
            streams.prefetch_index(entry.hash);
        }
    }

    /// Whether the frame at `index` may be a target's. HOT.
    #[inline]
    pub(crate) fn is_offered(&self, index: usize) -> bool {
        self.0[index % RING].is_offered
    }

    /// The targets have changed since the frames from `index` on were decoded: each may be one's.
    #[cold]
    pub(crate) fn offer_decoded(&mut self, index: usize) {
        (index..index + 2 * DEPTH).for_each(|at| self.0[at % RING].is_offered = true);
    }

    /// Looks up a frame's flow in the index, and prefetches it.
    #[inline]
    fn find(&mut self, at: usize, streams: &StreamTable) {
        let entry = &mut self.0[at % RING];
        if entry.kind == FrameKind::Rtp {
            entry.slot = streams.prefetch(entry.hash);
        }
    }
}

/// Prefetches the bytes of a frame that are read: its headers and the start of the payload, which may lie in
/// three lines.
#[inline]
fn fetch(frame: &Frame<'_>) {
    ringtap_cpu::prefetch_byte(frame.data, 0);
    ringtap_cpu::prefetch_byte(frame.data, ringtap_cpu::LINE);
    ringtap_cpu::prefetch_byte(frame.data, LAST_READ);
}

/// Offset of the last octet that is read of G.711 below plain headers: 54 octets of headers, 64 of sound.
const LAST_READ: usize = 117;

/// What a frame is, as far as its own bytes tell; RTP is entered into `entry`.
#[inline(always)]
fn decode<X: Tracker, S: Sink>(
    frame: &Frame<'_>,
    entry: &mut PrefetchedFrame,
    hasher: &Hasher,
    targets: Option<&TargetsView<'_>>,
) -> FrameKind {
    let Some(plain) = frame::plain_udp(frame.link.0, frame.data) else {
        return usual::<X, S>(frame, entry, hasher, targets);
    };
    // These carry no tunnel: what their one IP header says is all there is.
    if S::TARGETS
        && let Some(targets) = targets
    {
        let ports = Some((plain.udp.src_port, plain.udp.dst_port));
        entry.is_offered = targets.may_concern(Hosts::V4(plain.src, plain.dst), ports);
    }
    let Ok(view) = rtp::View::parse(plain.udp.data, plain.udp.len) else {
        return datagram::<X>(&plain.udp, frame);
    };
    entry.key = Key::v4(plain.src, plain.dst, (plain.udp.src_port, plain.udp.dst_port), view.ssrc());
    entry.enter(frame, &view, u32::from(plain.ip_len), hasher)
}

/// IPv6, two VLAN tags, captures of `any`: a function of its own, so that plain frames have the registers.
/// HOT.
#[inline(never)]
fn usual<X: Tracker, S: Sink>(
    frame: &Frame<'_>,
    entry: &mut PrefetchedFrame,
    hasher: &Hasher,
    targets: Option<&TargetsView<'_>>,
) -> FrameKind {
    let Some(usual) = frame::usual_udp(frame.link.0, frame.data) else {
        return segment::<X, S>(frame, entry, hasher, targets);
    };
    if S::TARGETS
        && let Some(targets) = targets
    {
        let ports = Some((usual.udp.src_port, usual.udp.dst_port));
        entry.is_offered = targets.may_concern(usual.hosts, ports);
    }
    let Ok(view) = rtp::View::parse(usual.udp.data, usual.udp.len) else { return FrameKind::Any };
    let (ports, ssrc) = ((usual.udp.src_port, usual.udp.dst_port), view.ssrc());
    entry.key = match usual.hosts {
        Hosts::V4(src, dst) => Key::v4(src, dst, ports, ssrc),
        Hosts::V6(src, dst) => Key::v6(src, dst, ports, ssrc, hasher),
    };
    entry.enter(frame, &view, usual.ip_len, hasher)
}

/// TCP over IPv4, which most packets are that are not media. HOT.
#[inline(never)]
fn segment<X: Tracker, S: Sink>(
    frame: &Frame<'_>,
    entry: &mut PrefetchedFrame,
    hasher: &Hasher,
    targets: Option<&TargetsView<'_>>,
) -> FrameKind {
    let tcp = frame::plain_tcp(frame.link.0, frame.data);
    if S::TARGETS
        && let Some(targets) = targets
    {
        let of_tcp = tcp.map(|tcp| targets.may_concern(Hosts::V4(tcp.src, tcp.dst), Some(tcp.ports)));
        entry.is_offered = of_tcp.unwrap_or_else(|| targets.may_be_in(frame));
    }
    let Some(tcp) = tcp else { return FrameKind::Any };
    let is_wanted = tcp::is_wanted(tcp.ports, tcp.flags, tcp.data)
        || X::WANTS.tcp.is_some_and(|added| added.is_on(tcp.ports));
    if is_wanted || unfollowed::of_tcp(tcp.ports, tcp.data).is_some() {
        return FrameKind::Any;
    }
    entry.hash = Key::v4(tcp.src, tcp.dst, tcp.ports, 0).hash(hasher);
    FrameKind::TcpSegment
}

/// UDP that is not RTP: the questions that classification asks too, those that most datagrams answer by their
/// first bytes.
#[inline(never)]
fn datagram<X: Tracker>(udp: &Udp<'_>, frame: &Frame<'_>) -> FrameKind {
    let data = udp.data;
    // What begins like a SIP method or version is examined when it is handled. All four bytes at once: of
    // content that is as good as random, no single one tells.
    if let Some(&[a, b, c, d]) = data.first_chunk::<4>()
        && [a, b, c].iter().fold(d.is_ascii_uppercase() | (d == b'/') | (d == b' '), |all, byte| {
            all & byte.is_ascii_uppercase()
        })
    {
        return FrameKind::Any;
    }
    let is_known = sip::sniff(data).is_some()
        || rtcp::looks_like_rtcp(data)
        || stun::relayed(data).is_some()
        || stun::is_stun(data)
        || data.starts_with(b"HEP3")
        || data.starts_with(b"EEP3")
        || unfollowed::of_udp((udp.src_port, udp.dst_port), data).is_some()
        || X::WANTS.any_datagram() && is_wanted(&X::WANTS, frame);
    if is_known { FrameKind::Any } else { FrameKind::UnknownUdp }
}

/// Whether an added tracker wants a datagram.
fn is_wanted(wants: &Wants, frame: &Frame<'_>) -> bool {
    let Some(plain) = frame::plain_udp(frame.link.0, frame.data) else { return true };
    let end = |ip: u32, port| Endpoint::new(Ipv4Addr::from_bits(ip).into(), port);
    wants.datagram(&Datagram {
        time: frame.time,
        src: end(plain.src, plain.udp.src_port),
        dst: end(plain.dst, plain.udp.dst_port),
        ip_len: u32::from(plain.ip_len),
        data: plain.udp.data,
        len: plain.udp.len,
        frames: &[frame.number],
    })
}

#[cfg(test)]
mod tests {
    use std::net::IpAddr;

    use ringtap_model::LinkType;

    use super::*;
    use crate::config::Config;
    use crate::engine::Engine;
    use crate::media::FlowKey;
    use crate::testing::{Records, at, end, ip, request, rtp, udp};

    const ETHERNET: [u8; 14] = [2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1, 8, 0];

    /// A keep-alive of SCCP.
    const SKINNY: [u8; 12] = [4, 0, 0, 0, 0x11, 0, 0, 0, 0, 0, 0, 0];

    /// Wants the ports of MGCP, and heartbeats.
    struct Added;

    impl Tracker for Added {
        const WANTS: Wants = Wants { ports: &[2427], sniff: Some(is_beat), ..Wants::NOTHING };
    }

    fn is_beat(datagram: &Datagram<'_>) -> bool {
        datagram.data.starts_with(b"BEAT")
    }

    /// What is counted of IPv4 packets, alone or in Ethernet.
    fn counted<X: Tracker>(added: X, is_ethernet: bool, packets: &[Vec<u8>]) -> Vec<(&'static str, u64)> {
        let config = Config { max_calls: 4, max_streams: 4, ..Config::default() };
        let mut engine = Engine::with_tracker(config, added);
        let (link, header) = if is_ethernet { (1, &ETHERNET[..]) } else { (101, &[][..]) };
        let datas: Vec<Vec<u8>> = packets.iter().map(|packet| [header, packet].concat()).collect();
        let frames: Vec<Frame<'_>> = (1..)
            .zip(&datas)
            .map(|(number, data)| {
                let (link, wire_len) = (LinkType(link), data.len() as u32);
                Frame { time: at(20 * number), number, link, wire_len, data }
            })
            .collect();
        engine.batch(&frames, &mut Records::default());
        let unfollowed = engine.counters().unfollowed().into_iter();
        let unfollowed = unfollowed.map(|(protocol, count)| (protocol.name(), count));
        engine.counters().kinds().into_iter().chain(unfollowed).filter(|(_, count)| *count > 0).collect()
    }

    /// In Ethernet they are decoded while they are prefetched, without a link layer when they are handled.
    #[test]
    fn a_prefetched_packet_is_counted_as_any_other() {
        let stun = [0, 1, 0, 0, 0x21, 0x12, 0xa4, 0x42, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12];
        let datagram = |payload: &[u8]| udp(end("192.0.2.1:7000"), end("198.51.100.1:7000"), payload);
        let tcp = [0, 1, 0, 2, 0, 0, 0, 1, 0, 0, 0, 1, 0x50, 0x10, 0, 0, 0, 0, 0, 0];
        let skinny =
            [&[0x07, 0xd0, 0, 2, 0, 0, 0, 1, 0, 0, 0, 1, 0x50, 0x18, 0, 0, 0, 0, 0, 0][..], &SKINNY].concat();
        for (packet, kind) in [(datagram(&[0, 0, 1, 0, 0, 0]), "t38"), (ip(6, &skinny), "sccp")] {
            for is_ethernet in [false, true] {
                let counts = counted((), is_ethernet, &vec![packet.clone(); 20]);
                assert_eq!(counts.last(), Some(&(kind, 20)), "in Ethernet: {is_ethernet}");
            }
        }
        for (packet, kind) in [
            (datagram(&request("OPTIONS", 1).bytes()), "sip"),
            (datagram(b"\x80\xc9\x00\x01\x00\x00\x00\x01"), "rtcp"),
            (datagram(&stun), "stun"),
            (datagram(b"HEP3\x00\x06"), "hep"),
            (datagram(b"EEP3\x00\x06"), "hep"),
            (datagram(b"anything else"), "udp_other"),
            (ip(6, &tcp), "tcp"),
            (ip(1, &[8, 0, 0, 0, 0, 1, 0, 1]), "icmp"),
        ] {
            for is_ethernet in [false, true] {
                let counts = counted((), is_ethernet, &vec![packet.clone(); 20]);
                assert_eq!(counts, [(kind, 20)], "in Ethernet: {is_ethernet}");
            }
        }
    }

    /// In Ethernet all but the first take the fast path.
    #[test]
    fn every_packet_of_a_stream_is_counted_once_on_either_path() {
        let packet = |number: u16| {
            let packet = rtp(8, number, u32::from(number) * 160, 1);
            udp(end("192.0.2.1:4000"), end("198.51.100.1:6000"), &packet)
        };
        let packets: Vec<Vec<u8>> = (0..40).map(packet).collect();
        for is_ethernet in [false, true] {
            assert_eq!(counted((), is_ethernet, &packets), [("rtp", 40)], "in Ethernet: {is_ethernet}");
        }
    }

    fn udp6(src: Endpoint, dst: Endpoint, payload: &[u8]) -> Vec<u8> {
        let length = (8 + payload.len() as u16).to_be_bytes();
        let mut packet = [&[0x60, 0, 0, 0][..], &length, &[17, 64]].concat();
        for end in [src, dst] {
            let IpAddr::V6(ip) = end.ip else { panic!("{} is no IPv6 address", end.ip) };
            packet.extend(ip.octets());
        }
        packet.extend([src.port.to_be_bytes(), dst.port.to_be_bytes(), length, [0, 0]].concat());
        packet.extend(payload);
        packet
    }

    /// IPv6, two VLAN tags and captures of `any` are decoded ahead as plain frames are.
    #[test]
    fn rtp_below_usual_headers_is_found_by_the_key_of_its_flow() {
        let hasher = Hasher::new(3);
        let cooked = [0, 0, 0, 1, 0, 6, 2, 0, 0, 0, 0, 1, 0, 0, 8, 0];
        let tagged = [&ETHERNET[..12], &[0x88, 0xa8, 0, 5, 0x81, 0, 0, 6, 8, 0]].concat();
        let ethernet6 = [&ETHERNET[..12], &[0x86, 0xdd]].concat();
        let (v4, v6) =
            (("192.0.2.1:4000", "198.51.100.1:6000"), ("[2001:db8::1]:4000", "[2001:db8::2]:6000"));
        let cases = [(1, &ETHERNET[..], v4), (1, &tagged, v4), (113, &cooked, v4), (1, &ethernet6, v6)];
        for (link, header, (src, dst)) in cases {
            let datagram = rtp(8, 7, 1120, 0x0102_0304);
            let packet = if src.starts_with('[') {
                udp6(end(src), end(dst), &datagram)
            } else {
                udp(end(src), end(dst), &datagram)
            };
            let data = [header, &packet].concat();
            let (link, wire_len) = (LinkType(link), data.len() as u32);
            let frame = Frame { time: at(0), number: 1, link, wire_len, data: &data };
            let mut entry = PrefetchedFrame::EMPTY;
            assert_eq!(
                decode::<(), Records>(&frame, &mut entry, &hasher, None),
                FrameKind::Rtp,
                "link {link:?}, {src}"
            );
            let flow = FlowKey { src: end(src), dst: end(dst), ssrc: 0x0102_0304 };
            assert_eq!(entry.key, Key::of(&flow, &hasher).0);
            assert_eq!(entry.hash, entry.key.hash(&hasher));
            assert_eq!(entry.ip_len as usize, packet.len());
            assert_eq!(entry.payload(&frame), &data[data.len() - entry.payload_len as usize..]);
            let packet = entry.packet(at(0));
            assert_eq!((packet.sequence, packet.timestamp, packet.payload_type), (7, 1120, 8));
        }
    }

    #[test]
    fn an_added_tracker_gets_the_datagrams_of_its_ports_and_of_its_content() {
        for (src, dst, payload, kind) in [
            ("192.0.2.1:2427", "198.51.100.1:7000", &b"AUEP 1 a"[..], "tracked"),
            ("192.0.2.1:7000", "198.51.100.1:2427", b"AUEP 1 a", "tracked"),
            ("192.0.2.1:7000", "198.51.100.1:7000", b"BEAT 1", "tracked"),
            ("192.0.2.1:7000", "198.51.100.1:7000", b"AUEP 1 a", "udp_other"),
        ] {
            for is_ethernet in [false, true] {
                let packets = vec![udp(end(src), end(dst), payload); 20];
                let counts = counted(Added, is_ethernet, &packets);
                assert_eq!(counts, [(kind, 20)], "{src} to {dst}, in Ethernet: {is_ethernet}");
            }
        }
    }
}
