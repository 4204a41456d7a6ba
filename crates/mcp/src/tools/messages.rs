//! `messages`: the SIP messages of a call.

use ringtap_report::time;
use rmcp::model::JsonObject;
use serde::Deserialize;
use serde_json::{Value, json};

use super::tool::{Definition, arguments, within};
use crate::bounds::Room;
use crate::messages::{SeenMessage, label};
use crate::refusal::Refusal;
use crate::request::Request;
use crate::schema;

pub(super) const TOOL: Definition = Definition {
    name: "messages",
    title: "SIP messages of a call",
    description: "\
The SIP messages of one call in order of time, a page at a time: headers and body (SDP) of each, or its raw \
lines. `first` is the number of the message to begin with; `next` says where to go on. Where numbers are \
hidden, names, hosts and addresses within messages are replaced too, each consistently; the addresses that \
messages really came from and went to are `src` and `dst`.",
    arguments: || {
        schema::object(
            &["id"],
            json!({
                "id": schema::text("Id of the call's record, 32 hex digits."),
                "raw": {
                    "type": "boolean", "default": false,
                    "description": "Lines as they were sent, instead of headers and body.",
                },
                "first": schema::number("Message to begin with, from 1.", 1, 10_000, 1),
                "limit": schema::number("Messages of a page.", 1, MOST, USUAL),
            }),
        )
    },
    answer: || {
        let message = schema::open_object(
            &["number", "time", "src", "dst", "untrusted"],
            json!({
                "number": schema::count("Its place among the messages of the call, from 1."),
                "time": schema::text("UTC."),
                "src": schema::text("Sender as seen on the wire."),
                "dst": schema::text("Receiver as seen on the wire."),
                "retransmission": { "type": "boolean" },
                "untrusted": schema::untrusted(),
            }),
        );
        schema::open_object(
            &["id", "messages", "of", "next"],
            json!({
                "id": schema::text("Id of the call's record."),
                "messages": schema::list(message),
                "of": schema::count("Messages of the call."),
                "next": { "type": ["integer", "null"], "description": "`first` of the next page." },
                "reasons": schema::list(schema::text("Why messages are missing.")),
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
    #[serde(default)]
    raw: bool,
    first: Option<usize>,
    limit: Option<usize>,
}

fn run(request: &Request, given: JsonObject) -> Result<Value, Refusal> {
    let wanted: Arguments = arguments(&TOOL, given)?;
    let limit = within("limit", wanted.limit, (1, MOST, USUAL))?;
    let first = within("first", wanted.first, (1, usize::MAX, 1))?;
    let call = request.call(&wanted.id)?;
    let id = call.0.id;
    let found = request.records.messages(&[call], &request.running)?;
    let of = found.seen.len();
    let (mut room, mut messages, mut next) = (Room::default(), Vec::new(), None);
    for (index, seen) in found.seen.iter().enumerate().skip(first - 1) {
        let part = message(request, index + 1, seen, wanted.raw);
        if messages.len() == limit || !room.take(&part) {
            next = Some(index + 1);
            break;
        }
        messages.push(part);
    }
    let reasons: Vec<Value> = found.reasons.into_iter().map(|reason| request.shown(reason.into())).collect();
    Ok(json!({ "id": id, "messages": messages, "of": of, "next": next, "reasons": reasons }))
}

fn message(request: &Request, number: usize, seen: &SeenMessage, is_raw: bool) -> Value {
    let shown = seen.shown(request.tokens.as_ref());
    let text = String::from_utf8_lossy(&shown).into_owned();
    let mut lines = text.split('\n').map(|line| line.strip_suffix('\r').unwrap_or(line));
    let content = match is_raw {
        true => json!({ "lines": cut(lines.collect()) }),
        false => {
            let start = lines.next().unwrap_or_default();
            let head = lines.by_ref().take_while(|line| !line.is_empty());
            let headers = head.map(|line| match line.split_once(':') {
                Some((name, value)) => json!([name.trim(), value.trim()]),
                // A value that goes on from the line before.
                None => json!(["", line.trim()]),
            });
            let headers: Vec<Value> = headers.take(MOST_LINES).collect();
            let body: Vec<&str> = lines.filter(|line| !line.is_empty()).collect();
            json!({ "label": label(&shown), "start_line": start, "headers": headers, "body": cut(body) })
        }
    };
    request.shown(json!({
        "number": number,
        "time": time::rfc3339(seen.time),
        "src": seen.src.to_string(),
        "dst": seen.dst.to_string(),
        "retransmission": seen.retransmission,
        "untrusted": content,
    }))
}

/// The first lines, and how many more there are.
fn cut(lines: Vec<&str>) -> Vec<String> {
    let more = lines.len().saturating_sub(MOST_LINES);
    let mut kept: Vec<String> = lines.into_iter().take(MOST_LINES).map(str::to_owned).collect();
    if more > 0 {
        kept.push(format!("({more} more lines)"));
    }
    kept
}

/// Most messages of a page.
const MOST: usize = 50;
const USUAL: usize = 10;
/// Most headers, and most lines of a body.
const MOST_LINES: usize = 100;
