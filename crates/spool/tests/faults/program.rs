//! The same faults through the program: `ringtap verify`, a start of the daemon, and `ringtap verify` again.

use std::env;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::sample::{self, Sample};
use crate::tree::Tree;

/// A built program, its keys and its configuration.
pub(crate) struct Program {
    path: PathBuf,
    dir: PathBuf,
}

impl Program {
    /// None unless `RINGTAP_PROGRAM` names one.
    pub(crate) fn of_environment(home: &Path, sample: &Sample) -> Option<Self> {
        let path = PathBuf::from(env::var_os("RINGTAP_PROGRAM")?);
        let dir = home.join("program");
        fs::create_dir_all(&dir).expect("a directory");
        let hex = |byte: u8| format!("{byte:02x}").repeat(32);
        for (name, key) in [("seal", hex(7)), ("sign", hex(3))] {
            let path = dir.join(name);
            fs::write(&path, key).expect("written");
            fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).expect("a mode");
        }
        fs::write(dir.join("sign.pub"), sample::signer().public().to_string()).expect("written");
        let heads: Vec<String> = sample.heads.iter().map(ToString::to_string).collect();
        fs::write(dir.join("heads"), heads.join("\n")).expect("written");
        fs::write(dir.join("nothing.pcap"), nothing()).expect("written");
        Some(Self { path, dir })
    }

    /// What is wrong with the answers about this spool.
    pub(crate) fn check(&self, tree: &mut Tree) -> Vec<String> {
        let mut wrong = Vec::new();
        self.verify(tree.dir(), "", &mut wrong);
        tree.spoil();
        let (status, log) = self.start(tree.dir());
        // A spool that it refuses to write to is noticed, and a segment that it has put in quarantine, and a
        // copy that it has deleted since no hold needs it, though nothing proved it; and a seal that it
        // replaces.
        let told = ["quarantine", "no hold needs it", "not as it was left"];
        let is_noticed = status != Some(0) || told.iter().any(|what| log.contains(what));
        if log.contains("panicked") || status.is_none() {
            wrong.push(format!("the daemon crashed: {log}"));
        }
        if !is_noticed {
            self.verify(tree.dir(), " after a restart", &mut wrong);
        }
        wrong
    }

    fn verify(&self, spool: &Path, when: &str, wrong: &mut Vec<String>) {
        let mut command = Command::new(&self.path);
        command.arg("verify").arg(spool).arg("--key").arg(self.dir.join("sign.pub"));
        command.arg("--head").arg(self.dir.join("heads"));
        let output = command.output().expect("the program starts");
        let told = String::from_utf8_lossy(&output.stdout).into_owned();
        let complaint = String::from_utf8_lossy(&output.stderr).into_owned();
        // 3: damaged.
        if output.status.code() != Some(3) || complaint.contains("panicked") {
            wrong.push(format!("`verify`{when} ends with {}: {told}{complaint}", output.status));
        }
    }

    /// Starts the daemon on the spool; it ends when it has replayed a packet of nothing.
    fn start(&self, spool: &Path) -> (Option<i32>, String) {
        let records = self.dir.join("records");
        let _ = fs::remove_dir_all(&records);
        let (dir, spool) = (self.dir.display(), spool.display());
        let text = format!(
            "[capture]\nfiles = [\"{dir}/nothing.pcap\"]\n\
             [store]\ndirectory = \"{dir}/records\"\noutbox = \"{dir}/outbox\"\n\
             [journal]\npath = \"{dir}/journal\"\n[metrics]\nlisten = \"\"\n\
             [spool]\ndirectory = \"{spool}\"\nmemory = \"4MiB\"\n\
             seal = \"{dir}/seal\"\nsign = \"{dir}/sign\"\n\
             [retention]\nfree = \"0%\"\n[process]\ncontrol = \"\"\n"
        );
        let path = self.dir.join("ringtap.toml");
        fs::write(&path, text).expect("written");
        let mut command = Command::new(&self.path);
        let output = command.arg("run").arg("-c").arg(path).output().expect("the program starts");
        (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
    }
}

/// A capture with one packet, of zeros.
fn nothing() -> Vec<u8> {
    let mut bytes = vec![0xd4, 0xc3, 0xb2, 0xa1, 2, 0, 4, 0];
    bytes.extend([0; 8]);
    for word in [65_535_u32, 1, 1_795_219_200, 0, 60, 60] {
        bytes.extend(word.to_le_bytes());
    }
    bytes.extend([0; 60]);
    bytes
}
