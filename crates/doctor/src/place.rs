//! The directory of the store.

use ringtap_capture::host::Directory;
use ringtap_report::text::counted;

use crate::report::Report;
use crate::text::{bytes, quoted, share};

pub(super) fn judge(place: &Directory, report: &mut Report) {
    let path = place.path.display().to_string();
    if place.writable {
        report.good("directory", path);
    } else {
        report
            .bad("directory", format!("{path} cannot be written to"), "No record could be kept.")
            .mend(format!("chown ringtap: {} && chmod u+rwx {0}", quoted(&path)));
    }
    file_system(place, report);
    options(place, report);
    room(place, report);
    speed(place, report);
    database(place, report);
}

fn file_system(place: &Directory, report: &mut Report) {
    let Some(kind) = place.file_system.as_deref() else { return };
    let is = match &place.source {
        Some(source) => format!("{kind} on {source}"),
        None => kind.to_string(),
    };
    match kind {
        "nfs" | "nfs4" | "cifs" | "smb3" | "9p" | "ceph" | "afs" | "glusterfs" => _ = report.bad(
            "file system",
            is,
            "The database's write-ahead log needs shared memory, which a network file system does not have: use a local disk.",
        ),
        kind if kind.starts_with("fuse") => _ = report.warn(
            "file system",
            is,
            "Every write passes a program in user space: slow, and durable only as far as that program says.",
        ),
        "tmpfs" | "ramfs" => _ = report.bad("file system", is, "It is memory: everything is gone after a restart."),
        "overlay" | "aufs" => _ = report.warn(
            "file system",
            is,
            "It is the container's own layer: slow to rewrite, and gone with the container. Mount a volume there.",
        ),
        "btrfs" | "zfs" => _ = report
            .note(
                "file system",
                is,
                "It copies on each write: a database that is rewritten in place falls into pieces over months.",
            )
            .mend(format!("chattr +C {}   # btrfs: for files made from now on", quoted(&place.path.display().to_string()))),
        _ => report.good("file system", is),
    }
}

fn options(place: &Directory, report: &mut Report) {
    let Some(at) = &place.mounted_at else { return };
    let has = |option: &str| place.options.iter().any(|known| known == option);
    let remount = |option: &str| format!("mount -o remount,{option} {}   # and in /etc/fstab", quoted(at));
    if has("noatime") {
        report.good("mount", format!("{at}, noatime"));
    } else {
        let is = if has("relatime") { "relatime" } else { "times of access are kept" };
        report
            .note(
                "mount",
                format!("{at}, {is}"),
                "Reading then writes: each search touches the times of the files that it reads.",
            )
            .mend(remount("noatime"));
    }
    if has("sync") || has("dirsync") {
        report
            .warn("mount", "sync", "Every write waits for the disk, also those that need not: ringtap itself waits where it matters.")
            .mend(remount("async"));
    }
    if has("nobarrier") || has("barrier=0") {
        report
            .bad(
                "mount",
                "without barriers",
                "After a power cut, records that were acknowledged may be gone, or the database broken.",
            )
            .mend(remount("barrier"));
    }
    if has("ro") {
        report.bad("mount", "read-only", "No record could be kept.").mend(remount("rw"));
    }
}

fn room(place: &Directory, report: &mut Report) {
    let is =
        format!("{} of {} free ({})", bytes(place.free), bytes(place.total), share(place.free, place.total));
    let why = "When the disk is full, no further record can be kept.";
    if place.free < 1 << 30 || place.free < place.total / 50 {
        report.bad("free space", is, why);
    } else if place.free < place.total / 10 {
        report.warn("free space", is, why);
    } else {
        report.good("free space", is);
    }
}

fn speed(place: &Directory, report: &mut Report) {
    let Some(sync) = place.sync else { return };
    // Virtual disks say that they turn too.
    let turns =
        if place.rotational == Some(true) && sync.as_millis() > 2 { ", a disk that turns" } else { "" };
    let is = format!("a small write is durable after {:.1} ms{turns}", sync.as_secs_f64() * 1e3);
    match sync.as_millis() {
        0..20 => report.good("sync", is),
        // Records are committed five times a second.
        20..200 => _ = report.note("sync", is, "Each batch of records waits for this; fine for a few hundred calls a second."),
        _ => _ = report.warn("sync", is, "Batches are made durable more slowly than they come: records will queue. Use an SSD, or a controller with a battery."),
    }
}

fn database(place: &Directory, report: &mut Report) {
    let Some(last) = place.days.last() else {
        return report
            .good("database", "none there yet; SQLite, one file a day, write-ahead log, synchronous=FULL");
    };
    let all: u64 = place.days.iter().map(|day| day.size).sum();
    let old: Vec<_> = place.days.iter().filter(|day| !day.write_ahead).collect();
    let is = format!("{}, {}, last {}", counted(place.days.len() as u64, "day file"), bytes(all), last.name);
    if old.is_empty() {
        report.good("database", format!("{is}; write-ahead log, synchronous=FULL"));
    }
    for day in old {
        let path = place.path.join(&day.name).display().to_string();
        report
            .warn(
                "database",
                format!("{} has no write-ahead log", day.name),
                "A search then blocks the writing of records, and the other way round.",
            )
            .mend(format!("sqlite3 {} 'PRAGMA journal_mode=WAL'", quoted(&path)));
    }
    for day in place.days.iter().filter(|day| day.log > LONG) {
        let path = place.path.join(&day.name).display().to_string();
        report
            .note(
                "database",
                format!("the log of {} has {}", day.name, bytes(day.log)),
                "A reader that never ends keeps the log from being emptied, and makes searches slow.",
            )
            .mend(format!("sqlite3 {} 'PRAGMA wal_checkpoint(TRUNCATE)'", quoted(&path)));
    }
}

/// A log is emptied every 1,000 pages where nobody hinders it.
const LONG: u64 = 256 << 20;
