//! `ringtap forget`: makes the packets of a call unreadable for good.

use std::fs::{File, TryLockError};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::bail;
use clap::Args;
use ringtap_export::call_part::{self, CallPart};
use ringtap_export::find::{candidate, named_call};
use ringtap_model::{Call, CallState, Nanos};
use ringtap_report::text::counted;
use ringtap_spool::{DeletionLog, FarStorage, ForgetOrder, ForgetReport, Signer, forget};

use crate::distant;
use crate::exit::{Exit, Misuse};
use crate::screen::Screen;
use crate::store_args;

/// Make the recorded packets of a call unreadable for good
///
/// In a sealed spool, the keys of the call's signalling and streams are overwritten: nobody can read the
/// packets any more, and the segments stay as they were signed. Otherwise the packets are overwritten. Both
/// are first entered in the deletion log. For segments in a bucket, the keys are replaced there as well; a
/// segment with unsealed packets is fetched first. The record of the call stays in the database. A call on
/// hold cannot be forgotten.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Forget {
    /// Call-ID of the call, a beginning that no other call of the database has, or the id of its record
    #[arg(value_name = "CALL")]
    call: String,
    /// Directory of the database
    #[arg(long, value_name = "DIR")]
    store: PathBuf,
    /// Directory of the spool
    #[arg(long, value_name = "DIR")]
    spool: PathBuf,
    /// Forget its interception product and nothing else; without this option, everything else
    #[arg(long)]
    product: bool,
    /// Reason for the deletion log, such as the number of the request
    #[arg(long, value_name = "TEXT", default_value = "by hand")]
    why: String,
    /// Sign the deletion log with this key, the one of `[spool] sign`
    #[arg(long, value_name = "FILE")]
    sign: Option<PathBuf>,
    /// Confirm that the packets may be made unreadable
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
        if self.sign.is_some() {
            ringtap_daemon::forbid_dumps();
        }
        let signer = self.sign.as_deref().map(Signer::read).transpose()?.map(Arc::new);
        let far = distant::of_owner(&self.spool)?;
        let store = store_args::open(&self.store)?;
        let call = named_call(&self.store, &store, &self.call)?;
        let parts = call_part::parts(&call, &store.streams_of(&call.id)?);
        if signer.is_none() && self.is_signed() {
            let problem = "the spool is signed: add `--sign FILE` with the key of `[spool] sign`, \
                           otherwise `ringtap verify` would report damage";
            return Err(Misuse(problem.to_owned()).into());
        }
        if !self.yes {
            let streams = counted(parts.len() as u64 - 1, "stream");
            return Err(Misuse(format!(
                "this makes the signalling and {streams} of a call unreadable for good: add `--yes`; the \
                 call is {}",
                candidate(&call)
            ))
            .into());
        }
        screen.remark(format!("forgetting {}", candidate(&call)));
        let deletions = DeletionLog::of(&self.spool, signer);
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let at = Nanos(u64::try_from(now.as_nanos()).unwrap_or(u64::MAX));
        let order = ForgetOrder { why: &self.why, at, product: self.product };
        let mut all = ForgetReport::default();
        for part in &parts {
            // Up to the end of its last microsecond: a key is forgotten as a whole, and RTCP is recorded with
            // its stream.
            let (from, to) = part.time_range();
            let done =
                forget(&[&self.spool], far.as_deref(), &[part.key], from..to + Nanos(1), &deletions, order)?;
            screen.remark(outcome(part, &done));
            all.chunks += done.chunks;
            all.keys += done.keys;
            all.already += done.already;
            all.missed += done.missed;
            all.fetched += done.fetched;
            all.versions += done.versions;
        }
        remark_far(&all, far.as_deref(), screen);
        if all.missed > 0 {
            let missed = counted(all.missed, "chunk");
            screen.remark(format!(
                "{missed} could not be forgotten: not yet written to disk, or damaged; \
                 repeat this in a minute"
            ));
            return Ok(Exit::Damaged);
        }
        if is_in_progress(&call) && self.is_written_to() {
            screen.remark(format!(
                "the call is still in progress, as far as its record tells, and a daemon writes to `{}`: \
                 what it has recorded of the call since its start can be read; repeat this when the call has \
                 ended",
                self.spool.display()
            ));
            return Ok(Exit::Damaged);
        }
        if all.keys + all.chunks + all.already == 0 {
            bail!(
                "`{}` has no packets of the call: it was not recorded, or its packets were deleted",
                self.spool.display()
            );
        }
        Ok(Exit::Done)
    }

    /// Whether a daemon runs that records into the spool.
    fn is_written_to(&self) -> bool {
        let lock = File::open(self.spool.join("lock"));
        lock.is_ok_and(|lock| matches!(lock.try_lock_shared(), Err(TryLockError::WouldBlock)))
    }

    /// Whether the spool is signed: a chain of seals has a head.
    fn is_signed(&self) -> bool {
        let files = std::fs::read_dir(&self.spool).into_iter().flatten().flatten();
        files.map(|file| file.path()).any(|path| path.extension().is_some_and(|kind| kind == "head"))
    }
}

/// Whether the call may go on, as far as its record tells: in the daemon's next run, or because media come
/// back after a silence that was taken for its end.
fn is_in_progress(call: &Call) -> bool {
    match call.state {
        CallState::Active | CallState::Ringing | CallState::Trying => true,
        CallState::Timeout => {
            let followed = ringtap_engine::Config::default().idle_limit;
            call.end.is_some_and(|end| ringtap_report::time::now() < end + followed)
        }
        _ => false,
    }
}

/// Says what this means for segments in a bucket.
fn remark_far(all: &ForgetReport, far: Option<&dyn FarStorage>, screen: &mut Screen) {
    if all.fetched > 0 {
        let segments = counted(all.fetched, "segment");
        screen.remark(format!("{segments} fetched from {}, to be overwritten here", bucket_name(far)));
    }
    if all.versions > 0 {
        screen.remark(format!(
            "{} keeps older versions: forgotten packets can be read from them \
             until they are deleted there",
            bucket_name(far)
        ));
    }
}

fn bucket_name(far: Option<&dyn FarStorage>) -> String {
    far.map_or_else(|| "the bucket".to_owned(), FarStorage::url)
}

fn outcome(part: &CallPart, done: &ForgetReport) -> String {
    let what = match (done.keys, done.chunks, done.already) {
        (0, 0, 0) => "no packets".to_owned(),
        (0, 0, already) => format!("already forgotten: {}", counted(already, "chunk")),
        (0, _, _) => format!("{} overwritten", counted(done.packets, "packet")),
        (keys, 0, _) => format!("{} forgotten", counted(keys, "key")),
        (keys, ..) => {
            format!("{} forgotten, {} overwritten", counted(keys, "key"), counted(done.packets, "packet"))
        }
    };
    format!("{}: {what}", part.name)
}
