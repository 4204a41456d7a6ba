//! An assistant asks over the console: what a token permits, and nothing more.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on ends")]

use ringtap_access::{AuditLog, AuditQuery, NewToken, People, Role, Scope, Settings};
use ringtap_model::{Call, Id, Nanos};
use ringtap_report::time;
use ringtap_store::ImportWriter;
use ringtap_testing::samples;
use serde_json::{Value, json};

use crate::console::Console;

const DAY: Nanos = Nanos::from_secs(86_400);

/// A console over calls of two carriers, and tokens by the names of people.
struct Assisted {
    dir: tempfile::TempDir,
    console: Console,
}

impl Assisted {
    fn start() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let records = dir.path().join("records");
        std::fs::create_dir_all(&records).unwrap();
        std::fs::create_dir_all(dir.path().join("spool")).unwrap();
        let mut writer = ImportWriter::open(&records).unwrap();
        (0..10).for_each(|number| writer.call(&call(number), &[]).unwrap());
        writer.close().unwrap();
        let console = Console::start(dir.path(), "/nonexistent/control");
        Self { dir, console }
    }

    fn people(&self) -> People {
        People::open(&self.dir.path().join("people"), Settings::default()).unwrap()
    }

    /// A token with all rights of its owner.
    fn token(&self, person: &str) -> String {
        let now = time::now();
        let (rights, scope) = (Role::Administrator.rights(), Scope::everything());
        let new = NewToken { person, name: "assistant", rights, scope, expires: now + DAY };
        self.people().make_token(&new, now).unwrap().0.to_string()
    }

    fn name_network(&self, name: &str, network: &str) {
        let cookie = self.console.login("root");
        let body = json!({ "name": name, "networks": [network] }).to_string();
        let headers = format!("X-Ringtap: 1\r\nCookie: {cookie}\r\nContent-Type: application/json");
        let (status, text) = self.console.ask_with("POST", "/api/v1/sites", &headers, &body);
        assert_eq!(status, 201, "{text}");
    }

    fn post(&self, token: &str, body: &str) -> (u16, String) {
        self.console.ask_with("POST", "/mcp", &format!("Authorization: Bearer {token}"), body)
    }

    /// The answer to a request.
    fn ask(&self, token: &str, method: &str, params: Value) -> Value {
        let message = json!({ "jsonrpc": "2.0", "id": 7, "method": method, "params": params });
        let (status, text) = self.post(token, &message.to_string());
        assert_eq!(status, 200, "{text}");
        assert!(!text.to_lowercase().contains("mcp-session-id"), "there are no sessions: {text}");
        let answer: Value = serde_json::from_str(text.split("\r\n\r\n").nth(1).unwrap()).unwrap();
        assert_eq!(answer["id"], 7, "{answer}");
        answer
    }

    /// The result of a tool, and whether it is a refusal.
    fn call(&self, token: &str, tool: &str, arguments: Value) -> (Value, bool) {
        let answer = self.ask(token, "tools/call", json!({ "name": tool, "arguments": arguments }));
        let refused = answer["result"]["isError"] == true;
        (answer["result"].clone(), refused)
    }
}

/// The even ones are of `carrier-a`.
fn call(number: u8) -> Call {
    let trunk = if number.is_multiple_of(2) { "carrier-a" } else { "carrier-b" };
    Call {
        id: Id([number; 16]),
        call_id: format!("call-{number}"),
        invite: Some(samples::START + Nanos::from_secs(60 * u64::from(number))),
        from_user: Some("442079460131".to_owned()),
        trunk_from: None,
        trunk_to: Some(trunk.to_owned()),
        conversation: None,
        streams: Vec::new(),
        ..samples::call()
    }
}

#[test]
fn an_assistant_has_the_tools_and_what_it_asks_is_in_the_audit_log() {
    let assisted = Assisted::start();
    let token = assisted.token("ana");
    let client = json!({
        "protocolVersion": "2025-06-18", "capabilities": {},
        "clientInfo": { "name": "test", "version": "1" },
    });
    let answer = assisted.ask(&token, "initialize", client);
    assert_eq!(answer["result"]["serverInfo"]["name"], "ringtap", "{answer}");
    let (status, text) = assisted
        .post(&token, &json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }).to_string());
    assert!(status == 202 && text.ends_with("\r\n\r\n"), "{text}");
    let answer = assisted.ask(&token, "tools/list", json!({}));
    let names =
        answer["result"]["tools"].as_array().unwrap().iter().map(|tool| tool["name"].as_str().unwrap());
    let names: Vec<&str> = names.collect();
    assert!(names.contains(&"search_calls") && names.contains(&"why") && names.len() == 8, "{names:?}");

    let (found, refused) = assisted.call(&token, "search_calls", json!({ "query": "number:*0131" }));
    assert!(!refused && found.to_string().contains("442079460131"), "{found}");
    assert_eq!(found["structuredContent"]["calls"].as_array().unwrap().len(), 10, "{found}");
    let log = AuditLog::open(&assisted.dir.path().join("people")).unwrap();
    let entries = log.reader().read(&AuditQuery::default()).unwrap().entries;
    let search = entries.iter().find(|entry| entry.action.name() == "search").unwrap();
    assert!(format!("{search:?}").contains("assistant: search_calls"), "{search:?}");
    assert_eq!(search.actor.who, "ana (token assistant)");
}

