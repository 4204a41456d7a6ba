//! From a frame to the tracker that handles it: decoding, reassembly, classification.

use ringtap_model::{Endpoint, Frame, Nanos, Transport};
use ringtap_wire::frame::{self, Ip, Packet, Payload, Sctp, Tcp, Udp};
use ringtap_wire::sip::{self, Message, Method, StartLine};
use ringtap_wire::{hep, neighbour, pppoe, quality, rtp, stun, unfollowed};

use crate::context::{Context, Datagram, Hop, SipMessage, SipVerdict};
use crate::engine::{Engine, context};
use crate::input::hep::unpacked;
use crate::input::tcp::{DeliveredMessage, MessageKind};
use crate::media::Arrival;
use crate::sink::{CallNumber, RtcpSeen, RtpSeen, Sink, SipSeen};
use crate::table::timers::TimerOwner;
use crate::tracker::Tracker;
use crate::trackers::Trackers;

/// TCP's header without options.
const TCP_HEADER: u32 = 20;
/// Calls that give way to one: several small ones to one that holds much.
const MAX_EVICTED: usize = 8;
/// HEP's protocol type of SIP.
const HEP_SIP: u8 = 1;

impl<X: Tracker> Engine<X> {
    /// Handles a frame regardless of the time.
    pub(crate) fn admit<S: Sink>(&mut self, frame: &Frame<'_>, sink: &mut S) {
        self.counters.frames += 1;
        self.counters.bytes += frame.data.len() as u64;
        self.slow_path(frame, sink);
    }

    /// Handles a frame that is not the next packet of a stream where nothing has changed.
    #[inline(never)]
    pub(crate) fn slow_path<S: Sink>(&mut self, frame: &Frame<'_>, sink: &mut S) {
        self.begin_frame(frame.number);
        match frame::decode(frame.link.0, frame.wire_len, frame.data) {
            Ok(packet) => {
                if X::WANTS.neighbours && matches!(packet.payload, Payload::Icmp) {
                    self.neighbour(frame, sink);
                }
                if X::WANTS.senders {
                    self.sender = Hop::sender_of(frame, &packet);
                }
                self.packet(&packet, frame.time, &[frame.number], sink);
                if X::WANTS.senders {
                    // What other workers pass on comes from elsewhere.
                    self.sender = None;
                }
            }
            Err(reason) => {
                self.counters.skipped[reason.index()] += 1;
                if X::WANTS.neighbours {
                    self.neighbour(frame, sink);
                }
                if X::WANTS.pppoe && pppoe::is_control(frame.link.0, frame.data) {
                    self.trackers.added.pppoe(frame, &mut context!(self, TimerOwner::Added, sink));
                }
            }
        }
    }

    /// Offers a frame to the tracker that follows who claims addresses.
    #[cold]
    fn neighbour<S: Sink>(&mut self, frame: &Frame<'_>, sink: &mut S) {
        if neighbour::is_claim(frame.link.0, frame.data) {
            self.trackers.added.neighbour(frame, &mut context!(self, TimerOwner::Added, sink));
        }
    }

    pub(crate) fn packet<S: Sink>(&mut self, packet: &Packet<'_>, time: Nanos, frames: &[u64], sink: &mut S) {
        match &packet.payload {
            Payload::Udp(udp) => self.udp(&packet.ip, udp, time, frames, sink),
            Payload::Tcp(tcp) => self.tcp(&packet.ip, tcp, time, frames, sink),
            Payload::Sctp(sctp) => self.sctp(&packet.ip, sctp, time, frames, sink),
            Payload::Fragment(fragment) => {
                self.counters.fragments += 1;
                let whole = self.fragments.push((&packet.ip, packet.depth), fragment, time, frames);
                let Some(whole) = whole else { return };
                if S::TARGETS {
                    let carried = (time, &whole.frames[..]);
                    self.targets.offer_reassembled((whole.ip, packet.depth), &whole.bytes, carried, sink);
                }
                match frame::decode_payload(whole.ip, packet.depth, &whole.bytes) {
                    Ok(packet) => {
                        self.sender = self.sender.filter(|_| packet.depth == 0);
                        self.packet(&packet, time, &whole.frames, sink);
                    }
                    Err(reason) => self.counters.skipped[reason.index()] += 1,
                }
            }
            Payload::Icmp => self.counters.icmp += 1,
            Payload::Other(protocol) => {
                self.counters.ip_other += 1;
                self.counters.count_unfollowed(unfollowed::of_ip(*protocol));
            }
        }
    }

