//! Sealed and signed by the daemon, verified, forgotten, changed.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on ends")]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::daemon::Place;
use crate::replayed::nothing;

const DEMO: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../demo/calls.pcap");

/// Exit status, standard output, standard error.
fn ringtap(arguments: &[&str]) -> (Option<i32>, String, String) {
    let output =
        Command::new(env!("CARGO_BIN_EXE_ringtap")).args(arguments).output().expect("the program starts");
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (output.status.code(), text(&output.stdout), text(&output.stderr))
}

fn segments(spool: &str) -> Vec<PathBuf> {
    let days = fs::read_dir(spool).unwrap().map(|day| day.unwrap().path()).filter(|day| day.is_dir());
    let files = days.flat_map(|day| fs::read_dir(day).unwrap().map(|file| file.unwrap().path()));
    let mut found: Vec<PathBuf> =
        files.filter(|file| file.extension().is_some_and(|kind| kind == "pcap")).collect();
    found.sort();
    found
}

#[test]
fn a_sealed_spool_is_proven_forgotten_in_part_and_a_change_found() {
    let dir = tempfile::tempdir().unwrap();
    let at = |name: &str| dir.path().join(name).to_str().unwrap().to_owned();
    let (spool, records, master, sign) = (at("spool"), at("records"), at("seal.key"), at("sign.pem"));
    let (status, _, told) = ringtap(&["key", "--seal", &master, "--sign", &sign]);
    assert_eq!(status, Some(0), "{told}");
    // What exists is not overwritten.
    let (status, _, told) = ringtap(&["key", "--seal", &master]);
    assert!(status == Some(1) && told.contains("seal.key"), "{told}");
    let public = format!("{sign}.pub");
    let mut place = Place::new(dir.path());
    let path = place.configure(&format!("files = [\"{DEMO}\"]\nspeed = \"max\""), "");
    let text = fs::read_to_string(&path).unwrap();
    let keys = format!("compress = \"zstd\"\nseal_command = \"cat {master}\"\nsign = \"{sign}\"");
    fs::write(&path, format!("{text}[spool]\ndirectory = \"{spool}\"\nsegment = \"5s\"\n{keys}\n")).unwrap();
    let (status, log) = place.start().end();
    assert!(status == Some(0) && log.contains("0 lost"), "{log}");

    let (status, shown, told) = ringtap(&["verify", &spool, "--key", &public]);
    assert_eq!(status, Some(0), "{shown}{told}");
    let all = segments(&spool);
    assert!(shown.contains(&format!("{} as sealed", all.len())) && told.is_empty(), "{shown}{told}");
    // Nothing that was said is on the disk as it was.
    let demo = fs::read(DEMO).unwrap();
    let invite = b"INVITE sip:";
    assert!(demo.windows(invite.len()).any(|window| window == invite));
    for path in &all {
        let bytes = fs::read(path).unwrap();
        assert!(!bytes.windows(invite.len()).any(|window| window == invite), "{}", path.display());
    }

    // Forgetting needs a yes, and the key of the chain.
    let call = place.calls().into_keys().next().unwrap();
    let forget =
        |more: &[&str]| ringtap(&[&["forget", &call, "--store", &records, "--spool", &spool], more].concat());
    let (status, _, told) = forget(&["--yes"]);
    assert!(status == Some(2) && told.contains("--sign"), "{told}");
    let (status, _, told) = forget(&["--sign", &sign]);
    assert!(status == Some(2) && told.contains("--yes"), "{told}");
    let (status, _, told) = forget(&["--sign", &sign, "--yes", "--why", "request 7"]);
    assert!(status == Some(0) && told.contains("signalling: ") && told.contains(" forgotten"), "{told}");
    let (status, _, told) = forget(&["--sign", &sign, "--yes"]);
    assert!(status == Some(0) && told.contains("already forgotten"), "{told}");
    let (status, shown, told) = ringtap(&["verify", &spool, "--key", &public]);
    assert_eq!(status, Some(0), "{shown}{told}");
    assert!(shown.contains("forgotten by order"), "{shown}");

    // What it prints, and what the daemon wrote to its log, is what `--head` reads; an empty spool is no
    // older state of this one.
    let head = shown.lines().find_map(|line| line.strip_prefix("  head ")).unwrap();
    assert!(log.contains(head), "{head} is not in: {log}");
    fs::write(at("heads"), &log).unwrap();
    let noted = |spool: &str| ringtap(&["verify", spool, "--key", &public, "--head", &at("heads")]);
    assert_eq!(noted(&spool).0, Some(0));
    fs::create_dir(at("empty")).unwrap();
    let (status, shown, _) = noted(&at("empty"));
    assert!(status == Some(3) && shown.contains("has no seals, and had seal"), "{shown}");
    let (status, _, told) = ringtap(&["verify", &spool, "--head", "w0-m:17"]);
    assert!(status == Some(1) && told.contains("w0-m:17"), "{told}");

    // A byte is changed; then the segment is removed.
    let path = &all[all.len() / 2];
    let mut bytes = fs::read(path).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    fs::write(path, bytes).unwrap();
    let name = format!("{}", Path::new(path).strip_prefix(&spool).unwrap().display());
    let (status, shown, _) = ringtap(&["verify", &spool, "--key", &public]);
    assert!(status == Some(3) && shown.starts_with(&name), "{shown}");
    fs::remove_file(path).unwrap();
    let (status, shown, _) = ringtap(&["verify", "--quick", &spool]);
    assert!(status == Some(3) && shown.starts_with(&name) && shown.contains("is gone"), "{shown}");
    let (status, _, told) = ringtap(&["verify", &spool, "--key", "nobody"]);
    assert!(status == Some(1) && told.contains("nobody"), "{told}");
}

