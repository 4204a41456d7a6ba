//! `ringtap verify`: checks that a spool is as it was written.

use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::Context;
use clap::Args;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use ringtap_report::text::grouped;
use ringtap_report::text::{counted, shown};
use ringtap_spool::{FarStorage, KnownHead, VerifyOptions, VerifyReport};

use crate::distant;
use crate::exit::Exit;
use crate::interrupt;
use crate::keys::public_keys;
use crate::screen::Screen;

/// Prove that a spool is as it was written: nothing changed, removed, inserted or reordered
///
/// Compares every segment with its signed seal, and the seals with each other. Every difference is listed,
/// the oldest first and with its offset if that is known, and the exit status is 3. Packets that were deleted
/// or forgotten on purpose are in the deletion log and are not damage. Segments without a signature are only
/// compared with their checksums, which reveal disk errors but not manipulation.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Verify {
    /// Directory of the spool, and further directories that its segments were moved to
    #[arg(value_name = "DIR", required = true)]
    dirs: Vec<PathBuf>,
    /// A public key whose signatures are accepted: a file or 64 hex digits; a file may hold several keys, a
    /// directory several files; may be repeated [default: the key that signed most segments]
    #[arg(long, value_name = "PUBLIC")]
    key: Vec<String>,
    /// The head of a chain that was noted elsewhere, as `verify` prints it (w0-m:17: and 64 hex digits), or a
    /// file in which such heads are, a log for example: the chain must still have that seal
    #[arg(long, value_name = "HEAD")]
    head: Vec<String>,
    /// Check only seals, indexes, keys and lengths, without reading the segments
    #[arg(long)]
    quick: bool,
    /// Do not fetch segments from the bucket (S3): check only their local seals, indexes and keys
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
  b3sum X.pcap; sha256sum X.idx

Exit status: 0 as it was written, 1 failed, 2 wrong usage, 3 not as it was written.";

impl Verify {
    /// Runs it.
    pub(crate) fn run(self, screen: &mut Screen) -> anyhow::Result<Exit> {
        let keys = public_keys(&self.key)?;
        let dirs: Vec<&Path> = self.dirs.iter().map(PathBuf::as_path).collect();
        let far = distant::of(dirs.first().copied().unwrap_or(Path::new(".")))?;
        let heads = self.head.iter().map(|head| noted(head)).collect::<Result<Vec<_>, _>>()?.concat();
        let look = VerifyOptions { keys, heads, quick: self.quick, near: self.near, far };
        let bar = bar(screen);
        let verified = ringtap_spool::verify(&dirs, &look, &mut |done, total| {
            bar.set_length(total);
            bar.set_position(done);
            if interrupt::asked() {
                // Nothing was changed, and a partial result would be misleading.
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
                "the seals were checked with the key that they name: compare {key} with yours, or add `--key`"
            ));
        }
        if verified.left_out > 0 {
            let segments = counted(verified.left_out, "segment");
            screen.remark(format!(
"{segments} in the bucket were not read: only their local seals, indexes and keys were checked"
            ));
        }
        if verified.unsigned > 0 {
            let segments = counted(verified.unsigned, "segment");
            screen.remark(format!(
                "{segments} without a seal: checksums reveal disk errors, but neither manipulation nor \
                 missing segments; set `[spool] sign` to sign"
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
            let place = far_place.map_or_else(String::new, |far| format!(" {}", far.url()));
            writeln!(out, "{} of them in the bucket{place}", grouped(verified.far))?;
        }
        let mut row = |count: u64, one: &str, many: &str| match count {
            0 => Ok(()),
            1 => writeln!(out, "  {:>8} {one}", 1),
            _ => writeln!(out, "  {:>8} {many}", grouped(count)),
        };
        let sealed =
            if self.quick { "sealed, none missing in between" } else { "as sealed, none missing in between" };
        row(*proven, sealed, sealed)?;
        let rest = "sealed, some chunks erased by order since: the rest was checked by checksums only";
        row(*altered, rest, rest)?;
        row(*unsigned, "without a seal", "without a seal")?;
        let written = [
            "not closed: still being written, or its writer was stopped",
            "not closed: still being written, or their writers were stopped",
        ];
        row(open.len() as u64, written[0], written[1])?;
        let later = "sealed by a later writer, because its own was stopped";
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

/// Most findings that are listed one by one.
const SHOWN: usize = 100;
