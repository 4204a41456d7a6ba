//! The directory that records and packets are written to.

use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use super::error::Error;
use super::sys;
use super::tree::Tree;

/// A directory on a file system.
#[derive(Clone, Debug, Default)]
pub struct Directory {
    /// Its path, with symbolic links resolved.
    pub path: PathBuf,
    /// Type of its file system: `ext4`.
    pub file_system: Option<String>,
    /// Where the file system is mounted.
    pub mounted_at: Option<String>,
    /// Mount options: `rw`, `relatime`.
    pub options: Vec<String>,
    /// The device, or the exported directory of a server.
    pub source: Option<String>,
    /// The disk rotates, according to the kernel.
    pub rotational: Option<bool>,
    /// Size of the file system in bytes.
    pub total: u64,
    /// Bytes that may still be written.
    pub free: u64,
    /// This process may write to it.
    pub writable: bool,
    /// Median time of a small durable write, measured with an unnamed file.
    pub sync: Option<Duration>,
    /// Database files in it, sorted by name.
    pub days: Vec<DayFile>,
}

/// One database file (format: sqlite.org/fileformat.html, section 1.3).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DayFile {
    /// Its name.
    pub name: String,
    /// Readers and the writer do not block one another (write-ahead log).
    pub write_ahead: bool,
    /// Size in bytes.
    pub size: u64,
    /// Size of its write-ahead log in bytes.
    pub log: u64,
}

/// Inspects a directory. Writes 20 kB to an unnamed file to measure the time of a durable write.
pub(crate) fn inspect(tree: &Tree, path: &Path) -> Result<Directory, Error> {
    let named = |source: io::Error| Error::Directory { path: path.display().to_string(), source };
    let real = fs::canonicalize(path).map_err(named)?;
    let metadata = fs::metadata(&real).map_err(named)?;
    if !metadata.is_dir() {
        return Err(named(io::ErrorKind::NotADirectory.into()));
    }
    let (total, free) = sys::space(&real).map_err(named)?;
    let mount = mount(&tree.text("proc/self/mountinfo").unwrap_or_default(), &real);
    let sync = sync(&real);
    let mut directory = Directory {
        rotational: rotational(tree, metadata.dev()),
        total,
        free,
        writable: sync.is_ok(),
        sync: sync.ok(),
        days: days(&real),
        path: real,
        ..Directory::default()
    };
    if let Some(mount) = mount {
        directory.file_system = Some(mount.kind);
        directory.mounted_at = Some(mount.at);
        directory.options = mount.options;
        directory.source = Some(mount.source);
    }
    Ok(directory)
}

#[derive(Debug, PartialEq, Eq)]
struct Mount {
    at: String,
    kind: String,
    source: String,
    options: Vec<String>,
}

/// The mount that contains `path`: the one with the longest path, the last of several there (proc(5),
/// `mountinfo`).
fn mount(text: &str, path: &Path) -> Option<Mount> {
    let line = |line: &str| {
        let (own, of_file_system) = line.split_once(" - ")?;
        let own: Vec<&str> = own.split(' ').collect();
        let mut rest = of_file_system.split(' ');
        let mut options: Vec<String> = own.get(5)?.split(',').map(str::to_owned).collect();
        let (kind, source) = (rest.next()?.to_owned(), unescaped(rest.next()?));
        for option in rest.next().unwrap_or_default().split(',').filter(|option| !option.is_empty()) {
            if !options.iter().any(|known| known == option) {
                options.push(option.to_owned());
            }
        }
        Some(Mount { at: unescaped(own.get(4)?), kind, source, options })
    };
    let holds = |mount: &Mount| path.starts_with(&mount.at);
    text.lines().filter_map(line).filter(holds).max_by_key(|mount| mount.at.len())
}

/// Replaces the octal escapes of spaces, tabs and backslashes.
fn unescaped(text: &str) -> String {
    text.replace("\\040", " ").replace("\\011", "\t").replace("\\134", "\\")
}

