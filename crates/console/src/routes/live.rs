//! What happens now: server-sent events, and calls in progress.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use axum::extract::State;
use axum::response::Sse;
use axum::response::sse::{Event, KeepAlive};
use futures_util::Stream as Events;
use ringtap_access::{Action, Right, What};
use ringtap_model::Call;
use ringtap_report::time;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::{IntoParams, ToSchema};

use crate::answer::Answer;
use crate::live_calls::ListedCalls;
use crate::meter::OpenEvents;
use crate::openapi::records::CallRecord;
use crate::problem::Problem;
use crate::request::{Bounded, Query};
use crate::sources::Daemon;
use crate::state::App;
use crate::viewer::Viewer;

/// The state of the daemon. Rates are those since the event before, so the first has none; where the daemon
/// does not answer, or whoever asks may see some calls only, all but `now_us` is null and `lacking` says why.
#[derive(Default, Serialize, ToSchema)]
pub(super) struct LiveState {
    now_us: Option<u64>,
    /// When it was started.
    since_us: Option<u64>,
    /// Of ringtap, as the daemon is.
    version: Option<String>,
    calls: Option<LiveCallCounts>,
    /// Media streams in progress.
    streams: Option<u64>,
    attempts_per_s: Option<f64>,
    packets_per_s: Option<f64>,
    bytes_per_s: Option<f64>,
    /// Packets that were lost since the start, by the place where (docs/manual/live.md).
    #[schema(value_type = Option<BTreeMap<String, u64>>)]
    drops: Option<serde_json::Map<String, Value>>,
    /// What tables of the engine refused or gave up since the start, by counter.
    #[schema(value_type = Option<BTreeMap<String, u64>>)]
    refused: Value,
    /// Its workers, as `ringtap status --format json` shows them.
    workers: Value,
    /// The database, likewise.
    store: Value,
    /// The spool, likewise.
    spool: Value,
    /// By how many seconds the clock has stepped; 0 if it is trusted.
    clock_step_s: Option<i64>,
    /// Where the time of packets comes from.
    timestamps: Option<String>,
    /// Processor time of the workers, in percent of one core.
    cpu_pct: Option<f64>,
    resident_bytes: Option<u64>,
    /// Why nothing is known.
    lacking: Option<String>,
}

/// Calls of the daemon.
#[derive(Serialize, ToSchema)]
struct LiveCallCounts {
    /// In progress.
    active: Option<u64>,
    /// Since the start.
    total_started: Option<u64>,
}

/// The state of the daemon, every second
///
/// Server-sent events, `event: now`, each with a `LiveState` in JSON as its `data`. They end when the session
/// ends.
#[utoipa::path(
    get, path = "/live", operation_id = "watch_live", tag = "live",
    responses((
        status = 200, description = "Without end.", body = LiveState, content_type = "text/event-stream"
    ))
)]
pub(crate) async fn events(
    State(app): State<App>,
    viewer: Viewer,
) -> Result<Sse<impl Events<Item = Result<Event, Infallible>>>, Problem> {
    viewer.need(Right::Search)?;
    let ticks = tokio::time::interval(EVERY);
    let open = OpenEvents::new(Arc::clone(&app.meter));
    let state = (app, viewer, ticks, None::<Value>, open);
    let events = futures_util::stream::unfold(state, |(app, viewer, mut ticks, before, open)| async move {
        ticks.tick().await;
        // Whoever was logged out meanwhile sees no more.
        if !viewer.is_still_allowed(&app).await {
            return None;
        }
        let status = match viewer.is_limited() {
            true => Err(LIMITED.to_owned()),
            false => app.live_status().await,
        };
        let now = now(&status, before.as_ref());
        let event = Event::default().event("now").data(serde_json::to_string(&now).unwrap_or_default());
        let before = status.as_ref().ok().map(|status| (**status).clone());
        Some((Ok(event), (app, viewer, ticks, before, open)))
    });
    Ok(Sse::new(events).keep_alive(KeepAlive::default()))
}

