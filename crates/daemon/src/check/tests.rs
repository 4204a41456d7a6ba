use std::fs;
use std::os::unix::fs::{PermissionsExt, chown};
use std::path::Path;

use nix::unistd::geteuid;
use ringtap_testing::skip;
use tempfile::TempDir;

use super::*;

/// A user without rights, on every Linux.
const NOBODY: u32 = 65_534;

/// A directory that everybody may enter.
fn place() -> TempDir {
    let dir = tempfile::tempdir().unwrap();
    fs::set_permissions(dir.path(), PermissionsExt::from_mode(0o755)).unwrap();
    dir
}

/// A configuration whose paths are in `dir`, for the loopback interface.
fn config(dir: &Path, capture: &str, more: &str) -> ConfigFile {
    let (shown, path) = (dir.display(), dir.join("ringtap.toml"));
    let text = format!(
        "[capture]\n{capture}\n[store]\ndirectory = \"{shown}/data/records\"\n\
         outbox = \"{shown}/data/outbox\"\n[journal]\npath = \"{shown}/data/journal\"\n\
         [spool]\ndirectory = \"{shown}/data/spool\"\n{more}\n"
    );
    fs::write(&path, text).unwrap();
    ConfigFile::read(&path, None).unwrap()
}

/// The problems, each without the name of the file.
fn problems(file: &ConfigFile) -> Vec<String> {
    let report = check(file);
    let prefix = file.path.display().to_string();
    let problems = report.problems.iter().map(ToString::to_string);
    problems.map(|problem| problem.strip_prefix(&prefix).expect("the file").to_owned()).collect()
}

/// All that is below a directory, with owners and modes.
fn state(dir: &Path) -> Vec<String> {
    let mut find = std::process::Command::new("find");
    let output = find.arg(dir).args(["-printf", "%p %u %m %s %T@ %C@\n"]).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let mut lines: Vec<String> = text.lines().map(ToOwned::to_owned).collect();
    lines.sort();
    lines
}

const LOOPBACK: &str = "interfaces = [\"lo\"]";

#[test]
fn what_is_right_is_counted_and_nothing_is_made() {
    let dir = place();
    let file = config(dir.path(), &format!("{LOOPBACK}\nfilter = \"udp port 5060\""), "");
    let before = state(dir.path());
    let report = check(&file);
    assert_eq!(state(dir.path()), before);
    assert!(report.problems.is_empty(), "{report:?}");
    assert!(report.checked.starts_with("filter, 1 interface, 4 directories as user "), "{report:?}");
}

/// Every one is named, with the line of its key, and the remedy.
#[test]
fn every_problem_of_interfaces_and_the_filter_is_named() {
    let dir = place();
    let capture = "interfaces = [\"nowhere0\", \"lo\", \"nowhere1\"]\nfilter = \"udp port 5060 und tcp\"";
    let found = problems(&config(dir.path(), capture, ""));
    assert_eq!(found.len(), 3, "{found:?}");
    for (found, name) in found.iter().zip(["nowhere0", "nowhere1"]) {
        let expected = format!(":2: [capture] interfaces: there is no interface `{name}`; choose one of: ");
        assert!(found.starts_with(&expected) && found.contains("lo"), "{found}");
    }
    let expected = ":3: [capture] filter: cannot compile the filter `udp port 5060 und tcp`";
    assert!(found[2].starts_with(expected), "{found:?}");
}

/// Without root: the user of the test is the user of the service.
#[test]
fn a_file_in_a_directorys_place_and_a_file_that_is_missing_are_named() {
    let dir = place();
    fs::write(dir.path().join("data"), "no directory").unwrap();
    let key = dir.path().join("seal.key");
    let found = problems(&config(dir.path(), LOOPBACK, &format!("seal = \"{}\"\n", key.display())));
    assert_eq!(found.len(), 5, "{found:?}");
    assert!(found[0].starts_with(":10: [spool] seal: ") && found[0].contains("seal.key"), "{found:?}");
    for (found, key) in found[1..].iter().zip([
        ":9: [spool] directory: ",
        ":4: [store] directory: ",
        ":5: [store] outbox: ",
        ":7: [journal] path: ",
    ]) {
        let wanted = found.starts_with(key) && found.contains("data` is not a directory: name another path");
        assert!(wanted, "{found}");
    }
}

