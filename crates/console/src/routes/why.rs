//! "Why these?": what distinguishes the calls of a search from the others of the same time.

use std::collections::BTreeSet;

use axum::extract::{Query, State};
use ringtap_access::{Action, Right, What};
use ringtap_investigate::{Finding, MarkedBy, Named, Sample};
use ringtap_search::{Expression, Kind};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::answer::Answer;
use crate::find::{Coverage, Find};
use crate::problem::Problem;
use crate::state::App;
use crate::viewer::Viewer;

/// A search that marks calls.
#[derive(Deserialize)]
pub(crate) struct Wanted {
    #[serde(default)]
    q: String,
    /// What the others satisfy; without it, the times of `q`.
    base: Option<String>,
    #[serde(alias = "tz")]
    zone: Option<String>,
}

/// `GET /why`.
pub(crate) async fn show(
    State(app): State<App>,
    viewer: Viewer,
    Query(wanted): Query<Wanted>,
) -> Result<Answer, Problem> {
    viewer.need(Right::Search)?;
    // The values that stand out may be numbers, and searches for them.
    viewer.need(Right::Numbers)?;
    let zone = wanted.zone.as_deref();
    let marks = app.parsed(&viewer, &wanted.q, zone)?;
    let base = match wanted.base.as_deref().filter(|text| !text.is_empty()) {
        Some(text) => app.parsed(&viewer, text, zone)?,
        None => times(&marks),
    };
    let mut fields = BTreeSet::new();
    names(&marks, &mut fields);
    if marks.parts().len() == times(&marks).parts().len() {
        return Err(Problem::request(
            "the search names a time only, so there are no others to compare with",
            "say which calls are marked, such as `mos<3`, `note:one_way` or `code:5xx`",
        ));
    }
    app.note(&viewer, Action::Search, What::from("why these: ").number(&*wanted.q)).await?;
    let (reading, by) = (app.clone(), viewer.clone());
    let value = app
        .work
        .scan(move |stop| {
            let mut sample = Sample::new(MarkedBy::fields(fields.iter().copied()));
            let coverage = match reading.records()? {
                None => Coverage::default(),
                Some(reader) => Find {
                    reader: &reader,
                    expression: &base,
                    viewer: &by,
                    with_streams: true,
                    after: None,
                    limit: usize::MAX,
                    stop,
                }
                .run(|call, streams| {
                    sample.add(&call, &streams, marks.matches(&call, &streams));
                    Ok(true)
                })?,
            };
            let ranking = sample.rank();
            Ok(json!({
                "marked": ranking.marked,
                "others": ranking.others,
                "unanswered": ranking.unanswered,
                "values": ranking.values,
                "fields": ranking.fields,
                "claims": ranking.claims(),
                "text": ranking.text(),
                "lines": ranking.findings.iter().map(line).collect::<Vec<_>>(),
                "coverage": coverage.json(),
            }))
        })
        .await?;
    Ok(Answer::of(value))
}

fn line(finding: &Finding) -> Value {
    json!({
        "field": finding.value.field,
        "value": finding.value.value,
        "also": finding.also.as_ref().map(named),
        "same": finding.same.iter().map(named).collect::<Vec<_>>(),
        "marked": finding.marked,
        "marked_of": finding.marked_of,
        "others": finding.others,
        "others_of": finding.others_of,
        "marked_pct": finding.marked_pct(),
        "others_pct": finding.others_pct(),
        "significance": finding.p_value,
        "sentence": finding.sentence(),
        "q": finding.query,
    })
}

fn named(named: &Named) -> Value {
    json!({ "field": named.field, "value": named.value, "q": named.query })
}

/// The times of a search, which hold for the others too.
fn times(expression: &Expression) -> Expression {
    let is_time = |part: &&Expression| match part {
        Expression::Condition(condition) => condition.field().kind == Kind::Time,
        _ => false,
    };
    Expression::All(expression.parts().iter().filter(is_time).cloned().collect())
}

/// The fields that a search names.
fn names(expression: &Expression, found: &mut BTreeSet<&'static str>) {
    match expression {
        Expression::All(parts) | Expression::Any(parts) => parts.iter().for_each(|part| names(part, found)),
        Expression::Not(part) | Expression::Stream(part) => names(part, found),
        Expression::Condition(condition) => _ = found.insert(condition.field().name),
    }
}
