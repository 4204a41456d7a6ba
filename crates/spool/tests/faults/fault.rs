//! Faults: what may happen to the files of a spool, by accident or on purpose.

use ringtap_spool::{Fault as Found, Finding};

use crate::dice::Dice;
use crate::excuse;
use crate::forge::{self, Edit};
use crate::sample::Sample;
use crate::tree::{Files, Tree};

/// The files of a segment.
const FILES: [&str; 4] = ["pcap", "idx", "keys", "seal"];

/// The kind of fault that replaces files by those of another spool with the same keys.
pub(crate) const SISTER: &str = "insert from a spool of the same keys";
/// See `SISTER`.
pub(crate) const ROLL_BACK: &str = "put the spool or a chain back to an earlier state";

/// A fault that was carried out.
pub(crate) struct Fault {
    pub(crate) kind: &'static str,
    pub(crate) text: String,
    /// The files that it concerns.
    names: Vec<String>,
    /// Where in the first of them: bytes, and lines from 1.
    at: Option<Spot>,
}

#[derive(Clone, Copy)]
struct Spot {
    from: u64,
    to: u64,
    lines: (usize, usize),
}

/// Draws faults for a spool.
pub(crate) struct Generator<'a> {
    sample: &'a Sample,
    /// Files that faults happen to.
    names: Vec<String>,
    /// Segments, without extension.
    stems: Vec<String>,
}

impl<'a> Generator<'a> {
    pub(crate) fn new(sample: &'a Sample) -> Self {
        let names: Vec<String> = sample.now.keys().filter(|name| is_covered(name)).cloned().collect();
        let stems = names.iter().filter_map(|name| name.strip_suffix(".pcap")).map(str::to_owned).collect();
        Self { sample, names, stems }
    }

    /// Carries out a fault; None if it would change nothing, or is not possible.
    pub(crate) fn draw(&self, dice: &mut Dice, tree: &mut Tree) -> Option<Fault> {
        match dice.below(20) {
            0..8 => self.edit(dice, tree),
            8 => self.remove(dice, tree),
            9 => self.swap(dice, tree),
            10 => self.substitute(dice, tree),
            11 => self.irregular(dice, tree),
            12 => self.rename(dice, tree, false),
            13 => self.rename(dice, tree, true),
            14 => self.replay(dice, tree),
            15 => self.foreign(dice, tree),
            16 => self.lines(dice, tree),
            17 => self.swap_parts(dice, tree),
            18 => self.cut_out(dice, tree),
            _ => self.roll_back(dice, tree),
        }
    }

    fn name(&self, dice: &mut Dice) -> &str {
        &self.names[dice.below(self.names.len())]
    }

    /// Changes bytes of a file in place.
    fn edit(&self, dice: &mut Dice, tree: &mut Tree) -> Option<Fault> {
        let name = self.name(dice);
        let old = tree.read(name)?;
        let Edit { kind, bytes: new, from, to } = forge::edit(dice, name, &old)?;
        let at = Some(spot(&old, from, to));
        tree.write(name, &new);
        Some(Fault { kind, text: format!("{name} at {from} to {to}"), names: vec![name.to_owned()], at })
    }

    fn remove(&self, dice: &mut Dice, tree: &mut Tree) -> Option<Fault> {
        let name = self.name(dice);
        tree.read(name)?;
        tree.remove(name);
        Some(Fault::of("remove a file", vec![name.to_owned()], ""))
    }

    /// Swaps files of two segments.
    fn swap(&self, dice: &mut Dice, tree: &mut Tree) -> Option<Fault> {
        let (a, b) = (dice.choose(&self.stems)?, dice.choose(&self.stems)?);
        let mut names = Vec::new();
        for extension in some_files(dice) {
            let (a, b) = (format!("{a}.{extension}"), format!("{b}.{extension}"));
            let (Some(first), Some(second)) = (tree.read(&a), tree.read(&b)) else { continue };
            if first != second {
                tree.write(&a, &second);
                tree.write(&b, &first);
                names.extend([a, b]);
            }
        }
        Fault::of_some("swap files", names)
    }

    /// Replaces files of a segment by those of another.
    fn substitute(&self, dice: &mut Dice, tree: &mut Tree) -> Option<Fault> {
        let (to, from) = (dice.choose(&self.stems)?, dice.choose(&self.stems)?);
        let mut names = Vec::new();
        for extension in some_files(dice) {
            let (to, from) = (format!("{to}.{extension}"), format!("{from}.{extension}"));
            let (Some(old), Some(new)) = (tree.read(&to), tree.read(&from)) else { continue };
            if old != new {
                tree.write(&to, &new);
                names.push(to);
            }
        }
        Fault::of_some("replace files by another segment's", names)
    }

    fn irregular(&self, dice: &mut Dice, tree: &mut Tree) -> Option<Fault> {
        let name = self.name(dice);
        // A pipe is made by another program: rarely.
        let kind = if dice.one_in(20) { 2 } else { dice.below(2) };
        tree.put_irregular(name, kind);
        let what = ["a directory", "a link", "a pipe"][kind];
        Some(Fault::of("put a directory, link or pipe in its place", vec![name.to_owned()], what))
    }

