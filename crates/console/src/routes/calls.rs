//! Searching calls: a page of them, what the whole result is made of, and all of it as a file.

use std::time::{Duration, Instant};

use axum::body::Body;
use axum::extract::{Query, State};
use axum::http::HeaderValue;
use axum::http::header::{CONTENT_DISPOSITION, CONTENT_TYPE};
use axum::response::Response;
use ringtap_access::{Action, Right, What};
use ringtap_model::{Call, Stream};
use ringtap_report::csv::{Csv, RecordKind};
use ringtap_report::json::Lines;
use ringtap_report::time;
use ringtap_search::{Context, Expression, FieldName, ParseError, Test, complete, parse};
use ringtap_store::{Cursor, RunningSearch};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::answer::Answer;
use crate::find::{self, Coverage, Find};
use crate::order::Sort;
use crate::problem::Problem;
use crate::state::{App, Shared};
use crate::summary::{Facet, Summary};
use crate::viewer::Viewer;
use crate::work::Stop;

/// A search.
#[derive(Deserialize)]
pub(crate) struct Wanted {
    #[serde(default)]
    q: String,
    limit: Option<usize>,
    cursor: Option<String>,
    sort: Option<String>,
    #[serde(default)]
    facets: String,
    format: Option<String>,
    /// The viewer's zone, in which times without an offset are read.
    #[serde(alias = "tz")]
    zone: Option<String>,
}

impl From<ParseError> for Problem {
    fn from(error: ParseError) -> Self {
        Self::query(error.problem, Some(error.remedy), error.column, error.length)
    }
}

impl Shared {
    /// When and where a search is read.
    fn context(&self, zone: Option<&str>) -> Context {
        let named = zone.and_then(|name| jiff::tz::TimeZone::get(name).ok());
        Context::new(time::now(), named.unwrap_or(jiff::tz::TimeZone::UTC))
    }

    /// A search of somebody: who may not see numbers may not search for their digits either.
    pub(crate) fn parsed(
        &self,
        viewer: &Viewer,
        text: &str,
        zone: Option<&str>,
    ) -> Result<Expression, Problem> {
        let expression = parse(text, &self.context(zone))?;
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
async fn note(
    app: &App,
    viewer: &Viewer,
    action: Action,
    what: &str,
    wanted: &Wanted,
) -> Result<(), Problem> {
    let what = match wanted.q.is_empty() {
        true => What::from(format!("{what}: all calls")),
        false => What::from(format!("{what}: ")).number(&*wanted.q),
    };
    app.note(viewer, action, what).await
}

/// `GET /calls`: a page, the newest first or in the order that `sort` names.
pub(crate) async fn list(
    State(app): State<App>,
    viewer: Viewer,
    Query(wanted): Query<Wanted>,
) -> Result<Answer, Problem> {
    viewer.need(Right::Search)?;
    let expression = app.parsed(&viewer, &wanted.q, wanted.zone.as_deref())?;
    let sort = wanted.sort.as_deref().map(Sort::named).transpose()?.unwrap_or_default();
    let after = wanted.cursor.as_deref().filter(|text| !text.is_empty());
    let after = after.map(find::cursor).transpose()?;
    if after.is_none() {
        note(&app, &viewer, Action::Search, "calls", &wanted).await?;
    }
    let limit = wanted.limit.unwrap_or(100).clamp(1, MOST);
    let understood = expression.in_words(&app.context(wanted.zone.as_deref()));
    let begun = Instant::now();
    let (reading, by) = (app.clone(), viewer.clone());
    let (calls, next, coverage) = app
        .work
        .scan(move |stop| {
            let mut page = sort.page(limit);
            // In another order than that of time the page is chosen among all.
            let enough = if sort.is_of_time() { limit } else { usize::MAX };
            let range = Range { after, limit: enough, with_streams: false, stop };
            let coverage = walk(&reading, &by, &expression, range, |call, _| Ok(page.add(call)))?;
            let next = coverage.next().filter(|_| sort.is_of_time());
            Ok((page.finish(), next, coverage.json()))
        })
        .await?;
    let took = (begun.elapsed().as_secs_f64() * 1e4).round() / 10.0;
    let value = json!({
        "calls": calls,
        "next": next,
        "understood": understood,
        "coverage": coverage,
        "took_ms": took,
    });
    Ok(viewer.answer(&app, value))
}

/// What of a search is walked through.
struct Range<'a> {
    after: Option<Cursor>,
    limit: usize,
    with_streams: bool,
    stop: &'a Stop,
}

/// Passes each call of a search to `each`; says how far it went.
fn walk(
    app: &Shared,
    viewer: &Viewer,
    expression: &Expression,
    Range { after, limit, with_streams, stop }: Range<'_>,
    each: impl FnMut(Call, Vec<Stream>) -> Result<bool, Problem>,
) -> Result<Coverage, Problem> {
    let Some(reader) = app.records()? else { return Ok(Coverage::default()) };
    Find { reader: &reader, expression, viewer, with_streams, after, limit, stop }.run(each)
}

/// `GET /calls/summary`: what the whole result is made of.
pub(crate) async fn summary(
    State(app): State<App>,
    viewer: Viewer,
    Query(wanted): Query<Wanted>,
) -> Result<Answer, Problem> {
    viewer.need(Right::Search)?;
    let expression = app.parsed(&viewer, &wanted.q, wanted.zone.as_deref())?;
    let facets = Facet::named(&wanted.facets)?;
    note(&app, &viewer, Action::Search, "summary of calls", &wanted).await?;
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
            Ok(summary.into_json(coverage.json()))
        })
        .await?;
    Ok(viewer.answer(&app, value))
}

