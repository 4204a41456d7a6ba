//! The daemon: packets in, records to the store, for months.
//!
//! Not here: what is done with a packet. The engine follows calls, the recorder records them, the store keeps
//! records; this crate reads the configuration, starts their threads, watches them, and answers whoever asks
//! how they do.
//!
//! The one invariant: workers wait for nobody. What they have to say goes into the store's queue or onto the
//! status board, and what is lost anywhere is counted there.
//!
//! One thread for each worker, one for the store, a few for whoever asks for metrics; the first one waits for
//! signals and for the clock.
//!
//! | module | holds |
//! |---|---|
//! | `config` | the configuration: every key, parsed and validated |
//! | `main_loop` | the first thread: signals, status lines, losses, reloads |
//! | `threads` | all others, started and ended in order |
//! | `source` | interfaces, or files to replay |
//! | `recording` | what workers record by |
//! | `store` | what the store says, for the operator |
//! | `worker` | a source of packets, its engine, its thread |
//! | `board` | what the threads report |
//! | `status`, `metrics`, `http` | that as a line, as figures, on two pages |
//! | `system` | user, capabilities, service manager |
//! | [`control`] | the socket that brings commands |
//! | `locks` | a second daemon is kept away |
//! | `far_tier` | the far place that segments move to |
//! | `tend` | the thread that keeps the spool within its clocks and its disk |
//! | `logger` | lines for the operator |
#![forbid(unsafe_code)]

mod config;
pub mod control;
mod far_tier;
mod housekeeping;
mod http;
mod locks;
mod logger;
mod main_loop;
mod metrics;
mod recording;
#[cfg(test)]
mod sampling;
mod shared_status;
mod source;
mod status;
mod store;
mod system;
mod threads;
mod worker;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::Context;
use ringtap_model::Nanos;
use ringtap_report::text::counted;
use ringtap_store::StoreWriter;
use sd_notify::NotifyState;

use crate::config::Span;
pub use crate::config::{Config, ConfigError, default_file};
use crate::far_tier::FarTier;
use crate::locks::Locks;
use crate::main_loop::{MainLoop, listen_to_signals};
use crate::source::Source;
pub use crate::threads::Outcome;
use crate::threads::Threads;

/// What is known of the configuration beside its content.
pub struct RunOptions {
    /// What was read.
    pub config: Config,
    /// Where it is read from again.
    pub path: PathBuf,
    /// Takes the place of its `[log] status`.
    pub status: Option<Nanos>,
}

/// Runs until a signal ends it, or its files do.
pub fn run(started: RunOptions) -> anyhow::Result<Outcome> {
    let RunOptions { config, path, status } = started;
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
    let far_tier = Arc::new(FarTier::default());
    if let Some(directory) = config.spool.directory() {
        far_tier.open(directory, &config.retention)?;
    }
    system::give_up(user.as_ref())?;
    let _locks = Locks::take(&config)?;
    let signals = listen_to_signals()?;
    let keeper = StoreWriter::open(&store::settings(&config), store::tell)?;
    let threads = Threads::start(&config, source, &keeper, &secrets, &far_tier)?;
    if let Some(control) = control {
        let desk = threads.recording.as_ref().zip(config.spool.directory()).map(|(recording, spool)| {
            control::ControlContext { orders: Arc::clone(&recording.orders), spool: spool.to_owned() }
        });
        control::serve(control, desk).context("[process] control")?;
    }
    if let Some(listener) = listener {
        let address = listener.local_addr().map(|address| address.to_string()).unwrap_or_default();
        http::serve(listener, Arc::clone(&threads.board)).context("cannot serve metrics")?;
        log::info!(target: "metrics", "http://{address}/metrics and /health");
    }
    system::notify(&[NotifyState::Ready]);
    let status = status.map_or(config.log.status, Span);
    MainLoop { config, path, status, keeper: &keeper, threads: &threads }.run(&signals);
    system::notify(&[NotifyState::Stopping]);
    threads.stop(keeper)
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
