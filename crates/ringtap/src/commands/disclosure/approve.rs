//! `ringtap disclosure approve`: the second person.

use anyhow::Context;
use clap::Args;
use ringtap_report::time;

use super::shown;
use crate::commands::warrant::approve::ask;
use crate::commands::warrant::register_args::RegisterArgs;
use crate::commands::warrant::shown::WRITING;
use crate::exit::{Exit, Misuse};
use crate::screen::Screen;

/// Approve a request that another officer has entered
///
/// It shows the whole record, which is a look that is recorded, and asks for the beginning of its hash: what
/// is approved is this record and no other.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(super) struct Approve {
    /// Number of the request
    #[arg(value_name = "NUMBER")]
    id: u32,
    /// Hash of the record as `ringtap disclosure show` printed it to you, 16 digits of it at least [default:
    /// ask on the terminal]
    #[arg(long, value_name = "HASH")]
    hash: Option<String>,
}

const EXAMPLES: &str = "\
Examples:
  ringtap disclosure approve 3 --as ben
  ringtap disclosure approve 3 --as ben --hash 41d5c0b1f3a7e296";

impl Approve {
    /// Runs it.
    pub(super) fn run(self, args: &RegisterArgs, screen: &mut Screen) -> anyhow::Result<Exit> {
        let mut open = args.open()?;
        let request = open.register.show_request(&open.session, self.id, "to approve it", time::now())?;
        shown::write(&request, &mut screen.out).context(WRITING)?;
        let hash = request.hash();
        let (given, least) = match self.hash {
            Some(hash) => (hash, 16),
            None => (ask(screen)?, 8),
        };
        let given = given.trim();
        if given.len() < least || !hash.starts_with(given) {
            let text = format!(
                "nothing was approved: give the first {least} digits of the hash that the record has now"
            );
            return Err(Misuse(text).into());
        }
        open.register.approve_request(&open.session, self.id, &hash, time::now())?;
        screen.remark(format!("request {} is approved as it is shown", self.id));
        Ok(Exit::Done)
    }
}
