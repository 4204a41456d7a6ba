//! The daemon: captures packets, follows calls and writes their records to the store, for months.
//!
//! This crate does not process packets itself. The engine follows calls, the recorder records them, the store
//! writes records; this crate reads the configuration, starts their threads, watches them, and reports their
//! state.
//!
//! The one invariant: a worker never waits for another thread. Records go into the store's queue, figures
//! into the shared status, and every loss is counted where it happens.
//!
//! There is one thread for each worker, one for the store, and a few that serve metrics and commands; the
//! first thread waits for signals and timeouts.
//!
//! | module | holds |
//! |---|---|
//! | `config` | the configuration: every key, parsed and validated |
//! | [`check()`] | what a start would find on this machine |
//! | `clock_watch` | whether the system clock may decide what is old |
//! | `main_loop` | the first thread: signals, status lines, losses, reloads |
//! | `threads` | all other threads, started and stopped in order |
//! | `source` | interfaces, or files to replay |
//! | `recording` | the recording rules, and the threads behind them |
//! | `rule_book` | the ordinary rules as they are written, and their changes by the console |
//! | `recovered` | calls that the previous run left in the journal |
//! | `store` | the store's settings and log lines |
//! | `joining` | which records are legs of one conversation |
//! | `intercept` | what warrants in force are entitled to of the traffic |
//! | `worker_tracker` | signalling that workers pass to other threads |
//! | `worker` | a source of packets, its engine, its thread |
//! | `shared_status` | the figures that threads report |
//! | `live_calls`, [`status_report`] | calls in progress and those figures, for the control socket |
//! | [`retention_report`] | what is kept and which rule decided, for the control socket |
//! | `status`, `metrics`, `http` | those figures as a log line, as metrics, on two pages |
//! | `processes` | the processes with the keys and for the network, and the confinement of each |
//! | `system` | user, capabilities, service manager |
//! | `connections` | the connections of a socket, up to a limit |
//! | [`control`] | the socket that commands arrive on |
//! | `handover`, `call_notes` | calls that go on over a restart |
//! | `heads` | the heads of the chains, in the log |
//! | `locks` | locks that keep a second daemon away |
//! | `far_tier` | the bucket that older segments move to |
//! | `availability`, `availability_figures` | the thread that follows telephone services, and its figures |
//! | `radius` | the thread that follows sessions of subscribers |
//! | `kpis`, `trunk_outcomes` | rollups of KPIs; what became of the calls of each trunk |
//! | `notices` | who is told of alarms |
//! | [`hooks`] | calls that have ended, given to commands and servers by `ringtap hooks` |
//! | `alarms`, `alarm_handle` | what raises alarms, and how others reach it |
//! | `housekeeping` | the thread that deletes and moves segments |
//! | `logger` | log lines on standard error |
#![forbid(unsafe_code)]

mod alarm_handle;
mod alarms;
mod availability;
mod availability_figures;
mod call_notes;
mod check;
mod clock_watch;
mod config;
mod connections;
pub mod control;
mod far_tier;
mod handover;
mod heads;
pub mod hooks;
mod housekeeping;
mod http;
mod intercept;
mod joining;
mod kpis;
pub mod live_calls;
mod locks;
mod logger;
mod main_loop;
mod metrics;
mod notices;
mod outcomes;
mod processes;
mod radius;
mod recording;
mod recovered;
pub mod retention_report;
mod rule_book;
#[cfg(test)]
mod sampling;
mod shared_status;
mod source;
mod status;
pub mod status_report;
mod store;
mod system;
mod threads;
mod tls;
mod trunk_outcomes;
mod worker;
mod worker_tracker;

use std::net::TcpListener;
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::Context;
use nix::unistd::User;
use ringtap_model::{Alarm, Nanos};
use ringtap_report::text::counted;
use ringtap_store::{Annotate, Retain, StoreWriter};
use sd_notify::NotifyState;

