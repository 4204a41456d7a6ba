//! The audit log: what is done to it is found and named, and what it cannot record is not done.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on ends")]

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use ringtap_access::{
    Action, Actor, AuditLog, AuditQuery, AuditReader, Day, Error, Flaw, Head, NewEntry, Piece, PublicKey,
    Verified, What,
};
use ringtap_model::Nanos;

/// 2026-11-21, 10:00 UTC.
const NOW: Nanos = Nanos::from_secs(1_795_255_200);
const DAY: Nanos = Nanos::from_secs(86_400);

fn entry(time: Nanos, number: u32) -> NewEntry {
    let actor = Actor { who: "ana".to_owned(), role: None, from: "192.0.2.7".to_owned() };
    let what = What::from("number:").number(format!("+49301234{number:03}"));
    NewEntry { time, actor, action: Action::Search, what, reason: None }
}

/// A log of 8 entries on one day.
fn eight(dir: &Path) -> AuditLog {
    let log = AuditLog::open(dir).unwrap();
    for number in 0..8 {
        assert_eq!(log.append(&entry(NOW, number)).unwrap(), u64::from(number));
    }
    log
}

fn files(dir: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(dir.join("audit")).unwrap().map(|entry| entry.unwrap().path());
    let mut files: Vec<PathBuf> =
        entries.filter(|path| path.extension().is_some_and(|end| end == "jsonl")).collect();
    files.sort();
    files
}

fn verify(dir: &Path) -> Verified {
    AuditReader::open(dir).unwrap().verify(None, &[]).unwrap()
}

/// File, line, entry and flaw of the first fault.
fn fault(dir: &Path) -> Option<(String, u64, u64, Flaw)> {
    let fault = verify(dir).fault?;
    let name = fault.file.file_name().unwrap().to_string_lossy().into_owned();
    Some((name, fault.line, fault.entry, fault.flaw))
}

fn lines(path: &Path) -> Vec<String> {
    fs::read_to_string(path).unwrap().split_inclusive('\n').map(str::to_owned).collect()
}

const FIRST: &str = "000000000000-2026-11-21.jsonl";

#[test]
fn entries_are_read_back_newest_first_with_their_numbers_on_request() {
    let dir = tempfile::tempdir().unwrap();
    let log = eight(dir.path());
    let query = AuditQuery { limit: 3, numbers: true, ..AuditQuery::default() };
    let page = log.reader().read(&query).unwrap();
    assert!(page.more && page.damaged == 0);
    assert_eq!(page.entries.iter().map(|entry| entry.number).collect::<Vec<_>>(), [7, 6, 5]);
    assert_eq!(page.entries[0].what.to_string(), "number:+49301234007");
    assert_eq!(page.entries[0].previous, page.entries[1].hash);
    let query = AuditQuery { before: Some(5), ..AuditQuery::default() };
    let page = log.reader().read(&query).unwrap();
    assert!(!page.more);
    assert_eq!(page.entries.iter().map(|entry| entry.number).collect::<Vec<_>>(), [4, 3, 2, 1, 0]);
    assert_eq!(page.entries[4].what.pieces(), [Piece::Text("number:".into()), Piece::Hidden]);
    let stored = fs::read_to_string(&files(dir.path())[0]).unwrap();
    assert!(!stored.contains("49301234"), "a number lies open on the disk");
}

