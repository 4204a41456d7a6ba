//! All calls of a search as a file, which is sent while they are found.

use std::time::{Duration, Instant};

use axum::body::Body;
use axum::extract::State;
use axum::http::HeaderValue;
use axum::http::header::{CONTENT_DISPOSITION, CONTENT_TYPE};
use axum::response::Response;
use ringtap_access::{Action, Right};
use ringtap_model::Call;
use ringtap_report::csv::{Csv, RecordKind};
use ringtap_report::json::Lines;
use ringtap_report::parquet::{self, Parquet};
use ringtap_search::Expression;
use ringtap_store::RunningSearch;
use serde::Deserialize;
use tokio::runtime::Handle;
use utoipa::{IntoParams, ToSchema};

use super::calls::{Range, note, walk};
use crate::openapi::FileBytes;
use crate::openapi::refusals::{Busy, Conflict};
use crate::problem::Problem;
use crate::request::Query;
use crate::state::{App, Shared};
use crate::viewer::Viewer;
use crate::work::Stop;

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
    Parquet,
}

impl FileFormat {
    /// Its media type.
    fn media_type(self) -> &'static str {
        match self {
            Self::Csv => "text/csv; charset=utf-8",
            Self::Jsonl => "application/jsonl",
            Self::Parquet => parquet::MEDIA_TYPE,
        }
    }

    /// How the names of its files end.
    fn ending(self) -> &'static str {
        match self {
            Self::Csv => "csv",
            Self::Jsonl => "jsonl",
            Self::Parquet => "parquet",
        }
    }
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
        ), content(
            (String = "text/csv"),
            (String = "application/jsonl"),
            (inline(FileBytes) = "application/vnd.apache.parquet")
        )),
        Conflict, Busy
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
    if format == FileFormat::Parquet && !parquet::IS_AVAILABLE {
        return Err(Problem::conflict(parquet::LACKING));
    }
    let ending = format.ending();
    let what = format!("{ending} of calls");
    note(&app, &viewer, Action::Export, &what, &wanted.q).await?;
    let stop = Stop::new(RunningSearch::until(Instant::now() + LONGEST_EXPORT));
    // From here on an export that does not come to its end is noted as such, also while it waits.
    let mut outcome = Outcome::new(&app, &viewer, what, wanted.q, Handle::current());
    let place = app.work.file().await.inspect_err(|busy| outcome.failed = Some(busy.detail.clone()))?;
    let (sender, receiver) = tokio::sync::mpsc::channel::<std::io::Result<Vec<u8>>>(4);
    let (reading, ends) = (app.clone(), Stop::clone(&stop));
    let runtime = Handle::current();
    tokio::task::spawn_blocking(move || {
        crate::work::give_way();
        // All of it, so that it is dropped here and not before.
        let (_place, mut outcome) = (place, outcome);
        let sending = Sending { sender, runtime: runtime.clone(), patience: PATIENCE };
        let mut file = ExportFile { bytes: Vec::new(), sent: None, calls: 0, sending };
        let done = file.write(&reading, &viewer, &expression, format, &ends);
        outcome.calls = file.calls;
        outcome.is_sent = done.is_ok();
        if let Err(error) = done {
            outcome.failed = (!file.sending.sender.is_closed()).then(|| error.clone());
            // An answer that breaks off is no whole file: the program that reads it sees an error. One that
            // reads nothing has no thread and no place wait for it.
            let sender = file.sending.sender;
            runtime.spawn(async move { sender.send(Err(std::io::Error::other(error))).await });
        }
    });
    let mut response = Response::new(body(receiver, stop));
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(format.media_type()));
    let disposition = format!("attachment; filename=\"calls.{ending}\"");
    headers.extend(HeaderValue::from_str(&disposition).ok().map(|value| (CONTENT_DISPOSITION, value)));
    Ok(response)
}

/// Pieces of a file as an answer. The search for them ends with it.
fn body(receiver: tokio::sync::mpsc::Receiver<std::io::Result<Vec<u8>>>, stop: Stop) -> Body {
    let reading = (receiver, StopOnDrop(stop));
    Body::from_stream(futures_util::stream::unfold(reading, |mut reading| async move {
        reading.0.recv().await.map(|piece| (piece, reading))
    }))
}

/// The search of a file ends when the answer is dropped, as its connection closed.
struct StopOnDrop(Stop);

impl Drop for StopOnDrop {
    fn drop(&mut self) {
        self.0.stop();
    }
}

