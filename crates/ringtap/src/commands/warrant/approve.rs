//! `ringtap warrant approve`: the second person.

use std::io::{self, Write};

use anyhow::Context;
use clap::Args;
use ringtap_report::time;

use super::register_args::RegisterArgs;
use super::shown::{self, WRITING};
use crate::exit::{Exit, Misuse};
use crate::screen::Screen;

/// Approve a draft, or the extension of a warrant, that another officer has entered
///
/// It shows the whole record, which is a look that is recorded, and asks for the beginning of its hash: what
/// is approved is this record and no other.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Approve {
    /// Number of the warrant
    #[arg(value_name = "NUMBER")]
    id: u32,
    /// Hash of the record as `ringtap warrant show` printed it to you, 16 digits of it at least [default: ask
    /// on the terminal]
    #[arg(long, value_name = "HASH")]
    hash: Option<String>,
}

const EXAMPLES: &str = "\
Examples:
  ringtap warrant approve 3 --as ben
  ringtap warrant approve 3 --as ben --hash 41d5c0b1f3a7e296";

impl Approve {
    /// Runs it.
    pub(crate) fn run(self, args: &RegisterArgs, screen: &mut Screen) -> anyhow::Result<Exit> {
        let mut open = args.open()?;
        let (warrant, at) = open.register.show(&open.session, self.id, "to approve it", time::now())?;
        shown::write(&warrant, at, None, &mut screen.out).context(WRITING)?;
        let hash = warrant.hash();
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
        open.register.approve(&open.session, self.id, &hash, time::now())?;
        screen.remark(format!("warrant {} is approved as it is shown", self.id));
        Ok(Exit::Done)
    }
}

pub(in crate::commands) fn ask(screen: &mut Screen) -> anyhow::Result<String> {
    if !screen.terminal {
        return Err(Misuse("without a terminal, name the record with `--hash <HASH>`".to_owned()).into());
    }
    write!(screen.out, "\nTo approve this record, type the first 8 digits of its hash: ")
        .and_then(|()| screen.out.flush())
        .context(WRITING)?;
    let mut line = String::new();
    io::stdin().read_line(&mut line).context("cannot read the hash")?;
    Ok(line)
}
