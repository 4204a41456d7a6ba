//! How somebody logs in: second factors and sessions, over the API.

use ringtap_report::time;
use ringtap_testing::totp;
use serde_json::{Value, json};

use crate::client::{Answer, Client};
use crate::server::{PASSWORD, Server};

fn proof(code: Option<&str>) -> Value {
    json!({ "password": PASSWORD, "code": code })
}

fn recovery_codes(answer: &Answer) -> Vec<String> {
    assert_eq!(answer.status, 200, "{}", answer.text());
    let answer = answer.json();
    answer["recovery_codes"].as_array().unwrap().iter().map(|code| code.as_str().unwrap().into()).collect()
}

#[test]
fn somebody_sets_an_authenticator_app_up_and_logs_in_with_it() {
    let server = Server::start();
    let ana = server.login("ana");
    assert_eq!(ana.json("/api/v1/account")["totp"], false);
    let guess = json!({ "password": "not the password" });
    let refused = ana.post("/api/v1/account/totp", &guess);
    assert_eq!((refused.status, &refused.json()["type"]), (401, &json!("/problems/password")));
    let begun = ana.post("/api/v1/account/totp", &proof(None));
    assert_eq!(begun.status, 200, "{}", begun.text());
    let secret = begun.json()["secret"].as_str().unwrap().to_owned();
    assert!(begun.json()["qr_svg"].as_str().unwrap().starts_with("<svg "));
    assert!(begun.json()["uri"].as_str().unwrap().contains(&secret));
    // Before a code of it was seen, nobody is kept out.
    server.login("ana");
    assert_eq!(ana.post("/api/v1/account/totp/confirm", &json!({ "code": "abc" })).status, 409);
    let now = totp::lasting_code(&secret, time::now());
    let codes = recovery_codes(&ana.post("/api/v1/account/totp/confirm", &json!({ "code": now })));
    assert_eq!(codes.len(), 10);
    let account = ana.json("/api/v1/account");
    assert_eq!((&account["totp"], &account["recovery_codes"]), (&json!(true), &json!(10)));

    let nobody = Client::new(server.address);
    let login = |code: Option<&str>| {
        nobody.post("/api/v1/session", &json!({ "name": "ana", "password": PASSWORD, "code": code }))
    };
    let asked = login(None);
    assert_eq!((asked.status, &asked.json()["code_wanted"]), (401, &json!(true)));
    assert_eq!(login(Some(&now)).status, 401, "it has confirmed the secret");
    assert_eq!(login(Some(&codes[0])).status, 200);
    assert_eq!(login(Some(&codes[0])).status, 401, "used before");

    // What is changed again needs a code again; that of the phone or, if it is lost, another one.
    assert_eq!(ana.post("/api/v1/account/recovery-codes", &proof(None)).json()["code_wanted"], true);
    let renewed = recovery_codes(&ana.post("/api/v1/account/recovery-codes", &proof(Some(&codes[1]))));
    assert_eq!(ana.post("/api/v1/account/totp/remove", &proof(Some(&codes[2]))).status, 401, "replaced");
    assert_eq!(ana.post("/api/v1/account/totp/remove", &proof(Some(&renewed[0]))).status, 204);
    assert_eq!(login(None).status, 200);
    assert_eq!(ana.post("/api/v1/account/recovery-codes", &proof(None)).status, 409);
    let root = server.login("root");
    let audit = root.json("/api/v1/audit?action=people").to_string();
    let told =
        ["new secret of own codes", "ask for own codes", "other recovery codes", "no codes for oneself"];
    for what in told {
        assert!(audit.contains(what), "{what}: {audit}");
    }
    assert!(!audit.contains(&codes[0]) && !audit.contains(&secret), "{audit}");
}

