//! Ctrl-C, SIGTERM and SIGHUP: the first ends the reading, the second the program.

use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::Context;

use crate::exit::Exit;

static ASKED: AtomicBool = AtomicBool::new(false);

/// Begins to listen.
pub(crate) fn watch() -> anyhow::Result<()> {
    let handler = || {
        if ASKED.swap(true, Ordering::Relaxed) {
            std::process::exit(Exit::Interrupted as i32);
        }
    };
    ctrlc::set_handler(handler).context("cannot listen for Ctrl-C")
}

/// Whether the person at the terminal wants the reading to end.
pub(crate) fn asked() -> bool {
    ASKED.load(Ordering::Relaxed)
}
