//! Searches that people save and share, and what of them is told to whom.

use serde_json::{Value, json};

use crate::client::Client;
use crate::server::{CALLS, Server};

const PATH: &str = "/api/v1/searches";

fn save(client: &Client, name: &str, q: &str, shared: bool) -> Value {
    let saved = client.post(PATH, &json!({ "name": name, "q": q, "shared": shared }));
    assert_eq!(saved.status, 201, "{}", saved.text());
    saved.json()
}

fn names(client: &Client) -> Vec<String> {
    let list = client.json(PATH);
    let name = |search: &Value| search["name"].as_str().unwrap_or("hidden").to_owned();
    list["searches"].as_array().unwrap().iter().map(name).collect()
}

#[test]
fn a_search_is_saved_shared_renamed_and_removed_and_all_of_it_noted() {
    let server = Server::start();
    let (ana, ed) = (server.login("ana"), server.login("ed"));
    let saved = save(&ana, "Failed", "state:failed", false);
    assert_eq!(
        (&saved["owner"], &saved["own"], &saved["q"]),
        (&json!("ana"), &json!(true), &json!("state:failed"))
    );
    assert_eq!(names(&ed), [] as [&str; 0]);
    let path = format!("{PATH}/{}", saved["number"]);
    let shared = ana.send("PATCH", &path, Some(&json!({ "shared": true, "name": "All failed" })));
    assert_eq!((shared.status, &shared.json()["q"]), (200, &json!("state:failed")), "{}", shared.text());
    let seen = ed.json(PATH)["searches"][0].clone();
    assert_eq!(
        (&seen["name"], &seen["own"], &seen["owner"]),
        (&json!("All failed"), &json!(false), &json!("ana"))
    );
    // Of somebody else it is neither changed nor removed.
    assert_eq!(ed.send("PATCH", &path, Some(&json!({ "shared": false }))).status, 404);
    assert_eq!(ed.delete(&path).status, 404);
    assert_eq!(ana.delete(&path).status, 204);
    assert_eq!((names(&ana), ana.delete(&path).status), (vec![], 404));
    let changes = server.audited().iter().filter(|action| **action == "change").count();
    assert_eq!(changes, 3, "what is refused is no change");
}

#[test]
fn what_cannot_be_searched_or_named_is_not_saved() {
    let server = Server::start();
    let (ana, vic) = (server.login("ana"), server.login("vic"));
    let tried =
        |client: &Client, name: &str, q: &str| client.post(PATH, &json!({ "name": name, "q": q })).status;
    assert_eq!(tried(&ana, "broken", "stat:failed"), 400);
    assert_eq!(tried(&ana, "nothing", " "), 400);
    assert_eq!(tried(&ana, "two\nlines", "mos<3"), 400);
    assert_eq!(tried(&vic, "a number", "0138"), 403, "it could not be searched either");
    assert_eq!(tried(&ana, "a number", "0138"), 201);
    assert_eq!(tried(&ana, "A NUMBER", "0139"), 409);
    let number = ana.json(PATH)["searches"][0]["number"].clone();
    assert_eq!(
        ana.send("PATCH", &format!("{PATH}/{number}"), Some(&json!({ "q": "stat:failed" }))).status,
        400
    );
    for at in 1..100 {
        assert_eq!(tried(&ana, &format!("search {at}"), "mos<3"), 201);
    }
    assert_eq!(tried(&ana, "one more", "mos<3"), 409);
}

#[test]
fn a_shared_search_tells_nobody_a_number_that_is_hidden_from_him() {
    let server = Server::start();
    let (ana, vic, ed) = (server.login("ana"), server.login("vic"), server.login("ed"));
    save(&ana, "bad", "mos<3 at:15:00", true);
    save(&ana, "the customer", "0138", true);
    save(&ana, "user", "state:failed -(from:alice or code:503)", true);
    save(&ana, "id", "callid:abc@example.org", true);
    save(&ana, "calls of +49 30 1234", "state:failed", true);
    assert_eq!(names(&ed).len(), 5);
    assert_eq!(names(&vic), ["bad"]);
    let text = vic.get(PATH).text();
    for secret in ["0138", "alice", "example.org", "1234"] {
        assert!(!text.contains(secret), "{secret}: {text}");
    }
    // What somebody wrote is no secret to whoever wrote it.
    save(&vic, "Failures 2026", "state:failed", true);
    assert_eq!(vic.json(PATH)["searches"][0]["name"], "Failures 2026");
    assert_eq!(vic.json(PATH)["searches"][0]["q"], "state:failed");
    // A program with a token of hers that may not see numbers does not learn them from her own.
    let token = ana.post("/api/v1/tokens", &json!({ "name": "watch", "rights": ["search"], "days": 9 }));
    assert_eq!(token.status, 201, "{}", token.text());
    let secret = token.json()["token"].as_str().unwrap().to_owned();
    let program = Client::new(server.address).with("authorization", &format!("Bearer {secret}"));
    assert_eq!(names(&program), ["bad", "hidden", "id", "the customer", "user"]);
    let told = program.get(PATH).text();
    for secret in ["0138", "alice", "example.org", "1234"] {
        assert!(!told.contains(secret), "{secret}: {told}");
    }
}

#[test]
fn who_may_see_some_calls_only_learns_of_no_others_and_finds_no_others() {
    let server = Server::start();
    let (ana, ten) = (server.login("ana"), server.login("ten"));
    save(&ana, "the other tenant", "trunk:carrier-b", true);
    assert_eq!(names(&ten), [] as [&str; 0]);
    save(&ten, "ours", "number:*", true);
    assert_eq!(names(&ten), ["ours"]);
    assert_eq!(names(&ana), ["the other tenant", "ours"]);
    assert_eq!(names(&server.login("nat")), [] as [&str; 0], "her calls are fewer");
    // The search finds what whoever uses it may see.
    let found = |client: &Client| {
        client.json("/api/v1/calls?limit=1000&q=number:*")["calls"].as_array().unwrap().len()
    };
    assert_eq!((found(&ana), found(&ten)), (CALLS, CALLS / 2));
}
