//! The daemon: packets in, records to the store, for months.
//!
//! Not here: what is done with a packet. The engine follows calls, the recorder records them, the store keeps records; this
//! crate reads the configuration, starts their threads, watches them, and answers whoever asks how they do.
//!
//! The one invariant: workers wait for nobody. What they have to say goes into the store's queue or onto the status board, and
//! what is lost anywhere is counted there.
//!
//! One thread for each worker, one for the store, a few for whoever asks for metrics; the first one waits for signals and
//! for the clock.
//!
//! | module | holds |
//! |---|---|
//! | `config` | the configuration: every key, parsed and validated |
//! | `worker` | a source of packets, its engine, its thread |
//! | `board` | what the threads report |
//! | `status`, `metrics`, `http` | that as a line, as figures, on two pages |
//! | `system` | user, capabilities, service manager |
//! | [`control`] | the socket that brings commands |
//! | `distant` | the far place that segments move to |
//! | `tend` | the thread that keeps the spool within its clocks and its disk |
//! | `logger` | lines for the operator |
#![forbid(unsafe_code)]

mod board;
mod config;
pub mod control;
mod distant;
mod http;
mod logger;
mod metrics;
#[cfg(test)]
mod sampling;
mod status;
mod system;
mod tend;
mod worker;

use std::hash::{BuildHasher, RandomState};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use anyhow::Context;
use ringtap_capture::live::{self, Pace, Tap};
use ringtap_engine::Engine;
use ringtap_model::Nanos;
use ringtap_recorder::amend::Amending;
use ringtap_recorder::cases::Cases;
use ringtap_recorder::erase::Erasing;
use ringtap_recorder::orders::{Leg, Orders, Ruling, RulingSettings, Switch};
use ringtap_recorder::recorder::Recorder;
use ringtap_report::text::counted;
use ringtap_spool::DeletionLog;
use ringtap_store::{Keeper, Notice, Settings};
use sd_notify::NotifyState;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

pub use crate::config::{Config, Wrong, default_file};
use crate::config::{Field, Secrets, Span, Speed};
use board::{Board, Post};
use distant::Distant;
use status::{Losses, Status};
use tend::Tending;
use worker::{Clock, Ended, Outlet, Worker};

/// What is known of the configuration beside its content.
pub struct Started {
    /// What was read.
    pub config: Config,
    /// Where it is read from again.
    pub path: PathBuf,
    /// Takes the place of its `[log] status`.
    pub status: Option<Nanos>,
}

/// How a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// As it was asked to, or with its files.
    Done,
    /// A worker failed; what it had was written as far as possible, and is in the log.
    WorkerFailed,
}

/// Runs until a signal ends it, or its files do.
pub fn run(started: Started) -> anyhow::Result<Outcome> {
    let Started { config, path, status } = started;
    logger::level(config.log.level);
    log::info!(
        target: "run",
        "ringtap {} starts, configured by {}",
        env!("CARGO_PKG_VERSION"),
        path.display(),
    );
    let source = Source::open(&config)?;
    let listener = match config.metrics.listen.0 {
        Some(address) => Some(http::listen(address).with_context(|| {
            format!("[metrics] listen: cannot listen on {address}: is another program there? Name another, or \"\"")
        })?),
        None => None,
    };
    let user = system::user(&config.process.user)?;
    for directory in [
        Some(config.store.directory.as_path()),
        Some(&config.store.outbox),
        config.journal.path.parent(),
        config.spool.directory(),
        config.retention.tier().filter(|_| config.spool.directory().is_some()),
        config.process.control().and_then(Path::parent),
    ] {
        // A directory that cannot be made may be there later: the store says so, and waits.
        if let Some(directory) = directory
            && let Err(error) = system::directory(directory, user.as_ref())
        {
            log::warn!(target: "store", "{error:#}");
        }
    }
    let control = config.process.control().map(|path| control::listen(path, user.as_ref())).transpose()?;
    // Keys are read while this may be root.
    let secrets = config.spool.secrets().context("[spool]")?;
    let distant = Arc::new(Distant::default());
    if let Some(directory) = config.spool.directory() {
        distant.open(directory, &config.retention)?;
    }
    system::give_up(user.as_ref())?;
    let signals = listen_to_signals()?;
    let keeper = Keeper::open(&settings(&config), tell)?;
    let running = Running::start(&config, source, &keeper, &secrets, &distant)?;
    if let Some(control) = control {
        let desk = running.keeping.as_ref().zip(config.spool.directory()).map(|(keeping, spool)| {
            control::Desk { orders: Arc::clone(&keeping.orders), spool: spool.to_owned() }
        });
        control::serve(control, desk).context("[process] control")?;
    }
    if let Some(listener) = listener {
        let address = listener.local_addr().map(|address| address.to_string()).unwrap_or_default();
        http::serve(listener, Arc::clone(&running.board)).context("cannot serve metrics")?;
        log::info!(target: "metrics", "http://{address}/metrics and /health");
    }
    system::notify(&[NotifyState::Ready]);
    let status = status.map_or(config.log.status, Span);
    Loop { config, path, status, keeper: &keeper, running: &running }.run(&signals);
    system::notify(&[NotifyState::Stopping]);
    running.stop(keeper)
}