use crate::alarm_handle::Ask;
pub use crate::alarms::{LiveEvents, baseline};
pub use crate::check::{CheckReport, check};
use crate::clock_watch::ClockWatch;
use crate::config::Span;
pub use crate::config::{
    AlarmConfig, Config, ConfigError, ConfigFile, KpiConfig, Profile, WarrantConfig, default_file,
    default_records,
};
use crate::far_tier::FarTier;
use crate::intercept::InterceptStart;
pub use crate::intercept::functions;
pub use crate::intercept::{FunctionFigures, OrderFigures, ProductReport, SnifferFigures};
use crate::joining::{JoinCounts, Joining};
pub use crate::kpis::KpiRollups;
use crate::locks::Locks;
pub use crate::logger::to_stderr as log_to_stderr;
use crate::main_loop::{MainLoop, listen_to_signals};
use crate::notices::Notifier;
pub use crate::processes::child::COMMAND as PROCESS_COMMAND;
use crate::processes::confinement::Confinement;
use crate::processes::environment::Credentials;
use crate::processes::keys::KeyHolder;
pub use crate::processes::role::run as run_process;
pub use crate::rule_book::{RuleMistake, RuleOutcome};
use crate::source::Source;
pub use crate::system::{become_owner_of, forbid_dumps};
pub use crate::threads::Outcome;
use crate::threads::Threads;
use crate::tls::Guard;

/// A configuration, and how to run with it.
pub struct RunOptions {
    /// The configuration.
    pub config: Config,
    /// The file that a reload reads.
    pub path: PathBuf,
    /// Overrides `[process] profile`, in reloads too.
    pub profile: Option<Profile>,
    /// Overrides `[log] status`.
    pub status: Option<Nanos>,
}

/// Runs until a signal arrives, or all files are replayed.
pub fn run(started: RunOptions) -> anyhow::Result<Outcome> {
    let RunOptions { config, path, profile, status } = started;
    logger::level(config.log.level);
    let credentials = Credentials::remove_from_environment()?;
    forbid_dumps();
    log::info!(
        target: "run",
        "ringtap {} starts, configured by {}",
        env!("CARGO_PKG_VERSION"),
        path.display(),
    );
    if let Some(kept) = config.kept_by_law() {
        log::info!(target: "run", "kept: {kept}");
    }
    let identities = config.identity_checker()?;
    let source = Source::open(&config)?;
    let listener = listen_for_metrics(&config)?;
    let user = system::user(&config.process.user)?;
    make_directories(&config, user.as_ref());
    // The keys are read, in a process of their own, before privileges are dropped.
    let key_holder = KeyHolder::start(&config).context("[spool]")?;
    let secrets = key_holder.as_ref().map(KeyHolder::secrets).unwrap_or_default();
    let far_tier = Arc::new(FarTier::start(&config, credentials)?);
    let mut notifier = Notifier::start(&config)?;
    system::give_up(user.as_ref())?;
    let control = config.process.control().map(control::listen).transpose()?;
    let _locks = Locks::take(&config)?;
    if let Some(directory) = config.spool.directory() {
        far_tier.note(directory, &config.retention)?;
    }
    let delivers = source.intercept.as_ref().map(InterceptStart::ports).unwrap_or_default();
    Confinement::of_capture(&config, &path, &delivers).apply("capture")?;
    let signals = listen_to_signals()?;
    let clock = Arc::new(ClockWatch::open(config.journal.path.with_file_name("clock")));
    let mut store_settings = store::settings(&config);
    if clock.look().step.is_some() {
        store_settings.retain = Retain::default();
    }
    let (identity_counts, joins) = (identities.counts(), JoinCounts::default());
    let mut annotate = annotators(&config, &joins);
    annotate.push(Box::new(store::Identities(identities)));
    let (store, recovered) = StoreWriter::open_annotating(&store_settings, annotate, store::log_event)?;
    let threads = Threads::start(&config, source, &store, recovered, &secrets, &far_tier, &clock)?;
    notifier.as_mut().map_or(Ok(()), |notifier| tell(&config, &threads, notifier))?;
    threads.show_identities(identity_counts);
    // Set once, here.
    let _ = threads.shared_status.joins.set(joins);
    if let Some(directory) = config.hooks_directory() {
        let _ = threads.shared_status.hooks.set(directory.to_owned());
    }
    key_holder.as_ref().map_or(Ok(()), KeyHolder::end_recovery)?;
    serve(&config, &threads, &clock, control, listener)?;
    system::notify(&[NotifyState::Ready]);
    let status = status.map_or(config.log.status, Span);
    let processes = key_holder.iter().map(|holder| &holder.process).collect();
    let main_loop = MainLoop {
        config,
        path,
        profile,
        status,
        store: &store,
        threads: &threads,
        clock: &clock,
        processes,
        far_tier: &far_tier,
    };
    let lost = main_loop.run(&signals);
    system::notify(&[NotifyState::Stopping]);
    let outcome = threads.stop(store)?;
    notifier.into_iter().for_each(Notifier::close);
    if let Some(holder) = &key_holder {
        holder.process.close();
    }
    far_tier.close();
    Ok(if lost { Outcome::WorkerFailed } else { outcome })
}

