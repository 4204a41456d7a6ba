//! Whether the console can answer, for load balancers and for whoever watches it; and its metrics.

use std::fs;
use std::time::{Duration, Instant};

use axum::extract::State;
use axum::http::StatusCode;
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};
use ringtap_access::Right;
use ringtap_report::time;

use crate::answer::Answer;
use crate::checks::{Check, Health, check};
use crate::meter::Gauges;
use crate::problem::Problem;
use crate::state::{App, Shared};
use crate::viewer::Viewer;
use crate::work::Stop;

/// Whether the console can answer
///
/// 200 if every check is right, 503 if one is not. Without a login only that is told. What was found is at
/// most 5 s old.
#[utoipa::path(
    get, path = "/health", operation_id = "show_health", tag = "about", security(()),
    responses(
        (status = 200, description = "Every check is right.", body = Health),
        (status = 503, description = "A check is not.", body = Health)
    )
)]
pub(crate) async fn show(State(app): State<App>, viewer: Result<Viewer, Problem>) -> Response {
    let mut health = app.health().await;
    let may_see = |viewer: &Viewer| viewer.has(Right::Search) && viewer.identity.scope.is_everything();
    if !viewer.as_ref().is_ok_and(may_see) {
        health.checks.clear();
    }
    let status = if health.ok { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE };
    (status, Answer::of(health)).into_response()
}

/// Metrics of the console
///
/// In the text format of Prometheus; docs/manual/console-metrics.md lists them. Those of the daemon are at
/// its own address.
#[utoipa::path(
    get, path = "/metrics", operation_id = "show_metrics", tag = "about",
    responses((status = 200, description = "All metrics.", body = String, content_type = "text/plain"))
)]
pub(crate) async fn metrics(State(app): State<App>, viewer: Viewer) -> Result<Response, Problem> {
    viewer.need(Right::Search)?;
    viewer.need_everything("metrics")?;
    let seen = app.clone();
    let page = app
        .work
        .read(move |_| {
            let sessions = seen.people.sessions(None, time::now())?.len() as u64;
            let (work, cancelled) = (seen.work.counts(), seen.work.cancelled());
            Ok(seen.meter.page(&Gauges { work, cancelled, sessions }))
        })
        .await?;
    Ok(([(CONTENT_TYPE, "text/plain; version=0.0.4; charset=utf-8")], page).into_response())
}

impl App {
    /// What was found last, or is found now. Whoever asks without end costs a look in 5 s.
    async fn health(&self) -> Health {
        let mut last = self.health.lock().await;
        if let Some((at, health)) = &*last
            && at.elapsed() < FRESH
        {
            return health.clone();
        }
        let daemon = match &self.sources.daemon {
            Some(_) => Some(self.live_status().await),
            None => None,
        };
        let app = self.clone();
        let looked = tokio::task::spawn_blocking(move || app.checks());
        let failed = |_| vec![check("records", Err("looking at them failed: the log says why".to_owned()))];
        let mut checks = looked.await.unwrap_or_else(failed);
        checks.extend(daemon.map(|status| match status {
            Ok(status) => {
                let version = status["version"].as_str().unwrap_or("unknown");
                check("daemon", Ok(format!("it answers, version {version}")))
            }
            Err(why) => check("daemon", Err(why)),
        }));
        let health = Health { ok: checks.iter().all(|check| check.ok), checks };
        *last = Some((Instant::now(), health.clone()));
        health
    }
}

impl Shared {
    /// The checks that read the disk.
    fn checks(&self) -> Vec<Check> {
        let records = match self.records(&Stop::default()).and_then(|reader| match reader {
            Some(reader) => Ok(reader.days()?.len()),
            None => Ok(0),
        }) {
            Ok(0) => Ok("nothing is stored yet".to_owned()),
            Ok(days) => Ok(format!("records of {days} days can be read")),
            Err(problem) => Err(problem.detail.clone()),
        };
        let mut checks = vec![check("records", records), check("disk", self.disk())];
        if let Some(open) = &self.sources.spool {
            let opened = open().map(|_| "it can be read".to_owned());
            checks.push(check("spool", opened.map_err(|error| format!("{error:#}"))));
        }
        checks.extend(self.certificate.as_ref().map(|one| check("certificate", one.check(time::now()))));
        checks
    }

    /// The space for records.
    fn disk(&self) -> Result<String, String> {
        let directory = &self.sources.records;
        // Where nothing was recorded yet, there is no directory.
        let existing = directory.ancestors().find(|path| fs::metadata(path).is_ok());
        let space = existing.ok_or_else(|| "the directory of the records is not there".to_owned());
        let space = ringtap_spool::space(space?).map_err(|error| error.to_string())?;
        let told = format!("{:.1} % are free", space.free as f64 * 100.0 / space.total.max(1) as f64);
        if space.free < space.total / 100 { Err(told) } else { Ok(told) }
    }
}

/// For how long an answer is true enough.
const FRESH: Duration = Duration::from_secs(5);