#[test]
fn filters_select_by_who_when_where_what_and_why() {
    let dir = tempfile::tempdir().unwrap();
    let log = eight(dir.path());
    let bob = Actor { who: "bob".to_owned(), role: None, from: "2001:db8::7".to_owned() };
    let what = What::from("call 4f2a");
    let reason = Some("Ticket 77".to_owned());
    log.append(&NewEntry { time: NOW + DAY, actor: bob, action: Action::Listen, what, reason }).unwrap();
    let found = |query: AuditQuery| {
        let page = log.reader().read(&query).unwrap();
        page.entries.iter().map(|entry| entry.number).collect::<Vec<_>>()
    };
    let all = AuditQuery::default;
    assert_eq!(found(AuditQuery { who: Some("b*".parse().unwrap()), ..all() }), [8]);
    assert_eq!(found(AuditQuery { from: Some("192.0.2.*".parse().unwrap()), limit: 1, ..all() }), [7]);
    assert_eq!(found(AuditQuery { actions: vec![Action::Listen, Action::Export], ..all() }), [8]);
    assert_eq!(found(AuditQuery { since: NOW + Nanos(1_000), ..all() }), [8]);
    assert_eq!(found(AuditQuery { until: NOW + DAY, limit: 1, ..all() }), [7]);
    assert_eq!(found(AuditQuery { text: Some("tICKET".into()), ..all() }), [8]);
    let number = || Some("1234003".to_owned());
    assert_eq!(found(AuditQuery { text: number(), numbers: true, ..all() }), [3]);
    assert_eq!(found(AuditQuery { text: number(), ..all() }), [0; 0], "who may not see it may not find it");
}

#[test]
fn a_log_as_it_was_written_is_proven() {
    let dir = tempfile::tempdir().unwrap();
    let log = eight(dir.path());
    let verified = verify(dir.path());
    assert_eq!((verified.files, verified.entries, verified.torn, verified.fault), (1, 8, false, None));
    assert_eq!((verified.head.clone(), verified.key), (log.head().unwrap(), log.public_key()));
    let noted: Head = verified.head.unwrap().to_string().parse().unwrap();
    drop(log);
    let log = AuditLog::open(dir.path()).unwrap();
    assert_eq!(log.append(&entry(NOW, 8)).unwrap(), 8);
    let reader = log.reader();
    assert_eq!(reader.verify(Some(log.public_key()), std::slice::from_ref(&noted)).unwrap().fault, None);
    let other = Head { hash: noted.hash.replace(|_: char| true, "0"), ..noted };
    let fault = reader.verify(None, &[other]).unwrap().fault.unwrap();
    assert_eq!((fault.line, fault.entry, fault.flaw), (8, 7, Flaw::Noted));
    let fault = reader.verify(Some(PublicKey([7; 32])), &[]).unwrap().fault.unwrap();
    assert_eq!((fault.line, fault.flaw), (1, Flaw::Signature));
    let shown = fault.to_string();
    assert!(shown.ends_with("jsonl, line 1: entry 0 is not signed by the key"), "{shown}");
}

#[test]
fn a_change_of_any_byte_is_found_in_its_line() {
    let dir = tempfile::tempdir().unwrap();
    eight(dir.path());
    let path = &files(dir.path())[0];
    let whole = fs::read(path).unwrap();
    let end_of_seven = whole[..whole.len() - 1].iter().rposition(|byte| *byte == b'\n').unwrap() + 1;
    // Each byte of two lines; every seventh of the others.
    for at in (0..whole.len()).filter(|at| *at < 600 || *at >= end_of_seven || at % 7 == 0) {
        let mut bad = whole.clone();
        bad[at] ^= 1;
        fs::write(path, &bad).unwrap();
        let line = whole[..at].iter().filter(|byte| **byte == b'\n').count() as u64 + 1;
        let found = verify(dir.path()).fault.unwrap_or_else(|| panic!("byte {at} of line {line}"));
        assert_eq!((found.line, found.entry), (line, line - 1), "byte {at}: {found}");
    }
    fs::write(path, &whole).unwrap();
    assert_eq!(fault(dir.path()), None);
}

