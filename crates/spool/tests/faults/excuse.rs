//! Faults that `verify` cannot notice: a lawful spool looks the same. The manual has this list.

use crate::sample::Sample;
use crate::tree::Tree;

/// Why none of these files need be named after a fault.
pub(crate) fn of(sample: &Sample, tree: &Tree, names: &[String]) -> Option<&'static str> {
    let names = names.iter().filter(|name| tree.differs(name));
    let reasons: Vec<_> = names.map(|name| of_file(sample, tree, name)).collect();
    if reasons.iter().all(Option::is_some) { reasons.into_iter().next()? } else { None }
}

fn of_file(sample: &Sample, tree: &Tree, name: &str) -> Option<&'static str> {
    let (stem, extension) = name.rsplit_once('.')?;
    let is_there = |extension: &str| tree.read(&format!("{stem}.{extension}")).is_some();
    let was_there = |extension: &str| sample.now.contains_key(&format!("{stem}.{extension}"));
    let was_deleted = sample.before.iter().any(|before| before.contains_key(&format!("{stem}.pcap")));
    match extension {
        _ if stem.starts_with("held/") && was_there("pcap") && !FILES.iter().any(|file| is_there(file)) => {
            Some("a held copy is removed, with all its files")
        }
        "idx" | "keys" | "seal" if was_deleted && !was_there("pcap") && !is_there("pcap") => {
            Some("files beside a segment that was deleted by order are put back, without the segment")
        }
        _ if was_before(sample, tree, name) && lacks_a_line(sample, tree) => {
            Some("something is put back, and the order to delete it is gone from the log, which is named")
        }
        "log" => {
            let (now, before) = (tree.read(name)?, sample.now.get(name)?);
            let rest = now.strip_prefix(&before[..])?;
            // A page that was not written is zeros, and ends what is read.
            (!rest.contains(&b'\n') || rest.starts_with(&[0]))
                .then_some("an incomplete line follows the last one of the log: a power cut leaves this too")
        }
        "head" => {
            let older = tree.read(name)?;
            let now = sample.now.get(name)?;
            (number(&older)? + 1 == number(now)?)
                .then_some("a head is one seal old, and the newest seal is there: a kill leaves this too")
        }
        _ => None,
    }
}

/// Whether the file is as it was in an earlier state.
fn was_before(sample: &Sample, tree: &Tree, name: &str) -> bool {
    let now = tree.read(name);
    now.is_some() && sample.before.iter().any(|before| before.get(name) == now.as_ref())
}

/// Whether a line of the log of deletions is not there any more.
fn lacks_a_line(sample: &Sample, tree: &Tree) -> bool {
    const LOG: &str = "deletions.log";
    let now = tree.read(LOG).unwrap_or_default();
    let lines = |bytes: &[u8]| bytes.split(|byte| *byte == b'\n').map(<[u8]>::to_vec).collect::<Vec<_>>();
    let left = lines(&now);
    sample.now.get(LOG).is_some_and(|before| lines(before).iter().any(|line| !left.contains(line)))
}

const FILES: [&str; 4] = ["pcap", "idx", "keys", "seal"];

/// The number of a seal.
fn number(seal: &[u8]) -> Option<u64> {
    let text = std::str::from_utf8(seal).ok()?;
    let rest = text.split_once("\"number\":")?.1;
    rest[..rest.find(|letter: char| !letter.is_ascii_digit())?].parse().ok()
}
