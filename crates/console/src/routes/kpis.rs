//! KPIs by group and over time, each with the attempts behind it.

use std::collections::BTreeMap;

use axum::extract::State;
use ringtap_access::Right;
use ringtap_kpi::{Dimension, FIGURES, Figure, FigureUnit, Key, Per, Row, Table, View};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use super::{TimeSpan, rollups};
use crate::answer::Answer;
use crate::openapi::refusals::Busy;
use crate::problem::Problem;
use crate::request::Query;
use crate::state::App;
use crate::viewer::Viewer;

/// What is asked for.
#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub(crate) struct Wanted {
    /// How calls are grouped; `total` unless it is given.
    #[param(inline, example = "trunk")]
    by: Option<GroupBy>,
    /// Figures over time as well, one of each for so long.
    #[param(inline, example = "hour")]
    every: Option<Every>,
    /// From then, in microseconds since 1970.
    #[serde(default, deserialize_with = "crate::request::int64")]
    from_us: Option<u64>,
    /// Until then, which is not included, in microseconds since 1970.
    #[serde(default, deserialize_with = "crate::request::int64")]
    until_us: Option<u64>,
    /// Names of figures, with commas; all if it is left out.
    #[param(example = "asr,pdd_p95")]
    figures: Option<String>,
}

/// What calls of a group have in common.
#[derive(Clone, Copy, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
enum GroupBy {
    Total,
    Trunk,
    TrunkIn,
    TrunkOut,
    Direction,
    Codec,
    Device,
    Prefix,
    Code,
}

/// The length of a period.
#[derive(Clone, Copy, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
enum Every {
    Minute,
    Hour,
    Day,
}

/// KPIs by group.
#[derive(Serialize, ToSchema)]
struct KpiTable {
    /// What the figures are.
    definitions: Vec<KpiDefinition>,
    /// At most 500 groups, those with the most attempts.
    groups: Vec<KpiGroup>,
    /// Only the calls that you may see were counted, and no registrations.
    scoped: bool,
}

/// What a figure is.
#[derive(Serialize, ToSchema)]
struct KpiDefinition {
    name: &'static str,
    /// For people.
    title: &'static str,
    /// `calls`, `%`, `ms`, `MOS`, or empty for a plain number.
    unit: &'static str,
    /// How it is computed, and by which source.
    text: &'static str,
}

/// Calls that have something in common.
#[derive(Serialize, ToSchema)]
struct KpiGroup {
    name: String,
    /// What the name is: `trunk_in`, `codec`, ...
    dimension: &'static str,
    attempts: u64,
    figures: KpiFigures,
    /// In order of time; empty unless `every` was given.
    series: Vec<KpiPoint>,
}

/// Figures by their names.
type KpiFigures = BTreeMap<&'static str, KpiValue>;

/// The value of a figure.
#[derive(Serialize, ToSchema)]
struct KpiValue {
    /// Null where nothing was counted.
    value: Option<f64>,
    /// How many calls, streams or digits it was computed of.
    of: u64,
}

/// Figures of a minute, an hour or a day.
#[derive(Serialize, ToSchema)]
struct KpiPoint {
    /// When it begins.
    at_us: u64,
    /// When it ends.
    until_us: u64,
    attempts: u64,
    figures: KpiFigures,
}

