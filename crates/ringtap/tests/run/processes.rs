//! The processes of a daemon: what each holds, and what it may do, as the kernel shows it.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on ends")]

use std::fs::{self, File};
use std::os::unix::fs::FileExt;
use std::path::Path;

use memchr::memmem;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use ringtap_testing::skip;
use rustix::process::geteuid;

use crate::daemon::{Daemon, Place, silence};
use crate::replayed::{files, ringtap};

/// A daemon's place with a key for each purpose: the master key.
fn sealed(place: &Place, capture: &str) -> Vec<u8> {
    let at = |name: &str| place.dir.join(name).to_str().unwrap().to_owned();
    if !Path::new(&at("seal.key")).exists() {
        let (status, told) = ringtap(&["key", "--seal", &at("seal.key"), "--sign", &at("sign.pem")]);
        assert_eq!(status, Some(0), "{told}");
    }
    let path = place.configure(capture, "");
    let text = fs::read_to_string(&path).unwrap();
    let keys = format!("seal = \"{}\"\nsign = \"{}\"\n", at("seal.key"), at("sign.pem"));
    let spool = format!(
        "[spool]\ndirectory = \"{}\"\nmemory = \"4MiB\"\nage = \"1s\"\nundecided = \"1MiB\"\n",
        at("spool")
    );
    fs::write(&path, format!("{text}{spool}{keys}")).unwrap();
    fs::read(at("seal.key")).unwrap().trim_ascii().to_vec()
}

/// The process that holds the keys.
fn holder(daemon: &Daemon) -> u32 {
    let children = fs::read_to_string(format!("/proc/{0}/task/{0}/children", daemon.id())).unwrap();
    let all: Vec<u32> = children.split_whitespace().map(|id| id.parse().unwrap()).collect();
    assert_eq!(all.len(), 1, "{children}");
    all[0]
}

/// The processes that a process has started.
pub(crate) fn children(process: u32) -> Vec<u32> {
    let children = fs::read_to_string(format!("/proc/{process}/task/{process}/children")).unwrap();
    children.split_whitespace().map(|id| id.parse().unwrap()).collect()
}

pub(crate) fn status(process: u32) -> String {
    fs::read_to_string(format!("/proc/{process}/status")).unwrap()
}

/// How often the bytes are in the memory of a process.
pub(crate) fn copies(process: u32, wanted: &[u8]) -> usize {
    let maps = fs::read_to_string(format!("/proc/{process}/maps")).unwrap();
    let memory = File::open(format!("/proc/{process}/mem")).unwrap();
    let mut found = 0;
    for line in maps.lines().filter(|line| line.contains(" rw")) {
        let (from, to) = line.split(' ').next().unwrap().split_once('-').unwrap();
        let [from, to] = [from, to].map(|at| u64::from_str_radix(at, 16).unwrap());
        let mut bytes = vec![0; (to - from) as usize];
        // Pages of devices cannot be read.
        if memory.read_exact_at(&mut bytes, from).is_ok() {
            found += memmem::find_iter(&bytes, wanted).count();
        }
    }
    found
}

fn unhex(digits: &[u8]) -> Vec<u8> {
    let digit = |byte: &u8| char::from(*byte).to_digit(16).unwrap() as u8;
    digits.chunks(2).map(|pair| digit(&pair[0]) << 4 | digit(&pair[1])).collect()
}

#[test]
fn the_master_key_is_in_one_process_once() {
    if !geteuid().is_root() {
        return skip("root", "the memory of other processes cannot be read");
    }
    let dir = tempfile::tempdir().unwrap();
    let mut place = Place::new(dir.path());
    let digits = sealed(&place, &files("1"));
    let mut daemon = place.start();
    daemon.counts("ringtap_spool_written_bytes_total", |bytes| bytes > 10_000);
    let (master, holder) = (unhex(&digits), holder(&daemon));
    for wanted in [&master, &digits] {
        assert_eq!(copies(daemon.id(), wanted), 0, "{} digits or bytes", wanted.len());
    }
    assert_eq!((copies(holder, &master), copies(holder, &digits)), (1, 0));
    daemon.signal("TERM");
    assert_eq!(daemon.end().0, Some(0));
}