    fn tcp<S: Sink>(&mut self, ip: &Ip, tcp: &Tcp<'_>, time: Nanos, frames: &[u64], sink: &mut S) {
        self.counters.tcp += 1;
        self.counters.count_unfollowed(unfollowed::of_tcp((tcp.src_port, tcp.dst_port), tcp.data));
        let src = Endpoint::new(ip.src, tcp.src_port);
        let dst = Endpoint::new(ip.dst, tcp.dst_port);
        let mut ready = Vec::new();
        self.tcp.push((src, dst), tcp, time, frames, &mut self.timers, |delivery| {
            ready.push(delivery.into_owned((src, dst)));
        });
        for DeliveredMessage { bytes, kind, hop, frames } in ready {
            self.tcp_message((ip.header_len, kind), &bytes, &hop, &frames, sink);
        }
    }

    /// A message out of a TCP connection: its packets have an IP header of that length.
    pub(crate) fn tcp_message<S: Sink>(
        &mut self,
        (ip_header, kind): (u32, MessageKind),
        bytes: &[u8],
        hop: &Hop,
        frames: &[u64],
        sink: &mut S,
    ) {
        match kind {
            MessageKind::Turn => self.turn(ip_header, bytes, hop, frames, sink),
            MessageKind::Sip => self.sip(bytes, hop, frames, sink),
            MessageKind::Added => {
                let Hop { src, dst, time, .. } = *hop;
                let ip_len = ip_header + TCP_HEADER + bytes.len() as u32;
                let message = Datagram { time, src, dst, ip_len, data: bytes, len: bytes.len(), frames };
                self.trackers.added.tcp_message(&message, &mut context!(self, TimerOwner::Added, sink));
            }
        }
    }

    fn sctp<S: Sink>(&mut self, ip: &Ip, sctp: &Sctp<'_>, time: Nanos, frames: &[u64], sink: &mut S) {
        self.counters.sctp += 1;
        let src = Endpoint::new(ip.src, sctp.src_port);
        let dst = Endpoint::new(ip.dst, sctp.dst_port);
        let hop = Hop { time, src, dst, transport: Transport::Sctp, ip_id: 0, sender: None };
        let mut ready = Vec::new();
        for chunk in sctp.data_chunks() {
            self.counters.count_unfollowed(unfollowed::of_sctp(chunk.ppid));
            self.sctp.push((src, dst), &chunk, frames, |message, frames| {
                ready.push((message.to_vec(), frames.to_vec()));
            });
        }
        for (message, frames) in ready {
            self.sip(&message, &hop, &frames, sink);
        }
    }

