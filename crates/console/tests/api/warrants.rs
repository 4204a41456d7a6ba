//! The register of warrants by HTTP: who may do what, two officers for everything, and sessions that end.

use std::fs;
use std::sync::Arc;

use ringtap_console::WarrantProduct;
use ringtap_report::time::now;
use ringtap_warrant::ActQuery;
use serde_json::{Value, json};

use crate::client::Client;
use crate::officers::{OWN, Officers, copied, entry, first, logged_in, source};
use crate::server::{PASSWORD, Server};

/// Each request, and its status when somebody else asks, a person of the console, an officer who has not
/// chosen a passphrase, an auditor, an officer.
fn requests() -> Vec<(&'static str, &'static str, Value, [u16; 3])> {
    let why = || json!({ "why": "a look" });
    let hash = json!({ "hash": "0".repeat(64) });
    let extension = json!({ "ends_us": 4_102_444_900_000_000_u64, "reference": "O-2", "authority": "Court" });
    let person = json!({ "name": "fay", "role": "officer", "passphrase": first() });
    vec![
        ("GET", "/session", Value::Null, [200, 200, 200]),
        ("POST", "/list", why(), [403, 200, 200]),
        ("POST", "/1/show", why(), [403, 200, 200]),
        ("POST", "/acts", why(), [403, 200, 200]),
        ("POST", "/verify", why(), [403, 200, 200]),
        ("POST", "/people/list", why(), [403, 200, 200]),
        ("POST", "", entry("LI-2", &["user:yak"]), [403, 403, 201]),
        // Its own, and not what was seen: an officer is refused for that alone.
        ("POST", "/1/approve", hash, [403, 403, 409]),
        ("POST", "/1/extend", extension, [403, 403, 409]),
        ("POST", "/1/notes", json!({ "text": "a note" }), [403, 403, 204]),
        ("POST", "/1/withdraw", why(), [403, 403, 204]),
        ("POST", "/people", person, [403, 403, 201]),
        ("POST", "/people/disable", json!({ "name": "dora" }), [403, 403, 201]),
        ("POST", "/people/proposals/0/confirm", Value::Null, [403, 403, 404]),
    ]
}

fn status(who: &Client, method: &str, path: &str, body: &Value) -> u16 {
    who.send(method, &format!("/api/v1/warrants{path}"), Some(body).filter(|body| !body.is_null())).status
}

#[test]
fn officers_enter_auditors_look_and_nobody_else_does_anything() {
    let officers = Officers::start();
    let (ana, dora) = (officers.login("ana"), officers.login("dora"));
    let eve = officers.login_by("eve", first());
    officers.enter(&ana, "LI-1", "user~:zebra");
    let administrator = officers.server.login("root");
    let token = json!({ "name": "all", "rights": ["search", "administer", "audit"], "days": 1 });
    let token = administrator.post("/api/v1/tokens", &token).json()["token"].as_str().unwrap().to_owned();
    let program = officers.nobody().with("authorization", &format!("Bearer {token}"));
    for (method, path, body, [first, auditor, officer]) in requests() {
        for other in [&officers.nobody(), &administrator, &program] {
            assert_eq!(status(other, method, path, &body), 401, "{method} {path}: somebody else");
        }
        assert_eq!(status(&eve, method, path, &body), first, "{method} {path}: no passphrase of her own");
        assert_eq!(status(&dora, method, path, &body), auditor, "{method} {path}: an auditor");
        assert_eq!(status(&ana, method, path, &body), officer, "{method} {path}: an officer");
    }
    // Nor is an officer anybody to the console.
    for path in ["/session", "/calls", "/audit", "/metrics", "/people"] {
        assert_eq!(ana.get(&format!("/api/v1{path}")).status, 401, "{path}");
    }
    // No page of another origin writes as somebody who is logged in.
    let (path, why) = ("/api/v1/warrants/list", json!({ "why": "a look" }));
    assert_eq!(ana.without_own_header().post(path, &why).status, 403);
    assert_eq!(ana.with("origin", "https://evil.example").post(path, &why).status, 403);
}

