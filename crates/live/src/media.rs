//! Media packets in memory, up to a number of bytes, to be saved with a call.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use ringtap_engine::RtpSeen;
use ringtap_model::{Endpoint, Frame, Nanos, Stream};

use crate::message::CapturedFrame;

/// A frame that carried a media packet.
#[derive(Clone, Debug)]
pub struct MediaFrame {
    src: Endpoint,
    dst: Endpoint,
    ssrc: u32,
    /// The frame.
    pub frame: CapturedFrame,
}

impl MediaFrame {
    fn bytes(&self) -> usize {
        size_of::<Self>() + self.frame.data.len()
    }
}

/// The newest media packets.
pub(crate) struct MediaFrames {
    limit: usize,
    frames: VecDeque<Arc<MediaFrame>>,
    /// Bytes of all of them.
    pub(crate) bytes: usize,
    /// Packets that had to leave.
    pub(crate) evicted: u64,
}

impl MediaFrames {
    /// Keeps at most `limit` bytes; none of 0.
    pub(crate) fn new(limit: usize) -> Self {
        Self { limit, frames: VecDeque::new(), bytes: 0, evicted: 0 }
    }

    /// How many there are.
    pub(crate) fn len(&self) -> usize {
        self.frames.len()
    }

    /// Keeps the frames of a packet that are in the batch, and lets the oldest go.
    pub(crate) fn push(&mut self, seen: &RtpSeen<'_>, frames: &[Frame<'_>]) {
        if self.limit == 0 {
            return;
        }
        for number in seen.frames {
            let Ok(index) = frames.binary_search_by_key(number, |frame| frame.number) else { continue };
            let frame = CapturedFrame::of(&frames[index]);
            let frame = MediaFrame { src: seen.src, dst: seen.dst, ssrc: seen.ssrc, frame };
            self.bytes += frame.bytes();
            self.frames.push_back(Arc::new(frame));
        }
        while self.bytes > self.limit
            && let Some(oldest) = self.frames.pop_front()
        {
            self.bytes -= oldest.bytes();
            self.evicted += 1;
        }
    }

    /// Those of some streams, in the order in which they came.
    pub(crate) fn of<'a>(&self, streams: impl Iterator<Item = &'a Stream>) -> Vec<Arc<MediaFrame>> {
        let mut wanted: HashMap<(Endpoint, Endpoint, u32), Vec<(Nanos, Nanos)>> = HashMap::new();
        for stream in streams {
            let times = wanted.entry((stream.src, stream.dst, stream.ssrc)).or_default();
            times.push((stream.first, stream.last));
        }
        let is_wanted = |frame: &&Arc<MediaFrame>| {
            let times = wanted.get(&(frame.src, frame.dst, frame.ssrc));
            let time = frame.frame.time;
            times.is_some_and(|times| times.iter().any(|(first, last)| (*first..=*last).contains(&time)))
        };
        self.frames.iter().filter(is_wanted).cloned().collect()
    }

    /// Lets all of them go.
    pub(crate) fn clear(&mut self) {
        self.frames.clear();
        self.bytes = 0;
    }
}
