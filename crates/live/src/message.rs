//! A SIP message with the frames that carried it.

use std::ops::Range;

use ringtap_engine::SipSeen;
use ringtap_model::{Endpoint, Frame, LinkType, Nanos, Transport};
use ringtap_report::message;

/// A frame that carried a message.
#[derive(Clone, Debug)]
pub struct CapturedFrame {
    /// When it was captured.
    pub time: Nanos,
    /// Its number in the capture.
    pub number: u64,
    /// Its link type.
    pub link: LinkType,
    /// Bytes on the wire.
    pub wire_len: u32,
    /// The captured bytes.
    pub data: Box<[u8]>,
}

/// The text of a message.
#[derive(Clone, Debug)]
enum Text {
    /// A range of its first frame.
    InFrame(Range<usize>),
    /// A copy, reassembled from several frames.
    Reassembled(Box<[u8]>),
}

/// A SIP message.
#[derive(Clone, Debug)]
pub struct SipMessage {
    /// Time of capture.
    pub time: Nanos,
    /// Sender.
    pub src: Endpoint,
    /// Receiver.
    pub dst: Endpoint,
    /// Transport protocol.
    pub transport: Transport,
    /// Label in a ladder.
    pub label: Box<str>,
    /// Status code of a response; `None` for a request.
    pub code: Option<u16>,
    /// The same bytes were seen before.
    pub retransmission: bool,
    /// Its frames, without those from earlier batches (segments of a message over TCP).
    pub frames: Box<[CapturedFrame]>,
    /// All of its frames are present.
    pub whole: bool,
    text: Text,
}

impl SipMessage {
    /// The message as it was sent.
    pub fn text(&self) -> &[u8] {
        match &self.text {
            Text::InFrame(range) => {
                self.frames.first().and_then(|frame| frame.data.get(range.clone())).unwrap_or_default()
            }
            Text::Reassembled(text) => text,
        }
    }

    pub(crate) fn bytes(&self) -> usize {
        let reassembled = if let Text::Reassembled(text) = &self.text { text.len() } else { 0 };
        let frames: usize =
            self.frames.iter().map(|frame| frame.data.len() + size_of::<CapturedFrame>()).sum();
        size_of::<Self>() + self.label.len() + reassembled + frames
    }
}

impl CapturedFrame {
    /// A copy of a frame.
    pub(crate) fn of(frame: &Frame<'_>) -> Self {
        Self {
            time: frame.time,
            number: frame.number,
            link: frame.link,
            wire_len: frame.wire_len,
            data: frame.data.into(),
        }
    }
}

/// Copies a message and those of its frames that are in the batch.
pub(crate) fn copy_message(seen: &SipSeen<'_>, frames: &[Frame<'_>]) -> SipMessage {
    let found = seen.frames.iter().filter_map(|number| {
        let index = frames.binary_search_by_key(number, |frame| frame.number).ok()?;
        frames.get(index)
    });
    let found: Vec<&Frame<'_>> = found.take(MOST_FRAMES).collect();
    let raw = seen.message.raw();
    // The message of a datagram borrows from its frame: it need not be stored twice.
    let within = found.first().and_then(|frame| {
        let start = (raw.as_ptr() as usize).checked_sub(frame.data.as_ptr() as usize)?;
        let range = start..start.checked_add(raw.len())?;
        (frame.data.get(range.clone()) == Some(raw)).then_some(range)
    });
    SipMessage {
        time: seen.time,
        src: seen.src,
        dst: seen.dst,
        transport: seen.transport,
        label: truncate(&message::label(seen.message)).into(),
        code: seen.message.code(),
        retransmission: seen.retransmission,
        whole: found.len() == seen.frames.len(),
        frames: found.into_iter().map(CapturedFrame::of).collect(),
        text: within.map_or_else(|| Text::Reassembled(raw.into()), Text::InFrame),
    }
}

/// The first 256 characters of a text: a name from the network can be as long as a datagram.
pub(crate) fn truncate(text: &str) -> &str {
    const MOST: usize = 256;
    text.char_indices().nth(MOST).map_or(text, |(end, _)| &text[..end])
}

/// A message over TCP can be cut into as many segments as it has bytes.
const MOST_FRAMES: usize = 64;
