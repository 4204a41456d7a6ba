//! Hooks: calls that the daemon has stored, given to commands and servers.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on ends")]

use std::collections::BTreeMap;
use std::fs;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use ringtap_testing::skip;
use rustix::process::geteuid;
use serde_json::Value;

use crate::daemon::{Place, silence};
use crate::replayed::{files, ringtap};

/// A call of the demo.
const TARGET: &str = "0d6d8cadbfcfc2aa0000000b@192.0.2.76";
/// Long enough for a machine that does much else.
const PATIENCE: Duration = Duration::from_secs(120);

/// Waits until something is there.
fn wait<T>(what: &str, log: impl Fn() -> String, mut found: impl FnMut() -> Option<T>) -> T {
    let deadline = Instant::now() + PATIENCE;
    loop {
        if let Some(found) = found() {
            return found;
        }
        assert!(Instant::now() < deadline, "never: {what}\n{}", log());
        thread::sleep(Duration::from_millis(20));
    }
}

/// A running `ringtap hooks`; ended when it is dropped.
struct Hooks {
    child: Child,
    log: PathBuf,
}

impl Hooks {
    /// Starts it, and waits until it follows the store.
    fn start(dir: &Path, run: u32) -> Self {
        let log = dir.join(format!("hooks-{run}"));
        let child = Command::new(env!("CARGO_BIN_EXE_ringtap"))
            .args(["hooks", "-c"])
            .arg(dir.join("ringtap.toml"))
            .env_remove("JOURNAL_STREAM")
            .env("PASSED_ON", "yes")
            .env("NOT_PASSED_ON", "secret")
            .stdin(Stdio::null())
            .stderr(fs::File::create(&log).unwrap())
            .spawn()
            .unwrap();
        let hooks = Self { child, log };
        hooks.says("is followed for");
        hooks
    }

    fn log(&self) -> String {
        fs::read_to_string(&self.log).unwrap_or_default()
    }

    fn says(&self, what: &str) {
        wait(what, || self.log(), || self.log().contains(what).then_some(()));
    }

    fn signal(&mut self, signal: Signal) -> Option<i32> {
        kill(Pid::from_raw(self.child.id().cast_signed()), signal).unwrap();
        self.child.wait().unwrap().code()
    }
}

