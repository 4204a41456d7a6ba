//! `call`: one call, with its conversation and its ladder.

use ringtap_model::{Call, Id, Stream};
use ringtap_report::{sentence, time};
use rmcp::model::JsonObject;
use serde::Deserialize;
use serde_json::{Value, json};

use super::tool::{Definition, arguments};
use crate::bounds::Room;
use crate::messages::ladder;
use crate::records::Messages;
use crate::refusal::Refusal;
use crate::request::{Request, brief};
use crate::schema;

pub(super) const TOOL: Definition = Definition {
    name: "call",
    title: "One call",
    description: "\
Everything about one call: what happened in a sentence, its record, the other legs of its conversation, and \
the ladder of its SIP messages as text (who sent what to whom, when). Then `messages` shows the messages \
themselves, and `streams` how each direction sounded. The resource ringtap://records says what the fields of \
the record mean. If no messages are there, `reasons` says why.",
    arguments: || {
        schema::object(
            &["id"],
            json!({
                "id": schema::text("Id of the record, 32 hex digits."),
                "ladder": {
                    "type": "boolean", "default": true,
                    "description": "Whether to draw the messages; captures are read again for it.",
                },
            }),
        )
    },
    answer: || {
        schema::open_object(
            &["id", "legs", "streams", "untrusted"],
            json!({
                "id": schema::text("Id of the record."),
                "began": schema::text_or_null("UTC."),
                "state": schema::text("completed, failed, cancelled, ..."),
                "legs": schema::list(schema::call()),
                "streams": schema::list(schema::text("Ids of its media streams.")),
                "messages": schema::count("SIP messages that were drawn."),
                "reasons": schema::list(schema::text("Why messages are missing.")),
                "untrusted": schema::open_object(
                    &["sentence", "record", "ladder"],
                    json!({
                        "sentence": schema::text("What happened."),
                        "record": { "type": "object" },
                        "ladder": schema::list(schema::text("A line.")),
                    }),
                ),
                "left_out": schema::left_out(),
            }),
        )
    },
    counts_all: false,
    run,
};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Arguments {
    id: String,
    ladder: Option<bool>,
}

fn run(request: &Request, given: JsonObject) -> Result<Value, Refusal> {
    let wanted: Arguments = arguments(&TOOL, given)?;
    let (call, streams) = request.call(&wanted.id)?;
    let legs = legs(request, &call)?;
    let messages = match wanted.ladder.unwrap_or(true) {
        true => {
            request.records.messages(&with_streams(request, &call, &streams, &legs)?, &request.running)?
        }
        false => Messages::default(),
    };
    let ladder = match messages.seen.is_empty() {
        true => Vec::new(),
        false => ladder(&messages.seen, request.tokens.as_ref()).map_err(anyhow::Error::from)?,
    };
    // Numbers of all legs are known while each part is masked.
    let briefs: Vec<Value> = legs.iter().filter(|leg| leg.id != call.id).map(brief).collect();
    let mut whole = request.shown(json!({
        "record": record(&call),
        "sentence": sentence::of_call(&call, &streams),
        "legs": briefs,
        "ladder": ladder,
        "reasons": messages.reasons,
    }));
    let mut part = |name: &str| match whole[name].take() {
        Value::Array(values) => values,
        _ => Vec::new(),
    };
    let (mut room, mut left_out) = (Room::default(), Vec::new());
    let (legs, missing) = room.fill(part("legs"));
    if missing > 0 {
        left_out.push(format!("{missing} legs: search for conversation:{}", conversation(&call)));
    }
    let (ladder, missing) = room.fill(part("ladder"));
    if missing > 0 {
        left_out.push(format!("{missing} lines of the ladder: `messages` has all messages, page by page"));
    }
    let (reasons, _) = room.fill(part("reasons"));
    let ids: Vec<Id> = streams.iter().map(|stream| stream.id).take(MOST_STREAMS).collect();
    Ok(json!({
        "id": call.id,
        "began": call.start().map(time::rfc3339),
        "state": call.state.name(),
        "conversation": call.conversation,
        "legs": legs,
        "streams": ids,
        "messages": messages.seen.len(),
        "reasons": reasons,
        "untrusted": { "sentence": whole["sentence"], "record": whole["record"], "ladder": ladder },
        "left_out": (!left_out.is_empty()).then(|| left_out.join("; ")),
    }))
}

/// The record without what stands elsewhere in the answer, and lists no longer than people read.
fn record(call: &Call) -> Value {
    let mut record = serde_json::to_value(call).unwrap_or_default();
    if let Some(fields) = record.as_object_mut() {
        fields.remove("streams");
        fields.retain(|_, value| !value.is_null());
        for (_, value) in fields.iter_mut() {
            if let Value::Array(values) = value {
                values.truncate(MOST_OF_A_LIST);
            }
        }
    }
    record
}

/// The legs of its conversation, itself among them.
fn legs(request: &Request, call: &Call) -> Result<Vec<Call>, Refusal> {
    let mut legs = match &call.conversation {
        Some(conversation) => request.records.legs(conversation)?,
        None => Vec::new(),
    };
    legs.truncate(MOST_LEGS);
    if !legs.iter().any(|leg| leg.id == call.id) {
        legs.push(call.clone());
    }
    Ok(legs)
}

fn with_streams(
    request: &Request,
    call: &Call,
    streams: &[Stream],
    legs: &[Call],
) -> Result<Vec<(Call, Vec<Stream>)>, Refusal> {
    let mut found = Vec::new();
    for leg in legs {
        match leg.id == call.id {
            true => found.push((call.clone(), streams.to_vec())),
            false => found.extend(request.records.call(&leg.id)?),
        }
    }
    Ok(found)
}

fn conversation(call: &Call) -> String {
    call.conversation.unwrap_or(call.id).to_string()
}

/// Most legs whose messages are drawn.
const MOST_LEGS: usize = 20;
/// Most streams that are named.
const MOST_STREAMS: usize = 200;
/// Most notes, digits and others of a record.
const MOST_OF_A_LIST: usize = 30;
