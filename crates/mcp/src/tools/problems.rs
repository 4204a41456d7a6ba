//! `problems`: calls that failed or sounded bad, grouped by cause.

use std::collections::BTreeMap;
use std::ops::ControlFlow;

use ringtap_model::{Call, CallState};
use ringtap_report::{sentence, time};
use ringtap_store::Search;
use rmcp::model::JsonObject;
use serde::Deserialize;
use serde_json::{Value, json};

use super::tool::{Definition, arguments, within};
use crate::bounds::Room;
use crate::refusal::Refusal;
use crate::request::{Request, brief};
use crate::schema;

pub(super) const TOOL: Definition = Definition {
    name: "problems",
    title: "Problems, grouped by cause",
    description: "\
The place to begin: what goes wrong in a time. Calls that failed are grouped by their final code, calls that \
sound bad or are built wrongly by their notes (one_way, no_audio, loss, ...) and by a MOS below 3.1; the \
largest group first, each with its worst calls, what happened to them in a sentence, and a `query` for \
`search_calls` and `why`. A call may be in several groups. Busy, no answer and declined by the callee (480, \
486, 487, 600, 603) are no problems of the network and are left out. `query` limits the calls that are \
looked at: `began:-2h`, `began:yesterday`, `trunk:carrier-a`.",
    arguments: || {
        schema::object(
            &[],
            json!({
                "query": schema::text("Which calls are looked at; empty for all."),
                "groups": schema::number("Most groups.", 1, MOST_GROUPS, 10),
                "examples": schema::number("Worst calls of each group.", 1, MOST_EXAMPLES, 3),
            }),
        )
    },
    answer: || {
        let group = schema::open_object(
            &["cause", "calls", "query", "worst"],
            json!({
                "cause": schema::text("code:503, state:timeout, note:one_way, mos<3.1."),
                "calls": schema::count("Calls of the group."),
                "first": schema::text_or_null("When the first of them began, UTC."),
                "last": schema::text_or_null("When the last of them began, UTC."),
                "query": schema::text("A search that finds them."),
                "worst": schema::list(schema::call()),
            }),
        );
        schema::open_object(
            &["looked_at", "problems", "groups", "coverage"],
            json!({
                "looked_at": schema::count("Calls of the search."),
                "problems": schema::count("Calls among them that have a problem."),
                "groups": schema::list(group),
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
    groups: Option<usize>,
    examples: Option<usize>,
}

/// Calls of one cause.
#[derive(Default)]
struct Group {
    calls: u64,
    /// When calls began.
    span: Option<(ringtap_model::Nanos, ringtap_model::Nanos)>,
    /// The worst first.
    worst: Vec<Call>,
}

impl Group {
    fn add(&mut self, call: &Call, examples: usize) {
        self.calls += 1;
        if let Some(start) = call.start() {
            let (first, last) = self.span.unwrap_or((start, start));
            self.span = Some((first.min(start), last.max(start)));
        }
        let badness = |call: &Call| call.mos.unwrap_or(f64::MAX);
        let at = self.worst.partition_point(|other| badness(other) <= badness(call));
        if at < examples {
            self.worst.insert(at, call.clone());
            self.worst.truncate(examples);
        }
    }
}

fn run(request: &Request, given: JsonObject) -> Result<Value, Refusal> {
    let wanted: Arguments = arguments(&TOOL, given)?;
    let most = within("groups", wanted.groups, (1, MOST_GROUPS, 10))?;
    let examples = within("examples", wanted.examples, (1, MOST_EXAMPLES, 3))?;
    let search = Search::new(request.parse(&wanted.query)?);
    let mut groups: BTreeMap<String, Group> = BTreeMap::new();
    let (mut looked_at, mut problems) = (0_u64, 0_u64);
    let coverage = request.records.each_call(&search, false, &request.running, &mut |call, _| {
        looked_at += 1;
        let causes = causes(&call);
        problems += u64::from(!causes.is_empty());
        for cause in causes {
            groups.entry(cause).or_default().add(&call, examples);
        }
        ControlFlow::Continue(())
    })?;
    let mut groups: Vec<(String, Group)> = groups.into_iter().collect();
    groups.sort_by_key(|(_, group)| std::cmp::Reverse(group.calls));
    let count = groups.len();
    let mut room = Room::default();
    let mut shown = Vec::new();
    for (cause, group) in groups.into_iter().take(most) {
        let part = self::group(request, &wanted.query, &cause, &group)?;
        if !room.take(&part) {
            break;
        }
        shown.push(part);
    }
    let left_out = match count - shown.len() {
        0 => None,
        missing => Some(format!("{missing} smaller groups: raise `groups`, or lower `examples`")),
    };
    Ok(json!({
        "looked_at": looked_at,
        "problems": problems,
        "groups": shown,
        "coverage": request.coverage(&coverage),
        "left_out": left_out,
    }))
}

fn group(request: &Request, query: &str, cause: &str, group: &Group) -> Result<Value, Refusal> {
    let mut worst = Vec::new();
    for call in &group.worst {
        let streams = request.records.call(&call.id)?.map(|(_, streams)| streams).unwrap_or_default();
        let mut part = brief(call);
        part["untrusted"]["sentence"] = sentence::of_call(call, &streams).into();
        worst.push(request.shown(part));
    }
    let query = match query.trim() {
        "" => cause.to_owned(),
        query if query.contains(" or ") => format!("({query}) {cause}"),
        query => format!("{query} {cause}"),
    };
    Ok(json!({
        "cause": cause,
        "calls": group.calls,
        "first": group.span.map(|(first, _)| time::rfc3339(first)),
        "last": group.span.map(|(_, last)| time::rfc3339(last)),
        "query": query,
        "worst": worst,
    }))
}

/// Why a call is a problem, each as a condition of a search; none if it is none.
fn causes(call: &Call) -> Vec<String> {
    let mut causes = Vec::new();
    match call.state {
        CallState::Failed if !OF_PEOPLE.contains(&call.final_code) => {
            causes.push(format!("code:{}", call.final_code));
        }
        CallState::Timeout | CallState::Interrupted => causes.push(format!("state:{}", call.state.name())),
        _ => {}
    }
    let mut notes: Vec<&str> = call
        .notes
        .iter()
        .map(|note| note.code)
        .filter(|code| code.is_problem())
        .map(|code| code.name())
        .collect();
    notes.sort_unstable();
    notes.dedup();
    causes.extend(notes.into_iter().map(|note| format!("note:{note}")));
    if call.mos.is_some_and(|mos| mos < POOR) {
        causes.push(format!("mos<{POOR}"));
    }
    causes
}

/// Codes by which people, not networks, end an attempt: those that NER counts as effective, ITU-T E.425.
const OF_PEOPLE: [u16; 5] = [480, 486, 487, 600, 603];
/// Nearly all users are dissatisfied below, ITU-T G.107 annex B.
const POOR: f64 = 3.1;
const MOST_GROUPS: usize = 30;
const MOST_EXAMPLES: usize = 10;