/// Where packets come from, opened while it may be.
struct Source {
    /// One for each worker.
    taps: Vec<(Tap, Post)>,
    files: bool,
}

impl Source {
    fn open(config: &Config) -> anyhow::Result<Self> {
        let capture = &config.capture;
        let workers = usize::from(capture.workers.get());
        let mut source = Self { taps: Vec::new(), files: !capture.files.is_empty() };
        if source.files {
            let pace = match capture.speed {
                Speed::Max => Pace::Unbound,
                Speed::Times(times) => Pace::Times(times),
            };
            source.add("files", live::replay(&capture.files, pace, workers, Some(&capture.filter))?);
            log::info!(target: "capture", "{} to replay", counted(capture.files.len() as u64, "file"));
            return Ok(source);
        }
        for interface in &capture.interfaces {
            let taps = live::open(&capture.of_interface(interface))?;
            if let Some(tap) = taps.first() {
                let (time, workers) = (tap.timestamps().name(), counted(taps.len() as u64, "worker"));
                log::info!(
                    target: "capture",
                    "{interface}: {workers}, ring {} each, timestamps by {time}",
                    capture.ring,
                );
                tap.warnings().iter().for_each(|note| log::warn!(target: "capture", "{interface}: {note}"));
            }
            source.add(interface, taps);
        }
        Ok(source)
    }

    fn add(&mut self, name: &str, taps: Vec<Tap>) {
        for (place, tap) in taps.into_iter().enumerate() {
            let post = Post { source: name.to_owned(), number: self.taps.len(), first: place == 0 };
            self.taps.push((tap, post));
        }
    }
}

/// What workers keep by.
struct Keeping {
    orders: Arc<Orders>,
    erasing: Erasing,
    cases: Cases,
    /// For the choice of calls, where the configuration has none.
    secret: String,
}

impl Keeping {
    /// None where nothing is kept. `calls` is what each worker may follow.
    fn start(
        config: &Config,
        workers: usize,
        calls: usize,
        files: bool,
        secrets: &Secrets,
        board: &Arc<Board>,
        distant: &Arc<Distant>,
    ) -> anyhow::Result<Option<Self>> {
        let Some(directory) = config.spool.directory() else { return Ok(None) };
        // Replays are repeatable; on the wire nobody may know which calls are chosen.
        let secret = if files { "replay".to_owned() } else { RandomState::new().hash_one(0).to_string() };
        let ruling = ruling(config, &secret)?;
        let cases = Cases::start(directory).context("cannot start a thread that writes cases down")?;
        let orders = Arc::new(Orders::new(ruling, workers, calls).with(cases.clerk()));
        log::info!(target: "spool", "packets of calls go to {}", directory.display());
        told_rules(&orders);
        let wait = Duration::from_nanos(config.spool.age().0) + MARGIN;
        let dirs = [Some(directory), config.retention.tier()].into_iter().flatten().map(Path::to_owned);
        let deletions = DeletionLog::of(directory, secrets.sign.clone());
        let distant = Arc::clone(distant);
        let far = Box::new(move || distant.far());
        let erasing =
            Erasing::start(dirs.collect(), far, deletions, wait, files, Arc::clone(&board.corrections))
                .context("[spool] directory")?;
        Ok(Some(Self { orders, erasing, cases, secret }))
    }

    /// Rules as they are written now.
    fn reload(&self, config: &Config) {
        match ruling(config, &self.secret) {
            Ok(ruling) => {
                self.orders.replace(ruling);
                told_rules(&self.orders);
            }
            Err(error) => log::error!(target: "rules", "nothing changes: {error:#}"),
        }
    }
}

