//! The daemons that capture, and how they are.

use std::path::Path;

use axum::extract::State;
use ringtap_access::Right;
use ringtap_report::time;
use serde::Serialize;
use utoipa::ToSchema;

use super::live::{self, LiveState};
use super::sensor_faults::{self, SensorDisk, SensorFault};
use crate::answer::Answer;
use crate::openapi::refusals::Busy;
use crate::problem::Problem;
use crate::state::{App, Shared};
use crate::viewer::Viewer;

/// Sensors.
#[derive(Serialize, ToSchema)]
struct SensorList {
    now_us: u64,
    /// The daemons that this console reads: one at present.
    sensors: Vec<Sensor>,
}

/// A machine that captures, and its daemon.
#[derive(Serialize, ToSchema)]
struct Sensor {
    /// Of the machine.
    name: String,
    /// Whether its daemon answers now.
    answers: bool,
    /// When it answered last, since this console was started.
    seen_us: Option<u64>,
    /// What is wrong with it, and what to do; empty where all is well.
    faults: Vec<SensorFault>,
    /// What it says of itself; where it does not answer, what it said last is not repeated, and `lacking`
    /// says why.
    state: LiveState,
    /// The file systems that it writes to.
    disks: Vec<SensorDisk>,
}

/// The sensors, and how they are
///
/// Counts are since the start of the daemon. Rates and processor time are those of about 10 s, or of the time
/// since somebody asked before, 2 minutes at most: the first answer has none.
#[utoipa::path(
    get, path = "/sensors", operation_id = "list_sensors", tag = "live",
    responses((status = 200, description = "All sensors.", body = SensorList), Busy)
)]
pub(crate) async fn list(State(app): State<App>, viewer: Viewer) -> Result<Answer, Problem> {
    viewer.need(Right::Search)?;
    viewer.need_everything("packets and losses")?;
    app.note_view(&viewer, "the sensors".to_owned()).await?;
    let status = app.live_status().await;
    let seen = app.clone();
    let disks = app.work.read(move |_| Ok(disks(&seen))).await?;
    let recent = app.recent.lock().await;
    let before = recent.before().map(|before| &**before);
    let sensor = Sensor {
        name: app.sources.sensor.clone(),
        answers: status.is_ok(),
        seen_us: recent.seen_us(),
        faults: sensor_faults::faults(&status, before, &disks),
        state: live::now(&status, before),
        disks,
    };
    Ok(Answer::of(SensorList { now_us: time::now().micros(), sensors: vec![sensor] }))
}

/// The file systems of records and spool, those that can be looked at.
fn disks(app: &Shared) -> Vec<SensorDisk> {
    let records = Some(("records", &app.sources.records));
    let spool = app.sources.spool_directory.as_ref().map(|directory| ("spool", directory));
    records.into_iter().chain(spool).filter_map(|(name, directory)| disk(name, directory)).collect()
}

fn disk(name: &'static str, directory: &Path) -> Option<SensorDisk> {
    let space = ringtap_spool::space(directory).ok()?;
    Some(SensorDisk { name, total_bytes: space.total, free_bytes: space.free })
}
