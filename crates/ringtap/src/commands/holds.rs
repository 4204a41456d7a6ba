//! `ringtap holds`: lists the calls that are on hold.

use std::collections::BTreeSet;
use std::io::Write;
use std::path::PathBuf;

use anyhow::Context;
use clap::Args;
use ringtap_daemon::become_owner_of;
use ringtap_model::Nanos;
use ringtap_report::text::{counted, shown};
use ringtap_report::time;
use ringtap_spool::{Hold as Held, Holds as AllHeld};

use crate::exit::Exit;
use crate::screen::Screen;

/// List the calls that are on hold, by case
#[derive(Args, Debug)]
pub(crate) struct Holds {
    /// Directory of the spool
    #[arg(long, value_name = "DIR")]
    spool: PathBuf,
    /// List only this case
    #[arg(long, value_name = "NAME")]
    case: Option<String>,
    /// List only holds of interception product
    #[arg(long)]
    product: bool,
    /// Print one JSON object a line
    #[arg(long)]
    json: bool,
}

impl Holds {
    /// Runs it.
    pub(crate) fn run(self, screen: &mut Screen) -> anyhow::Result<Exit> {
        become_owner_of(&self.spool)?;
        std::fs::read_dir(&self.spool).with_context(|| format!("cannot read {}", self.spool.display()))?;
        let holds = AllHeld::read(&self.spool)?;
        let wanted = |hold: &&Held| {
            hold.product == self.product && self.case.as_ref().is_none_or(|case| hold.case == *case)
        };
        let failed = "cannot write the list";
        for hold in holds.all().iter().filter(wanted) {
            if self.json {
                let line = serde_json::to_string(hold).context(failed)?;
                writeln!(screen.out, "{line}").context(failed)?;
            } else {
                let since = time::rfc3339(Nanos(hold.since));
                let id = if hold.pending.is_some() { UNDER_WAY } else { &hold.id };
                let call_id = shown(&hold.call_id);
                writeln!(screen.out, "{}  {since}  {id:<32}  {call_id}", hold.case).context(failed)?;
            }
        }
        screen.out.flush().context(failed)?;
        let calls: BTreeSet<&str> =
            holds.all().iter().filter(|hold| hold.product == self.product).map(|hold| &*hold.id).collect();
        screen.remark(format!("{} on hold", counted(calls.len() as u64, "call")));
        Ok(Exit::Done)
    }
}

/// Shown instead of the id of a record.
const UNDER_WAY: &str = "under way";
