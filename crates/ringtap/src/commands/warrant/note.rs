//! `ringtap warrant note`: a remark on a warrant.

use clap::Args;
use ringtap_report::time;

use super::register_args::RegisterArgs;
use crate::exit::Exit;
use crate::screen::Screen;

/// Add a note to a warrant
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Note {
    /// Number of the warrant
    #[arg(value_name = "NUMBER")]
    id: u32,
    /// The note
    #[arg(value_name = "TEXT")]
    text: String,
}

const EXAMPLES: &str = "\
Examples:
  ringtap warrant note 3 'the agency has confirmed the delivery' --as ana";

impl Note {
    /// Runs it.
    pub(crate) fn run(self, args: &RegisterArgs, screen: &mut Screen) -> anyhow::Result<Exit> {
        let mut open = args.open()?;
        open.register.note(&open.session, self.id, &self.text, time::now())?;
        screen.remark(format!("the note is with warrant {}", self.id));
        Ok(Exit::Done)
    }
}