/// What became of an export that was noted: when dropped, one that was not sent whole is counted and noted as
/// given up, or with why it failed.
struct Outcome {
    app: App,
    viewer: Viewer,
    what: String,
    q: String,
    runtime: Handle,
    calls: u64,
    is_sent: bool,
    failed: Option<String>,
}

impl Outcome {
    fn new(app: &App, viewer: &Viewer, what: String, q: String, runtime: Handle) -> Self {
        let (app, viewer) = (app.clone(), viewer.clone());
        Self { app, viewer, what, q, runtime, calls: 0, is_sent: false, failed: None }
    }
}

impl Drop for Outcome {
    fn drop(&mut self) {
        if self.is_sent {
            return;
        }
        if self.failed.is_none() {
            self.app.work.give_up();
        }
        let became = self.failed.take().map_or("given up".to_owned(), |error| format!("failed ({error})"));
        let what = format!("{became} after {} calls: {}", self.calls, self.what);
        let (app, viewer, q) = (self.app.clone(), self.viewer.clone(), std::mem::take(&mut self.q));
        // An entry that cannot be written is logged there; the export itself is in the log already.
        self.runtime.spawn(async move { note(&app, &viewer, Action::Export, &what, &q).await });
    }
}

/// Writes calls in a format.
enum Writing {
    Csv(Csv),
    Jsonl(Lines),
    Parquet(Box<Parquet<Call>>),
}

impl Writing {
    fn begin(to: &mut Vec<u8>, format: FileFormat) -> std::io::Result<Self> {
        Ok(match format {
            FileFormat::Csv => Self::Csv(Csv::begin(to, RecordKind::Calls)?),
            FileFormat::Jsonl => Self::Jsonl(Lines::default()),
            FileFormat::Parquet => Self::Parquet(Box::new(Parquet::begin(to)?)),
        })
    }

    fn call(&mut self, to: &mut Vec<u8>, call: &Call) -> std::io::Result<()> {
        match self {
            Self::Csv(csv) => csv.record(to, RecordKind::Calls, call),
            Self::Jsonl(lines) => lines.write(to, call),
            Self::Parquet(file) => file.record(to, call),
        }
    }

    fn end(self, to: &mut Vec<u8>) -> std::io::Result<()> {
        match self {
            Self::Csv(_) | Self::Jsonl(_) => Ok(()),
            Self::Parquet(file) => file.end(to),
        }
    }
}

/// A file that is sent while it is written.
struct ExportFile {
    bytes: Vec<u8>,
    /// When the last piece was sent.
    sent: Option<Instant>,
    /// Calls that were written.
    calls: u64,
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
        format: FileFormat,
        stop: &Stop,
    ) -> Result<(), String> {
        let mut writing = Writing::begin(&mut self.bytes, format).map_err(|error| error.to_string())?;
        let hides = !viewer.has(Right::Numbers);
        let range = Range { after: None, limit: usize::MAX, with_streams: false, stop };
        let coverage = walk(app, viewer, expression, range, |call, _| {
            let call = if hides { app.tokens.call(&call) } else { call };
            let written = writing.call(&mut self.bytes, &call);
            written.map_err(|error| Problem::unavailable(error.to_string()))?;
            self.calls += 1;
            // Whoever reads it has gone.
            Ok(!is_due(self.bytes.len(), self.sent.map(|sent| sent.elapsed())) || self.send())
        });
        let coverage = coverage.map_err(|problem| problem.detail.clone())?;
        if coverage.is_complete() {
            // A file that is not whole has no end.
            writing.end(&mut self.bytes).map_err(|error| error.to_string())?;
        }
        let is_sent = self.send();
        match coverage.is_complete() && is_sent {
            true => Ok(()),
            false => Err("the export took too long: narrow the search, or read it faster".to_owned()),
        }
    }

    /// Sends what was written; false if nobody reads it.
    fn send(&mut self) -> bool {
        let bytes = std::mem::take(&mut self.bytes);
        self.sent = Some(Instant::now());
        match bytes.is_empty() {
            // Parquet gathers thousands of calls.
            true => !self.sending.sender.is_closed(),
            false => self.sending.send(bytes),
        }
    }
}

/// Whether so many bytes are sent, so long after the last piece: the first call at once, others with those
/// that are found soon after them.
fn is_due(bytes: usize, since: Option<Duration>) -> bool {
    bytes >= PIECE || since.is_none_or(|since| since >= GATHERED)
}

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
    fn a_search_ends_with_the_answer_that_it_is_for() {
        let (_sender, receiver) = tokio::sync::mpsc::channel(1);
        let stop = Stop::default();
        let body = body(receiver, Stop::clone(&stop));
        assert!(!stop.is_over());
        drop(body);
        assert!(stop.is_over());
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
