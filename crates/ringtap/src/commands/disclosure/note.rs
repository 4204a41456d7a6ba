//! `ringtap disclosure note`: a remark on a request.

use clap::Args;
use ringtap_report::time;

use crate::commands::warrant::register_args::RegisterArgs;
use crate::exit::Exit;
use crate::screen::Screen;

/// Add a note to a request
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(super) struct Note {
    /// Number of the request
    #[arg(value_name = "NUMBER")]
    id: u32,
    /// The note
    #[arg(value_name = "TEXT")]
    text: String,
}

const EXAMPLES: &str = "\
Examples:
  ringtap disclosure note 3 'handed over on paper, receipt 8' --as ana";

impl Note {
    /// Runs it.
    pub(super) fn run(self, args: &RegisterArgs, screen: &mut Screen) -> anyhow::Result<Exit> {
        let mut open = args.open()?;
        open.register.note_request(&open.session, self.id, &self.text, time::now())?;
        screen.remark(format!("the note is with request {}", self.id));
        Ok(Exit::Done)
    }
}
