//! `ringtap audit`: who did what in the console.

use std::io::{self, Write};
use std::path::Path;

use anyhow::{Context, bail};
use clap::Args;
use ringtap_access::{Action, AuditPage, AuditQuery, AuditReader, Day, Entry, Head, PublicKey, Verified};
use ringtap_model::Nanos;
use ringtap_model::filter::Pattern;
use ringtap_report::table::{self, Cell, Column};
use ringtap_report::text::{counted, grouped, shown};
use ringtap_report::time::{self, Moment};

use crate::exit::{Exit, Misuse};
use crate::page::LineFormat;
use crate::people_args::{PeopleArgs, actor};
use crate::screen::Screen;

/// List who did what in the console, and prove that the list is whole
///
/// Every login, search, view, listen, export and change is an entry, written before it is done. Each has the
/// hash of the one before and is signed. `--verify` names the first entry that was changed, removed, put in
/// or moved. Numbers are sealed by a key of their day: `--forget-before` erases keys, and the entries stay.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Audit {
    /// Entries at this time or later
    #[arg(long, value_name = "TIME")]
    since: Option<Moment>,
    /// Entries before this time
    #[arg(long, value_name = "TIME")]
    until: Option<Moment>,
    /// Only what this person did; `*` stands for any text
    #[arg(long, value_name = "NAME")]
    who: Option<Pattern>,
    /// Only what was done from this address; `*` stands for any text
    #[arg(long, value_name = "ADDRESS")]
    from: Option<Pattern>,
    /// Only entries of this kind, such as login, search, listen or export; may be repeated
    #[arg(long, value_name = "ACTION")]
    action: Vec<Action>,
    /// Only entries that have this text in what was done or why
    #[arg(long, value_name = "TEXT")]
    text: Option<String>,
    /// Show the newest, at most this many; 0 is all
    #[arg(long, value_name = "N", default_value_t = 1000)]
    limit: usize,
    /// Output format
    #[arg(long, value_enum, default_value_t)]
    format: LineFormat,
    /// Check every entry instead, and that none is missing
    #[arg(long, conflicts_with_all = LISTING)]
    verify: bool,
    /// The public key that must have signed the entries: a file or 64 hex digits [default: that beside the
    /// log]
    #[arg(long, value_name = "PUBLIC", requires = "verify")]
    key: Option<String>,
    /// An entry that was noted elsewhere, as `--verify` prints it (17: and 64 hex digits): the log must still
    /// have it; may be repeated
    #[arg(long, value_name = "HEAD", requires = "verify")]
    head: Vec<Head>,
    /// Make the numbers in entries before this day (UTC) unreadable for good
    #[arg(long, value_name = "DAY", conflicts_with_all = LISTING, conflicts_with = "verify")]
    forget_before: Option<Day>,
    /// Why, for the record of that
    #[arg(long, value_name = "TEXT", requires = "forget_before")]
    reason: Option<String>,
    /// Do it
    #[arg(long, requires = "forget_before")]
    yes: bool,
    #[command(flatten)]
    people: PeopleArgs,
}

/// What `--verify` and `--forget-before` have no use for.
const LISTING: [&str; 6] = ["since", "until", "who", "from", "action", "text"];

const EXAMPLES: &str = "\
Examples:
  ringtap audit --since 2026-11-21 --who ana
  ringtap audit --action listen --action export --format jsonl | jq -r .who | sort | uniq -c
  ringtap audit --verify --key /etc/ringtap/audit.pub
  ringtap audit --forget-before 2026-08-21 --reason 'three months are over' --yes

One entry by hand:
  sed -n 3p FILE | sed 's/,\"hash\":.*//' | tr -d '\\n' | sha256sum
  sed -n 3p FILE | jq -rj .hash > text; sed -n 3p FILE | jq -r .signature | xxd -r -p > signature
  openssl pkeyutl -verify -pubin -inkey sign.pub -rawin -in text -sigfile signature

Exit status: 0 done, 1 failed, 2 wrong usage, 3 not as it was written.";

const WRITING: &str = "cannot write the results";

impl Audit {
    /// Runs it.
    pub(crate) fn run(self, screen: &mut Screen) -> anyhow::Result<Exit> {
        if let Some(day) = self.forget_before {
            return self.forget(day, screen);
        }
        let key = self.key.as_deref().map(public_key).transpose()?;
        self.people.become_owner()?;
        let reader = AuditReader::open(self.people.dir())?;
        if self.verify {
            return self.print_verified(&reader.verify(key, &self.head)?, screen);
        }
        let page = reader.read(&self.query())?;
        self.print(&page, screen).context(WRITING)?;
        if page.more {
            screen.remark("there are older ones: raise `--limit` or narrow the time");
        }
        if page.damaged > 0 {
            let lines = counted(page.damaged, "line");
            screen.remark(format!("{lines} of the log cannot be read: run `ringtap audit --verify`"));
            return Ok(Exit::Damaged);
        }
        Ok(Exit::Done)
    }

