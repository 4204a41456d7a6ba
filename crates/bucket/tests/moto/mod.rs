//! A server that speaks S3, for tests: moto, out of PyPI, in an environment of its own that `make
//! packages-test` makes.
#![allow(dead_code, reason = "not every test needs all of it")]

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

/// Long enough for a busy machine.
const PATIENCE: Duration = Duration::from_secs(40);
/// Without a valid signature: moto does not check it while it trusts everybody.
const SOMEBODY: &str = "AWS4-HMAC-SHA256 Credential=somebody/20260101/us-east-1/s3/aws4_request, \
                        SignedHeaders=host, Signature=none";
/// The bucket that exists.
pub(crate) const BUCKET: &str = "recordings";

/// Ends when dropped.
pub(crate) struct Moto {
    child: Child,
    pub(crate) port: u16,
    log: Arc<Mutex<Vec<String>>>,
}

impl Moto {
    /// None, and the test is skipped, where it is not installed.
    pub(crate) fn start() -> Option<Self> {
        Self::start_at(0)
    }

    /// At a port that was free a moment ago.
    pub(crate) fn start_at(port: u16) -> Option<Self> {
        let target = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("../moto");
        if !target.join("bin/moto_server").is_file() {
            let reason = format!("not in {}; `make packages-test` installs it", target.display());
            ringtap_testing::skip("moto", reason);
            return None;
        }
        let mut child = Command::new(target.join("bin/moto_server"))
            .args(["-H", "127.0.0.1", "-p", &port.to_string()])
            .current_dir(&target)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the server starts");
        let said = BufReader::new(child.stderr.take().expect("a pipe"));
        let log = Arc::new(Mutex::new(Vec::new()));
        let lines = Arc::clone(&log);
        thread::spawn(move || {
            said.lines().map_while(Result::ok).for_each(|line| lines.lock().expect("a lock").push(line));
        });
        let mut moto = Self { child, port: 0, log };
        let port = moto.says("Running on http://127.0.0.1:");
        moto.port = port.trim().parse().expect("a port");
        assert_eq!(moto.ask("PUT", &format!("/{BUCKET}"), b"").0, 200);
        Some(moto)
    }

    /// What follows that in its log.
    fn says(&self, what: &str) -> String {
        let deadline = Instant::now() + PATIENCE;
        loop {
            let lines = self.log.lock().expect("a lock").clone();
            if let Some((_, rest)) = lines.iter().find_map(|line| line.split_once(what)) {
                return rest.to_owned();
            }
            assert!(Instant::now() < deadline, "never: {what}\n{lines:?}");
            thread::sleep(Duration::from_millis(20));
        }
    }

    pub(crate) fn endpoint(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// A request, obeyed as long as it [trusts](Self::trust) anybody. Status and body.
    pub(crate) fn ask(&self, method: &str, path: &str, body: &[u8]) -> (u16, Vec<u8>) {
        let mut connection = TcpStream::connect(("127.0.0.1", self.port)).expect("it listens");
        connection.set_read_timeout(Some(PATIENCE)).expect("a socket");
        let head = format!(
            "{method} {path} HTTP/1.0\r\nHost: localhost\r\nContent-Length: {}\r\n\
             Authorization: {SOMEBODY}\r\n\r\n",
            body.len()
        );
        connection.write_all(&[head.as_bytes(), body].concat()).expect("it reads");
        let mut answer = Vec::new();
        connection.read_to_end(&mut answer).expect("it answers");
        let end = answer.windows(4).position(|four| four == b"\r\n\r\n").expect("a head");
        let head = String::from_utf8_lossy(&answer[..end]);
        let status = head.split(' ').nth(1).and_then(|status| status.parse().ok()).expect("a status");
        (status, answer[end + 4..].to_vec())
    }

    /// Whether anybody may do anything, or nobody that it does not know; it knows nobody.
    pub(crate) fn trust(&self, anybody: bool) {
        let actions: &[u8] = if anybody { b"1000000000" } else { b"0" };
        assert_eq!(self.ask("POST", "/moto-api/reset-auth", actions).0, 200);
    }

    /// Names of all objects, in order.
    pub(crate) fn objects(&self) -> Vec<String> {
        let (status, list) = self.ask("GET", &format!("/{BUCKET}?list-type=2"), b"");
        assert_eq!(status, 200);
        let list = String::from_utf8(list).expect("text");
        list.split("<Key>").skip(1).filter_map(|rest| Some(rest.split_once("</Key>")?.0.to_owned())).collect()
    }

    pub(crate) fn object(&self, name: &str) -> Vec<u8> {
        let (status, body) = self.ask("GET", &format!("/{BUCKET}/{name}"), b"");
        assert_eq!(status, 200, "{name}");
        body
    }

    /// Puts something else in its place.
    pub(crate) fn replace(&self, name: &str, body: &[u8]) {
        assert_eq!(self.ask("PUT", &format!("/{BUCKET}/{name}"), body).0, 200);
    }

    /// Keeps versions from now on.
    pub(crate) fn keep_versions(&self) {
        let body = b"<VersioningConfiguration><Status>Enabled</Status></VersioningConfiguration>";
        assert_eq!(self.ask("PUT", &format!("/{BUCKET}?versioning"), body).0, 200);
    }

    /// Requests of a method so far, for names that end so.
    pub(crate) fn requests(&self, method: &str, end: &str) -> usize {
        // It tells of a request when it has answered it; the answer may be read before.
        thread::sleep(Duration::from_millis(50));
        let lines = self.log.lock().expect("a lock").clone();
        let asked = |line: &&String| {
            let Some((_, rest)) = line.split_once(&format!("{method} /{BUCKET}")) else { return false };
            rest.split([' ', '?']).next().is_some_and(|path| path.ends_with(end))
        };
        lines.iter().filter(asked).count()
    }
}

impl Drop for Moto {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A port where nobody listens.
pub(crate) fn free_port() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    listener.local_addr().expect("an address").port()
}
