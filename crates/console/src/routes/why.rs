//! "Why these?": what distinguishes the calls of a search from the others of the same time.

use std::collections::BTreeSet;

use axum::extract::State;
use ringtap_access::{Action, Right, What};
use ringtap_investigate::{Finding, MarkedBy, Named, Sample};
use ringtap_search::{Expression, Kind};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use crate::answer::Answer;
use crate::find::{Coverage, CoverageAnswer, Find};
use crate::openapi::refusals::Busy;
use crate::problem::Problem;
use crate::request::Query;
use crate::state::App;
use crate::viewer::Viewer;

/// A search that marks calls.
#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub(crate) struct Wanted {
    /// The search that marks calls (docs/manual/search.md).
    #[serde(default)]
    #[param(required = true, example = "mosworst<3 -2h")]
    q: String,
    /// What the others satisfy; without it, the times of `q`.
    base: Option<String>,
    /// The zone in which times without an offset are read; UTC unless it is given.
    #[serde(alias = "tz")]
    #[param(example = "Europe/Berlin")]
    zone: Option<String>,
}

/// What distinguishes marked calls from the others of the same time.
#[derive(Serialize, ToSchema)]
struct Why {
    /// Marked calls.
    marked: u64,
    /// Others that they were compared with.
    others: u64,
    /// Others that were left out since they were not answered, where only such calls can be marked.
    unanswered: u64,
    /// Values that could have stood out.
    values: u64,
    /// Fields that were asked.
    fields: Vec<&'static str>,
    /// Whether anything stands out.
    claims: bool,
    /// All of it in sentences.
    text: String,
    /// What stands out, the most telling first.
    lines: Vec<WhyLine>,
    coverage: CoverageAnswer,
}

/// A value, or a pair of values, that more of the marked calls have.
#[derive(Serialize, ToSchema)]
struct WhyLine {
    field: &'static str,
    /// As people read it. What came from the wire stands there as it was sent.
    value: String,
    /// The second value of a pair.
    also: Option<WhyValue>,
    /// Values that nearly the same calls have.
    same: Vec<WhyValue>,
    /// Marked calls that have it.
    marked: u64,
    /// Marked calls of which the field is known.
    marked_of: u64,
    /// Others that have it.
    others: u64,
    /// Others of which the field is known.
    others_of: u64,
    marked_pct: f64,
    others_pct: f64,
    /// The chance that anything stands out so far if the marks were dealt out blindly: Fisher's exact test
    /// with Bonferroni's correction.
    significance: f64,
    /// All of it in a sentence.
    sentence: String,
    /// A search that finds these calls.
    q: String,
}

/// A value of a field.
#[derive(Serialize, ToSchema)]
struct WhyValue {
    field: &'static str,
    value: String,
    /// A search that finds the calls that have it.
    q: String,
}

/// What distinguishes the calls of a search from the others of the same time
///
/// Needs the right `numbers`, since a value that stands out may be one (docs/manual/investigate.md).
#[utoipa::path(
    get, path = "/why", operation_id = "why_these", tag = "figures", params(Wanted),
    responses((status = 200, description = "What stands out.", body = Why), Busy)
)]
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
            let coverage = match reading.records(stop)? {
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
            Ok(Why {
                marked: ranking.marked,
                others: ranking.others,
                unanswered: ranking.unanswered,
                values: ranking.values,
                claims: ranking.claims(),
                text: ranking.text(),
                lines: ranking.findings.iter().map(line).collect(),
                coverage: coverage.answer(),
                fields: ranking.fields,
            })
        })
        .await?;
    Ok(Answer::of(value))
}

fn line(finding: &Finding) -> WhyLine {
    WhyLine {
        field: finding.value.field,
        value: finding.value.value.clone(),
        also: finding.also.as_ref().map(named),
        same: finding.same.iter().map(named).collect(),
        marked: finding.marked,
        marked_of: finding.marked_of,
        others: finding.others,
        others_of: finding.others_of,
        marked_pct: finding.marked_pct(),
        others_pct: finding.others_pct(),
        significance: finding.p_value,
        sentence: finding.sentence(),
        q: finding.query.clone(),
    }
}

fn named(named: &Named) -> WhyValue {
    WhyValue { field: named.field, value: named.value.clone(), q: named.query.clone() }
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
