//! Passes over a ring; each adds work to the one before.

use std::hint::black_box;
use std::time::Duration;

use ringtap_engine::{Engine, Sink};
use ringtap_wire::frame::{Payload, decode};
use ringtap_wire::{rtp, sip};
use rustix::time::{ClockId, clock_gettime};

use crate::headers::Headers;
use crate::ring::FrameRange;

/// Count and CPU time of a pass.
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

/// CPU time of this thread: other programs do not count.
pub(crate) fn spent() -> Duration {
    let now = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(now.tv_sec.try_into().unwrap_or(0), now.tv_nsec.try_into().unwrap_or(0))
}

/// The reference: reads one byte of the IP and UDP headers and one after them, and counts UDP with version 2
/// there. No analysis can be faster, since it must load every packet's header into the cache.
pub(crate) fn reference(range: FrameRange<'_>) -> Pass {
    reference_below(range, Headers::Plain)
}

/// The same of packets with these headers.
pub(crate) fn reference_below(range: FrameRange<'_>, headers: Headers) -> Pass {
    let (ip_byte, rtp_byte) = (headers.protocol_byte(), headers.len());
    Pass::of(|| {
        let mut counted = 0;
        range.each(|frame| {
            let (Some(ip), Some(version)) = (frame.data.get(ip_byte), frame.data.get(rtp_byte)) else {
                return;
            };
            counted += u64::from(*ip == 17) & u64::from(*version >> 6 == 2);
        });
        counted
    })
}

/// Decodes every frame to its transport protocol.
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

/// Decodes, and parses RTP headers.
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

/// Decodes, and indexes SIP messages.
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

/// Runs the engine. Counts frames.
pub(crate) fn engine<S: Sink>(
    range: FrameRange<'_>,
    batch: usize,
    engine: &mut Engine,
    sink: &mut S,
) -> Pass {
    Pass::of(|| feed(range, batch, engine, sink))
}

/// The same without timing: for warm-up, and for valgrind, under which the clock cannot be read.
pub(crate) fn feed<S: Sink>(range: FrameRange<'_>, batch: usize, engine: &mut Engine, sink: &mut S) -> u64 {
    range.batches(batch, |frames| engine.batch(frames, sink));
    range.frames
}
