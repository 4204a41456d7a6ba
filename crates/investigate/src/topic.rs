//! What the marks rest on: fields that say the same again distinguish nothing.

use ringtap_model::{Condition, Filter, NoteCode};

/// What a field is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Topic {
    /// Where a call and its media came from and went to: addresses, networks, trunks.
    Path,
    /// The calling number.
    Caller,
    /// The called number.
    Callee,
    /// User-Agent and Server.
    Device,
    /// Codec and packet time.
    Codec,
    /// When the call began: for calls that were marked by a stretch of a chart.
    Time,
    /// What carried the signalling.
    Transport,
    /// STIR/SHAKEN.
    Identity,
    /// Packets that this monitor lost.
    Capture,
    /// Notes, of whatever they are.
    Note,
    /// How long the call lasted, and who ended it.
    Length,
    /// How the call ended, and what the signalling did: state, codes, retransmissions, post-dial delay.
    Outcome,
    /// How it sounded: MOS, loss, jitter, and where packets were lost.
    Quality,
}

/// What the calls were marked by. The default is nothing that a record tells, as by hand.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MarkedBy {
    topics: Vec<Topic>,
}

impl MarkedBy {
    /// Marked by these.
    pub fn new(topics: impl IntoIterator<Item = Topic>) -> Self {
        let mut topics: Vec<Topic> = topics.into_iter().collect();
        topics.sort_unstable();
        topics.dedup();
        Self { topics }
    }

    /// Marked by a filter. A time says which calls are looked at, not which of them are marked.
    pub fn filter(filter: &Filter) -> Self {
        Self::new(filter.0.iter().flat_map(of_condition))
    }

    /// Marked by a search with these fields of the search language. Times count for nothing: they say which
    /// calls are looked at. Neither do names that the language does not have.
    pub fn fields<'a>(names: impl IntoIterator<Item = &'a str>) -> Self {
        Self::new(names.into_iter().flat_map(of_field).copied())
    }

    /// Marked by both.
    #[must_use]
    pub fn with(self, other: Self) -> Self {
        Self::new(self.topics.into_iter().chain(other.topics))
    }

    /// Marked by this as well.
    #[must_use]
    pub fn and(self, topic: Topic) -> Self {
        Self::new(self.topics.into_iter().chain([topic]))
    }

    /// Whether a field about this would say again, or follow from, what the calls were marked by.
    ///
    /// How a call ended and how it sounded each leave traces in the other: a call that failed has no sound,
    /// and one that sounds bad was answered, and is hung up soon.
    pub(crate) fn explains(&self, topic: Topic) -> bool {
        let by = |topics: &[Topic]| topics.iter().any(|topic| self.topics.contains(topic));
        match topic {
            Topic::Outcome => by(&[Topic::Outcome, Topic::Quality, Topic::Length]),
            Topic::Quality => by(&[Topic::Outcome, Topic::Quality]),
            Topic::Length => by(&[Topic::Outcome, Topic::Quality, Topic::Length]),
            topic => by(&[topic]),
        }
    }

    /// Whether only a call that was answered can be marked: then others that were not answered say nothing.
    pub(crate) fn needs_answer(&self) -> bool {
        self.topics.iter().any(|topic| matches!(topic, Topic::Quality | Topic::Length))
    }
}

fn of_condition(condition: &Condition) -> Vec<Topic> {
    match condition {
        Condition::From(_) => vec![Topic::Caller],
        Condition::To(_) => vec![Topic::Callee],
        Condition::Number(_) | Condition::CallId(_) | Condition::Conversation(_) => {
            vec![Topic::Caller, Topic::Callee]
        }
        Condition::State(_) | Condition::Code(_) => vec![Topic::Outcome],
        Condition::Since(_) | Condition::Until(_) => vec![],
        Condition::MosBelow(_) | Condition::LossAbove(_) => vec![Topic::Quality],
        Condition::Duration(_) => vec![Topic::Length],
        Condition::Codec(_) => vec![Topic::Codec],
        Condition::Ip(_) | Condition::Trunk(_) => vec![Topic::Path],
        Condition::UserAgent(_) => vec![Topic::Device],
        Condition::Note(codes) if codes.iter().all(|code| is_of_sound(*code)) => {
            vec![Topic::Note, Topic::Quality]
        }
        Condition::Note(_) | Condition::Problems => vec![Topic::Note, Topic::Outcome],
    }
}