    // HOT: media first, by its first two bytes; then signalling; the rest is counted.
    fn udp<S: Sink>(&mut self, ip: &Ip, udp: &Udp<'_>, time: Nanos, frames: &[u64], sink: &mut S) {
        let src = Endpoint::new(ip.src, udp.src_port);
        let dst = Endpoint::new(ip.dst, udp.dst_port);
        let datagram = || Datagram { time, src, dst, ip_len: ip.len, data: udp.data, len: udp.len, frames };
        if rtp::looks_like_rtp(udp.data) && self.dispatch(&datagram(), sink) {
            return;
        }
        let hop = Hop { time, src, dst, transport: Transport::Udp, ip_id: ip.id, sender: self.sender };
        if let Some(start) = sip::sniff(udp.data) {
            self.sip(&udp.data[start..], &hop, frames, sink);
        } else if self.dispatch(&datagram(), sink) {
        } else if let Some(inner) = stun::relayed(udp.data) {
            self.relayed(ip.len, inner, &hop, frames, sink);
        } else if stun::is_stun(udp.data) {
            self.counters.stun += 1;
        } else if udp.data.starts_with(b"HEP3") || udp.data.starts_with(b"EEP3") {
            self.hep(udp.data, &hop, frames, sink);
        } else {
            self.counters.udp_other += 1;
            self.counters.count_unfollowed(unfollowed::of_udp((src.port, dst.port), udp.data));
        }
    }

    /// Has the tracker that wants a datagram handle it; false when none does.
    #[inline]
    fn dispatch<S: Sink>(&mut self, datagram: &Datagram<'_>, sink: &mut S) -> bool {
        let Some(owner) = Trackers::<X>::owner_of(datagram) else { return false };
        Trackers::<X>::count(owner, &mut self.counters);
        if !self.share(owner, datagram) {
            self.datagram(owner, datagram, true, sink);
        }
        true
    }

    /// Has a tracker handle a datagram. `is_original`: not a copy that another worker sent. HOT.
    #[inline]
    pub(crate) fn datagram<S: Sink>(
        &mut self,
        owner: TimerOwner,
        datagram: &Datagram<'_>,
        is_original: bool,
        sink: &mut S,
    ) {
        let mut cx = context!(self, owner, sink);
        self.trackers.datagram(datagram, &mut cx);
        self.order = cx.order;
        if S::INTERVALS
            && owner == TimerOwner::Streams
            && let Some(ended) = self.streams.take_ended_interval()
            && sink.wants_intervals()
        {
            let seen = self.streams.interval_seen(ended, datagram.time, &self.receivers);
            seen.iter().for_each(|seen| sink.interval(seen));
        }
        if X::WANTS.lost_times
            && owner == TimerOwner::Streams
            && let Some(lost) = self.streams.take_lost_time()
        {
            self.trackers.added.lost_time(&lost);
        }
        match owner {
            TimerOwner::Streams if S::PACKETS || X::WANTS.media => self.rtp_seen(datagram, sink),
            TimerOwner::Rtcp if S::PACKETS && is_original => self.rtcp_seen(datagram, sink),
            _ => {}
        }
    }

    /// Reports the RTP packet that the stream tracker has just accepted.
    fn rtp_seen<S: Sink>(&mut self, datagram: &Datagram<'_>, sink: &mut S) {
        let Some(accepted) = self.trackers.streams.accepted else { return };
        let Ok(view) = rtp::View::parse(datagram.data, datagram.len) else { return };
        let seen = RtpSeen {
            time: datagram.time,
            frames: datagram.frames,
            serial: accepted.serial,
            stream_slot: accepted.slot,
            src: datagram.src,
            dst: datagram.dst,
            ssrc: view.ssrc(),
            payload_type: view.payload_type(),
            sequence: view.sequence(),
            timestamp: view.timestamp(),
            payload: view.payload(),
            duplicate: accepted.arrival == Arrival::Duplicate,
            call: self.streams.call_of(accepted.slot).map(CallNumber),
            packet: Some(datagram.data),
        };
        self.deliver_rtp(&seen, sink);
    }

    /// Reports an RTCP datagram of a known stream.
    fn rtcp_seen<S: Sink>(&self, datagram: &Datagram<'_>, sink: &mut S) {
        let Datagram { src, dst, time, data, frames, .. } = *datagram;
        let Some(slot) = self.streams.of_rtcp(src, dst, data) else { return };
        let ends = self.streams.ends(slot);
        sink.rtcp(&RtcpSeen {
            time,
            frames,
            src,
            dst,
            data,
            serial: self.streams.serial(slot),
            stream: (ends.src, ends.dst, ends.ssrc),
            call: self.streams.call_of(slot).map(CallNumber),
        });
    }

