//! This machine as the doctor sees it, whatever it is.

use serde_json::Value;

use crate::run::run;

#[test]
fn the_exit_status_says_whether_something_is_bad() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let store = folder.path().to_str().expect("UTF-8");
    let found = run(["doctor", "-i", "lo", "--store", store, "--format", "json"]);
    let findings: Vec<Value> =
        found.out.lines().map(|line| serde_json::from_str(line).expect("one object a line")).collect();
    let of = |area: &str| findings.iter().filter(|finding| finding["area"] == area).count();
    assert!(of("machine") > 2 && of("lo") > 2 && of("store") > 2, "{found:?}");
    assert_eq!(of("machine") + of("lo") + of("store"), findings.len());
    let is_bad = findings.iter().any(|finding| finding["level"] == "bad");
    assert_eq!((found.status, found.err.as_str()), (i32::from(is_bad), ""), "{found:?}");
    let text = run(["doctor", "-i", "lo", "--store", store]);
    assert!(text.out.contains("Interface lo") && text.out.contains("the loopback"), "{text:?}");
    assert_eq!(std::fs::read_dir(&folder).expect("the folder").count(), 0, "nothing is left there");
}

#[test]
fn what_does_not_exist_is_named() {
    let found = run(["doctor", "-i", "no-such"]);
    assert_eq!((found.status, found.out.as_str()), (1, ""));
    assert!(found.err.contains("no interface `no-such`") && found.err.contains("lo"), "{found:?}");
    let found = run(["doctor", "-i", "lo", "--store", "/no/such"]);
    assert!(
        found.status == 1 && found.err.contains("`/no/such`") && found.err.contains("create it"),
        "{found:?}"
    );
}