/// What a field of the search language is about.
fn of_field(name: &str) -> &'static [Topic] {
    match name {
        "from" => &[Topic::Caller],
        "to" | "diverted" | "country" => &[Topic::Callee],
        "number" | "uri" | "callid" | "id" | "conversation" => &[Topic::Caller, Topic::Callee],
        // A word may be anything that stands in a call.
        "text" => &[Topic::Caller, Topic::Callee, Topic::Device, Topic::Path, Topic::Outcome, Topic::Note],
        "ip" | "net" | "site" | "trunk" | "sensor" => &[Topic::Path],
        "ua" => &[Topic::Device],
        "codec" | "ptime" => &[Topic::Codec],
        "state" | "code" | "cause" | "reason" | "retrans" | "pdd" | "ring" => &[Topic::Outcome],
        "dur" | "hangup" => &[Topic::Length],
        "mos" | "mosworst" | "loss" | "jitter" | "silence" | "clipped" | "rtt" | "lostat" => {
            &[Topic::Quality]
        }
        "note" | "problem" => &[Topic::Note, Topic::Outcome],
        "drops" => &[Topic::Capture],
        "attest" | "identity" => &[Topic::Identity],
        "transport" => &[Topic::Transport],
        _ => &[],
    }
}

/// Whether a note tells how a call sounded, which only one that was answered can have.
fn is_of_sound(code: NoteCode) -> bool {
    use NoteCode::{
        Clipped, DirectionNotCaptured, DurationsDiffer, LateMedia, LatePackets, LongGap, Loss, LowMos,
        MediaElsewhere, NoAudio, OneWay, SignallingOnly, Silent,
    };
    let media = [OneWay, NoAudio, SignallingOnly, MediaElsewhere, DirectionNotCaptured, LateMedia];
    let sound = [Loss, LowMos, LatePackets, LongGap, Clipped, Silent, DurationsDiffer];
    media.contains(&code) || sound.contains(&code)
}

#[cfg(test)]
mod tests {
    use ringtap_model::CallState;

    use super::*;

    #[test]
    fn a_filter_explains_what_follows_from_it() {
        let filter = |condition| MarkedBy::filter(&Filter(vec![condition]));
        let low = filter(Condition::MosBelow(3.0));
        assert!(low.explains(Topic::Quality) && low.explains(Topic::Outcome) && low.needs_answer());
        assert!(!low.explains(Topic::Codec) && !low.explains(Topic::Path) && !low.explains(Topic::Note));
        let failed = filter(Condition::State(vec![CallState::Failed]));
        assert!(failed.explains(Topic::Outcome) && failed.explains(Topic::Quality) && !failed.needs_answer());
        assert!(filter(Condition::Note(vec![NoteCode::OneWay])).needs_answer());
        assert!(!filter(Condition::Note(vec![NoteCode::OneWay, NoteCode::Nat])).needs_answer());
        assert_eq!(filter(Condition::Since(ringtap_model::Nanos::ZERO)), MarkedBy::default());
    }

    #[test]
    fn fields_of_a_search_explain_the_same() {
        let low = MarkedBy::filter(&Filter(vec![Condition::MosBelow(3.0)]));
        assert_eq!(MarkedBy::fields(["mos", "began", "nonsense"]), low);
        assert_eq!(MarkedBy::fields(["at"]), MarkedBy::default());
        let brushed = MarkedBy::default().and(Topic::Time);
        assert!(brushed.explains(Topic::Time) && !low.explains(Topic::Time));
    }
}
