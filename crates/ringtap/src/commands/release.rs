//! `ringtap release`: ends a hold.

use std::path::PathBuf;

use anyhow::bail;
use clap::Args;
use ringtap_model::Id;
use ringtap_report::text::counted;
use ringtap_spool::{Hold as Held, Holds as AllHeld, release};

use crate::exit::Exit;
use crate::screen::Screen;

/// End the hold of a case, or of one call in it: the clocks count again
///
/// What has outlived them already is deleted: copied packets at once, records with their day. Where segments
/// are signed, a copy in which other calls are held as well is shortened by the running ringtap, which has
/// the key.
#[derive(Args, Debug)]
pub(crate) struct Release {
    /// A Call-ID or the id of a record; all of the case where it is left out
    #[arg(value_name = "CALL")]
    call: Option<String>,
    /// The case
    #[arg(long, value_name = "NAME")]
    case: String,
    /// Directory of the database
    #[arg(long, value_name = "DIR")]
    store: PathBuf,
    /// Directory of the spool
    #[arg(long, value_name = "DIR")]
    spool: PathBuf,
    /// Holds of interception product, and no others
    #[arg(long)]
    product: bool,
}

impl Release {
    /// Runs it.
    pub(crate) fn run(self, screen: &mut Screen) -> anyhow::Result<Exit> {
        let released = release(&self.spool, &self.case, self.call.as_deref(), self.product)?;
        if released.is_empty() {
            let call = self.call.map_or_else(|| "no call".to_owned(), |call| format!("`{call}` is not"));
            bail!(
                "{call} on hold for `{}`: `ringtap holds --spool {}` lists them",
                self.case,
                self.spool.display()
            );
        }
        let still = AllHeld::read(&self.spool)?;
        for hold in &released {
            let others: Vec<&Held> = still.all().iter().filter(|other| other.id == hold.id).collect();
            // That its product is held as well is nothing for who does not ask for that.
            if others.iter().any(|other| self.product || !other.product) {
                screen.remark(format!("{} stays on hold for another case", hold.call_id));
            } else if let (true, Ok(id)) = (others.is_empty(), hold.id.parse::<Id>()) {
                ringtap_store::release(&self.store, &id)?;
            }
        }
        screen.remark(format!("{} released", counted(released.len() as u64, "call")));
        Ok(Exit::Done)
    }
}