#[test]
fn each_process_has_only_what_it_needs() {
    let dir = tempfile::tempdir().unwrap();
    let mut place = Place::new(dir.path());
    sealed(&place, &silence(dir.path()));
    let mut daemon = place.start();
    daemon.says("/metrics and /health");
    let holder = holder(&daemon);
    for process in [daemon.id(), holder] {
        let status = status(process);
        for line in ["Seccomp:\t2\n", "NoNewPrivs:\t1\n", "CapEff:\t0000000000000000\n", "CapBnd:\t"] {
            assert!(status.contains(line), "{line}{status}");
        }
        let limits = fs::read_to_string(format!("/proc/{process}/limits")).unwrap();
        let core = limits.lines().find(|line| line.starts_with("Max core file size")).unwrap();
        assert_eq!(core.split_whitespace().nth(5), Some("0"), "{core}");
    }
    // What it tried when it was confined, and was refused.
    let log = daemon.log();
    for process in ["capture", "keys"] {
        assert!(log.contains(&format!("run: the process for {process} is confined\n")), "{log}");
    }
    match fs::read_dir(format!("/proc/{holder}/fd")) {
        Ok(open) => {
            let target = |fd: fs::DirEntry| fs::read_link(fd.path()).unwrap().display().to_string();
            let mut open: Vec<String> = open.map(|fd| target(fd.unwrap())).collect();
            open.retain(|target| !target.starts_with("socket:") && target != "/dev/null");
            // Pipes that this test was started with are passed on.
            let own: Vec<_> = fs::read_dir("/proc/self/fd").unwrap().flatten().map(|fd| fd.path()).collect();
            let own: Vec<_> = own.iter().filter_map(|fd| fs::read_link(fd).ok()).collect();
            open.retain(|target| !own.contains(&target.into()));
            // Its log, and nothing else that has a name.
            assert_eq!(open, [daemon.log_file().display().to_string()]);
        }
        Err(error) => skip("root", error),
    }
    daemon.signal("TERM");
    assert_eq!(daemon.end().0, Some(0));
    assert!(!Path::new(&format!("/proc/{holder}")).exists(), "it ends with the daemon");
}

#[test]
fn the_daemon_stops_when_the_process_with_the_keys_is_gone() {
    let dir = tempfile::tempdir().unwrap();
    let mut place = Place::new(dir.path());
    sealed(&place, &files("1"));
    let mut daemon = place.start();
    daemon.counts("ringtap_spool_written_bytes_total", |bytes| bytes > 10_000);
    kill(Pid::from_raw(holder(&daemon).cast_signed()), Signal::SIGKILL).unwrap();
    let (status, log) = daemon.end();
    assert_eq!(status, Some(1), "{log}");
    assert!(log.contains("error run: the process for the keys has ended: stopping"), "{log}");

    // The next start seals what was left open; nothing is lost that was on the disk.
    sealed(&place, &silence(dir.path()));
    let mut daemon = place.start();
    daemon.says("/metrics and /health");
    daemon.signal("TERM");
    assert_eq!(daemon.end().0, Some(0));
    let at = |name: &str| dir.path().join(name).to_str().unwrap().to_owned();
    let (status, told) = ringtap(&["verify", &at("spool"), "--key", &at("sign.pem.pub")]);
    assert_eq!(status, Some(0), "{told}");
}

/// The daemon gets a signal for its whole group at a terminal, and so do its processes.
#[test]
fn a_signal_to_all_processes_ends_them_in_order() {
    let dir = tempfile::tempdir().unwrap();
    let mut place = Place::new(dir.path());
    sealed(&place, &files("1"));
    let mut daemon = place.start();
    daemon.counts("ringtap_spool_written_bytes_total", |bytes| bytes > 10_000);
    kill(Pid::from_raw(holder(&daemon).cast_signed()), Signal::SIGINT).unwrap();
    daemon.signal("INT");
    let (status, log) = daemon.end();
    assert!(status == Some(0) && !log.contains("has ended"), "{log}");
}
