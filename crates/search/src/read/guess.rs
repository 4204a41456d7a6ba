//! Bare words: which field is meant.

use ringtap_model::filter::digits_of;
use ringtap_model::{CallState, NoteCode};

use super::value::{list_name, texts_of, unquoted, values};
use super::{host, time};
use crate::context::Context;
use crate::error::ParseError;
use crate::expression::{Condition, Expression};
use crate::field::FieldName;
use crate::lexer::{Operator, RawValue, Segment};

/// What a bare word means: a time, an address, a number from its beginning or its end, a Call-ID or a SIP
/// address, a state, a note, a codec, or any text of the call. What is quoted is a text, or a time.
pub(crate) fn guess(raw: &RawValue, context: &Context) -> Result<Expression, ParseError> {
    if let Some(name) = list_name(raw) {
        return list(name, raw, context);
    }
    let text = raw.text();
    if time::is_time(&text, context) {
        return condition(FieldName::At, raw, context);
    }
    if raw.is_quoted() {
        return condition(FieldName::Text, raw, context);
    }
    match field_of(&text) {
        Guess::One(field) => condition(field, raw, context),
        Guess::Yes(field) => condition(field, &unquoted("yes", raw.place), context),
        Guess::Number => number(raw, context),
        Guess::Address => {
            let address = without_scheme(raw);
            let conditions =
                [FieldName::CallId, FieldName::Uri].map(|field| condition(field, &address, context));
            Ok(Expression::any(conditions.into_iter().collect::<Result<Vec<_>, _>>()?))
        }
        Guess::Id => {
            let conditions = [FieldName::Id, FieldName::CallId].map(|field| condition(field, raw, context));
            Ok(Expression::any(conditions.into_iter().collect::<Result<Vec<_>, _>>()?))
        }
    }
}

enum Guess {
    One(FieldName),
    Yes(FieldName),
    Number,
    /// A Call-ID, or the address of a party.
    Address,
    /// The id of a record, or a Call-ID.
    Id,
}

fn field_of(text: &str) -> Guess {
    let is_star = text.chars().all(|c| c == '*');
    if host::host(text).is_some() {
        return Guess::One(FieldName::Ip);
    }
    if text.len() == 32 && text.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return Guess::Id;
    }
    if text.ends_with('…') {
        return Guess::One(FieldName::CallId);
    }
    if text.contains('@') {
        return Guess::Address;
    }
    let bare = scheme_of(text).map_or(text, |(_, rest)| rest);
    if digits_of(bare).is_some() || (scheme_of(text).is_some() && !is_star) {
        return Guess::Number;
    }
    let lower = text.to_ascii_lowercase();
    if lower == "problem" || lower == "problems" {
        return Guess::Yes(FieldName::Problem);
    }
    Guess::One(if CallState::from_name(&lower).is_some() {
        FieldName::State
    } else if NoteCode::from_name(&lower).is_some() {
        FieldName::Note
    } else if CODECS.contains(&lower.replace(['.', '-', '_'], "").as_str()) {
        FieldName::Codec
    } else {
        FieldName::Text
    })
}

/// Digits match the end of a number as well as its beginning, unless a `*` says which.
fn number(raw: &RawValue, context: &Context) -> Result<Expression, ParseError> {
    let raw = without_scheme(raw);
    let text = raw.text();
    if text.contains('*') || digits_of(&text).is_none() {
        return condition(FieldName::Number, &raw, context);
    }
    let ends = [format!("*{text}"), format!("{text}*")].map(|text| unquoted(&text, raw.place));
    // `+44` begins a number; a number may be written with it or without.
    let ends = if text.starts_with('+') { &ends[1..] } else { &ends };
    let test = values(FieldName::Number.field(), Operator::Is, ends, context)?;
    Ok(Expression::Condition(Condition { field: FieldName::Number, test }))
}

/// A list is one of numbers or of addresses if all of its values are, otherwise one of texts.
fn list(name: &str, raw: &RawValue, context: &Context) -> Result<Expression, ParseError> {
    let texts = texts_of(name, raw.place, context)?;
    let field = if texts.iter().all(|text| host::host(text).is_some()) {
        FieldName::Ip
    } else if texts.iter().all(|text| digits_of(text).is_some()) {
        FieldName::Number
    } else {
        FieldName::Text
    };
    condition(field, raw, context)
}

fn condition(field: FieldName, raw: &RawValue, context: &Context) -> Result<Expression, ParseError> {
    let test = values(field.field(), Operator::Is, std::slice::from_ref(raw), context)?;
    Ok(Expression::Condition(Condition { field, test }))
}

/// A URI without `sip:`, as it was copied from a message.
fn without_scheme(raw: &RawValue) -> RawValue {
    match (scheme_of(&raw.text()), &raw.segments[..]) {
        (Some((_, rest)), [Segment { is_quoted: false, .. }]) => unquoted(rest, raw.place),
        _ => raw.clone(),
    }
}

fn scheme_of(text: &str) -> Option<(&str, &str)> {
    let (scheme, rest) = text.split_once(':')?;
    let is_scheme = ["sip", "sips", "tel"].iter().any(|known| scheme.eq_ignore_ascii_case(known));
    (is_scheme && !rest.is_empty()).then_some((scheme, rest))
}

/// Codecs that a bare word names, in lower case and without punctuation.
const CODECS: [&str; 15] = [
    "pcmu", "pcma", "g711", "g711u", "g711a", "g722", "g726", "g729", "opus", "amr", "amrwb", "gsm", "ilbc",
    "evs", "speex",
];