#[test]
fn removed_reordered_repeated_and_replaced_entries_are_named() {
    let dir = tempfile::tempdir().unwrap();
    eight(dir.path());
    let path = &files(dir.path())[0];
    let lines = lines(path);
    let other = tempfile::tempdir().unwrap();
    eight(other.path());
    let foreign = self::lines(&files(other.path())[0])[3].clone();
    let mut replaced = lines.clone();
    replaced[3] = foreign;
    let pick = |numbers: &[usize]| numbers.iter().map(|at| lines[*at].clone()).collect::<Vec<_>>();
    for (what, text, line, entry, flaw) in [
        ("one removed", pick(&[0, 1, 3, 4, 5, 6, 7]), 3, 2, Flaw::Removed),
        ("the first removed", pick(&[1, 2, 3, 4, 5, 6, 7]), 1, 0, Flaw::Removed),
        ("two exchanged", pick(&[0, 2, 1, 3, 4, 5, 6, 7]), 2, 1, Flaw::Reordered),
        ("one moved to the end", pick(&[0, 1, 3, 4, 5, 6, 7, 2]), 3, 2, Flaw::Reordered),
        ("one twice", pick(&[0, 1, 1, 2, 3, 4, 5, 6, 7]), 3, 2, Flaw::Repeated),
        ("one of another log", replaced, 4, 3, Flaw::Chain),
        ("the end removed", pick(&[0, 1, 2, 3, 4]), 0, 5, Flaw::CutOff),
        ("all removed", vec![], 0, 0, Flaw::CutOff),
        ("the last one cut", [pick(&[0, 1, 2, 3, 4, 5, 6]), vec![lines[7][..90].into()]].concat(), 8, 7, {
            Flaw::NotAnEntry
        }),
    ] {
        fs::write(path, text.concat()).unwrap();
        assert_eq!(fault(dir.path()), Some((FIRST.to_owned(), line, entry, flaw)), "{what}");
        assert!(matches!(AuditLog::open(dir.path()), Err(Error::Log { .. })) || line < 8, "{what}");
    }
}

#[test]
fn a_log_with_a_fault_at_its_end_is_not_continued() {
    let dir = tempfile::tempdir().unwrap();
    drop(eight(dir.path()));
    let path = &files(dir.path())[0];
    let lines = lines(path);
    for text in [lines[..5].concat(), lines[..7].concat() + &lines[7][..90], lines[1..].concat()] {
        fs::write(path, &text).unwrap();
        let Err(error) = AuditLog::open(dir.path()) else { panic!("it was opened: {text}") };
        let shown = error.to_string();
        assert!(shown.contains(FIRST) && shown.contains("ringtap audit --verify"), "{shown}");
        assert_eq!(fs::read_to_string(path).unwrap(), text, "nothing is changed");
    }
    fs::remove_file(path).unwrap();
    let shown = AuditLog::open(dir.path()).err().unwrap().to_string();
    assert!(shown.contains("once had 8 entries"), "{shown}");
}

/// Who has not the key can compute hashes, and no signatures.
#[test]
fn an_entry_that_somebody_writes_without_the_key_is_named() {
    use sha2::{Digest, Sha256};
    let dir = tempfile::tempdir().unwrap();
    eight(dir.path());
    let path = &files(dir.path())[0];
    let last = lines(path).pop().unwrap();
    let hash = |text: &str| Sha256::digest(text).iter().map(|byte| format!("{byte:02x}")).collect::<String>();
    let (text, rest) = last.split_once(",\"hash\":\"").unwrap();
    let previous = &rest[..64];
    let old = &text[text.find("\"previous\":\"").unwrap() + 12..][..64];
    let text = text.replace(old, previous).replace("\"number\":7", "\"number\":8");
    let signature = &rest[rest.len() - 131..];
    let forged = format!("{text},\"hash\":\"{}\",\"signature\":\"{signature}", hash(&text));
    fs::write(path, lines(path).concat() + &forged).unwrap();
    assert_eq!(fault(dir.path()), Some((FIRST.to_owned(), 9, 8, Flaw::Signature)));
    assert!(matches!(AuditLog::open(dir.path()), Err(Error::Log { line: 9, .. })));
}

