//! What is kept, which rule decided, and what was deleted: to whom it is told, and nothing of interception.

use std::path::Path;

use ringtap_spool::{DELETION_LOG, Deletion, DeletionKind, DeletionLog};
use ringtap_testing::samples;
use serde_json::{Value, json};

use crate::client::Client;
use crate::server::Server;

/// A deletion of that segment, of packets of a case if it is product.
fn deletion(segment: &str, deleted: DeletionKind, why: &str) -> Deletion {
    let segment = segment.parse().unwrap();
    let entry = Deletion::segment(Path::new("/nowhere"), &segment, samples::START, why).unwrap();
    let cases = if segment.as_str().contains("-p-") { vec!["LI-1".to_owned()] } else { Vec::new() };
    Deletion { deleted, cases, ..entry }
}

fn ordinary() -> Vec<Deletion> {
    vec![
        deletion("2026-11-21/000101.250-w0-s-1.pcap", DeletionKind::Segment, "older than 90d"),
        deletion("2026-11-21/000102.250-w0-m-1.pcap", DeletionKind::Keys, "request of +49301234"),
    ]
}

fn product() -> Deletion {
    deletion("2026-11-21/000103.250-w0-p-1.pcap", DeletionKind::Segment, "older than 10d")
}

#[test]
fn what_is_kept_and_the_rules_are_told_to_who_sees_all_calls() {
    let server = Server::start();
    let vic = server.login("vic");
    let kept = vic.json("/api/v1/retention");
    assert_eq!((&kept["records"]["days"], &kept["records"]["age_ms"]), (&json!(1), &Value::Null));
    assert!(kept["records"]["bytes"].as_u64().unwrap() > 1_000, "{kept}");
    assert_eq!(
        (&kept["spool"]["categories"][0]["category"], &kept["spool"]["short_at_us"]),
        (&json!("media"), &json!(9))
    );
    let rules = vic.json("/api/v1/rules");
    assert_eq!((&rules["rules"][0]["calls"], &rules["unmatched"]), (&json!(7), &json!(3)));
    let ten = server.login("ten");
    for path in ["/api/v1/retention", "/api/v1/rules"] {
        assert_eq!(ten.get(path).status, 403, "{path} is counted over all calls");
    }
    let without = Server::start_without_daemon();
    let ana = without.login("ana");
    for path in ["/api/v1/retention", "/api/v1/rules"] {
        assert_eq!(ana.get(path).status, 503, "{path}");
    }
}

