//! Prints KPIs: as a table with definitions below it, as JSON lines, or as CSV.

use std::io::{self, Write};

use anyhow::Context;
use ringtap_kpi::figure::figure;
use ringtap_kpi::{Dimension, FIGURES, Figure, FigureUnit, Per, Row, Table, View, Zone};
use ringtap_report::style::Style;
use ringtap_report::table::{self, Cell, Column};
use ringtap_report::text::{self, grouped};
use ringtap_report::{csv, json};
use serde_json::{Map, Value, json};

use crate::page::Format;
use crate::screen::Screen;

/// How rows are printed.
pub(super) struct Printed {
    /// The title of the groups; none where all calls are one.
    pub(super) by: Option<&'static str>,
    pub(super) per: Option<Per>,
    pub(super) zone: Zone,
    pub(super) legs: bool,
    /// What was read: `3 days`.
    pub(super) covered: String,
}

impl Printed {
    pub(super) fn print(&self, table: Table, format: Format, screen: &mut Screen) -> anyhow::Result<()> {
        let rows = table.rows();
        if format == Format::Table {
            screen.page();
        }
        let Screen { out, width, colour, .. } = screen;
        match format {
            Format::Table => self.table(out, &rows, *width, *colour),
            Format::Jsonl => self.lines(out, &rows),
            Format::Csv => self.csv(out, &rows),
        }
        .and_then(|()| out.flush())
        .context("cannot write the results")
    }

    fn table(&self, out: &mut dyn Write, rows: &[Row], width: usize, colour: bool) -> io::Result<()> {
        let Some((total, from, to)) = total(rows) else {
            return writeln!(out, "no call began in that time; {} searched", self.covered);
        };
        let (first, last) = (self.zone.shown(from), self.zone.shown(to));
        let counted = if self.legs { "legs" } else { "conversations" };
        writeln!(out, "{first} to {last} {}, {counted}; {} read", self.zone.name(), self.covered)?;
        let lost = total.capture_drops;
        if lost > 0 {
            writeln!(out, "! this monitor lost at least {} packets of its own in that time", grouped(lost))?;
        }
        writeln!(out)?;
        let figures: Vec<&Figure> = SHOWN.iter().filter_map(|(name, _)| figure(name)).collect();
        let mut columns = vec![Column::text(self.by.unwrap_or("CALLS"), 30, 9, 0)];
        match self.per {
            Some(_) => columns.push(Column::word("FROM", 0)),
            None => columns.push(Column::word("OVER TIME", 3)),
        }
        columns.extend(
            SHOWN
                .iter()
                .filter_map(|(name, leave)| figure(name).map(|figure| Column::figure(figure.title, *leave))),
        );
        let lines: Vec<Vec<Cell>> = rows.iter().map(|row| self.line(row, &figures)).collect();
        table::write(out, &columns, lines.into_iter(), width, colour)?;
        writeln!(out)?;
        for figure in figures {
            let text = format!("{}: {}", figure.title, figure.definition);
            for line in text::wrap(&text, width) {
                writeln!(out, "{}", Style::Dim.paint(&line, colour))?;
            }
        }
        Ok(())
    }

    fn line(&self, row: &Row, figures: &[&Figure]) -> Vec<Cell> {
        let mark = if row.cell.capture_loss() > MARKED { " !" } else { "" };
        let mut cells = vec![Cell::plain(format!("{}{}{mark}", row.key.shown(), direction(row)))];
        cells.push(match self.per {
            Some(_) => Cell::plain(self.zone.shown(row.from)),
            None => Cell::plain(sparkline(&row.over_time())),
        });
        let view = View { cell: &row.cell, concurrent: row.concurrent };
        cells.extend(figures.iter().map(|figure| shown(figure, (figure.value)(&view).0)));
        cells
    }

    fn lines(&self, out: &mut dyn Write, rows: &[Row]) -> io::Result<()> {
        let definitions = FIGURES.iter().map(|figure| (figure.name.to_owned(), figure.definition.into()));
        let mut first = Map::from_iter([("type".to_owned(), json!("kpi_definitions"))]);
        first.extend(definitions);
        json::line(out, &Value::Object(first))?;
        rows.iter().try_for_each(|row| {
            let mut line = Map::from_iter([
                ("type".to_owned(), json!("kpi")),
                ("by".to_owned(), json!(by(row.key.dimension))),
                ("name".to_owned(), json!(row.key.shown())),
                ("legs".to_owned(), json!(self.legs)),
                ("from_us".to_owned(), json!(row.from.micros())),
                ("to_us".to_owned(), json!(row.to.micros())),
                ("capture_loss_marked".to_owned(), json!(row.cell.capture_loss() > MARKED)),
            ]);
            let codes = row.cell.codes.iter().map(|(code, count)| (code.to_string(), json!(count)));
            line.insert("codes".to_owned(), Value::Object(codes.collect()));
            let view = View { cell: &row.cell, concurrent: row.concurrent };
            for figure in FIGURES {
                let (value, count) = (figure.value)(&view);
                line.insert(figure.name.to_owned(), json!({"value": number(figure, value), "of": count}));
            }
            json::line(out, &Value::Object(line))
        })
    }

