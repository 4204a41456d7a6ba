//! `ringtap hold`: keeps calls past every age limit.

use std::path::PathBuf;

use anyhow::bail;
use clap::Args;
use ringtap_daemon::control::{Request, ask};
use ringtap_export::find::named_calls;
use ringtap_model::{Call, Nanos};
use ringtap_recorder::holding::{self, By};
use ringtap_report::text::counted;
use ringtap_report::text::grouped;
use ringtap_spool::{Category, Hold as Held, Reader};

use super::control::call_in_progress;
use crate::distant;
use crate::exit::Exit;
use crate::filter::FilterArgs;
use crate::screen::Screen;
use crate::store_args;

/// Put calls on hold for a case: their packets and records are not deleted until they are released
///
/// A hold overrides [retention] and `retain` of [store], and applies however full the disk is. A running
/// `ringtap run` obeys it at once. Other calls are not kept longer because of it: packets on hold are copied
/// out of a segment before the segment is deleted. A call can be on hold for several cases, until the last of
/// them is released. A call under way has no record yet: the running daemon, asked over its control socket,
/// holds it when it has ended, even after a restart; its messages are held from now on.
#[derive(Args, Debug)]
#[command(after_help = HOLD)]
pub(crate) struct Hold {
    /// Call-IDs of the calls, unique beginnings of them, or record ids; none if filters select them
    #[arg(value_name = "CALL")]
    calls: Vec<String>,
    /// Name of the case: letters, digits, `-`, `_` and `.`
    #[arg(long, value_name = "NAME")]
    case: String,
    /// Directory of the database
    #[arg(long, value_name = "DIR")]
    store: PathBuf,
    /// Directory of the spool
    #[arg(long, value_name = "DIR")]
    spool: PathBuf,
    /// Hold the interception product of the calls, and nothing else
    #[arg(long)]
    product: bool,
    /// The control socket, needed for calls under way: `control` in section [process] of the configuration
    #[arg(long, value_name = "SOCKET", default_value = "/run/ringtap/control")]
    control: PathBuf,
    #[command(flatten)]
    filter: FilterArgs,
}

const HOLD: &str = "\
Examples:
  ringtap hold 4f2a19@192.0.2.1 --case K-2026-17 --store /var/lib/ringtap/records --spool ...
  ringtap hold --number '+4202*' --since 2026-11-20 --case K-2026-17 --store ... --spool ...
  ringtap holds --spool /var/lib/ringtap/spool
  ringtap release --case K-2026-17 --store ... --spool ...";

impl Hold {
    /// Runs it.
    pub(crate) fn run(self, screen: &mut Screen) -> anyhow::Result<Exit> {
        let far = distant::of_owner(&self.spool)?;
        let store = store_args::open(&self.store)?;
        let mut spool = Reader::open(&self.spool)?;
        if let Some(far) = far {
            spool.far(far);
        }
        let (calls, under_way) = self.found(&store)?;
        under_way.iter().for_each(|answer| screen.remark(answer));
        let by = By { case: &self.case, since: now(), product: self.product };
        for call in &calls {
            let hold = holding::place(&self.store, &store, &self.spool, call, &by)?;
            let what = match packets(&mut spool, &hold) {
                Ok((0, 0)) => "the spool has no packets of it, its record is held".to_owned(),
                Ok((packets, 0)) => format!("{} packets", grouped(packets)),
                // Packets in sealed chunks cannot be counted without the key, but are held.
                Ok((0, sealed)) => format!("{}, sealed", counted(sealed, "chunk")),
                Ok((packets, sealed)) => {
                    format!("{} packets, and {}, sealed", grouped(packets), counted(sealed, "chunk"))
                }
                // The hold is in effect, even if segments in a bucket cannot be reached now.
                Err(error) => format!("its packets were not counted: {error}"),
            };
            screen.remark(format!("held for {}: {}: {what}", self.case, hold.call_id));
        }
        let calls = calls.len() + under_way.len();
        screen.remark(format!("{} on hold for {}", counted(calls as u64, "call"), self.case));
        Ok(Exit::Done)
    }

    /// The records of the selected calls, and the daemon's answers for those under way.
    fn found(&self, store: &ringtap_store::Reader) -> anyhow::Result<(Vec<Call>, Vec<String>)> {
        let filter = self.filter.filter();
        match (self.calls.is_empty(), filter.is_set()) {
            (true, false) => bail!("no call selected: name Call-IDs, or add filters such as --number"),
            (false, true) => bail!("Call-IDs and filters cannot be combined: leave one of them out"),
            (true, true) => {
                let calls = store.calls(&filter.into())?.records;
                if calls.is_empty() {
                    bail!(
                        "no call in `{}` matches the filters: nothing was put on hold",
                        self.store.display()
                    );
                }
                Ok((calls, Vec::new()))
            }
            (false, false) => {
                let (mut calls, mut under_way) = (Vec::new(), Vec::new());
                for call in &self.calls {
                    let mut found = named_calls(store, call)?;
                    if found.is_empty() {
                        match self.under_way(call) {
                            Ok(answer) => {
                                under_way.push(answer);
                                continue;
                            }
                            // It may have ended in the meantime.
                            Err(error) => {
                                found = named_calls(store, call)
                                    .and_then(|found| self.refuse_none(found, call, &error))?
                            }
                        }
                    }
                    calls.extend(found);
                }
                Ok((calls, under_way))
            }
        }
    }
}

impl Hold {
    /// Asks the daemon to hold a call when it has ended.
    fn under_way(&self, call: &str) -> anyhow::Result<String> {
        let call = call_in_progress(&self.control, call)?;
        let (case, product) = (self.case.clone(), self.product);
        ask(&self.control, &Request::Hold { call, case, product })
    }

    /// Refuses a call that neither the database nor the daemon knows.
    fn refuse_none(&self, found: Vec<Call>, call: &str, error: &anyhow::Error) -> anyhow::Result<Vec<Call>> {
        if found.is_empty() {
            let store = self.store.display();
            bail!(
                "no call in `{store}` has the Call-ID or id `{call}`: `ringtap calls --store {store}` lists \
                    the calls; and none under way is put on hold: {error:#}"
            );
        }
        Ok(found)
    }
}

/// Counts the packets of a held call in the spool, and its sealed chunks.
fn packets(spool: &mut Reader, hold: &Held) -> anyhow::Result<(u64, u64)> {
    let (mut packets, mut sealed) = (0, 0);
    for part in &hold.parts {
        let (from, to) = (Nanos(part.from), Nanos(part.to));
        let mut segments = spool.between(from, to)?;
        segments.retain(|segment| Category::of(hold.product).contains(&segment.category()));
        let found = spool.read(&[part.owner], &segments)?;
        packets += found.packets().filter(|packet| (from..=to).contains(&packet.time)).count() as u64;
        sealed += found.sealed;
    }
    Ok((packets, sealed))
}

fn now() -> Nanos {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    Nanos(u64::try_from(now.as_nanos()).unwrap_or(u64::MAX))
}
