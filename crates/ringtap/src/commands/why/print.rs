//! Prints what distinguishes calls: as a sentence and a table, as JSON lines, or as CSV.

use std::io::{self, Write};

use anyhow::Context;
use ringtap_investigate::{Finding, Named, Ranking};
use ringtap_report::style::Style;
use ringtap_report::table::{self, Cell, Column};
use ringtap_report::text::{self, counted, grouped};
use ringtap_report::{csv, json};
use serde_json::{Value, json};

use crate::page::Format;
use crate::screen::Screen;

/// Prints a ranking of the calls of what was `read`, such as `3 days`.
pub(super) fn print(
    ranking: &Ranking,
    read: &str,
    format: Format,
    screen: &mut Screen,
) -> anyhow::Result<()> {
    if format == Format::Table {
        screen.page();
    }
    let Screen { out, width, colour, .. } = screen;
    match format {
        Format::Table => table(out, ranking, read, *width, *colour),
        Format::Jsonl => lines(out, ranking),
        Format::Csv => rows(out, ranking),
    }
    .and_then(|()| out.flush())
    .context("cannot write the results")?;
    let (marked, others) = ranking.pairs_of;
    let has_pair = ranking.findings.iter().any(|finding| finding.also.is_some());
    if has_pair && (marked, others) != (ranking.marked, ranking.others) {
        screen.remark(format!(
            "pairs are counted of a fair choice of calls, {} marked ones and {} others: their figures are of \
             these",
            grouped(marked),
            grouped(others)
        ));
    }
    Ok(())
}

const COLUMNS: &[Column] = &[
    Column::figure("MARKED", 0),
    Column::figure("OF", 3),
    Column::figure("%", 0),
    Column::figure("OTHERS", 0),
    Column::figure("OF", 3),
    Column::figure("%", 0),
    Column::figure("CHANCE", 2),
    Column::text("SUCH CALLS", 80, 24, 0),
];

fn table(out: &mut dyn Write, ranking: &Ranking, read: &str, width: usize, colour: bool) -> io::Result<()> {
    for line in text::wrap(&text::shown(&ranking.text()), width) {
        writeln!(out, "{}", Style::Bold.paint(&line, colour))?;
    }
    writeln!(out)?;
    if ranking.claims() {
        let below: Vec<String> = ranking.findings.iter().map(below).collect();
        let rows = ranking.findings.iter().map(cells);
        let below = |row: usize| below.get(row).map(String::as_str);
        table::write_told(out, COLUMNS, rows, below, width, colour)?;
        writeln!(out)?;
    }
    let unanswered = match ranking.unanswered {
        0 => String::new(),
        count => format!(", {} left out that were not answered", grouped(count)),
    };
    let (marked, others) = (counted(ranking.marked, "call"), grouped(ranking.others));
    let line = format!("{marked} marked, compared with {others} others{unanswered}; {read} searched");
    writeln!(out, "{}", Style::Dim.paint(&line, colour))
}

fn cells(finding: &Finding) -> Vec<Cell> {
    let share = |percent: f64| Cell::plain(format!("{percent:.1}"));
    vec![
        Cell::plain(grouped(finding.marked)),
        Cell::plain(grouped(finding.marked_of)),
        share(finding.marked_pct()),
        Cell::plain(grouped(finding.others)),
        Cell::plain(grouped(finding.others_of)),
        share(finding.others_pct()),
        Cell::plain(format!("{:.0e}", finding.p_value)),
        Cell::plain(finding.phrase()),
    ]
}

/// What stands below a row: the search, and what else marks the same calls.
fn below(finding: &Finding) -> String {
    let same: Vec<&str> = finding.same.iter().take(SAME).map(|named| named.phrase.as_str()).collect();
    match &same[..] {
        [] => finding.query.clone(),
        same => format!("{}; nearly the same calls {}", finding.query, same.join("; ")),
    }
}

fn lines(out: &mut dyn Write, ranking: &Ranking) -> io::Result<()> {
    let first = json!({
        "type": "why",
        "marked": ranking.marked,
        "others": ranking.others,
        "unanswered": ranking.unanswered,
        "values": ranking.values,
        "fields": ranking.fields,
        "claims": ranking.claims(),
        "text": ranking.text(),
    });
    json::line(out, &first)?;
    ranking.findings.iter().try_for_each(|finding| {
        let same: Vec<Value> = finding.same.iter().map(named).collect();
        let line = json!({
            "type": "why_finding",
            "field": finding.value.field,
            "value": finding.value.value,
            "also": finding.also.as_ref().map(named),
            "same": same,
            "marked": finding.marked,
            "marked_of": finding.marked_of,
            "marked_pct": rounded(finding.marked_pct()),
            "others": finding.others,
            "others_of": finding.others_of,
            "others_pct": rounded(finding.others_pct()),
            "p_value": finding.p_value,
            "q": finding.query,
            "text": finding.sentence(),
        });
        json::line(out, &line)
    })
}

fn named(named: &Named) -> Value {
    json!({"field": named.field, "value": named.value, "q": named.query})
}

fn rows(out: &mut dyn Write, ranking: &Ranking) -> io::Result<()> {
    let names = ["field", "value", "also_field", "also_value", "marked", "marked_of", "marked_pct", "others"];
    csv::row(out, names.into_iter().chain(["others_of", "others_pct", "p_value", "q"]))?;
    ranking.findings.iter().try_for_each(|finding| {
        let also = finding.also.as_ref();
        let safe = |text: &str| text::shown(text).into_owned();
        let cells = [
            finding.value.field.to_owned(),
            safe(&finding.value.value),
            also.map(|also| also.field.to_owned()).unwrap_or_default(),
            also.map(|also| safe(&also.value)).unwrap_or_default(),
            finding.marked.to_string(),
            finding.marked_of.to_string(),
            rounded(finding.marked_pct()).to_string(),
            finding.others.to_string(),
            finding.others_of.to_string(),
            rounded(finding.others_pct()).to_string(),
            format!("{:e}", finding.p_value),
            safe(&finding.query),
        ];
        csv::row(out, cells.into_iter())
    })
}

fn rounded(percent: f64) -> f64 {
    (percent * 1e4).round() / 1e4
}

/// Values that are told beside one that nearly the same calls have; JSON has all.
const SAME: usize = 3;
