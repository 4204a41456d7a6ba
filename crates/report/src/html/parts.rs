//! What the page is made of.

use ringtap_model::{Call, Endpoint, Nanos, Stream};

use crate::ladder::{Band, Step};
use crate::style::Style;

/// A call as the page shows it.
pub struct CallDetails<'a> {
    /// Its record.
    pub call: &'a Call,
    /// Its streams.
    pub streams: &'a [Stream],
    /// Its messages as steps of the ladder.
    pub steps: &'a [Step],
    /// Its streams beside the ladder.
    pub bands: &'a [Band],
    /// Sentences below the ladder.
    pub remarks: &'a [String],
    /// Its messages as text.
    pub messages: &'a [MessageText],
    /// Its sound, if sound was asked for.
    pub sound: Option<&'a Sound>,
}

/// A message as it was sent.
#[derive(Clone, Debug)]
pub struct MessageText {
    /// Time of capture.
    pub time: Nanos,
    /// Sender.
    pub src: Endpoint,
    /// Receiver.
    pub dst: Endpoint,
    /// The message; bytes that are not UTF-8 are replaced.
    pub text: String,
}

/// The sound of a call.
pub enum Sound {
    /// A file that browsers play.
    File {
        /// Its media type.
        mime: &'static str,
        /// Its bytes.
        data: Vec<u8>,
        /// What is heard on which side.
        sides: String,
    },
    /// Why there is none, in one sentence.
    Missing(String),
}

impl Sound {
    /// Bytes that it takes in the page, roughly.
    pub fn size(&self) -> usize {
        match self {
            Self::File { data, .. } => data.len().div_ceil(3) * 4,
            Self::Missing(_) => 0,
        }
    }
}

/// The page around the calls.
pub struct Page<'a> {
    /// What was read.
    pub title: &'a str,
    /// One sentence each: what the page covers.
    pub about: &'a [String],
    /// Name and value of each figure of the summary.
    pub summary: &'a [(&'static str, String)],
    /// Calls in their order.
    pub calls: &'a [CallEntry],
    /// Streams without a call.
    pub streams: &'a [Stream],
    /// One sentence each: what was left out, and the option that shows it.
    pub left_out: &'a [String],
}

/// A call that is written already.
pub struct CallEntry {
    pub(super) row: String,
    pub(super) section: Option<String>,
    /// Codes of its notes.
    pub(super) notes: Vec<&'static str>,
}

/// Codes of the notes of a call, each once.
pub(super) fn codes(call: &Call) -> Vec<&'static str> {
    let mut codes: Vec<_> = call.notes.iter().map(|note| note.code.name()).collect();
    codes.sort_unstable();
    codes.dedup();
    codes
}

/// The class of a style that is a colour.
pub(super) fn class(style: Style) -> Option<&'static str> {
    match style {
        Style::Good => Some("good"),
        Style::Fair => Some("fair"),
        Style::Bad => Some("bad"),
        Style::Dim => Some("dim"),
        Style::Plain | Style::Bold => None,
    }
}
