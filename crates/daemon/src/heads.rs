//! Remembers the newest seals of the spool's chains outside of the spool.
//!
//! Whoever can write to the spool can put an older state of it back, with the heads of that time. So the
//! daemon keeps the heads beside the records and compares them when it starts, and notes them in the log, in
//! the system's log and in a file, for `ringtap verify --head`.

use std::fmt::Write as _;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::OpenOptionsExt;
use std::os::unix::net::UnixDatagram;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use ringtap_report::time;
use ringtap_spool::{KnownHead, PublicKey, WriterSettings, WriterStatus};

use crate::config::Config;

/// How often heads are noted that have changed: in the logs, and beside the records.
const INTERVAL: Duration = Duration::from_secs(3600);
const REMEMBERED: Duration = Duration::from_secs(10);
/// The file beside the records.
const FILE: &str = "spool.heads";

/// What the daemon remembers of the chains of a spool.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct RememberedHeads {
    heads: Vec<KnownHead>,
    /// The keys that signed.
    signers: Vec<PublicKey>,
}

impl RememberedHeads {
    /// What is remembered of the configured spool.
    pub(crate) fn of(config: &Config) -> Self {
        let spool = config.spool.directory();
        spool.map(|spool| Self::read(&config.store.directory, spool)).unwrap_or_default()
    }

    /// Settings of a writer that compares the chains with this.
    pub(crate) fn given_to(&self, settings: WriterSettings) -> WriterSettings {
        let Self { heads, signers } = self.clone();
        WriterSettings { known_heads: heads, known_signers: signers, ..settings }
    }

    /// Reads what was remembered of the spool; nothing if it is another spool, or the first start.
    fn read(records: &Path, spool: &Path) -> Self {
        let path = records.join(FILE);
        let text = match fs::read_to_string(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Self::default(),
            Err(error) => {
                log::error!(
                    target: "spool",
                    "cannot read `{}`: {error}; the chains are not compared with what was remembered of them",
                    path.display()
                );
                return Self::default();
            }
        };
        let mut lines = text.lines();
        let (expected, first) = (format!("spool {}", spool.display()), lines.next().unwrap_or_default());
        if first != expected {
            log::warn!(
                target: "spool",
                "`{}` is not of this spool: it begins with `{first:.200}`, not with `{expected}`. The chains \
                are not compared with it, and it is replaced; compare them with a head that you noted: \
                ringtap verify --head",
                path.display()
            );
            return Self::default();
        }
        let signers = lines.filter_map(|line| line.strip_prefix("signed by ")?.parse().ok()).collect();
        Self { heads: KnownHead::all_in(&text), signers }
    }

    /// Replaces heads by those of the same chain.
    fn update(&mut self, heads: Vec<KnownHead>) {
        for head in heads {
            self.heads.retain(|other| (other.worker, other.category) != (head.worker, head.category));
            self.heads.push(head);
        }
        self.heads.sort_by_key(|head| (head.worker, head.category));
    }

    fn write(&self, records: &Path, spool: &Path) -> io::Result<()> {
        let mut text = format!("spool {}\n", spool.display());
        for signer in &self.signers {
            let _ = writeln!(text, "signed by {signer}");
        }
        for head in &self.heads {
            let _ = writeln!(text, "{head}");
        }
        let (path, draft) = (records.join(FILE), records.join("spool.heads.new"));
        match fs::remove_file(&draft) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        // Never through a link.
        let mut file = OpenOptions::new().write(true).create_new(true).mode(0o640).open(&draft)?;
        file.write_all(text.as_bytes())?;
        file.sync_all()?;
        fs::rename(&draft, &path)?;
        File::open(records)?.sync_all()
    }
}

/// The heads of all workers' chains, and where they are noted.
pub(crate) struct HeadLog {
    writers: Vec<Arc<WriterStatus>>,
    spool: PathBuf,
    /// Directory of the records.
    pub(crate) records: PathBuf,
    file: PathBuf,
    syslog: PathBuf,
    remembered: RememberedHeads,
    noted: Option<(Instant, Vec<KnownHead>)>,
    written: Option<Instant>,
}

impl HeadLog {
    /// `signer` is the key that signs now.
    pub(crate) fn new(
        config: &Config,
        spool: &Path,
        signer: Option<PublicKey>,
        mut remembered: RememberedHeads,
        writers: Vec<Arc<WriterStatus>>,
    ) -> Self {
        remembered.signers.extend(signer);
        remembered.signers.sort_unstable();
        remembered.signers.dedup();
        Self {
            writers,
            spool: spool.to_owned(),
            records: config.store.directory.clone(),
            file: config.spool.heads.clone(),
            syslog: config.spool.syslog.clone(),
            remembered,
            noted: None,
            written: None,
        }
    }

    /// Notes the heads at the start and once an hour, and keeps them beside the records.
    pub(crate) fn check(&mut self) {
        if self.written.is_none_or(|at| at.elapsed() >= REMEMBERED) {
            self.remember();
        }
        if self.noted.as_ref().is_none_or(|(at, _)| at.elapsed() >= INTERVAL) {
            self.note();
        }
    }

    /// The writers have ended: these are the last seals.
    pub(crate) fn end(&mut self) {
        self.remember();
        self.note();
    }

