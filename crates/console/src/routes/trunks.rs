//! Trunks: how the last day went on each.

use std::collections::BTreeMap;

use axum::extract::State;
use ringtap_access::Right;
use ringtap_kpi::{Dimension, Table, View, figure};
use ringtap_model::Nanos;
use ringtap_report::time;
use serde::Serialize;
use utoipa::ToSchema;

use super::{TimeSpan, rollups};
use crate::answer::Answer;
use crate::openapi::refusals::Busy;
use crate::problem::Problem;
use crate::request::Query;
use crate::state::App;
use crate::viewer::Viewer;

/// How it went on each trunk.
#[derive(Serialize, ToSchema)]
struct TrunkList {
    trunks: Vec<Trunk>,
    /// The time that is looked at.
    from_us: Option<u64>,
    until_us: Option<u64>,
    /// Only the calls that you may see were counted.
    scoped: bool,
}

/// A trunk: a group of addresses of the configuration, or an address.
#[derive(Serialize, ToSchema)]
struct Trunk {
    name: String,
    addresses: Vec<String>,
    attempts: u64,
    /// Answer-seizure ratio, in percent.
    asr: Option<f64>,
    /// Network effectiveness ratio, in percent.
    ner: Option<f64>,
    /// Median MOS-LQ.
    mos: Option<f64>,
}

/// How it went on each trunk
///
/// In the last day, or in the time that is given. A trunk's calls are those that came from it and those that
/// were sent to it. For whoever may see some calls only, these alone are counted; then `scoped` is true.
#[utoipa::path(
    get, path = "/trunks", operation_id = "list_trunks", tag = "figures", params(TimeSpan),
    responses((status = 200, description = "Trunks, by name.", body = TrunkList), Busy)
)]
pub(crate) async fn list(
    State(app): State<App>,
    viewer: Viewer,
    Query(span): Query<TimeSpan>,
) -> Result<Answer, Problem> {
    viewer.need(Right::Search)?;
    let (scoped, of_trunks) = (viewer.is_limited(), viewer.identity.scope.is_of_trunks());
    let day_ago = time::now() - DAY;
    let span = TimeSpan { from_us: span.from_us.or(Some(day_ago.micros())), ..span };
    let reading = app.clone();
    let trunks = app
        .work
        .scan(move |stop| {
            let dimensions = vec![Dimension::TrunkIn, Dimension::TrunkOut];
            let table = (Table::new(dimensions, None, false), true);
            let rows = rollups::table(&reading, &viewer, span, table, stop)?.rows();
            let mut trunks: BTreeMap<String, ringtap_kpi::Cell> = BTreeMap::new();
            for row in rows.into_iter().filter(|row| !of_trunks || viewer.sees_trunk(&row.key)) {
                trunks.entry(row.key.shown().to_owned()).or_default().merge(&row.cell);
            }
            Ok(trunks)
        })
        .await?;
    let value = |name: &str, cell: &ringtap_kpi::Cell| {
        figure::figure(name).and_then(|figure| (figure.value)(&View { cell, concurrent: None }).0)
    };
    let trunks = trunks
        .into_iter()
        .map(|(name, cell)| Trunk {
            name,
            addresses: Vec::new(),
            attempts: cell.attempts(),
            asr: value("asr", &cell),
            ner: value("ner", &cell),
            mos: value("mos_p50", &cell),
        })
        .collect();
    Ok(Answer::of(TrunkList { trunks, from_us: span.from_us, until_us: span.until_us, scoped }))
}

const DAY: Nanos = Nanos::from_secs(86_400);
