//! What is noted of a call in progress beside its record so far.

use ringtap_model::{Endpoint, Id, Nanos};
use serde::{Deserialize, Serialize};

/// Tags of these entries.
pub(super) const STREAM: u8 = b'S';
const DECISION: u8 = b'D';
const STATE: u8 = b'X';

/// What is noted of a call in progress.
#[derive(Clone, Debug, PartialEq)]
pub enum CallNote {
    /// A media stream belongs to it.
    Stream(NotedStream),
    /// What is recorded of it, in the recorder's own bits. Replaces the one before.
    Decision(u64),
    /// What is needed to go on with it after a restart, in a form of its own. Replaces the one before.
    State(Vec<u8>),
}

/// A media stream of a call in progress.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NotedStream {
    /// Sender as on the wire.
    pub src: Endpoint,
    /// Receiver as on the wire.
    pub dst: Endpoint,
    /// Synchronisation source.
    pub ssrc: u32,
    /// Payload type of its packets when it was noted.
    pub payload_type: u8,
    /// Time of its first packet.
    #[serde(rename = "first_us")]
    pub first: Nanos,
    /// When it was noted: of several calls that claimed it, it belongs to the last.
    #[serde(rename = "since_us")]
    pub since: Nanos,
}

/// Whether an entry with that tag is a note.
pub(super) fn is_note(tag: u8) -> bool {
    matches!(tag, STREAM | DECISION | STATE)
}

impl CallNote {
    pub(super) fn tag(&self) -> u8 {
        match self {
            Self::Stream(_) => STREAM,
            Self::Decision(_) => DECISION,
            Self::State(_) => STATE,
        }
    }

    /// Tag, id, content.
    pub(super) fn entry(&self, call: &Id) -> Vec<u8> {
        let mut entry = vec![self.tag()];
        entry.extend(call.0);
        match self {
            // INVARIANT: texts and numbers alone; none can fail to serialise.
            Self::Stream(stream) => entry.extend(serde_json::to_vec(stream).unwrap_or_default()),
            Self::Decision(bits) => entry.extend(bits.to_le_bytes()),
            Self::State(state) => entry.extend(state),
        }
        entry
    }

    /// As [`CallNote::entry`] gave it; `None` where another version wrote it.
    pub(super) fn of_entry(entry: &[u8]) -> Option<Self> {
        let (tag, content) = (*entry.first()?, entry.get(17..)?);
        match tag {
            STREAM => serde_json::from_slice(content).ok().map(Self::Stream),
            DECISION => {
                // Earlier versions wrote the first byte alone.
                let mut bits = [0; 8];
                let known = content.len().min(bits.len());
                bits[..known].copy_from_slice(&content[..known]);
                (known > 0).then_some(Self::Decision(u64::from_le_bytes(bits)))
            }
            STATE => Some(Self::State(content.to_vec())),
            _ => None,
        }
    }
}