/// KPIs by group and over time
///
/// Each with the number of calls that it was computed of (docs/manual/kpis.md). For whoever may see some
/// calls only, these alone are counted; then `scoped` is true.
#[utoipa::path(
    get, path = "/kpis", operation_id = "list_kpis", tag = "figures", params(Wanted),
    responses((status = 200, description = "KPIs.", body = KpiTable), Busy)
)]
pub(crate) async fn show(
    State(app): State<App>,
    viewer: Viewer,
    Query(wanted): Query<Wanted>,
) -> Result<Answer, Problem> {
    viewer.need(Right::Search)?;
    let is_by_trunk = matches!(wanted.by, Some(GroupBy::Trunk | GroupBy::TrunkIn | GroupBy::TrunkOut));
    let of_trunks = is_by_trunk && viewer.identity.scope.is_of_trunks();
    let dimensions = dimensions(wanted.by);
    let per = wanted.every.map(|every| match every {
        Every::Minute => Per::Minute,
        Every::Hour => Per::Hour,
        Every::Day => Per::Day,
    });
    let figures = figures(wanted.figures.as_deref())?;
    let span = TimeSpan { from_us: wanted.from_us, until_us: wanted.until_us };
    let reading = app.clone();
    let value = app
        .work
        .scan(move |stop| {
            let mut groups: Vec<KpiGroup> = Vec::new();
            let mut places: BTreeMap<Key, usize> = BTreeMap::new();
            let whole = (Table::new(dimensions.clone(), None, false), of_trunks);
            let whole = rollups::table(&reading, &viewer, span, whole, stop)?;
            let seen = whole.rows().into_iter().filter(|row| !of_trunks || viewer.sees_trunk(&row.key));
            for row in seen.take(MOST_GROUPS) {
                places.insert(row.key.clone(), groups.len());
                groups.push(group(&row, &figures));
            }
            if let Some(per) = per {
                let zone = reading.sources.zone.clone();
                let over_time = (Table::new(dimensions, Some((per, zone)), false), of_trunks);
                let over_time = rollups::table(&reading, &viewer, span, over_time, stop)?;
                for row in over_time.rows() {
                    if let Some(group) = places.get(&row.key).and_then(|place| groups.get_mut(*place)) {
                        group.series.push(KpiPoint {
                            at_us: row.from.micros(),
                            until_us: row.to.micros(),
                            attempts: row.cell.attempts(),
                            figures: values(&row, &figures),
                        });
                    }
                }
            }
            let definitions = figures.iter().map(|figure| definition(figure)).collect();
            Ok(KpiTable { definitions, groups, scoped: viewer.is_limited() })
        })
        .await?;
    Ok(Answer::of(value))
}

fn group(row: &Row, figures: &[&Figure]) -> KpiGroup {
    KpiGroup {
        name: row.key.shown().to_owned(),
        dimension: dimension(row.key.dimension),
        attempts: row.cell.attempts(),
        figures: values(row, figures),
        series: Vec::new(),
    }
}

fn dimension(of: Dimension) -> &'static str {
    match of {
        Dimension::Total => "total",
        Dimension::TrunkIn => "trunk_in",
        Dimension::TrunkOut => "trunk_out",
        Dimension::Direction => "direction",
        Dimension::Codec => "codec",
        Dimension::Device => "device",
        Dimension::Prefix => "prefix",
        Dimension::Code => "code",
    }
}

fn values(row: &Row, figures: &[&Figure]) -> KpiFigures {
    let view = View { cell: &row.cell, concurrent: row.concurrent };
    let value = |figure: &&Figure| {
        let (value, of) = (figure.value)(&view);
        (figure.name, KpiValue { value, of })
    };
    figures.iter().map(value).collect()
}

fn definition(figure: &Figure) -> KpiDefinition {
    let unit = match figure.unit {
        FigureUnit::Count => "calls",
        FigureUnit::Percent => "%",
        FigureUnit::Milliseconds => "ms",
        FigureUnit::Mos => "MOS",
        FigureUnit::Number => "",
    };
    KpiDefinition { name: figure.name, title: figure.title, unit, text: figure.definition }
}

fn dimensions(by: Option<GroupBy>) -> Vec<Dimension> {
    match by.unwrap_or(GroupBy::Total) {
        GroupBy::Total => vec![Dimension::Total],
        GroupBy::Trunk => vec![Dimension::TrunkIn, Dimension::TrunkOut],
        GroupBy::TrunkIn => vec![Dimension::TrunkIn],
        GroupBy::TrunkOut => vec![Dimension::TrunkOut],
        GroupBy::Direction => vec![Dimension::Direction],
        GroupBy::Codec => vec![Dimension::Codec],
        GroupBy::Device => vec![Dimension::Device],
        GroupBy::Prefix => vec![Dimension::Prefix],
        GroupBy::Code => vec![Dimension::Code],
    }
}

fn figures(names: Option<&str>) -> Result<Vec<&'static Figure>, Problem> {
    let Some(names) = names.filter(|names| !names.is_empty()) else { return Ok(FIGURES.iter().collect()) };
    names
        .split(',')
        .map(|name| {
            ringtap_kpi::figure::figure(name).ok_or_else(|| {
                let all: Vec<&str> = FIGURES.iter().map(|figure| figure.name).collect();
                Problem::request(
                    format!("`{name}` is no figure"),
                    format!("the figures are {}", all.join(", ")),
                )
            })
        })
        .collect()
}

/// Most groups of an answer; those with the most attempts.
const MOST_GROUPS: usize = 500;