/// The rules of the configuration. `secret` where that has none of its own.
///
/// # Errors
///
/// A file of numbers that cannot be read any more.
fn ruling(config: &Config, secret: &str) -> anyhow::Result<Ruling> {
    let (rules, products) = config
        .rules()
        .map_err(|(place, key, problem)| anyhow::anyhow!("[[keep]] rule {} {key}: {problem}", place + 1))?;
    let spool = &config.spool;
    let switch = |digits: &str, header: &Field| Switch {
        digits: digits.as_bytes().to_vec(),
        header: header.0.clone(),
    };
    Ok(Ruling::new(RulingSettings {
        rules,
        products,
        legs: spool.legs.iter().map(|name| Leg::of_name(name)).collect(),
        secret: if spool.share_key.is_empty() { secret } else { &spool.share_key }.to_owned(),
        pause: switch(&spool.pause_digits, &spool.pause_header),
        resume: switch(&spool.resume_digits, &spool.resume_header),
        everything: config.keeps_everything(),
    }))
}

fn told_rules(orders: &Orders) {
    let (ruling, _) = orders.ruling();
    ruling.lines().iter().for_each(|line| log::debug!(target: "rules", "{}", line));
}

/// Threads at work.
struct Running {
    board: Arc<Board>,
    stop: Arc<AtomicBool>,
    workers: Vec<JoinHandle<Ended>>,
    tending: Option<Tending>,
    keeping: Option<Keeping>,
    amending: Option<Amending>,
    files: bool,
}

impl Running {
    fn start(
        config: &Config,
        source: Source,
        keeper: &Keeper,
        secrets: &Secrets,
        distant: &Arc<Distant>,
    ) -> anyhow::Result<Self> {
        // Replays are repeatable; on the wire nobody may know which keys collide.
        let seed = match source.files {
            true => ringtap_engine::Config::default().seed,
            false => RandomState::new().hash_one(0),
        };
        let limits = config.engine.engine(seed, !source.files);
        let workers = source.taps.len();
        let (calls, streams) = (limits.max_calls, limits.max_streams);
        let engines = match workers {
            1 => vec![Engine::new(limits)],
            _ => Engine::team(&limits, workers),
        };
        log::info!(
            target: "engine",
            "tables for {calls} calls and {streams} streams; {} MiB in use",
            board::resident() >> 20,
        );
        let posts = source.taps.iter().map(|(_, post)| post.clone()).collect();
        let board = Arc::new(Board::new(posts, keeper.gauge()));
        let mut running = Self {
            keeping: Keeping::start(config, workers, calls, source.files, secrets, &board, distant)?,
            board,
            stop: Arc::new(AtomicBool::new(false)),
            workers: Vec::new(),
            tending: None,
            amending: None,
            files: source.files,
        };
        if running.keeping.is_some() {
            let keep = config.spool.late();
            let inlet = keeper.inlet().context("the store has ended")?;
            let records = config.store.directory.clone();
            let amending = Amending::start(records, inlet, keep, Arc::clone(&running.board.corrections));
            running.amending = Some(amending.context("cannot start a thread that puts records right")?);
        }
        let mut written = Vec::new();
        for ((tap, Post { number, .. }), engine) in source.taps.into_iter().zip(engines) {
            let settings = config.spool.settings(number, tap.link(), source.files, secrets);
            let recorder = settings.zip(running.keeping.as_ref()).map(|(settings, keeping)| {
                let orders = Arc::clone(&keeping.orders);
                Recorder::open(
                    settings,
                    streams,
                    config.spool.undecided(),
                    orders,
                    Some(keeping.erasing.eraser()),
                )
            });
            let mut recorder = recorder.transpose().context("[spool]")?;
            if let (Some(recorder), Some(amending)) = (&mut recorder, &running.amending) {
                recorder.amend_by(amending.amender());
            }
            written.extend(recorder.as_ref().map(Recorder::written));
            let worker = Worker {
                number,
                engine,
                recorder,
                outlet: Outlet::new(keeper.inlet().context("the store has ended")?),
                board: Arc::clone(&running.board),
                stop: Arc::clone(&running.stop),
                team: workers as u64,
                taken: 0,
                now: Nanos::ZERO,
            };
            let clock = if source.files { Clock::Replay(config.capture.speed) } else { Clock::Wall };
            let cpu = config.capture.cpus.get(number).copied();
            let run = move || worker.run(tap, &clock, cpu);
            let thread = thread::Builder::new().name(format!("worker-{number}"));
            running.workers.push(thread.spawn(run).context("cannot start a worker")?);
        }
        if let Some(directory) = config.spool.directory() {
            let (directory, board) = (directory.to_owned(), Arc::clone(&running.board));
            let deletions = DeletionLog::of(&directory, secrets.sign.clone());
            let distant = Arc::clone(distant);
            running.tending = Some(Tending::start(
                directory,
                distant,
                config.store.directory.clone(),
                config.retention.clone(),
                deletions,
                written,
                board,
            )?);
        }
        Ok(running)
    }

