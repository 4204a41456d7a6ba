//! What was deleted from the spool, and why.
//!
//! INVARIANT: entries about interception product are left out, and so are the numbers of entries, whose gaps
//! would tell of them.

use axum::extract::State;
use ringtap_access::{Action, Right, What};
use ringtap_spool::{Category, Deletion, DeletionKind, DeletionTotal, LoggedDeletions, Segment};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use super::recording::directory;
use crate::answer::Answer;
use crate::openapi::refusals::{Busy, Conflict};
use crate::problem::Problem;
use crate::request::{Bounded, Query};
use crate::state::{App, Shared};
use crate::viewer::Viewer;

/// What is asked for.
#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub(crate) struct Wanted {
    /// Most entries of the answer; 100 unless it is given.
    #[param(value_type = Option<usize>, minimum = 1, maximum = 1000)]
    limit: Option<Bounded<1, 1_000>>,
}

/// What was deleted from the spool.
#[derive(Default, Serialize, ToSchema)]
struct DeletionList {
    /// The newest first.
    deletions: Vec<DeletionEntry>,
    /// Whether there are earlier entries.
    more: bool,
    /// What the log says in sums, of segments of which nothing is left.
    earlier: Vec<DeletionSum>,
    /// Whether each entry follows from the one before and is signed, where a key is known. What a power cut
    /// interrupted does not count.
    verified: bool,
    /// Whether signatures were looked at: the spool has a key.
    signed: bool,
    /// What is wrong with the first line that is not as it was written.
    problem: Option<String>,
}

/// A deletion.
#[derive(Serialize, ToSchema)]
#[schema(as = Deletion)]
struct DeletionEntry {
    /// When.
    time_us: Option<u64>,
    /// What: a whole `segment`; `chunks` or `keys` of calls that were erased, after which their packets
    /// cannot be read.
    #[schema(value_type = String)]
    deleted: DeletionKind,
    /// `signalling` or `media`.
    category: &'static str,
    /// The name of the segment: it begins with the time of its first packet, UTC.
    #[schema(example = "2026-11-21/134600.250-w0-m-17.pcap")]
    segment: String,
    /// Of a segment the limit, such as `older than 90d`. Of calls that were erased what was said by whoever
    /// gave the order; null without the right `numbers`.
    why: Option<String>,
}

/// Earlier deletions of one kind for one reason.
#[derive(Serialize, ToSchema)]
struct DeletionSum {
    #[schema(value_type = String)]
    deleted: DeletionKind,
    why: Option<String>,
    /// How many there were.
    entries: u64,
    /// The first segment.
    first: String,
    /// The last.
    last: String,
}

/// What was deleted from the spool, the newest first
///
/// The log is verified as a whole. Needs the right `audit`; reading it is noted in the audit log.
#[utoipa::path(
    get, path = "/retention/deletions", operation_id = "list_deletions", tag = "retention", params(Wanted),
    responses((status = 200, description = "The latest.", body = DeletionList), Conflict, Busy)
)]
pub(crate) async fn list(
    State(app): State<App>,
    viewer: Viewer,
    Query(wanted): Query<Wanted>,
) -> Result<Answer, Problem> {
    viewer.need(Right::Audit)?;
    viewer.need_everything("deletions")?;
    app.note(&viewer, Action::Audit, What::from("the log of deletions of the spool")).await?;
    let (seen, numbers) = (app.clone(), viewer.has(Right::Numbers));
    let limit = wanted.limit.map_or(100, Bounded::get);
    let list = app.work.read(move |_| read(&seen, limit, numbers)).await?;
    Ok(viewer.answer(&app, list))
}

fn read(app: &Shared, limit: usize, numbers: bool) -> Result<DeletionList, Problem> {
    let directory = directory(app)?;
    let keys = match &app.sources.spool {
        Some(open) => open()?.head_signers().to_vec(),
        None => Vec::new(),
    };
    let log = LoggedDeletions::read(directory, &keys)?;
    let flaw = log.flaws.iter().find(|(_, flaw)| *flaw != ringtap_spool::LogFlaw::Cut);
    let shown = |entry: &Deletion| {
        Some(DeletionEntry {
            time_us: entry
                .at
                .parse::<jiff::Timestamp>()
                .ok()
                .and_then(|at| u64::try_from(at.as_microsecond()).ok()),
            deleted: entry.deleted,
            category: ordinary(&entry.segment)?.name(),
            segment: entry.segment.clone(),
            why: why(entry.deleted, &entry.why, numbers),
        })
    };
    let mut newest = log.entries.iter().rev().filter_map(shown);
    let deletions: Vec<DeletionEntry> = newest.by_ref().take(limit).collect();
    let more = newest.next().is_some();
    let totals =
        log.entries.iter().filter_map(|entry| entry.summary.as_ref()).flat_map(|summary| &summary.totals);
    let sum = |total: &DeletionTotal| {
        ordinary(&total.first)?;
        Some(DeletionSum {
            deleted: total.deleted,
            why: why(total.deleted, &total.why, numbers),
            entries: total.entries,
            first: total.first.clone(),
            last: total.last.clone(),
        })
    };
    Ok(DeletionList {
        deletions,
        more,
        earlier: totals.filter_map(sum).collect(),
        verified: flaw.is_none(),
        signed: !keys.is_empty(),
        problem: flaw.map(|(_, flaw)| format!("a line of the log {flaw}; `ringtap verify` names all")),
    })
}

/// The category of a segment, if it is one of ordinary recordings.
fn ordinary(segment: &str) -> Option<Category> {
    let category = segment.parse::<Segment>().ok()?.category();
    Category::ORDINARY.contains(&category).then_some(category)
}

/// The reason; one that somebody wrote may have a number in it.
fn why(deleted: DeletionKind, why: &str, numbers: bool) -> Option<String> {
    (numbers || deleted == DeletionKind::Segment).then(|| why.to_owned())
}