    /// Gives files of a segment another name, or adds them under it.
    fn rename(&self, dice: &mut Dice, tree: &mut Tree, stays: bool) -> Option<Fault> {
        let from = dice.choose(&self.stems)?;
        let to = forge::other_name(dice, from);
        let mut names = Vec::new();
        for extension in some_files(dice) {
            let (from, to) = (format!("{from}.{extension}"), format!("{to}.{extension}"));
            let Some(bytes) = tree.read(&from) else { continue };
            if tree.read(&to).is_some() {
                continue;
            }
            tree.write(&to, &bytes);
            names.push(to);
            if !stays {
                tree.remove(&from);
                names.push(from);
            }
        }
        Fault::of_some(if stays { "insert a copy under another name" } else { "rename" }, names)
    }

    /// Puts older versions of some files back, or files that were deleted.
    fn replay(&self, dice: &mut Dice, tree: &mut Tree) -> Option<Fault> {
        let before = dice.choose(&self.sample.before)?;
        let mut names = Vec::new();
        if dice.one_in(2) {
            // Of one segment or chain.
            let name = dice.choose(&before.keys().collect::<Vec<_>>())?.to_string();
            let stem = name.rsplit_once('.')?.0;
            for extension in some_files(dice).chain(["head", "open"]) {
                put(&format!("{stem}.{extension}"), before, tree, &mut names);
            }
        } else {
            for name in before.keys().filter(|_| dice.one_in(4)) {
                put(name, before, tree, &mut names);
            }
        }
        Fault::of_some("replay an older version", names)
    }

    /// Puts files of other spools in: of other keys, or of the same keys.
    fn foreign(&self, dice: &mut Dice, tree: &mut Tree) -> Option<Fault> {
        let is_sister = dice.one_in(2);
        let other = if is_sister { &self.sample.sister } else { &self.sample.foreign };
        let mut names = Vec::new();
        let name = dice.choose(&other.keys().collect::<Vec<_>>())?.to_string();
        let stem = name.rsplit_once('.')?.0;
        match dice.below(3) {
            0 => put(&name, other, tree, &mut names),
            1 => some_files(dice).for_each(|extension| {
                put(&format!("{stem}.{extension}"), other, tree, &mut names);
            }),
            _ => {
                let to = forge::other_name(dice, stem);
                for extension in some_files(dice) {
                    if let Some(bytes) = other.get(&format!("{stem}.{extension}")) {
                        let to = format!("{to}.{extension}");
                        if tree.read(&to).as_ref() != Some(bytes) {
                            tree.write(&to, bytes);
                            names.push(to);
                        }
                    }
                }
            }
        }
        let kind = if is_sister { SISTER } else { "insert from foreign keys" };
        Fault::of_some(kind, names)
    }

    /// Removes, repeats or reorders lines of the log of deletions.
    fn lines(&self, dice: &mut Dice, tree: &mut Tree) -> Option<Fault> {
        let old = tree.read("deletions.log")?;
        let (new, lines, what) = forge::lines(dice, &old)?;
        tree.write("deletions.log", &new);
        let mut fault = Fault::of("cut, swap or repeat lines of the log", vec!["deletions.log".into()], what);
        fault.at = Some(Spot { from: 0, to: 0, lines });
        Some(fault)
    }

    /// Swaps chunks, or rows of keys, within a file or between two.
    fn swap_parts(&self, dice: &mut Dice, tree: &mut Tree) -> Option<Fault> {
        let (a, b) = (dice.choose(&self.stems)?, dice.choose(&self.stems)?);
        let extension = ["pcap", "keys"][dice.below(2)];
        let (a, b) = (format!("{a}.{extension}"), format!("{b}.{extension}"));
        let (old_a, old_b) = (tree.read(&a)?, tree.read(&b)?);
        let (new_a, new_b, at) = forge::swap_parts(dice, extension, &a, &old_a, &b, &old_b)?;
        let spot = spot(&old_a, at.0, at.1);
        tree.write(&b, &new_b);
        tree.write(&a, &new_a);
        let names = if a == b { vec![a] } else { vec![a, b] };
        let mut fault = Fault::of("swap chunks or keys", names, "");
        fault.at = Some(spot);
        Some(fault)
    }

    /// Removes whole segments, one or several in a row.
    fn cut_out(&self, dice: &mut Dice, tree: &mut Tree) -> Option<Fault> {
        let first = dice.below(self.stems.len());
        let count = 1 + if dice.one_in(3) { dice.below(self.stems.len() - first) } else { 0 };
        let mut names = Vec::new();
        for stem in &self.stems[first..first + count] {
            for extension in FILES {
                let name = format!("{stem}.{extension}");
                if tree.read(&name).is_some() {
                    tree.remove(&name);
                    names.push(name);
                }
            }
        }
        Fault::of_some("remove segments", names)
    }

