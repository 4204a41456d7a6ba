//! `ringtap verify`: whether a spool is as it was written.

use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::Context;
use clap::Args;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use ringtap_report::summary::grouped;
use ringtap_report::text::{counted, shown};
use ringtap_spool::{FarStorage, KnownHead, PublicKey, VerifyOptions, VerifyReport};

use crate::distant;
use crate::exit::Exit;
use crate::interrupt;
use crate::screen::Screen;

/// Prove that a spool is as it was written: nothing changed, cut out, put in or reordered
///
/// Every segment is compared with its signed seal, and the seals with each other. What is not as it was
/// written is named, the oldest first, with its place where it can be found, and the exit status is 3. What
/// was deleted or forgotten by order is in the log of deletions and is no damage. Where segments are not
/// signed, checksums alone are looked at: they find what a disk does, not what a person does.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Verify {
    /// Directory of the spool; further ones that its segments have been moved to
    #[arg(value_name = "DIR", required = true)]
    dirs: Vec<PathBuf>,
    /// Who may have signed: a public key, as a file or as 64 hex digits. Without it, whoever signed most
    #[arg(long, value_name = "PUBLIC")]
    key: Vec<String>,
    /// The head of a chain that was noted elsewhere, as `verify` prints it (w0-m:17: and 64 hex digits), or a
    /// file in which such heads are, a log for example: the chain must still have that seal
    #[arg(long, value_name = "HEAD")]
    head: Vec<String>,
    /// Leave the segments unread: look at seals, indexes, keys and lengths
    #[arg(long)]
    quick: bool,
    /// Leave segments that lie far (S3) unread: of those, look at seals, indexes and keys, which are here
    #[arg(long)]
    near: bool,
}

const EXAMPLES: &str = "\
Examples:
  ringtap verify /var/lib/ringtap/spool --key /etc/ringtap/sign.pub
  ringtap verify --near /var/lib/ringtap/spool    # nothing is fetched
  ringtap verify /var/lib/ringtap/spool --head heads-of-last-month.txt
  ringtap verify --quick /var/lib/ringtap/spool || echo 'look at it'

A seal by hand, in the directory of its day:
  cut -f1 X.seal | tr -d '\\n' > text; cut -f2 X.seal | xxd -r -p > signature
  openssl pkeyutl -verify -pubin -inkey sign.pub -rawin -in text -sigfile signature
  sha256sum X.pcap X.idx

Exit status: 0 as it was written, 1 failed, 2 wrong usage, 3 not as it was written.";

impl Verify {
    /// Runs it.
    pub(crate) fn run(self, screen: &mut Screen) -> anyhow::Result<Exit> {
        let keys = self.key.iter().map(|key| public(key)).collect::<Result<Vec<_>, _>>()?;
        let dirs: Vec<&Path> = self.dirs.iter().map(PathBuf::as_path).collect();
        let far = distant::of(dirs.first().copied().unwrap_or(Path::new(".")))?;
        let heads = self.head.iter().map(|head| noted(head)).collect::<Result<Vec<_>, _>>()?.concat();
        let look = VerifyOptions { keys, heads, quick: self.quick, near: self.near, far };
        let bar = bar(screen);
        let verified = ringtap_spool::verify(&dirs, &look, &mut |done, total| {
            bar.set_length(total);
            bar.set_position(done);
            if interrupt::asked() {
                // It has changed nothing, and half an answer is none.
                bar.finish_and_clear();
                std::process::exit(Exit::Interrupted as i32);
            }
        })?;
        bar.finish_and_clear();
        self.print(&verified, look.far.as_deref(), screen).context("cannot write the results")?;
        if self.key.is_empty()
            && let Some(key) = verified.key
        {
            screen.remark(format!(
                "the key is that of the seals themselves: compare {key} with yours, or give `--key`"
            ));
        }
        if verified.left_out > 0 {
            let segments = counted(verified.left_out, "segment");
            screen.remark(format!(
                "{segments} that lie far were left unread: only what is known of them here was looked at"
            ));
        }
        if verified.unsigned > 0 {
            let segments = counted(verified.unsigned, "segment");
            screen.remark(format!(
                "{segments} without a seal: checksums tell what a disk does to them, not what a person \
                 does, nor what is missing; `[spool] sign` signs"
            ));
        }
        Ok(if verified.findings.is_empty() { Exit::Done } else { Exit::Damaged })
    }

