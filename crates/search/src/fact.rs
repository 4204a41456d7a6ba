//! What a call and its streams have in a field.

use ringtap_model::filter::NumberPattern;
use ringtap_model::{Call, CallState, Endpoint, Id, Nanos, Stream};

use crate::field::FieldName;
use crate::value::{TimeSpan, Value};

/// What a record has in a field; it may have several.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Fact<'a> {
    /// A text, a number as it is written, or a name.
    Text(&'a str),
    /// User and host of a SIP address.
    Address(&'a str, &'a str),
    /// A number, in the unit that records have.
    Figure(f64),
    /// An address and a port.
    Host(Endpoint),
    /// A moment.
    Moment(Nanos),
    /// From a moment to another; to now where there is no other.
    Span(Nanos, Option<Nanos>),
    /// The end of what began at the first of two moments.
    End(Nanos, Nanos),
    /// The id of a record.
    Id(Id),
    /// Whether it is so.
    Flag(bool),
}

impl FieldName {
    /// Passes what `call` has in the field by itself, without its streams, until `each` returns true; returns
    /// whether it did.
    pub fn of_call<'c>(self, call: &'c Call, each: &mut dyn FnMut(Fact<'c>) -> bool) -> bool {
        let mut text = |text: &'c Option<String>| text.as_deref().is_some_and(|text| each(Fact::Text(text)));
        match self {
            Self::Number => of_callers(call, each) || of_callees(call, each),
            Self::From => of_callers(call, each),
            Self::To => of_callees(call, each),
            Self::Diverted => call.diverted_to.iter().any(|user| each(Fact::Text(user))),
            Self::Uri => of_addresses(call, each),
            Self::CallId => each(Fact::Text(&call.call_id)),
            Self::Ip => each(Fact::Host(call.src)) || each(Fact::Host(call.dst)),
            Self::Ua => text(&call.user_agent_caller) || text(&call.user_agent_callee),
            Self::Trunk => text(&call.trunk_from) || text(&call.trunk_to),
            Self::Text => of_texts(call, each),
            Self::Reason => text(&call.final_reason),
            Self::State => each(Fact::Text(call.state.name())),
            Self::Hangup => call.released_by.is_some_and(|party| each(Fact::Text(party.name()))),
            Self::Attest => call.attestation.is_some_and(|level| each(Fact::Text(level.name()))),
            Self::Identity => call.identity_status.is_some_and(|status| each(Fact::Text(status.name()))),
            Self::Transport => each(Fact::Text(call.transport.name())),
            Self::Recorded => each(Fact::Text(call.recorded.name())),
            Self::Note => call.notes.iter().any(|note| each(Fact::Text(note.code.name()))),
            Self::Problem => each(Fact::Flag(call.notes.iter().any(|note| note.code.is_problem()))),
            Self::At => call.start().is_some_and(|start| each(Fact::Span(start, end(call)))),
            Self::Began => call.start().is_some_and(|start| each(Fact::Moment(start))),
            Self::Ended => ended(call).is_some_and(each),
            Self::Conversation => call.conversation.is_some_and(|id| each(Fact::Id(id))),
            Self::Id => each(Fact::Id(call.id)),
            field => field.figure(call).is_some_and(|figure| each(Fact::Figure(figure))),
        }
    }

    /// The number that `call` has in the field, in the unit that records have: milliseconds, microseconds
    /// since 1970, or what is counted. None where it has none, or where the field has no order.
    pub fn figure(self, call: &Call) -> Option<f64> {
        let micros = |time: Nanos| time.micros() as f64;
        match self {
            // 0 stands for none.
            Self::Code => Some(f64::from(call.final_code)).filter(|code| *code > 0.0),
            Self::Cause => call.cause.map(f64::from),
            Self::Retrans => Some(f64::from(call.retransmissions)),
            Self::Mos => call.mos,
            Self::MosWorst => call.mos_worst_interval,
            Self::Pdd => call.pdd_ms,
            Self::Ring => {
                let (from, to) = (call.ringing?, call.answer.or(call.end)?);
                Some((to.micros().saturating_sub(from.micros())) as f64 / 1e3)
            }
            Self::Dur => call.duration_ms,
            Self::Drops => Some(call.capture_drops as f64),
            Self::Began => call.start().map(micros),
            Self::Ended => call.end.map(micros),
            _ => None,
        }
    }

    /// Passes what `stream` has in the field, until `each` returns true; returns whether it did.
    pub fn of_stream<'s>(self, stream: &'s Stream, each: &mut dyn FnMut(Fact<'s>) -> bool) -> bool {
        let mut figure = |figure: Option<f64>| figure.is_some_and(|figure| each(Fact::Figure(figure)));
        match self {
            Self::Mos => figure(stream.mos),
            Self::MosWorst => figure(stream.intervals.iter().filter_map(|part| part.mos).reduce(f64::min)),
            Self::Dur => figure(Some(stream.duration_ms())),
            Self::Ptime => figure(stream.ptime_ms),
            Self::Loss => figure(Some(stream.loss_pct())),
            Self::Jitter => figure(stream.jitter_ms_mean),
            Self::Silence => figure(stream.silence_pct),
            Self::Clipped => figure(stream.clipped_pct),
            Self::Rtt => figure(stream.rtt_ms),
            Self::Ip => each(Fact::Host(stream.src)) || each(Fact::Host(stream.dst)),
            Self::Codec => stream.codec.as_deref().is_some_and(|codec| each(Fact::Text(codec))),
            Self::LostAt => stream.lost_at.is_some_and(|place| each(Fact::Text(place.name()))),
            Self::Direction => stream.direction.is_some_and(|way| each(Fact::Text(way.name()))),
            Self::Note => stream.notes.iter().any(|note| each(Fact::Text(note.code.name()))),
            Self::Problem => each(Fact::Flag(stream.notes.iter().any(|note| note.code.is_problem()))),
            _ => false,
        }
    }
}