    /// A TURN message over TCP; a segment may hold several, so each counts as a packet of its own.
    #[cold]
    fn turn<S: Sink>(&mut self, ip_header: u32, message: &[u8], hop: &Hop, frames: &[u64], sink: &mut S) {
        let ip_len = ip_header + TCP_HEADER + message.len() as u32;
        match stun::relayed(message) {
            Some(inner) => self.relayed(ip_len, inner, hop, frames, sink),
            None => self.counters.stun += 1,
        }
    }

    /// Media inside TURN (RFC 8656): the stream is the one between client and relay.
    #[cold]
    fn relayed<S: Sink>(&mut self, ip_len: u32, inner: &[u8], hop: &Hop, frames: &[u64], sink: &mut S) {
        let Hop { src, dst, time, .. } = *hop;
        let datagram = Datagram { time, src, dst, ip_len, data: inner, len: inner.len(), frames };
        if !self.dispatch(&datagram, sink) {
            self.counters.stun += 1;
        }
    }

    /// A message that an agent mirrored, with the addresses it saw.
    #[cold]
    fn hep<S: Sink>(&mut self, data: &[u8], hop: &Hop, frames: &[u64], sink: &mut S) {
        self.counters.hep += 1;
        let Some(view) = hep::View::parse(data).ok().filter(|view| view.src().is_some()) else {
            self.counters.hep_bad += 1;
            return;
        };
        let (Some(src), Some(dst)) = (view.src(), view.dst()) else { return };
        if view.proto_type() != HEP_SIP {
            return;
        }
        let Some(payload) = unpacked(&view) else {
            self.counters.hep_bad += 1;
            return;
        };
        let mirrored = Hop {
            src: Endpoint::new(src, view.src_port()),
            dst: Endpoint::new(dst, view.dst_port()),
            transport: Transport::Hep,
            ip_id: 0,
            sender: None,
            ..*hop
        };
        if let Some(start) = sip::sniff(&payload) {
            self.sip(&payload[start..], &mirrored, frames, sink);
        }
    }

    /// Handles the bytes of a SIP message; those of a Call-ID that another worker owns go there.
    pub(crate) fn sip<S: Sink>(&mut self, bytes: &[u8], hop: &Hop, frames: &[u64], sink: &mut S) {
        if Message::parse_with(bytes, |message| self.message(bytes, message, hop, frames, sink)).is_err() {
            self.counters.sip_bad += 1;
        }
    }

    /// Not inlined: among the code for datagrams it would cost every media packet instructions.
    #[inline(never)]
    fn message<S: Sink>(
        &mut self,
        bytes: &[u8],
        message: &Message<'_>,
        hop: &Hop,
        frames: &[u64],
        sink: &mut S,
    ) {
        self.counters.sip += 1;
        let Some(call_id) = message.call_id().filter(|call_id| !call_id.is_empty()) else {
            self.counters.sip_without_call_id += 1;
            return;
        };
        self.order.index += 1;
        let owning = owning_call_id(message, call_id);
        let hash = self.hasher.of(owning);
        if !self.forward_sip(hash, false, bytes, hop, frames) {
            self.handle_sip(message, (owning, hash), hop, frames, sink);
        }
        if owning != call_id {
            self.report_transaction(bytes, message, call_id, hop, frames, sink);
        }
    }

    /// A quality report under its own Call-ID: its answer comes to the worker that owns that.
    #[cold]
    fn report_transaction<S: Sink>(
        &mut self,
        bytes: &[u8],
        message: &Message<'_>,
        call_id: &[u8],
        hop: &Hop,
        frames: &[u64],
        sink: &mut S,
    ) {
        self.order.index += 1;
        let hash = self.hasher.of(call_id);
        if !self.forward_sip(hash, true, bytes, hop, frames) {
            self.handle_transaction(message, (call_id, hash), hop, frames, sink);
        }
    }

