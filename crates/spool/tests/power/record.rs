//! What a program did to its files, and what a power cut leaves of that.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use crate::dice::Dice;

/// Tells files apart, whatever their names are.
pub(crate) type FileId = u64;

/// Something that was done. Paths are below the watched directory.
#[derive(Clone, Debug)]
pub(crate) enum Event {
    Create {
        path: String,
        id: FileId,
    },
    Write {
        id: FileId,
        at: u64,
        bytes: Vec<u8>,
    },
    Truncate {
        id: FileId,
        length: u64,
    },
    Sync(FileId),
    SyncDir(String),
    Rename {
        from: String,
        to: String,
    },
    Remove(String),
    MakeDir(String),
    /// Somebody was told that something is done.
    Mark(usize),
}

/// A disk sector: written as a whole, or not.
const SECTOR: usize = 512;

/// How much a disk keeps of what was not synced.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Loss {
    /// Nothing.
    All,
    /// Any of it, in any order.
    Some,
    /// Names in the order in which they were changed, and any of the bytes: as file systems with a journal.
    Journal,
}

/// Writes what a power cut after `end` events leaves, to an empty directory.
pub(crate) fn cut(events: &[Event], loss: Loss, dice: &mut Dice, to: &Path) {
    let files = contents(events, loss, dice);
    let (dirs, names) = names(events, loss, dice);
    fs::create_dir_all(to).expect("a directory");
    for dir in dirs {
        fs::create_dir_all(to.join(dir)).expect("a directory");
    }
    for (name, id) in names {
        let path = to.join(&name);
        // A directory that was not on the disk takes all that is in it.
        if path.parent().is_some_and(Path::is_dir) {
            fs::write(path, files.get(&id).map_or(&[][..], Vec::as_slice)).expect("written");
        }
    }
}

/// The bytes of each file.
fn contents(events: &[Event], loss: Loss, dice: &mut Dice) -> BTreeMap<FileId, Vec<u8>> {
    let mut last_sync = BTreeMap::new();
    for (place, event) in events.iter().enumerate() {
        if let Event::Sync(id) = event {
            last_sync.insert(*id, place);
        }
    }
    let mut files: BTreeMap<FileId, Vec<u8>> = BTreeMap::new();
    for (place, event) in events.iter().enumerate() {
        let synced = |id: &FileId| last_sync.get(id).is_some_and(|last| place < *last);
        match event {
            Event::Create { id, .. } => _ = files.entry(*id).or_default(),
            Event::Truncate { id, length } if synced(id) || keeps(loss, dice) => {
                files.entry(*id).or_default().resize(*length as usize, 0);
            }
            Event::Write { id, at, bytes } => {
                let is_synced = synced(id);
                let file = files.entry(*id).or_default();
                let mut from = 0;
                while from < bytes.len() {
                    let at = *at as usize + from;
                    let length = (SECTOR - at % SECTOR).min(bytes.len() - from);
                    if is_synced || keeps(loss, dice) {
                        if file.len() < at + length {
                            file.resize(at + length, 0);
                        }
                        file[at..at + length].copy_from_slice(&bytes[from..from + length]);
                    }
                    from += length;
                }
            }
            _ => {}
        }
    }
    files
}

fn keeps(loss: Loss, dice: &mut Dice) -> bool {
    !matches!(loss, Loss::All) && dice.one_in(2)
}

fn parent(path: &str) -> &str {
    path.rsplit_once('/').map_or("", |(dir, _)| dir)
}

/// The paths that an event is about.
fn paths(event: &Event) -> Vec<&str> {
    match event {
        Event::Create { path, .. } | Event::Remove(path) | Event::MakeDir(path) => vec![path],
        Event::Rename { from, to } => vec![from, to],
        _ => Vec::new(),
    }
}

/// Directories, and files by name.
fn names(events: &[Event], loss: Loss, dice: &mut Dice) -> (BTreeSet<String>, BTreeMap<String, FileId>) {
    let mut synced: BTreeMap<&str, usize> = BTreeMap::new();
    for (place, event) in events.iter().enumerate() {
        if let Event::SyncDir(dir) = event {
            synced.insert(dir, place);
        }
    }
    let is_synced = |place: usize| {
        let paths = paths(&events[place]);
        paths.iter().all(|path| synced.get(parent(path)).is_some_and(|last| place < *last))
    };
    let changes: Vec<usize> = (0..events.len()).filter(|place| !paths(&events[*place]).is_empty()).collect();
    let mut kept: BTreeSet<usize> = changes.iter().copied().filter(|place| is_synced(*place)).collect();
    match loss {
        Loss::All => {}
        Loss::Some => kept.extend(changes.iter().filter(|_| dice.one_in(2))),
        Loss::Journal => {
            let least = kept.last().map_or(0, |last| changes.partition_point(|place| place <= last));
            let count = least + dice.below(changes.len() - least + 1);
            kept.extend(&changes[..count]);
        }
    }
    // What came before on the same names is on the disk as well.
    let mut touched: BTreeSet<&str> = BTreeSet::new();
    for place in changes.iter().rev() {
        let paths = paths(&events[*place]);
        if kept.contains(place) || paths.iter().any(|path| touched.contains(path)) {
            kept.insert(*place);
            touched.extend(paths);
        }
    }
    let (mut dirs, mut names) = (BTreeSet::new(), BTreeMap::new());
    for place in kept {
        match &events[place] {
            Event::Create { path, id } => _ = names.insert(path.clone(), *id),
            Event::MakeDir(path) => _ = dirs.insert(path.clone()),
            Event::Remove(path) => {
                names.remove(path);
                dirs.remove(path);
            }
            Event::Rename { from, to } => {
                if let Some(id) = names.remove(from) {
                    names.insert(to.clone(), id);
                }
            }
            _ => {}
        }
    }
    // A directory below one that is not there is not there either.
    let all = dirs.clone();
    dirs.retain(|dir| {
        let mut above = parent(dir);
        while !above.is_empty() {
            if !all.contains(above) {
                return false;
            }
            above = parent(above);
        }
        true
    });
    (dirs, names)
}
