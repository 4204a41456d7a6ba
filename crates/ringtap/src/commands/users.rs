//! `ringtap users`: what each address of record did.

use std::io::{self, Write};
use std::path::PathBuf;

use anyhow::Context;
use clap::Args;
use ringtap_engine::{Sink, StreamEnd};
use ringtap_model::{Call, Condition, Filter, Message, Nanos, Registration, Stream, Transaction, User};
use ringtap_report::csv::{Csv, RecordKind};
use ringtap_report::text::counted;
use ringtap_report::{json, users};
use ringtap_store::{Error, Query, Reader};
use ringtap_users::Users;

use crate::exit::Exit;
use crate::filter::FilterArgs;
use crate::input::{Input, Listener, Unpacking, Workers};
use crate::page::Format;
use crate::screen::Screen;
use crate::store_args::StoreArgs;

/// List users and their devices, of captures or of the database: who registers, calls and fails
///
/// One line an address of record: when and where it was last seen, attempts to register, calls made and
/// received with those that were answered, what else it sent, the codes that it failed with most, and its
/// device. It is counted from the records that pass the filters; `--number` also leaves out all users but
/// those that match. Both parties of a call are users: that of From and that of To. SUBSCRIBE, NOTIFY,
/// OPTIONS and PUBLISH are counted where the database has them: see `[engine] transactions`.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct UserList {
    /// Capture files; `-` is standard input
    #[arg(value_name = "FILE", conflicts_with = "store")]
    files: Vec<PathBuf>,
    #[command(flatten)]
    unpacking: Unpacking,
    #[command(flatten)]
    store: StoreArgs,
    /// Output format
    #[arg(long, value_enum, default_value_t)]
    format: Format,
    /// Users that are counted at once; those not seen for longest are listed early, and counted anew when
    /// seen again
    #[arg(long, value_name = "N", default_value_t = 1_000_000)]
    max_users: usize,
    #[command(flatten)]
    filter: FilterArgs,
}

const EXAMPLES: &str = "\
Examples:
  ringtap users trunk.pcap
  ringtap users --since 2026-11-21 --number 2001
  ringtap users --code 4xx --format csv > failing.csv
  ringtap users --format jsonl | jq -r 'select(.registrations_failed > 10) | .aor'";

const WRITING: &str = "cannot write the results";

impl UserList {
    /// Runs it.
    pub(crate) fn run(self, screen: &mut Screen) -> anyhow::Result<Exit> {
        let mut fold =
            Fold { filter: self.filter.filter(), users: Users::new(self.max_users), early: vec![] };
        if self.files.is_empty() {
            let days = fold.add_stored(&self.store.open()?)?;
            let line = format!("; {} searched", counted(days as u64, "day"));
            self.print(fold, &line, screen)?;
            if days == 0 {
                screen.remark("no records are stored for that time: no day was searched");
            }
            return Ok(Exit::Done);
        }
        let input = Input::open(&self.files, self.unpacking)?.with_transactions();
        let bar = input.progress(screen, "reading");
        let pass = input.pass_records(Workers::default(), &mut fold, &bar)?;
        self.print(fold, "", screen)?;
        Ok(pass.exit(screen))
    }

    fn print(&self, fold: Fold, line: &str, screen: &mut Screen) -> anyhow::Result<()> {
        let (users, early) = fold.into_records();
        if self.format == Format::Table {
            screen.page();
        }
        self.write(&users, line, screen).context(WRITING)?;
        if early > 0 {
            let early = counted(early as u64, "user");
            screen.remark(format!(
                "{early} had to give way to others and may be listed again: raise `--max-users`"
            ));
        }
        Ok(())
    }