/// A text that is being written.
#[derive(Deserialize)]
pub(crate) struct Written {
    #[serde(default)]
    q: String,
    /// The column of the cursor, in characters from 1.
    at: Option<usize>,
    #[serde(alias = "tz")]
    zone: Option<String>,
}

/// `GET /calls/suggest`: what can be written next, and how the text is understood so far.
pub(crate) async fn suggest(
    State(app): State<App>,
    viewer: Viewer,
    Query(written): Query<Written>,
) -> Result<Answer, Problem> {
    viewer.need(Right::Search)?;
    let context = app.context(written.zone.as_deref());
    let at = written.at.unwrap_or_else(|| written.q.chars().count() + 1);
    let completions: Vec<Value> = complete(&written.q, at)
        .into_iter()
        .map(|completion| json!({ "text": completion.text, "about": completion.about }))
        .collect();
    let (understood, error) = match parse(&written.q, &context) {
        Ok(expression) => (Some(expression.in_words(&context)), None),
        Err(error) => (None, Some(Problem::from(error))),
    };
    Ok(Answer::of(json!({ "completions": completions, "understood": understood, "error": error })))
}

/// `GET /calls/export`: the whole result as a file, written while it is found.
pub(crate) async fn export(
    State(app): State<App>,
    viewer: Viewer,
    Query(wanted): Query<Wanted>,
) -> Result<Response, Problem> {
    viewer.need(Right::Export)?;
    let expression = app.parsed(&viewer, &wanted.q, wanted.zone.as_deref())?;
    let (kind, ending) = match wanted.format.as_deref().unwrap_or("csv") {
        "csv" => ("text/csv; charset=utf-8", "csv"),
        "jsonl" => ("application/jsonl", "jsonl"),
        other => {
            return Err(Problem::request(
                format!("`{other}` is no format of an export"),
                "`format` is csv or jsonl",
            ));
        }
    };
    note(&app, &viewer, Action::Export, &format!("{ending} of calls"), &wanted).await?;
    let place = app.work.place().await?;
    let (sender, receiver) = tokio::sync::mpsc::channel::<std::io::Result<Vec<u8>>>(4);
    let reading = app.clone();
    tokio::task::spawn_blocking(move || {
        let _place = place;
        let mut file = ExportFile { csv: None, lines: Lines::default(), bytes: Vec::new(), sender };
        let done = file.write(&reading, &viewer, &expression, ending == "csv");
        if let Err(error) = done {
            // An answer that breaks off is no whole file: the program that reads it sees an error.
            let _ = file.sender.blocking_send(Err(std::io::Error::other(error)));
        }
    });
    let pieces = futures_util::stream::unfold(receiver, |mut receiver| async move {
        receiver.recv().await.map(|piece| (piece, receiver))
    });
    let mut response = Response::new(Body::from_stream(pieces));
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(kind));
    let disposition = format!("attachment; filename=\"calls.{ending}\"");
    headers.extend(HeaderValue::from_str(&disposition).ok().map(|value| (CONTENT_DISPOSITION, value)));
    Ok(response)
}

/// A file that is sent while it is written.
struct ExportFile {
    csv: Option<Csv>,
    lines: Lines,
    bytes: Vec<u8>,
    sender: tokio::sync::mpsc::Sender<std::io::Result<Vec<u8>>>,
}

impl ExportFile {
    fn write(
        &mut self,
        app: &Shared,
        viewer: &Viewer,
        expression: &Expression,
        as_csv: bool,
    ) -> Result<(), String> {
        if as_csv {
            self.csv =
                Some(Csv::begin(&mut self.bytes, RecordKind::Calls).map_err(|error| error.to_string())?);
        }
        let stop = Stop::new(RunningSearch::until(Instant::now() + LONGEST_EXPORT));
        let hides = !viewer.has(Right::Numbers);
        let range = Range { after: None, limit: usize::MAX, with_streams: false, stop: &stop };
        let coverage = walk(app, viewer, expression, range, |call, _| {
            let call = if hides { app.masker.call(&call) } else { call };
            self.call(&call).map_err(|error| Problem::unavailable(error.to_string()))?;
            // Whoever reads it has gone.
            Ok(self.bytes.len() < PIECE || self.send())
        });
        let coverage = coverage.map_err(|problem| problem.detail.clone())?;
        self.send();
        match coverage.is_complete() || self.sender.is_closed() {
            true => Ok(()),
            false => Err("the export took too long: narrow the search".to_owned()),
        }
    }

    fn call(&mut self, call: &Call) -> std::io::Result<()> {
        match &self.csv {
            Some(csv) => csv.record(&mut self.bytes, RecordKind::Calls, call),
            None => self.lines.write(&mut self.bytes, call),
        }
    }

    /// Sends what was written; false if nobody reads it any more.
    fn send(&mut self) -> bool {
        let bytes = std::mem::take(&mut self.bytes);
        bytes.is_empty() || self.sender.blocking_send(Ok(bytes)).is_ok()
    }
}

/// Most calls of a page.
const MOST: usize = 1_000;
/// Bytes that are sent at a time.
const PIECE: usize = 64 << 10;
/// Longest time of an export.
const LONGEST_EXPORT: Duration = Duration::from_secs(3_600);
