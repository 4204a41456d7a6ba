//! Faults that `verify` cannot notice: a lawful spool looks the same. The manual has this list.

use std::collections::BTreeSet;

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
        "log" if is_before_orders(sample, tree, name) => {
            Some("the spool is as it was before orders that are gone from the log: only a copy of it tells")
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

/// Whether the last lines of the log are gone, each segment that they name is as it was in one earlier state,
/// and nothing else is changed.
fn is_before_orders(sample: &Sample, tree: &Tree, log: &str) -> bool {
    let (Some(left), Some(all)) = (tree.read(log), sample.now.get(log)) else { return false };
    let Some(gone) = all.strip_prefix(&left[..]) else { return false };
    if gone.is_empty() || !(left.is_empty() || left.ends_with(b"\n")) {
        return false;
    }
    let lines = gone.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
    let Some(stems) = lines.map(stem_of).collect::<Option<BTreeSet<String>>>() else { return false };
    let is_undone = |stem: &String| {
        let names = FILES.map(|extension| format!("{stem}.{extension}"));
        names.iter().any(|name| tree.differs(name))
            && sample.before.iter().any(|before| {
                before.contains_key(&names[0])
                    && names.iter().all(|name| tree.read(name).as_ref() == before.get(name))
            })
    };
    let is_of_them =
        |name: &str| name == log || name.rsplit_once('.').is_some_and(|(stem, _)| stems.contains(stem));
    stems.iter().all(is_undone) && tree.changed().all(is_of_them)
}

/// The segment that a line of the log names, without extension.
fn stem_of(line: &[u8]) -> Option<String> {
    let text = std::str::from_utf8(line).ok()?;
    let name = text.split_once("\"segment\":\"")?.1.split_once('"')?.0;
    name.strip_suffix(".pcap").map(str::to_owned)
}

const FILES: [&str; 4] = ["pcap", "idx", "keys", "seal"];

/// The number of a seal.
fn number(seal: &[u8]) -> Option<u64> {
    let text = std::str::from_utf8(seal).ok()?;
    let rest = text.split_once("\"number\":")?.1;
    rest[..rest.find(|letter: char| !letter.is_ascii_digit())?].parse().ok()
}

/// A deletion by order, and what a pair of faults makes of it.
#[test]
fn orders_are_excused_only_if_undone_with_their_lines_and_nothing_else() {
    const LOG: &str = "deletions.log";
    let home = crate::scratch();
    let sample = Sample::write(home.path());
    let mut tree = Tree::new(&sample.now, home.path().join("tree"));
    let all: Vec<&[u8]> = sample.now[LOG].split_inclusive(|byte| *byte == b'\n').collect();
    let (last, earlier) = all.split_last().expect("an order");
    let deleted = stem_of(last).expect("a segment");
    let other = earlier.iter().rev().filter_map(|line| stem_of(line)).find(|stem| *stem != deleted);
    let other = other.expect("another segment");
    // Before segments were deleted, and after keys were forgotten.
    let before = &sample.before[1];
    assert!(!sample.now.contains_key(&format!("{deleted}.pcap")));
    let put_back = |tree: &mut Tree, stem: &str, extensions: &[&str]| {
        for extension in extensions {
            let name = format!("{stem}.{extension}");
            tree.write(&name, &before[&name]);
        }
    };
    let is_excused = |tree: &Tree| of(&sample, tree, &[LOG.to_owned()]).is_some();
    let is_found = |tree: &Tree| !crate::sample::look(tree.dir(), sample.heads.clone()).findings.is_empty();
    tree.write(LOG, &earlier.concat());
    assert!(is_found(&tree) && !is_excused(&tree), "the line alone is gone");
    put_back(&mut tree, &deleted, &FILES);
    assert!(!is_found(&tree) && is_excused(&tree), "the spool as it was before the order");
    put_back(&mut tree, &other, &FILES);
    assert!(!is_excused(&tree), "another segment is put back too");
    tree.restore();
    put_back(&mut tree, &deleted, &FILES);
    assert!(is_found(&tree) && !is_excused(&tree), "the segment alone is put back");
    tree.restore();
    for (what, stem, extensions, left) in [
        ("another segment", &other, &FILES[..], earlier.len()),
        ("the segment without its seal", &deleted, &FILES[..3], earlier.len()),
        ("the segment, and lines about others", &deleted, &FILES[..], earlier.len() - 2),
    ] {
        tree.write(LOG, &all[..left].concat());
        put_back(&mut tree, stem, extensions);
        assert!(is_found(&tree) && !is_excused(&tree), "{what}");
        tree.restore();
    }
    let whole = earlier.concat();
    tree.write(LOG, &whole[..whole.len() - 1]);
    put_back(&mut tree, &deleted, &FILES);
    assert!(!is_excused(&tree), "half a line is left");
}