#[test]
fn a_warrant_needs_a_second_officer_who_was_shown_it_as_it_is() {
    let officers = Officers::start();
    let (ana, ben, dora) = (officers.login("ana"), officers.login("ben"), officers.login("dora"));
    let number = officers.enter(&ana, "LI-ZEBRA", "sip:Zebra@*");
    assert_eq!(officers.approve(&ana, number).status, 409, "who entered it does not approve it");
    assert_eq!(officers.approve(&dora, number).status, 403);
    let listed = |who: &Client, more: Value| {
        let mut query = json!({ "why": "what waits" });
        query.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        let answer = who.post("/api/v1/warrants/list", &query);
        assert_eq!(answer.status, 200, "{}", answer.text());
        answer.json()
    };
    let waits = json!({ "waits_for_me": true });
    assert_eq!(listed(&ben, waits.clone())["warrants"][0]["number"], number);
    assert_eq!(listed(&ana, waits.clone())["total"], 0);
    let line = &listed(&dora, json!({}))["warrants"][0];
    assert_eq!((&line["status"], &line["waits_for_me"]), (&json!("draft"), &json!(false)));
    assert!(!line.to_string().contains("zebra@"), "targets are with the warrant alone: {line}");

    // Not without having seen it, not by the hash of something else.
    let path = format!("/api/v1/warrants/{number}");
    let hash = officers.show(&ana, number)["hash"].clone();
    let approve = |hash: &Value| ben.post(&format!("{path}/approve"), &json!({ "hash": hash }));
    let unseen = approve(&hash);
    assert!(unseen.status == 409 && unseen.text().contains("look at the whole record first"));
    let record = officers.show(&ben, number);
    assert_eq!((&record["targets"], &record["waits_for_me"]), (&json!(["sip:zebra@*"]), &json!(true)));
    assert_eq!(approve(&json!("0".repeat(64))).status, 409);
    assert_eq!(approve(&record["hash"]).status, 204);
    assert_eq!(approve(&record["hash"]).status, 409, "it is approved");

    // An extension likewise.
    let extension = json!({ "ends_us": 4_102_444_900_000_000_u64, "reference": "O-2", "authority": "Court" });
    assert_eq!(ben.post(&format!("{path}/extend"), &extension).status, 204);
    assert_eq!(officers.approve(&ben, number).status, 409);
    assert_eq!(listed(&ana, waits)["warrants"][0]["extension_waits"], true);
    assert_eq!(officers.approve(&ana, number).status, 204);
    let record = officers.show(&dora, number);
    assert_eq!(record["ends_us"], 4_102_444_900_000_000_u64);
    assert_eq!((&record["status"], &record["approved"]["by"]), (&json!("active"), &json!("ben")));
    assert_eq!(record["extensions"][0]["approved_by"], "ana");
    assert_eq!(ana.post(&format!("{path}/withdraw"), &json!({ "why": "lifted" })).status, 204);
    assert_eq!(officers.show(&dora, number)["withdrawn"]["text"], "lifted");

    // Every act and look is in the register, none of it in the audit log of the console.
    let acts = dora.post("/api/v1/warrants/acts", &json!({ "why": "audit", "warrant": number })).json();
    let kinds: Vec<&str> =
        acts["acts"].as_array().unwrap().iter().rev().map(|act| act["act"].as_str().unwrap()).collect();
    let others: Vec<&&str> = kinds.iter().filter(|kind| **kind != "look").collect();
    assert_eq!(others, [&"enter", &"approve", &"extend", &"approve-extension", &"withdraw"]);
    assert_eq!(kinds.iter().filter(|kind| **kind == "look").count(), 8);
    assert!(!acts.to_string().to_lowercase().contains("zebra"));
    assert_eq!(officers.server.audited(), Vec::<&str>::new());
}

