//! Passes over a ring, each doing what the one before it does and more.

use std::hint::black_box;
use std::time::Duration;

use ringtap_engine::{Engine, Sink};
use ringtap_wire::frame::{Payload, decode};
use ringtap_wire::{rtp, sip};
use rustix::time::{ClockId, clock_gettime};

use crate::ring::FrameRange;

/// A byte in the line of the IP and UDP headers: the protocol.
const IP_BYTE: usize = 14 + 9;
/// A byte of the RTP header: version.
const RTP_BYTE: usize = 14 + 20 + 8;

/// What a pass counted and how much processor time it took.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pass {
    pub(crate) counted: u64,
    pub(crate) took: Duration,
}

impl Pass {
    pub(crate) fn of(count: impl FnOnce() -> u64) -> Self {
        let start = spent();
        let counted = black_box(count());
        Self { counted, took: spent().saturating_sub(start) }
    }

    pub(crate) fn rate(&self, count: u64) -> f64 {
        count as f64 / self.took.as_secs_f64().max(1e-9)
    }
}

/// Processor time that this thread has had: what others took of the processor meanwhile is no part of a figure.
pub(crate) fn spent() -> Duration {
    let now = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(now.tv_sec.try_into().unwrap_or(0), now.tv_nsec.try_into().unwrap_or(0))
}

/// The reference: one byte of the IP and UDP headers and one behind them is read, UDP that has version 2 there is counted.
/// What no analysis can be faster than, since it has to bring every packet's header into the cache.
pub(crate) fn reference(range: FrameRange<'_>) -> Pass {
    Pass::of(|| {
        let mut counted = 0;
        range.each(|frame| {
            let (Some(ip), Some(version)) = (frame.data.get(IP_BYTE), frame.data.get(RTP_BYTE)) else {
                return;
            };
            counted += u64::from(*ip == 17) & u64::from(*version >> 6 == 2);
        });
        counted
    })
}

/// Every frame decoded down to UDP, TCP or what else it is.
pub(crate) fn decoding(range: FrameRange<'_>) -> Pass {
    Pass::of(|| {
        let mut counted = 0;
        range.each(|frame| {
            let packet = black_box(decode(frame.link.0, frame.wire_len, frame.data));
            counted += u64::from(packet.is_ok());
        });
        counted
    })
}

/// Decoded, and the RTP header read where there is one.
pub(crate) fn header(range: FrameRange<'_>) -> Pass {
    Pass::of(|| {
        let mut counted = 0;
        range.each(|frame| {
            let Ok(packet) = decode(frame.link.0, frame.wire_len, frame.data) else { return };
            let Payload::Udp(udp) = packet.payload else { return };
            if !rtp::looks_like_rtp(udp.data) {
                return;
            }
            let view = black_box(rtp::View::parse(udp.data, udp.len));
            counted += u64::from(view.is_ok());
            black_box(packet.ip);
        });
        counted
    })
}

/// Decoded, and SIP messages indexed.
pub(crate) fn messages(range: FrameRange<'_>) -> Pass {
    Pass::of(|| {
        let mut counted = 0;
        range.each(|frame| {
            let Ok(packet) = decode(frame.link.0, frame.wire_len, frame.data) else { return };
            let Payload::Udp(udp) = packet.payload else { return };
            let Some(start) = sip::sniff(udp.data) else { return };
            let message = black_box(sip::Message::parse(&udp.data[start..]));
            counted += u64::from(message.is_ok());
        });
        counted
    })
}

/// Through the engine. Counts frames.
pub(crate) fn engine<S: Sink>(
    range: FrameRange<'_>,
    batch: usize,
    engine: &mut Engine,
    sink: &mut S,
) -> Pass {
    Pass::of(|| feed(range, batch, engine, sink))
}

/// The same without a look at the clock: it is what nobody times, and what valgrind watches, under which the clock cannot be read.
pub(crate) fn feed<S: Sink>(range: FrameRange<'_>, batch: usize, engine: &mut Engine, sink: &mut S) -> u64 {
    range.batches(batch, |frames| engine.batch(frames, sink));
    range.frames
}
