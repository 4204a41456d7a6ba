//! `run --check`, as an operator sees it: what it prints and how it ends.

use std::fs;

use crate::daemon::Place;
use crate::replayed::{files, ringtap};

/// Mistakes of the file end with 2, what this machine lacks with 1; each is named on a line of its own.
#[test]
fn every_problem_is_named_and_the_status_says_of_what() {
    let dir = tempfile::tempdir().unwrap();
    let place = Place::new(dir.path());
    let path = place.configure(&files("1"), "");
    let right = fs::read_to_string(&path).unwrap();
    let file = path.to_str().unwrap();
    let check = |text: &str| {
        fs::write(&path, text).unwrap();
        ringtap(&["run", "--check", "-c", file])
    };
    assert_eq!(check(&right), (Some(0), String::new()));
    assert!(!dir.path().join("records").exists(), "nothing is made");

    let (status, told) = check(&right.replace("speed = 1", "speed = 0\ncolour = 1"));
    let lines: Vec<&str> = told.lines().collect();
    assert_eq!((status, lines.len()), (Some(2), 2), "{told}");
    assert!(lines[0].starts_with(&format!("ringtap: {file}:3: [capture] speed: ")), "{told}");
    assert!(lines[1].starts_with(&format!("ringtap: {file}:4: [capture] colour: ")), "{told}");

    let (capture, _) = right.split_once("[engine]").unwrap();
    let absent = "[capture]\ninterfaces = [\"nowhere0\"]\nfilter = \"udp port\"\n";
    let (status, told) = check(&right.replace(capture, absent));
    let lines: Vec<&str> = told.lines().collect();
    assert_eq!((status, lines.len()), (Some(1), 2), "{told}");
    assert!(lines[0].contains(":2: [capture] interfaces: there is no interface `nowhere0`"), "{told}");
    assert!(lines[1].contains(":3: [capture] filter: cannot compile the filter"), "{told}");
}