#[test]
fn an_assistant_sees_what_its_person_sees() {
    let assisted = Assisted::start();
    let (tenant, viewer) = (assisted.token("ten"), assisted.token("vic"));
    let (foreign, own) = (Id([1; 16]).to_string(), Id([2; 16]).to_string());
    // Another tenant's call: by its id, by a search, by a count.
    let (answer, refused) = assisted.call(&tenant, "call", json!({ "id": foreign }));
    assert!(refused && answer.to_string().contains("no call has the id"), "{answer}");
    let (answer, refused) = assisted.call(&tenant, "call", json!({ "id": own }));
    assert!(!refused && answer.to_string().contains("carrier-a"), "{answer}");
    let (answer, _) = assisted.call(&tenant, "search_calls", json!({ "query": "" }));
    let calls = &answer["structuredContent"];
    assert_eq!(calls["calls"].as_array().unwrap().len(), 5, "{answer}");
    assert!(!answer.to_string().contains("carrier-b"), "{answer}");
    assert_eq!(calls["coverage"]["looked_at"], 5, "{answer}");
    for tool in ["kpis", "users"] {
        let (answer, refused) = assisted.call(&tenant, tool, json!({}));
        assert!(refused && answer.to_string().contains("counts all calls"), "{answer}");
    }
    // Networks have names for those who see all calls.
    assisted.name_network("Lyon", "192.0.2.0/24");
    let in_lyon = json!({ "query": "site:lyon" });
    let (answer, refused) = assisted.call(&assisted.token("ana"), "search_calls", in_lyon.clone());
    assert!(!refused, "{answer}");
    assert_eq!(answer["structuredContent"]["calls"].as_array().unwrap().len(), 10, "{answer}");
    let (answer, refused) = assisted.call(&tenant, "search_calls", in_lyon);
    assert!(refused && answer.to_string().contains("no network has a name"), "{answer}");
    // Whoever may not see numbers: neither in an answer, nor by a search for their digits.
    let (answer, refused) = assisted.call(&viewer, "call", json!({ "id": foreign }));
    assert!(!refused && !answer.to_string().contains("442079460131"), "{answer}");
    assert!(answer.to_string().contains("the right `signalling`"), "{answer}");
    let (answer, refused) = assisted.call(&viewer, "search_calls", json!({ "query": "number:*0131" }));
    assert!(refused && answer.to_string().contains("numbers are hidden"), "{answer}");
}

#[test]
fn without_a_token_that_stands_nothing_is_answered() {
    let assisted = Assisted::start();
    let token = assisted.token("ana");
    let list = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/list" }).to_string();
    let cookie = assisted.console.login("ana");
    let refused = [
        ("X-Ringtap: 1".to_owned(), 401),
        (format!("X-Ringtap: 1\r\nCookie: {cookie}"), 401),
        ("X-Ringtap: 1\r\nAuthorization: Bearer rt_nobody".to_owned(), 401),
        (format!("Cookie: {cookie}"), 403),
        (format!("Authorization: Bearer {token}\r\nOrigin: https://evil.example"), 403),
    ];
    for (headers, status) in refused {
        let (found, text) = assisted.console.ask_with("POST", "/mcp", &headers, &list);
        assert_eq!(found, status, "{headers}: {text}");
        assert_eq!(text.contains("www-authenticate: Bearer"), status == 401, "{text}");
    }
    assert_eq!(assisted.post(&token, "[]").0, 400);
    assert_eq!(assisted.post(&token, "{").0, 400);
    assert_eq!(assisted.post(&token, &format!("{{\"a\":\"{}\"}}", "x".repeat(70_000))).0, 413);
    let (status, text) = assisted.post(&token, "{}");
    assert!(status == 200 && text.contains("-32600"), "{text}");
    // There is no stream of events to be opened, and no session to be ended.
    for method in ["GET", "DELETE"] {
        let headers = format!("X-Ringtap: 1\r\nAuthorization: Bearer {token}");
        assert_eq!(assisted.console.ask_with(method, "/mcp", &headers, "").0, 405);
    }
    assert_eq!(assisted.post(&token, &list).0, 200);
    assisted.people().revoke_token("ana", "assistant").unwrap();
    assert_eq!(assisted.post(&token, &list).0, 401);
    expired(&assisted);
}

/// A token that was made long ago.
fn expired(assisted: &Assisted) {
    let (rights, scope) = (Role::Administrator.rights(), Scope::everything());
    let made = time::now() - DAY - DAY;
    let new = NewToken { person: "ana", name: "old", rights, scope, expires: made + DAY };
    let old = assisted.people().make_token(&new, made).unwrap().0;
    let list = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/list" }).to_string();
    assert_eq!(assisted.post(&old, &list).0, 401);
}