    /// Handles a SIP message whose own Call-ID this worker owns, as a transaction outside of calls alone.
    #[cold]
    pub(crate) fn handle_transaction<S: Sink>(
        &mut self,
        message: &Message<'_>,
        (call_id, hash): (&[u8], u64),
        hop: &Hop,
        frames: &[u64],
        sink: &mut S,
    ) {
        let (cseq, method) = (message.cseq(), message.method());
        let sip = SipMessage { message, call_id, cseq, method, hop, frames, hash };
        let mut cx = context!(self, TimerOwner::Transactions, &mut *sink);
        self.trackers.transactions.sip(&sip, &mut cx);
    }

    /// Calls give way to one that an INVITE may begin.
    #[cold]
    fn make_room<S: Sink>(&mut self, call_id: (&[u8], u64), hop: &Hop, sink: &mut S) {
        for _ in 0..MAX_EVICTED {
            let (now, drops) = (self.clock.now(), self.drops());
            let Self { trackers, counters, streams, .. } = self;
            let spare = &streams.memory.spare;
            let ended = trackers.calls.make_room(call_id, hop, (now, drops), (counters, spare));
            let Some(ended) = ended else { return };
            self.end_call(ended, now, sink);
        }
    }

    /// Handles a SIP message whose Call-ID this worker owns.
    pub(crate) fn handle_sip<S: Sink>(
        &mut self,
        message: &Message<'_>,
        (call_id, hash): (&[u8], u64),
        hop: &Hop,
        frames: &[u64],
        sink: &mut S,
    ) {
        self.trackers.calls.prefetch_index(hash);
        if self.trackers.calls.is_crowded() && is_invite(message) {
            self.make_room((call_id, hash), hop, sink);
        }
        let cseq = message.cseq();
        let method = match (message.start(), cseq) {
            (StartLine::Response { .. }, Some((_, method))) => method,
            _ => message.method(),
        };
        let sip = SipMessage { message, call_id, cseq, method, hop, frames, hash };
        let mut cx = context!(self, TimerOwner::Calls, &mut *sink);
        self.trackers.sip(&sip, &mut cx);
        let SipVerdict { call, is_retransmission, is_mirrored } = cx.verdict;
        self.serve_requests(sink);
        if S::PACKETS {
            sink.sip(&SipSeen {
                time: hop.time,
                frames,
                src: hop.src,
                dst: hop.dst,
                transport: hop.transport,
                message,
                retransmission: is_retransmission,
                mirrored: is_mirrored,
                call: call.map(CallNumber),
            });
        }
    }
}

fn is_invite(message: &Message<'_>) -> bool {
    matches!(message.start(), StartLine::Request { method: Method::Invite, .. })
}

/// The Call-ID by which a worker owns a message: its own, or that of the call which a quality report is
/// about.
pub(crate) fn owning_call_id<'a>(message: &Message<'a>, own: &'a [u8]) -> &'a [u8] {
    match message.method() {
        Method::Publish | Method::Notify => quality::call_id(message).unwrap_or(own),
        _ => own,
    }
}

#[cfg(test)]
mod tests {
    use ringtap_wire::unfollowed::Unfollowed;

    use super::*;
    use crate::testing::{CALLEE, CALLER, Tap, fragment, ip, request, response};

    /// What of the counters is not zero, frames and bytes aside.
    fn counted(tap: &Tap) -> Vec<(&'static str, u64)> {
        tap.engine.counters().kinds().into_iter().filter(|(_, count)| *count > 0).collect()
    }

