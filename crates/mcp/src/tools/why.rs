//! `why`: what distinguishes calls from the others of the same time.

use std::ops::ControlFlow;

use ringtap_investigate::{Finding, MarkedBy, Named, Sample, Topic};
use ringtap_store::Search;
use rmcp::model::JsonObject;
use serde::Deserialize;
use serde_json::{Value, json};

use super::tool::{Definition, arguments};
use crate::bounds::Room;
use crate::refusal::Refusal;
use crate::request::Request;
use crate::schema;

pub(super) const TOOL: Definition = Definition {
    name: "why",
    title: "Why these calls?",
    description: "\
What distinguishes the calls of a search from the others of the same time: every field (addresses, trunks, \
devices, codecs, times, ...) and every pair of fields is compared, and what more of the marked calls have is \
ranked, with counts and the chance of an error. `query` marks the calls (`mos<3`, `note:one_way`, \
`code:503`); its times (`at:`, `began:`, `ended:`) say which calls are compared, or `base` does. Nothing is \
claimed that chance could have done. A finding is where to look, not yet the cause: check it with \
`search_calls` and `call`.",
    arguments: || {
        schema::object(
            &["query"],
            json!({
                "query": schema::text("A search that marks calls, such as `mos<3 began:yesterday`."),
                "base": schema::text("Which calls are compared; without it, those of the times of `query`."),
            }),
        )
    },
    answer: || {
        let finding = schema::open_object(
            &["marked", "marked_of", "others", "others_of", "untrusted"],
            json!({
                "marked": schema::count("Marked calls that have it."),
                "marked_of": schema::count("Marked calls of which that is known."),
                "others": schema::count("Others that have it."),
                "others_of": schema::count("Others of which that is known."),
                "chance": { "type": "number" },
                "untrusted": schema::untrusted(),
            }),
        );
        schema::open_object(
            &["marked", "others", "claims", "findings", "coverage"],
            json!({
                "marked": schema::count("Marked calls."),
                "others": schema::count("Others."),
                "claims": { "type": "boolean", "description": "Whether anything is claimed." },
                "findings": schema::list(finding),
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
    query: String,
    base: Option<String>,
}

fn run(request: &Request, given: JsonObject) -> Result<Value, Refusal> {
    let wanted: Arguments = arguments(&TOOL, given)?;
    let marks = request.parse(&wanted.query)?;
    let times = marks.times();
    if marks.parts().len() == times.parts().len() {
        return Err(Refusal::new(
            "the search marks no calls: it names a time at most, so there are no others to compare with",
            "say which calls are marked, such as `mos<3`, `note:one_way` or `code:5xx`",
        ));
    }
    let base = match wanted.base.as_deref().filter(|base| !base.trim().is_empty()) {
        Some(base) => request.parse(base)?,
        None => times,
    };
    let mut marked_by = MarkedBy::fields(marks.field_names());
    if request.tokens.is_some() {
        // What stands out may be a number or the beginning of one.
        marked_by = marked_by.and(Topic::Caller).and(Topic::Callee);
    }
    let mut sample = Sample::new(marked_by);
    let search = Search::new(base);
    let coverage = request.records.each_call(&search, true, &request.running, &mut |call, streams| {
        sample.add(&call, &streams, marks.matches(&call, &streams));
        ControlFlow::Continue(())
    })?;
    let ranking = sample.rank();
    let parts = ranking.findings.iter().map(|finding| request.shown(part(finding)));
    let (findings, missing) = Room::default().fill(parts);
    let mut left_out = Vec::new();
    if missing > 0 {
        left_out.push(format!("{missing} findings that say less"));
    }
    if request.tokens.is_some() {
        left_out.push("numbers were not compared, since they are hidden".to_owned());
    }
    Ok(json!({
        "marked": ranking.marked,
        "others": ranking.others,
        "unanswered_left_out": ranking.unanswered,
        "claims": ranking.claims(),
        "findings": findings,
        "untrusted": { "text": request.shown(ranking.text().into()) },
        "coverage": request.coverage(&coverage),
        "left_out": (!left_out.is_empty()).then(|| left_out.join("; ")),
    }))
}

fn part(finding: &Finding) -> Value {
    let same: Vec<&str> = finding.same.iter().map(|named| &*named.query).take(MOST_SAME).collect();
    json!({
        "field": finding.value.field,
        "also": finding.also.as_ref().map(|also| also.field),
        "marked": finding.marked,
        "marked_of": finding.marked_of,
        "others": finding.others,
        "others_of": finding.others_of,
        "marked_pct": finding.marked_pct(),
        "others_pct": finding.others_pct(),
        "chance": finding.p_value,
        "untrusted": {
            "value": finding.value.value,
            "also": finding.also.as_ref().map(value),
            "same": same,
            "sentence": finding.sentence(),
            "query": finding.query,
        },
    })
}

fn value(named: &Named) -> &str {
    &named.value
}

/// Most values that nearly the same calls have.
const MOST_SAME: usize = 5;
