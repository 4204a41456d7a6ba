//! A console of its own, and people of several roles.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on ends")]

use std::fs;
use std::io::{BufRead, BufReader, Lines, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::process::{Child, ChildStderr, Command, Stdio};
use std::time::Duration;

use ringtap_access::{NewPerson, PasswordCost, People, Role, Scope, Settings};
use ringtap_model::Nanos;
use serde_json::{Value, json};

/// Everybody's.
const PASSWORD: &str = "correct horse battery staple";
/// Whoever waits longer waits in vain, on any machine.
pub(crate) const PATIENCE: Duration = Duration::from_secs(120);

/// A console over that directory, with people, until it is dropped.
pub(crate) struct Console {
    child: Child,
    address: SocketAddr,
    /// What it says: it writes no more than its pipe holds.
    _lines: Lines<BufReader<ChildStderr>>,
}

impl Console {
    pub(crate) fn start(dir: &Path, control: &str) -> Self {
        let people = dir.join("people");
        add_people(&people);
        fs::create_dir_all(dir.join("records")).unwrap();
        let mut child = Command::new(env!("CARGO_BIN_EXE_ringtap"))
            .args(["console", "serve", "--plain-http", "--listen", "127.0.0.1:0", "--control", control])
            .arg("--people")
            .arg(&people)
            .arg("--store")
            .arg(dir.join("records"))
            .arg("--spool")
            .arg(dir.join("spool"))
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
        let line =
            lines.by_ref().map(Result::unwrap).find(|line| line.contains("the console is at")).unwrap();
        let address = line.split("http://").nth(1).unwrap().trim_end_matches('/').parse().unwrap();
        Self { child, address, _lines: lines }
    }

    fn connect(&self, method: &str, path: &str, headers: &str, body: &str) -> BufReader<TcpStream> {
        let mut stream = TcpStream::connect(self.address).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        let length = body.len();
        write!(
            stream,
            "{method} {path} HTTP/1.1\r\nHost: {}\r\nConnection: close\r\n{headers}\r\n\
             Content-Type: application/json\r\nContent-Length: {length}\r\n\r\n{body}",
            self.address
        )
        .unwrap();
        BufReader::new(stream)
    }

    /// Status and body.
    pub(crate) fn ask(&self, method: &str, path: &str, cookie: &str, body: &str) -> (u16, String) {
        self.ask_with(method, path, &format!("X-Ringtap: 1\r\nCookie: {cookie}"), body)
    }

    /// The same with other headers.
    pub(crate) fn ask_with(&self, method: &str, path: &str, headers: &str, body: &str) -> (u16, String) {
        let mut text = String::new();
        self.connect(method, path, headers, body).read_to_string(&mut text).unwrap();
        let status = text.split(' ').nth(1).unwrap().parse().unwrap();
        (status, text)
    }

    /// The cookie of somebody who logs in.
    pub(crate) fn login(&self, name: &str) -> String {
        let body = json!({ "name": name, "password": PASSWORD }).to_string();
        let (status, text) = self.ask("POST", "/api/v1/session", "", &body);
        assert_eq!(status, 200, "{text}");
        let cookie = text.lines().find_map(|line| line.strip_prefix("set-cookie: ")).unwrap();
        cookie.split(';').next().unwrap().to_owned()
    }

    pub(crate) fn logout(&self, cookie: &str) {
        let (status, text) = self.ask("DELETE", "/api/v1/session", cookie, "");
        assert_eq!(status, 204, "{text}");
    }

    pub(crate) fn id_of(&self, cookie: &str, call: &str) -> String {
        let (status, text) = self.ask("GET", "/api/v1/live/calls", cookie, "");
        assert_eq!(status, 200, "{text}");
        let list: Value = serde_json::from_str(text.split("\r\n\r\n").nth(1).unwrap()).unwrap();
        let calls = list["calls"].as_array().unwrap();
        let found = calls.iter().find(|one| one["call_id"].as_str().unwrap().starts_with(call));
        found.unwrap()["id"].as_str().unwrap().to_owned()
    }

    /// The lines of an answer that goes on.
    pub(crate) fn events(&self, cookie: &str, path: &str) -> Lines<BufReader<TcpStream>> {
        let mut lines = self.connect("GET", path, &format!("Cookie: {cookie}"), "").lines();
        let status = lines.next().unwrap().unwrap();
        assert!(status.contains(" 200 "), "{status} {:?}", lines.map_while(Result::ok).last());
        lines
    }
}

impl Drop for Console {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn add_people(dir: &Path) {
    // Hashed cheaply: what is tried here is not the hash.
    let password = PasswordCost { memory: 64, passes: 1, ..PasswordCost::default() };
    let people = People::open(dir, Settings { password, ..Settings::default() }).unwrap();
    let tenant = Scope::parse(&["carrier-a".to_owned()], &[]).unwrap();
    for (name, role, scope) in [
        ("root", Role::Administrator, Scope::everything()),
        ("ana", Role::Officer, Scope::everything()),
        ("vic", Role::Viewer, Scope::everything()),
        ("ten", Role::Quality, tenant),
    ] {
        let new = NewPerson { name, role, scope, password: PASSWORD, must_change: false };
        people.add(&new, Nanos(1_795_219_200_000_000_000)).unwrap();
    }
}
