//! The search of a command, in the search language, and the captures that it is about.

use std::path::{Path, PathBuf};

use clap::Args;
use ringtap_report::text::shown;
use ringtap_report::time;
use ringtap_search::{Context, Expression, ParseError, Site, parse};

use crate::exit::Misuse;
use crate::input::Unpacking;

/// A search, and captures.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct QueryArgs {
    /// Calls to find, such as '0138 -state:completed mos<3 at:15:00': see docs/manual/search.md. Beside the
    /// filters, a call has to satisfy both. Quote it
    #[arg(value_name = "QUERY")]
    query: Option<String>,
    /// Capture files to search instead of the database; `-` is standard input
    #[arg(value_name = "FILE", conflicts_with = "store")]
    files: Vec<PathBuf>,
    #[command(flatten)]
    sites: SitesArg,
    #[command(flatten)]
    pub(crate) unpacking: Unpacking,
}

/// The networks that have names.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct SitesArg {
    /// The sites that `site:` knows: `sites.json` of a console
    #[arg(long, value_name = "FILE", default_value = SITES)]
    sites: PathBuf,
}

impl SitesArg {
    /// Those of the file, as it is now.
    ///
    /// # Errors
    ///
    /// The file is no list of sites.
    pub(crate) fn known(&self) -> Result<Vec<Site>, Misuse> {
        ringtap_console::sites_of(&self.sites).map_err(|error| Misuse(format!("--sites: {error:#}")))
    }
}

/// What was asked for.
#[derive(Debug)]
pub(crate) struct Asked {
    /// None if no search was given.
    pub(crate) expression: Option<Expression>,
    /// Captures to search; the database if there are none.
    pub(crate) files: Vec<PathBuf>,
}

impl QueryArgs {
    /// Reads the search; times without an offset are in the zone in which times are shown. A first argument
    /// that is a file is a capture.
    ///
    /// # Errors
    ///
    /// The search cannot be read: a caret stands under the place.
    pub(crate) fn read(self) -> Result<Asked, Misuse> {
        let Self { query, mut files, sites, .. } = self;
        let Some(query) = query else { return Ok(Asked { expression: None, files }) };
        if is_capture(&query) {
            files.insert(0, query.into());
            return Ok(Asked { expression: None, files });
        }
        if let Some(word) = files.iter().find(|file| !is_capture(&file.to_string_lossy())) {
            return Err(Misuse(format!(
                "`{}` is no file: put the whole search in quotes, as in '{} {}'",
                word.display(),
                shown(&query),
                shown(&word.to_string_lossy())
            )));
        }
        let context = Context { sites: Some(sites.known()?), ..context() };
        let expression = parse(&query, &context).map_err(|error| Misuse(pointed_at(&query, &error)))?;
        Ok(Asked { expression: Some(expression), files })
    }
}

/// Where and when a search is read.
fn context() -> Context {
    Context::new(time::now(), time::zone())
}

/// Whether an argument means a file: there is one, or it can be nothing else.
fn is_capture(argument: &str) -> bool {
    let path = Path::new(argument);
    let ends = |ending: &str| path.extension().is_some_and(|found| found.eq_ignore_ascii_case(ending));
    argument == "-" || path.is_file() || ENDINGS.into_iter().any(ends)
}

/// The search with a caret under the mistake, and what would be right.
fn pointed_at(query: &str, error: &ParseError) -> String {
    let ParseError { column, length, problem, remedy } = error;
    // One column for what would be escaped otherwise.
    let plain = |letter: char| match letter.to_string() {
        text if shown(&text) == text => letter,
        _ => '?',
    };
    let line: String = query.chars().map(plain).collect();
    let carets = "^".repeat(*length);
    format!(
        "the search cannot be read: {problem}\n  {line}\n  {:indent$}{carets}\n{remedy}",
        "",
        indent = column - 1
    )
}

/// The sites of the console of this machine.
const SITES: &str = "/var/lib/ringtap/console/sites.json";
/// What files are called that have packets.
const ENDINGS: [&str; 9] = ["pcap", "pcapng", "cap", "dmp", "snoop", "erf", "gz", "zst", "ntar"];

#[cfg(test)]
mod tests {
    use super::*;

    fn read(query: &str, files: &[&str]) -> Result<Asked, String> {
        let files = files.iter().map(PathBuf::from).collect();
        let args = QueryArgs { query: Some(query.into()), files, ..QueryArgs::default() };
        args.read().map_err(|misuse| misuse.0)
    }

    #[test]
    fn a_mistake_has_a_caret_under_it_and_a_remedy() {
        let mistake = read("ümlaut state:failled", &[]).unwrap_err();
        let lines: Vec<&str> = mistake.lines().collect();
        assert_eq!(lines[1..3], ["  ümlaut state:failled", "               ^^^^^^^"], "{mistake}");
        assert!(
            lines[0].starts_with("the search cannot be read: ") && lines[3].contains("failed"),
            "{mistake}"
        );
    }

    #[test]
    fn sites_are_those_of_a_console() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("sites.json");
        let read = |query: &str| {
            let args = QueryArgs {
                query: Some(query.into()),
                sites: SitesArg { sites: file.clone() },
                ..QueryArgs::default()
            };
            args.read().map_err(|misuse| misuse.0)
        };
        assert!(read("site:lyon").unwrap_err().contains("no network has a name here"));
        let site =
            r#"[{"number":1,"name":"Lyon","networks":["192.0.2.0/24"],"from_us":null,"until_us":null}]"#;
        std::fs::write(&file, site).unwrap();
        assert_eq!(read("site:lyon").unwrap().expression, read("ip:192.0.2.0/24").unwrap().expression);
        assert!(read("site:paris").unwrap_err().contains("there is no such site"));
        std::fs::write(&file, "{}").unwrap();
        assert!(read("site:lyon").unwrap_err().starts_with("--sites: "));
    }

    #[test]
    fn a_file_in_front_is_a_capture() {
        let asked = read("no-such.pcap.gz", &["other.pcap"]).unwrap();
        assert!(asked.expression.is_none());
        assert_eq!(asked.files, ["no-such.pcap.gz", "other.pcap"].map(PathBuf::from));
        let asked = read("198.51.100.0/24", &["-"]).unwrap();
        assert!(asked.expression.is_some() && asked.files == ["-"].map(PathBuf::from));
        let torn = read("mos<3", &["state:failed"]).unwrap_err();
        assert!(torn.contains("'mos<3 state:failed'"), "{torn}");
    }
}
