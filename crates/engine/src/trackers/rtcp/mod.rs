//! The RTCP tracker: what the far ends say of each stream (RFC 3550 section 6).
//!
//! A report block concerns the opposite direction, whose packets another worker may own: so every worker
//! handles every RTCP datagram, and each applies what concerns its own streams. SRTCP (RFC 3711 section 3.4)
//! is recognised by what follows its packets and gives no figures.

use hashbrown::HashTable;
use ringtap_model::Nanos;
use ringtap_wire::rtcp::{self, Compound, Packet, Reports};

use crate::context::{Context, Datagram};
use crate::counters::Counters;
use crate::media::{EndedStream, FarEnd};
use crate::sink::Sink;
use crate::table::hash::Hasher;
use crate::tracker::{EngineTracker, Sharing, Tracker, Wants};

/// RTCP of one stream, by the stream's serial number.
struct Entry {
    serial: u64,
    far_end: Box<FarEnd>,
}

/// See the module.
pub(crate) struct RtcpTracker {
    entries: HashTable<Entry>,
    hasher: Hasher,
    ceiling: usize,
}

impl Tracker for RtcpTracker {
    const WANTS: Wants = Wants { sniff: Some(is_rtcp), sharing: Sharing::AllWorkers, ..Wants::NOTHING };

    fn datagram<S: Sink>(&mut self, datagram: &Datagram<'_>, cx: &mut Context<'_, S>) {
        if let Ok(compound) = Compound::parse(datagram.data)
            && compound.is_readable()
        {
            for packet in compound.packets() {
                self.packet(&packet, datagram, cx);
            }
        }
    }
}

impl EngineTracker for RtcpTracker {
    fn describe_stream(&self, figures: &mut EndedStream) {
        let found = self.entries.find(self.hasher.of(figures.serial), |entry| entry.serial == figures.serial);
        figures.far_end = found.map(|entry| entry.far_end.clone());
    }

    fn stream_ended(&mut self, figures: &mut EndedStream) {
        let found =
            self.entries.find_entry(self.hasher.of(figures.serial), |entry| entry.serial == figures.serial);
        figures.far_end = found.ok().map(|entry| entry.remove().0.far_end);
    }

    fn count(counters: &mut Counters) {
        counters.rtcp += 1;
    }
}

impl RtcpTracker {
    /// RTCP of at most `ceiling` streams at once.
    pub(crate) fn new(ceiling: usize, hasher: Hasher) -> Self {
        Self { entries: HashTable::new(), hasher, ceiling }
    }

    fn packet<S: Sink>(&mut self, packet: &Packet<'_>, datagram: &Datagram<'_>, cx: &mut Context<'_, S>) {
        let Datagram { src, dst, time, .. } = *datagram;
        match packet {
            Packet::SenderReport(sr) => {
                if let Some(far_end) = self.of(cx.streams.sent_by(src, dst, sr.ssrc), time, cx) {
                    far_end.sent(sr.ntp_middle(), sr.packets, sr.octets, time);
                }
                self.reports(&sr.reports, datagram, cx);
            }
            Packet::ReceiverReport(rr) => self.reports(&rr.reports, datagram, cx),
            Packet::Sdes(sdes) => {
                if let Some((ssrc, cname)) = sdes.cname()
                    && let Some(far_end) = self.of(cx.streams.sent_by(src, dst, ssrc), time, cx)
                {
                    far_end.named(cname);
                }
            }
            Packet::Bye(bye) => {
                for ssrc in bye.sources() {
                    if let Some(far_end) = self.of(cx.streams.sent_by(src, dst, ssrc), time, cx) {
                        far_end.left(time);
                    }
                }
            }
            _ => {}
        }
    }

    fn reports<S: Sink>(&mut self, reports: &Reports<'_>, datagram: &Datagram<'_>, cx: &mut Context<'_, S>) {
        for report in reports.iter() {
            let stream = cx.streams.received_by(datagram.src, datagram.dst, report.ssrc);
            if let Some(far_end) = self.of(stream, datagram.time, cx) {
                far_end.received(&report, datagram.time);
            }
        }
    }

    /// RTCP of the stream in a slot, begun if new; None without a stream, or at the ceiling.
    fn of<S: Sink>(
        &mut self,
        stream: Option<u32>,
        time: Nanos,
        cx: &mut Context<'_, S>,
    ) -> Option<&mut FarEnd> {
        let stream = stream?;
        cx.streams.heard_rtcp(stream, time);
        let serial = cx.streams.serial(stream);
        let hash = self.hasher.of(serial);
        let is_full = self.entries.len() >= self.ceiling;
        let is_same = |entry: &Entry| entry.serial == serial;
        if is_full && self.entries.find(hash, is_same).is_none() {
            cx.counters.rtcp_refused += 1;
            return None;
        }
        let hasher = &self.hasher;
        let begin = || Entry { serial, far_end: Box::default() };
        let entry = self.entries.entry(hash, is_same, |entry| hasher.of(entry.serial)).or_insert_with(begin);
        Some(&mut entry.into_mut().far_end)
    }
}

fn is_rtcp(datagram: &Datagram<'_>) -> bool {
    rtcp::looks_like_rtcp(datagram.data)
}
