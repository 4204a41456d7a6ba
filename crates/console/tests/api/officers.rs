//! A register of warrants with the officers ana and ben, the auditor dora, and eve, an officer who has not
//! chosen a passphrase yet.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::sync::OnceLock;

use ringtap_console::Warrants;
use ringtap_report::time::now;
use ringtap_warrant::{Register, RegisterKey, Role};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::client::{Answer, Client};
use crate::server::Server;

const FIRST: &str = "first horse battery";
/// Everybody's.
pub(crate) const OWN: &str = "correct horse battery";

/// A console with a register of its own.
pub(crate) struct Officers {
    pub(crate) server: Server,
    pub(crate) dir: TempDir,
}

impl Officers {
    pub(crate) fn start() -> Self {
        let dir = copied();
        let server = Server::start_with_register(source(&dir));
        Self { server, dir }
    }

    pub(crate) fn nobody(&self) -> Client {
        Client::new(self.server.address)
    }

    /// Somebody logs in.
    pub(crate) fn login(&self, name: &str) -> Client {
        self.login_by(name, OWN)
    }

    pub(crate) fn login_by(&self, name: &str, passphrase: &str) -> Client {
        let answer = self.try_login(name, passphrase);
        assert_eq!(answer.status, 200, "{}", answer.text());
        logged_in(&self.nobody(), &answer)
    }

    pub(crate) fn try_login(&self, name: &str, passphrase: &str) -> Answer {
        self.nobody().post("/api/v1/warrants/session", &json!({ "name": name, "passphrase": passphrase }))
    }

    /// The register, as another process has it open.
    pub(crate) fn register(&self) -> Register {
        let Warrants { register, key, .. } = source(&self.dir);
        Register::open(&register, &key).unwrap()
    }

    /// Enters a warrant as ana: its number.
    pub(crate) fn enter(&self, ana: &Client, liid: &str, target: &str) -> u64 {
        let answer = ana.post("/api/v1/warrants", &entry(liid, &[target]));
        assert_eq!(answer.status, 201, "{}", answer.text());
        answer.json()["number"].as_u64().unwrap()
    }

    /// Shows a warrant.
    pub(crate) fn show(&self, who: &Client, number: u64) -> Value {
        let answer = who.post(&format!("/api/v1/warrants/{number}/show"), &json!({ "why": "a look" }));
        assert_eq!(answer.status, 200, "{}", answer.text());
        answer.json()
    }

    /// Approves a warrant, which is shown before.
    pub(crate) fn approve(&self, who: &Client, number: u64) -> Answer {
        let hash = self.show(who, number)["hash"].clone();
        who.post(&format!("/api/v1/warrants/{number}/approve"), &json!({ "hash": hash }))
    }
}

pub(crate) fn logged_in(client: &Client, answer: &Answer) -> Client {
    client.with("cookie", answer.header("set-cookie").unwrap().split(';').next().unwrap())
}

pub(crate) fn entry(liid: &str, targets: &[&str]) -> Value {
    json!({
        "liid": liid, "case": "C-17", "authority": "District Court", "legal_basis": "Act 1, section 2",
        "requester": "Agency A", "authorisation_country": "GB", "agency": "agency-a", "operator": "operator",
        "ends_us": 4_102_444_800_000_000_u64, "delivers": "both", "targets": targets,
    })
}

/// What a console needs to use the register in that directory.
pub(crate) fn source(dir: &TempDir) -> Warrants {
    let key = RegisterKey::read(&dir.path().join("key")).unwrap();
    Warrants { register: dir.path().join("register"), key, product: None }
}

/// A copy of the register.
pub(crate) fn copied() -> TempDir {
    static MADE: OnceLock<TempDir> = OnceLock::new();
    let made = MADE.get_or_init(made);
    let dir = tempfile::tempdir().unwrap();
    fs::copy(made.path().join("key"), dir.path().join("key")).unwrap();
    let register = dir.path().join("register");
    fs::create_dir(&register).unwrap();
    fs::set_permissions(&register, fs::Permissions::from_mode(0o700)).unwrap();
    for entry in fs::read_dir(made.path().join("register")).unwrap() {
        let entry = entry.unwrap();
        fs::copy(entry.path(), register.join(entry.file_name())).unwrap();
    }
    dir
}

fn made() -> TempDir {
    let dir = tempfile::tempdir().unwrap();
    let key = RegisterKey::make(&dir.path().join("key")).unwrap();
    let path: &Path = &dir.path().join("register");
    let mut register = Register::create(path, &key, "ana", OWN, now()).unwrap();
    let ana = register.identify("ana", OWN, now()).unwrap();
    for (name, role) in [("ben", Role::Officer), ("dora", Role::Auditor), ("eve", Role::Officer)] {
        let proposal = register.propose_person(&ana, name, role, FIRST, now()).unwrap();
        if let Some(number) = proposal {
            let ben = register.identify("ben", OWN, now()).unwrap();
            register.confirm_person(&ben, number, now()).unwrap();
        }
        if name != "eve" {
            let session = register.identify(name, FIRST, now()).unwrap();
            register.change_passphrase(&session, OWN, now()).unwrap();
        }
    }
    dir
}

/// Eve's passphrase, which somebody else gave her.
pub(crate) fn first() -> &'static str {
    FIRST
}
