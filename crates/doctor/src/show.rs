//! Prints findings, for people and for programs.

use std::io::{self, Write};

use ringtap_report::json;
use ringtap_report::style::Style;
use ringtap_report::text::{self, Align, fit};

use crate::report::{Finding, Level};

/// Column where the text of a finding begins.
const INDENT: usize = 8;
/// Width of a topic.
const TOPIC: usize = 17;

/// Prints text: a heading for each area, its findings with reasons and commands, and the counts at the end.
pub fn write(out: &mut dyn Write, findings: &[Finding], width: usize, colour: bool) -> io::Result<()> {
    let mut area = None;
    for finding in findings {
        if area != Some(&finding.area) {
            if area.is_some() {
                writeln!(out)?;
            }
            let heading = match finding.area.as_str() {
                "machine" => "Machine".to_string(),
                "store" => "Store".to_string(),
                name => format!("Interface {}", text::shown(name)),
            };
            writeln!(out, "{}", Style::Bold.paint(&heading, colour))?;
            area = Some(&finding.area);
        }
        one(out, finding, width, colour)?;
    }
    let count = |level| findings.iter().filter(|finding| finding.level == level).count();
    let counts = [Level::Bad, Level::Warn, Level::Note, Level::Good]
        .map(|level| format!("{} {}", count(level), name(level)))
        .join(", ");
    writeln!(out, "\n{counts}.")?;
    if findings.iter().any(|finding| !finding.mend.is_empty()) {
        writeln!(
            out,
            "Nothing was changed. The commands are for a root shell; their effect lasts until the next boot."
        )?;
    }
    Ok(())
}

fn one(out: &mut dyn Write, finding: &Finding, width: usize, colour: bool) -> io::Result<()> {
    let level = style(finding.level).paint(&fit(name(finding.level), 4, Align::Left), colour);
    let room = width.saturating_sub(INDENT + TOPIC).max(20);
    let mut lines = text::wrap(&text::shown(&finding.is), room).into_iter();
    let first = lines.next().unwrap_or_default();
    writeln!(out, "  {level}  {}{first}", fit(finding.topic, TOPIC, Align::Left))?;
    for line in lines {
        writeln!(out, "{:1$}{line}", "", INDENT + TOPIC)?;
    }
    for line in finding.why.iter().flat_map(|why| text::wrap(why, width.saturating_sub(INDENT).max(20))) {
        writeln!(out, "{:INDENT$}{}", "", Style::Dim.paint(&line, colour))?;
    }
    for command in &finding.mend {
        // Never wrapped, so that it can be copied.
        writeln!(out, "{:1$}{2}", "", INDENT + 2, Style::Bold.paint(&text::shown(command), colour))?;
    }
    Ok(())
}

/// Prints one JSON object a line.
pub fn write_json(out: &mut dyn Write, findings: &[Finding]) -> io::Result<()> {
    findings.iter().try_for_each(|finding| json::line(out, finding))
}

fn name(level: Level) -> &'static str {
    match level {
        Level::Good => "good",
        Level::Note => "note",
        Level::Warn => "warn",
        Level::Bad => "bad",
    }
}

fn style(level: Level) -> Style {
    match level {
        Level::Good => Style::Good,
        Level::Note => Style::Plain,
        Level::Warn => Style::Fair,
        Level::Bad => Style::Bad,
    }
}