    /// Puts the whole spool, or one chain, back to an earlier state.
    fn roll_back(&self, dice: &mut Dice, tree: &mut Tree) -> Option<Fault> {
        let before = dice.choose(&self.sample.before)?;
        let chain = ["", "w0-m", "w0-s"][dice.below(3)];
        let mut names: Vec<String> =
            tree.names().filter(|name| name.contains(chain)).map(str::to_owned).collect();
        let old = before.keys().filter(|name| name.contains(chain)).cloned();
        names.extend(old.filter(|name| !self.sample.now.contains_key(name)));
        names.retain(|name| is_covered(name) && tree.read(name).as_ref() != before.get(name));
        for name in &names {
            match before.get(name) {
                Some(bytes) => tree.write(name, bytes),
                None => tree.remove(name),
            }
        }
        Fault::of_some(ROLL_BACK, names)
    }
}

fn put(name: &str, from: &Files, tree: &mut Tree, names: &mut Vec<String>) {
    let Some(bytes) = from.get(name).filter(|_| is_covered(name)) else { return };
    if tree.read(name).as_ref() != Some(bytes) {
        tree.write(name, bytes);
        names.push(name.to_owned());
    }
}

/// Some of a segment's files: in half of all cases all of them.
fn some_files(dice: &mut Dice) -> impl Iterator<Item = &'static str> + use<> {
    let mask = if dice.one_in(2) { 15 } else { 1 + dice.below(15) };
    FILES.into_iter().zip(0..).filter(move |(_, place)| mask >> place & 1 == 1).map(|(name, _)| name)
}

/// Files without evidence: space that was put aside, and what is locked.
fn is_covered(name: &str) -> bool {
    !matches!(name, "reserve" | "lock") && !name.starts_with("holds/")
}

fn spot(old: &[u8], from: usize, to: usize) -> Spot {
    let line = |at: usize| 1 + old[..at.min(old.len())].iter().filter(|byte| **byte == b'\n').count();
    Spot { from: from as u64, to: to as u64, lines: (line(from), line(to)) }
}

impl Fault {
    fn of(kind: &'static str, names: Vec<String>, what: &str) -> Self {
        let shown: Vec<&str> = names.iter().take(6).map(String::as_str).collect();
        let text = format!("{} files: {} {what}", names.len(), shown.join(" "));
        Self { kind, text, names, at: None }
    }

    fn of_some(kind: &'static str, names: Vec<String>) -> Option<Self> {
        (!names.is_empty()).then(|| Self::of(kind, names, ""))
    }

    /// Why it may pass.
    pub(crate) fn excuse(&self, sample: &Sample, tree: &Tree) -> Option<&'static str> {
        excuse::of(sample, tree, &self.names)
    }

    /// Whether a second fault has undone it.
    pub(crate) fn is_undone(&self, tree: &Tree) -> bool {
        !self.names.iter().any(|name| tree.differs(name))
    }

    /// How closely a finding names this fault.
    pub(crate) fn naming(&self, finding: &Finding) -> crate::check::Naming {
        use crate::check::Naming;
        let naming = |(place, name): (usize, &String)| {
            let own = place_of(name);
            if own == finding.place {
                let at = self.at.filter(|_| place == 0);
                return if at.is_some_and(|at| at.is_near(&finding.fault)) {
                    Naming::Offset
                } else {
                    Naming::File
                };
            }
            let is_neighbour = own == "deletions.log" || chain_of(&own) == chain_of(&finding.place);
            if is_neighbour { Naming::Neighbour } else { Naming::Missed }
        };
        self.names.iter().enumerate().map(naming).max().unwrap_or(Naming::Missed)
    }
}

impl Spot {
    fn is_near(&self, fault: &Found) -> bool {
        let overlaps = |from: u64, length: u64| from <= self.to && self.from < from + length;
        match fault {
            // A chunk of the sample is shorter than this.
            Found::Changed(damage) => overlaps(damage.offset, 4_096),
            Found::Length { found, .. } => self.from <= *found && *found <= self.to,
            Found::Erased(at) | Found::Restored(at) => overlaps(*at, 4_096),
            Found::KeyRow(row) => overlaps(row * 96, 96),
            Found::Forgotten(row) | Found::KeyRestored(row) => overlaps((row + 1) * 96, 96),
            Found::Index(Some(page)) => overlaps(page * 4_096, 4_096),
            Found::Log(line, _) => self.lines.0 <= *line && *line <= self.lines.1 + 1,
            _ => false,
        }
    }
}

/// The place that a finding about a file names.
fn place_of(name: &str) -> String {
    match name.rsplit_once('.') {
        Some((stem, extension)) if FILES.contains(&extension) => format!("{stem}.pcap"),
        _ => name.to_owned(),
    }
}

/// `w0-m` of a segment, or of a file beside all of them.
fn chain_of(place: &str) -> &str {
    let file = place.rsplit_once('/').map_or(place, |(_, file)| file);
    let Some(start) = file.find('w') else { return place };
    let mut ends = file[start..].match_indices(['-', '.']).map(|(at, _)| start + at);
    ends.nth(1).map_or(place, |end| &file[start..end])
}