#[test]
fn missing_files_heads_and_keys_are_named() {
    let dir = tempfile::tempdir().unwrap();
    let log = eight(dir.path());
    for day in 1..4 {
        log.append(&entry(NOW + Nanos(DAY.0 * day), 8)).unwrap();
    }
    drop(log);
    let files = files(dir.path());
    let names: Vec<_> = files.iter().map(|path| path.file_name().unwrap().to_str().unwrap()).collect();
    assert_eq!(
        names[1..],
        ["000000000008-2026-11-22.jsonl", "000000000009-2026-11-23.jsonl", "000000000010-2026-11-24.jsonl"]
    );
    assert_eq!(fault(dir.path()), None);
    let aside = dir.path().join("aside");
    for (file, expected) in [
        (&files[0], ("000000000008-2026-11-22.jsonl", 1, 0, Flaw::Removed)),
        (&files[1], ("000000000009-2026-11-23.jsonl", 1, 8, Flaw::Removed)),
        (&files[3], ("000000000009-2026-11-23.jsonl", 0, 10, Flaw::CutOff)),
    ] {
        fs::rename(file, &aside).unwrap();
        let (name, line, entry, flaw) = expected;
        assert_eq!(fault(dir.path()), Some((name.to_owned(), line, entry, flaw)));
        fs::rename(&aside, file).unwrap();
    }
    let renamed = files[2].with_file_name("000000000009-2026-11-25.jsonl");
    fs::rename(&files[2], &renamed).unwrap();
    assert_eq!(fault(dir.path()).unwrap().3, Flaw::Day);
    fs::rename(&renamed, &files[2]).unwrap();
    let head = dir.path().join("audit/head");
    fs::rename(&head, &aside).unwrap();
    assert_eq!(fault(dir.path()), Some(("head".to_owned(), 0, 10, Flaw::Head)));
    assert!(AuditLog::open(dir.path()).err().unwrap().to_string().contains("head"));
    fs::rename(&aside, &head).unwrap();
    fs::remove_file(dir.path().join("audit/sign.pem")).unwrap();
    assert!(AuditLog::open(dir.path()).err().unwrap().to_string().contains("sign.pem"));
}

/// An older head is one that an attacker may have kept: it proves less, and nothing false.
#[test]
fn an_older_head_is_no_fault_and_another_logs_head_is_one() {
    let dir = tempfile::tempdir().unwrap();
    let log = AuditLog::open(dir.path()).unwrap();
    let head = dir.path().join("audit/head");
    let empty = fs::read(&head).unwrap();
    log.append(&entry(NOW, 0)).unwrap();
    let first = fs::read(&head).unwrap();
    assert_ne!(empty, first);
    drop(log);
    fs::write(&head, &empty).unwrap();
    assert_eq!(fault(dir.path()), None);
    let other = tempfile::tempdir().unwrap();
    eight(other.path());
    fs::copy(other.path().join("audit/head"), &head).unwrap();
    assert_eq!(fault(dir.path()).unwrap().3, Flaw::Head);
    assert!(AuditLog::open(dir.path()).is_err());
}

#[test]
fn an_entry_that_a_power_cut_left_incomplete_is_cut_off_and_that_is_recorded() {
    let dir = tempfile::tempdir().unwrap();
    drop(eight(dir.path()));
    let path = &files(dir.path())[0];
    let whole = fs::read(path).unwrap();
    let after = {
        let log = AuditLog::open(dir.path()).unwrap();
        log.append(&entry(NOW, 8)).unwrap();
        fs::read(path).unwrap()
    };
    let head = dir.path().join("audit/head");
    for cut in (1..after.len() - whole.len()).step_by(23).chain([after.len() - whole.len() - 1]) {
        // What was there before the entry, and a part of it: bytes, zeros, or bytes and zeros.
        let part = &after[whole.len()..whole.len() + cut];
        let zeros = vec![0; cut];
        let mixed = [&part[..cut / 2], &zeros[cut / 2..]].concat();
        for torn in [part, &zeros, &mixed] {
            let other = tempfile::tempdir().unwrap();
            copy(dir.path(), other.path());
            let path = &files(other.path())[0];
            fs::write(path, [&whole[..], torn].concat()).unwrap();
            // The head as it was then: that of seven or eight entries.
            let mut slots = fs::read(&head).unwrap();
            slots[512..].fill(b' ');
            fs::write(other.path().join("audit/head"), slots).unwrap();
            let verified = verify(other.path());
            assert_eq!((verified.entries, verified.torn, verified.fault), (8, true, None), "{cut} bytes");
            let log = AuditLog::open(other.path()).unwrap();
            assert_eq!(log.append(&entry(NOW, 9)).unwrap(), 9);
            let entries = log.reader().read(&AuditQuery::default()).unwrap().entries;
            assert_eq!(entries[1].action, Action::Recovered);
            assert_eq!(entries[1].what.to_string(), format!("{cut} bytes of an incomplete entry cut off"));
            assert_eq!((entries.len(), fault(other.path())), (10, None));
        }
    }
}