fn of_callers<'c>(call: &'c Call, each: &mut dyn FnMut(Fact<'c>) -> bool) -> bool {
    [&call.from_user, &call.asserted_identity].into_iter().flatten().any(|user| each(Fact::Text(user)))
}

fn of_callees<'c>(call: &'c Call, each: &mut dyn FnMut(Fact<'c>) -> bool) -> bool {
    let named = [&call.to_user, &call.ruri_user].into_iter().flatten();
    named.chain(&call.diverted_to).any(|user| each(Fact::Text(user)))
}

fn of_addresses<'c>(call: &'c Call, each: &mut dyn FnMut(Fact<'c>) -> bool) -> bool {
    let addresses = [
        (&call.from_user, &call.from_host),
        (&call.to_user, &call.to_host),
        (&call.ruri_user, &call.ruri_host),
    ];
    addresses.into_iter().any(|(user, host)| match (user, host) {
        (None, None) => false,
        (user, host) => {
            each(Fact::Address(user.as_deref().unwrap_or_default(), host.as_deref().unwrap_or_default()))
        }
    })
}

fn of_texts<'c>(call: &'c Call, each: &mut dyn FnMut(Fact<'c>) -> bool) -> bool {
    let texts = [
        &call.from_user,
        &call.from_host,
        &call.from_display,
        &call.to_user,
        &call.to_host,
        &call.ruri_user,
        &call.ruri_host,
        &call.asserted_identity,
        &call.final_reason,
        &call.user_agent_caller,
        &call.user_agent_callee,
        &call.trunk_from,
        &call.trunk_to,
        &call.origination_id,
    ];
    each(Fact::Text(&call.call_id))
        || texts.into_iter().flatten().chain(&call.diverted_to).any(|text| each(Fact::Text(text)))
        || each(Fact::Text(call.state.name()))
        || call
            .notes
            .iter()
            .any(|note| each(Fact::Text(note.code.name())) || each(Fact::Text(&note.evidence)))
}

fn ended<'c>(call: &Call) -> Option<Fact<'c>> {
    Some(Fact::End(call.start()?, call.end?))
}

/// The last moment at which the call was up; none where it goes on, as far as is known.
fn end(call: &Call) -> Option<Nanos> {
    let goes_on = matches!(call.state, CallState::Active | CallState::Ringing | CallState::Trying);
    let last = || [call.invite, call.trying, call.ringing, call.answer].into_iter().flatten().max();
    call.end.or_else(|| if goes_on { None } else { last() })
}

impl Value {
    /// Whether `fact` is this value.
    pub(crate) fn holds(&self, fact: &Fact<'_>) -> bool {
        match (self, fact) {
            (Self::List(_, values), fact) => values.iter().any(|value| value.holds(fact)),
            (Self::Number(pattern), Fact::Text(text)) => NumberPattern::matches(pattern, text),
            (Self::Text(pattern), Fact::Text(text)) => pattern.matches(text),
            // A user or a host with an `@` of its own is none that could be written.
            (Self::Text(_), Fact::Address(user, host)) if user.contains('@') || host.contains('@') => false,
            (Self::Text(pattern), Fact::Address(user, host)) => match (*user, *host) {
                ("", host) => pattern.matches(host) || pattern.matches(&format!("@{host}")),
                (user, host) => pattern.matches(&format!("{user}@{host}")),
            },
            (Self::Words(_, words), Fact::Text(text)) => words.matches(text),
            (Self::Codec(_, name), Fact::Text(text)) => name.matches(text),
            (Self::Name(name), Fact::Text(text)) => name == text,
            (Self::Host(host), Fact::Host(endpoint)) => host.holds(*endpoint),
            (Self::Code(codes), Fact::Figure(code)) => codes.contains(*code as u16),
            (Self::Range(range), Fact::Figure(figure)) => range.contains(*figure),
            (Self::Time(span), Fact::Moment(time)) => span.contains(*time),
            (Self::Time(span), Fact::Span(from, to)) => overlaps(span, *from, *to),
            (Self::Time(span), Fact::End(from, to)) => reaches(span, *from) && span.contains(*to),
            (Self::Id(id), Fact::Id(other)) => id == other,
            (Self::Flag(is), Fact::Flag(other)) => is == other,
            _ => false,
        }
    }
}

fn overlaps(span: &TimeSpan, from: Nanos, to: Option<Nanos>) -> bool {
    let begins = reaches(span, from) && span.to.is_none_or(|end| from.micros() < end.micros());
    begins && span.from.is_none_or(|begin| to.is_none_or(|to| to.micros() >= begin.micros()))
}

/// Whether a search for what was up, or ended, in a span of time reaches back to what began at `from`.
fn reaches(span: &TimeSpan, from: Nanos) -> bool {
    span.from.is_none_or(|begin| from.micros() >= begin.since(LOOKBACK).micros())
}

/// No call that began so long before a time is found as up then, or as ended then: days of calls need not be
/// looked through for one of which the end was never seen.
pub(crate) const LOOKBACK: Nanos = Nanos::from_secs(86_400);
