//! `ringtap compare`: compares a monitor's records with a known truth.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use clap::Args;
use ringtap_report::text;
use ringtap_report::text::grouped;
use ringtap_traffic::{CompareError, Comparison, ComparisonReport, RecordKind, Tolerance};

use crate::exit::{Exit, Interrupted, Misuse};
use crate::interrupt;
use crate::screen::Screen;

/// Check a monitor: compare its records with the truth that `generate` wrote
///
/// Both files have one JSON object a line, with the field names of `analyze --format jsonl`, so any monitor
/// can be checked whose records can be converted to that form. The records must have every call, stream and
/// registration of the truth exactly once and no others. Every field of the truth must be equal; jitter and
/// the longest gaps may differ by 1 %. The exit status is 1 if anything differs.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Compare {
    /// The truth: the file that `generate --truth` wrote
    #[arg(long, value_name = "FILE")]
    truth: PathBuf,
    /// The monitor's records; `-` is standard input
    #[arg(required = true, value_name = "RECORDS")]
    records: Vec<PathBuf>,
    /// Tolerance for times, jitter and gaps in milliseconds, for traffic that was sent over a wire
    #[arg(long, value_name = "MS", default_value_t = 0.0, hide_default_value = true)]
    within: f64,
    /// Ignore times and all that is measured from them, for traffic that was not sent in real time
    #[arg(long, conflicts_with = "within")]
    ignore_times: bool,
    /// Allow records of calls, streams and registrations of which the truth knows nothing, as beside a flood
    #[arg(long)]
    allow_others: bool,
    /// Describe at most this many differences one by one
    #[arg(long, value_name = "N", default_value_t = 10)]
    show: usize,
}

const EXAMPLES: &str = "\
Examples:
  ringtap generate --out bad.pcap --truth bad.jsonl --calls 1000 --rate 20 --impair all
  ringtap analyze --format jsonl bad.pcap | ringtap compare --truth bad.jsonl -
  ringtap compare --truth sent.jsonl --within 2 found.jsonl";

impl Compare {
    /// Runs it.
    pub(crate) fn run(self, screen: &mut Screen) -> anyhow::Result<Exit> {
        let Self { truth, records, within, ignore_times, allow_others, show } = self;
        if !(0.0..=1e6).contains(&within) {
            bail!(Misuse(format!("`--within {within}`: write milliseconds, from 0 to 1000000")));
        }
        let mut comparison = Comparison::new(Tolerance { within_ms: within, ignore_times, allow_others });
        lines(&truth, |line| comparison.truth(line))?;
        comparison.check().with_context(|| truth.display().to_string())?;
        for file in &records {
            lines(file, |line| comparison.record(line))?;
        }
        let report = comparison.finish();
        print(&report, show, screen.out.as_mut())
            .and_then(|()| screen.out.flush())
            .context("cannot write the report")?;
        Ok(if report.agrees() { Exit::Done } else { Exit::Failed })
    }
}

fn lines(path: &Path, mut parse: impl FnMut(&str) -> Result<(), CompareError>) -> anyhow::Result<()> {
    let failed = || format!("cannot read {}", path.display());
    let mut input: Box<dyn BufRead> = match path == Path::new("-") {
        true => Box::new(io::stdin().lock()),
        false => Box::new(BufReader::with_capacity(1 << 20, File::open(path).with_context(failed)?)),
    };
    let mut line = String::new();
    for number in 1_u64.. {
        line.clear();
        if input.read_line(&mut line).with_context(failed)? == 0 {
            break;
        }
        if interrupt::asked() {
            bail!(Interrupted);
        }
        if !line.trim().is_empty() {
            parse(line.trim()).with_context(|| format!("{}:{number}", path.display()))?;
        }
    }
    Ok(())
}

fn print(report: &ComparisonReport, show: usize, out: &mut dyn Write) -> io::Result<()> {
    for kind in RecordKind::ALL {
        let counts = report.counts(kind);
        let name = format!("{kind}s");
        let [truth, found] = [counts.truth, counts.found].map(grouped);
        let [missing, invented] = [counts.missing, counts.invented].map(grouped);
        write!(out, "{name:<14} {found} of {truth} found, {missing} missing, {invented} invented")?;
        if counts.other > 0 {
            write!(out, ", {} others", grouped(counts.other))?;
        }
        writeln!(out)?;
    }
    let differ: u64 = report.differing.values().sum();
    writeln!(out, "{:<14} {} compared, {} differ", "fields", grouped(report.fields), grouped(differ))?;
    for ((kind, field), count) in &report.differing {
        writeln!(out, "  {kind}.{field:<20} {}", grouped(*count))?;
    }
    for sentence in report.first.iter().take(show) {
        // It quotes what was found on the wire.
        writeln!(out, "{}", text::shown(sentence))?;
    }
    writeln!(out, "{}", if report.agrees() { "they agree" } else { "they differ" })
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::screen::tests::captured;

    const TRUTH: &str = r#"{"type":"call","call_id":"a","state":"completed","invite_us":1000000}
{"type":"summary","calls":1,"streams":0,"registrations":0}
"#;

    fn run(records: &str, within: f64) -> (Exit, String) {
        let folder = tempfile::tempdir().unwrap();
        let [truth, found] = ["truth", "found"].map(|name| folder.path().join(name));
        fs::write(&truth, TRUTH).unwrap();
        fs::write(&found, records).unwrap();
        let (mut screen, out, _) = captured(80);
        let compare = Compare {
            truth,
            records: vec![found],
            within,
            ignore_times: false,
            allow_others: false,
            show: 10,
        };
        let exit = compare.run(&mut screen).unwrap();
        drop(screen);
        (exit, out.text())
    }

    #[test]
    fn the_exit_status_tells_whether_they_agree() {
        let same = r#"{"type":"call","call_id":"a","state":"completed","invite_us":1000000,"mos":4.1}"#;
        let (exit, text) = run(same, 0.0);
        assert_eq!(exit, Exit::Done, "{text}");
        assert!(
            text.contains("1 of 1 found, 0 missing, 0 invented") && text.ends_with("they agree\n"),
            "{text}"
        );

        let late = same.replace("1000000", "1001500");
        let (exit, text) = run(&late, 1.0);
        assert_eq!(exit, Exit::Failed);
        assert!(text.contains("call.invite_us") && text.contains("is 1000000, found 1001500"), "{text}");
        assert_eq!(run(&late, 2.0).0, Exit::Done);

        let (exit, text) = run("", 0.0);
        assert_eq!(exit, Exit::Failed);
        assert!(text.contains("0 of 1 found, 1 missing") && text.contains("call a is missing"), "{text}");
    }

    #[test]
    fn a_line_that_is_none_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let [truth, found] = ["truth", "found"].map(|name| folder.path().join(name));
        fs::write(&truth, TRUTH).unwrap();
        fs::write(&found, "\n#Fields: call\n").unwrap();
        let (mut screen, ..) = captured(80);
        let compare = Compare {
            truth,
            records: vec![found],
            within: 0.0,
            ignore_times: false,
            allow_others: false,
            show: 10,
        };
        let error = format!("{:#}", compare.run(&mut screen).unwrap_err());
        assert!(error.contains("found:2: not a JSON object"), "{error}");
    }
}
