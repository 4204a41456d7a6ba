//! Logging in by an identity provider over the API: from the button to the session, and what is refused. What
//! is checked of a provider's answer has tests of its own (`oidc/tests/flow`).

use std::time::Duration;

use ringtap_access::{LocalLogins, Role};
use ringtap_oidc::Settings;
use ringtap_testing::identity_provider::{self, Key, pairs};
use serde_json::{Value, json};

use crate::client::{Answer, Client};
use crate::server::{PASSWORD, Server};

/// Where people open the console; requests of these tests say so.
const HOST: &str = "localhost:8443";
const CALLBACK: &str = "/login/callback";

/// A console, and a provider that it trusts.
struct Case {
    server: Server,
    provider: identity_provider::Server,
    key: Key,
}

impl Case {
    fn new(local_logins: LocalLogins) -> Self {
        let (provider, key) = (identity_provider::Server::start(), Key::new("one"));
        provider.publish(&[key.public()]);
        let settings = Settings {
            name: "Example".into(),
            issuer: provider.issuer.clone(),
            client_id: "ringtap".into(),
            secret: None,
            address: format!("https://{HOST}"),
            person: "preferred_username".into(),
            groups: Some("groups".into()),
            roles: [(Role::Quality, vec!["voice".into()])].into(),
            scopes: Vec::new(),
            add: true,
            local_logins,
            request: Vec::new(),
            acr: Vec::new(),
            amr: Vec::new(),
            ca: None,
            patience: Duration::from_secs(600),
        };
        Self { server: Server::start_with_provider(settings), provider, key }
    }

    fn browser(&self) -> Client {
        Client::new(self.server.address).with("host", HOST)
    }

    /// Goes to the provider; returns the browser with its cookie, and what it was sent with.
    fn leave(&self) -> (Client, Value) {
        let browser = self.browser();
        let begun = browser.send("POST", "/api/v1/session/provider/begin", None);
        assert_eq!(begun.status, 200, "{}", begun.text());
        let cookie = begun.header("set-cookie").unwrap();
        assert!(cookie.contains("; HttpOnly; SameSite=Lax") && cookie.ends_with("Max-Age=600"), "{cookie}");
        let location = begun.json()["location"].as_str().unwrap().to_owned();
        let (page, query) = location.split_once('?').unwrap();
        assert_eq!(page, format!("{}/authorize", self.provider.issuer));
        (browser.with("cookie", cookie.split(';').next().unwrap()), json!(pairs(query)))
    }

    /// The provider knows the person as that from now on.
    fn know(&self, sent: &Value, name: &str, groups: &[&str]) {
        // The console reads a clock of its own.
        let now = ringtap_report::time::now().micros() / 1_000_000;
        self.provider.give(&self.key.sign(&json!({
            "iss": self.provider.issuer, "aud": "ringtap", "sub": format!("id of {name}"), "iat": now,
            "exp": now + 300, "nonce": sent["nonce"], "preferred_username": name, "groups": groups,
        })));
    }

    fn come_back(&self, browser: &Client, sent: &Value) -> Answer {
        browser
            .get(&format!("{CALLBACK}?code=c0de&state={}&session_state=x", sent["state"].as_str().unwrap()))
    }
}

/// Where the browser is sent, and the session's cookie if there is one.
fn outcome(answer: &Answer) -> (String, Option<String>) {
    assert_eq!(answer.status, 303, "{}", answer.text());
    let cookies = answer.all("set-cookie");
    assert!(cookies.iter().any(|cookie| cookie.starts_with("ringtap-login=;")), "{cookies:?}");
    let session = cookies.iter().find(|cookie| cookie.starts_with("ringtap="));
    let session = session.map(|cookie| {
        assert!(cookie.contains("; HttpOnly; SameSite=Strict"), "{cookie}");
        cookie.split(';').next().unwrap().to_owned()
    });
    (answer.header("location").unwrap().to_owned(), session)
}

