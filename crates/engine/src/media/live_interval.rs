//! Ten seconds of a stream that is in progress, for who does not wait for its record.

use ringtap_model::Nanos;
use ringtap_quality::{Receivers, codec};

use super::StreamTable;
use super::flow::{IntervalRow, Totals};
use super::record::{burst_len, ms, running_mos, ticks_to_nanos};
use crate::codecs::Codec;
use crate::update::{CallNumber, IntervalSeen};

impl StreamTable {
    /// The interval that the packet just handled has ended, if it has.
    #[inline]
    pub(crate) fn take_ended_interval(&mut self) -> Option<(u32, IntervalRow)> {
        self.ended_interval.take()
    }

    /// What is told of it.
    #[cold]
    pub(crate) fn interval_seen(
        &self,
        (slot, row): (u32, IntervalRow),
        now: Nanos,
        receivers: &Receivers,
    ) -> Option<IntervalSeen<'_>> {
        let (flow, details) = self.flows.get(slot)?;
        let call = details.call().and_then(|call| self.replicas.get(call));
        let codec = details.codec.and_then(|id| self.codecs.get(id)).filter(|codec| !codec.event);
        let is_fax = call.is_some_and(|call| call.status.fax.is_some());
        let totals = flow.totals(&details.slow);
        let profile = codec.filter(|_| !is_fax).and_then(|codec| {
            let (name, clock) = (&codec.name, Some(codec.clock));
            match payload_rate(&totals, codec) {
                Some(rate) => codec::lookup_rate(name, clock, rate),
                None => codec::lookup(name, clock),
            }
        });
        let key = details.slow.key;
        let profile = match profile {
            Some(profile) if !receivers.conceal(key.dst.ip, None) => Some(profile.without_concealment()),
            profile => profile,
        };
        Some(IntervalSeen {
            time: now,
            serial: details.serial,
            src: key.src,
            dst: key.dst,
            call: call.map(|call| CallNumber(call.call)),
            codec: codec.map(|codec| &*codec.name),
            packets: row.packets,
            unique: row.unique,
            lost: row.lost,
            jitter_ms: ms(f64::from(row.jitter)),
            mos: profile.and_then(|profile| running_mos(&row, profile, burst_len(&totals))),
        })
    }
}

/// Bits per second of the payload so far, in thousands: for codecs with modes.
fn payload_rate(flow: &Totals, codec: &Codec) -> Option<f64> {
    let ptime = Nanos(ticks_to_nanos(flow.step, codec.clock));
    let mean = flow.payload_sum as f64 / f64::from(flow.packets().max(1));
    (ptime > Nanos::ZERO).then(|| mean * 8.0 / ptime.millis_f64())
}
