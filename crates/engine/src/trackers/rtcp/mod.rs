//! The RTCP tracker: what the far ends say of each stream (RFC 3550 section 6, RFC 3611, RFC 4585).
//!
//! A report block concerns the opposite direction, whose packets another worker may own: so every worker
//! handles every RTCP datagram, and each applies what concerns its own streams. SRTCP (RFC 3711 section 3.4)
//! is recognised by what follows its packets and gives no figures.

#[cfg(test)]
mod tests;

use hashbrown::HashTable;
use ringtap_model::Nanos;
use ringtap_wire::rtcp::{self, Block, Compound, Packet, Reports, SenderReport};

use crate::context::{Context, Datagram};
use crate::counters::Counters;
use crate::media::{BlockKind, EndedStream, FarEnd, MessageKind, Room};
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
    /// Reports that are stored for the lists of all streams, and may be.
    rows: usize,
    max_rows: usize,
}

/// Reports that may be stored, for each stream that there may be. A stream stores up to 96.
const ROWS_PER_STREAM: usize = 8;
/// What is read of one datagram: packets, blocks of an extended report, sources that feedback names. Those
/// that RFC 3550 and RFC 3611 describe have a few of each.
const MAX_PACKETS: usize = 64;
const MAX_BLOCKS: usize = 64;
const MAX_SOURCES: usize = 16;

impl Tracker for RtcpTracker {
    const WANTS: Wants = Wants { sniff: Some(is_rtcp), sharing: Sharing::AllWorkers, ..Wants::NOTHING };

    fn datagram<S: Sink>(&mut self, datagram: &Datagram<'_>, cx: &mut Context<'_, S>) {
        if let Ok(compound) = Compound::parse(datagram.data)
            && compound.is_readable()
        {
            let mut reported = None;
            for packet in compound.packets().take(MAX_PACKETS) {
                self.packet(&packet, &mut reported, datagram, cx);
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
        self.rows = self.rows.saturating_sub(figures.far_end.as_ref().map_or(0, |far_end| far_end.rows()));
    }

    fn count(counters: &mut Counters) {
        counters.rtcp += 1;
    }
}

impl RtcpTracker {
    /// RTCP of at most `ceiling` streams at once.
    pub(crate) fn new(ceiling: usize, hasher: Hasher) -> Self {
        let max_rows = ceiling.saturating_mul(ROWS_PER_STREAM);
        Self { entries: HashTable::new(), hasher, ceiling, rows: 0, max_rows }
    }

    fn packet<S: Sink>(
        &mut self,
        packet: &Packet<'_>,
        reported: &mut Option<u32>,
        datagram: &Datagram<'_>,
        cx: &mut Context<'_, S>,
    ) {
        let Datagram { src, dst, time, .. } = *datagram;
        match packet {
            Packet::SenderReport(sr) => {
                self.sent(sr, datagram, cx);
                *reported = self.reports(sr.ssrc, &sr.reports, datagram, cx).or(*reported);
            }
            Packet::ReceiverReport(rr) => {
                *reported = self.reports(rr.ssrc, &rr.reports, datagram, cx).or(*reported);
            }
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
            Packet::Extended(xr) => {
                for block in xr.blocks().take(MAX_BLOCKS) {
                    self.block(&block, (xr.ssrc, *reported), datagram, cx);
                }
            }
            Packet::Feedback(feedback) => {
                for ssrc in feedback.sources().take(MAX_SOURCES) {
                    let stream = cx.streams.received_by(src, dst, ssrc);
                    if let Some(far_end) = self.of(stream, time, cx) {
                        far_end.count(MessageKind::Feedback(feedback.what()));
                    }
                }
            }
            Packet::App(app) => {
                let stream = cx.streams.sent_by(src, dst, app.ssrc).or(*reported);
                if let Some(far_end) = self.of(stream, time, cx) {
                    far_end.count(MessageKind::Application(app.name));
                }
            }
            Packet::Other { .. } => {}
        }
    }

    /// What a source says it has sent.
    fn sent<S: Sink>(&mut self, sr: &SenderReport<'_>, datagram: &Datagram<'_>, cx: &mut Context<'_, S>) {
        let Some(stream) = cx.streams.sent_by(datagram.src, datagram.dst, sr.ssrc) else { return };
        let here = cx.streams.passed(stream);
        let counts = (sr.ntp_middle(), sr.packets, sr.octets);
        self.store(stream, datagram.time, cx, |far_end, now| far_end.sent(counts, here, now));
    }

    /// What a receiver says of the streams that it gets; the last of these.
    fn reports<S: Sink>(
        &mut self,
        receiver: u32,
        reports: &Reports<'_>,
        datagram: &Datagram<'_>,
        cx: &mut Context<'_, S>,
    ) -> Option<u32> {
        let mut reported = None;
        for report in reports.iter() {
            let Some(stream) = cx.streams.received_by(datagram.src, datagram.dst, report.ssrc) else {
                continue;
            };
            reported = Some(stream);
            let here = cx.streams.passed_up_to(stream, report.highest_sequence as u16);
            let received = |far_end: &mut FarEnd, now| far_end.received(&report, (receiver, here), now);
            self.store(stream, datagram.time, cx, received);
        }
        reported
    }

    /// A block of an extended report. `reported` is the stream that the same datagram reports on.
    fn block<S: Sink>(
        &mut self,
        block: &Block<'_>,
        (reporter, reported): (u32, Option<u32>),
        datagram: &Datagram<'_>,
        cx: &mut Context<'_, S>,
    ) {
        let Datagram { src, dst, time, .. } = *datagram;
        match block {
            Block::Voip(metrics) => {
                if let Some(stream) = cx.streams.received_by(src, dst, metrics.ssrc) {
                    self.store(stream, time, cx, |far_end, now| far_end.judged(metrics, now));
                }
            }
            Block::ReferenceTime(ntp) => {
                let stream = reported.or_else(|| cx.streams.any_received_by(src, dst));
                if let Some(far_end) = self.of(stream, time, cx) {
                    far_end.referenced((*ntp >> 16) as u32, time);
                }
            }
            Block::Delays(delays) => {
                if let Some(far_end) = self.of(cx.streams.sent_by(src, dst, reporter), time, cx) {
                    for delay in delays.iter().take(MAX_SOURCES) {
                        far_end.answered(delay.last_rr, delay.delay_since_last_rr, time);
                    }
                }
            }
            other => {
                let Some((kind, ssrc)) = BlockKind::of(other) else { return };
                if let Some(far_end) = self.of(cx.streams.received_by(src, dst, ssrc), time, cx) {
                    far_end.count(MessageKind::Block(kind));
                }
            }
        }
    }

    /// Has a report stored with the stream in a slot, and counts what that takes of the room for all.
    fn store<S: Sink>(
        &mut self,
        stream: u32,
        time: Nanos,
        cx: &mut Context<'_, S>,
        store: impl FnOnce(&mut FarEnd, (Nanos, Room)) -> bool,
    ) {
        let room = if self.rows < self.max_rows { Room::Free } else { Room::Full };
        let Some(far_end) = self.of(Some(stream), time, cx) else { return };
        let before = far_end.rows();
        let is_stored = store(far_end, (time, room));
        let after = far_end.rows();
        self.rows = (self.rows + after).saturating_sub(before);
        cx.counters.rtcp_reports_refused += u64::from(!is_stored);
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
