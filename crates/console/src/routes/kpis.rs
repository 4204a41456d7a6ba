//! KPIs by group and over time, each with the attempts behind it.

use std::collections::BTreeMap;

use axum::extract::{Query, State};
use ringtap_access::Right;
use ringtap_kpi::rollup::minute_of;
use ringtap_kpi::{Dimension, FIGURES, Figure, FigureUnit, Key, Per, Rollup, Row, Table, View};
use ringtap_model::Nanos;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::TimeSpan;
use crate::answer::Answer;
use crate::problem::Problem;
use crate::state::{App, Shared};
use crate::viewer::Viewer;

/// What is asked for.
#[derive(Deserialize)]
pub(crate) struct Wanted {
    #[serde(default)]
    by: Option<String>,
    #[serde(default)]
    every: Option<String>,
    from_us: Option<u64>,
    until_us: Option<u64>,
    /// Names of figures, with commas; all if it is left out.
    figures: Option<String>,
}

/// `GET /kpis`.
pub(crate) async fn show(
    State(app): State<App>,
    viewer: Viewer,
    Query(wanted): Query<Wanted>,
) -> Result<Answer, Problem> {
    viewer.need(Right::Search)?;
    viewer.need_everything("KPIs")?;
    let dimensions = dimensions(wanted.by.as_deref())?;
    let per = per(wanted.every.as_deref())?;
    let figures = figures(wanted.figures.as_deref())?;
    let span = TimeSpan { from_us: wanted.from_us, until_us: wanted.until_us };
    let reading = app.clone();
    let value = app
        .work
        .scan(move |_| {
            let mut groups: BTreeMap<usize, Value> = BTreeMap::new();
            let mut places: BTreeMap<Key, usize> = BTreeMap::new();
            let whole = table(&reading, span, Table::new(dimensions.clone(), None, false))?;
            for row in whole.rows().into_iter().take(MOST_GROUPS) {
                let place = groups.len();
                places.insert(row.key.clone(), place);
                groups.insert(place, group(&row, &figures));
            }
            if let Some(per) = per {
                let zone = reading.sources.zone.clone();
                let over_time = table(&reading, span, Table::new(dimensions, Some((per, zone)), false))?;
                for row in over_time.rows() {
                    let series = places.get(&row.key).and_then(|place| groups.get_mut(place));
                    if let Some(Value::Array(series)) = series.and_then(|group| group.get_mut("series")) {
                        let point = json!({
                            "at_us": row.from.micros(), "until_us": row.to.micros(),
                            "attempts": row.cell.attempts(), "figures": values(&row, &figures),
                        });
                        series.push(point);
                    }
                }
            }
            Ok(json!({
                "definitions": figures.iter().map(|figure| definition(figure)).collect::<Vec<_>>(),
                "groups": groups.into_values().collect::<Vec<_>>(),
            }))
        })
        .await?;
    Ok(Answer::of(value))
}

/// Adds up the rollups of a time.
pub(super) fn table(app: &Shared, span: TimeSpan, mut table: Table) -> Result<Table, Problem> {
    let Some(reader) = app.records()? else { return Ok(table) };
    let from = span.from_us.map_or(Nanos::ZERO, |from| minute_of(Nanos::from_micros(from)));
    let until = span.until_us.map_or(Nanos::MAX, Nanos::from_micros);
    let dimensions = table.dimensions().to_vec();
    let mut unread = false;
    reader.rollups((from - EARLIER, until), &*app.sources.kpis, |minute, bytes| {
        match Rollup::from_bytes(bytes, &dimensions) {
            Some(rollup) if rollup.is_empty() => {}
            Some(rollup) if minute < from => table.add_before(&rollup),
            Some(rollup) => table.add(minute, &rollup),
            None => unread = true,
        }
        Ok(())
    })?;
    match unread {
        true => {
            Err(Problem::unavailable("stored figures cannot be read: restore the day file from a backup"))
        }
        false => Ok(table),
    }
}

fn group(row: &Row, figures: &[&Figure]) -> Value {
    json!({
        "name": row.key.shown(),
        "dimension": dimension(row.key.dimension),
        "attempts": row.cell.attempts(),
        "figures": values(row, figures),
        "series": [],
    })
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

/// `{"asr":{"value":..,"of":..}}`.
fn values(row: &Row, figures: &[&Figure]) -> Value {
    let view = View { cell: &row.cell, concurrent: row.concurrent };
    let value = |figure: &&Figure| {
        let (value, of) = (figure.value)(&view);
        (figure.name.to_owned(), json!({ "value": value, "of": of }))
    };
    Value::Object(figures.iter().map(value).collect::<Map<_, _>>())
}

fn definition(figure: &Figure) -> Value {
    let unit = match figure.unit {
        FigureUnit::Count => "calls",
        FigureUnit::Percent => "%",
        FigureUnit::Milliseconds => "ms",
        FigureUnit::Mos => "MOS",
        FigureUnit::Number => "",
    };
    json!({ "name": figure.name, "title": figure.title, "unit": unit, "text": figure.definition })
}

fn dimensions(by: Option<&str>) -> Result<Vec<Dimension>, Problem> {
    Ok(match by.unwrap_or("total") {
        "total" => vec![Dimension::Total],
        "trunk" => vec![Dimension::TrunkIn, Dimension::TrunkOut],
        "trunk_in" => vec![Dimension::TrunkIn],
        "trunk_out" => vec![Dimension::TrunkOut],
        "direction" => vec![Dimension::Direction],
        "codec" => vec![Dimension::Codec],
        "device" => vec![Dimension::Device],
        "prefix" => vec![Dimension::Prefix],
        "code" => vec![Dimension::Code],
        other => {
            return Err(Problem::request(
                format!("calls cannot be grouped by `{other}`"),
                "`by` is total, trunk, trunk_in, trunk_out, direction, codec, device, prefix or code",
            ));
        }
    })
}

fn per(every: Option<&str>) -> Result<Option<Per>, Problem> {
    Ok(match every {
        None | Some("") => None,
        Some("minute") => Some(Per::Minute),
        Some("hour") => Some(Per::Hour),
        Some("day") => Some(Per::Day),
        Some(other) => {
            return Err(Problem::request(
                format!("`{other}` is no length of a period"),
                "`every` is minute, hour or day",
            ));
        }
    })
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

/// Calls that began so long before are looked at as well: those still in progress count as such.
const EARLIER: Nanos = Nanos::from_secs(3_600);
/// Most groups of an answer; those with the most attempts.
const MOST_GROUPS: usize = 500;
