//! Searching calls: a page of them, and what the whole result is made of.

use std::time::Instant;

use axum::extract::State;
use ringtap_access::{Action, Right, What};
use ringtap_model::{Call, Stream};
use ringtap_report::time;
use ringtap_search::{Context, Expression, FieldName, ParseError, Site, Test, complete, parse};
use ringtap_store::Cursor;
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use crate::answer::Answer;
use crate::find::{self, Coverage, CoverageAnswer, Find};
use crate::openapi::records::CallRecord;
use crate::openapi::refusals::Busy;
use crate::order::Sort;
use crate::problem::{Details, Problem};
use crate::request::{Bounded, Query};
use crate::state::{App, Shared};
use crate::summary::{CallSummary, Facet, Summary};
use crate::viewer::Viewer;
use crate::work::Stop;

/// A page of a search.
#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub(crate) struct WantedPage {
    /// The search (docs/manual/search.md); all calls unless it is given.
    #[serde(default)]
    #[param(example = "number:*0138 -2d")]
    q: String,
    /// Most calls of the page; 100 unless it is given.
    #[param(value_type = Option<usize>, minimum = 1, maximum = 1000)]
    limit: Option<Bounded<1, MOST>>,
    /// Where it goes on: `next` of the page before.
    cursor: Option<String>,
    /// A field that is `sortable`, `-` in front of it for the greatest first; `-began` unless it is given.
    #[param(example = "-mosworst")]
    sort: Option<String>,
    /// The zone in which times without an offset are read; UTC unless it is given.
    #[serde(alias = "tz")]
    #[param(example = "Europe/Berlin")]
    zone: Option<String>,
}

/// What is counted of a search.
#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub(crate) struct WantedSummary {
    /// The search (docs/manual/search.md); all calls unless it is given.
    #[serde(default)]
    #[param(example = "state:failed -2d")]
    q: String,
    /// Fields whose values are counted, with commas.
    #[serde(default)]
    #[param(example = "codec,trunk_to")]
    facets: String,
    /// The zone in which times without an offset are read; UTC unless it is given.
    #[serde(alias = "tz")]
    #[param(example = "Europe/Berlin")]
    zone: Option<String>,
}

/// A page of calls.
#[derive(Serialize, ToSchema)]
struct CallPage {
    #[schema(value_type = Vec<CallRecord>)]
    calls: Vec<Call>,
    /// The `cursor` of the next page; null where there is none.
    next: Option<String>,
    /// How the search was understood.
    #[schema(example = "calls of or to a number that ends in 0138, up at 15:00")]
    understood: String,
    coverage: CoverageAnswer,
    took_ms: f64,
}

impl From<ParseError> for Problem {
    fn from(error: ParseError) -> Self {
        Self::query(error.problem, Some(error.remedy), error.column, error.length)
    }
}

impl Shared {
    /// When and where somebody's search is read, and which names it may have.
    fn context(&self, viewer: &Viewer, zone: Option<&str>) -> Context {
        let named = zone.and_then(|name| jiff::tz::TimeZone::get(name).ok());
        let context = Context::new(time::now(), named.unwrap_or(jiff::tz::TimeZone::UTC));
        Context { sites: Some(self.sites_of(viewer)), ..context }
    }

    /// The networks with names that somebody knows: none, for whoever may see some calls only.
    pub(crate) fn sites_of(&self, viewer: &Viewer) -> Vec<Site> {
        if viewer.is_limited() { Vec::new() } else { self.sites.known() }
    }

    /// A search of somebody: who may not see numbers may not search for their digits either.
    pub(crate) fn parsed(
        &self,
        viewer: &Viewer,
        text: &str,
        zone: Option<&str>,
    ) -> Result<Expression, Problem> {
        let expression = parse(text, &self.context(viewer, zone))?;
        match !viewer.has(Right::Numbers) && asks_for_numbers(&expression) {
            true => Err(Problem::forbidden(Right::Numbers.name())),
            false => Ok(expression),
        }
    }
}

/// Whether a search would tell who somebody is to whom numbers are hidden.
fn asks_for_numbers(expression: &Expression) -> bool {
    match expression {
        Expression::All(parts) | Expression::Any(parts) => parts.iter().any(asks_for_numbers),
        Expression::Not(part) | Expression::Stream(part) => asks_for_numbers(part),
        Expression::Condition(condition) => {
            let is_personal = matches!(
                condition.field,
                FieldName::Number
                    | FieldName::From
                    | FieldName::To
                    | FieldName::Diverted
                    | FieldName::Uri
                    | FieldName::CallId
                    | FieldName::Text
            );
            is_personal && condition.test != Test::Exists
        }
    }
}

/// Notes a search. Its text may have numbers.
pub(super) async fn note(
    app: &App,
    viewer: &Viewer,
    action: Action,
    what: &str,
    q: &str,
) -> Result<(), Problem> {
    let what = match q.is_empty() {
        true => What::from(format!("{what}: all calls")),
        false => What::from(format!("{what}: ")).number(q),
    };
    app.note(viewer, action, what).await
}