#[test]
fn a_register_that_is_not_there_and_a_key_that_others_read_are_named() {
    let dir = place();
    let (register, key) = (dir.path().join("register"), dir.path().join("key"));
    fs::write(&key, "0f".repeat(32)).unwrap();
    let (register, shown) = (register.display(), key.display());
    let more = format!("[warrants]\nregister = \"{register}\"\nkey = \"{shown}\"\n");
    let file = config(dir.path(), LOOPBACK, &more);
    fs::set_permissions(&key, PermissionsExt::from_mode(0o644)).unwrap();
    let [no_register, no_key] = &problems(&file)[..] else { panic!("{:?}", problems(&file)) };
    assert!(no_register.starts_with(":11: [warrants] register: there is no register in"), "{no_register}");
    assert!(no_register.contains("ringtap warrant setup --register"), "{no_register}");
    assert!(no_key.starts_with(":12: [warrants] key: ") && no_key.contains("chmod 600"), "{no_key}");
}

#[test]
fn directories_are_tried_with_the_rights_of_the_user_of_the_service() {
    if !geteuid().is_root() {
        return skip("root", "other users cannot be played");
    }
    let dir = place();
    let data = dir.path().join("data");
    let user = "[process]\nuser = \"nobody\"\n";
    // They do not exist: root makes them.
    let file = config(dir.path(), LOOPBACK, user);
    let report = check(&file);
    assert_eq!((report.problems.len(), report.remarks.len()), (0, 4), "{report:?}");
    assert!(report.checked.ends_with("4 directories as user nobody"), "{report:?}");
    assert!(report.remarks[0].to_string().contains("run `install -d -m 750 -o nobody "), "{report:?}");
    // They exist, and are root's.
    for name in ["records", "outbox", "spool"] {
        fs::create_dir_all(data.join(name)).unwrap();
    }
    let found = problems(&file);
    assert_eq!(found.len(), 4, "{found:?}");
    for found in found {
        assert!(
            found.contains("the user `nobody` may not use `") && found.contains("chown nobody"),
            "{found}"
        );
    }
    // They are the user's, and a file in one of them is root's.
    for name in ["", "records", "outbox", "spool"] {
        chown(data.join(name), Some(NOBODY), None).unwrap();
    }
    fs::write(data.join("records/2026-11-21.sqlite"), "").unwrap();
    fs::set_permissions(data.join("records/2026-11-21.sqlite"), PermissionsExt::from_mode(0o640)).unwrap();
    let found = problems(&file);
    assert_eq!(found.len(), 1, "{found:?}");
    assert!(
        found[0].starts_with(":4: [store] directory: `") && found[0].contains("chown -R nobody"),
        "{found:?}"
    );
    fs::remove_file(data.join("records/2026-11-21.sqlite")).unwrap();
    assert_eq!(problems(&file), [""; 0]);
    // Nobody may enter the directory above.
    fs::set_permissions(dir.path(), PermissionsExt::from_mode(0o700)).unwrap();
    assert_eq!(problems(&file).len(), 4);
    // This thread has its own rights again.
    assert!(geteuid().is_root() && fs::read_dir(dir.path()).is_ok());
}

#[test]
fn a_user_that_is_not_there_is_named_with_its_line() {
    let dir = place();
    let found = problems(&config(dir.path(), LOOPBACK, "[process]\nuser = \"nobody-of-the-kind\"\n"));
    assert!(found[0].starts_with(":11: [process] user: there is no user `nobody-of-the-kind`"), "{found:?}");
}

/// Keys are read before privileges are dropped: whoever may read them then, a remark says who may not.
#[test]
fn a_key_that_root_alone_may_read_is_remarked() {
    if !geteuid().is_root() {
        return skip("root", "other users cannot be played");
    }
    let dir = place();
    let key = dir.path().join("seal.key");
    fs::write(&key, "0".repeat(64)).unwrap();
    fs::set_permissions(&key, PermissionsExt::from_mode(0o600)).unwrap();
    let more = format!("seal = \"{}\"\n[process]\nuser = \"nobody\"\n", key.display());
    let report = check(&config(dir.path(), LOOPBACK, &more));
    assert!(report.problems.is_empty(), "{report:?}");
    let told = report.remarks.iter().map(ToString::to_string).find(|told| told.contains("[spool] seal: "));
    assert!(told.is_some_and(|told| told.contains(":10: ") && told.contains("a start as root reads it")));
}
