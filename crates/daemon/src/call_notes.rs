//! What the journal has of a call in progress for the next run: notes, written and read.

use ringtap_engine::{ContinuedCodec, ContinuedLeg};
use ringtap_model::Endpoint;
use ringtap_recorder::noted_decision::NotedDecision;
use ringtap_store::CallNote;
use serde::{Deserialize, Serialize};

/// Media endpoints of a call, as the journal has them.
#[derive(Serialize, Deserialize)]
struct State {
    version: u32,
    legs: Vec<Leg>,
}

#[derive(Serialize, Deserialize)]
struct Leg {
    endpoint: Endpoint,
    caller: bool,
    /// Payload type, encoding name, clock and channels.
    codecs: Vec<(u8, String, u32, u8)>,
}

const VERSION: u32 = 1;

/// The notes of a call in progress for the next run.
pub(crate) fn notes(legs: Vec<ContinuedLeg>, decision: Option<NotedDecision>) -> Vec<CallNote> {
    let codec = |codec: ContinuedCodec| (codec.payload_type, codec.name, codec.clock, codec.channels);
    let legs = legs.into_iter().map(|leg| Leg {
        endpoint: leg.endpoint,
        caller: leg.is_caller,
        codecs: leg.codecs.into_iter().map(codec).collect(),
    });
    let state = State { version: VERSION, legs: legs.collect() };
    // INVARIANT: texts and numbers alone; none can fail to serialise.
    let state = CallNote::State(serde_json::to_vec(&state).unwrap_or_default());
    let decision = decision.map(|decision| CallNote::Decision(decision.bits()));
    decision.into_iter().chain([state]).collect()
}

/// The endpoints in a note; None if it is another note, or one of another version.
pub(crate) fn legs_of_note(note: &CallNote) -> Option<Vec<ContinuedLeg>> {
    let CallNote::State(state) = note else { return None };
    let state = serde_json::from_slice::<State>(state).ok().filter(|state| state.version == VERSION)?;
    let codec =
        |(payload_type, name, clock, channels)| ContinuedCodec { payload_type, name, clock, channels };
    let legs = state.legs.into_iter().take(MOST_LEGS).map(|leg| ContinuedLeg {
        endpoint: leg.endpoint,
        is_caller: leg.caller,
        codecs: leg.codecs.into_iter().take(MOST_CODECS).map(codec).collect(),
    });
    Some(legs.collect())
}

/// A journal may say what it likes: no call has more endpoints, nor a description more payload types.
const MOST_LEGS: usize = 32;
const MOST_CODECS: usize = 128;

#[cfg(test)]
mod tests {
    use super::*;

    fn leg(codecs: usize) -> ContinuedLeg {
        let codec = |number: usize| ContinuedCodec {
            payload_type: number as u8,
            name: "opus".to_owned(),
            clock: 48_000,
            channels: 2,
        };
        let endpoint = Endpoint::new([192, 0, 2, 1].into(), 4_000);
        ContinuedLeg { endpoint, is_caller: true, codecs: (0..codecs).map(codec).collect() }
    }

    #[test]
    fn endpoints_come_back_as_they_were_noted_and_no_more_than_a_call_can_have() {
        let read = |notes: &[CallNote]| notes.iter().find_map(legs_of_note);
        assert_eq!(read(&notes(vec![leg(2)], None)), Some(vec![leg(2)]));
        let many = read(&notes(vec![leg(200); 100], None)).unwrap_or_default();
        assert_eq!(many, vec![leg(128); 32]);
        // Another version, damage, nothing.
        for state in [r#"{"version":2,"legs":[]}"#, r#"{"version":1"#, "\u{0}", ""] {
            assert_eq!(read(&[CallNote::State(state.as_bytes().to_vec())]), None);
        }
    }
}