/// A page of calls
///
/// The newest first; what arrives meanwhile is neither shown twice nor skipped. In the order that `sort`
/// names there is one page, which is chosen among all calls that were found.
#[utoipa::path(
    get, path = "/calls", operation_id = "list_calls", tag = "calls", params(WantedPage),
    responses((status = 200, description = "A page.", body = CallPage), Busy)
)]
pub(crate) async fn list(
    State(app): State<App>,
    viewer: Viewer,
    Query(wanted): Query<WantedPage>,
) -> Result<Answer, Problem> {
    viewer.need(Right::Search)?;
    let expression = app.parsed(&viewer, &wanted.q, wanted.zone.as_deref())?;
    let sort = wanted.sort.as_deref().map(Sort::named).transpose()?.unwrap_or_default();
    let after = wanted.cursor.as_deref().filter(|text| !text.is_empty());
    let after = after.map(find::cursor).transpose()?;
    let limit = wanted.limit.map_or(100, Bounded::get);
    let understood = expression.in_words(&app.context(&viewer, wanted.zone.as_deref()));
    let begun = Instant::now();
    let (reading, by) = (app.clone(), viewer.clone());
    let found = app.work.search(move |stop| {
        let mut page = sort.page(limit);
        // In another order than that of time the page is chosen among all.
        let enough = if sort.is_of_time() { limit } else { usize::MAX };
        let range = Range { after, limit: enough, with_streams: false, stop };
        let coverage = walk(&reading, &by, &expression, range, |call, _| Ok(page.add(call)))?;
        let next = coverage.next().filter(|_| sort.is_of_time());
        Ok((page.finish(), next, coverage.answer()))
    });
    // A disk may take longer for the note than the search takes. What was found is told once it is noted.
    let noted = async {
        match after {
            Some(_) => Ok(()),
            None => note(&app, &viewer, Action::Search, "calls", &wanted.q).await,
        }
    };
    let (_, (calls, next, coverage)) = tokio::try_join!(noted, found)?;
    let took = (begun.elapsed().as_secs_f64() * 1e4).round() / 10.0;
    Ok(viewer.answer(&app, CallPage { calls, next, understood, coverage, took_ms: took }))
}

/// What of a search is walked through.
pub(super) struct Range<'a> {
    pub(super) after: Option<Cursor>,
    pub(super) limit: usize,
    pub(super) with_streams: bool,
    pub(super) stop: &'a Stop,
}

/// Passes each call of a search to `each`; says how far it went.
pub(super) fn walk(
    app: &Shared,
    viewer: &Viewer,
    expression: &Expression,
    Range { after, limit, with_streams, stop }: Range<'_>,
    each: impl FnMut(Call, Vec<Stream>) -> Result<bool, Problem>,
) -> Result<Coverage, Problem> {
    let Some(reader) = app.records(stop)? else { return Ok(Coverage::default()) };
    Find { reader: &reader, expression, viewer, with_streams, after, limit, stop }.run(each)
}

/// What the whole result of a search is made of
#[utoipa::path(
    get, path = "/calls/summary", operation_id = "summarise_calls", tag = "calls", params(WantedSummary),
    responses((status = 200, description = "Counts, figures and facets.", body = CallSummary), Busy)
)]
pub(crate) async fn summary(
    State(app): State<App>,
    viewer: Viewer,
    Query(wanted): Query<WantedSummary>,
) -> Result<Answer, Problem> {
    viewer.need(Right::Search)?;
    let expression = app.parsed(&viewer, &wanted.q, wanted.zone.as_deref())?;
    let facets = Facet::named(&wanted.facets)?;
    note(&app, &viewer, Action::Search, "summary of calls", &wanted.q).await?;
    let (reading, by) = (app.clone(), viewer.clone());
    let value = app
        .work
        .scan(move |stop| {
            let mut summary = Summary::new(facets);
            let with_streams = summary.needs_streams();
            let range = Range { after: None, limit: usize::MAX, with_streams, stop };
            let coverage = walk(&reading, &by, &expression, range, |call, streams| {
                summary.add(&call, &streams);
                Ok(true)
            })?;
            Ok(summary.into_answer(coverage.answer()))
        })
        .await?;
    Ok(viewer.answer(&app, value))
}

/// A text that is being written.
#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub(crate) struct Written {
    /// What is written so far.
    #[serde(default)]
    #[param(example = "state:fa")]
    q: String,
    /// The column of the cursor, in characters from 1; behind the text unless it is given.
    at: Option<usize>,
    /// The zone in which times without an offset are read; UTC unless it is given.
    #[serde(alias = "tz")]
    #[param(example = "Europe/Berlin")]
    zone: Option<String>,
}

/// What can be written next, and how the text is understood so far.
#[derive(Serialize, ToSchema)]
struct Suggestions {
    completions: Vec<Completion>,
    /// Null where it cannot be read so far.
    understood: Option<String>,
    /// Why it cannot be read so far.
    #[schema(value_type = Option<Details>)]
    error: Option<Problem>,
}

/// Something that can be written next.
#[derive(Serialize, ToSchema)]
struct Completion {
    /// The whole word, which takes the place of what is written of it.
    #[schema(example = "state:failed")]
    text: String,
    about: String,
}

/// What can be written next, and how a search is understood so far
#[utoipa::path(
    get, path = "/calls/suggest", operation_id = "suggest_search", tag = "calls", params(Written),
    responses((status = 200, description = "Suggestions.", body = Suggestions))
)]
pub(crate) async fn suggest(
    State(app): State<App>,
    viewer: Viewer,
    Query(written): Query<Written>,
) -> Result<Answer, Problem> {
    viewer.need(Right::Search)?;
    let context = app.context(&viewer, written.zone.as_deref());
    let at = written.at.unwrap_or_else(|| written.q.chars().count() + 1);
    let completions = complete(&written.q, at)
        .into_iter()
        .map(|completion| Completion { text: completion.text, about: completion.about.to_string() })
        .collect();
    let (understood, error) = match parse(&written.q, &context) {
        Ok(expression) => (Some(expression.in_words(&context)), None),
        Err(error) => (None, Some(Problem::from(error))),
    };
    Ok(Answer::of(Suggestions { completions, understood, error }))
}

/// Most calls of a page.
const MOST: usize = 1_000;
