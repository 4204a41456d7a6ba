//! Files for bodies whose code reads files.

use std::fs;
use std::path::{Path, PathBuf};

use tempfile::TempDir;

use crate::choices::Choices;

/// A directory with files that each input changes, and that are as they were again for the next one. Set
/// TMPDIR to a directory in memory for fuzzing.
pub(crate) struct Scratch {
    dir: TempDir,
    originals: Vec<(PathBuf, Vec<u8>)>,
}

impl Scratch {
    /// The files that `make` makes in an empty directory.
    pub(crate) fn new(make: impl FnOnce(&Path)) -> Self {
        let dir = tempfile::tempdir().expect("a temporary directory");
        make(dir.path());
        let mut originals = Vec::new();
        gather(dir.path(), &mut originals);
        originals.sort();
        Self { dir, originals }
    }

    pub(crate) fn path(&self) -> &Path {
        self.dir.path()
    }

    /// The files whose names contain `name`, in order.
    pub(crate) fn named(&self, name: &str) -> Vec<&(PathBuf, Vec<u8>)> {
        let has = |path: &Path| {
            path.strip_prefix(self.path()).is_ok_and(|path| path.to_string_lossy().contains(name))
        };
        self.originals.iter().filter(|(path, _)| has(path)).collect()
    }

    /// Makes all files as they were, and removes others.
    pub(crate) fn restore(&self) {
        let mut present = Vec::new();
        gather(self.path(), &mut present);
        for (path, _) in present.iter().filter(|(path, _)| self.original(path).is_none()) {
            fs::remove_file(path).expect("a file of our own");
        }
        for (path, bytes) in &self.originals {
            if !present.iter().any(|(other, content)| (other, content) == (path, bytes)) {
                fs::write(path, bytes).expect("a file of our own");
            }
        }
    }

    fn original(&self, path: &Path) -> Option<&[u8]> {
        self.originals.iter().find(|(other, _)| other == path).map(|(_, bytes)| bytes.as_slice())
    }
}

fn gather(dir: &Path, into: &mut Vec<(PathBuf, Vec<u8>)>) {
    for entry in fs::read_dir(dir).expect("a directory of our own").flatten() {
        let path = entry.path();
        if path.is_dir() {
            gather(&path, into);
        } else {
            let bytes = fs::read(&path).expect("a file of our own");
            into.push((path, bytes));
        }
    }
}

/// A content with a few changes: overwritten, cut, longer, or replaced by all bytes that are left.
pub(crate) fn changed(original: &[u8], choices: &mut Choices<'_>) -> Vec<u8> {
    let mut content = original.to_vec();
    for _ in 0..8 {
        if choices.is_empty() {
            break;
        }
        let kind = choices.byte();
        if kind.is_multiple_of(5) {
            return choices.rest().to_vec();
        }
        let place = usize::from(choices.short()) % (content.len() + 1);
        match kind % 5 {
            1 => content.iter_mut().skip(place).zip(choices.bytes()).for_each(|(to, from)| *to = *from),
            2 => content.truncate(place),
            3 => _ = content.splice(place..place, choices.bytes().iter().copied()),
            _ => {
                let end = (place + usize::from(choices.byte())).min(content.len());
                let again = content[place..end].to_vec();
                content.extend(again);
            }
        }
    }
    content
}
