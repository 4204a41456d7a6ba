//! What a worker keeps of calls, on its way from the engine's hooks into the spool.

use std::collections::HashMap;
use std::sync::Arc;

use ringtap_engine::{CallNumber, Kept, RtcpSeen, RtpSeen, Sink, SipSeen, Step, StreamEnd};
use ringtap_model::{Call, Endpoint, Frame, LinkType, Message, Nanos, Recorded, Registration, Transport};
use ringtap_spool::{Category, Counts, Error, Keeper, Owner, Settings, Written, of_call, of_stream};

use super::complete::complete;
use super::log;
use super::worker::Outlet;
use crate::config::Keep;
use crate::rebuilt;

/// A worker's part of the spool.
pub(crate) struct Recorder {
    keeper: Keeper,
    keep: Keep,
    /// By the stream's serial.
    streams: HashMap<u64, Place>,
    /// By the Call-ID's key.
    calls: HashMap<u64, Place>,
    swept: Nanos,
    /// Time by the packets.
    now: Nanos,
    /// Packets of owners without a place, and those too long for a datagram of their own.
    left_out: u64,
    /// Packets lost, as far as the operator knows.
    told: u64,
    worker: usize,
}

/// An owner and when a packet of it was last kept.
struct Place {
    /// None where the spool had no place.
    owner: Option<Owner>,
    last: Nanos,
    /// Packets of it that were not given to the spool.
    left_out: u64,
}

impl Place {
    fn new(owner: Option<Owner>, now: Nanos) -> Self {
        Self { owner, last: now, left_out: 0 }
    }
}

/// What a worker kept, and what it lost of it.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Figures {
    pub(crate) counts: Counts,
    /// Packets that were not given to the spool.
    pub(crate) left_out: u64,
    /// Packets that the disk refused.
    pub(crate) refused: u64,
    /// Bytes, writes and segments on disk.
    pub(crate) bytes: u64,
    pub(crate) writes: u64,
    pub(crate) segments: u64,
    /// Operations that the disk refused.
    pub(crate) failures: u64,
}

impl Figures {
    /// Packets lost, by reason.
    pub(crate) fn lost(&self) -> [(&'static str, u64); 5] {
        let Counts { lost_memory, lost_disk, lost_stopped, .. } = self.counts;
        [
            ("memory", lost_memory),
            ("disk", lost_disk),
            ("refused", self.refused),
            ("stopped", lost_stopped),
            ("left_out", self.left_out),
        ]
    }
}

impl Recorder {
    pub(crate) fn open(settings: Settings, keep: Keep) -> Result<Self, Error> {
        let worker = settings.worker.into();
        let (streams, calls) = (HashMap::new(), HashMap::new());
        Ok(Self {
            keeper: Keeper::open(settings)?,
            keep,
            streams,
            calls,
            swept: Nanos::ZERO,
            now: Nanos::ZERO,
            left_out: 0,
            told: 0,
            worker,
        })
    }

    /// Time has passed: what waited long enough is written, who was silent long enough is forgotten.
    pub(crate) fn tick(&mut self, now: Nanos) {
        self.now = now;
        self.keeper.tick(now);
        if now.since(self.swept) < SWEEP {
            return;
        }
        self.swept = now;
        for table in [&mut self.streams, &mut self.calls] {
            for (_, kept) in table.extract_if(|_, kept| kept.last + SILENCE < now) {
                kept.owner.and_then(|owner| self.keeper.finish(owner, now));
            }
        }
    }

    /// Tells the operator when packets are lost on the way to the disk, and why.
    pub(crate) fn report(&mut self) {
        let Counts { lost_memory, lost_disk, .. } = self.keeper.counts();
        let written = self.keeper.written();
        let lost = lost_memory + lost_disk + self.left_out + written.lost_packets();
        if lost > self.told {
            let why = match written.failure() {
                Some(error) => error.to_string(),
                None if lost_disk > 0 => "the disk does not keep up".to_owned(),
                None if lost_memory > 0 => "[spool] memory is too small".to_owned(),
                None => "more streams at once than the spool has places, or messages longer than a datagram"
                    .to_owned(),
            };
            let more = lost - self.told;
            log::warn(
                "spool",
                format_args!("worker {}: {more} packets could not be kept: {why}", self.worker),
            );
            self.told = lost;
        }
    }

