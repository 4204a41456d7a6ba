//! What happens now: server-sent events, and calls in progress.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use axum::extract::{Query, State};
use axum::response::Sse;
use axum::response::sse::{Event, KeepAlive};
use futures_util::Stream as Events;
use ringtap_access::{Action, Right, What};
use ringtap_model::{Call, Stream};
use ringtap_report::time;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::answer::Answer;
use crate::problem::Problem;
use crate::sources::Daemon;
use crate::state::App;
use crate::viewer::Viewer;

/// `GET /live`: the state of the daemon, every second.
pub(crate) async fn events(
    State(app): State<App>,
    viewer: Viewer,
) -> Result<Sse<impl Events<Item = Result<Event, Infallible>>>, Problem> {
    viewer.need(Right::Search)?;
    let ticks = tokio::time::interval(EVERY);
    let state = (app, viewer, ticks, None::<Value>);
    let events = futures_util::stream::unfold(state, |(app, viewer, mut ticks, before)| async move {
        ticks.tick().await;
        // Whoever was logged out meanwhile sees no more.
        if !viewer.is_still_allowed(&app).await {
            return None;
        }
        let status = app.live_status().await;
        let now = now(&status, before.as_ref());
        let event = Event::default().event("now").data(now.to_string());
        let before = status.as_ref().ok().map(|status| (**status).clone());
        Some((Ok(event), (app, viewer, ticks, before)))
    });
    Ok(Sse::new(events).keep_alive(KeepAlive::default()))
}

/// The state for people, with rates since the one before.
fn now(status: &Result<Arc<Value>, String>, before: Option<&Value>) -> Value {
    let status = match status {
        Ok(status) => status,
        Err(why) => return json!({ "now_us": time::now().micros(), "lacking": why }),
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
    json!({
        "now_us": status["now_us"],
        "since_us": status["since_us"],
        "version": status["version"],
        "calls": { "active": status["calls"], "total_started": status["calls_begun"] },
        "streams": status["streams"],
        "attempts_per_s": rate("calls_begun"),
        "packets_per_s": rate("packets"),
        "bytes_per_s": rate("bytes"),
        "drops": drops,
        "refused": status["refused"],
        "workers": status["workers"],
        "store": status["store"],
        "spool": status["spool"],
        "clock_step_s": status["clock_step_s"],
        "timestamps": status["timestamps"],
        "cpu_pct": share,
        "resident_bytes": status["resident_bytes"],
        "lacking": null,
    })
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
        *latest = Some((std::time::Instant::now(), status.clone()));
        status
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
            Ok(Err(error)) => Err(Problem::unavailable(format!("{error:#}"))),
            Err(_) => Err(Problem::unavailable("the daemon could not be asked")),
        }
    }
}

/// A search among calls in progress.
#[derive(Deserialize)]
pub(crate) struct LiveSearch {
    #[serde(default)]
    q: String,
    limit: Option<usize>,
}

/// `GET /live/calls`.
pub(crate) async fn calls(
    State(app): State<App>,
    viewer: Viewer,
    Query(wanted): Query<LiveSearch>,
) -> Result<Answer, Problem> {
    viewer.need(Right::Search)?;
    let search = app.parsed(&viewer, &wanted.q, None)?;
    if !wanted.q.is_empty() {
        app.note(&viewer, Action::Search, What::from("calls in progress: ").number(&*wanted.q)).await?;
    }
    let list = app.ask(|daemon| daemon.calls(MOST)).await?;
    let total = list["total"].clone();
    let listed: Vec<(Call, Vec<Stream>)> = serde_json::from_value(list["calls"].clone())
        .map_err(|_| Problem::unavailable("the daemon is of another version: its calls cannot be read"))?;
    let count = listed.len();
    let limit = wanted.limit.unwrap_or(100).clamp(1, MOST);
    let calls: Vec<Call> = listed
        .into_iter()
        .filter(|(call, streams)| viewer.sees(call) && search.matches(call, streams))
        .map(|(call, _)| call)
        .take(limit)
        .collect();
    Ok(viewer.answer(&app, json!({ "calls": calls, "total": total, "listed": count })))
}

const EVERY: Duration = Duration::from_secs(1);
const NO_DAEMON: &str = "no running ringtap is known to this console: start `ringtap run`, and name its \
                         control socket with `--control`";
/// Most calls in progress that the daemon lists.
const MOST: usize = 1_000;

#[cfg(test)]
mod tests {
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
        let shown = now(&later, Some(&status(1_000_000, 10)));
        assert_eq!(shown["attempts_per_s"], 10.0);
        assert_eq!(shown["packets_per_s"], 10_000.0);
        assert_eq!(shown["drops"]["ring"], 3);
        assert_eq!(shown["cpu_pct"], 100.0);
        assert_eq!(now(&later, None)["attempts_per_s"], Value::Null, "there was no time before");
        assert_eq!(now(&Err("away".into()), None)["lacking"], "away");
    }
}
