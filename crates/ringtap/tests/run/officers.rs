//! A register of warrants, and two officers who use it by commands.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on ends")]

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

const FIRST: &str = "first horse battery";
const OWN: &str = "correct horse battery";

/// The officers ana and ben, and the folder of their register.
pub(crate) struct Officers {
    dir: PathBuf,
    entered: u32,
}

impl Officers {
    pub(crate) fn new(dir: &Path) -> Self {
        let officers = Self { dir: dir.to_owned(), entered: 0 };
        officers.done("ana", &["setup"], &[OWN]);
        officers.done("ana", &["people", "add", "ben", "--role", "officer"], &[OWN, FIRST]);
        officers.done("ben", &["people", "passphrase"], &[FIRST, OWN]);
        officers
    }

    /// The keys of `[intercept]` that name the register.
    pub(crate) fn section(&self) -> String {
        let dir = self.dir.display();
        format!("[intercept]\nregister = \"{dir}/register\"\nkey = \"{dir}/register-key\"\n")
    }

    /// Enters a warrant, which is a draft: its number.
    pub(crate) fn enter(&mut self, liid: &str, target: &str, begins: &str) -> u32 {
        let text = format!(
            "liid = '{liid}'\ncase = 'C'\nauthority = 'Court'\nlegal_basis = 'Act 1'\nrequester = 'A'\n\
             authorisation_country = 'GB'\nagency = 'agency-a'\noperator = 'operator'\n{begins}\n\
             ends = '2100-01-01'\ndelivers = 'both'\ntarget = ['{target}']\n"
        );
        let path = self.dir.join("warrant.toml");
        fs::write(&path, text).unwrap();
        self.done("ana", &["enter", path.to_str().unwrap()], &[OWN]);
        self.entered += 1;
        self.entered
    }

    pub(crate) fn approve(&self, number: u32) {
        let number = number.to_string();
        let shown = self.done("ben", &["show", &number, "--why", "approval"], &[OWN]);
        let hash = shown.trim().rsplit(' ').next().unwrap().to_owned();
        self.done("ben", &["approve", &number, "--hash", &hash[..16]], &[OWN]);
    }

    /// Runs a command as somebody, which has to succeed: what it prints.
    pub(crate) fn done(&self, who: &str, command: &[&str], passphrases: &[&str]) -> String {
        let mut program = Command::new(env!("CARGO_BIN_EXE_ringtap"));
        program.arg("warrant").args(command).args(["--as", who, "--passphrase-fd", "0", "--register"]);
        program.arg(self.dir.join("register")).arg("--master-key").arg(self.dir.join("register-key"));
        let piped = || Stdio::piped();
        let mut child = program.stdin(piped()).stdout(piped()).stderr(piped()).spawn().unwrap();
        let lines: String = passphrases.iter().map(|line| format!("{line}\n")).collect();
        let _ = child.stdin.take().unwrap().write_all(lines.as_bytes());
        let output = child.wait_with_output().unwrap();
        assert!(output.status.success(), "{command:?}: {output:?}");
        String::from_utf8(output.stdout).unwrap()
    }

    /// The same by an officer with the passphrase of an officer.
    pub(crate) fn act(&self, command: &[&str]) -> String {
        self.done("ana", command, &[OWN])
    }
}
