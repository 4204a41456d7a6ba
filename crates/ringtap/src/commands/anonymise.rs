//! `ringtap anonymise`: writes captures without personal data.

use std::path::PathBuf;

use anyhow::{Context, bail};
use clap::Args;
use ringtap_capture::OwnedFrames;
use ringtap_export::anonymous::Anonymous;
use ringtap_model::Frame;
use ringtap_report::file::Target;
use ringtap_report::text::counted;
use ringtap_report::text::grouped;

use crate::anonymous::Naming;
use crate::engine_config::engine_config;
use crate::exit::{Exit, Interrupted, Misuse};
use crate::files;
use crate::input::{BATCH, Input, InputFiles};
use crate::interrupt;
use crate::screen::Screen;

/// Write a capture without personal data: the same calls with other numbers, names, hosts and addresses
///
/// Each SIP message and each packet of a confirmed stream is written to a frame of its own, with correct
/// checksums, at its time; everything else is left out. A number is replaced by the same number everywhere,
/// numbers and networks with a common prefix keep a common prefix, and `ringtap analyze` finds the same calls
/// with the same figures. Use it for a bug report, a vendor or a test.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Anonymise {
    #[command(flatten)]
    input: InputFiles,
    /// Write the new capture to this file, as pcap
    #[arg(long, value_name = "OUT")]
    out: PathBuf,
    /// Overwrite an existing file
    #[arg(long)]
    force: bool,
    #[command(flatten)]
    how: Naming,
}

const EXAMPLES: &str = "\
Examples:
  ringtap anonymise trunk.pcap --out for-the-vendor.pcap
  ringtap anonymise monday.pcap --out m.pcap --anonymise-key ~/names.key && \
ringtap anonymise tuesday.pcap --out t.pcap --anonymise-key ~/names.key";

impl Anonymise {
    /// Runs it.
    pub(crate) fn run(self, screen: &mut Screen) -> anyhow::Result<Exit> {
        if self.out.is_file() && !self.force {
            bail!(Misuse(format!(
                "`{}` already exists: name another file, or add `--force`",
                self.out.display()
            )));
        }
        let mut mask = self.how.mask()?;
        let target = Target::create(&self.out)?;
        let input = Input::open(&self.input.files, self.input.unpacking)?;
        let mut source = input.frames();
        let mut all = OwnedFrames::default();
        loop {
            let batch = source.batch(BATCH);
            if batch.is_empty() {
                break;
            }
            all.extend(batch);
            if interrupt::asked() {
                bail!(Interrupted);
            }
        }
        let frames: Vec<Frame<'_>> = all.iter().collect();
        let anonymous = Anonymous::of(&frames, &mut mask, self.how.keep_voice, &engine_config());
        let own = anonymous.frames();
        if own.is_empty() {
            bail!("cannot anonymise the input: it has neither a SIP message nor a stream");
        }
        let path = target.path().display().to_string();
        files::frames(&own, target).with_context(|| format!("cannot write {path}"))?;
        let (before, after) = (frames.len() as u64, own.len() as u64);
        screen.remark(format!("{path}: {} packets of {}", grouped(after), grouped(before)));
        if anonymous.left_out > 0 {
            screen.remark(format!(
                "{} left out, too long for a datagram",
                counted(anonymous.left_out, "packet")
            ));
        }
        let damages = source.damages();
        for (index, damage) in &damages {
            let name =
                self.input.files.get(*index).map(|file| file.display().to_string()).unwrap_or_default();
            screen.remark(format!(
                "`{name}` is damaged: {damage}; everything before it was read, nothing after it"
            ));
        }
        Ok(if damages.is_empty() && anonymous.left_out == 0 { Exit::Done } else { Exit::Damaged })
    }
}