#[test]
fn packets_that_somebody_puts_in_are_no_evidence() {
    let dir = tempfile::tempdir().unwrap();
    let at = |name: &str| dir.path().join(name).to_str().unwrap().to_owned();
    let (spool, records, master, sign) = (at("spool"), at("records"), at("seal.key"), at("sign.pem"));
    assert_eq!(ringtap(&["key", "--seal", &master, "--sign", &sign]).0, Some(0));
    let public = format!("{sign}.pub");
    let mut place = Place::new(dir.path());
    let keys = format!("seal = \"{master}\"\nsign = \"{sign}\"");
    let mut run = |capture: &str| {
        let path = place.configure(capture, "");
        let text = fs::read_to_string(&path).unwrap();
        fs::write(&path, format!("{text}[spool]\ndirectory = \"{spool}\"\nsegment = \"5s\"\n{keys}\n"))
            .unwrap();
        place.start().end()
    };
    let (status, log) = run(&format!("files = [\"{DEMO}\"]\nspeed = \"max\""));
    assert_eq!(status, Some(0), "{log}");
    let all = segments(&spool);
    let media = all.iter().find(|path| path.to_string_lossy().ends_with("-m-0.pcap")).unwrap();
    let forged = PathBuf::from(media.to_str().unwrap().replace("-m-0.", "-m-99."));
    fs::copy(media, &forged).unwrap();
    let name = forged.strip_prefix(&spool).unwrap().display().to_string();
    let (status, shown, _) = ringtap(&["verify", &spool, "--key", &public]);
    assert!(status == Some(3) && shown.starts_with(&format!("{name}: it has no seal")), "{shown}");
    let out = at("exports");
    let export =
        ["export", "--store", &records, "--spool", &spool, "--out", &out, "--pcap", "--key", &master];
    let (_, _, told) = ringtap(&export);
    assert!(told.contains("left out: 1 segment without a seal") && told.contains(&name), "{told}");
    // A restart does not seal it.
    let (_, log) = run(&nothing(dir.path()));
    assert!(log.contains(&format!("{name} has no seal")), "{log}");
    assert!(!forged.exists() && Path::new(&spool).join("quarantine").join(&name).exists());
    let (status, shown, told) = ringtap(&["verify", &spool, "--key", &public]);
    assert_eq!(status, Some(0), "{shown}{told}");
}

