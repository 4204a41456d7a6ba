//! The end of a flow: out of the table, with all that its record tells.

use super::details::{NONE, TypeCount, count_type, main_type};
use super::{EndedStream, StreamTable};
use crate::update::RecordedPackets;

impl StreamTable {
    /// Ends a flow whose endpoints another call took over; its call's record will ask for it.
    pub(crate) fn retire(&mut self, slot: u32) {
        let call = self.flows.get(slot).and_then(|(_, details)| details.call());
        let Some(call) = call.filter(|call| self.replicas.get(*call).is_some()) else { return };
        let figures = self.end(slot);
        if let Some(view) = self.replicas.get_mut(call) {
            view.flows.retain(|other| *other != slot);
            view.retired.extend(figures);
        }
    }

    /// Takes a flow out of the table.
    pub(crate) fn end(&mut self, slot: u32) -> Option<EndedStream> {
        let figures = self.figures(slot)?;
        let (_, mut details) = self.flows.remove(slot)?;
        for node in details.nodes.into_iter().filter(|node| *node != NONE) {
            self.endpoints.remove(node);
        }
        details.types.iter().for_each(|count| self.codecs.release(count.codec));
        self.codecs.release(details.codec);
        self.intervals.release(&mut details.intervals);
        self.digits.release(&mut details.digits);
        Some(figures)
    }

    /// All that is known of a flow, as if it ended now.
    pub(crate) fn figures(&self, slot: u32) -> Option<EndedStream> {
        let (flow, details) = self.flows.get(slot)?;
        let mut types = details.types;
        let packets = flow.type_packets(&details.slow);
        count_type(&mut types, flow.payload_type, packets, details.codec, flow.is_event());
        let row = flow.running_interval(&details.slow);
        let running = (row.packets > 0 || row.lost > 0).then_some(row);
        let rows = || self.intervals.iter(details.intervals).copied().chain(running);
        let mut intervals = self.memory.rows.take(rows().count());
        intervals.extend(rows());
        let keys = || self.digits.iter(details.digits).copied();
        let mut digits = self.memory.digits.take(keys().count());
        digits.extend(keys());
        let codec_of = |count: &TypeCount| count.codec.and_then(|id| self.codecs.get(id));
        let main = main_type(&types, |count| codec_of(count).is_some_and(|codec| codec.noise));
        Some(EndedStream {
            serial: details.serial,
            side: details.side,
            packets_of_type: main.packets,
            payload_type: main.payload_type,
            codec: codec_of(&main).filter(|codec| !codec.event).cloned(),
            intervals,
            digits,
            flow: flow.totals(&details.slow),
            recorded: RecordedPackets::default(),
            far_end: None,
        })
    }
}
