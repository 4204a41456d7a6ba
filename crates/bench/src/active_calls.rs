//! Active calls as frames to send: for measuring a capture source with traffic that an engine can track.

use crate::dialog::{Message, Writer};
use crate::headers::Headers;
use crate::load::Codec;
use crate::packets::{self, Noise, Side};

/// Active calls: a frame for each stream, advanced after each sending.
pub struct ActiveCalls {
    set_up: Vec<Vec<u8>>,
    frames: Vec<Vec<u8>>,
    next: usize,
}

impl ActiveCalls {
    /// `calls` calls with two streams each.
    pub fn new(calls: u32, codec: Codec) -> Self {
        let (mut writer, mut noise) = (Writer::default(), Noise::new());
        let (mut set_up, mut frames) = (Vec::new(), Vec::new());
        for call in 0..calls.max(1) {
            set_up.extend(Message::SET_UP.map(|message| writer.frame(call, message, codec).to_vec()));
            for side in [Side::Caller, Side::Callee] {
                let mut frame = Vec::new();
                packets::rtp(&mut frame, codec, (call, side), (0, 0), false, &mut noise);
                frames.push(frame);
            }
        }
        Self { set_up, frames, next: 0 }
    }

    /// The messages that set the calls up, to be sent first.
    pub fn set_up(&self) -> &[Vec<u8>] {
        &self.set_up
    }

    /// The next packets, at most `most`, one stream after the other. Report those that were sent with
    /// [`ActiveCalls::sent`].
    pub fn packets(&self, most: usize) -> &[Vec<u8>] {
        let end = self.frames.len().min(self.next + most);
        &self.frames[self.next..end]
    }

    /// Reports that `count` of the last packets were sent: advances their streams.
    pub fn sent(&mut self, count: usize) {
        let end = self.frames.len().min(self.next + count);
        self.frames[self.next..end].iter_mut().for_each(|frame| packets::advance(frame, Headers::Plain, 1));
        self.next = if end == self.frames.len() { 0 } else { end };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::headers::PLAIN;

    #[test]
    fn every_stream_has_its_turn() {
        let mut talk = ActiveCalls::new(3, Codec::G711);
        assert_eq!(talk.set_up().len(), 15);
        let mut sent = Vec::new();
        for _ in 0..6 {
            sent.extend(talk.packets(4).iter().map(|frame| (frame[PLAIN + 11], frame[PLAIN + 3])));
            talk.sent(4);
        }
        // SSRC and sequence number: four streams, the two left, and again.
        assert_eq!(sent[..8], [(0, 0), (1, 0), (2, 0), (3, 0), (4, 0), (5, 0), (0, 1), (1, 1)]);
    }
}
