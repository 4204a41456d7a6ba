//! `ringtap disclosure answer`: what the database has of it, into files.

use std::fs;
use std::io::{self, Write};
use std::path::PathBuf;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use anyhow::Context;
use clap::Args;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use ringtap_disclosure::{Error, Files, Found, Store, WrittenFile, search};
use ringtap_report::text::counted;
use ringtap_report::time;
use ringtap_store::{Day, IdentityReader, RunningSearch};
use ringtap_warrant::{Answer, Category, DataAges, NewRequest, ProducedFile, Request};

use crate::commands::warrant::out_dir;
use crate::commands::warrant::register_args::{OpenRegister, RegisterArgs};
use crate::commands::warrant::shown::WRITING;
use crate::exit::{Exit, Interrupted};
use crate::interrupt;
use crate::screen::Screen;
use crate::store_args::StoreArgs;

/// Answer an approved request from the database: its calls and sessions, as CSV and as JSON
///
/// Finds the calls and sessions of the subjects in the period, with who had the addresses of each call at its
/// time, and writes them into a new directory that only its owner can read. No content, and nothing that
/// Article 5 of Directive 2006/24/EC does not list. That data is read is recorded before, and the SHA-256 of
/// each file before it is there. Where nothing is found, that is the answer, and it is recorded as such.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(super) struct AnswerRequest {
    /// Number of the request
    #[arg(value_name = "NUMBER")]
    id: u32,
    /// Write the files into this directory, which is made: nothing may be there yet
    #[arg(long, value_name = "DIR")]
    out: PathBuf,
    #[command(flatten)]
    store: StoreArgs,
    /// Calls, and sessions, at most: more is refused, not cut
    #[arg(long, value_name = "N", default_value_t = 100_000)]
    most: usize,
}

const EXAMPLES: &str = "\
Examples:
  ringtap disclosure answer 3 --out answer-3 --as ana
  ringtap disclosure answer 3 --out answer-3 --as ana --tz Europe/Berlin    # times of the CSV in that zone
  cd answer-3 && sha256sum *      # as `ringtap disclosure show` has them

Exit status: 0 done, 1 failed, 2 wrong usage, 130 interrupted.";

impl AnswerRequest {
    /// Runs it.
    pub(super) fn run(self, args: &RegisterArgs, screen: &mut Screen) -> anyhow::Result<Exit> {
        out_dir::make(&self.out, args.dir())?;
        let answered = self.answer(args, screen);
        if answered.is_err() {
            // Where nothing was given, nothing stays. Files that are recorded as given do.
            let _ = fs::remove_dir(&self.out);
        }
        answered
    }

    fn answer(&self, args: &RegisterArgs, screen: &mut Screen) -> anyhow::Result<Exit> {
        let mut open = args.open()?;
        // Recorded before anything is read.
        let request = open.register.search_for_request(&open.session, self.id, time::now())?;
        let store = self.open_store(&request.entered)?;
        let found = watched(screen, |running| search(&store, &request.entered, self.most, running));
        let found = match found {
            Err(Error::Interrupted) => return Err(Interrupted.into()),
            found => found?,
        };
        let files = Files::write(&self.out, self.id, &request.entered, &found)?;
        if interrupt::asked() {
            return Err(Interrupted.into());
        }
        let written = files.written().to_vec();
        record(&mut open, &request, &found, &written)?;
        files.publish().with_context(|| {
            format!(
                "the answer is recorded, and its files are whole; give those in `{}` that end in `.part` \
                     their names",
                self.out.display()
            )
        })?;
        self.print(&found, &written, screen).context(WRITING)?;
        remark(&request.entered, &store, &found, screen);
        Ok(Exit::Done)
    }

    fn open_store(&self, request: &NewRequest) -> anyhow::Result<Store> {
        let asks_for_calls = request.categories.contains(&Category::Telephony);
        let calls = asks_for_calls.then(|| self.store.open()).transpose()?;
        let sessions = match IdentityReader::open(self.store.directory()) {
            Err(ringtap_store::Error::NoDays { .. }) => None,
            opened => Some(opened?),
        };
        Ok(Store { calls, sessions })
    }

    fn print(&self, found: &Found, written: &[WrittenFile], screen: &mut Screen) -> io::Result<()> {
        for file in written {
            writeln!(screen.out, "{}  {}", file.sha256, self.out.join(&file.name).display())?;
        }
        let (calls, accesses) = (found.calls.len() as u64, found.accesses.len() as u64);
        writeln!(screen.out, "\n{}, {}", counted(calls, "call"), counted(accesses, "session"))?;
        screen.out.flush()
    }
}

/// Records what is given, before it is there.
fn record(
    open: &mut OpenRegister,
    request: &Request,
    found: &Found,
    written: &[WrittenFile],
) -> anyhow::Result<()> {
    let mut ages = DataAges::new(request.entered.received);
    found.calls.iter().for_each(|row| ages.add(row.begin));
    found.accesses.iter().for_each(|row| ages.add(row.log_in));
    let file = |file: &WrittenFile| ProducedFile {
        name: file.name.as_str().into(),
        octets: file.octets,
        sha256: file.sha256.clone(),
    };
    let counts = (found.calls.len() as u64, found.accesses.len() as u64);
    let answer = Answer::new(written.iter().map(file).collect(), counts, &ages);
    open.register.answer_request(&open.session, request.id, answer, time::now())?;
    Ok(())
}

/// What has to be known of it.
fn remark(request: &NewRequest, store: &Store, found: &Found, screen: &mut Screen) {
    let last = Day::of(ringtap_model::Nanos(request.until.0.saturating_sub(1)));
    let days = (last.start().0 - Day::of(request.from).start().0) / 86_400_000_000_000 + 1;
    if let Some(found) = found.days.filter(|found| (*found as u64) < days) {
        screen.remark(format!(
            "the database has records of {found} of the {days} days asked for: the others were deleted, or \
             had no calls"
        ));
    }
    if store.sessions.is_none() {
        screen.remark(
            "the database has no sessions of subscribers: who had an address is not known; `[radius] follow` \
             of `ringtap run` keeps them",
        );
    }
}

/// Does something that can be stopped, and shows how far it is.
fn watched<T>(screen: &Screen, work: impl FnOnce(&Arc<RunningSearch>) -> T) -> T {
    let running = Arc::new(RunningSearch::new());
    let bar = bar(screen);
    thread::scope(|scope| {
        let (watched, bar) = (Arc::downgrade(&running), bar.clone());
        let watch = move || {
            while let Some(running) = watched.upgrade() {
                if interrupt::asked() {
                    running.stop();
                }
                bar.set_length(running.days() as u64);
                bar.set_position(running.days_searched() as u64);
                bar.set_message(counted(running.looked_at(), "call"));
                drop(running);
                thread::sleep(ASK);
            }
        };
        // Without it, Ctrl-C waits until everything was searched.
        let _ = thread::Builder::new().name("interrupt".into()).spawn_scoped(scope, watch);
        let done = work(&running);
        drop(running);
        done
    })
}

/// A progress bar, if standard error is a terminal.
fn bar(screen: &Screen) -> ProgressBar {
    if !screen.watched {
        return ProgressBar::hidden();
    }
    let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr_with_hz(5));
    let layout = "searching {bar:30} {pos} of {len} days, {msg} compared, {elapsed}";
    bar.set_style(ProgressStyle::with_template(layout).unwrap_or_else(|_| ProgressStyle::default_bar()));
    bar
}

/// How often Ctrl-C is asked for.
const ASK: Duration = Duration::from_millis(50);