    fn query(&self) -> AuditQuery {
        AuditQuery {
            since: self.since.map_or(Nanos::ZERO, Moment::instant),
            until: self.until.map_or(Nanos::MAX, Moment::instant),
            who: self.who.clone(),
            from: self.from.clone(),
            actions: self.action.clone(),
            text: self.text.clone(),
            before: None,
            limit: if self.limit == 0 { usize::MAX } else { self.limit },
            // Whoever may read the log here may read its keys.
            numbers: true,
        }
    }

    fn print(&self, page: &AuditPage, screen: &mut Screen) -> io::Result<()> {
        let entries = || page.entries.iter().rev();
        match self.format {
            LineFormat::Jsonl => entries().try_for_each(|entry| {
                serde_json::to_writer(&mut screen.out, entry)?;
                writeln!(screen.out)
            })?,
            LineFormat::Table => {
                screen.page();
                let Screen { out, width, colour, .. } = screen;
                if !page.entries.is_empty() {
                    let dated = table::day(out, entries().map(|entry| entry.time), *colour)?;
                    table::write(out, COLUMNS, entries().map(|entry| cells(entry, dated)), *width, *colour)?;
                    writeln!(out)?;
                }
                writeln!(out, "{} found", counted_entries(page.entries.len() as u64))?;
            }
        }
        screen.out.flush()
    }

    fn print_verified(&self, verified: &Verified, screen: &mut Screen) -> anyhow::Result<Exit> {
        let out = &mut screen.out;
        let mut written = || -> io::Result<()> {
            if let Some(fault) = &verified.fault {
                writeln!(out, "{}", shown(&fault.to_string()))?;
            }
            let (entries, files) = (verified.entries, counted(verified.files, "file"));
            match verified.fault {
                Some(_) => writeln!(out, "{} before that as written", counted_entries(entries))?,
                None => writeln!(out, "{} in {files}, none changed, none missing", counted_entries(entries))?,
            }
            if let Some(head) = &verified.head {
                writeln!(out, "  head {head}")?;
            }
            out.flush()
        };
        written().context(WRITING)?;
        if verified.torn {
            screen
                .remark("the last line is not complete: it is being written, or a power cut interrupted it");
        }
        if self.key.is_none() {
            screen.remark(format!(
                "the entries were checked with the key that lies beside them: compare {} with yours, or add \
                 `--key`",
                verified.key
            ));
        }
        Ok(if verified.fault.is_some() { Exit::Damaged } else { Exit::Done })
    }

    fn forget(self, day: Day, screen: &mut Screen) -> anyhow::Result<Exit> {
        if !self.yes {
            let problem = format!(
                "this makes the numbers in all entries before {day} unreadable for good: add `--yes`"
            );
            return Err(Misuse(problem).into());
        }
        let today = Day::of(time::now());
        if day > today {
            bail!("the key of the present day is in use: give {today} at the latest");
        }
        if !self.people.dir().is_dir() {
            bail!("`{}` does not exist: name the directory with `--people`", self.people.dir().display());
        }
        let console = self.people.open()?;
        let days = console.log().forget_before(day, actor(), self.reason, time::now())?;
        screen.remark(format!("the numbers of {} were forgotten", counted(days, "day")));
        Ok(Exit::Done)
    }
}

fn counted_entries(count: u64) -> String {
    if count == 1 { "1 entry".to_owned() } else { format!("{} entries", grouped(count)) }
}

fn public_key(text: &str) -> anyhow::Result<PublicKey> {
    match text.parse() {
        Ok(key) => Ok(key),
        Err(_) => Ok(PublicKey::read(Path::new(text))?),
    }
}

fn cells(entry: &Entry, dated: bool) -> Vec<Cell> {
    let reason = entry.reason.as_ref().map_or(String::new(), |reason| format!(" ({reason})"));
    vec![
        Cell::plain(time::moment(entry.time, dated)),
        Cell::plain(&entry.actor.who),
        Cell::known(entry.actor.role.map(|role| role.name())),
        Cell::plain(&entry.actor.from),
        Cell::plain(entry.action.name()),
        Cell::plain(format!("{}{reason}", entry.what)),
    ]
}

const COLUMNS: &[Column] = &[
    Column::word("TIME", 0),
    Column::text("WHO", 24, 12, 0),
    Column::word("ROLE", 3),
    Column::text("FROM", 39, 15, 2),
    Column::word("ACTION", 0),
    Column::text("WHAT", 80, 30, 0),
];