    fn write(&self, users: &[User], line: &str, screen: &mut Screen) -> io::Result<()> {
        let Screen { out, width, colour, .. } = screen;
        match self.format {
            Format::Jsonl => {
                let mut lines = json::Lines::default();
                users.iter().try_for_each(|user| lines.write(out, user))?;
            }
            Format::Csv => {
                let csv = Csv::begin(out, RecordKind::Users)?;
                users.iter().try_for_each(|user| csv.record(out, RecordKind::Users, user))?;
            }
            Format::Table => {
                if !users.is_empty() {
                    users::write(out, users, *width, *colour)?;
                    writeln!(out)?;
                }
                writeln!(out, "{} found{line}", counted(users.len() as u64, "user"))?;
            }
        }
        out.flush()
    }
}

/// Counts the records that pass a filter.
struct Fold {
    filter: Filter,
    users: Users,
    /// Users that had to give way.
    early: Vec<User>,
}

impl Fold {
    /// Counts the records of the database, those of an hour at once; returns of how many days.
    fn add_stored(&mut self, reader: &Reader) -> Result<usize, Error> {
        let mut days = 0;
        for day in reader.days()? {
            let is_outside = |condition: &Condition| match condition {
                Condition::Since(since) => day.end() <= *since,
                Condition::Until(until) => day.start() >= *until,
                _ => false,
            };
            if self.filter.0.iter().any(is_outside) {
                continue;
            }
            days += 1;
            let mut from = day.start();
            while from < day.end() {
                let until = from + HOUR;
                let mut filter = self.filter.clone();
                filter.0.extend([Condition::Since(from), Condition::Until(until)]);
                self.add_hour(reader, &filter.into())?;
                from = until;
            }
        }
        Ok(days)
    }

    fn add_hour(&mut self, reader: &Reader, query: &Query) -> Result<(), Error> {
        reader.calls(query)?.records.iter().for_each(|call| self.users.call(call));
        let fits = |fits: fn(&Condition) -> bool| query.filter.0.iter().all(fits);
        if fits(Condition::fits_registrations) {
            let found = reader.registrations(query)?;
            found.records.iter().for_each(|registration| self.users.registration(registration));
        }
        if fits(Condition::fits_messages) {
            reader.messages(query)?.records.iter().for_each(|message| self.users.message(message));
        }
        if fits(Condition::fits_transactions) {
            let found = reader.transactions(query)?;
            found.records.iter().for_each(|transaction| self.users.transaction(transaction));
        }
        self.keep_early();
        Ok(())
    }

    fn keep_early(&mut self) {
        self.early.extend(self.users.take_evicted());
    }

    /// All users that match, and how many of them were listed early.
    fn into_records(self) -> (Vec<User>, usize) {
        let Self { filter, users, early } = self;
        let early_count = early.len();
        let matches = |user: &User| {
            let name = user.aor.split('@').next().unwrap_or_default();
            filter.0.iter().all(|condition| match condition {
                Condition::Number(pattern) => pattern.matches(name),
                _ => true,
            })
        };
        (early.into_iter().chain(users.into_records()).filter(matches).collect(), early_count)
    }
}

impl Sink for Fold {
    fn call(&mut self, call: Call, streams: Vec<StreamEnd>) {
        let streams: Vec<Stream> = streams.into_iter().map(|stream| stream.record).collect();
        if self.filter.selects_call(&call, &streams) {
            self.users.call(&call);
            self.keep_early();
        }
    }

    fn stream(&mut self, _: StreamEnd) {}

    fn registration(&mut self, registration: Registration) {
        if self.filter.selects_registration(&registration) {
            self.users.registration(&registration);
            self.keep_early();
        }
    }

    fn message(&mut self, message: Message) {
        if self.filter.selects_message(&message) {
            self.users.message(&message);
            self.keep_early();
        }
    }

    fn transaction(&mut self, transaction: Transaction) {
        if self.filter.selects_transaction(&transaction) {
            self.users.transaction(&transaction);
            self.keep_early();
        }
    }
}

impl Listener for Fold {
    fn has_enough(&self) -> bool {
        false
    }
}

/// What of the database is in memory at once.
const HOUR: Nanos = Nanos::from_secs(3_600);
