//! `users`: what each address of record did.

use ringtap_model::filter::NumberPattern;
use rmcp::model::JsonObject;
use serde::Deserialize;
use serde_json::{Value, json};

use super::tool::{Definition, arguments, within};
use crate::bounds::Room;
use crate::refusal::Refusal;
use crate::request::{Request, span};
use crate::schema;

pub(super) const TOOL: Definition = Definition {
    name: "users",
    title: "Users and their devices",
    description: "\
What each address of record did in a time: registrations and those that failed, calls made and received with \
those that were answered, the codes that it failed with most, its device and address. Those that failed most \
come first, or with `sort` those seen last. `party` is a token of an earlier answer, or, where numbers are \
shown, a number with `*`.",
    arguments: || {
        schema::object(
            &[],
            json!({
                "party": schema::text("Token such as ~k3vq…, or a number or user name with `*`."),
                "since": schema::text("2026-11-21 02:00, or with an offset 2026-11-21T02:00:00+01:00."),
                "until": schema::text("Before this time."),
                "sort": { "type": "string", "enum": ["failures", "last"], "default": "failures" },
                "limit": schema::number("Most users.", 1, MOST, 20),
            }),
        )
    },
    answer: || {
        let user = schema::open_object(
            &["registrations", "calls_made", "untrusted"],
            json!({
                "registrations": schema::count("Attempts to register."),
                "registrations_failed": schema::count("Those that failed."),
                "calls_made": schema::count("Calls."),
                "untrusted": schema::untrusted(),
            }),
        );
        schema::open_object(
            &["users", "of"],
            json!({
                "users": schema::list(user),
                "of": schema::count("Users of that time that match."),
                "left_out": schema::left_out(),
            }),
        )
    },
    counts_all: true,
    run,
};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Arguments {
    party: Option<String>,
    since: Option<String>,
    until: Option<String>,
    #[serde(default)]
    sort: Sort,
    limit: Option<usize>,
}

#[derive(Clone, Copy, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Sort {
    #[default]
    Failures,
    Last,
}

fn run(request: &Request, given: JsonObject) -> Result<Value, Refusal> {
    let wanted: Arguments = arguments(&TOOL, given)?;
    let limit = within("limit", wanted.limit, (1, MOST, 20))?;
    let party = request.party(wanted.party.as_deref())?;
    let span = span(wanted.since.as_deref(), wanted.until.as_deref())?;
    let Some(mut users) = request.records.users(span, &request.running)? else {
        return Err(Refusal::new(
            "time was over before all records had been counted",
            "name a shorter time with `since` and `until`",
        ));
    };
    if let Some(party) = party {
        let pattern: Option<NumberPattern> = match request.tokens {
            Some(_) => None,
            None => Some(party.parse().map_err(|remedy: String| {
                Refusal::new(format!("`party` cannot be read: `{party}`"), remedy)
            })?),
        };
        users.retain(|user| match &pattern {
            Some(pattern) => pattern.matches(user.aor.split('@').next().unwrap_or_default()),
            None => request.is_user(&user.aor, party),
        });
    }
    match wanted.sort {
        Sort::Last => users.sort_by_key(|user| std::cmp::Reverse(user.last)),
        Sort::Failures => users.sort_by_key(|user| {
            let failures: u64 = user.failures.iter().map(|failure| u64::from(failure.count)).sum();
            std::cmp::Reverse((failures, user.last))
        }),
    }
    let of = users.len();
    let parts = users.iter().take(limit).map(|user| {
        let record = serde_json::to_value(user).unwrap_or_default();
        request.shown(part(record))
    });
    let (shown, _) = Room::default().fill(parts);
    let left_out = match of - shown.len() {
        0 => None,
        missing => Some(format!("{missing} of {of} users: raise `limit`, or give `party` or a shorter time")),
    };
    Ok(json!({ "users": shown, "of": of, "left_out": left_out }))
}

/// A user with what it was called apart from what was counted.
fn part(mut record: Value) -> Value {
    let mut untrusted = serde_json::Map::new();
    if let Some(fields) = record.as_object_mut() {
        for name in FROM_THE_WIRE {
            untrusted.extend(fields.remove_entry(name));
        }
        fields.retain(|_, value| !value.is_null());
    }
    record["untrusted"] = Value::Object(untrusted);
    record
}

/// Fields of a user with texts that were sent.
const FROM_THE_WIRE: [&str; 5] = ["aor", "display_name", "contact", "user_agent", "methods"];
/// Most users of an answer.
const MOST: usize = 50;