#[test]
fn somebody_logs_in_by_the_provider_and_out_there_as_well() {
    let case = Case::new(LocalLogins::Everybody);
    assert_eq!(case.browser().json("/api/v1/session/provider"), json!({ "name": "Example" }));
    let (browser, sent) = case.leave();
    case.know(&sent, "Maria", &["voice", "other"]);
    let (location, session) = outcome(&case.come_back(&browser, &sent));
    assert_eq!(location, "/");
    let maria = browser.with("cookie", &session.unwrap());
    let present = maria.json("/api/v1/session");
    assert_eq!((&present["user"], &present["role"]), (&json!("maria"), &json!("quality")));
    assert_eq!((&present["by_provider"], &present["scope"]), (&json!(true), &json!([])));
    assert_eq!(case.server.audited(), ["people", "login"]);
    let ended = maria.send("POST", "/api/v1/session/provider/end", None);
    let to = ended.json()["location"].as_str().unwrap().to_owned();
    assert!(to.starts_with(&format!("{}/logout?", case.provider.issuer)), "{to}");
    assert_eq!(maria.get("/api/v1/session").status, 401);
    // Whoever logs in by a password is not sent there.
    assert_eq!(case.server.login("ana").json("/api/v1/session")["by_provider"], false);
}

#[test]
fn an_answer_for_another_browser_or_a_second_time_begins_no_session() {
    let case = Case::new(LocalLogins::Everybody);
    let ((mine, sent), (stranger, theirs)) = (case.leave(), case.leave());
    case.know(&theirs, "maria", &["voice"]);
    for (browser, path) in [
        (&mine, format!("{CALLBACK}?code=c0de&state={}", theirs["state"].as_str().unwrap())),
        (&case.browser(), format!("{CALLBACK}?code=c0de&state={}", sent["state"].as_str().unwrap())),
        (&mine, format!("{CALLBACK}?code=c0de&state=a&state=b")),
        (&mine, CALLBACK.to_owned()),
    ] {
        assert_eq!(outcome(&browser.get(&path)), ("/?login=state".into(), None), "{path}");
    }
    assert!(case.provider.asked("/token").is_empty());
    assert!(outcome(&case.come_back(&stranger, &theirs)).1.is_some());
    let again = case.come_back(&stranger, &theirs);
    assert_eq!(outcome(&again), ("/?login=state".into(), None));
    assert!(case.server.audited().iter().filter(|action| **action == "login_failed").count() == 5);
}

#[test]
fn who_is_not_permitted_is_sent_back_with_the_reason_and_it_is_noted() {
    let case = Case::new(LocalLogins::Everybody);
    for (name, groups, reason) in
        [("maria", &["other"][..], "not_permitted"), ("root", &["voice"], "not_permitted")]
    {
        let (browser, sent) = case.leave();
        case.know(&sent, name, groups);
        assert_eq!(outcome(&case.come_back(&browser, &sent)), (format!("/?login={reason}"), None), "{name}");
    }
    assert_eq!(case.server.audited(), ["login_failed", "login_failed"]);
    let (browser, sent) = case.leave();
    let state = sent["state"].as_str().unwrap();
    let declined = browser.get(&format!("{CALLBACK}?error=access_denied&state={state}"));
    assert_eq!(outcome(&declined), ("/?login=declined".into(), None));
}

#[test]
fn passwords_may_be_those_of_administrators_alone() {
    let case = Case::new(LocalLogins::Administrators);
    case.server.login("root");
    let ana = json!({ "name": "ana", "password": PASSWORD });
    let refused = case.browser().post("/api/v1/session", &ana);
    assert_eq!((refused.status, refused.header("set-cookie")), (409, None));
    assert!(refused.text().contains("identity provider"), "{}", refused.text());
}

#[test]
fn a_login_begins_under_the_address_that_the_provider_knows_and_by_the_page_alone() {
    let case = Case::new(LocalLogins::Everybody);
    let begin = "/api/v1/session/provider/begin";
    let elsewhere = Client::new(case.server.address).send("POST", begin, None);
    assert_eq!(elsewhere.status, 409);
    assert!(elsewhere.text().contains(HOST), "{}", elsewhere.text());
    assert_eq!(case.browser().without_own_header().send("POST", begin, None).status, 403);
    let foreign = case.browser().with("origin", "https://evil.example");
    assert_eq!(foreign.send("POST", begin, None).status, 403);
}

#[test]
fn a_console_without_a_provider_says_so() {
    let server = Server::start();
    let nobody = Client::new(server.address);
    assert_eq!(nobody.json("/api/v1/session/provider"), json!({ "name": null }));
    assert_eq!(nobody.send("POST", "/api/v1/session/provider/begin", None).status, 409);
    assert_eq!(nobody.get(CALLBACK).status, 409);
    assert_eq!(server.login("ana").send("POST", "/api/v1/session/provider/end", None).status, 409);
}