    fn csv(&self, out: &mut dyn Write, rows: &[Row]) -> io::Result<()> {
        let names = FIGURES.iter().flat_map(|figure| [figure.name.to_owned(), format!("{}_of", figure.name)]);
        let fixed = ["by", "name", "from", "from_us", "to_us", "capture_loss_marked"].map(str::to_owned);
        csv::row(out, fixed.into_iter().chain(names))?;
        rows.iter().try_for_each(|row| {
            let fixed = [
                by(row.key.dimension).to_owned(),
                text::shown(row.key.shown()).into_owned(),
                self.zone.shown(row.from),
                row.from.micros().to_string(),
                row.to.micros().to_string(),
                (row.cell.capture_loss() > MARKED).to_string(),
            ];
            let view = View { cell: &row.cell, concurrent: row.concurrent };
            let cells = FIGURES.iter().flat_map(|figure| {
                let (value, count) = (figure.value)(&view);
                let value = match number(figure, value) {
                    Value::Null => String::new(),
                    value => value.to_string(),
                };
                [value, count.to_string()]
            });
            csv::row(out, fixed.into_iter().chain(cells))
        })
    }
}

/// The figures of all calls, and the time that rows cover.
fn total(rows: &[Row]) -> Option<(ringtap_kpi::Cell, ringtap_model::Nanos, ringtap_model::Nanos)> {
    let mut rows = rows.iter().filter(|row| row.key.dimension == Dimension::Total);
    let first = rows.next()?;
    let (mut cell, mut to) = (first.cell.clone(), first.to);
    for row in rows {
        cell.merge(&row.cell);
        to = to.max(row.to);
    }
    Some((cell, first.from, to))
}

/// What a row is about, in JSON lines and CSV.
fn by(dimension: Dimension) -> &'static str {
    match dimension {
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

fn direction(row: &Row) -> &'static str {
    match row.key.dimension {
        Dimension::TrunkIn => ", in",
        Dimension::TrunkOut => ", out",
        _ => "",
    }
}

/// A value as a number with as many digits as it deserves.
fn number(figure: &Figure, value: Option<f64>) -> Value {
    let digits = if figure.unit == FigureUnit::Count { 1.0 } else { 1e4 };
    match value.map(|value| (value * digits).round() / digits) {
        Some(value) if figure.unit == FigureUnit::Count => json!(value as u64),
        value => json!(value),
    }
}

fn shown(figure: &Figure, value: Option<f64>) -> Cell {
    let text = |value: f64| match figure.unit {
        FigureUnit::Count => grouped(value as u64),
        FigureUnit::Percent => format!("{value:.1}%"),
        FigureUnit::Milliseconds => ringtap_report::time::span(value),
        FigureUnit::Mos => format!("{value:.2}"),
        FigureUnit::Number => format!("{value:.1}"),
    };
    Cell::known(value.map(text))
}

/// Counts as blocks of eight heights.
fn sparkline(counts: &[u64]) -> String {
    let most = counts.iter().copied().max().unwrap_or(0).max(1);
    let block = |count: &u64| match count {
        0 => ' ',
        count => BLOCKS[((count * 8).div_ceil(most) as usize).clamp(1, 8) - 1],
    };
    counts.iter().map(block).collect()
}

const BLOCKS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
/// Share of the packets lost by the monitor above which figures are marked.
const MARKED: f64 = 0.001;
/// Columns of the table, each with when it leaves a narrow terminal: the highest number first.
const SHOWN: [(&str, u8); 13] = [
    ("attempts", 0),
    ("asr", 0),
    ("ner", 1),
    ("seer", 7),
    ("acd_ms", 2),
    ("pdd_ms_p50", 2),
    ("pdd_ms_p95", 4),
    ("short_calls", 8),
    ("repeated_calls", 9),
    ("concurrent_max", 6),
    ("mos_p50", 3),
    ("mos_p5", 4),
    ("loss_pct_p95", 5),
];