    fn heads(&self) -> Vec<KnownHead> {
        self.writers.iter().flat_map(|writer| writer.heads()).collect()
    }

    fn remember(&mut self) {
        self.written = Some(Instant::now());
        let before = self.remembered.heads.clone();
        self.remembered.update(self.heads());
        if before == self.remembered.heads {
            return;
        }
        if let Err(error) = self.remembered.write(&self.records, &self.spool) {
            // It is tried again.
            self.remembered.heads = before;
            let path = self.records.join(FILE);
            log::error!(
                target: "spool",
                "cannot keep the heads of the chains in `{}`: {error}; removed segments may go unnoticed at \
                 the next start",
                path.display()
            );
        }
    }

    /// Notes the heads unless they are as they were.
    fn note(&mut self) {
        let heads = self.heads();
        let is_new = self.noted.as_ref().is_none_or(|(_, noted)| *noted != heads);
        if is_new && !heads.is_empty() {
            let list: Vec<String> = heads.iter().map(ToString::to_string).collect();
            let list = list.join(", ");
            log::info!(target: "spool", "heads of the chains: {list}");
            let now = time::rfc3339(time::now());
            let noted = [
                ("heads", &self.file, append(&self.file, &format!("{now} {list}\n"))),
                ("syslog", &self.syslog, send(&self.syslog, &now, &list)),
            ];
            for (key, path, result) in noted {
                if let Err(error) = result {
                    let path = path.display();
                    log::error!(
                        target: "spool",
                        "[spool] {key}: cannot note the heads of the chains in `{path}`: {error}"
                    );
                }
            }
        }
        self.noted = Some((Instant::now(), heads));
    }
}

/// Appends a line: it is on the disk once this has returned.
fn append(path: &Path, line: &str) -> io::Result<()> {
    if path.as_os_str().is_empty() {
        return Ok(());
    }
    let mut options = OpenOptions::new();
    let mut file = options.append(true).create(true).mode(0o640).custom_flags(NO_FOLLOW).open(path)?;
    file.write_all(line.as_bytes())?;
    file.sync_all()
}

/// Sends a message to a system's log: RFC 5424 section 6, facility 13 (log audit), severity 5 (notice).
fn send(socket: &Path, now: &str, list: &str) -> io::Result<()> {
    if socket.as_os_str().is_empty() {
        return Ok(());
    }
    let message =
        format!("<109>1 {now} - ringtap {} heads - heads of the chains: {list}", std::process::id());
    let sender = UnixDatagram::unbound()?;
    sender.set_write_timeout(Some(Duration::from_secs(1)))?;
    sender.send_to(message.as_bytes(), socket).map(|_| ())
}

const NO_FOLLOW: i32 = rustix::fs::OFlags::NOFOLLOW.bits().cast_signed();

#[cfg(test)]
mod tests {
    use ringtap_spool::Category;

    use super::*;

    fn head(worker: u16, number: u64) -> KnownHead {
        KnownHead { worker, category: Category::Media, number, sha256: [number as u8; 32] }
    }

    #[test]
    fn heads_come_back_for_the_spool_that_they_are_of() {
        let dir = tempfile::tempdir().unwrap();
        let (records, spool) = (dir.path(), Path::new("/spool"));
        assert_eq!(RememberedHeads::read(records, spool), RememberedHeads::default());
        let mut remembered = RememberedHeads { heads: vec![head(1, 7)], signers: vec![PublicKey([5; 32])] };
        remembered.update(vec![head(0, 3), head(1, 8)]);
        assert_eq!(remembered.heads, [head(0, 3), head(1, 8)]);
        // A link in the draft's place is replaced.
        std::os::unix::fs::symlink("/etc/passwd", records.join("spool.heads.new")).unwrap();
        remembered.write(records, spool).unwrap();
        assert_eq!(RememberedHeads::read(records, spool), remembered);
        assert_eq!(RememberedHeads::read(records, Path::new("/other")), RememberedHeads::default());
    }

    #[test]
    fn heads_go_to_the_systems_log_and_to_a_file() {
        let dir = tempfile::tempdir().unwrap();
        let (socket, file) = (dir.path().join("log"), dir.path().join("heads"));
        let receiver = UnixDatagram::bind(&socket).unwrap();
        let list = head(0, 3).to_string();
        send(&socket, "2026-11-21T02:00:00Z", &list).unwrap();
        let mut bytes = [0; 500];
        let length = receiver.recv(&mut bytes).unwrap();
        let text = std::str::from_utf8(&bytes[..length]).unwrap();
        assert!(
            text.starts_with("<109>1 2026-11-21T02:00:00Z - ringtap ") && text.ends_with(&list),
            "{text}"
        );
        append(&file, &format!("now {list}\n")).unwrap();
        append(&file, &format!("later {}\n", head(0, 4))).unwrap();
        let found = KnownHead::all_in(&fs::read_to_string(&file).unwrap());
        assert_eq!(found, [head(0, 3), head(0, 4)]);
        std::os::unix::fs::symlink(&file, dir.path().join("link")).unwrap();
        assert!(append(&dir.path().join("link"), "x").is_err());
        assert!(send(Path::new(""), "", "").is_ok() && append(Path::new(""), "").is_ok());
    }
}
