//! The media stage of a team in lockstep, see [`crate::team::Stage`].

use std::sync::Arc;

use ringtap_model::Frame;

use crate::engine::Engine;
use crate::prefetch::FrameKind;
use crate::sink::Sink;
use crate::team::HeldDatagram;
use crate::tracker::Tracker;
use crate::update::MediaUpdate;

/// What the media stage handles beside the frames of its worker.
enum Waiting<'a> {
    Datagram(HeldDatagram<'a>),
    Update(&'a Arc<MediaUpdate>),
}

impl Waiting<'_> {
    /// The number of its frame, and whether it follows the datagrams of that frame.
    fn place(&self) -> (u64, bool) {
        match self {
            Self::Datagram(held) => (held.number, false),
            Self::Update(update) => (update.order.number, true),
        }
    }
}

impl<X: Tracker> Engine<X> {
    /// Lockstep: handles the media of a batch and its held datagrams in frame order, each after the updates
    /// from earlier frames.
    pub(crate) fn handle_batch_media<S: Sink>(&mut self, frames: &[Frame<'_>], sink: &mut S) {
        let Some(member) = &mut self.member else { return };
        let mut updates = std::mem::take(&mut member.updates);
        let mut held = std::mem::take(&mut member.held);
        member.handles_media = true;
        updates.sort_by_key(|update| update.order);
        held.sort();
        let mut waiting: Vec<Waiting<'_>> = held.iter().map(Waiting::Datagram).collect();
        waiting.extend(updates.iter().map(Waiting::Update));
        waiting.sort_by_key(Waiting::place);
        self.media_in_order(frames, &waiting, sink);
        drop(waiting);
        updates.clear();
        held.clear();
        if let Some(member) = &mut self.member {
            (member.updates, member.held) = (updates, held);
            member.handles_media = false;
        }
    }

    /// Handles media of a team in lockstep, and in its place what waited for this stage.
    // HOT: as `batch`, with one comparison a frame more.
    fn media_in_order<S: Sink>(&mut self, frames: &[Frame<'_>], mut waiting: &[Waiting<'_>], sink: &mut S) {
        let mut ring = self.prefetched.take().unwrap_or_default();
        self.counters.frames += frames.len() as u64;
        ring.begin::<X, S>(frames, &self.streams, &self.hasher, None);
        for (index, frame) in frames.iter().enumerate() {
            self.counters.bytes += frame.data.len() as u64;
            while let Some((first, rest)) = waiting.split_first()
                && first.place().0 < frame.number
            {
                self.handle_waiting(first, sink);
                waiting = rest;
            }
            if S::PACKETS {
                ring.prefetch_sink(index, &self.streams, sink);
            }
            let prefetched = ring.step::<X, S>(frames, index, &self.streams, &self.hasher, None);
            match prefetched.kind {
                FrameKind::Rtp if self.fast_path(prefetched, frame, sink) => self.counters.rtp += 1,
                _ => self.slow_path(frame, sink),
            }
        }
        waiting.iter().for_each(|waiting| self.handle_waiting(waiting, sink));
        self.prefetched = Some(ring);
    }

    /// Handles what waited for its place in the order of frames.
    fn handle_waiting<S: Sink>(&mut self, waiting: &Waiting<'_>, sink: &mut S) {
        match waiting {
            Waiting::Datagram(held) => {
                if self.order.number != held.number {
                    self.begin_frame(held.number);
                }
                self.datagram(held.owner, &held.datagram, held.is_original, sink);
            }
            Waiting::Update(update) => self.streams.apply(update),
        }
    }
}
