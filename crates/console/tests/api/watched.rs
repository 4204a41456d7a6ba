//! What load balancers and Prometheus ask.

use serde_json::{Value, json};

use crate::client::Client;
use crate::server::Server;

fn checks(health: &Value) -> Vec<(&str, bool)> {
    let checks = health["checks"].as_array().unwrap();
    checks.iter().map(|check| (check["name"].as_str().unwrap(), check["ok"].as_bool().unwrap())).collect()
}

#[test]
fn health_is_told_to_anybody_and_its_checks_to_who_sees_all_calls() {
    let server = Server::start();
    let nobody = Client::new(server.address);
    let asked = nobody.get("/api/v1/health");
    assert_eq!((asked.status, asked.json()), (200, json!({ "ok": true })));
    assert_eq!(server.login("ten").json("/api/v1/health"), json!({ "ok": true }));
    let health = server.login("vic").json("/api/v1/health");
    assert_eq!(checks(&health), [("records", true), ("disk", true), ("daemon", true)], "{health}");
}

#[test]
fn what_is_wrong_is_named() {
    let server = Server::start();
    let vic = server.login("vic");
    std::fs::remove_dir_all(server.records()).unwrap();
    std::fs::write(server.records(), "this is no directory").unwrap();
    let asked = vic.get("/api/v1/health");
    assert_eq!(asked.status, 503);
    assert_eq!(checks(&asked.json())[0], ("records", false), "{}", asked.text());
    let nobody = Client::new(server.address).get("/api/v1/health");
    assert_eq!((nobody.status, nobody.json()), (503, json!({ "ok": false })));
}

#[test]
fn metrics_count_what_was_asked_by_route() {
    let server = Server::start();
    let vic = server.login("vic");
    for id in 1000..1020 {
        assert_eq!(vic.get(&format!("/api/v1/calls/{id:032x}")).status, 404);
        assert_eq!(vic.get(&format!("/api/v1/nothing/{id}")).status, 404);
    }
    let page = vic.get("/api/v1/metrics");
    assert!(page.kind().starts_with("text/plain; version=0.0.4"), "{}", page.kind());
    let text = page.text();
    let value =
        |name: &str| text.lines().find_map(|line| line.strip_prefix(name)?.trim().parse::<u64>().ok());
    let count = |method, route, status| {
        value(&format!(
            "ringtap_console_requests_total{{method=\"{method}\",route=\"{route}\",status=\"{status}\"}}"
        ))
    };
    assert_eq!(count("GET", "/api/v1/calls/{id}", 404), Some(20), "{text}");
    assert_eq!(count("GET", "other", 404), Some(20), "{text}");
    assert_eq!(count("POST", "/api/v1/session", 200), Some(1), "{text}");
    assert_eq!(value("ringtap_console_sessions"), Some(1), "{text}");
    assert_eq!(value("ringtap_console_work_running{kind=\"read\"}"), Some(1), "this one: {text}");
    assert!(!text.contains("00000003e8"), "ids are no labels");
    assert_eq!(server.login("ten").get("/api/v1/metrics").status, 403);
}
