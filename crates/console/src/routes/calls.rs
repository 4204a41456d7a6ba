//! Searching calls: a page of them, what the whole result is made of, and all of it as a file.

use std::time::{Duration, Instant};

use axum::body::Body;
use axum::extract::State;
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
use serde::{Deserialize, Serialize};
use tokio::runtime::Handle;
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

/// A search whose calls are wanted as a file.
#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub(crate) struct WantedFile {
    /// The search (docs/manual/search.md); all calls unless it is given.
    #[serde(default)]
    #[param(example = "state:failed -2d")]
    q: String,
    /// `csv` unless it is given.
    #[param(inline, example = "jsonl")]
    format: Option<FileFormat>,
    /// The zone in which times without an offset are read; UTC unless it is given.
    #[serde(alias = "tz")]
    #[param(example = "Europe/Berlin")]
    zone: Option<String>,
}

/// A format of a file of calls.
#[derive(Clone, Copy, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
enum FileFormat {
    Csv,
    Jsonl,
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
async fn note(app: &App, viewer: &Viewer, action: Action, what: &str, q: &str) -> Result<(), Problem> {
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
    if after.is_none() {
        note(&app, &viewer, Action::Search, "calls", &wanted.q).await?;
    }
    let limit = wanted.limit.map_or(100, Bounded::get);
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
            Ok((page.finish(), next, coverage.answer()))
        })
        .await?;
    let took = (begun.elapsed().as_secs_f64() * 1e4).round() / 10.0;
    Ok(viewer.answer(&app, CallPage { calls, next, understood, coverage, took_ms: took }))
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
    let context = app.context(written.zone.as_deref());
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

/// The whole result of a search as a file
///
/// It is sent while calls are found, the newest first; one that breaks off is not whole. Needs the right
/// `export`.
#[utoipa::path(
    get, path = "/calls/export", operation_id = "export_calls", tag = "calls", params(WantedFile),
    responses(
        (status = 200, description = "A file.", headers(
            ("Content-Disposition" = String, description = "Its name.")
        ), content((String = "text/csv"), (String = "application/jsonl"))),
        Busy
    )
)]
pub(crate) async fn export(
    State(app): State<App>,
    viewer: Viewer,
    Query(wanted): Query<WantedFile>,
) -> Result<Response, Problem> {
    viewer.need(Right::Export)?;
    let expression = app.parsed(&viewer, &wanted.q, wanted.zone.as_deref())?;
    let format = wanted.format.unwrap_or(FileFormat::Csv);
    let (kind, ending) = match format {
        FileFormat::Csv => ("text/csv; charset=utf-8", "csv"),
        FileFormat::Jsonl => ("application/jsonl", "jsonl"),
    };
    note(&app, &viewer, Action::Export, &format!("{ending} of calls"), &wanted.q).await?;
    let place = app.work.file().await?;
    let (sender, receiver) = tokio::sync::mpsc::channel::<std::io::Result<Vec<u8>>>(4);
    let reading = app.clone();
    let runtime = Handle::current();
    tokio::task::spawn_blocking(move || {
        let _place = place;
        let sending = Sending { sender, runtime: runtime.clone(), patience: PATIENCE };
        let mut file =
            ExportFile { csv: None, lines: Lines::default(), bytes: Vec::new(), sent: None, sending };
        let done = file.write(&reading, &viewer, &expression, format == FileFormat::Csv);
        if let Err(error) = done {
            // An answer that breaks off is no whole file: the program that reads it sees an error. One that
            // reads nothing has no thread and no place wait for it.
            let sender = file.sending.sender;
            runtime.spawn(async move { sender.send(Err(std::io::Error::other(error))).await });
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
    /// When the last piece was sent.
    sent: Option<Instant>,
    sending: Sending,
}

/// Pieces of a file on their way to whoever reads it.
struct Sending {
    sender: tokio::sync::mpsc::Sender<std::io::Result<Vec<u8>>>,
    runtime: Handle,
    patience: Duration,
}

impl Sending {
    /// Sends a piece; false if nobody reads it any more, or not within the patience that there is.
    fn send(&self, bytes: Vec<u8>) -> bool {
        let sent = self.sender.send_timeout(Ok(bytes), self.patience);
        self.runtime.block_on(sent).is_ok()
    }
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
            let call = if hides { app.tokens.call(&call) } else { call };
            self.call(&call).map_err(|error| Problem::unavailable(error.to_string()))?;
            // Whoever reads it has gone.
            Ok(!is_due(self.bytes.len(), self.sent.map(|sent| sent.elapsed())) || self.send())
        });
        let coverage = coverage.map_err(|problem| problem.detail.clone())?;
        let is_sent = self.send();
        match coverage.is_complete() && is_sent || self.sending.sender.is_closed() {
            true => Ok(()),
            false => Err("the export took too long: narrow the search, or read it faster".to_owned()),
        }
    }

    fn call(&mut self, call: &Call) -> std::io::Result<()> {
        match &self.csv {
            Some(csv) => csv.record(&mut self.bytes, RecordKind::Calls, call),
            None => self.lines.write(&mut self.bytes, call),
        }
    }

    /// Sends what was written; false if nobody reads it.
    fn send(&mut self) -> bool {
        let bytes = std::mem::take(&mut self.bytes);
        self.sent = Some(Instant::now());
        bytes.is_empty() || self.sending.send(bytes)
    }
}

/// Whether so many bytes are sent, so long after the last piece: the first call at once, others with those
/// that are found soon after them.
fn is_due(bytes: usize, since: Option<Duration>) -> bool {
    bytes >= PIECE || since.is_none_or(|since| since >= GATHERED)
}

/// Most calls of a page.
const MOST: usize = 1_000;
/// Bytes that are sent at a time.
const PIECE: usize = 64 << 10;
/// How long calls of a file are gathered.
const GATHERED: Duration = Duration::from_millis(100);
/// How long whoever reads a file may take for a piece of it.
const PATIENCE: Duration = Duration::from_secs(30);
/// Longest time of an export.
const LONGEST_EXPORT: Duration = Duration::from_secs(3_600);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_call_of_a_file_waits_for_no_other() {
        assert!(is_due(1, None));
        assert!(!is_due(PIECE - 1, Some(GATHERED / 2)));
        assert!(is_due(PIECE, Some(Duration::ZERO)) && is_due(1, Some(GATHERED)));
    }

    #[test]
    fn whoever_reads_nothing_is_not_waited_for() {
        let runtime =
            tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_time().build().unwrap();
        let (sender, mut receiver) = tokio::sync::mpsc::channel(1);
        let patience = Duration::from_millis(20);
        let sending = Sending { sender, runtime: runtime.handle().clone(), patience };
        assert!(sending.send(vec![1]));
        assert!(!sending.send(vec![2]), "the first piece was not taken");
        assert_eq!(receiver.try_recv().unwrap().unwrap(), [1]);
        assert!(sending.send(vec![3]));
        drop(receiver);
        assert!(!sending.send(vec![4]));
    }
}
