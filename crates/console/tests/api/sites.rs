//! Sites: who changes them, what a search by them finds, and that history stays right.

use serde_json::{Value, json};

use crate::client::Client;
use crate::server::{CALLS, Server};

const PATH: &str = "/api/v1/sites";

fn found(client: &Client, q: &str) -> usize {
    let list = client.json(&format!("/api/v1/calls?limit=1000&q={}", crate::client::escaped(q)));
    list["calls"].as_array().unwrap().len()
}

/// The address of the caller, and when the calls began, the earliest first.
fn calls(client: &Client) -> (String, Vec<u64>) {
    let list = client.json("/api/v1/calls?limit=1000");
    let calls = list["calls"].as_array().unwrap();
    let source = calls[0]["src"].as_str().unwrap().rsplit_once(':').unwrap().0.to_owned();
    let mut began: Vec<u64> = calls.iter().map(|call| call["invite_us"].as_u64().unwrap()).collect();
    began.sort_unstable();
    (source, began)
}

#[test]
fn a_search_finds_the_calls_of_a_site_at_the_time_when_it_had_the_name() {
    let server = Server::start();
    let root = server.login("root");
    let (source, began) = calls(&root);
    let moved = began[10];
    let add = |name: &str, from: Option<u64>, until: Option<u64>| {
        let site =
            json!({ "name": name, "networks": [format!("{source}/32")], "from_us": from, "until_us": until });
        let added = root.post(PATH, &site);
        assert_eq!(added.status, 201, "{}", added.text());
        added.json()
    };
    let lyon = add("Lyon", None, Some(moved));
    add("Building B", Some(moved), None);
    let ana = server.login("ana");
    for (q, expected) in [
        ("site:lyon", 10),
        ("site:\"building b\"", CALLS - 10),
        ("site:[lyon,building*]", CALLS),
        ("site:*", CALLS),
        ("-site:lyon", CALLS - 10),
        ("site:lyon state:failed", 3),
    ] {
        assert_eq!(found(&ana, q), expected, "{q}");
    }
    // It is taken from no call that it had: the name ends earlier, and later calls of that time are of none.
    let path = format!("{PATH}/{}", lyon["number"]);
    let changed = root.send("PATCH", &path, Some(&json!({ "until_us": began[4] })));
    assert_eq!((changed.status, &changed.json()["name"]), (200, &json!("Lyon")));
    assert_eq!((found(&ana, "site:lyon"), found(&ana, "-site:*")), (4, 6));
    assert_eq!(root.delete(&path).status, 204);
    let gone = ana.get("/api/v1/calls?q=site:lyon");
    assert_eq!(gone.status, 400);
    assert_eq!(gone.json()["column"], 6);
    assert_eq!(server.audited().iter().filter(|action| **action == "change").count(), 4);
}

#[test]
fn sites_are_changed_by_who_may_change_rules_and_hidden_from_who_sees_some_calls_only() {
    let server = Server::start();
    let (root, ana, ten) = (server.login("root"), server.login("ana"), server.login("ten"));
    let site = json!({ "name": "Lyon", "networks": ["198.51.100.0/24", "2001:db8::/32"] });
    assert_eq!((ana.post(PATH, &site).status, ten.post(PATH, &site).status), (403, 403));
    let number = root.post(PATH, &site).json()["number"].clone();
    let list = ana.json(PATH);
    assert_eq!((&list["may_change"], &list["sites"][0]["name"]), (&json!(false), &json!("Lyon")));
    assert!(list["file"].as_str().unwrap().ends_with("people/sites.json"), "{list}");
    assert_eq!(root.json(PATH)["may_change"], true);
    assert_eq!(ten.get(PATH).status, 403);
    let path = format!("{PATH}/{number}");
    for client in [&ana, &ten] {
        assert_eq!(client.send("PATCH", &path, Some(&json!({ "name": "mine" }))).status, 403);
        assert_eq!(client.delete(&path).status, 403);
    }
    // No search tells the networks of others.
    let refused = ten.get("/api/v1/calls?q=site:lyon");
    assert_eq!(refused.status, 400);
    assert!(!refused.text().contains("198.51.100"), "{}", refused.text());
    assert!(!ten.get("/api/v1/calls/suggest?q=site:lyon").text().contains("198.51.100"));
    assert_eq!(ana.get("/api/v1/calls?q=site:lyno").status, 400);
    let other = json!({ "name": "Paris", "networks": ["198.51.100.0/24"] });
    assert_eq!(root.post(PATH, &other).status, 409, "a network has one name at a time");
    for wrong in [json!({ "networks": [] }), json!({ "networks": ["lyon"] }), json!({ "name": "*" })] {
        assert_eq!(root.send("PATCH", &path, Some(&wrong)).status, 400, "{wrong}");
    }
    assert_eq!(root.send("PATCH", &format!("{PATH}/99"), Some(&json!({ "name": "x" }))).status, 404);
    assert_eq!(ana.json(PATH)["sites"][0]["networks"], json!(["198.51.100.0/24", "2001:db8::/32"]));
    assert_ne!(list["sites"][0]["from_us"], Value::from(0));
}
