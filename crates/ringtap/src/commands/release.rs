//! `ringtap release`: ends a hold.

use std::collections::BTreeSet;
use std::path::PathBuf;

use anyhow::bail;
use clap::Args;
use ringtap_daemon::become_owner_of;
use ringtap_export::find::beginning;
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
    /// Call-ID of one call, a unique beginning of it, or its record id [default: all calls of the case]
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
        let call = self.call.as_deref().map(|call| self.held(call)).transpose()?;
        let released = release(&self.spool, &self.case, call.as_deref(), self.product)?;
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
                continue;
            } else if let (true, Ok(id)) = (others.is_empty(), hold.id.parse::<Id>()) {
                ringtap_store::release(&self.store, &id)?;
            }
            screen.remark(format!("released from {}: {}", self.case, hold.call_id));
        }
        screen.remark(format!("{} released", counted(released.len() as u64, "call")));
        Ok(Exit::Done)
    }
    /// The Call-ID or record id of the held call that is meant: as given, or the only Call-ID of the case
    /// that begins so.
    fn held(&self, call: &str) -> anyhow::Result<String> {
        let holds = AllHeld::read(&self.spool)?;
        let of_case = |hold: &&Held| hold.case == self.case && hold.product == self.product;
        let held: Vec<&Held> = holds.all().iter().filter(of_case).collect();
        if held.iter().any(|hold| hold.id == call || hold.call_id == call) {
            return Ok(call.to_owned());
        }
        let begins = |hold: &&&Held| hold.call_id.starts_with(beginning(call));
        let candidates: BTreeSet<&str> = held.iter().filter(begins).map(|hold| &*hold.call_id).collect();
        let mut listed = candidates.iter();
        match (listed.next(), listed.next()) {
            (Some(only), None) => Ok((*only).to_owned()),
            (None, _) => Ok(call.to_owned()),
            (Some(_), Some(_)) => {
                let listed: Vec<_> =
                    candidates.iter().take(10).map(|call_id| format!("`{call_id}`")).collect();
                bail!(
                    "several calls on hold for `{}` begin with `{call}`: give more of the Call-ID: {}",
                    self.case,
                    listed.join(", ")
                )
            }
        }
    }
}