#[test]
fn an_administrator_removes_the_lost_phone_of_another_and_not_the_own() {
    let server = Server::start();
    let (root, ana) = (server.login("root"), server.login("ana"));
    let begun = ana.post("/api/v1/account/totp", &proof(None)).json();
    let code = totp::lasting_code(begun["secret"].as_str().unwrap(), time::now());
    ana.post("/api/v1/account/totp/confirm", &json!({ "code": code }));
    let body = json!({ "name": "ana", "password": PASSWORD });
    assert_eq!(Client::new(server.address).post("/api/v1/session", &body).status, 401);
    assert_eq!(server.login("vic").delete("/api/v1/people/ana/totp").status, 403);
    for own in ["root", "ROOT"] {
        assert_eq!(root.delete(&format!("/api/v1/people/{own}/totp")).status, 409);
    }
    assert_eq!(root.delete("/api/v1/people/nobody/totp").status, 404);
    assert_eq!(root.delete("/api/v1/people/ana/totp").status, 204);
    server.login("ana");
}

#[test]
fn somebody_sees_and_ends_own_sessions() {
    let server = Server::start();
    let (here, there, third) = (server.login("ana"), server.login("ana"), server.login("ana"));
    let root = server.login("root");
    let listed = |client: &Client| client.json("/api/v1/account/sessions")["sessions"].clone();
    let sessions = listed(&here);
    let sessions = sessions.as_array().unwrap();
    assert_eq!(sessions.len(), 3, "nobody else's: {sessions:?}");
    assert_eq!(sessions.iter().filter(|session| session["current"] == true).count(), 1);
    assert!(sessions.iter().all(|session| session["address"] == "127.0.0.1"));
    let of = |client: &Client| {
        let sessions = listed(client);
        let mut sessions = sessions.as_array().unwrap().iter();
        sessions.find(|session| session["current"] == true).unwrap()["number"].as_u64().unwrap()
    };
    let end = |number: &str| here.delete(&format!("/api/v1/account/sessions/{number}")).status;
    assert_eq!(end(&of(&there).to_string()), 204);
    assert_eq!(there.get("/api/v1/session").status, 401);
    for (wrong, status) in
        [(of(&root).to_string().as_str(), 404), ("18446744073709551615", 404), ("-1", 400), ("x", 400)]
    {
        assert_eq!(end(wrong), status, "{wrong}");
    }
    assert_eq!(here.delete("/api/v1/account/sessions").status, 204);
    assert_eq!(third.get("/api/v1/session").status, 401);
    for stays in [&here, &root] {
        assert_eq!(stays.get("/api/v1/session").status, 200);
    }
    assert_eq!(server.audited().iter().filter(|action| **action == "logout").count(), 4);
}

/// A token that could, would make more of itself than it was given.
#[test]
fn a_token_changes_nothing_of_how_its_owner_logs_in() {
    let server = Server::start();
    let ana = server.login("ana");
    let wanted = json!({ "name": "report", "rights": ["search"], "days": 7 });
    let token = ana.post("/api/v1/tokens", &wanted).json()["token"].as_str().unwrap().to_owned();
    let program = Client::new(server.address).with("authorization", &format!("Bearer {token}"));
    for (method, path, body) in [
        ("POST", "totp", Some(proof(None))),
        ("POST", "totp/confirm", Some(json!({ "code": "287082" }))),
        ("POST", "totp/remove", Some(proof(None))),
        ("POST", "recovery-codes", Some(proof(None))),
        ("GET", "sessions", None),
        ("GET", "passkeys", None),
        ("POST", "passkeys/1/remove", Some(proof(None))),
        ("DELETE", "sessions", None),
        ("DELETE", "sessions/1", None),
    ] {
        let refused = program.send(method, &format!("/api/v1/account/{path}"), body.as_ref());
        assert_eq!(refused.status, 409, "{path}");
    }
    assert_eq!(ana.get("/api/v1/session").status, 200);
}

#[test]
fn who_has_a_session_does_not_guess_the_password_with_it() {
    let server = Server::start();
    let ana = server.login("ana");
    let guess = |number: usize| {
        let guess = json!({ "password": format!("guess number {number}") });
        ana.post("/api/v1/account/totp", &guess).status
    };
    let refused: Vec<u16> = (0..12).map(guess).collect();
    assert!(refused.iter().all(|status| matches!(status, 401 | 429)), "{refused:?}");
    assert_eq!(refused.last(), Some(&429), "{refused:?}");
}
