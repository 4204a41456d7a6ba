//! What follows from an expression for the conditions of a filter, and for the time in which calls began.

use ringtap_model::filter::DurationRange;
use ringtap_model::{CallState, Condition as Filtered, Filter, NoteCode};

use crate::expression::{Condition, Expression, Test};
use crate::fact::LOOKBACK;
use crate::field::FieldName;
use crate::value::{Range, TimeSpan, Value};

impl Expression {
    /// Conditions that every call satisfies that this selects; they may let in others.
    pub fn prefilter(&self) -> Filter {
        let mut filter = Vec::new();
        for part in self.parts() {
            match part {
                Self::Condition(condition) => filtered(condition, &mut filter),
                Self::Stream(inner) => {
                    inner.conditions().for_each(|condition| of_stream(condition, &mut filter))
                }
                _ => {}
            }
        }
        Filter(filter)
    }

    /// The time in which calls began that this selects.
    pub fn time_span(&self) -> TimeSpan {
        match self {
            Self::All(parts) => parts.iter().fold(TimeSpan::ALL, |span, part| span.and(part.time_span())),
            Self::Any(parts) => {
                parts.iter().map(Self::time_span).reduce(TimeSpan::hull).unwrap_or(TimeSpan::ALL)
            }
            Self::Not(_) | Self::Stream(_) => TimeSpan::ALL,
            Self::Condition(condition) => began(condition).unwrap_or(TimeSpan::ALL),
        }
    }
}

/// The time in which calls began that satisfy a condition on time.
fn began(condition: &Condition) -> Option<TimeSpan> {
    let reaches_back = match condition.field {
        FieldName::Began => false,
        FieldName::At | FieldName::Ended => true,
        _ => return None,
    };
    let spans = condition.values().into_iter().filter_map(|value| match value {
        Value::Time(span) if reaches_back => {
            Some(TimeSpan { from: span.from.map(|from| from.since(LOOKBACK)), to: span.to })
        }
        Value::Time(span) => Some(*span),
        _ => None,
    });
    spans.reduce(TimeSpan::hull)
}

/// Adds what follows from a condition on the call.
fn filtered(condition: &Condition, filter: &mut Vec<Filtered>) {
    let Test::OneOf(_) = condition.test else { return };
    let values = condition.values();
    match condition.field {
        FieldName::Began | FieldName::At | FieldName::Ended => {
            let span = began(condition).unwrap_or(TimeSpan::ALL);
            filter.extend(span.from.map(Filtered::Since));
            filter.extend(span.to.map(Filtered::Until));
        }
        FieldName::State => filter.extend(names(&values, CallState::from_name).map(Filtered::State)),
        FieldName::Note => filter.extend(names(&values, NoteCode::from_name).map(Filtered::Note)),
        FieldName::Code => {
            let codes = values.iter().filter_map(|value| match value {
                Value::Code(codes) => Some(*codes),
                _ => None,
            });
            filter.push(Filtered::Code(codes.collect()));
        }
        FieldName::Trunk => {
            let patterns = values.iter().filter_map(|value| match value {
                Value::Text(pattern) => Some(pattern.clone()),
                _ => None,
            });
            filter.push(Filtered::Trunk(patterns.collect()));
        }
        FieldName::Codec | FieldName::Ip | FieldName::Loss => of_stream(condition, filter),
        _ => {
            if let [value] = values[..] {
                filter.extend(single(condition.field, value));
            }
        }
    }
}

/// What follows from a condition with one value.
fn single(field: FieldName, value: &Value) -> Option<Filtered> {
    Some(match (field, value) {
        (FieldName::Number, Value::Number(pattern)) => Filtered::Number(pattern.clone()),
        (FieldName::From, Value::Number(pattern)) => Filtered::From(pattern.clone()),
        // Numbers that the call was routed on to are among those of the callee.
        (FieldName::To | FieldName::Diverted, Value::Number(pattern)) => Filtered::To(pattern.clone()),
        (FieldName::CallId, Value::Text(pattern)) => Filtered::CallId(pattern.clone()),
        (FieldName::Ua, Value::Words(_, words)) => Filtered::UserAgent(words.clone()),
        (FieldName::Problem, Value::Flag(true)) => Filtered::Problems,
        (FieldName::Conversation, Value::Id(id)) => Filtered::Conversation(*id),
        (FieldName::Mos, Value::Range(Range { to: Some((to, with)), .. })) => {
            Filtered::MosBelow(if *with { to.next_up() } else { *to })
        }
        (FieldName::Dur, Value::Range(Range { from, to })) => {
            Filtered::Duration(DurationRange { from: *from, to: *to })
        }
        _ => return None,
    })
}

/// Adds what follows from a condition on a stream of the call.
fn of_stream(condition: &Condition, filter: &mut Vec<Filtered>) {
    let Test::OneOf(_) = condition.test else { return };
    let values = condition.values();
    match condition.field {
        FieldName::Codec => {
            let names = values.iter().filter_map(|value| match value {
                Value::Codec(_, name) => Some(name.clone()),
                _ => None,
            });
            filter.push(Filtered::Codec(names.collect()));
        }
        FieldName::Ip => {
            let networks = values.iter().filter_map(|value| match value {
                Value::Host(host) => Some(host.network),
                _ => None,
            });
            filter.push(Filtered::Ip(networks.collect()));
        }
        FieldName::Loss => {
            if let [Value::Range(Range { from: Some((from, with)), .. })] = values[..] {
                filter.push(Filtered::LossAbove(if *with { from.next_down() } else { *from }));
            }
        }
        _ => {}
    }
}

/// The values of names, if all are known.
fn names<T>(values: &[&Value], from_name: fn(&str) -> Option<T>) -> Option<Vec<T>> {
    let of = |value: &&Value| match value {
        Value::Name(name) => from_name(name),
        _ => None,
    };
    values.iter().map(of).collect()
}