    /// What was kept and what was lost.
    pub(crate) fn figures(&self) -> Figures {
        let written = self.keeper.written();
        Figures {
            counts: self.keeper.counts(),
            left_out: self.left_out,
            refused: written.lost_packets(),
            bytes: written.bytes(),
            writes: written.writes(),
            segments: written.segments(),
            failures: written.failures(),
        }
    }

    /// What the disk has taken, for other threads.
    pub(crate) fn written(&self) -> Arc<Written> {
        self.keeper.written()
    }

    /// Writes everything.
    pub(crate) fn close(self, now: Nanos) {
        let (written, left_out) = (self.keeper.written(), self.left_out);
        let counts = self.keeper.close(now);
        log::info(
            "spool",
            format_args!(
                "worker {}: {} packets kept in {} segments, {} MiB; {} lost",
                self.worker,
                counts.packets,
                written.segments(),
                written.bytes() >> 20,
                counts.lost_memory + counts.lost_disk + left_out + written.lost_packets(),
            ),
        );
    }

    /// Keeps a packet of a stream, from a frame of which so many bytes may be kept.
    fn media(&mut self, serial: u64, stream: (Endpoint, Endpoint, u32), frame: Option<&Frame<'_>>) {
        let Self { keeper, streams, now, left_out, .. } = self;
        let (src, dst, ssrc) = stream;
        let place = streams
            .entry(serial)
            .or_insert_with(|| Place::new(keeper.begin(Category::Media, of_stream(src, dst, ssrc)), *now));
        place.last = frame.map_or(*now, |frame| frame.time);
        match (place.owner, frame) {
            (Some(owner), Some(frame)) => keeper.put(owner, frame),
            _ => {
                place.left_out += 1;
                *left_out += 1;
            }
        }
    }

    fn call(&mut self, seen: &SipSeen<'_>) -> Option<&mut Place> {
        let key = of_call(seen.message.call_id()?);
        let keeper = &mut self.keeper;
        let place = self
            .calls
            .entry(key)
            .or_insert_with(|| Place::new(keeper.begin(Category::Signalling, key), seen.time));
        place.last = seen.time;
        Some(place)
    }

    /// Nothing more will come of a stream: what it has in memory goes to the segment.
    fn end_stream(&mut self, serial: u64) -> Kept {
        self.streams.remove(&serial).map_or_else(Kept::default, |place| self.end(&place))
    }

    /// The same of a call's messages.
    fn end_call(&mut self, call_id: &str) -> Kept {
        self.calls.remove(&of_call(call_id.as_bytes())).map_or_else(Kept::default, |place| self.end(&place))
    }

    fn end(&mut self, place: &Place) -> Kept {
        let kept = place.owner.and_then(|owner| self.keeper.finish(owner, self.now.max(place.last)));
        let (packets, lost) = kept.map_or((0, 0), |kept| (kept.packets, kept.lost));
        Kept { packets, lost: lost + place.left_out }
    }
}

/// How much of a frame stands before the payload.
fn head(frame: &[u8], payload: &[u8]) -> usize {
    // Both are of one packet: the payload lies within the frame, unless it was put together from several.
    let at = (payload.as_ptr() as usize).wrapping_sub(frame.as_ptr() as usize);
    if at <= frame.len() { at } else { frame.len().saturating_sub(payload.len()) }
}

/// A sink that keeps what the engine saw of a batch.
pub(crate) struct Keeping<'a> {
    pub(crate) outlet: &'a mut Outlet,
    pub(crate) recorder: &'a mut Recorder,
    /// The batch, in order of the frames' numbers.
    pub(crate) frames: &'a [Frame<'a>],
}

impl<'a> Keeping<'a> {
    fn frame(&self, number: u64) -> Option<&'a Frame<'a>> {
        let at = self.frames.binary_search_by_key(&number, |frame| frame.number).ok()?;
        self.frames.get(at)
    }

    /// The one frame of these numbers, if there is one and it is at hand.
    fn only(&self, numbers: &[u64]) -> Option<&'a Frame<'a>> {
        if let [number] = numbers { self.frame(*number) } else { None }
    }
}

