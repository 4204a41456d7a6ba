//! Who may reach a running daemon, and what it leaves for others to read.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on ends")]

use std::fs;
use std::io::Write;
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use ringtap_testing::skip;
use rustix::process::{Uid, geteuid};
use rustix::thread::set_thread_res_uid;

use crate::daemon::{Place, silence};
use crate::replayed::{files, ringtap};

/// A user without rights, on every Linux.
const NOBODY: u32 = 65_534;

/// Whether the test may become somebody else.
fn is_root() -> bool {
    let root = geteuid().is_root();
    if !root {
        skip("root", "other users cannot be played");
    }
    root
}

/// A daemon's configuration with a control socket at that path.
fn configure(place: &Place, control: &Path, process: &str) {
    let path = place.configure(&silence(&place.dir), "");
    let text = fs::read_to_string(&path).unwrap();
    let (dir, control) = (place.dir.display(), control.display());
    let more = format!("[process]\ncontrol = \"{control}\"\n{process}[spool]\ndirectory = \"{dir}/spool\"\n");
    fs::write(&path, text + &more).unwrap();
}

/// Root would follow links on its way to the socket, and give away what they lead to.
#[test]
fn the_control_socket_is_made_by_the_daemons_user_with_its_mode_at_once() {
    if !is_root() {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    chown(dir.path(), Some(NOBODY), None).unwrap();
    let mut place = Place::new(dir.path());
    // The user may not write here: nothing may be made on its behalf.
    fs::create_dir(dir.path().join("roots")).unwrap();
    configure(&place, &dir.path().join("roots/control"), "user = \"nobody\"\n");
    let (status, log) = place.start().end();
    assert_eq!(status, Some(1), "{log}");
    assert!(log.contains("roots/control") && log.contains("may write to"), "{log}");
    assert_eq!(fs::read_dir(dir.path().join("roots")).unwrap().count(), 0);

    let control = dir.path().join("run/ringtap/control");
    configure(&place, &control, "user = \"nobody\"\n");
    let mut daemon = place.start();
    daemon.says("/metrics and /health");
    let socket = fs::metadata(&control).unwrap();
    assert_eq!((socket.uid(), socket.mode() & 0o7777), (NOBODY, 0o660));
    let made = fs::metadata(control.parent().unwrap()).unwrap();
    assert_eq!((made.uid(), made.mode() & 0o7777), (NOBODY, 0o750));
    let (status, told) = ringtap(&["pause", "nobody@nowhere", "--control", control.to_str().unwrap()]);
    assert_eq!(status, Some(1), "{told}");
    daemon.says("control: pause nobody@nowhere by user 0, process ");
    daemon.signal("TERM");
    assert_eq!(daemon.end().0, Some(0));
}

/// Sixteen connections that say nothing were enough.
#[test]
fn slow_clients_of_one_user_lock_nobody_else_out() {
    if !is_root() {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    fs::set_permissions(dir.path(), PermissionsExt::from_mode(0o755)).unwrap();
    let mut place = Place::new(dir.path());
    let control = dir.path().join("control");
    configure(&place, &control, "");
    let mut daemon = place.start();
    daemon.says("/metrics and /health");
    let (path, uid) = (control.clone(), Uid::from_raw(NOBODY));
    let slow = thread::spawn(move || {
        // Of this thread alone; its group still may write to the socket.
        set_thread_res_uid(uid, uid, uid).unwrap();
        let connect = |_| {
            let mut connection = UnixStream::connect(&path).unwrap();
            // The daemon may have refused it meanwhile.
            let _ = connection.write_all(b"{");
            connection
        };
        (0..40).map(connect).collect::<Vec<_>>()
    });
    let slow = slow.join().unwrap();
    let (status, told) = ringtap(&["rules", "--control", control.to_str().unwrap()]);
    assert_eq!(status, Some(0), "{told}");
    daemon.says("too many connections of user 65534");
    drop(slow);
    daemon.signal("TERM");
    assert_eq!(daemon.end().0, Some(0));
}

/// All files below a directory, and the directories.
fn all(dir: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if fs::symlink_metadata(&path).unwrap().is_dir() {
            found.extend(all(&path));
        }
        found.push(path);
    }
    found
}

#[test]
fn whatever_the_umask_nothing_is_for_everybody() {
    let dir = tempfile::tempdir().unwrap();
    let place = Place::new(dir.path());
    let path = place.configure(&files("\"max\""), "");
    let text = fs::read_to_string(&path).unwrap();
    let at = |name: &str| dir.path().join(name).to_str().unwrap().to_owned();
    fs::write(&path, format!("{text}[spool]\ndirectory = \"{}\"\n", at("spool"))).unwrap();
    place.ignore_free_space();
    let open = |arguments: &[&str]| {
        let program = env!("CARGO_BIN_EXE_ringtap");
        let mut shell = Command::new("/bin/sh");
        shell.args(["-c", "umask 0; exec \"$0\" \"$@\"", program]).args(arguments);
        let output = shell.output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    };
    fs::create_dir(at("written")).unwrap();
    open(&["run", "-c", path.to_str().unwrap()]);
    open(&["generate", "--calls", "2", "--out", &at("written/calls.pcap")]);
    open(&["analyze", &at("written/calls.pcap"), "--store", &at("written/records")]);
    let written = ["records", "outbox", "spool", "written"].map(|name| all(&dir.path().join(name))).concat();
    assert!(written.len() > 10, "{written:?}");
    for path in written {
        let mode = fs::symlink_metadata(&path).unwrap().mode();
        assert_eq!(mode & 0o027, 0, "{}: {mode:o}", path.display());
    }
}

/// The spool's owner puts a link where root's commands write: neither the owner nor the content of what it
/// leads to changes, and nothing is made there.
#[test]
fn root_follows_no_link_that_the_spools_owner_has_put_there() {
    if !is_root() {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    fs::set_permissions(dir.path(), PermissionsExt::from_mode(0o755)).unwrap();
    let mut place = Place::new(dir.path());
    let at = |name: &str| dir.path().join(name).to_str().unwrap().to_owned();
    let path = place.configure(&files("\"max\""), "");
    let text = fs::read_to_string(&path).unwrap();
    fs::write(&path, format!("{text}[spool]\ndirectory = \"{}\"\n", at("spool"))).unwrap();
    assert_eq!(place.start().end().0, Some(0));
    let call = place.calls().into_keys().next().unwrap();
    let (prey, file) = (dir.path().join("prey"), dir.path().join("prey/file"));
    fs::create_dir(&prey).unwrap();
    fs::write(&file, "root's alone").unwrap();
    fs::set_permissions(&file, PermissionsExt::from_mode(0o600)).unwrap();

    let records = ["--store", &at("records"), "--spool", &at("spool")];
    let links = [
        ("holds", &prey),
        ("holds/K-1", &prey),
        ("holds/K-1/fresh", &file),
        ("deletions.log", &file),
        ("deletions.new", &file),
        ("held", &prey),
        ("far", &prey),
    ];
    for (link, target) in links {
        let spool = dir.path().join("spool");
        for name in ["holds", "deletions.log", "deletions.new", "held", "far"] {
            let path = spool.join(name);
            let _ = fs::remove_file(&path).or_else(|_| fs::remove_dir_all(&path));
        }
        let link = match link.strip_suffix("fresh") {
            // The draft of the hold that will be written.
            Some(case) => {
                assert_eq!(ringtap(&[&["hold", &call, "--case", "K-1"], &records[..]].concat()).0, Some(0));
                let hold = all(&spool.join(case)).remove(0);
                hold.with_extension("part")
            }
            None => spool.join(link),
        };
        fs::create_dir_all(link.parent().unwrap()).unwrap();
        std::os::unix::fs::symlink(target, &link).unwrap();
        for path in all(&spool).iter().chain(&all(&dir.path().join("records"))).chain([&spool]) {
            std::os::unix::fs::lchown(path, Some(NOBODY), Some(NOBODY)).unwrap();
        }
        chown(dir.path().join("records"), Some(NOBODY), Some(NOBODY)).unwrap();

        // They may fail, with a message: it is the owner's own doing.
        for command in ["hold", "release", "holds", "forget"] {
            let (more, stores): (&[&str], &[&str]) = match command {
                "forget" => (&[&call, "--yes"], &records),
                "hold" => (&[&call, "--case", "K-1"], &records),
                "holds" => (&[], &records[2..]),
                _ => (&["--case", "K-1"], &records),
            };
            let (status, told) = ringtap(&[&[command], more, stores].concat());
            assert!(status.is_some_and(|status| status < 4), "{command}: {told}");
            let found = all(&prey);
            assert_eq!(found, std::slice::from_ref(&file), "{command} with {}", link.display());
            for path in [&prey, &file] {
                let owner = fs::metadata(path).unwrap().uid();
                assert_eq!(owner, 0, "{command} with {}: {}", link.display(), path.display());
            }
            let content = fs::read_to_string(&file).unwrap();
            assert_eq!(content, "root's alone", "{command} with {}", link.display());
        }
    }
}

/// Seen while the program waits for its key: a pipe that nobody writes to.
#[test]
fn a_program_that_reads_keys_leaves_no_core_dump() {
    let dir = tempfile::tempdir().unwrap();
    let key = dir.path().join("key");
    nix::unistd::mkfifo(&key, nix::sys::stat::Mode::from_bits_truncate(0o600)).unwrap();
    let mut child = Command::new(env!("CARGO_BIN_EXE_ringtap"))
        .args(["forget", "x", "--why", "x", "--store", ".", "--spool", ".", "--sign"])
        .arg(&key)
        .current_dir(dir.path())
        .spawn()
        .unwrap();
    let limits = PathBuf::from(format!("/proc/{}/limits", child.id()));
    let deadline = Instant::now() + Duration::from_secs(25);
    let forbidden = || {
        let limits = fs::read_to_string(&limits).unwrap();
        let core = limits.lines().find(|line| line.starts_with("Max core file size")).unwrap();
        core.split_whitespace().nth(5) == Some("0")
    };
    while !forbidden() && Instant::now() < deadline {
        thread::sleep(Duration::from_millis(10));
    }
    let was_forbidden = forbidden();
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(was_forbidden);
}