    /// Ends everything in order: engines, then the store.
    fn stop(self, keeper: Keeper) -> anyhow::Result<Outcome> {
        let replayed = self.files && self.board.done();
        self.stop.store(true, Ordering::Relaxed);
        let (mut ended, mut exit, mut whole) = (Vec::new(), Outcome::Done, true);
        for (number, worker) in self.workers.into_iter().enumerate() {
            match worker.join() {
                Ok(one) => {
                    if let Some(error) = &one.failed {
                        log::error!(target: "worker", "worker {number} ended: {error}");
                        exit = Outcome::WorkerFailed;
                    }
                    ended.push(one);
                }
                Err(_) => {
                    log::error!(target: "worker", "worker {number} ended by a fault of the program");
                    (exit, whole) = (Outcome::WorkerFailed, false);
                }
            }
        }
        if whole {
            worker::close(ended);
        } else {
            // A team cannot end without one of its own. The next start records what was under way.
            log::error!(target: "worker", "calls under way are in the journal alone");
            drop(ended);
        }
        if let Some(amending) = self.amending {
            amending.close();
        }
        if let Some(keeping) = self.keeping {
            keeping.erasing.close();
            keeping.cases.close();
        }
        if let Some(tending) = self.tending {
            tending.close();
        }
        // What was read from files is waited for: nobody has to be quick.
        let counts = keeper.close(if replayed { REPLAYED } else { STOPPED });
        let snapshot = self.board.snapshot();
        log::info!(
            target: "run",
            "stopped: {} of {} seen; {} written{}{}",
            counted(snapshot.sum(|report| report.begun), "call"),
            counted(snapshot.sum(|report| report.tap.received), "frame"),
            counted(counts.written.records(), "record"),
            match counts.outbox_records { 0 => String::new(), waiting => format!(", {waiting} wait in the outbox for the next start"), },
            match counts.records_dropped() { 0 => String::new(), dropped => format!(", {dropped} dropped"), },
        );
        Ok(exit)
    }
}

/// What the first thread does until the end.
struct Loop<'a> {
    config: Config,
    path: PathBuf,
    status: Span,
    keeper: &'a Keeper,
    running: &'a Running,
}

impl Loop<'_> {
    fn run(mut self, signals: &Receiver<i32>) {
        let board = &self.running.board;
        let mut status = Status::new(board.snapshot());
        let mut losses = Losses::default();
        let mut told = Instant::now();
        let watchdog = system::watchdog();
        let mut alive = Instant::now();
        loop {
            match signals.recv_timeout(LOOK) {
                Ok(SIGHUP) => self.reload(),
                Ok(signal) => {
                    let name = if signal == SIGINT { "SIGINT" } else { "SIGTERM" };
                    return log::info!(target: "run", "{name}: stops");
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => thread::sleep(LOOK),
            }
            for said in losses.look(board.snapshot().drops()) {
                log::warn!(target: "loss", "{}", said);
            }
            let every = Duration::from_nanos(self.status.0.0);
            if !every.is_zero() && told.elapsed() >= every {
                told = Instant::now();
                let line = status.line(board);
                system::notify(&[NotifyState::Status(&line)]);
                log::info!(target: "status", "{}", line);
            }
            if watchdog.is_some_and(|every| alive.elapsed() >= every) && board.stalled().is_none() {
                alive = Instant::now();
                system::notify(&[NotifyState::Watchdog]);
            }
            if self.running.files && board.done() {
                return log::info!(target: "capture", "the files are replayed");
            }
            // Without one of them others would take its silence for the network's.
            if !self.running.files && self.running.workers.iter().any(JoinHandle::is_finished) {
                return log::error!(target: "run", "a worker has ended: stops");
            }
        }
    }

    /// Reads the configuration again. What is wrong changes nothing.
    fn reload(&mut self) {
        let reloading = NotifyState::monotonic_usec_now();
        system::notify(&[NotifyState::Reloading, reloading.unwrap_or(NotifyState::MonotonicUsec(0))]);
        match Config::load(&self.path) {
            Err(wrong) => log::error!(target: "run", "SIGHUP: nothing changes: {wrong}"),
            Ok(fresh) => {
                let changed = self.config.changed(&fresh);
                let named = |live: bool| {
                    let keys = changed.iter().filter(|key| key.live == live);
                    keys.map(|key| format!("[{}] {}", key.section, key.name)).collect::<Vec<_>>().join(", ")
                };
                let (live, later) = (named(true), named(false));
                logger::level(fresh.log.level);
                self.status = fresh.log.status;
                self.keeper.retain(fresh.store.retain.0);
                if let Some(tending) = &self.running.tending {
                    tending.change(&fresh.retention);
                }
                self.config.store.retain = fresh.store.retain;
                if let Some(keeping) = &self.running.keeping {
                    keeping.reload(&fresh);
                }
                self.config.adopt_live(fresh);
                match (live.as_str(), later.as_str()) {
                    ("", "") => log::info!(target: "run", "SIGHUP: nothing has changed"),
                    (live, "") => log::info!(target: "run", "SIGHUP: in effect: {live}"),
                    ("", later) => log::warn!(target: "run", "SIGHUP: needs a restart: {later}"),
                    (live, later) => {
                        log::warn!(target: "run", "SIGHUP: in effect: {live}; needs a restart: {later}");
                    }
                }
            }
        }
        system::notify(&[NotifyState::Ready]);
    }
}

