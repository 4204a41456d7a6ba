//! `ringtap doctor`: whether this machine is fit for a capture.

use std::io::Write;
use std::path::PathBuf;

use anyhow::Context;
use clap::{Args, ValueEnum};
use ringtap_capture::host::Host;
use ringtap_doctor::{Level, show};

use crate::exit::Exit;
use crate::screen::Screen;

/// Look at this machine as a good operator would: what would lose packets or make figures wrong
///
/// Looks at the interfaces (link, rings, queues, interrupts, offloads, flow control, timestamps, losses), the
/// machine (CPUs, memory, clock, kernel settings, rights of this process) and the directory of the store.
/// Each thing is `good`, `note`, `warn` or `bad`; where it is not good, a sentence says why it matters, and a
/// command how to mend it. Nothing is changed: only with `--store`, 20 kB are written into a file without a
/// name, to learn how fast the disk is.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
#[group(skip)]
pub(crate) struct Doctor {
    /// Look at this interface; may be given several times [default: all but the loopback]
    #[arg(short, long, value_name = "IFACE")]
    interface: Vec<String>,
    /// Also look at the directory that records are or will be written to
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
            // Nobody captures there unless asked, nor on what is switched off.
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
