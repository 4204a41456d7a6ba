//! `ringtap doctor`: checks this machine before a capture.

use std::io::Write;
use std::path::PathBuf;

use anyhow::Context;
use clap::{Args, ValueEnum};
use ringtap_capture::host::Host;
use ringtap_doctor::{Level, show};

use crate::exit::Exit;
use crate::screen::Screen;

/// Check this machine before a capture: settings that would lose packets or make figures wrong
///
/// Checks the interfaces (link, rings, queues, interrupts, offloads, flow control, timestamps, losses), the
/// machine (CPUs, memory, clock, kernel settings, capabilities of this process) and the directory of the
/// records. Each finding is `good`, `note`, `warn` or `bad`. Where it is not good, a sentence says why it
/// matters, and a command shows how to fix it. Nothing is changed: only with `--store`, 20 kB are written to
/// an unnamed file, to measure how fast the disk is.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
#[group(skip)]
pub(crate) struct Doctor {
    /// Check this interface; may be repeated [default: all that are up, but the loopback]
    #[arg(short, long, value_name = "IFACE")]
    interface: Vec<String>,
    /// Also check the directory that records are or will be written to
    #[arg(long, value_name = "DIR")]
    store: Option<PathBuf>,
    /// How to print
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

/// How findings are printed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
enum Format {
    /// For people
    #[default]
    Text,
    /// A JSON object a line: level, area, topic, is, why, mend
    Json,
}

const EXAMPLES: &str = "\
Examples:
  ringtap doctor
  ringtap doctor -i ens1f0 --store /var/lib/ringtap
  ringtap doctor -i ens1f0 --format json | jq -r 'select(.level == \"bad\") | .mend[]'

Exit status: 0 nothing is bad, 1 something is bad, or an interface or directory does not exist.";

impl Doctor {
    /// Runs it.
    pub(crate) fn run(self, screen: &mut Screen) -> anyhow::Result<Exit> {
        let mut host = Host::inspect(&self.interface, self.store.as_deref())?;
        if self.interface.is_empty() {
            // Without a request, nobody captures on the loopback, or on an interface that is down.
            host.interfaces.retain(|interface| interface.name != "lo" && interface.up);
        }
        let findings = ringtap_doctor::judge(&host);
        let Screen { out, width, colour, .. } = screen;
        match self.format {
            Format::Text => show::write(out, &findings, *width, *colour),
            Format::Json => show::write_json(out, &findings),
        }
        .and_then(|()| out.flush())
        .context("cannot write the findings")?;
        let is_bad = findings.iter().any(|finding| finding.level == Level::Bad);
        Ok(if is_bad { Exit::Failed } else { Exit::Done })
    }
}
