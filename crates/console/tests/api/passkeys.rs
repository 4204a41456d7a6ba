//! Passkeys over the API: what is refused, and to whom. Those that log in are made by Chromium's virtual
//! authenticator (`web/browser/real/people.js`), and by one in software (`access/tests/people/passkeys.rs`).

use serde_json::{Value, json};

use crate::client::Client;
use crate::server::{PASSWORD, Server};

/// Asks under a name, for which browsers make passkeys.
fn by_name(server: &Server, client: &Client) -> Client {
    client.with("host", &format!("localhost:{}", server.address.port()))
}

fn proof() -> Value {
    json!({ "password": PASSWORD })
}

#[test]
fn a_passkey_is_asked_for_by_name_and_with_the_password() {
    let server = Server::start();
    let by_address = server.login("ana");
    let ana = by_name(&server, &by_address);
    let begin = "/api/v1/account/passkeys/begin";
    let refused = by_address.post(begin, &proof());
    assert_eq!(refused.status, 409, "{}", refused.text());
    assert!(refused.text().contains("127.0.0.1"), "{}", refused.text());
    let wrong = ana.post(begin, &json!({ "password": "not the password" }));
    assert_eq!((wrong.status, &wrong.json()["type"]), (401, &json!("/problems/password")));
    let options = ana.post(begin, &proof());
    assert_eq!(options.status, 200, "{}", options.text());
    let options = options.json();
    assert_eq!((&options["site"], &options["user"]), (&json!("localhost"), &json!("ana")));
    assert_eq!((&options["algorithms"], &options["known"]), (&json!([-7, -8, -257]), &json!([])));
    let again = ana.post(begin, &proof()).json();
    assert_eq!(again["user_handle"], options["user_handle"]);
    assert_ne!(again["challenge"], options["challenge"]);
    assert_ne!(
        by_name(&server, &server.login("root")).post(begin, &proof()).json()["user_handle"],
        again["user_handle"]
    );
    assert_eq!(ana.json("/api/v1/account/passkeys"), json!({ "passkeys": [] }));
}

#[test]
fn what_no_authenticator_has_made_is_not_added_and_lets_nobody_in() {
    let server = Server::start();
    let ana = by_name(&server, &server.login("ana"));
    let made = json!({ "name": "phone", "client_data": "e30", "authenticator_data": "AAAA" });
    assert_eq!(ana.post("/api/v1/account/passkeys", &made).status, 409);
    for wrong in ["a", "e30=", "e3+0", "é"] {
        let made = json!({ "name": "phone", "client_data": wrong, "authenticator_data": "AAAA" });
        assert_eq!(ana.post("/api/v1/account/passkeys", &made).status, 400, "{wrong}");
    }
    let nobody = Client::new(server.address);
    let refused = nobody.send("POST", "/api/v1/session/passkey/begin", None);
    assert_eq!(refused.status, 409, "{}", refused.text());
    let nobody = by_name(&server, &nobody);
    let options = nobody.send("POST", "/api/v1/session/passkey/begin", None);
    assert_eq!((options.status, &options.json()["site"]), (200, &json!("localhost")));
    let given = json!({ "credential": "AAAA", "client_data": "e30", "authenticator_data": "AAAA",
        "signature": "", "user_handle": "" });
    let refused = nobody.post("/api/v1/session/passkey", &given);
    assert_eq!((refused.status, &refused.json()["type"]), (401, &json!("/problems/password")));
    assert_eq!(refused.header("set-cookie"), None);
    assert_eq!(server.audited().last(), Some(&"login_failed"));
    let foreign = nobody.with("origin", "https://evil.example").post("/api/v1/session/passkey", &given);
    assert_eq!(foreign.status, 403);
}

#[test]
fn passkeys_are_removed_with_the_password_and_those_of_others_by_administrators() {
    let server = Server::start();
    let (ana, root) = (server.login("ana"), server.login("root"));
    let removal = "/api/v1/account/passkeys/7/remove";
    assert_eq!(ana.post(removal, &json!({ "password": "not the password" })).status, 401);
    assert_eq!(ana.post(removal, &proof()).status, 404);
    assert_eq!(ana.delete("/api/v1/people/eve/passkeys").status, 403);
    for (name, status) in [("root", 409), ("Root", 409), ("nobody", 404), ("ana", 204)] {
        assert_eq!(root.delete(&format!("/api/v1/people/{name}/passkeys")).status, status, "{name}");
    }
}