/// Has the targets told of alarms, and those that forget of the alarms that stand since before the start.
fn tell(config: &Config, threads: &Threads, notifier: &mut Notifier) -> anyhow::Result<()> {
    notifier.run()?;
    // Set once, here.
    let _ = threads.shared_status.notices.set(Arc::clone(notifier.notices()));
    let Some(alarms) = threads.shared_status.alarms.get() else { return Ok(()) };
    let rules = config.alarms().settings.rules;
    let standing = alarms.ask(Ask::Standing)?;
    for alarm in standing.lines().filter_map(|line| serde_json::from_str::<Alarm>(line).ok()) {
        let rule = rules.iter().find(|rule| rule.name == alarm.rule);
        if alarm.silenced_until.is_none() {
            notifier.notices().tell_standing(&alarm, rule.map_or(&[], |rule| &rule.notify));
        }
    }
    Ok(())
}

/// What completes records before they are stored.
fn annotators(config: &Config, joins: &JoinCounts) -> Vec<Box<dyn Annotate>> {
    let mut annotators: Vec<Box<dyn Annotate>> = Vec::new();
    if let Some(settings) = config.conversations.settings() {
        annotators.push(Box::new(Joining::begin(settings, &config.store.directory, joins)));
    }
    annotators
}

/// The socket of the metrics, and who may see them; None if they are served nowhere.
fn listen_for_metrics(config: &Config) -> anyhow::Result<Option<(TcpListener, Guard)>> {
    let listen = |address| {
        let listener = http::listen(address).with_context(|| {
            format!(
                "[metrics] listen: cannot listen on {address}: if another program uses this port, set \
                 another one, or \"\" for none"
            )
        })?;
        Ok((listener, Guard::read(&config.metrics.files())?))
    };
    config.metrics.listen.0.map(listen).transpose()
}

/// Makes the directories that the configuration names.
fn make_directories(config: &Config, user: Option<&User>) {
    for directory in [
        Some(config.store.directory.as_path()),
        Some(&config.store.outbox),
        config.journal.path.parent(),
        config.spool.directory(),
        config.spool.rules_file().and_then(Path::parent),
        config.retention.tier().filter(|_| config.spool.directory().is_some()),
        config.process.control().and_then(Path::parent),
        config.hooks_directory(),
    ] {
        // A directory that cannot be created may exist later: the store reports it and waits.
        if let Some(directory) = directory
            && let Err(error) = system::directory(directory, user)
        {
            log::warn!(target: "store", "{error:#}");
        }
    }
    // Without it the start is refused, which says why.
    if let Some(product) = config.intercept.product()
        && let Err(error) = system::private_directory(product, user)
    {
        log::error!(target: "run", "[intercept] product: {error:#}");
    }
}

/// Serves the control socket and the metrics.
fn serve(
    config: &Config,
    threads: &Threads,
    clock: &Arc<ClockWatch>,
    control: Option<UnixListener>,
    listener: Option<(TcpListener, Guard)>,
) -> anyhow::Result<()> {
    if let Some(control) = control {
        let context = threads.recording.as_ref().zip(config.spool.directory()).map(|(recording, spool)| {
            control::ControlContext {
                shared_policy: Arc::clone(&recording.shared_policy),
                rule_book: Arc::clone(&recording.rule_book),
                spool: spool.to_owned(),
            }
        });
        let shared_status = Arc::clone(&threads.shared_status);
        control::serve(control, context, Arc::clone(clock), shared_status).context("[process] control")?;
    }
    if let Some((listener, guard)) = listener {
        let address = listener.local_addr().map(|address| address.to_string()).unwrap_or_default();
        let scheme = guard.scheme();
        http::serve(listener, guard, Arc::clone(&threads.shared_status)).context("cannot serve metrics")?;
        log::info!(target: "metrics", "{scheme}://{address}/metrics and /health");
    }
    Ok(())
}

/// The line that `--check` prints for a valid configuration.
pub fn summary(config: &Config, path: &Path) -> String {
    let capture = &config.capture;
    let source = match capture.files.len() {
        0 => format!(
            "{} on {}, ring {} each",
            counted(config.workers() as u64, "worker"),
            capture.interfaces.join(", "),
            capture.ring
        ),
        files => format!("{} to replay", counted(files as u64, "file")),
    };
    format!("{} is right: {source}; records go to {}", path.display(), config.store.directory.display())
}