#[test]
fn what_a_warrant_has_given_is_shown_with_it() {
    let dir = copied();
    let mut warrants = source(&dir);
    warrants.product = Some(Arc::new(|warrant| match warrant.entered.liid.text().as_str() {
        "LI-1" => Ok(Some(WarrantProduct { packets: 7, lost: 2, ..WarrantProduct::default() })),
        "LI-2" => Ok(None),
        _ => anyhow::bail!("the report cannot be read"),
    }));
    let officers = Officers { server: Server::start_with_register(warrants), dir };
    let ana = officers.login("ana");
    let shown = ["LI-1", "LI-2", "LI-3"].map(|liid| {
        let number = officers.enter(&ana, liid, "user:zebra");
        officers.show(&ana, number)
    });
    assert_eq!((&shown[0]["product"]["packets"], &shown[0]["product"]["lost"]), (&json!(7), &json!(2)));
    assert_eq!((&shown[1]["product"], &shown[1]["product_problem"]), (&Value::Null, &Value::Null));
    assert_eq!(shown[2]["product_problem"], "the report cannot be read");
}

#[test]
fn pages_of_warrants_and_acts_go_on_where_the_last_one_ended() {
    let officers = Officers::start();
    let ana = officers.login("ana");
    for number in 1..=5 {
        officers.enter(&ana, &format!("LI-{number}"), "user:zebra");
    }
    let page = |path: &str, before: &Value| {
        let query = json!({ "why": "all", "limit": 2, "before": before });
        ana.post(&format!("/api/v1/warrants{path}"), &query).json()
    };
    for (path, of, least) in [("/list", "warrants", 5), ("/acts", "acts", 12)] {
        let (mut numbers, mut before) = (Vec::new(), Value::Null);
        loop {
            let found = page(path, &before);
            let found_of = found[of].as_array().unwrap();
            assert!(found_of.len() <= 2);
            numbers.extend(found_of.iter().map(|one| one["number"].as_u64().unwrap()));
            before = json!(numbers.last().unwrap());
            if found["more"] != true {
                break;
            }
        }
        assert!(numbers.len() >= least && numbers.is_sorted_by(|one, next| one > next), "{numbers:?}");
    }
}

#[test]
fn what_is_wrong_with_a_warrant_is_named_by_field_and_place_and_not_repeated() {
    let officers = Officers::start();
    let ana = officers.login("ana");
    let mut wrong = entry("LI 1", &["user:right", "sip:zebra", "zebra:1"]);
    wrong["delivers"] = json!("everything");
    let answer = ana.post("/api/v1/warrants", &wrong);
    assert_eq!((answer.status, answer.kind()), (400, "application/problem+json"));
    let told = answer.json();
    let places: Vec<Value> = told["fields"]
        .as_array()
        .unwrap()
        .iter()
        .map(|field| json!([field["field"], field["entry"], field["column"], field["length"]]))
        .collect();
    let expected = [
        json!(["liid", null, null, null]),
        json!(["delivers", null, null, null]),
        json!(["targets", 1, 5, 5]),
        json!(["targets", 2, 1, 5]),
    ];
    assert_eq!(places, expected, "{told}");
    assert!(!told.to_string().contains("zebra"), "{told}");
    for (field, value, named) in [
        ("ends_us", json!(1), "ends_us"),
        ("case", json!(" "), "case"),
        ("agency", json!("a b"), "agency"),
        ("targets", json!([]), "targets"),
    ] {
        let mut wrong = entry("LI-1", &["user:right"]);
        wrong[field] = value;
        let told = ana.post("/api/v1/warrants", &wrong).json();
        assert_eq!((&told["status"], &told["fields"][0]["field"]), (&json!(400), &json!(named)), "{told}");
    }
    assert_eq!(ana.post("/api/v1/warrants/list", &json!({ "why": " " })).json()["fields"][0]["field"], "why");
    assert_eq!(ana.post("/api/v1/warrants/9/show", &json!({ "why": "a look" })).status, 404);
    officers.enter(&ana, "LI-1", "user:right");
    let again = ana.post("/api/v1/warrants", &entry("LI-1", &["user:other"])).json();
    assert_eq!(again["fields"][0]["field"], "liid", "{again}");
}