fn copy(from: &Path, to: &Path) {
    for entry in fs::read_dir(from).unwrap().map(Result::unwrap) {
        let target = to.join(entry.file_name());
        if entry.path().is_dir() {
            fs::create_dir(&target).unwrap();
            copy(&entry.path(), &target);
        } else {
            fs::copy(entry.path(), target).unwrap();
        }
    }
}

#[test]
fn what_cannot_be_recorded_is_refused_and_leaves_nothing_behind() {
    let dir = tempfile::tempdir().unwrap();
    let log = eight(dir.path());
    let before = fs::read(&files(dir.path())[0]).unwrap();
    // Another day needs another file.
    let audit = dir.path().join("audit");
    let blocked = audit.join("000000000008-2026-11-22.jsonl");
    fs::create_dir(&blocked).unwrap();
    let error = log.append(&entry(NOW + DAY, 8)).unwrap_err();
    assert!(error.to_string().contains("000000000008-2026-11-22.jsonl"), "{error}");
    assert_eq!(fs::read(&files(dir.path())[0]).unwrap(), before);
    fs::remove_dir(&blocked).unwrap();
    assert_eq!(log.append(&entry(NOW + DAY, 8)).unwrap(), 8, "the next one may be recorded");
    // Somebody removes the log under a process that writes it.
    fs::remove_file(&blocked).unwrap();
    fs::write(audit.join("lock"), [0; 8]).unwrap();
    assert!(matches!(log.append(&entry(NOW + DAY, 9)), Err(Error::Log { .. })));
}

#[test]
fn threads_and_processes_append_to_one_chain() {
    let dir = tempfile::tempdir().unwrap();
    let logs: Vec<AuditLog> = (0..3).map(|_| AuditLog::open(dir.path()).unwrap()).collect();
    std::thread::scope(|scope| {
        for (at, log) in logs.iter().cycle().take(12).enumerate() {
            scope.spawn(move || {
                for number in 0..20 {
                    // Two days in turn, so that files end while others write.
                    let time = Nanos(NOW.0 + DAY.0 * (number / 10 + u64::from(at % 2 == 0)));
                    log.append(&entry(time, number as u32)).unwrap();
                }
            });
        }
    });
    let verified = verify(dir.path());
    assert_eq!((verified.entries, verified.fault, verified.torn), (240, None, false));
    assert!(verified.files > 2);
    assert_eq!(verified.head, logs[0].head().unwrap());
}

#[test]
fn forgetting_makes_numbers_unreadable_and_leaves_the_chain_proven() {
    let dir = tempfile::tempdir().unwrap();
    let log = eight(dir.path());
    log.append(&entry(NOW + DAY, 100)).unwrap();
    let keys = dir.path().join("audit/keys");
    let key = fs::read_to_string(keys.join("2026-11-21.key")).unwrap();
    let by = Actor { who: "olga".to_owned(), role: None, from: "192.0.2.9".to_owned() };
    // The present day is left out, whatever is asked for.
    let far: Day = "2027-01-01".parse().unwrap();
    let reason = Some("90 days are over".to_owned());
    assert_eq!(log.forget_before(far, by.clone(), reason, NOW + DAY).unwrap(), 1);
    let query = AuditQuery { numbers: true, ..AuditQuery::default() };
    let entries = log.reader().read(&query).unwrap().entries;
    assert_eq!((entries[0].action, entries[0].actor.who.as_str()), (Action::Forget, "olga"));
    assert_eq!(entries[0].what.to_string(), "numbers in the audit log before 2026-11-22");
    assert_eq!(entries[1].what.to_string(), "number:+49301234100");
    assert!(entries[2..].iter().all(|entry| entry.what.pieces()[1] == Piece::Forgotten));
    assert_eq!(entries[2].what.to_string(), "number:(forgotten)");
    assert_eq!((verify(dir.path()).entries, fault(dir.path())), (10, None));
    assert!(!keys.join("2026-11-21.key").exists());
    for path in files(dir.path()) {
        assert!(!fs::read_to_string(path).unwrap().contains(key.trim()));
    }
    assert_eq!(log.forget_before(far, by, None, NOW + DAY).unwrap(), 0, "once");
}