impl Drop for Hooks {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A configuration with recorded packets and these entries.
fn configure(place: &Place, capture: &str, entries: &str) {
    let path = place.configure(capture, "");
    let dir = place.dir.display();
    let own = format!(
        "[spool]\ndirectory = \"{dir}/spool\"\nage = \"1s\"\nsegment = \"5s\"\n\
         [hooks]\ndirectory = \"{dir}/hooks\"\nhost = \"tap-7\"\nmasking_key = \"{dir}/masking.key\"\n\
         {entries}"
    );
    fs::write(&path, fs::read_to_string(&path).unwrap() + &own).unwrap();
    place.ignore_free_space();
}

/// A program of a few lines for a shell, which the hook starts itself.
fn script(dir: &Path, lines: &str) -> PathBuf {
    let path = dir.join("script");
    fs::write(&path, format!("#!/bin/sh\nset -e\n{lines}\n")).unwrap();
    fs::set_permissions(&path, PermissionsExt::from_mode(0o755)).unwrap();
    path
}

/// Hooks begin, and the daemon follows the demo to its end while they are stopped: all packets are on the
/// disk when they go on.
fn replay(place: &mut Place) -> Hooks {
    let stopped = Hooks::start(&place.dir, 0).signal(Signal::SIGTERM);
    assert_eq!(stopped, Some(0));
    let (code, log) = place.start().end();
    assert_eq!(code, Some(0), "{log}");
    Hooks::start(&place.dir, 1)
}

#[test]
fn every_recorded_call_reaches_a_command_with_its_sound_and_what_was_intercepted_does_not() {
    let dir = tempfile::tempdir().unwrap();
    let mut place = Place::new(dir.path());
    let out = dir.path().join("out");
    fs::create_dir(&out).unwrap();
    // What a command leaves is gone, so it copies what it wants to keep.
    let program = script(
        dir.path(),
        "cat > call.json\nenv > environment\npwd > directory\n\
         [ -e sound.wav ] && cp sound.wav \"$1/$$.wav\"\n\
         cp call.json \"$1/$$.json\"\ncp environment \"$1/$$.env\"\ncp directory \"$1/$$.directory\"\n\
         mv \"$1/$$.json\" \"$1/$$.done\"",
    );
    // The target is intercepted, and nothing else of it is recorded.
    let (caller, callee) = parties(TARGET);
    let rules = format!(
        "[[keep]]\nproduct = \"LI-17\"\ncaller = [{caller}]\ncallee = [{callee}]\nkeep = \"full\"\n\
         [[keep]]\ncaller = [{caller}]\ncallee = [{callee}]\nkeep = \"nothing\"\n[[keep]]\nkeep = \"full\"\n"
    );
    let hook = format!(
        "[[hook]]\nname = \"archive\"\nwhen = \"recorded\"\ncommand = [{program:?}, {out:?}]\n\
         sound = \"path\"\nenvironment = [\"GIVEN=a b\", \"PASSED_ON\"]\ndelay = \"0s\"\ntimeout = \"10m\"\n"
    );
    configure(&place, &files("\"max\""), &format!("{rules}{hook}"));
    let mut hooks = replay(&mut place);
    let stored = place.calls();
    let recorded: BTreeMap<&str, &Value> = stored
        .iter()
        .filter(|(_, (call, _))| call["recorded"] != "none")
        .map(|(call_id, (call, _))| (call_id.as_str(), call))
        .collect();
    assert!(recorded.len() > 3 && !recorded.contains_key(TARGET) && stored.contains_key(TARGET));
    let done = || fs::read_dir(&out).unwrap().map(|file| file.unwrap().path());
    let done =
        || done().filter(|path| path.extension().is_some_and(|kind| kind == "done")).collect::<Vec<_>>();
    let found =
        wait("all calls", || hooks.log(), || Some(done()).filter(|done| done.len() >= recorded.len()));
    let mut with_sound = 0;
    for path in &found {
        let told: Value = serde_json::from_slice(&fs::read(path).unwrap()).unwrap();
        let call_id = told["call"]["call_id"].as_str().unwrap();
        assert_eq!(&told["call"], recorded[call_id]);
        assert_eq!(told["streams"].as_array().unwrap(), &stored[call_id].1);
        let id = told["call"]["id"].as_str().unwrap();
        assert_eq!(told["delivery"], format!("archive/{id}"));
        assert_eq!((&told["host"], &told["attempt"]), (&"tap-7".into(), &1.into()));
        let environment = fs::read_to_string(path.with_extension("env")).unwrap();
        assert!(environment.contains("GIVEN=a b\n") && environment.contains("PASSED_ON=yes\n"));
        assert!(!environment.contains("secret") && !environment.contains("HOME="), "{environment}");
        let directory = fs::read_to_string(path.with_extension("directory")).unwrap();
        if told["sound"].is_null() {
            assert!(told["sound_missing"].is_string(), "{told}");
        } else {
            assert_eq!(told["sound"]["path"], format!("{}/sound.wav", directory.trim()));
            let wav = fs::read(path.with_extension("wav")).unwrap();
            assert_eq!(
                (&wav[..4], wav.len() as u64),
                (&b"RIFF"[..], told["sound"]["bytes"].as_u64().unwrap())
            );
            with_sound += 1;
        }
        // Its directory goes once it has ended.
        wait("its end", || hooks.log(), || (!Path::new(directory.trim()).exists()).then_some(()));
    }
    assert!(with_sound > 0 && found.len() == recorded.len());
    assert_eq!(hooks.signal(Signal::SIGTERM), Some(0), "{}", hooks.log());

    // The daemon shows what became of them.
    fs::write(dir.path().join("ringtap.toml"), "").unwrap();
    configure(&place, &silence(dir.path()), &format!("{rules}{hook}"));
    let mut daemon = place.start();
    daemon.says("/metrics and /health");
    let page = daemon.page("/metrics").unwrap();
    let line = format!("ringtap_hook_calls_total{{hook=\"archive\",outcome=\"delivered\"}} {}", found.len());
    assert!(page.contains(&line), "{page}");
    assert!(page.contains("ringtap_hook_waiting{hook=\"archive\"} 0"), "{page}");
}

/// Both numbers of a call of the demo, as a rule has them.
fn parties(call_id: &str) -> (Value, Value) {
    let demo = concat!(env!("CARGO_MANIFEST_DIR"), "/../../demo/calls.pcap");
    let output = Command::new(env!("CARGO_BIN_EXE_ringtap"))
        .args(["analyze", "--format", "jsonl", demo])
        .output()
        .expect("the program starts");
    let lines = String::from_utf8(output.stdout).unwrap();
    let records = lines.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let call =
        records.filter(|record| record["type"] == "call").find(|call| call["call_id"] == call_id).unwrap();
    (call["from_user"].clone(), call["to_user"].clone())
}

#[test]
fn a_command_that_does_not_end_is_killed_with_all_that_it_started() {
    let dir = tempfile::tempdir().unwrap();
    let mut place = Place::new(dir.path());
    let ids = dir.path().join("ids");
    // One in its process group, one in a session of its own whose parent has ended.
    let program = script(
        dir.path(),
        &format!(
            "sleep 1000 &\necho $! >> {ids:?}\n(setsid sleep 1000 & echo $! >> {ids:?})\necho $$ >> {ids:?}\n\
             echo trouble >&2\nsleep 1000"
        ),
    );
    let hook = format!(
        "[[hook]]\nname = \"stuck\"\ncommand = [{program:?}]\nquery = \"callid:{TARGET}\"\n\
         timeout = \"2s\"\n"
    );
    configure(&place, &files("\"max\""), &hook);
    let hooks = replay(&mut place);
    let log = || hooks.log();
    let kills = || log().matches("its command was killed after 2 s: trouble; attempt ").count();
    // An attempt in which two seconds were enough to start all three.
    let all = || fs::read_to_string(&ids).ok().filter(|told| told.lines().count() >= 3);
    let told = wait("three programs", log, all);
    let before = kills();
    wait("their end", log, || (kills() > before).then_some(()));
    for id in told.lines() {
        assert!(!Path::new("/proc").join(id).exists(), "{id} is left\n{told}{}", log());
    }
}

/// A request, with its body.
fn request(connection: &mut TcpStream) -> (String, Vec<u8>) {
    let (mut bytes, mut piece) = (Vec::new(), [0; 65_536]);
    loop {
        let read = connection.read(&mut piece).unwrap();
        assert!(read > 0, "{}", String::from_utf8_lossy(&bytes));
        bytes.extend_from_slice(&piece[..read]);
        let Some(end) = bytes.windows(4).position(|four| four == b"\r\n\r\n") else { continue };
        let head = String::from_utf8_lossy(&bytes[..end]).to_lowercase();
        let length = head.split("content-length: ").nth(1).unwrap().lines().next().unwrap();
        let length: usize = length.trim().parse().unwrap();
        if bytes.len() >= end + 4 + length {
            return (head, bytes.split_off(end + 4));
        }
    }
}

fn answer(mut connection: &TcpStream, status: &str) {
    write!(connection, "HTTP/1.1 {status}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n").unwrap();
}

#[test]
fn a_killed_service_posts_after_its_restart_what_waited_without_numbers_and_with_its_sound() {
    let dir = tempfile::tempdir().unwrap();
    let mut place = Place::new(dir.path());
    let server = TcpListener::bind("127.0.0.1:0").unwrap();
    let [key, fields] = ["masking.key", "fields"].map(|name| dir.path().join(name));
    fs::write(&key, [7; 32]).unwrap();
    fs::write(&fields, "Authorization: Bearer of-this\n").unwrap();
    fs::set_permissions(&fields, PermissionsExt::from_mode(0o600)).unwrap();
    let url = format!("http://{}/calls", server.local_addr().unwrap());
    let hook = format!(
        "[[hook]]\nname = \"tickets\"\nwhen = \"recorded\"\nurl = {url:?}\nheader_file = {fields:?}\n\
         mask = true\nsound = \"upload\"\nquery = \"callid:{TARGET}\"\ndelay = \"0s\"\n"
    );
    configure(&place, &files("\"max\""), &hook);
    let mut hooks = replay(&mut place);
    let (mut connection, _) = server.accept().unwrap();
    let first = request(&mut connection);
    answer(&connection, "503 Not Now");
    drop(connection);
    hooks.says("127.0.0.1 answers with status 503; attempt 1 of 20, it is made again");
    hooks.signal(Signal::SIGKILL);

    let mut hooks = Hooks::start(dir.path(), 2);
    let (mut connection, _) = server.accept().unwrap();
    let second = request(&mut connection);
    answer(&connection, "204 No Content");
    let record = |(head, body): &(String, Vec<u8>)| -> Value {
        assert!(head.starts_with("post /calls ") && head.contains("authorization: bearer of-this"), "{head}");
        assert!(head.contains("content-type: multipart/form-data; boundary="), "{head}");
        let at = |wanted: &[u8]| body.windows(wanted.len()).position(|part| part == wanted).unwrap();
        let begin = at(b"\r\n\r\n") + 4;
        let record = &body[begin..begin + body[begin..].windows(2).position(|two| two == b"\r\n").unwrap()];
        assert!(at(b"name=\"sound\"; filename=\"sound.wav\"") < at(b"RIFF"));
        serde_json::from_slice(record).unwrap()
    };
    let [first, second] = [record(&first), record(&second)];
    assert_eq!(first["delivery"], second["delivery"]);
    let stored = &place.calls()[TARGET].0;
    assert_eq!(second["call"]["id"], stored["id"]);
    for field in ["from_user", "to_user"] {
        let number = stored[field].as_str().unwrap();
        assert!(!second.to_string().contains(number), "{second}");
        assert!(second["call"][field].as_str().unwrap().starts_with('~'), "{second}");
    }
    assert_eq!(hooks.signal(Signal::SIGTERM), Some(0), "{}", hooks.log());
}

#[test]
fn a_call_that_is_forgotten_while_it_waits_is_not_delivered() {
    let dir = tempfile::tempdir().unwrap();
    let mut place = Place::new(dir.path());
    let server = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/", server.local_addr().unwrap());
    let hook = format!("[[hook]]\nname = \"archive\"\nurl = {url:?}\nquery = \"callid:{TARGET}\"\n");
    configure(&place, &files("\"max\""), &hook);
    let mut hooks = replay(&mut place);
    let (mut connection, _) = server.accept().unwrap();
    request(&mut connection);
    answer(&connection, "500 Broken");
    hooks.says("attempt 1 of 20");
    assert_eq!(hooks.signal(Signal::SIGTERM), Some(0), "{}", hooks.log());
    let state = || -> Value {
        let text = fs::read(dir.path().join("hooks/state.json")).unwrap();
        let state: Value = serde_json::from_slice(&text).unwrap();
        state["queues"]["archive"].clone()
    };
    assert_eq!(state()["waiting"].as_array().unwrap().len(), 1);
    let [records, spool] = ["records", "spool"].map(|name| dir.path().join(name).display().to_string());
    let (status, told) = ringtap(&["forget", TARGET, "--store", &records, "--spool", &spool, "--yes"]);
    assert_eq!(status, Some(0), "{told}");

    let hooks = Hooks::start(dir.path(), 2);
    let is_forgotten = || (state()["counts"]["forgotten"] == 1).then_some(());
    wait("the end of its wait", || hooks.log(), is_forgotten);
    assert_eq!(state()["waiting"].as_array().unwrap().len(), 0);
    // Nobody has asked the server again.
    server.set_nonblocking(true).unwrap();
    assert!(server.accept().is_err());
}

#[test]
fn a_command_runs_as_a_user_of_its_own_without_capabilities_where_root_starts_the_service() {
    if !geteuid().is_root() {
        return skip("root", "the user of a command cannot be changed");
    }
    let dir = tempfile::tempdir().unwrap();
    let mut place = Place::new(dir.path());
    let look = "test $(id -un) = nobody && grep -q CapBnd:.0000000000000000 /proc/self/status && \
                grep -q NoNewPrivs:.1 /proc/self/status";
    let hook = format!(
        "user = \"nobody\"\n[[hook]]\nname = \"look\"\nquery = \"callid:{TARGET}\"\n\
         command = [\"/bin/sh\", \"-c\", {look:?}]\n"
    );
    configure(&place, &files("\"max\""), &hook);
    let hooks = replay(&mut place);
    let counts = || -> Option<Value> {
        let state: Value =
            serde_json::from_slice(&fs::read(dir.path().join("hooks/state.json")).ok()?).ok()?;
        let counts = state["queues"]["look"]["counts"].clone();
        (counts["delivered"] == 1 || counts["retried"] != 0).then_some(counts)
    };
    let counts = wait("an attempt", || hooks.log(), counts);
    assert_eq!((&counts["delivered"], &counts["retried"]), (&1.into(), &0.into()), "{}", hooks.log());
}

#[test]
fn a_check_names_programs_and_files_that_hooks_cannot_use() {
    let dir = tempfile::tempdir().unwrap();
    let place = Place::new(dir.path());
    let path = dir.path().join("ringtap.toml");
    let check = |entries: &str| {
        configure(&place, &silence(dir.path()), entries);
        ringtap(&["run", "--check", "-c", path.to_str().unwrap()])
    };
    let program = dir.path().join("program");
    let hook = format!("[[hook]]\nname = \"a\"\ncommand = [{program:?}]\n");
    let refused = |entries: &str, expected: &str| {
        let (status, told) = check(entries);
        assert!(status == Some(1) && told.contains(expected), "{expected}\n{told}");
    };
    refused(&hook, "[[hook]] command: ");
    fs::write(&program, "").unwrap();
    refused(&hook, "make it one with `chmod +x`");
    fs::set_permissions(&program, PermissionsExt::from_mode(0o757)).unwrap();
    refused(&hook, "everybody may change");
    fs::set_permissions(&program, PermissionsExt::from_mode(0o755)).unwrap();
    assert_eq!(check(&hook), (Some(0), String::new()));
    refused(&format!("{hook}mask = true\n"), "[[hook]] mask: needs the key that [hooks] masking_key names");
    let (status, told) = ringtap(&["hooks", "-c", path.to_str().unwrap()]);
    assert!(status == Some(1) && told.contains("[[hook]] mask: needs the key"), "{told}");
}