impl Sink for Keeping<'_> {
    const PACKETS: bool = true;
    const PROGRESS: bool = Outlet::PROGRESS;

    fn call(&mut self, mut call: Call, streams: Vec<StreamEnd>) {
        let signalling = self.recorder.end_call(&call.call_id);
        let recorded = match self.recorder.keep {
            Keep::Signalling => Recorded::Signalling,
            Keep::Headers => Recorded::Headers,
            Keep::Full => Recorded::Full,
        };
        complete(&mut call, recorded, signalling, &streams);
        self.outlet.call(call, streams);
    }

    fn stream(&mut self, stream: StreamEnd) {
        self.outlet.stream(stream);
    }

    fn registration(&mut self, registration: Registration) {
        self.outlet.registration(registration);
    }

    fn message(&mut self, message: Message) {
        self.outlet.message(message);
    }

    fn progress(&mut self, step: Step, number: CallNumber, call: &Call) {
        self.outlet.progress(step, number, call);
    }

    fn sip(&mut self, seen: &SipSeen<'_>) {
        // A message in one frame that is at hand is kept as it came; one that was put together, or came by way of another
        // worker, in a datagram of its own.
        let at_hand = self.only(seen.frames).filter(|_| seen.transport != Transport::Hep);
        let link = self.recorder.keeper.link();
        let Some(owner) = self.recorder.call(seen).and_then(|place| place.owner) else {
            self.recorder.left_out += 1;
            return;
        };
        if let Some(frame) = at_hand {
            self.recorder.keeper.put(owner, frame);
        } else if let Some(data) = wrapped((seen.src, seen.dst), seen.message.raw(), link) {
            self.recorder.keeper.put_parts(owner, seen.time, data.len() as u32, &data);
        } else {
            self.recorder.left_out += 1;
            self.recorder.call(seen).into_iter().for_each(|place| place.left_out += 1);
        }
    }

    fn rtp(&mut self, seen: &RtpSeen<'_>) {
        let Self { recorder, .. } = self;
        if recorder.keep == Keep::Signalling {
            return;
        }
        let stream = (seen.src, seen.dst, seen.ssrc);
        let headers = recorder.keep == Keep::Headers;
        let cut = |data: usize, payload: usize| if headers { data - payload.min(data) } else { data };
        match (self.only(seen.frames), seen.packet) {
            (Some(frame), _) => {
                let kept = if headers { head(frame.data, seen.payload) } else { frame.data.len() };
                let frame = Frame { data: &frame.data[..kept], ..*frame };
                self.recorder.media(seen.serial, stream, Some(&frame));
            }
            // Put together from fragments, or taken out of TCP by another worker: in a datagram of its own.
            (None, Some(packet)) => {
                let data = wrapped((seen.src, seen.dst), packet, self.recorder.keeper.link());
                let frame = data.as_deref().map(|data| Frame {
                    time: seen.time,
                    number: 0,
                    link: self.recorder.keeper.link(),
                    wire_len: data.len() as u32,
                    data: &data[..cut(data.len(), seen.payload.len())],
                });
                self.recorder.media(seen.serial, stream, frame.as_ref());
            }
            (None, None) => self.recorder.media(seen.serial, stream, None),
        }
    }

    fn rtcp(&mut self, seen: &RtcpSeen<'_>) {
        if self.recorder.keep == Keep::Signalling {
            return;
        }
        let link = self.recorder.keeper.link();
        match self.only(seen.frames) {
            Some(frame) => self.recorder.media(seen.serial, seen.stream, Some(frame)),
            None => {
                let data = wrapped((seen.src, seen.dst), seen.data, link);
                let frame = data.as_deref().map(|data| Frame {
                    time: seen.time,
                    number: 0,
                    link,
                    wire_len: data.len() as u32,
                    data,
                });
                self.recorder.media(seen.serial, seen.stream, frame.as_ref());
            }
        }
    }

    fn leaving(&mut self, serial: u64) -> Kept {
        self.recorder.end_stream(serial)
    }
}

/// A message in a frame of its own: what carried it is not at hand any more.
fn wrapped((src, dst): (Endpoint, Endpoint), message: &[u8], link: LinkType) -> Option<Vec<u8>> {
    let datagram = rebuilt::datagram(src, dst, message)?;
    if link != ETHERNET {
        return Some(datagram);
    }
    let kind = if datagram[0] >> 4 == 4 { [0x08, 0x00] } else { [0x86, 0xdd] };
    // Between two locally administered addresses.
    Some([&[2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2][..], &kind, &datagram].concat())
}

const ETHERNET: LinkType = LinkType(1);
/// How often the silent are looked for.
const SWEEP: Nanos = Nanos::from_secs(5);
/// Who is silent for so long has no packets in memory any more; if it speaks again it begins anew.
const SILENCE: Nanos = Nanos::from_secs(90);
