//! A running ringtap, and what it left.

use std::collections::BTreeMap;
use std::fs;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use nix::sys::signal::{self, Signal};
use nix::unistd::Pid;
use ringtap_store::{Query, Reader};
use serde::Serialize;
use serde_json::Value;

/// Long enough for a machine that does much else.
const PATIENCE: Duration = Duration::from_secs(120);

/// A folder with the configuration of one daemon and all that it writes.
pub(crate) struct Place {
    pub(crate) dir: PathBuf,
    runs: u32,
    /// Variables of the daemon besides those of the test.
    pub(crate) environment: Vec<(&'static str, &'static str)>,
}

impl Place {
    pub(crate) fn new(dir: &Path) -> Self {
        Self { dir: dir.to_owned(), runs: 0, environment: Vec::new() }
    }

    /// A configuration with these lines in `[capture]` and `[store]`.
    pub(crate) fn configure(&self, capture: &str, store: &str) -> PathBuf {
        let dir = self.dir.display();
        let text = format!(
            "[capture]\n{capture}\n[engine]\nlinger = \"1s\"\n\
             [store]\ndirectory = \"{dir}/records\"\noutbox = \"{dir}/outbox\"\n{store}\n\
             [journal]\npath = \"{dir}/journal\"\n[metrics]\nlisten = \"127.0.0.1:0\"\n\
             [log]\nlevel = \"debug\"\nstatus = \"1s\"\n"
        );
        let path = self.dir.join("ringtap.toml");
        fs::write(&path, text).expect("a temporary file");
        path
    }

    pub(crate) fn start(&mut self) -> Daemon {
        self.ignore_free_space();
        self.runs += 1;
        let log = self.dir.join(format!("log-{}", self.runs));
        let child = Command::new(env!("CARGO_BIN_EXE_ringtap"))
            .args(["run", "-c"])
            .arg(self.dir.join("ringtap.toml"))
            .env_remove("JOURNAL_STREAM")
            .env_remove("NOTIFY_SOCKET")
            .envs(self.environment.iter().copied())
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(fs::File::create(&log).expect("a temporary file"))
            .spawn()
            .expect("the program starts");
        Daemon { child, log }
    }

    /// Lets the daemon record however full the disk of this machine is, unless its configuration says
    /// otherwise: by default it stops when less than 5 % is free.
    pub(crate) fn ignore_free_space(&self) {
        let path = self.dir.join("ringtap.toml");
        let text = fs::read_to_string(&path).expect("a configuration");
        if !text.contains("[spool]") || text.contains("\nfree = ") {
            return;
        }
        assert!(!text.contains("[retention]"), "set `free` too:\n{text}");
        fs::write(&path, format!("{text}\n[retention]\nfree = \"0%\"\n")).expect("a temporary file");
    }

    /// Every call in the store, by Call-ID: the record, and its streams'.
    pub(crate) fn calls(&self) -> BTreeMap<String, (Value, Vec<Value>)> {
        calls(&self.dir.join("records"))
    }
}

/// A record as JSON has it.
fn value(record: &impl Serialize) -> Value {
    serde_json::to_value(record).expect("a record")
}

/// Every call in a store, by Call-ID; none twice.
pub(crate) fn calls(records: &Path) -> BTreeMap<String, (Value, Vec<Value>)> {
    let reader = Reader::open(records).expect("a store");
    let mut calls = BTreeMap::new();
    for call in reader.calls(&Query::default()).expect("calls").records {
        let streams = reader.streams_of(&call.id).expect("streams").iter().map(value).collect();
        let found = calls.insert(call.call_id.clone(), (value(&call), streams));
        assert!(found.is_none(), "{} is there twice", call.call_id);
    }
    calls
}

/// A capture that goes on for as long as a test may take, in which nothing happens.
pub(crate) fn silence(dir: &Path) -> String {
    let mut bytes = vec![0xd4, 0xc3, 0xb2, 0xa1, 2, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 1, 0, 0, 0];
    for second in [0u32, 300] {
        for word in [1_795_219_200 + second, 0, 60, 60] {
            bytes.extend(word.to_le_bytes());
        }
        bytes.extend([0; 60]);
    }
    fs::write(dir.join("silence.pcap"), bytes).expect("a temporary file");
    format!("files = [\"{}/silence.pcap\"]\nspeed = 1.0", dir.display())
}

/// Killed when dropped.
pub(crate) struct Daemon {
    child: Child,
    log: PathBuf,
}

impl Daemon {
    pub(crate) fn log(&self) -> String {
        fs::read_to_string(&self.log).unwrap_or_default()
    }

    pub(crate) fn log_file(&self) -> &Path {
        &self.log
    }

    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    /// Waits until the log says so.
    pub(crate) fn says(&mut self, what: &str) {
        self.until(what, |daemon| daemon.log().contains(what));
    }

    /// Waits until a figure of the metrics, summed over its labels, is as wanted.
    pub(crate) fn counts(&mut self, name: &str, wanted: impl Fn(u64) -> bool) -> u64 {
        let mut figure = 0;
        self.until(name, |daemon| {
            figure = daemon.metric(name);
            wanted(figure)
        });
        figure
    }

    /// Waits until it is `done`; `what` is said if it never is.
    pub(crate) fn until(&mut self, what: &str, mut done: impl FnMut(&mut Self) -> bool) {
        let deadline = Instant::now() + PATIENCE;
        while !done(self) {
            let ended = self.child.try_wait().expect("a child");
            assert!(ended.is_none(), "ended ({ended:?}) before: {what}\n{}", self.log());
            assert!(Instant::now() < deadline, "never: {what}\n{}", self.log());
            thread::sleep(Duration::from_millis(20));
        }
    }

    /// A page that it serves.
    pub(crate) fn page(&self, target: &str) -> Option<String> {
        let log = self.log();
        let address = log.split("metrics: http://").nth(1)?.split('/').next()?.to_owned();
        let mut connection = TcpStream::connect(address).ok()?;
        connection.set_read_timeout(Some(PATIENCE)).ok()?;
        write!(connection, "GET {target} HTTP/1.1\r\nHost: ringtap\r\n\r\n").ok()?;
        let mut page = String::new();
        connection.read_to_string(&mut page).ok()?;
        Some(page)
    }

    /// The sum of a figure over its labels; 0 while nothing is served.
    pub(crate) fn metric(&self, name: &str) -> u64 {
        let page = self.page("/metrics").unwrap_or_default();
        let of = |line: &str| {
            let rest = line.strip_prefix(name)?;
            let value =
                if rest.starts_with('{') { rest.split_once("} ")?.1 } else { rest.strip_prefix(' ')? };
            value.parse::<f64>().ok()
        };
        page.lines().filter_map(of).sum::<f64>() as u64
    }

    /// Sends it a signal, named without its `SIG`.
    pub(crate) fn signal(&self, name: &str) {
        let signal: Signal = format!("SIG{name}").parse().expect("a signal");
        signal::kill(Pid::from_raw(self.child.id().cast_signed()), signal).expect("it runs");
    }

    /// Waits for its end: the exit status and the log.
    pub(crate) fn end(mut self) -> (Option<i32>, String) {
        self.ends()
    }

    /// As [`end`](Self::end), where it is replaced by the next one.
    pub(crate) fn ends(&mut self) -> (Option<i32>, String) {
        let deadline = Instant::now() + PATIENCE;
        loop {
            if let Some(status) = self.child.try_wait().expect("a child") {
                return (status.code(), self.log());
            }
            assert!(Instant::now() < deadline, "does not end\n{}", self.log());
            thread::sleep(Duration::from_millis(10));
        }
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
