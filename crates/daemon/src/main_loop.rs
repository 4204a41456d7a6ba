//! The first thread: signals, the clock, status lines, losses.

use std::path::PathBuf;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use anyhow::Context;
use ringtap_store::{Retain, StoreWriter};
use sd_notify::NotifyState;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

use crate::clock_watch::ClockWatch;
use crate::config::{Config, ConfigError, Profile, Span};
use crate::far_tier::FarTier;
use crate::processes::child::Process;
use crate::status::{Losses, StatusLine, evictions};
use crate::threads::Threads;
use crate::{logger, system};

/// The loop of the first thread.
pub(crate) struct MainLoop<'a> {
    pub(crate) config: Config,
    pub(crate) path: PathBuf,
    /// Replaces that of the file.
    pub(crate) profile: Option<Profile>,
    pub(crate) status: Span,
    pub(crate) store: &'a StoreWriter,
    pub(crate) threads: &'a Threads,
    pub(crate) clock: &'a ClockWatch,
    /// The processes without which the daemon stops.
    pub(crate) processes: Vec<&'a Process>,
    pub(crate) far_tier: &'a FarTier,
}

impl MainLoop<'_> {
    /// Runs until a signal arrives, all files are replayed, or a worker or a process ends; whether a process
    /// did.
    pub(crate) fn run(mut self, signals: &Receiver<i32>) -> bool {
        let shared_status = &self.threads.shared_status;
        let mut status_line = StatusLine::new(shared_status.snapshot());
        let (mut losses, mut table_losses) = (Losses::default(), Losses::default());
        let mut logged = Instant::now();
        let watchdog = system::watchdog();
        let mut alive = Instant::now();
        loop {
            match signals.recv_timeout(CHECK_INTERVAL) {
                Ok(SIGHUP) => self.reload(),
                Ok(signal) => {
                    let name = if signal == SIGINT { "SIGINT" } else { "SIGTERM" };
                    log::info!(target: "run", "{name}: stopping");
                    return false;
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => thread::sleep(CHECK_INTERVAL),
            }
            self.check_clock();
            self.far_tier.watch();
            let snapshot = shared_status.snapshot();
            let lines = losses.check(&snapshot.drops().places());
            for line in lines.into_iter().chain(table_losses.check(&evictions(&snapshot.counters()))) {
                log::warn!(target: "loss", "{}", line);
            }
            let every = Duration::from_nanos(self.status.0.0);
            if !every.is_zero() && logged.elapsed() >= every {
                logged = Instant::now();
                let line = status_line.line(shared_status);
                system::notify(&[NotifyState::Status(&line)]);
                log::info!(target: "status", "{}", line);
            }
            if watchdog.is_some_and(|every| alive.elapsed() >= every) && shared_status.stalled().is_none() {
                alive = Instant::now();
                system::notify(&[NotifyState::Watchdog]);
            }
            if self.threads.files && shared_status.done() {
                log::info!(target: "capture", "all files have been replayed");
                return false;
            }
            if let Some(name) = self.processes.iter().find_map(|process| process.ended()) {
                log::error!(
                    target: "run",
                    "the process for {name} has ended: stopping; segments that it has not sealed are sealed \
                    by the next start"
                );
                return true;
            }
            // Without one worker, its part of the network would look silent.
            if !self.threads.files && self.threads.workers.iter().any(JoinHandle::is_finished) {
                log::error!(target: "run", "a worker has ended: stopping");
                return false;
            }
        }
    }

    /// Day files are not deleted either while the clock is not trusted.
    fn check_clock(&self) {
        let step = self.clock.look().step;
        self.threads.shared_status.report_clock(step);
        self.threads.shared_status.report_records_age(self.config.store.retain.0);
        self.store.retain(if step.is_some() { Retain::default() } else { self.config.store.retained() });
    }

    /// Reads the configuration again. A wrong file changes nothing.
    pub(crate) fn reload(&mut self) {
        let reloading = NotifyState::monotonic_usec_now();
        system::notify(&[NotifyState::Reloading, reloading.unwrap_or(NotifyState::MonotonicUsec(0))]);
        // Rules that the console changes meanwhile would be undone.
        let book = self.threads.recording.as_ref().map(|recording| (recording, recording.rule_book.hold()));
        if let Some((_, book)) = &book {
            self.config.rule_file = book.file();
        }
        match Config::load(&self.path, self.profile) {
            Err(error) => log::error!(target: "run", "SIGHUP: nothing changes: {}", one_line(&error)),
            Ok(fresh) => {
                let changed = self.config.changed(&fresh);
                let named = |live: bool| {
                    let keys = changed.iter().filter(|key| key.live == live);
                    keys.map(|key| format!("[{}] {}", key.section, key.name)).collect::<Vec<_>>().join(", ")
                };
                let (live, later) = (named(true), named(false));
                logger::level(fresh.log.level);
                self.status = fresh.log.status;
                if let Some(housekeeping) = &self.threads.housekeeping {
                    housekeeping.change(&fresh.retention);
                }
                self.config.store.retain = fresh.store.retain;
                self.config.store.retain_sessions = fresh.store.retain_sessions;
                if let Some((recording, book)) = book {
                    recording.reload(&fresh, book);
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

/// All mistakes, for the log.
fn one_line(error: &ConfigError) -> String {
    error.to_string().replace('\n', "; ")
}

/// Receives signals in their order. A second SIGTERM or SIGINT ends the process at once.
pub(crate) fn listen_to_signals() -> anyhow::Result<Receiver<i32>> {
    let mut signals = Signals::new([SIGTERM, SIGINT, SIGHUP]).context("cannot listen for signals")?;
    let (sender, receiver) = channel();
    let listen = move || {
        let mut asked = false;
        for signal in &mut signals {
            if signal != SIGHUP && std::mem::replace(&mut asked, true) {
                log::warn!(target: "run", "second signal: stopping at once, records not yet written are \
                lost");
                std::process::exit(128 + signal);
            }
            // The send fails when the main loop has ended.
            let _ = sender.send(signal);
        }
    };
    thread::Builder::new().name("signals".into()).spawn(listen).context("cannot listen for signals")?;
    Ok(receiver)
}

/// Interval between two checks for losses, and the longest that a signal waits.
pub(crate) const CHECK_INTERVAL: Duration = Duration::from_millis(200);
