//! Reads small text files of `/sys` and `/proc` below a root.

use std::fs::{self, File};
use std::io::Read;
use std::path::{Path, PathBuf};
use std::str::FromStr;

/// The folder that contains `sys` and `proc`.
#[derive(Clone, Debug)]
pub(crate) struct Tree {
    root: PathBuf,
}

impl Tree {
    pub(crate) fn new(root: impl Into<PathBuf>) -> Self {
        Self { root: root.into() }
    }

    /// The path of an entry.
    pub(crate) fn at(&self, path: impl AsRef<Path>) -> PathBuf {
        self.root.join(path)
    }

    /// The trimmed text of a file; `None` if it cannot be read, such as `speed` of a link that is down.
    pub(crate) fn text(&self, path: impl AsRef<Path>) -> Option<String> {
        let mut text = Vec::new();
        File::open(self.at(path)).ok()?.take(MAX_FILE).read_to_end(&mut text).ok()?;
        Some(String::from_utf8_lossy(&text).trim().to_owned())
    }

    /// The value of a file that holds one value.
    pub(crate) fn value<T: FromStr>(&self, path: impl AsRef<Path>) -> Option<T> {
        self.text(path)?.parse().ok()
    }

    /// The CPUs of a file that holds a list of CPUs.
    pub(crate) fn cpus(&self, path: impl AsRef<Path>) -> Vec<usize> {
        self.text(path).map(|text| cpus(&text)).unwrap_or_default()
    }

    /// The names in a directory, sorted.
    pub(crate) fn names(&self, path: impl AsRef<Path>) -> Vec<String> {
        let entries = fs::read_dir(self.at(path)).into_iter().flatten().flatten();
        let mut names: Vec<String> =
            entries.filter_map(|entry| entry.file_name().into_string().ok()).collect();
        names.sort();
        names
    }

    pub(crate) fn exists(&self, path: impl AsRef<Path>) -> bool {
        self.at(path).exists()
    }

    /// The file name of a symbolic link's target.
    pub(crate) fn target(&self, path: impl AsRef<Path>) -> Option<String> {
        let target = fs::read_link(self.at(path)).ok()?;
        Some(target.file_name()?.to_string_lossy().into_owned())
    }
}

/// Parses a CPU list in the kernel's format: `0-3,8`.
pub(crate) fn cpus(text: &str) -> Vec<usize> {
    let mut found = Vec::new();
    for part in text.trim().split(',').filter(|part| !part.is_empty()) {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        if let (Ok(first), Ok(last)) = (first.parse::<usize>(), last.parse::<usize>()) {
            found.extend((first..=last.min(first.saturating_add(MAX_CPUS))).take(MAX_CPUS));
        }
    }
    found
}

/// Parses a CPU mask in the kernel's format, highest word first: `ff,00000001`.
pub(crate) fn mask(text: &str) -> Vec<usize> {
    let mut found = Vec::new();
    for (word, digits) in text.trim().rsplit(',').enumerate() {
        let bits = u32::from_str_radix(digits, 16).unwrap_or(0);
        found.extend((0..32).filter(|bit| bits >> bit & 1 == 1).map(|bit| word * 32 + bit));
    }
    found
}

/// Upper bound for a file; `/proc/interrupts` of a machine with hundreds of CPUs comes near it.
const MAX_FILE: u64 = 16 << 20;
const MAX_CPUS: usize = 65_536;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_and_masks_of_cpus() {
        assert_eq!(cpus("0-3,8\n"), [0, 1, 2, 3, 8]);
        assert_eq!(cpus(""), [0_usize; 0]);
        assert_eq!(cpus("(null)"), [0_usize; 0]);
        assert_eq!(cpus("0-99999999999").len(), MAX_CPUS);
        assert_eq!(mask("3"), [0, 1]);
        assert_eq!(mask("80000000,00000001"), [0, 63]);
        assert_eq!(mask("0"), [0_usize; 0]);
    }
}