fn rotational(tree: &Tree, device: u64) -> Option<bool> {
    let (major, minor) = (libc::major(device), libc::minor(device));
    // Only a disk has this entry; a partition is a folder below its disk.
    let queues =
        ["queue", "../queue"].map(|queue| format!("sys/dev/block/{major}:{minor}/{queue}/rotational"));
    queues.iter().find_map(|queue| tree.value::<u8>(queue)).map(|value| value == 1)
}

/// Writes and syncs a page five times, and returns the median time.
fn sync(directory: &Path) -> io::Result<Duration> {
    let mut file = tempfile::tempfile_in(directory)?;
    let mut times = Vec::with_capacity(5);
    for _ in 0..5 {
        let begin = Instant::now();
        file.write_all(&[0; 4096])?;
        file.sync_data()?;
        times.push(begin.elapsed());
    }
    times.sort();
    Ok(times[2])
}

fn days(directory: &Path) -> Vec<DayFile> {
    let size = |path: &Path| fs::metadata(path).map_or(0, |metadata| metadata.len());
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    let mut days: Vec<DayFile> = entries
        .filter_map(|entry| {
            let name = entry.file_name().into_string().ok()?;
            let path = entry.path();
            let mut head = [0; 20];
            (name.ends_with(".sqlite") && File::open(&path).ok()?.read_exact(&mut head).is_ok())
                .then_some(())?;
            if !head.starts_with(b"SQLite format 3\0") {
                return None;
            }
            let log = size(&path.with_file_name(format!("{name}-wal")));
            Some(DayFile { name, write_ahead: head[18] == 2 && head[19] == 2, size: size(&path), log })
        })
        .collect();
    days.sort_by(|a, b| a.name.cmp(&b.name));
    days
}

#[cfg(test)]
mod tests {
    use super::*;

    const MOUNTS: &str = "\
22 1 254:0 / / rw,relatime - ext4 /dev/vda rw,errors=remount-ro
30 22 0:40 / /var/lib rw,noatime shared:5 - xfs /dev/sdb1 rw,noquota
31 22 0:41 / /mnt/my\\040disk rw - nfs4 server:/x rw,vers=4.2";

    #[test]
    fn the_mount_with_the_longest_path_contains_the_directory() {
        let found = mount(MOUNTS, Path::new("/var/lib/ringtap")).unwrap();
        assert_eq!(
            (found.kind.as_str(), found.at.as_str(), found.source.as_str()),
            ("xfs", "/var/lib", "/dev/sdb1")
        );
        assert_eq!(found.options, ["rw", "noatime", "noquota"]);
        assert_eq!(mount(MOUNTS, Path::new("/var/library")).unwrap().at, "/");
        assert_eq!(mount(MOUNTS, Path::new("/mnt/my disk/x")).unwrap().kind, "nfs4");
        assert_eq!(mount("nonsense\n", Path::new("/")), None);
    }

    #[test]
    fn inspection_leaves_no_file_in_the_directory() {
        let folder = tempfile::tempdir().unwrap();
        let mut head = b"SQLite format 3\0".to_vec();
        head.extend([16, 0, 2, 2, 0, 0]);
        fs::write(folder.path().join("2026-11-21.sqlite"), &head).unwrap();
        fs::write(folder.path().join("2026-11-21.sqlite-wal"), [0; 7]).unwrap();
        fs::write(folder.path().join("x.sqlite"), b"no database").unwrap();
        let directory = inspect(&Tree::new("/"), folder.path()).unwrap();
        assert!(
            directory.writable
                && directory.sync.is_some()
                && directory.total >= directory.free
                && directory.total > 0
        );
        let day = DayFile { name: "2026-11-21.sqlite".into(), write_ahead: true, size: 22, log: 7 };
        assert_eq!(directory.days, [day]);
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 3);
        let missing = inspect(&Tree::new("/"), &folder.path().join("none")).unwrap_err().to_string();
        assert!(missing.contains("create it"), "{missing}");
    }
}