/// Signals, in the order in which they come. The second that asks for the end gets it at once.
fn listen_to_signals() -> anyhow::Result<Receiver<i32>> {
    let mut signals = Signals::new([SIGTERM, SIGINT, SIGHUP]).context("cannot listen for signals")?;
    let (sender, receiver) = channel();
    let listen = move || {
        let mut asked = false;
        for signal in &mut signals {
            if signal != SIGHUP && std::mem::replace(&mut asked, true) {
                log::warn!(target: "run", "stops at once: what was not yet written is lost");
                std::process::exit(128 + signal);
            }
            // Nobody listens any more: it ends already.
            let _ = sender.send(signal);
        }
    };
    thread::Builder::new().name("signals".into()).spawn(listen).context("cannot listen for signals")?;
    Ok(receiver)
}

fn settings(config: &Config) -> Settings {
    Settings {
        directory: config.store.directory.clone(),
        queue: config.store.queue,
        outbox: config.store.outbox.clone(),
        outbox_size: config.store.outbox_size.0,
        journal: config.journal.enabled.then(|| config.journal.path.clone()),
        retain: config.store.retain.0,
    }
}

/// What the store says, for the operator.
fn tell(notice: Notice) {
    match notice {
        Notice::Recovered { calls, waiting, cut } => {
            let calls = counted(calls as u64, "call");
            let mut line = format!("the run before did not end cleanly: {calls} taken from its journal");
            if waiting > 0 {
                line.push_str(&format!(", {} in the outbox", counted(waiting, "record")));
            }
            if cut > 0 {
                line.push_str(&format!(", {} torn at the end cut off", counted(cut, "byte")));
            }
            log::warn!(target: "store", "{}", line);
        }
        Notice::Away(error) => {
            log::error!(target: "store", "{error}; records wait until it works again")
        }
        Notice::Back { after, waiting } => log::info!(
            target: "store",
            "works again after {:.1} s; {} to catch up",
            after.as_secs_f64(),
            counted(waiting, "record"),
        ),
        Notice::Behind => log::warn!(
            target: "store",
            "slower than the records come: some go by way of the outbox",
        ),
        Notice::CaughtUp => log::info!(target: "store", "caught up: the outbox is empty"),
        Notice::OutboxRefuses(error) => {
            log::error!(target: "store", "the outbox takes nothing either: {error}; records wait in memory");
        }
        Notice::OutboxFull => {
            log::error!(target: "store", "the outbox is full: records wait in memory, then they are dropped")
        }
        Notice::OutboxTakes => log::info!(target: "store", "the outbox takes records again"),
        Notice::JournalFails(error) => {
            log::error!(target: "journal", "{error}; a kill now would forget calls under way");
        }
        Notice::JournalWorks => log::info!(target: "journal", "works again"),
        Notice::Forgotten(days) => {
            let days: Vec<String> = days.iter().map(ToString::to_string).collect();
            log::info!(target: "store", "deleted, older than [store] retain: {}", days.join(", "));
        }
        Notice::CannotForget(error) => {
            log::error!(target: "store", "an old day cannot be deleted: {error}")
        }
        other => log::info!(target: "store", "{other:?}"),
    }
}

/// What `--check` says of a configuration that is right.
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
    format!("{} is right: {source}; records to {}", path.display(), config.store.directory.display())
}

/// How often losses are looked for, and the longest that a signal waits.
const LOOK: Duration = Duration::from_millis(200);
/// How much longer than `age` a packet may be on its way to the disk.
const MARGIN: Duration = Duration::from_secs(5);
/// How long the day files get at the end for what waits in the outbox.
const STOPPED: Duration = Duration::from_secs(5);
const REPLAYED: Duration = Duration::from_secs(600);