    #[test]
    fn every_packet_is_counted_once_by_its_kind() {
        let sctp = [&[0x13, 0xc4, 0x13, 0xc4, 0, 0, 0, 1, 0, 0, 0, 0][..], &[11, 0, 0, 4]].concat();
        let tcp = [0, 1, 0, 2, 0, 0, 0, 1, 0, 0, 0, 1, 0x50, 0x10, 0, 0, 0, 0, 0, 0];
        for (protocol, payload, kind) in [
            (1, &[8, 0, 0, 0, 0, 1, 0, 1][..], "icmp"),
            (50, &[1, 2, 3, 4, 5, 6, 7, 8], "ip_other"),
            (132, &sctp, "sctp"),
            (6, &tcp, "tcp"),
        ] {
            let mut tap = Tap::new();
            for millis in 0..3 {
                tap.packet(millis, &ip(protocol, payload));
            }
            assert_eq!(counted(&tap), [(kind, 3)]);
        }
        let mut tap = Tap::new();
        tap.packet(0, &[0x45, 0]);
        assert_eq!(counted(&tap), [("not_ip", 1)]);
    }

    #[test]
    fn datagrams_are_classified_by_their_content() {
        let stun = [0, 1, 0, 0, 0x21, 0x12, 0xa4, 0x42, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12];
        for (payload, kind) in [
            (&request("OPTIONS", 1).bytes()[..], "sip"),
            (&stun, "stun"),
            (b"HEP3\x00\x06", "hep"),
            (b"\x80\xc9\x00\x01\x00\x00\x00\x01", "rtcp"),
            (b"anything else", "udp_other"),
        ] {
            let mut tap = Tap::new();
            tap.udp(0, "192.0.2.1:7000", "198.51.100.1:7000", payload);
            assert_eq!(counted(&tap), [(kind, 1)]);
            assert_eq!(tap.engine.counters().unfollowed.iter().sum::<u64>(), 0);
        }
        let mut tap = Tap::new();
        tap.udp(0, "192.0.2.1:2427", "198.51.100.1:2427", b"200 1203 OK\n");
        assert_eq!(counted(&tap), [("udp_other", 1)]);
        assert_eq!(tap.engine.counters().unfollowed[Unfollowed::Mgcp as usize], 1);
    }

    /// An OPTIONS by `zlib.compress(message, 9)` of Python 3.11; in gzip its middle is the same.
    const PACKED: [u8; 81] = [
        0x78, 0xda, 0xf3, 0x0f, 0x08, 0xf1, 0xf4, 0xf7, 0x0b, 0x56, 0x28, 0xce, 0x2c, 0xb0, 0x4a, 0xca, 0x4f,
        0x72, 0x48, 0xad, 0x48, 0xcc, 0x2d, 0xc8, 0x49, 0xd5, 0x4b, 0xce, 0xcf, 0x55, 0x08, 0xf6, 0x0c, 0xd0,
        0x37, 0xd2, 0x33, 0xe0, 0xe5, 0x72, 0x4e, 0xcc, 0xc9, 0xd1, 0xf5, 0x74, 0xb1, 0x52, 0x28, 0x48, 0x4c,
        0xce, 0x4e, 0x4d, 0x01, 0x0a, 0xe4, 0xe7, 0x95, 0xa4, 0xe6, 0x95, 0xe8, 0xfa, 0xa4, 0xe6, 0xa5, 0x97,
        0x64, 0x58, 0x29, 0x00, 0xd5, 0xf0, 0x72, 0x01, 0x00, 0x8d, 0xed, 0x16, 0xb2,
    ];

