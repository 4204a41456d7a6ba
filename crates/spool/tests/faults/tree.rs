//! The files of a spool, as they were and as a fault has left them.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Files by their path below the spool's directory.
pub(crate) type Files = BTreeMap<String, Vec<u8>>;

/// Reads all files below a directory.
pub(crate) fn read(dir: &Path) -> Files {
    let mut files = Files::new();
    let mut dirs = vec![dir.to_owned()];
    while let Some(next) = dirs.pop() {
        for entry in fs::read_dir(&next).expect("a directory").flatten() {
            let path = entry.path();
            if entry.file_type().expect("a type").is_dir() {
                dirs.push(path);
            } else {
                let name = path.strip_prefix(dir).expect("below it").to_str().expect("text");
                files.insert(name.to_owned(), fs::read(&path).expect("a file"));
            }
        }
    }
    files
}

/// A copy of a spool on the disk, to which faults happen.
pub(crate) struct Tree {
    dir: PathBuf,
    whole: Files,
    /// Paths that a fault has touched.
    touched: BTreeSet<String>,
    /// A writer has changed anything.
    is_spoiled: bool,
}

impl Tree {
    pub(crate) fn new(whole: &Files, dir: PathBuf) -> Self {
        let tree = Self { dir, whole: whole.clone(), touched: BTreeSet::new(), is_spoiled: false };
        tree.whole.keys().for_each(|name| tree.put_back(name));
        tree
    }

    pub(crate) fn dir(&self) -> &Path {
        &self.dir
    }

    /// Names of the files that were there at first.
    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        self.whole.keys().map(String::as_str)
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.dir.join(name)
    }

    /// None if there is no such file now.
    pub(crate) fn read(&self, name: &str) -> Option<Vec<u8>> {
        let path = self.path(name);
        let is_file = fs::symlink_metadata(&path).is_ok_and(|found| found.is_file());
        is_file.then(|| fs::read(path).expect("a file"))
    }

    pub(crate) fn write(&mut self, name: &str, bytes: &[u8]) {
        self.remove(name);
        let path = self.path(name);
        fs::create_dir_all(path.parent().expect("a directory")).expect("a directory");
        fs::write(path, bytes).expect("written");
    }

    pub(crate) fn remove(&mut self, name: &str) {
        self.touched.insert(name.to_owned());
        let path = self.path(name);
        match fs::symlink_metadata(&path) {
            Ok(found) if found.is_dir() => fs::remove_dir_all(path).expect("removed"),
            Ok(_) => fs::remove_file(path).expect("removed"),
            Err(_) => {}
        }
    }

    /// Puts something that is no file in its place.
    pub(crate) fn put_irregular(&mut self, name: &str, kind: usize) {
        self.remove(name);
        let path = self.path(name);
        fs::create_dir_all(path.parent().expect("a directory")).expect("a directory");
        match kind {
            0 => fs::create_dir(path).expect("a directory"),
            1 => symlink("/etc/passwd", path).expect("a link"),
            _ => assert!(Command::new("mkfifo").arg(path).status().expect("run").success()),
        }
    }

    /// A writer, or a janitor, will change the spool.
    pub(crate) fn spoil(&mut self) {
        self.is_spoiled = true;
    }

    pub(crate) fn is_spoiled(&self) -> bool {
        self.is_spoiled
    }

    /// Whether a file is not as it was.
    pub(crate) fn differs(&self, name: &str) -> bool {
        match self.whole.get(name) {
            Some(bytes) => self.read(name).as_ref() != Some(bytes),
            None => fs::symlink_metadata(self.path(name)).is_ok(),
        }
    }

    /// Files that are not as they were.
    pub(crate) fn changed(&self) -> impl Iterator<Item = &str> {
        self.touched.iter().map(String::as_str).filter(|name| self.differs(name))
    }

    /// Undoes everything.
    pub(crate) fn restore(&mut self) {
        if std::mem::take(&mut self.is_spoiled) {
            self.touched.clear();
            fs::remove_dir_all(&self.dir).expect("removed");
            self.whole.keys().for_each(|name| self.put_back(name));
            return;
        }
        for name in std::mem::take(&mut self.touched) {
            self.remove(&name);
            self.put_back(&name);
            // A directory that the fault made.
            if let Some(day) = self.path(&name).parent() {
                let _ = fs::remove_dir(day);
            }
        }
        self.touched.clear();
    }

    fn put_back(&self, name: &str) {
        if let Some(bytes) = self.whole.get(name) {
            let path = self.path(name);
            fs::create_dir_all(path.parent().expect("a directory")).expect("a directory");
            fs::write(path, bytes).expect("written");
        }
    }
}
