//! `kpis`: key performance indicators by group and over time.

use ringtap_kpi::{Dimension, FIGURES, Figure, FigureUnit, Per, Row, Table, View, Zone};
use ringtap_report::time;
use rmcp::model::JsonObject;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::tool::{Definition, arguments, within};
use crate::bounds::Room;
use crate::refusal::Refusal;
use crate::request::{Request, span};
use crate::schema;

pub(super) const TOOL: Definition = Definition {
    name: "kpis",
    title: "Key performance indicators",
    description: "\
ASR, NER, ACD, post-dial delay, MOS and others of the calls that began in a time, as a whole or by group, \
each with the number of attempts behind it: a share of few attempts says little. `by` is total, trunk, \
direction, codec, device, prefix or code; `every` (minute, hour, day) gives a row for each period. Figures \
without a name are the usual ones; the resource ringtap://kpis defines all of them.",
    arguments: || {
        schema::object(
            &[],
            json!({
                "by": { "type": "string", "enum": BY, "default": "total" },
                "every": { "type": "string", "enum": ["minute", "hour", "day"] },
                "since": schema::text("2026-11-21 02:00, or with an offset 2026-11-21T02:00:00+01:00."),
                "until": schema::text("Before this time."),
                "figures": schema::list(json!({ "type": "string" })),
                "limit": schema::number("Most rows; those with the most attempts.", 1, MOST, 30),
            }),
        )
    },
    answer: || {
        let row = schema::open_object(
            &["attempts", "figures", "untrusted"],
            json!({
                "from": schema::text_or_null("Beginning of the period, UTC."),
                "attempts": schema::count("Call attempts behind the figures."),
                "figures": { "type": "object" },
                "untrusted": schema::untrusted(),
            }),
        );
        schema::open_object(
            &["definitions", "rows"],
            json!({
                "definitions": schema::list(json!({ "type": "object" })),
                "rows": schema::list(row),
                "left_out": schema::left_out(),
            }),
        )
    },
    counts_all: true,
    run,
};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Arguments {
    by: Option<String>,
    every: Option<String>,
    since: Option<String>,
    until: Option<String>,
    #[serde(default)]
    figures: Vec<String>,
    limit: Option<usize>,
}

fn run(request: &Request, given: JsonObject) -> Result<Value, Refusal> {
    let wanted: Arguments = arguments(&TOOL, given)?;
    let limit = within("limit", wanted.limit, (1, MOST, 30))?;
    let by = wanted.by.as_deref().unwrap_or("total");
    if by == "prefix" && request.tokens.is_some() {
        return Err(Refusal::new(
            "prefixes are the first digits of numbers, and numbers are hidden here",
            "group by trunk or code, or have the person start `ringtap mcp --numbers`",
        ));
    }
    let dimensions = dimensions(by)?;
    let per = per(wanted.every.as_deref())?;
    let figures = figures(&wanted.figures)?;
    let span = span(wanted.since.as_deref(), wanted.until.as_deref())?;
    let zone = Zone::named(&time::zone_name()).unwrap_or(Zone::UTC);
    let table = Table::new(dimensions, per.map(|per| (per, zone)), false);
    let mut rows = request.records.figures(span, table)?.rows();
    if per.is_none() {
        rows.sort_by_key(|row| std::cmp::Reverse(row.cell.attempts()));
    }
    let count = rows.len();
    let (mut room, mut shown) = (Room::default(), Vec::new());
    for row in rows.iter().take(limit) {
        let part = request.shown(part(row, &figures, per.is_some()));
        if !room.take(&part) {
            break;
        }
        shown.push(part);
    }
    let left_out = match count - shown.len() {
        0 => None,
        missing => Some(format!("{missing} of {count} rows: raise `limit`, or name a shorter time")),
    };
    let define = |figure: &&Figure| {
        let (unit, definition) = definition(figure);
        json!({ "name": figure.name, "unit": unit, "definition": definition })
    };
    let definitions: Vec<Value> = figures.iter().map(define).collect();
    Ok(json!({ "definitions": definitions, "rows": shown, "left_out": left_out }))
}

fn part(row: &Row, figures: &[&Figure], is_over_time: bool) -> Value {
    let view = View { cell: &row.cell, concurrent: row.concurrent };
    let value = |figure: &&Figure| {
        let (value, of) = (figure.value)(&view);
        (figure.name.to_owned(), json!({ "value": value, "of": of }))
    };
    json!({
        "group": dimension(row.key.dimension),
        "from": is_over_time.then(|| time::rfc3339(row.from)),
        "attempts": row.cell.attempts(),
        "figures": Value::Object(figures.iter().map(value).collect::<Map<_, _>>()),
        "untrusted": { "name": row.key.shown() },
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

/// The unit of a figure, and how it is computed.
pub(crate) fn definition(figure: &Figure) -> (&'static str, &'static str) {
    let unit = match figure.unit {
        FigureUnit::Count => "count",
        FigureUnit::Percent => "%",
        FigureUnit::Milliseconds => "ms",
        FigureUnit::Mos => "MOS",
        FigureUnit::Number => "number",
    };
    (unit, figure.definition)
}

fn dimensions(by: &str) -> Result<Vec<Dimension>, Refusal> {
    Ok(match by {
        "total" => vec![Dimension::Total],
        "trunk" => vec![Dimension::TrunkIn, Dimension::TrunkOut],
        "direction" => vec![Dimension::Direction],
        "codec" => vec![Dimension::Codec],
        "device" => vec![Dimension::Device],
        "prefix" => vec![Dimension::Prefix],
        "code" => vec![Dimension::Code],
        other => {
            let remedy = format!("`by` is one of {}", BY.join(", "));
            return Err(Refusal::new(format!("calls cannot be grouped by `{other}`"), remedy));
        }
    })
}

fn per(every: Option<&str>) -> Result<Option<Per>, Refusal> {
    Ok(match every {
        None | Some("") => None,
        Some("minute") => Some(Per::Minute),
        Some("hour") => Some(Per::Hour),
        Some("day") => Some(Per::Day),
        Some(other) => {
            let problem = format!("`{other}` is no length of a period");
            return Err(Refusal::new(problem, "`every` is minute, hour or day"));
        }
    })
}

fn figures(names: &[String]) -> Result<Vec<&'static Figure>, Refusal> {
    if names.is_empty() {
        return Ok(FIGURES.iter().filter(|figure| USUAL.contains(&figure.name)).collect());
    }
    let named = |name: &String| {
        ringtap_kpi::figure::figure(name).ok_or_else(|| {
            let all: Vec<&str> = FIGURES.iter().map(|figure| figure.name).collect();
            Refusal::new(format!("`{name}` is no figure"), format!("the figures are {}", all.join(", ")))
        })
    };
    names.iter().map(named).collect()
}

const BY: [&str; 7] = ["total", "trunk", "direction", "codec", "device", "prefix", "code"];
/// What is asked for most.
const USUAL: [&str; 9] =
    ["attempts", "answered", "asr", "ner", "acd_ms", "pdd_ms_p50", "pdd_ms_p95", "mos_p50", "mos_p5"];
/// Most rows.
const MOST: usize = 200;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_usual_figures_exist() {
        assert_eq!(figures(&[]).unwrap().len(), USUAL.len());
        assert!(figures(&["no".into()]).is_err());
        assert!(BY.iter().all(|by| dimensions(by).is_ok()) && dimensions("x").is_err());
    }
}