#[test]
fn wrong_passphrases_wait_by_name_and_by_address_and_are_acts() {
    let officers = Officers::start();
    for _ in 0..3 {
        let wrong = officers.try_login("ana", "wrong horse battery");
        assert_eq!((wrong.status, &wrong.json()["type"]), (401, &json!("/problems/password")));
        assert_eq!(officers.try_login("nobody", OWN).json(), wrong.json(), "nobody is not told apart");
    }
    let waits = officers.try_login("ana", OWN);
    assert_eq!(waits.status, 429);
    assert!(waits.header("retry-after").unwrap().parse::<u64>().unwrap() >= 1);
    let dora = officers.login("dora");
    let acts = dora.post("/api/v1/warrants/acts", &json!({ "why": "audit", "who": "service" })).json();
    let wrong = acts["acts"].as_array().unwrap().iter().filter(|act| act["act"] == "refused");
    assert_eq!(wrong.count(), 6);
    // Ten from an address, and it waits whatever the name: six were wrong, and one waited.
    let statuses: Vec<u16> =
        (0..4).map(|_| officers.try_login("ben", "wrong horse battery").status).collect();
    assert_eq!(statuses[..3], [401, 401, 401], "{statuses:?}");
    assert_eq!(statuses[3], 429);
    let dora = officers.try_login("dora", OWN);
    assert!(dora.status == 429 && dora.text().contains("from this address"), "{}", dora.text());
    // Passwords of the console are none of the register.
    assert_eq!(officers.server.login("ana").get("/api/v1/warrants/session").status, 401);
    assert_ne!(PASSWORD, OWN);
}

#[test]
fn a_session_ends_with_the_logout_another_passphrase_and_the_person() {
    let officers = Officers::start();
    let answer = officers.try_login("ben", OWN);
    let cookie = answer.header("set-cookie").unwrap();
    assert!(cookie.starts_with("ringtap-warrants=") && cookie.ends_with("Path=/; HttpOnly; SameSite=Strict"));
    assert_eq!(answer.json()["idle_s"], 600);
    let ben = logged_in(&officers.nobody(), &answer);
    let stands = |who: &Client| who.get("/api/v1/warrants/session").status;
    let (other, third) = (officers.login("ben"), officers.login("ben"));
    assert_eq!(ben.delete("/api/v1/warrants/session").status, 204);
    assert_eq!((stands(&ben), stands(&other)), (401, 200));

    // By oneself, with the present one.
    let change = |who: &Client, present: &str, new: &str| {
        let body = json!({ "present": present, "passphrase": new });
        who.post("/api/v1/warrants/session/passphrase", &body)
    };
    assert_eq!(change(&other, first(), "another horse staple").status, 401);
    assert_eq!(change(&other, OWN, "short").json()["fields"][0]["field"], "passphrase");
    let changed = change(&other, OWN, "another horse staple");
    assert_eq!(changed.status, 200, "{}", changed.text());
    let going_on = logged_in(&officers.nobody(), &changed);
    assert_eq!((stands(&other), stands(&third), stands(&going_on)), (401, 401, 200));

    // By the command line.
    let mut register = officers.register();
    let session = register.identify("ben", "another horse staple", now()).unwrap();
    register.change_passphrase(&session, OWN, now()).unwrap();
    let look = json!({ "why": "a look" });
    assert_eq!(going_on.post("/api/v1/warrants/list", &look).status, 401);
    assert_eq!(stands(&going_on), 401);

    // Somebody who is disabled: by two officers, where three remain.
    let eve = officers.login_by("eve", first());
    assert_eq!(eve.get("/api/v1/warrants/session").json()["must_change"], true);
    let changed = change(&eve, first(), OWN);
    assert_eq!(changed.json()["must_change"], false);
    let (ana, eve) = (officers.login("ana"), logged_in(&officers.nobody(), &changed));
    let proposed = ana.post("/api/v1/warrants/people/disable", &json!({ "name": "eve" })).json();
    let confirm = |who: &Client| {
        who.send("POST", &format!("/api/v1/warrants/people/proposals/{}/confirm", proposed["proposal"]), None)
    };
    for by in [&ana, &eve] {
        assert_eq!(confirm(by).status, 409, "who proposed it, and whom it is about, do not confirm it");
    }
    let ben = officers.login("ben");
    let waits = ben.post("/api/v1/warrants/people/list", &look).json();
    assert_eq!(waits["proposals"][0]["waits_for_me"], true, "{waits}");
    assert_eq!((confirm(&ben).status, stands(&eve)), (204, 401));
    // A name that nobody has ends no session.
    assert_eq!(ana.post("/api/v1/warrants/people/disable", &json!({ "name": "gus" })).status, 404);
    assert_eq!(stands(&ana), 200);
}

