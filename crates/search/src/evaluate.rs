//! Whether a call satisfies an expression.

use ringtap_model::{Call, Stream};

use crate::expression::{Condition, Expression, Test};
use crate::fact::Fact;
use crate::field::{FieldName, Subject};

impl Expression {
    /// Whether `call`, which has these streams, satisfies it.
    pub fn matches(&self, call: &Call, streams: &[Stream]) -> bool {
        match self {
            Self::All(parts) => parts.iter().all(|part| part.matches(call, streams)),
            Self::Any(parts) => parts.iter().any(|part| part.matches(call, streams)),
            Self::Not(inner) => !inner.matches(call, streams),
            Self::Condition(condition) => {
                condition.holds_for_call(call)
                    || (condition.is_about_streams()
                        && streams.iter().any(|stream| condition.holds_for_stream(stream)))
            }
            Self::Stream(inner) => streams.iter().any(|stream| inner.matches_stream(stream)),
        }
    }

    /// Whether `call` satisfies it, where that follows from the call without its streams.
    pub fn matches_call(&self, call: &Call) -> Option<bool> {
        match self {
            Self::All(parts) => fold(parts, false, |part| part.matches_call(call)),
            Self::Any(parts) => fold(parts, true, |part| part.matches_call(call)),
            Self::Not(inner) => inner.matches_call(call).map(|matches| !matches),
            Self::Condition(condition) => match condition.holds_for_call(call) {
                false if condition.is_about_streams() && !call.streams.is_empty() => None,
                holds => Some(holds),
            },
            Self::Stream(_) => call.streams.is_empty().then_some(false),
        }
    }

    /// Whether it can depend on the streams of a call.
    pub fn needs_streams(&self) -> bool {
        match self {
            Self::All(parts) | Self::Any(parts) => parts.iter().any(Self::needs_streams),
            Self::Not(inner) => inner.needs_streams(),
            Self::Condition(condition) => condition.is_about_streams(),
            Self::Stream(_) => true,
        }
    }

    fn matches_stream(&self, stream: &Stream) -> bool {
        match self {
            Self::All(parts) => parts.iter().all(|part| part.matches_stream(stream)),
            Self::Any(parts) => parts.iter().any(|part| part.matches_stream(stream)),
            Self::Not(inner) => !inner.matches_stream(stream),
            Self::Condition(condition) => condition.holds_for_stream(stream),
            Self::Stream(inner) => inner.matches_stream(stream),
        }
    }
}

/// `decisive` if a part is so; not known if one is not known; otherwise the opposite.
fn fold(parts: &[Expression], decisive: bool, matches: impl Fn(&Expression) -> Option<bool>) -> Option<bool> {
    let mut all = Some(!decisive);
    for part in parts {
        match matches(part) {
            Some(matches) if matches == decisive => return Some(decisive),
            Some(_) => {}
            None => all = None,
        }
    }
    all
}

impl Condition {
    /// Whether, outside of `stream(...)`, a stream can satisfy it.
    pub fn is_about_streams(&self) -> bool {
        self.field().subject == Subject::Streams || self.field == FieldName::Ip
    }

    fn holds_for_call(&self, call: &Call) -> bool {
        self.field.of_call(call, &mut |fact| self.test.holds(&fact))
    }

    fn holds_for_stream(&self, stream: &Stream) -> bool {
        self.field.of_stream(stream, &mut |fact| self.test.holds(&fact))
    }
}

impl Test {
    fn holds(&self, fact: &Fact<'_>) -> bool {
        match self {
            Self::Exists => !matches!(fact, Fact::Flag(false)),
            Self::OneOf(values) => values.iter().any(|value| value.holds(fact)),
        }
    }
}
