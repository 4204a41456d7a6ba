//! Who is told of alarms: targets that are checked.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on ends")]

use std::fs;
use std::os::unix::fs::PermissionsExt;

use crate::daemon::{Place, silence};
use crate::replayed::ringtap;

/// Each is named with its line and key; none of them shows what is in the file.
#[test]
fn a_check_reads_the_files_of_those_who_are_told() {
    let dir = tempfile::tempdir().unwrap();
    let place = Place::new(dir.path());
    let path = place.configure(&silence(dir.path()), "");
    let right = fs::read_to_string(&path).unwrap();
    let start = right.lines().count();
    let [fields, ca] = ["fields", "ca.pem"].map(|name| dir.path().join(name));
    let check = |more: &str| {
        let target =
            format!("[[notify]]\nname = \"noc\"\nkind = \"webhook\"\nurl = \"https://localhost/x\"\n");
        fs::write(&path, format!("{right}{target}{more}\n")).unwrap();
        ringtap(&["run", "--check", "-c", path.to_str().unwrap()])
    };
    let with_fields = format!("header_file = {fields:?}");
    assert_eq!(check(""), (Some(0), String::new()));
    let refused = |more: &str, expected: &str| {
        let (status, told) = check(more);
        assert!(status == Some(1) && told.contains(expected), "{expected}\n{told}");
        assert!(!told.contains("hunter2"), "{told}");
    };
    let at = format!(":{}: [[notify]] header_file: ", start + 5);
    refused(&with_fields, &at);
    fs::write(&fields, "Authorization: Bearer hunter2\n").unwrap();
    fs::set_permissions(&fields, PermissionsExt::from_mode(0o644)).unwrap();
    refused(&with_fields, "others may read or change it");
    fs::set_permissions(&fields, PermissionsExt::from_mode(0o600)).unwrap();
    assert_eq!(check(&with_fields), (Some(0), String::new()));
    fs::write(&fields, "hunter2\n").unwrap();
    refused(&with_fields, "line 1 of header_file is no header field");

    fs::write(&ca, "nothing").unwrap();
    refused(&format!("ca = {ca:?}"), &format!(":{}: [[notify]] ca: ", start + 5));
}