#[test]
fn the_cookie_is_for_this_host_alone_where_there_is_tls() {
    let (dir, people) = (copied(), tempfile::tempdir().unwrap());
    let own = ringtap_console::Security::Own(people.path().to_owned());
    let server = Server::secured_with_register(own, source(&dir));
    let body = json!({ "name": "ana", "passphrase": OWN }).to_string();
    let request = format!(
        "POST /api/v1/warrants/session HTTP/1.1\r\nHost: {}\r\nConnection: close\r\nX-Ringtap: 1\r\n\
         Content-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
        server.address,
        body.len()
    );
    let answer = crate::authority::ask(server.address, &request);
    let cookie = answer.lines().find_map(|line| line.strip_prefix("set-cookie: ")).expect(&answer);
    assert!(cookie.starts_with("__Host-ringtap-warrants="), "{cookie}");
    assert!(cookie.contains("; HttpOnly; SameSite=Strict; Secure"), "{cookie}");
}

#[test]
fn a_register_that_was_changed_is_found_and_records_nothing_more() {
    let officers = Officers::start();
    let (ana, dora) = (officers.login("ana"), officers.login("dora"));
    officers.enter(&ana, "LI-1", "user:zebra");
    let verify = |more: Value| {
        let mut body = json!({ "why": "yearly audit" });
        body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        dora.post("/api/v1/warrants/verify", &body)
    };
    let sound = verify(json!({})).json();
    assert_eq!((&sound["fault"], &sound["torn"]), (&Value::Null, &json!(false)));
    let head = sound["head"].clone();
    assert_eq!(verify(json!({ "heads": [head], "key": sound["key"] })).json()["fault"], Value::Null);
    let other = format!("0:{}", "0".repeat(64));
    assert!(verify(json!({ "heads": [other] })).json()["fault"].is_string());
    assert_eq!(verify(json!({ "heads": ["x"], "key": "y" })).json()["fields"].as_array().unwrap().len(), 2);
    let mut register = officers.register();
    let session = register.identify("dora", OWN, now()).unwrap();
    let query = ActQuery { who: Some("dora".into()), ..ActQuery::default() };
    let acts = register.acts(&session, &query, "audit", now()).unwrap();
    let looks = acts.iter().filter(|act| act.detail.starts_with("verify: ")).count();
    assert_eq!(looks, 3, "what could not be read is no look");

    let path = officers.dir.path().join("register/acts");
    let text = fs::read_to_string(&path).unwrap();
    fs::write(&path, text.split_inclusive('\n').skip(1).collect::<String>()).unwrap();
    let broken = verify(json!({})).json();
    assert!(broken["fault"].as_str().unwrap().contains("act 0 is missing"), "{broken}");
    let refused = ana.post("/api/v1/warrants/list", &json!({ "why": "a look" }));
    assert_eq!(refused.status, 503, "{}", refused.text());
    // Who is not let in is not told how it is about the register.
    let refused = officers.try_login("ana", OWN);
    assert!(refused.status == 503 && !refused.text().contains("act 0"), "{}", refused.text());
}

#[test]
fn without_a_register_every_request_says_so() {
    let server = Server::start();
    let who = server.login("root").with("cookie", "ringtap-warrants=1");
    for (method, path, body, _) in requests() {
        let body = Some(&body).filter(|body| !body.is_null());
        let answer = who.send(method, &format!("/api/v1/warrants{path}"), body);
        let told = answer.json();
        assert_eq!((answer.status, &told["type"]), (404, &json!("/problems/no-register")), "{path}");
        assert!(told["remedy"].as_str().unwrap().contains("[warrants] register"), "{told}");
    }
    let login = json!({ "name": "ana", "passphrase": OWN });
    assert_eq!(who.post("/api/v1/warrants/session", &login).status, 404);
}