    #[test]
    fn compressed_payload_is_unpacked_and_what_cannot_be_is_counted() {
        let gzip = |flags: u8| {
            let deflated = &PACKED[2..PACKED.len() - 4];
            [&[0x1f, 0x8b, 8, flags, 0, 0, 0, 0, 2, 255][..], deflated, &[0; 8]].concat()
        };
        let bomb = miniz_oxide::deflate::compress_to_vec_zlib(&vec![b'x'; sip::MAX_MESSAGE + 1], 9);
        for (payload, sip, bad) in [
            (PACKED.to_vec(), 1, 0),
            (gzip(0), 1, 0),
            (gzip(8), 0, 1),
            (PACKED[..40].to_vec(), 0, 1),
            (bomb, 0, 1),
            (b"\x28\xb5\x2f\xfd".to_vec(), 0, 1),
        ] {
            let mut chunks = Vec::new();
            for (kind, value) in [(3u16, &[10, 0, 0, 1][..]), (4, &[10, 0, 0, 2]), (11, &[1]), (16, &payload)]
            {
                chunks.extend([0, 0]);
                chunks.extend(kind.to_be_bytes());
                chunks.extend((6 + value.len() as u16).to_be_bytes());
                chunks.extend(value);
            }
            let mut tap = Tap::new();
            let packet = [b"HEP3", &(6 + chunks.len() as u16).to_be_bytes()[..], &chunks].concat();
            tap.udp(0, "192.0.2.1:7000", "198.51.100.1:9060", &packet);
            let counters = tap.engine.counters();
            assert_eq!(
                (counters.hep, counters.sip, counters.hep_bad),
                (1, sip, bad),
                "{} bytes",
                payload.len()
            );
        }
    }

    /// HEP version 3: each chunk is vendor, type and length, then its value.
    #[test]
    fn a_mirrored_message_has_the_addresses_that_its_agent_saw() {
        let mut chunks = Vec::new();
        for (kind, value) in [
            (1u16, &[2][..]),
            (2, &[17]),
            (3, &[10, 0, 0, 1]),
            (4, &[10, 0, 0, 2]),
            (7, &[0x13, 0xc5]),
            (8, &[0x13, 0xc6]),
            (11, &[1]),
            (15, &request("INVITE", 1).bytes()),
        ] {
            chunks.extend([0, 0]);
            chunks.extend(kind.to_be_bytes());
            chunks.extend((6 + value.len() as u16).to_be_bytes());
            chunks.extend(value);
        }
        let hep = [&b"HEP3"[..], &(6 + chunks.len() as u16).to_be_bytes(), &chunks].concat();
        let mut tap = Tap::new();
        tap.udp(0, "192.0.2.1:9060", "198.51.100.1:9060", &hep);
        assert_eq!(counted(&tap), [("sip", 1), ("hep", 1)]);
        let (call, _) = tap.call();
        assert_eq!(
            (call.src.to_string(), call.dst.to_string()),
            ("10.0.0.1:5061".into(), "10.0.0.2:5062".into())
        );
        assert_eq!(call.transport, Transport::Hep);
    }

    #[test]
    fn a_message_in_two_fragments_is_handled_with_the_second() {
        let mut tap = Tap::new();
        let invite = request("INVITE", 1).bytes();
        let mut datagram = vec![0x13, 0xc4, 0x13, 0xc4];
        datagram.extend((8 + invite.len() as u16).to_be_bytes());
        datagram.extend([0, 0]);
        datagram.extend(&invite);
        tap.packet(0, &fragment(17, 7, 0, true, &datagram[..160]));
        assert_eq!(tap.engine.under_way().0, 0);
        tap.packet(5, &fragment(17, 7, 160, false, &datagram[160..]));
        assert_eq!(counted(&tap), [("sip", 1), ("fragments", 2)]);
        assert_eq!(tap.call().0.src.to_string(), CALLER);
    }

    #[test]
    fn a_message_without_a_call_id_and_one_that_cannot_be_read_are_counted() {
        let mut tap = Tap::new();
        tap.udp(0, CALLER, CALLEE, b"OPTIONS sip:a@example.com SIP/2.0\r\nFrom: <sip:a@example.com>\r\n\r\n");
        tap.udp(1, CALLER, CALLEE, &response("200 OK", "OPTIONS", 1).call_id("").bytes());
        assert_eq!(tap.engine.counters().sip_without_call_id, 2);
    }
}