#[test]
fn a_sealed_number_that_is_moved_to_another_entry_does_not_open() {
    let dir = tempfile::tempdir().unwrap();
    eight(dir.path());
    let path = &files(dir.path())[0];
    let lines = lines(path);
    let sealed =
        |line: &str| line.split("\"sealed\":\"").nth(1).unwrap().split('"').next().unwrap().to_owned();
    assert_ne!(sealed(&lines[0]), sealed(&lines[1]));
    fs::write(path, lines.concat().replace(&sealed(&lines[1]), &sealed(&lines[0]))).unwrap();
    assert_eq!(fault(dir.path()), Some((FIRST.to_owned(), 2, 1, Flaw::Changed)));
}

#[test]
fn long_and_hostile_texts_stay_one_bounded_line() {
    let dir = tempfile::tempdir().unwrap();
    let log = AuditLog::open(dir.path()).unwrap();
    let text = "\u{0}\n\r\u{2028}\"}\u{202e}ä".repeat(9_000);
    let actor = Actor { who: text.clone(), role: None, from: text.clone() };
    let what = What::from(text.as_str()).number(text.as_str());
    log.append(&NewEntry { time: NOW, actor, action: Action::View, what, reason: Some(text) }).unwrap();
    log.append(&entry(NOW, 1)).unwrap();
    let stored = fs::read(&files(dir.path())[0]).unwrap();
    assert!(stored.len() < 40_000, "{} bytes", stored.len());
    assert_eq!(stored.iter().filter(|byte| **byte == b'\n').count(), 2);
    assert_eq!((verify(dir.path()).entries, fault(dir.path())), (2, None));
    let page = log.reader().read(&AuditQuery { numbers: true, ..AuditQuery::default() }).unwrap();
    assert!(page.entries[1].what.to_string().ends_with('…') && page.entries[1].reason.is_some());
}

#[test]
fn nobody_else_can_read_the_log_or_its_keys() {
    let dir = tempfile::tempdir().unwrap();
    let console = dir.path().join("new/console");
    drop(eight(&console));
    let mut seen = 0;
    let mut dirs = vec![console];
    while let Some(dir) = dirs.pop() {
        assert_eq!(fs::metadata(&dir).unwrap().permissions().mode() & 0o777, 0o700, "{dir:?}");
        for path in fs::read_dir(&dir).unwrap().map(|entry| entry.unwrap().path()) {
            if path.is_dir() {
                dirs.push(path);
                continue;
            }
            seen += 1;
            assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600, "{path:?}");
        }
    }
    assert_eq!(seen, 6, "head, lock, two keys, a day's key, a file");
}

#[test]
fn a_directory_or_key_that_others_may_use_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    drop(eight(dir.path()));
    let audit = dir.path().join("audit");
    for (path, mode) in [(audit.join("sign.pem"), 0o644), (audit.clone(), 0o770)] {
        let before = fs::metadata(&path).unwrap().permissions();
        fs::set_permissions(&path, PermissionsExt::from_mode(mode)).unwrap();
        let shown = AuditLog::open(dir.path()).err().unwrap().to_string();
        assert!(shown.contains("others may") && shown.contains("chmod"), "{shown}");
        fs::set_permissions(&path, before).unwrap();
    }
    // A link leads nobody elsewhere.
    let head = audit.join("head");
    let elsewhere = dir.path().join("elsewhere");
    fs::rename(&head, &elsewhere).unwrap();
    std::os::unix::fs::symlink(&elsewhere, &head).unwrap();
    assert!(AuditLog::open(dir.path()).is_err());
}