/// The state for people, with rates since the one before.
pub(super) fn now(status: &Result<Arc<Value>, String>, before: Option<&Value>) -> LiveState {
    let status = match status {
        Ok(status) => status,
        Err(why) => {
            let (now_us, lacking) = (Some(time::now().micros()), Some(why.clone()));
            return LiveState { now_us, lacking, ..LiveState::default() };
        }
    };
    let number = |value: &Value| value.as_f64().unwrap_or(0.0);
    let seconds = before.map(|before| (number(&status["now_us"]) - number(&before["now_us"])) / 1e6);
    let rate = |name: &str| {
        let seconds = seconds.filter(|seconds| *seconds > 0.0)?;
        let before = number(&before?[name]);
        Some(((number(&status[name]) - before) / seconds * 10.0).round() / 10.0)
    };
    let lost = status["lost"].as_array().map(Vec::as_slice).unwrap_or_default();
    let drops: serde_json::Map<String, Value> = lost
        .iter()
        .filter_map(|pair| Some((pair.get(0)?.as_str()?.to_owned(), pair.get(1)?.clone())))
        .collect();
    let cpu = |of: &Value| -> f64 {
        of["workers"].as_array().into_iter().flatten().map(|worker| number(&worker["cpu_ms"])).sum()
    };
    let share = seconds
        .filter(|seconds| *seconds > 0.0)
        .zip(before)
        .map(|(seconds, before)| ((cpu(status) - cpu(before)) / seconds / 10.0 * 10.0).round() / 10.0);
    let counts =
        LiveCallCounts { active: status["calls"].as_u64(), total_started: status["calls_begun"].as_u64() };
    LiveState {
        now_us: status["now_us"].as_u64(),
        since_us: status["since_us"].as_u64(),
        version: status["version"].as_str().map(str::to_owned),
        calls: Some(counts),
        streams: status["streams"].as_u64(),
        attempts_per_s: rate("calls_begun"),
        packets_per_s: rate("packets"),
        bytes_per_s: rate("bytes"),
        drops: Some(drops),
        refused: status["refused"].clone(),
        workers: status["workers"].clone(),
        store: status["store"].clone(),
        spool: status["spool"].clone(),
        clock_step_s: status["clock_step_s"].as_i64(),
        timestamps: status["timestamps"].as_str().map(str::to_owned),
        cpu_pct: share,
        resident_bytes: status["resident_bytes"].as_u64(),
        lacking: None,
    }
}

impl App {
    /// The daemon's state, asked for once a second however many people watch.
    pub(crate) async fn live_status(&self) -> Result<Arc<Value>, String> {
        let mut latest = self.status.lock().await;
        if let Some((at, status)) = &*latest
            && at.elapsed() < EVERY / 2
        {
            return status.clone();
        }
        let Some(daemon) = self.sources.daemon.clone() else { return Err(NO_DAEMON.to_owned()) };
        let asked = tokio::task::spawn_blocking(move || daemon.status()).await;
        let status = match asked {
            Ok(Ok(status)) => Ok(Arc::new(status)),
            Ok(Err(error)) => Err(format!("{error:#}")),
            Err(_) => Err("the daemon could not be asked".to_owned()),
        };
        if let Ok(status) = &status {
            self.recent.lock().await.add(status, time::now().micros());
        }
        *latest = Some((std::time::Instant::now(), status.clone()));
        status
    }

    /// The latest `most` calls in progress or more, as the daemon listed them within the last second.
    async fn live_calls(&self, most: usize) -> Result<Arc<ListedCalls>, Problem> {
        let app = self.clone();
        let ask = move |daemon: &dyn Daemon| {
            let list = |most| daemon.calls(most).map_err(|error| Problem::of_daemon(&error)).and_then(listed);
            Ok(app.live_calls.get(most, FRESH, list))
        };
        self.ask(ask).await?
    }

    /// Asks the daemon something, outside of the threads that serve connections.
    pub(crate) async fn ask<T: Send + 'static>(
        &self,
        question: impl FnOnce(&dyn Daemon) -> anyhow::Result<T> + Send + 'static,
    ) -> Result<T, Problem> {
        let Some(daemon) = self.sources.daemon.clone() else {
            return Err(Problem::unavailable(NO_DAEMON));
        };
        let asked = tokio::task::spawn_blocking(move || question(&*daemon)).await;
        match asked {
            Ok(Ok(answer)) => Ok(answer),
            Ok(Err(error)) => Err(Problem::of_daemon(&error)),
            Err(_) => Err(Problem::unavailable("the daemon could not be asked")),
        }
    }
}

