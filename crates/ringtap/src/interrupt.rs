//! Ctrl-C, SIGTERM and SIGHUP: the first signal ends the reading, the second ends the program.

use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::Context;

use crate::exit::Exit;

static ASKED: AtomicBool = AtomicBool::new(false);

/// Installs the signal handler.
pub(crate) fn watch() -> anyhow::Result<()> {
    let handler = || {
        if ASKED.swap(true, Ordering::Relaxed) {
            std::process::exit(Exit::Interrupted as i32);
        }
    };
    ctrlc::set_handler(handler).context("cannot install a handler for Ctrl-C")
}

/// Whether a signal asked to end the reading.
pub(crate) fn asked() -> bool {
    ASKED.load(Ordering::Relaxed)
}
