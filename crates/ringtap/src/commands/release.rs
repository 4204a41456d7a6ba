//! `ringtap release`: ends a hold.

use std::path::PathBuf;

use anyhow::bail;
use clap::Args;
use ringtap_daemon::become_owner_of;
use ringtap_model::Id;
use ringtap_report::text::counted;
use ringtap_spool::{Hold as Held, Holds as AllHeld, release};

use crate::exit::Exit;
use crate::screen::Screen;

/// End the hold of a case, or of one call in it: the age limits apply again
///
/// Data that have already exceeded them are deleted: copied packets at once, records with their day. If
/// segments are signed and a copy also has packets of other held calls, the running daemon shortens the copy,
/// because it has the key.
#[derive(Args, Debug)]
pub(crate) struct Release {
    /// Call-ID or record id of one call [default: all calls of the case]
    #[arg(value_name = "CALL")]
    call: Option<String>,
    /// Name of the case
    #[arg(long, value_name = "NAME")]
    case: String,
    /// Directory of the database
    #[arg(long, value_name = "DIR")]
    store: PathBuf,
    /// Directory of the spool
    #[arg(long, value_name = "DIR")]
    spool: PathBuf,
    /// Release only holds of interception product
    #[arg(long)]
    product: bool,
}

impl Release {
    /// Runs it.
    pub(crate) fn run(self, screen: &mut Screen) -> anyhow::Result<Exit> {
        become_owner_of(&self.spool)?;
        let released = release(&self.spool, &self.case, self.call.as_deref(), self.product)?;
        if released.is_empty() {
            let call = self.call.map_or_else(|| "no call".to_owned(), |call| format!("`{call}` is not"));
            bail!(
                "{call} on hold for `{}`: `ringtap holds --spool {}` lists the holds",
                self.case,
                self.spool.display()
            );
        }
        let still = AllHeld::read(&self.spool)?;
        for hold in &released {
            let others: Vec<&Held> = still.all().iter().filter(|other| other.id == hold.id).collect();
            // Without `--product`, a hold of the call's product is not mentioned.
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