/// The daemon compares the spool with what it remembers beside the records.
#[test]
fn an_older_state_of_the_spool_is_reported_when_the_daemon_starts() {
    let dir = tempfile::tempdir().unwrap();
    let at = |name: &str| dir.path().join(name).to_str().unwrap().to_owned();
    let (spool, master, sign) = (at("spool"), at("seal.key"), at("sign.pem"));
    assert_eq!(ringtap(&["key", "--seal", &master, "--sign", &sign]).0, Some(0));
    let mut place = Place::new(dir.path());
    let heads = at("noted");
    let keys = format!("seal = \"{master}\"\nsign = \"{sign}\"\nheads = \"{heads}\"");
    let mut run = |capture: &str| {
        let path = place.configure(capture, "");
        let text = fs::read_to_string(&path).unwrap();
        fs::write(&path, format!("{text}[spool]\ndirectory = \"{spool}\"\nsegment = \"5s\"\n{keys}\n"))
            .unwrap();
        place.start().end()
    };
    let (status, log) = run(&format!("files = [\"{DEMO}\"]\nspeed = \"max\""));
    assert_eq!(status, Some(0), "{log}");
    let (_, log) = run(&nothing(dir.path()));
    assert!(!log.contains("not as it was left"), "{log}");
    // The newest segment goes, and the head of that time comes back.
    let media = segments(&spool).into_iter().filter(|path| path.to_string_lossy().contains("-m-"));
    let media: Vec<PathBuf> = media.collect();
    let [.., before, last] = &media[..] else { panic!("{media:?}") };
    fs::copy(before.with_extension("seal"), Path::new(&spool).join("w0-m.head")).unwrap();
    ["pcap", "idx", "keys", "seal"]
        .iter()
        .for_each(|kind| fs::remove_file(last.with_extension(kind)).unwrap());
    assert_eq!(ringtap(&["verify", &spool, "--key", &format!("{sign}.pub")]).0, Some(0));
    let (status, shown, _) = ringtap(&["verify", &spool, "--head", &heads]);
    assert!(status == Some(3) && shown.starts_with("w0-m.head: the chain ends with seal"), "{shown}");
    let (status, log) = run(&nothing(dir.path()));
    let told = "the spool is not as it was left: w0-m.head: the chain ends with seal";
    assert!(status == Some(0) && log.contains(told), "{log}");
}

#[test]
fn a_held_copy_is_proven_when_its_segments_are_gone() {
    let dir = tempfile::tempdir().unwrap();
    let at = |name: &str| dir.path().join(name).to_str().unwrap().to_owned();
    let (spool, records, master, sign) = (at("spool"), at("records"), at("seal.key"), at("sign.pem"));
    assert_eq!(ringtap(&["key", "--seal", &master, "--sign", &sign]).0, Some(0));
    let mut place = Place::new(dir.path());
    let run = |place: &mut Place, capture: &str, more: &str| {
        let path = place.configure(capture, "");
        let text = fs::read_to_string(&path).unwrap();
        let keys = format!("seal = \"{master}\"\nsign = \"{sign}\"");
        fs::write(&path, format!("{text}[spool]\ndirectory = \"{spool}\"\nsegment = \"5s\"\n{keys}\n{more}"))
            .unwrap();
        let (status, log) = place.start().end();
        assert_eq!(status, Some(0), "{log}");
    };
    run(&mut place, &format!("files = [\"{DEMO}\"]\nspeed = \"max\""), "");
    let calls = place.calls();
    let held = calls.iter().find(|(_, (_, streams))| streams.len() >= 2).unwrap().0.clone();
    let hold = ["hold", &held, "--case", "K-1", "--store", &records, "--spool", &spool];
    let (status, _, told) = ringtap(&hold);
    assert_eq!(status, Some(0), "{told}");
    // Every clock has run out for calls of the beginning of 2026.
    run(
        &mut place,
        &nothing(dir.path()),
        "[retention]\nsignalling = \"1m\"\nmedia = \"1m\"\nfree = \"0%\"\n",
    );
    let verify = || ringtap(&["verify", &spool, "--key", &format!("{sign}.pub")]);
    let (status, shown, told) = verify();
    assert_eq!(status, Some(0), "{shown}{told}");
    assert!(
        shown.contains("copies of held calls, as sealed") && shown.contains("deleted by order"),
        "{shown}"
    );
    let copy = segments(&at("spool/held")).pop().unwrap();
    let name = format!("{}", copy.strip_prefix(&spool).unwrap().display());
    let mut bytes = fs::read(&copy).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    fs::write(&copy, bytes).unwrap();
    let (status, shown, _) = verify();
    assert!(status == Some(3) && shown.starts_with(&name), "{shown}");
}

#[test]
fn a_key_that_others_may_read_is_refused_at_the_start() {
    use std::os::unix::fs::PermissionsExt;
    let dir = tempfile::tempdir().unwrap();
    let at = |name: &str| dir.path().join(name).to_str().unwrap().to_owned();
    fs::write(at("seal.key"), "ab".repeat(32)).unwrap();
    fs::set_permissions(at("seal.key"), PermissionsExt::from_mode(0o644)).unwrap();
    let place = Place::new(dir.path());
    let path = place.configure(&format!("files = [\"{DEMO}\"]\nspeed = \"max\""), "");
    let text = fs::read_to_string(&path).unwrap();
    let spool = format!("[spool]\ndirectory = \"{}\"\nseal = \"{}\"\n", at("spool"), at("seal.key"));
    fs::write(&path, format!("{text}{spool}")).unwrap();
    let (status, _, told) = ringtap(&["run", "-c", path.to_str().unwrap()]);
    assert!(status == Some(1) && told.contains("seal.key") && told.contains("chmod 600"), "{told}");
}
