//! `search_calls`: calls that satisfy a search, page by page.

use std::ops::ControlFlow;

use ringtap_store::{Cursor, Search, SearchEnd, SearchOrder};
use rmcp::model::JsonObject;
use serde::Deserialize;
use serde_json::{Value, json};

use super::tool::{Definition, arguments, within};
use crate::bounds::Room;
use crate::refusal::Refusal;
use crate::request::{Request, brief};
use crate::schema;

pub(super) const TOOL: Definition = Definition {
    name: "search_calls",
    title: "Search calls",
    description: "\
Finds calls, the newest first, a page at a time. `query` is a text of conditions that all have to hold: \
`state:failed`, `code:503`, `mos<3`, `note:one_way`, `trunk:carrier-a`, `ip:198.51.100.0/24`, `ua:yealink`, \
`codec:G729`, `dur>5m`, `at:\"2026-11-21 15:00\"` (calls that were up then), `began:-2h`, ranges `a..b`, `-` \
in front for not, `or`, parentheses, `[a,b]` for one of, `stream(codec:G729 loss>2)` for one and the same \
stream. An empty query finds all calls. The resource ringtap://search has all fields. Each call has the `id` \
that `call`, `messages` and `streams` take. Go on with `next` as `cursor`; `coverage` says whether all was \
searched. Numbers may be hidden: the same token is the same number, and can be given as `party`.",
    arguments: || {
        schema::object(
            &[],
            json!({
                "query": schema::text("Conditions in the search language; empty for all calls."),
                "party": schema::text("Only calls of this party: a token (~k3vq…) of an earlier answer."),
                "order": { "type": "string", "enum": ["newest", "oldest"], "default": "newest" },
                "limit": schema::number("Calls of a page.", 1, MOST, USUAL),
                "cursor": schema::text("`next` of the page before, with the same query, party and order."),
            }),
        )
    },
    answer: || {
        schema::open_object(
            &["understood", "calls", "next", "coverage"],
            json!({
                "understood": schema::text("The search in words."),
                "calls": schema::list(schema::call()),
                "next": schema::text_or_null("Where the next page begins; null at the end."),
                "coverage": schema::coverage(),
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
    #[serde(default)]
    query: String,
    party: Option<String>,
    #[serde(default)]
    order: Order,
    limit: Option<usize>,
    cursor: Option<String>,
}

#[derive(Clone, Copy, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Order {
    #[default]
    Newest,
    Oldest,
}

fn run(request: &Request, given: JsonObject) -> Result<Value, Refusal> {
    let wanted: Arguments = arguments(&TOOL, given)?;
    let limit = within("limit", wanted.limit, (1, MOST, USUAL))?;
    let party = request.party(wanted.party.as_deref())?;
    let expression = request.parse(&wanted.query)?;
    let understood = expression.in_words(&request.context());
    let cursor = wanted.cursor.as_deref().filter(|cursor| !cursor.is_empty());
    let after: Option<Cursor> = cursor.map(str::parse).transpose().map_err(|_| {
        Refusal::new("`cursor` cannot be read", "give `next` of the page before as it was, or leave it out")
    })?;
    let order = match wanted.order {
        Order::Newest => SearchOrder::NewestFirst,
        Order::Oldest => SearchOrder::OldestFirst,
    };
    let search = Search { order, after, limit, ..Search::new(expression) };
    let (mut calls, mut room) = (Vec::new(), Room::default());
    let coverage = request.records.each_call(&search, false, &request.running, &mut |call, _| {
        if party.is_some_and(|party| !request.is_party(&call, party)) {
            return ControlFlow::Continue(());
        }
        let shown = request.shown(brief(&call));
        if calls.len() == limit || !room.take(&shown) {
            return ControlFlow::Break(());
        }
        calls.push(shown);
        ControlFlow::Continue(())
    })?;
    let left_out = match coverage.end {
        SearchEnd::Complete => None,
        SearchEnd::Enough => Some("there are more calls: give `next` as `cursor`"),
        SearchEnd::Stopped => Some("time was over: give `next` as `cursor`, or name a shorter time"),
    };
    Ok(json!({
        "understood": understood,
        "calls": calls,
        "next": coverage.next.map(|next| next.to_string()),
        "coverage": request.coverage(&coverage),
        "left_out": left_out,
    }))
}

/// Most calls of a page.
const MOST: usize = 50;
const USUAL: usize = 20;