/// A search among calls in progress.
#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub(crate) struct LiveSearch {
    /// The search (docs/manual/search.md); all calls unless it is given.
    #[serde(default)]
    #[param(example = "to:+49*")]
    q: String,
    /// Most calls of the answer; 100 unless it is given.
    #[param(value_type = Option<usize>, minimum = 1, maximum = 1000)]
    limit: Option<Bounded<1, MOST>>,
    /// The zone in which times without an offset are read; UTC unless it is given.
    #[serde(alias = "tz")]
    #[param(example = "Europe/Berlin")]
    zone: Option<String>,
}

/// Calls in progress.
#[derive(Serialize, ToSchema)]
struct LiveCallList<'a> {
    /// The latest first.
    #[schema(value_type = Vec<CallRecord>)]
    calls: &'a [&'a Call],
    /// Calls in progress, also those that are not looked at; null for whoever may see some calls only.
    total: Option<u64>,
    /// Calls that were looked at: the latest, as far as they may be seen.
    listed: usize,
}

/// Calls in progress
///
/// With a search, or for whoever may see some calls only, among the latest 1,000. As of the last second.
#[utoipa::path(
    get, path = "/live/calls", operation_id = "list_live_calls", tag = "live", params(LiveSearch),
    responses((status = 200, description = "Calls in progress.", body = LiveCallList))
)]
pub(crate) async fn calls(
    State(app): State<App>,
    viewer: Viewer,
    Query(wanted): Query<LiveSearch>,
) -> Result<Answer, Problem> {
    viewer.need(Right::Search)?;
    let search = app.parsed(&viewer, &wanted.q, wanted.zone.as_deref())?;
    if !wanted.q.is_empty() {
        app.note(&viewer, Action::Search, What::from("calls in progress: ").number(&*wanted.q)).await?;
    }
    let limit = wanted.limit.map_or(100, Bounded::get);
    // Whom every call answers need not look at more than are shown.
    let most = if wanted.q.is_empty() && !viewer.is_limited() { limit } else { MOST };
    let list = app.live_calls(most).await?;
    let seen: Vec<_> = list.calls.iter().rev().take(most).filter(|(call, _)| viewer.sees(call)).collect();
    let found = seen.iter().filter(|(call, streams)| search.matches(call, streams));
    let calls: Vec<&Call> = found.map(|(call, _)| call).take(limit).collect();
    let total = list.total.filter(|_| !viewer.is_limited());
    Ok(viewer.answer(&app, LiveCallList { calls: &calls, total, listed: seen.len() }))
}

/// The calls in progress that the daemon lists, with their streams.
pub(super) fn listed(mut list: Value) -> Result<ListedCalls, Problem> {
    let total = list["total"].as_u64();
    let calls = list.get_mut("calls").map(Value::take).unwrap_or_else(|| Value::Array(Vec::new()));
    let calls = serde_json::from_value(calls)
        .map_err(|_| Problem::unavailable("the daemon is of another version: its calls cannot be read"))?;
    Ok(ListedCalls { calls, total })
}

/// Why somebody sees no state: it would tell how many calls others make.
const LIMITED: &str = "the state of the daemon is counted over all calls, and you may see those of \
                       some trunks or numbers only";
const EVERY: Duration = Duration::from_secs(1);
const NO_DAEMON: &str = "no running ringtap is known to this console: start `ringtap run`, and name its \
                         control socket with `--control`";
/// Most calls in progress that the daemon lists.
pub(super) const MOST: usize = 1_000;
/// How long a list of the calls in progress is looked at again.
pub(super) const FRESH: Duration = EVERY;

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn rates_are_of_the_time_between_and_what_is_lacking_is_said() {
        let status = |now: u64, begun: u64| {
            json!({
                "now_us": now, "calls_begun": begun, "packets": 1_000 * begun,
                "lost": [["ring", 3]], "calls": 2,
                "workers": [{ "cpu_ms": 100 * begun }],
            })
        };
        let later = Ok(Arc::new(status(3_000_000, 30)));
        let now = |status: &_, before: Option<&Value>| serde_json::to_value(now(status, before)).unwrap();
        let shown = now(&later, Some(&status(1_000_000, 10)));
        assert_eq!(shown["attempts_per_s"], 10.0);
        assert_eq!(shown["packets_per_s"], 10_000.0);
        assert_eq!(shown["drops"]["ring"], 3);
        assert_eq!(shown["cpu_pct"], 100.0);
        assert_eq!(now(&later, None)["attempts_per_s"], Value::Null, "there was no time before");
        assert_eq!(now(&Err("away".into()), None)["lacking"], "away");
    }
}
