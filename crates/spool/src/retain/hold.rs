//! Holds: recordings that are kept beyond any limit, for a court or a complaint.
//!
//! A hold is a file in the spool, `holds/CASE/ID.json`, that names a call's owners and their times. It does
//! not keep whole segments: before a segment is deleted, the chunks of held calls are copied into a segment
//! of the same name in `held/`. So a hold costs what its call takes. Readers search `held/` as well. If
//! segments are signed, each copy has a seal of its own, in no chain.

use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};

use ringtap_model::Nanos;
use serde::{Deserialize, Serialize};

use crate::error::Error;
use crate::files::{create_anew, create_dir, remove_if_present};
use crate::retain::deletion_lock::{DeletionLock, HOLDS};
use crate::segment::key::of_call;

/// A call that is put on hold while it is under way began at most this long ago.
const LONGEST: Nanos = Nanos::from_secs(30 * 86_400);

/// A call that is held for a case.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Hold {
    /// The case: up to 64 letters, digits, `-`, `_` and `.`, with no `.` first.
    pub case: String,
    /// The id of the call's record.
    pub id: String,
    /// Its Call-ID.
    pub call_id: String,
    /// When it was put on hold, in nanoseconds since 1970, UTC.
    pub since: u64,
    /// The packets that are held: its signalling and its streams.
    pub parts: Vec<HeldRange>,
    /// It was under way at this packet time, in nanoseconds since 1970. Until the call has ended, only its
    /// signalling is held: the streams are not known yet.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pending: Option<u64>,
    /// Holds the call's interception product; otherwise its ordinary recording.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub product: bool,
}

/// Packets of an owner in a span of time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HeldRange {
    /// The owner's key.
    #[serde(with = "crate::hex::serde_u64")]
    pub owner: u64,
    /// In nanoseconds since 1970, UTC.
    pub from: u64,
    /// See `from`; this moment is included.
    pub to: u64,
}

impl Hold {
    /// Holds a call that is under way at the packet time `at`.
    pub fn of_call_under_way(case: &str, call_id: &str, at: Nanos, since: Nanos, product: bool) -> Self {
        let owner = of_call(call_id.as_bytes());
        Self {
            case: case.to_owned(),
            id: format!("under-way-{owner:016x}"),
            call_id: call_id.to_owned(),
            since: since.0,
            parts: vec![HeldRange { owner, from: at.0.saturating_sub(LONGEST.0), to: u64::MAX }],
            pending: Some(at.0),
            product,
        }
    }

    /// Replaces this hold by that of the call, which has ended.
    ///
    /// # Errors
    ///
    /// Those of [`save`](Self::save) and [`release`](crate::release).
    pub fn replace_with(&self, held: &Self, dir: &Path) -> Result<(), Error> {
        held.save(dir)?;
        let _lock = DeletionLock::wait(dir)?;
        let path = self.path(dir);
        remove_if_present(&path).map_err(|error| Error::io(&path, "deleted", error))
    }

    pub(crate) fn path(&self, dir: &Path) -> PathBuf {
        let product = if self.product { ".product" } else { "" };
        dir.join(HOLDS).join(&self.case).join(format!("{}{product}.json", self.id))
    }

    /// Sets the hold: it is on the disk once this has returned, and a running ringtap sees it before its next
    /// deletion.
    ///
    /// # Errors
    ///
    /// The case or the id cannot name a file, or the file cannot be written.
    pub fn save(&self, dir: &Path) -> Result<(), Error> {
        for name in [&self.case, &self.id] {
            if !is_name(name) {
                return Err(Error::Name { name: name.clone() });
            }
        }
        let _lock = DeletionLock::wait(dir)?;
        let path = self.path(dir);
        let write = || {
            let case = path.parent().unwrap_or(dir);
            create_dir(case)?;
            let fresh = path.with_extension("part");
            // Serialising numbers and texts cannot fail.
            let mut file = create_anew(&fresh)?;
            file.write_all(&serde_json::to_vec_pretty(self).unwrap_or_default())?;
            file.sync_all()?;
            fs::rename(&fresh, &path)?;
            File::open(case)?.sync_all()
        };
        write().map_err(|error| Error::io(&path, "written", error))
    }
}

/// Whether a file may have that name: up to 64 letters, digits, `-`, `_` and `.`, with no `.` first.
fn is_name(name: &str) -> bool {
    let known = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
    (1..=64).contains(&name.len()) && !name.starts_with('.') && name.bytes().all(known)
}
