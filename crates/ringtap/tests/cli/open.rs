//! Captures in the browser.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on ends")]

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, ChildStdout, Stdio};
use std::thread;

use serde_json::Value;

use crate::run::{ringtap, run};

const DEMO: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../demo/calls.pcap");

/// A page that is open.
struct Opened {
    child: Child,
    out: BufReader<ChildStdout>,
    /// `http://ADDRESS/open/KEY`.
    link: String,
}

impl Opened {
    fn with(arguments: &[&str]) -> Self {
        let mut command = ringtap();
        command.args(["open", "--minutes", "5"]).args(arguments);
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        let mut out = BufReader::new(child.stdout.take().unwrap());
        let mut link = String::new();
        out.read_line(&mut link).unwrap();
        Self { child, out, link: link.trim_end().to_owned() }
    }

    fn get(&self, path: &str, cookie: &str) -> Vec<u8> {
        let address = self.link.split('/').nth(2).unwrap();
        let mut stream = TcpStream::connect(address).unwrap();
        let cookie = if cookie.is_empty() { String::new() } else { format!("Cookie: {cookie}\r\n") };
        let request = format!("GET {path} HTTP/1.1\r\nHost: {address}\r\n{cookie}Connection: close\r\n\r\n");
        stream.write_all(request.as_bytes()).unwrap();
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).unwrap();
        answer
    }

    /// The cookie of the session that the link makes.
    fn logged_in(&self) -> String {
        let path = self.link.splitn(4, '/').nth(3).unwrap();
        let answer = String::from_utf8(self.get(&format!("/{path}"), "")).unwrap();
        let cookie = answer.lines().find_map(|line| line.strip_prefix("set-cookie: ")).unwrap();
        cookie.split(';').next().unwrap().to_owned()
    }

    fn json(&self, path: &str, cookie: &str) -> Value {
        let answer = String::from_utf8(self.get(path, cookie)).unwrap();
        let (_, body) = answer.split_once("\r\n\r\n").unwrap();
        let from = body.find('{').unwrap();
        serde_json::from_str(&body[from..=body.rfind('}').unwrap()]).unwrap()
    }

    /// Ctrl-C.
    fn end(mut self) -> Option<i32> {
        let pid = rustix::process::Pid::from_child(&self.child);
        rustix::process::kill_process(pid, rustix::process::Signal::INT).unwrap();
        let mut rest = String::new();
        self.out.read_to_string(&mut rest).unwrap();
        assert_eq!(rest, "");
        self.child.wait().unwrap().code()
    }
}

impl Drop for Opened {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn a_capture_is_searched_drawn_and_heard_and_opened_again() {
    let folder = tempfile::tempdir().unwrap();
    let kept = folder.path().join("kept");
    let dir = kept.to_str().unwrap();
    let opened = Opened::with(&[DEMO, "--dir", dir]);
    let cookie = opened.logged_in();
    let found = opened.json("/api/v1/calls?q=note:loss", &cookie);
    assert_eq!(found["calls"].as_array().map(Vec::len), Some(1), "{found}");
    let call = &found["calls"][0];
    let id = call["id"].as_str().unwrap();
    let ladder = opened.json(&format!("/api/v1/calls/{id}/ladder"), &cookie);
    assert!(ladder.to_string().contains("INVITE"), "{ladder}");
    let sound = opened.get(&format!("/api/v1/calls/{id}/sound.wav"), &cookie);
    let head = sound.windows(4).position(|four| four == b"RIFF").unwrap();
    // Over 6 seconds of two sides, 16 bits at 8 kHz.
    assert!(sound.len() - head > 2 * 2 * 8_000 * 6, "{}", sound.len());
    assert!(String::from_utf8_lossy(&opened.get("/api/v1/calls", "")).starts_with("HTTP/1.1 401"));

    // What was made unreadable is heard no more, although it was decoded before.
    let [records, spool] = ["records", "spool"].map(|name| kept.join(name).display().to_string());
    let forgotten = run(["forget", id, "--store", &records, "--spool", &spool, "--yes"]);
    assert_eq!(forgotten.status, 0, "{forgotten:?}");
    for path in ["sound.wav", "peaks"] {
        let answer = opened.get(&format!("/api/v1/calls/{id}/{path}"), &cookie);
        assert!(String::from_utf8_lossy(&answer).starts_with("HTTP/1.1 409"), "{path}");
    }
    assert_eq!(opened.end(), Some(0));

    let again = Opened::with(&["--dir", dir]);
    let cookie = again.logged_in();
    assert_eq!(again.json("/api/v1/calls", &cookie)["calls"].as_array().map(Vec::len), Some(12));
    assert_eq!(again.end(), Some(0));
    let refused = run(["open", DEMO, "--dir", dir]);
    assert_eq!(refused.status, 2, "{refused:?}");
    assert!(refused.err.contains("has records already: open them with"), "{refused:?}");
}

/// What a ladder shows of the services that its call went through.
#[test]
fn outages_are_found_as_well() {
    let folder = tempfile::tempdir().unwrap();
    let capture = crate::availability::capture(folder.path());
    let opened = Opened::with(&[capture.to_str().unwrap()]);
    let cookie = opened.logged_in();
    let found = opened.json("/api/v1/availability/outages", &cookie);
    assert_eq!(
        (&found["outages"][0]["down_ms"], found["outages"].as_array().map(Vec::len)),
        (&3400.0.into(), Some(1))
    );
    let found = opened.json("/api/v1/availability/failovers", &cookie);
    assert_eq!(found["failovers"][0]["causes"], serde_json::json!(["pbx_lost"]), "{found}");
    assert_eq!(opened.end(), Some(0));
}

/// On one machine, where a sensor may run as well: none writes to a place of another.
#[test]
fn several_are_opened_at_once() {
    let opened: Vec<Opened> = thread::scope(|scope| {
        let threads: Vec<_> = (0..3).map(|_| scope.spawn(|| Opened::with(&[DEMO]))).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    for each in opened {
        let cookie = each.logged_in();
        assert_eq!(each.json("/api/v1/calls", &cookie)["calls"].as_array().map(Vec::len), Some(12));
        assert_eq!(each.end(), Some(0));
    }
}

#[test]
fn what_cannot_be_opened_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let text = crate::run::file(folder.path(), "notes.txt", b"no capture at all, but long enough to be read");
    for (arguments, status, said) in [
        (vec!["open", "/no/such.pcap"], 1, "cannot read the capture `/no/such.pcap`"),
        (vec!["open", text.to_str().unwrap()], 1, "the captures could not be followed: "),
        (vec!["open", text.to_str().unwrap()], 1, "notes.txt"),
        (vec!["open", DEMO, "--listen", "0.0.0.0:0"], 2, "ringtap console serve"),
        (vec!["open", "--dir", folder.path().to_str().unwrap()], 2, "it has no directory `records`"),
        (vec!["open"], 2, "<FILE>"),
    ] {
        let refused = run(&arguments);
        assert_eq!((refused.status, refused.err.contains(said)), (status, true), "{refused:?}");
        assert_eq!(refused.out, "", "{arguments:?}");
    }
}
