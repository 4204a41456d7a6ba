//! The directory that records are written to.

use ringtap_capture::host::Directory;
use ringtap_report::text::counted;

use crate::report::Report;
use crate::text::{bytes, quoted, share};

pub(super) fn judge(directory: &Directory, report: &mut Report) {
    let path = directory.path.display().to_string();
    if directory.writable {
        report.good("directory", path);
    } else {
        report
            .bad("directory", format!("{path} is not writable"), "No record can be stored.")
            .mend(format!("chown ringtap: {} && chmod u+rwx {0}", quoted(&path)));
    }
    file_system(directory, report);
    mount_options(directory, report);
    free_space(directory, report);
    sync_time(directory, report);
    database(directory, report);
}

fn file_system(directory: &Directory, report: &mut Report) {
    let Some(kind) = directory.file_system.as_deref() else { return };
    let is = match &directory.source {
        Some(source) => format!("{kind} on {source}"),
        None => kind.to_string(),
    };
    match kind {
        "nfs" | "nfs4" | "cifs" | "smb3" | "9p" | "ceph" | "afs" | "glusterfs" => {
            _ = report.bad(
                "file system",
                is,
                "SQLite's write-ahead log needs shared memory, which a network file system does not provide: \
                    use a local disk.",
            )
        }
        kind if kind.starts_with("fuse") => {
            _ = report.warn(
                "file system",
                is,
                "Every write passes through a program in user space: writes are slow, and only as durable as \
                    that program makes them.",
            )
        }
        "tmpfs" | "ramfs" => {
            _ = report.bad(
                "file system",
                is,
                "It is held in memory: a reboot deletes all \
                    records.",
            )
        }
        "overlay" | "aufs" => {
            _ = report.warn(
                "file system",
                is,
                "It is the container's own layer: slow to rewrite, and deleted with the container. Mount a \
                    volume there.",
            )
        }
        "btrfs" | "zfs" => _ = report
            .note(
                "file system",
                is,
                "It copies on write: a database that is rewritten in place becomes fragmented over months.",
            )
            .mend(format!(
                "chattr +C {}   # btrfs: for files created from now on",
                quoted(&directory.path.display().to_string())
            )),
        _ => report.good("file system", is),
    }
}

fn mount_options(directory: &Directory, report: &mut Report) {
    let Some(at) = &directory.mounted_at else { return };
    let has = |option: &str| directory.options.iter().any(|known| known == option);
    let remount = |option: &str| format!("mount -o remount,{option} {}   # and in /etc/fstab", quoted(at));
    if has("noatime") {
        report.good("mount", format!("{at}, noatime"));
    } else {
        let is = if has("relatime") { "relatime" } else { "access times are updated" };
        report
            .note(
                "mount",
                format!("{at}, {is}"),
                "Each search then writes, too: it updates the access times of the files that it reads.",
            )
            .mend(remount("noatime"));
    }
    if has("sync") || has("dirsync") {
        report
            .warn(
                "mount",
                "sync",
                "Every write waits for the disk, even where that is not needed: ringtap \
                    itself syncs what must be durable.",
            )
            .mend(remount("async"));
    }
    if has("nobarrier") || has("barrier=0") {
        report
            .bad(
                "mount",
                "write barriers are off",
                "After a power cut, records already acknowledged may be missing, or the database corrupted.",
            )
            .mend(remount("barrier"));
    }
    if has("ro") {
        report.bad("mount", "read-only", "No record can be stored.").mend(remount("rw"));
    }
}

fn free_space(directory: &Directory, report: &mut Report) {
    let is = format!(
        "{} of {} free ({})",
        bytes(directory.free),
        bytes(directory.total),
        share(directory.free, directory.total)
    );
    let why = "When the disk is full, no more records can be stored.";
    if directory.free < 1 << 30 || directory.free < directory.total / 50 {
        report.bad("free space", is, why);
    } else if directory.free < directory.total / 10 {
        report.warn("free space", is, why);
    } else {
        report.good("free space", is);
    }
}

fn sync_time(directory: &Directory, report: &mut Report) {
    let Some(sync) = directory.sync else { return };
    // Virtual disks report that they rotate, too; their speed tells them apart.
    let is_rotating = directory.rotational == Some(true) && sync.as_millis() > 2;
    let rotating = if is_rotating { ", rotating disk" } else { "" };
    let is = format!("a small write is durable after {:.1} ms{rotating}", sync.as_secs_f64() * 1e3);
    match sync.as_millis() {
        0..20 => report.good("sync", is),
        // Records are committed five times a second.
        20..200 => {
            _ = report.note(
                "sync",
                is,
                "Each batch of records waits this long, which suffices for a \
                    few hundred calls per second.",
            )
        }
        _ => {
            _ = report.warn(
                "sync",
                is,
                "Syncing a batch takes longer than the next takes to arrive: \
                    records will queue. Use an SSD, or a controller with a battery-backed cache.",
            )
        }
    }
}

fn database(directory: &Directory, report: &mut Report) {
    let Some(last) = directory.days.last() else {
        return report
            .good("database", "none yet; SQLite, one file a day, write-ahead log, synchronous=FULL");
    };
    let all: u64 = directory.days.iter().map(|day| day.size).sum();
    let old: Vec<_> = directory.days.iter().filter(|day| !day.write_ahead).collect();
    let is =
        format!("{}, {}, last {}", counted(directory.days.len() as u64, "day file"), bytes(all), last.name);
    if old.is_empty() {
        report.good("database", format!("{is}; write-ahead log, synchronous=FULL"));
    }
    for day in old {
        let path = directory.path.join(&day.name).display().to_string();
        report
            .warn(
                "database",
                format!("{} has no write-ahead log", day.name),
                "A search then blocks the writing of records, and vice versa.",
            )
            .mend(format!("sqlite3 {} 'PRAGMA journal_mode=WAL'", quoted(&path)));
    }
    for day in directory.days.iter().filter(|day| day.log > LONG_LOG) {
        let path = directory.path.join(&day.name).display().to_string();
        report
            .note(
                "database",
                format!("the write-ahead log of {} has {}", day.name, bytes(day.log)),
                "A reader that never finishes keeps the log from being truncated, which makes searches slow.",
            )
            .mend(format!("sqlite3 {} 'PRAGMA wal_checkpoint(TRUNCATE)'", quoted(&path)));
    }
}

/// SQLite copies a log into the file after 64 MiB unless a reader prevents it.
const LONG_LOG: u64 = 256 << 20;