#[test]
fn rules_are_changed_by_who_has_the_rights_and_every_change_is_noted_before() {
    let server = Server::start();
    let path = "/api/v1/rules";
    let list = |version: &str, name: &str| {
        let rule = json!({ "name": name, "callee": ["113"], "keep": "nothing" });
        json!({ "version": version, "rules": [rule] })
    };
    let told = |name: &str| server.login(name).json(path);
    let vic = told("vic");
    assert_eq!(
        (&vic["version"], &vic["rules"][0]["written"], &vic["may_change"]),
        (&Value::Null, &Value::Null, &json!(false))
    );
    for name in ["vic", "ana", "aud", "ten"] {
        let answer = server.login(name).send("PUT", path, Some(&list("v1", "x")));
        assert_eq!(answer.status, 403, "{name}: {}", answer.text());
    }
    let root = server.login("root");
    let rules = root.json(path);
    assert_eq!((&rules["version"], &rules["may_change"]), (&json!("v1"), &json!(true)));
    assert_eq!(rules["rules"][0]["written"]["number"], json!(["112"]));
    // Numbers are not for who may not see them, and neither is what has them.
    let token = json!({ "name": "t", "rights": ["rules", "search"], "days": 1 });
    let made = root.post("/api/v1/tokens", &token);
    let secret = made.json()["token"].as_str().unwrap().to_owned();
    let program = Client::new(server.address).with("authorization", &format!("Bearer {secret}"));
    assert_eq!(
        (&program.json(path)["version"], program.send("PUT", path, Some(&list("v1", "x"))).status),
        (&Value::Null, 403)
    );

    let noted = server.audit().len();
    for (body, status, said) in [
        (list("v0", "x"), 409, "somebody changed the recording rules meanwhile"),
        (list("v1", "wrong"), 400, "rule 1: keep: is missing"),
        (json!({ "version": "v1", "rules": [{ "keep": "full", "product": "LI" }] }), 400, "unknown field"),
        (json!({ "version": "v1", "rules": [{ "keep": "some" }] }), 400, "unknown variant"),
    ] {
        let answer = root.send("PUT", path, Some(&body));
        assert_eq!(answer.status, status, "{}", answer.text());
        assert!(answer.text().contains(said), "{}", answer.text());
    }
    assert_eq!(server.audit().len(), noted, "nothing has changed");
    let answer = root.send("PUT", path, Some(&list("v1", "late")));
    assert_eq!(answer.status, 409, "{}", answer.text());
    assert_eq!(root.send("PUT", path, Some(&list("v1", "never"))).status, 200);
    let audit = server.audit();
    let [.., before, after, order] = &audit[..] else { panic!("{audit:?}") };
    assert!(before.1.starts_with("recording rule 1 as it was before: "), "{audit:?}");
    assert!(before.1.contains("mos_below: 3.1") && !before.1.contains("112"), "{before:?}");
    assert!(after.1.contains("as it is to be: ") && after.1.contains("keep: nothing"), "{after:?}");
    assert_eq!((order.0, order.1.as_str()), ("change", "1 recording rules [bad calls] become 1 [never]"));
}

#[test]
fn deletions_are_told_to_who_reads_the_audit_log_and_noted_there() {
    let server = Server::start();
    DeletionLog::of(&server.spool(), None).append(&ordinary()).unwrap();
    let path = "/api/v1/retention/deletions";
    assert_eq!(server.login("ana").get(path).status, 403);
    let aud = server.login("aud");
    let list = aud.json(path);
    let [newest, oldest] = &list["deletions"].as_array().unwrap()[..] else { panic!("{list}") };
    assert_eq!((&newest["deleted"], &newest["category"]), (&json!("keys"), &json!("media")));
    assert_eq!(newest["why"], Value::Null, "somebody wrote it, and an auditor sees no numbers");
    assert_eq!(
        (&oldest["why"], &oldest["time_us"]),
        (&json!("older than 90d"), &json!(samples::START.micros() / 1000 * 1000))
    );
    assert_eq!(
        (&list["verified"], &list["signed"], &list["problem"]),
        (&json!(true), &json!(false), &Value::Null)
    );
    assert_eq!(server.login("root").json(path)["deletions"][0]["why"], "request of +49301234");
    let first = aud.json(&format!("{path}?limit=1"));
    assert_eq!((first["deletions"].as_array().unwrap().len(), &first["more"]), (1, &json!(true)));
    assert!(server.audited().contains(&"audit"));

    let log = server.spool().join(DELETION_LOG);
    let changed = std::fs::read_to_string(&log).unwrap().replacen("older than 90d", "older than 10d", 1);
    std::fs::write(&log, changed).unwrap();
    let list = aud.json(path);
    assert_eq!(list["verified"], false);
    assert!(list["problem"].as_str().unwrap().contains("is not an entry"), "{list}");
}

#[test]
fn nobody_learns_of_interception_from_deletions() {
    let [without, with] = [false, true].map(|intercepts| {
        let server = Server::start();
        let [first, second] = &ordinary()[..] else { unreachable!() };
        let product = |count| vec![product(); if intercepts { count } else { 0 }];
        let all =
            [product(7), vec![first.clone()], product(1_000), vec![second.clone()], product(3)].concat();
        DeletionLog::of(&server.spool(), None).append(&all).unwrap();
        ["aud", "root"].map(|name| server.login(name).get("/api/v1/retention/deletions").text())
    });
    assert_eq!(with, without);
    assert!(!without[0].contains("LI-1") && without[0].contains("w0-s-1"), "{without:?}");
}
