//! The options of commands that read packets from a spool.

use std::path::{Path, PathBuf};

use clap::Args;
use ringtap_spool::{MasterKey, Reader, Segment};

use crate::distant;
use crate::keys::public_keys;
use crate::screen::Screen;
use ringtap_report::text::counted;

/// Where packets are, and what proves and opens them.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct SpoolArgs {
    /// Directory of the spool; repeat it for each further directory with its segments
    #[arg(long, value_name = "DIR")]
    pub(crate) spool: Vec<PathBuf>,
    /// A file with a key that the spool was sealed with, or with several, or a directory of such files; may
    /// be repeated
    #[arg(long, value_name = "FILE", requires = "spool")]
    key: Vec<PathBuf>,
    /// A public key: packets of segments that it did not sign are left out. A file or 64 hex digits; a
    /// file may hold several keys, a directory several files; may be repeated [default: the keys that signed
    /// the heads of the spool's chains]
    #[arg(long, value_name = "PUBLIC", requires = "spool")]
    signed_by: Vec<String>,
}

impl SpoolArgs {
    /// Opens the spool, and says whose segments are read if nobody said whose they should be.
    pub(crate) fn open(&self, screen: &mut Screen) -> anyhow::Result<Reader> {
        let spool = self.open_quietly()?;
        if self.signed_by.is_empty() && spool.head_signers().len() > 1 {
            let keys: Vec<String> = spool.head_signers().iter().map(ToString::to_string).collect();
            screen.remark(format!(
                "the heads of the spool's chains are signed by different keys, {}: say which are yours with \
                 `--signed-by`",
                keys.join(" and ")
            ));
        }
        Ok(spool)
    }

    /// Opens the spool.
    pub(crate) fn open_quietly(&self) -> anyhow::Result<Reader> {
        let mut dirs = self.spool.iter();
        let first = dirs.next().map_or(Path::new("."), PathBuf::as_path);
        let mut spool = Reader::open(first)?;
        if let Some(far) = distant::of(first)? {
            spool.far(far);
        }
        dirs.for_each(|dir| spool.add_dir(dir));
        if !self.key.is_empty() {
            ringtap_daemon::forbid_dumps();
        }
        for path in &self.key {
            MasterKey::read_all(path)?.into_iter().for_each(|key| spool.add_key(key));
        }
        if !self.signed_by.is_empty() {
            spool.trust(&public_keys(&self.signed_by)?)?;
        }
        Ok(spool)
    }

    /// The first directory, for sentences.
    pub(crate) fn name(&self) -> String {
        self.spool.first().map(|dir| dir.display().to_string()).unwrap_or_default()
    }
}

/// Says what was left out because nothing proves that the spool's writers wrote it, and what was read
/// although nothing proves it.
pub(crate) fn remark_unproven(spool: &Reader, screen: &mut Screen) {
    let segments: Vec<&str> = spool.foreign().map(Segment::as_str).collect();
    if let Some(first) = segments.first() {
        screen.remark(format!(
            "left out: {} without a seal by the spool's key, the first `{first}`; nothing proves who wrote \
             that. `ringtap verify` names all",
            counted(segments.len() as u64, "segment")
        ));
    }
    let segments: Vec<&str> = spool.unproven().map(Segment::as_str).collect();
    if let Some(first) = segments.first() {
        screen.remark(format!(
            "unproven: {} from before the spool was signed, the first `{first}`: nothing proves that their \
             packets are as they were captured",
            counted(segments.len() as u64, "segment")
        ));
    }
}