    fn print(
        &self,
        verified: &VerifyReport,
        far_place: Option<&dyn FarStorage>,
        screen: &mut Screen,
    ) -> std::io::Result<()> {
        let out = &mut screen.out;
        let VerifyReport { findings, segments, bytes, proven, altered, unsigned, open, .. } = verified;
        for finding in findings.iter().take(SHOWN) {
            writeln!(out, "{}", shown(&finding.to_string()))?;
        }
        if findings.len() > SHOWN {
            writeln!(out, "... and {} more", grouped((findings.len() - SHOWN) as u64))?;
        }
        let read = match self.quick {
            true => ", not read".to_owned(),
            false => format!(", {:.1} MiB", *bytes as f64 / f64::from(1 << 20)),
        };
        writeln!(out, "{}{read}", counted(*segments, "segment"))?;
        if verified.far > 0 {
            let place = far_place.map_or_else(String::new, |far| format!(", in {}", far.url()));
            writeln!(out, "{} of them far{place}", grouped(verified.far))?;
        }
        let mut row = |count: u64, one: &str, many: &str| match count {
            0 => Ok(()),
            1 => writeln!(out, "  {:>8} {one}", 1),
            _ => writeln!(out, "  {:>8} {many}", grouped(count)),
        };
        let sealed = if self.quick {
            "sealed, and none missing between them"
        } else {
            "as sealed, and none missing between them"
        };
        row(*proven, sealed, sealed)?;
        let rest = "sealed, with chunks erased by order since: checksums alone tell of the rest";
        row(*altered, rest, rest)?;
        row(*unsigned, "without a seal", "without a seal")?;
        let written = [
            "not closed: still written, or its writer was stopped",
            "not closed: still written, or their writers were stopped",
        ];
        row(open.len() as u64, written[0], written[1])?;
        let later = "sealed by a later writer, since its own was stopped";
        row(verified.recovered, later, later)?;
        let copy = ("copy of held calls, as sealed", "copies of held calls, as sealed");
        row(verified.held_proven, copy.0, copy.1)?;
        row(verified.deleted, "deleted by order", "deleted by order")?;
        row(verified.forgotten, "key forgotten by order", "keys forgotten by order")?;
        row(verified.erased, "chunk erased by order", "chunks erased by order")?;
        row(findings.len() as u64, "finding, above", "findings, above, the oldest first")?;
        for head in &verified.heads {
            let (worker, category) = (head.worker, head.category);
            writeln!(out, "worker {worker}, {category}: seal {} of {}", head.number, head.segment)?;
            writeln!(out, "  head {}", head.noted())?;
        }
        out.flush()
    }
}

/// A head, or all heads in a file.
fn noted(text: &str) -> anyhow::Result<Vec<KnownHead>> {
    if let Ok(head) = text.parse() {
        return Ok(vec![head]);
    }
    let file = std::fs::read_to_string(text).with_context(|| {
        format!(
            "`--head {text}` is neither a head, such as w0-m:17: and 64 hex digits, nor a file to be read"
        )
    })?;
    let heads = KnownHead::all_in(&file);
    anyhow::ensure!(
        !heads.is_empty(),
        "`{text}` has no heads of chains: `ringtap verify` prints them, as w0-m:17: and 64 hex digits"
    );
    Ok(heads)
}

/// A file, or the key itself.
fn public(text: &str) -> anyhow::Result<PublicKey> {
    match text.parse() {
        Ok(key) => Ok(key),
        Err(_) => Ok(PublicKey::read(Path::new(text))?),
    }
}

fn bar(screen: &Screen) -> ProgressBar {
    if !screen.watched {
        return ProgressBar::hidden();
    }
    let bar = ProgressBar::with_draw_target(Some(0), ProgressDrawTarget::stderr_with_hz(5));
    let layout = "{msg} {bar:30} {bytes}/{total_bytes}, {eta} left";
    bar.set_style(ProgressStyle::with_template(layout).unwrap_or_else(|_| ProgressStyle::default_bar()));
    bar.set_message("reading");
    bar
}

/// Findings that are listed one by one.
const SHOWN: usize = 100;
