//! `ringtap warrant verify-product`: proves that product in files is what the service wrote.

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use anyhow::Context;
use clap::Args;
use ringtap_intercept::{CheckedOrder, CheckedProduct, check_product};
use ringtap_report::text::{counted, shown};
use ringtap_warrant::PublicKey;

use super::register_args::RegisterArgs;
use super::shown::WRITING;
use crate::exit::Exit;
use crate::screen::Screen;

/// Check that files of product are as the service signed them, and that none is missing
///
/// Whoever has the files and the public key of the register can do it: an agency as well, without the
/// register. Each manifest names the one before; the newest one of a warrant is shown by `ringtap warrant
/// show`, as long as the service runs.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct VerifyProduct {
    /// Directory with the files
    directory: PathBuf,
    /// The public key that must have signed them: a file or 64 hex digits [default: `sign.pub` of the
    /// register]
    #[arg(long, value_name = "PUBLIC")]
    key: Option<String>,
}

const EXAMPLES: &str = "\
Examples:
  ringtap warrant verify-product /media/product --key sign.pub

One manifest by hand:
  head -n -1 LI-17-1795219200.manifest > text
  tail -n 1 LI-17-1795219200.manifest | cut -d ' ' -f 2 | xxd -r -p > signature
  openssl pkeyutl -verify -pubin -inkey sign.pub -rawin -in text -sigfile signature

Exit status: 0 done, 1 failed, 2 wrong usage, 3 not as it was signed.";

impl VerifyProduct {
    /// Runs it.
    pub(crate) fn run(self, args: &RegisterArgs, screen: &mut Screen) -> anyhow::Result<Exit> {
        let key = match self.key.as_deref() {
            Some(text) => text.parse().or_else(|_| PublicKey::read(Path::new(text)))?,
            None => {
                PublicKey::read(&args.dir().join("sign.pub")).context("name the public key by `--key`")?
            }
        };
        let shown = self.directory.display();
        let checked = check_product(&self.directory, &key)
            .with_context(|| format!("cannot read the directory `{shown}`"))?;
        print(&checked, &mut screen.out).context(WRITING)?;
        if !checked.unfinished.is_empty() {
            let files = counted(checked.unfinished.len() as u64, "set");
            screen.remark(format!(
                "{files} of files have no manifest: they are being written, or the service ended without \
                 finishing them, and signs them when it starts"
            ));
        }
        if checked.orders.is_empty() {
            screen.remark(format!(
                "there is no manifest in `{shown}`: is it the directory of `[intercept] product`?"
            ));
        }
        let is_sound = checked.orders.iter().all(|order| order.flaws.is_empty());
        Ok(if is_sound { Exit::Done } else { Exit::Damaged })
    }
}

fn print(checked: &CheckedProduct, out: &mut dyn Write) -> io::Result<()> {
    for CheckedOrder { order, first, head, files, octets, lost, recovered, flaws } in &checked.orders {
        let files = counted(*files, "file");
        writeln!(out, "{}: {files}, {octets} octets, as they were signed", shown(order))?;
        if let Some(head) = head {
            writeln!(out, "  manifests {first} to {head}")?;
        }
        if *first > 1 {
            writeln!(out, "  those before {first} are not here")?;
        }
        if *recovered > 0 {
            let times = counted(*recovered, "time");
            writeln!(out, "  {times}, the service ended without finishing files, and signed them later")?;
        }
        if *lost > 0 {
            writeln!(out, "  {lost} PDUs and frames had no room on the disk")?;
        }
        for flaw in flaws {
            writeln!(out, "  {}", shown(flaw))?;
        }
    }
    out.flush()
}
