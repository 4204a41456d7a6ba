//! `ringtap forget`: a call out of the spool for good.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::bail;
use clap::Args;
use ringtap_export::call_part::{self, CallPart};
use ringtap_export::find::named_call;
use ringtap_model::Nanos;
use ringtap_report::text::counted;
use ringtap_spool::{DeletionLog, FarStorage, ForgetOrder, ForgetReport, Signer, forget};

use crate::distant;
use crate::exit::{Exit, Misuse};
use crate::screen::Screen;

/// Make what was kept of a call unreadable for good
///
/// Where the spool is sealed, the keys of the call's signalling and streams are overwritten: nobody can read
/// them any more, and the segments stay as they were signed. Where it is not, the packets are overwritten.
/// Both are written into the log of deletions first. Of segments that lie far, the keys are replaced there as
/// well; one with packets that are not sealed is brought back first. The record of the call stays in the
/// database. A call on hold is not forgotten.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Forget {
    /// Its Call-ID, or the id of its record
    #[arg(value_name = "CALL")]
    call: String,
    /// Directory of the database
    #[arg(long, value_name = "DIR")]
    store: PathBuf,
    /// Directory of the spool
    #[arg(long, value_name = "DIR")]
    spool: PathBuf,
    /// Its interception product, and nothing else of it; without this, everything else
    #[arg(long)]
    product: bool,
    /// For the log of deletions: who asked for it
    #[arg(long, value_name = "TEXT", default_value = "by hand")]
    why: String,
    /// Sign the log of deletions with this key: that of `[spool] sign`
    #[arg(long, value_name = "FILE")]
    sign: Option<PathBuf>,
    /// Yes, for good
    #[arg(long)]
    yes: bool,
}

const EXAMPLES: &str = "\
Examples:
  ringtap forget 4f2a19@192.0.2.1 --store /var/lib/ringtap/records --spool /var/lib/ringtap/spool \\
    --why 'request 2026-117' --sign /etc/ringtap/sign.pem --yes";

impl Forget {
    /// Runs it.
    pub(crate) fn run(self, screen: &mut Screen) -> anyhow::Result<Exit> {
        let store = ringtap_store::Reader::open(&self.store)?;
        let call = named_call(&self.store, &store, &self.call)?;
        let parts = call_part::parts(&call, &store.streams_of(&call.id)?);
        let signer = self.sign.as_deref().map(Signer::read).transpose()?.map(Arc::new);
        if signer.is_none() && self.is_signed() {
            let problem = "the spool is signed: give `--sign FILE`, the key of `[spool] sign`, \
                           or `ringtap verify` will call it damage";
            return Err(Misuse(problem.to_owned()).into());
        }
        if !self.yes {
            let streams = counted(parts.len() as u64 - 1, "stream");
            let call_id = ringtap_report::text::shown(&call.call_id).into_owned();
            return Err(Misuse(format!(
                "this makes the signalling and {streams} of `{call_id}` unreadable for good: add `--yes`"
            ))
            .into());
        }
        let deletions = DeletionLog::of(&self.spool, signer);
        let far = distant::of(&self.spool)?;
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let at = Nanos(u64::try_from(now.as_nanos()).unwrap_or(u64::MAX));
        let order = ForgetOrder { why: &self.why, at, product: self.product };
        let mut all = ForgetReport::default();
        for part in &parts {
            // To the end of the last microsecond that it may have: a key is forgotten as a whole, and RTCP
            // lies with its stream.
            let (from, to) = part.time_range();
            let done =
                forget(&[&self.spool], far.as_deref(), &[part.key], from..to + Nanos(1), &deletions, order)?;
            screen.remark(told(part, &done));
            all.chunks += done.chunks;
            all.keys += done.keys;
            all.already += done.already;
            all.missed += done.missed;
            all.fetched += done.fetched;
            all.versions += done.versions;
        }
        if all.fetched > 0 {
            let segments = counted(all.fetched, "segment");
            screen.remark(format!(
                "{segments} brought back from {}, to be overwritten here",
                place(far.as_deref())
            ));
        }
        if all.versions > 0 {
            screen.remark(format!(
                "{} keeps older versions: what was forgotten can be had from them \
                 until they are deleted there",
                place(far.as_deref())
            ));
        }
        if all.missed > 0 {
            let missed = counted(all.missed, "chunk");
            screen.remark(format!(
                "{missed} could not be reached: still on the way to the disk, or damaged; \
                 do it again in a minute"
            ));
            return Ok(Exit::Damaged);
        }
        if all.keys + all.chunks + all.already == 0 {
            bail!("nothing of the call is in `{}`: it was not kept, or is no longer", self.spool.display());
        }
        Ok(Exit::Done)
    }

    /// Whether somebody signs there: a chain has a head.
    fn is_signed(&self) -> bool {
        let files = std::fs::read_dir(&self.spool).into_iter().flatten().flatten();
        files.map(|file| file.path()).any(|path| path.extension().is_some_and(|kind| kind == "head"))
    }
}

fn place(far: Option<&dyn FarStorage>) -> String {
    far.map_or_else(|| "far".to_owned(), FarStorage::url)
}

fn told(part: &CallPart, done: &ForgetReport) -> String {
    let what = match (done.keys, done.chunks, done.already) {
        (0, 0, 0) => "nothing there".to_owned(),
        (0, 0, already) => format!("forgotten before: {}", counted(already, "piece")),
        (0, _, _) => format!("{} overwritten", counted(done.packets, "packet")),
        (keys, 0, _) => format!("{} forgotten", counted(keys, "key")),
        (keys, ..) => {
            format!("{} forgotten, {} overwritten", counted(keys, "key"), counted(done.packets, "packet"))
        }
    };
    format!("{}: {what}", part.name)
}
