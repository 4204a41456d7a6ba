//! What is kept, and for how long.

use std::fs;
use std::path::Path;

use axum::extract::State;
use ringtap_access::Right;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::rules::read;
use crate::answer::Answer;
use crate::openapi::refusals::{Busy, Conflict};
use crate::problem::Problem;
use crate::state::{App, Shared};
use crate::viewer::Viewer;
use crate::work::Stop;

/// What the daemon says of what it keeps.
#[derive(Deserialize)]
struct Told {
    now_us: u64,
    records_age_ms: Option<u64>,
    age_suspended: bool,
    spool: Option<SpoolRetention>,
}

/// What is kept, for how long, and what becomes of it.
#[derive(Serialize, ToSchema)]
struct Retention {
    now_us: u64,
    /// Nothing is deleted by age, because the clock of the daemon is not trusted.
    age_suspended: bool,
    records: RecordsKept,
    /// The spool; null if no packets are recorded.
    #[schema(required = true)]
    spool: Option<SpoolRetention>,
}

/// The records of calls.
#[derive(Serialize, ToSchema)]
struct RecordsKept {
    /// Days of which there are records.
    days: usize,
    /// When the first of them begins.
    oldest_us: Option<u64>,
    /// Bytes of their files.
    bytes: u64,
    /// How long they are kept, in milliseconds; null for ever.
    age_ms: Option<u64>,
}

/// What is kept in the spool.
#[derive(Serialize, Deserialize, ToSchema)]
struct SpoolRetention {
    /// Packets are recorded; false while the disk is full.
    recording: bool,
    /// Signalling, and media.
    categories: Vec<CategoryRetention>,
    /// Size of the file system of the spool.
    disk_bytes: Option<u64>,
    /// What is free of it.
    free_bytes: Option<u64>,
    /// Below so much free space, the oldest segments are moved or deleted.
    low_bytes: Option<u64>,
    /// Until so much is free.
    high_bytes: Option<u64>,
    /// When that begins, if things go on as on average so far; null if limits of age and size come first, or
    /// too little was recorded to tell.
    short_at_us: Option<u64>,
    /// Older segments move to a second directory or to a bucket.
    has_tier: bool,
    /// They move when they are so old, in milliseconds; null when the disk is short of space.
    tier_after_ms: Option<u64>,
    /// The bucket cannot be reached, or refuses.
    tier_lost: bool,
}

/// What is kept of a category.
#[derive(Serialize, Deserialize, ToSchema)]
struct CategoryRetention {
    /// `signalling` or `media`.
    category: String,
    /// Wherever they are.
    bytes: u64,
    segments: u64,
    /// When the oldest segment begins.
    oldest_us: Option<u64>,
    /// How long packets are kept, in milliseconds; null until the disk is short of space.
    age_ms: Option<u64>,
    /// How many bytes are kept; null for no limit.
    size_bytes: Option<u64>,
    /// Bytes that arrive a day, on average since the oldest segment; null if that is too short to tell.
    bytes_per_day: Option<u64>,
    /// When the oldest segment is deleted.
    next_us: Option<u64>,
    /// By which limit: `age` or `size`.
    next_by: Option<String>,
}

/// What is kept, for how long, and what the disk does next
///
/// Of records and of recorded packets, by the limits that are in effect.
#[utoipa::path(
    get, path = "/retention", operation_id = "show_retention", tag = "retention",
    responses((status = 200, description = "As it is now.", body = Retention), Conflict, Busy)
)]
pub(crate) async fn show(State(app): State<App>, viewer: Viewer) -> Result<Answer, Problem> {
    viewer.need(Right::Search)?;
    viewer.need_everything("sizes and ages")?;
    app.note_view(&viewer, "what is kept".to_owned()).await?;
    let told: Told = read(app.ask(|daemon| daemon.retention()).await?)?;
    let seen = app.clone();
    let records = app.work.read(move |_| records(&seen, told.records_age_ms)).await?;
    let Told { now_us, age_suspended, spool, .. } = told;
    Ok(Answer::of(Retention { now_us, age_suspended, records, spool }))
}

fn records(app: &Shared, age_ms: Option<u64>) -> Result<RecordsKept, Problem> {
    let days = app.records(&Stop::default())?.map(|reader| reader.days()).transpose()?.unwrap_or_default();
    Ok(RecordsKept {
        days: days.len(),
        oldest_us: days.first().map(|day| day.start().micros()),
        bytes: bytes(&app.sources.records),
        age_ms,
    })
}

/// Bytes of the files in a directory.
fn bytes(directory: &Path) -> u64 {
    // A file that is deleted meanwhile has none.
    let files = fs::read_dir(directory).into_iter().flatten().flatten();
    files.filter_map(|file| file.metadata().ok()).filter(fs::Metadata::is_file).map(|file| file.len()).sum()
}
