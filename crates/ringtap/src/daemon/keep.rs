//! What a worker keeps of calls, on its way from the engine's hooks into the spool.

use std::collections::HashMap;

use ringtap_engine::{CallNumber, RtpSeen, Sink, SipSeen, Step, StreamEnd};
use ringtap_model::{Call, Frame, LinkType, Message, Nanos, Registration, Transport};
use ringtap_spool::{Category, Counts, Error, Keeper, Owner, Settings, of_call, of_stream};

use super::log;
use super::worker::Outlet;
use crate::config::Keep;
use crate::rebuilt;

/// A worker's part of the spool.
pub(crate) struct Recorder {
    keeper: Keeper,
    keep: Keep,
    /// By the stream's serial.
    streams: HashMap<u64, Kept>,
    /// By the Call-ID's key.
    calls: HashMap<u64, Kept>,
    swept: Nanos,
    /// Packets of owners without a place, and of media that are not kept: in parts, or in TCP.
    left_out: u64,
    /// Packets lost, as far as the operator knows.
    told: u64,
    worker: usize,
}

/// An owner and when a packet of it was last kept.
struct Kept {
    /// None where the spool had no place.
    owner: Option<Owner>,
    last: Nanos,
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
            left_out: 0,
            told: 0,
            worker,
        })
    }

    /// Time has passed: what waited long enough is written, who was silent long enough is forgotten.
    pub(crate) fn tick(&mut self, now: Nanos) {
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
                None => {
                    "more streams at once than the spool has places, or media in fragments or TCP".to_owned()
                }
            };
            let more = lost - self.told;
            log::warn(
                "spool",
                format_args!("worker {}: {more} packets could not be kept: {why}", self.worker),
            );
            self.told = lost;
        }
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

    fn media(&mut self, seen: &RtpSeen<'_>, frame: &Frame<'_>) {
        let Self { keeper, streams, left_out, .. } = self;
        let kept = streams.entry(seen.serial).or_insert_with(|| {
            let key = of_stream(seen.src, seen.dst, seen.ssrc);
            Kept { owner: keeper.begin(Category::Media, key), last: seen.time }
        });
        kept.last = seen.time;
        let Some(owner) = kept.owner else {
            *left_out += 1;
            return;
        };
        match self.keep {
            Keep::Full => keeper.put(owner, frame),
            Keep::Headers => {
                let head = head(frame.data, seen.payload);
                keeper.put_parts(owner, frame.time, frame.wire_len, &frame.data[..head]);
            }
            Keep::Signalling => {}
        }
    }

    fn owner_of_call(&mut self, seen: &SipSeen<'_>) -> Option<Owner> {
        let key = of_call(seen.message.call_id()?);
        let keeper = &mut self.keeper;
        let kept = self
            .calls
            .entry(key)
            .or_insert_with(|| Kept { owner: keeper.begin(Category::Signalling, key), last: seen.time });
        kept.last = seen.time;
        kept.owner
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
}

impl Sink for Keeping<'_> {
    const PACKETS: bool = true;
    const PROGRESS: bool = Outlet::PROGRESS;

    fn call(&mut self, call: Call, streams: Vec<StreamEnd>) {
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
        let Some(owner) = self.recorder.owner_of_call(seen) else {
            self.recorder.left_out += 1;
            return;
        };
        let frames: Vec<&Frame<'_>> = seen.frames.iter().filter_map(|number| self.frame(*number)).collect();
        // A message in one frame that is at hand is kept as it came; one that was put together, or came by way of another
        // worker, in a datagram of its own.
        match frames[..] {
            [frame] if seen.frames.len() == 1 && seen.transport != Transport::Hep => {
                self.recorder.keeper.put(owner, frame);
            }
            _ => {
                let Some(frame) = wrapped(seen, self.recorder.keeper.link()) else {
                    self.recorder.left_out += 1;
                    return;
                };
                self.recorder.keeper.put_parts(owner, seen.time, frame.len() as u32, &frame);
            }
        }
    }

    fn rtp(&mut self, seen: &RtpSeen<'_>) {
        if self.recorder.keep == Keep::Signalling {
            return;
        }
        // What was put together from fragments, or carried in TCP, is not kept.
        if let [number] = seen.frames
            && let Some(frame) = self.frame(*number)
        {
            self.recorder.media(seen, frame);
        } else {
            self.recorder.left_out += 1;
        }
    }
}

/// A message in a frame of its own: what carried it is not at hand any more.
fn wrapped(seen: &SipSeen<'_>, link: LinkType) -> Option<Vec<u8>> {
    let datagram = rebuilt::datagram(seen.src, seen.dst, seen.message.raw())?;
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
