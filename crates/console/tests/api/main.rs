//! The API over a real connection: what it answers, to whom, and what it refuses.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on ends")]

mod account;
mod authority;
mod availability;
mod certified;
mod client;
mod given_up;
mod officers;
mod passkeys;
mod provider;
mod refused;
mod retention;
mod searches;
mod sensors;
mod server;
mod sites;
mod tenants;
mod unseen;
mod warrants;
mod watched;

use std::collections::BTreeSet;
use std::io::{Read, Write};

use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::record::{Field, Row};
use serde_json::{Value, json};

use client::Client;
use server::{CALLS, Server};

#[test]
fn calls_are_found_page_by_page_once_each_while_others_arrive() {
    let server = Server::start();
    let ana = server.login("ana");
    let mut found = BTreeSet::new();
    let (mut cursor, mut pages) = (String::new(), 0);
    loop {
        let page = ana.json(&format!("/api/v1/calls?limit=7&cursor={cursor}"));
        for call in page["calls"].as_array().unwrap() {
            assert!(found.insert(call["id"].to_string()), "{} is there twice", call["id"]);
        }
        pages += 1;
        if pages == 2 {
            server.add_a_call_of_now();
        }
        match page["next"].as_str() {
            Some(next) => {
                assert_eq!(page["coverage"]["reason"], "more");
                cursor = next.to_owned();
            }
            None => break assert_eq!(page["coverage"]["complete"], true),
        }
    }
    assert_eq!(found.len(), CALLS, "what arrived meanwhile is newer than what was asked for");
    assert_eq!(pages, CALLS.div_ceil(7));
    assert_eq!(ana.json("/api/v1/calls?limit=1000")["calls"].as_array().unwrap().len(), CALLS + 1);
}

#[test]
fn a_search_says_how_it_was_understood_and_where_it_is_wrong() {
    let server = Server::start();
    let ana = server.login("ana");
    let page = ana.json("/api/v1/calls?q=state:failed");
    assert_eq!(page["calls"].as_array().unwrap().len(), CALLS / 4);
    assert_eq!(page["understood"], "calls failed");
    let wrong = ana.get("/api/v1/calls?q=state:failled");
    assert_eq!((wrong.status, wrong.kind()), (400, "application/problem+json"));
    assert_eq!((&wrong.json()["column"], &wrong.json()["length"]), (&json!(7), &json!(7)));
    let suggested = ana.json("/api/v1/calls/suggest?q=sta");
    let texts = suggested["completions"].as_array().unwrap();
    assert!(texts.iter().any(|text| text["text"].as_str().unwrap().starts_with("state:")), "{suggested}");
    let summary = ana.json("/api/v1/calls/summary?facets=state,codec");
    assert_eq!(summary["calls"], CALLS);
    let failed: Vec<_> = summary["facets"]["state"].as_array().unwrap().iter().collect();
    assert!(
        failed.iter().any(|value| value["value"] == "failed" && value["calls"] == CALLS / 4),
        "{failed:?}"
    );
    let sorted = ana.json("/api/v1/calls?sort=mos&limit=3");
    let mos: Vec<f64> =
        sorted["calls"].as_array().unwrap().iter().map(|call| call["mos"].as_f64().unwrap()).collect();
    assert!(mos.is_sorted() && mos[0] == 2.0, "{mos:?}");
}

#[test]
fn a_call_is_shown_with_its_sentence_and_what_is_missing_is_said() {
    let server = Server::start();
    let ana = server.login("ana");
    let id = ana.json("/api/v1/calls?limit=1")["calls"][0]["id"].as_str().unwrap().to_owned();
    let call = ana.json(&format!("/api/v1/calls/{id}"));
    assert_eq!(call["call"]["id"], id);
    assert_eq!(call["legs"].as_array().unwrap().len(), 1);
    assert!(call["sentences"][0].as_str().unwrap().ends_with('.'));
    assert_eq!(call["packets"]["available"], false);
    let ladder = ana.json(&format!("/api/v1/calls/{id}/ladder"));
    assert!(ladder["reason"].as_str().unwrap().contains("spool"), "{ladder}");
    assert_eq!(ana.get("/api/v1/calls/ffffffffffffffffffffffffffffffff").status, 404);
    assert_eq!(ana.get("/api/v1/calls/nonsense").status, 400);
}

#[test]
fn exports_have_what_the_search_found() {
    let server = Server::start();
    let ana = server.login("ana");
    let csv = ana.get("/api/v1/calls/export?format=csv&q=state:failed");
    assert_eq!(csv.kind(), "text/csv; charset=utf-8");
    assert_eq!(csv.text().lines().count(), 1 + CALLS / 4);
    assert!(csv.text().contains("\"'=HYPERLINK"), "a formula is no formula in a CSV: {}", csv.text());
    let lines = ana.get("/api/v1/calls/export?format=jsonl");
    let calls: Vec<Value> = lines.text().lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(calls.len(), CALLS);
    assert_eq!(ana.get("/api/v1/calls/export?format=exe").status, 400);
}

/// A Parquet file has the values of the CSV, tokens in place of numbers included.
#[test]
fn an_export_as_parquet_has_what_the_csv_has() {
    let server = Server::start();
    let ana = server.login("ana");
    let wanted = json!({ "name": "columns", "rights": ["search", "export"], "days": 1 });
    let token = ana.post("/api/v1/tokens", &wanted).json()["token"].as_str().unwrap().to_owned();
    let program = Client::new(server.address).with("authorization", &format!("Bearer {token}"));
    let mut numbers = BTreeSet::new();
    for who in [&ana, &program] {
        let file = who.get("/api/v1/calls/export?format=parquet&q=state:failed");
        assert_eq!((file.status, file.kind()), (200, "application/vnd.apache.parquet"));
        assert!(file.header("content-disposition").unwrap().contains("calls.parquet"));
        let mut on_disk = tempfile::tempfile().unwrap();
        on_disk.write_all(&file.body).unwrap();
        let read = SerializedFileReader::new(on_disk).unwrap();
        let csv = who.get("/api/v1/calls/export?format=csv&q=state:failed").text();
        let mut lines = csv.lines();
        let names: Vec<&str> = lines.next().unwrap().split(',').collect();
        let rows: Vec<Row> = read.get_row_iter(None).unwrap().map(Result::unwrap).collect();
        assert_eq!(rows.len(), CALLS / 4);
        for (row, line) in rows.iter().zip(lines) {
            let known: Vec<&String> = row.get_column_iter().map(|(name, _)| name).collect();
            assert_eq!(known, names);
            let value = |name: &str| row.get_column_iter().find(|(known, _)| *known == name).unwrap().1;
            let Field::Str(number) = value("from_user") else { panic!("{row}") };
            assert!(line.contains(number), "{number}: {line}");
            let Field::TimestampMicros(began) = value("invite_us") else { panic!("{row}") };
            assert!(line.contains(&began.to_string()), "{began}: {line}");
            numbers.insert(number.clone());
        }
    }
    let hidden = numbers.iter().filter(|number| number.starts_with('~')).count();
    assert_eq!(hidden * 2, numbers.len(), "{numbers:?}");
}

#[test]
fn who_may_not_see_numbers_sees_the_same_token_for_the_same_number() {
    let server = Server::start();
    let (ana, eve) = (server.login("ana"), server.login("eve"));
    let clear = ana.json("/api/v1/calls?limit=1000");
    let masked = eve.json("/api/v1/calls?limit=1000");
    let text = masked.to_string();
    for call in clear["calls"].as_array().unwrap() {
        let number = call["from_user"].as_str().unwrap();
        assert!(!text.contains(number), "{number} is shown");
    }
    let tokens: BTreeSet<&str> =
        masked["calls"].as_array().unwrap().iter().map(|call| call["from_user"].as_str().unwrap()).collect();
    let numbers: BTreeSet<&str> =
        clear["calls"].as_array().unwrap().iter().map(|call| call["from_user"].as_str().unwrap()).collect();
    assert_eq!(tokens.len(), numbers.len());
    assert!(tokens.iter().all(|token| token.starts_with('~')));
    for hidden in ["0138", "number:*0138", "from:4420*", "-to:*1", "(code:200 or callid:a*)", "text:4420"] {
        let asked = eve.get(&format!("/api/v1/calls?q={}", client::escaped(hidden)));
        assert_eq!((asked.status, &asked.json()["right"]), (403, &json!("numbers")), "{hidden}");
    }
    assert_eq!(eve.get("/api/v1/users?number=4420*").status, 403);
}

#[test]
fn what_happens_now_comes_from_the_daemon_and_without_one_that_is_said() {
    let server = Server::start();
    let ana = server.login("ana");
    let event = ana.first_event("/api/v1/live");
    assert_eq!(event["calls"]["active"], 3);
    let without = Server::start_without_daemon();
    let ana = without.login("ana");
    let event = ana.first_event("/api/v1/live");
    assert!(event["lacking"].as_str().unwrap().contains("--control"), "{event}");
    assert_eq!(ana.get("/api/v1/live/calls").status, 503);
}

#[test]
fn every_look_is_in_the_audit_log() {
    let server = Server::start();
    let ana = server.login("ana");
    ana.json("/api/v1/calls?q=0138");
    ana.get("/api/v1/calls/export");
    Client::new(server.address).post("/api/v1/session", &json!({ "name": "ana", "password": "guess" }));
    assert_eq!(server.audited(), ["login", "search", "export", "login_failed"]);
}

#[test]
fn what_distinguishes_the_calls_of_a_search_is_named() {
    let server = Server::start();
    let ana = server.login("ana");
    let why = ana.json("/api/v1/why?q=code:503");
    assert_eq!((&why["marked"], &why["others"]), (&json!(CALLS / 4), &json!(CALLS - CALLS / 4)));
    assert!(why["text"].as_str().unwrap().ends_with('.'), "{why}");
    assert_eq!(ana.get("/api/v1/why?q=-2h").status, 400, "a time marks nothing");
    assert_eq!(server.login("eve").get("/api/v1/why?q=code:503").status, 403);
}

#[test]
fn people_are_added_change_their_password_first_and_are_in_the_audit_log() {
    let server = Server::start();
    let root = server.login("root");
    let new = json!({ "name": "new", "role": "engineer", "password": "a first password of theirs" });
    assert_eq!(server.login("ana").post("/api/v1/people", &new).status, 403);
    assert_eq!(root.post("/api/v1/people", &new).status, 201);
    assert_eq!(root.post("/api/v1/people", &new).status, 409, "there is one already");
    let first = json!({ "name": "new", "password": "a first password of theirs" });
    let login = Client::new(server.address).post("/api/v1/session", &first);
    assert_eq!(login.json()["must_change_password"], true);
    let cookie = login.header("set-cookie").unwrap().split(';').next().unwrap().to_owned();
    let refused = Client::new(server.address).with("cookie", &cookie).get("/api/v1/calls");
    assert_eq!((refused.status, &refused.json()["type"]), (403, &json!("/problems/password-first")));
    let mut own = first.clone();
    own["new_password"] = json!("one of their own");
    let changed = Client::new(server.address).post("/api/v1/session", &own);
    assert_eq!((changed.status, &changed.json()["must_change_password"]), (200, &json!(false)));
    let last = root.send("PATCH", "/api/v1/people/root", Some(&json!({ "role": "viewer" })));
    assert_eq!(last.status, 409, "somebody has to administer");
    let listed = root.json("/api/v1/people");
    assert!(!listed.to_string().contains("password"), "{listed}");
    let audit = root.json("/api/v1/audit?verify=true&action=people");
    assert_eq!((&audit["verified"], &audit["problem"]), (&json!(true), &Value::Null));
    assert!(audit["entries"].to_string().contains("add new as engineer"), "{audit}");
    assert_eq!(server.login("ana").get("/api/v1/audit").status, 403);
}

#[test]
fn a_token_has_what_it_was_given_and_no_more() {
    let server = Server::start();
    let ana = server.login("ana");
    let rights = ["search", "listen"];
    let wanted = json!({ "name": "report", "rights": rights, "trunks": ["carrier-a"], "days": 7 });
    let made = ana.post("/api/v1/tokens", &wanted);
    assert_eq!(made.status, 201, "{}", made.text());
    let text = made.json()["token"].as_str().unwrap().to_owned();
    let program = Client::new(server.address).with("authorization", &format!("Bearer {text}"));
    let session = program.json("/api/v1/session");
    assert_eq!(session["rights"], json!(["search"]), "an engineer may not listen");
    assert_eq!(program.json("/api/v1/calls/summary")["calls"], CALLS / 2);
    assert_eq!(program.post("/api/v1/tokens", &wanted).status, 409, "a token makes no token");
    assert!(!ana.json("/api/v1/tokens").to_string().contains(&text));
    assert_eq!(ana.delete("/api/v1/tokens/report").status, 204);
    assert_eq!(program.get("/api/v1/calls").status, 401);
}

/// The page asks for it with its first load.
#[test]
fn the_description_is_sent_as_gzip_to_who_takes_it() {
    let server = Server::start();
    let nobody = Client::new(server.address);
    let whole = nobody.get("/openapi.json");
    let browser = nobody.with("accept-encoding", "gzip, deflate, br, zstd");
    let packed = browser.get("/api/v1/openapi.json");
    assert_eq!((whole.header("content-encoding"), packed.header("content-encoding")), (None, Some("gzip")));
    assert!(packed.body.len() * 5 < whole.body.len(), "{} of {}", packed.body.len(), whole.body.len());
    let mut unpacked = Vec::new();
    flate2::read::GzDecoder::new(&packed.body[..]).read_to_end(&mut unpacked).unwrap();
    assert!(unpacked == whole.body);
    let known = browser.with("if-none-match", packed.header("etag").unwrap()).get("/openapi.json");
    assert_eq!((known.status, known.body.len()), (304, 0));
    assert_eq!(known.header("vary"), Some("accept-encoding"));
    let other = nobody.with("if-none-match", packed.header("etag").unwrap()).get("/openapi.json");
    assert_eq!(other.status, 200);
}

/// The page is part of the program where it was built before: its own paths all answer with it.
#[test]
fn the_page_is_served_where_it_was_built() {
    let server = Server::start();
    let nobody = Client::new(server.address);
    let built = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../web/dist/index.html");
    if !built.exists() {
        assert_eq!(nobody.get("/").status, 404);
        return ringtap_testing::skip("web/dist", "it was not built: make page");
    }
    for path in ["/", "/calls?q=0138", "/calls/0123/ladder"] {
        let page = nobody.get(path);
        assert_eq!((page.status, page.kind()), (200, "text/html; charset=utf-8"), "{path}");
    }
    let page = nobody.get("/").text();
    let script = page.split('"').find(|part| part.ends_with(".js")).unwrap();
    let path = format!("/{}", script.trim_start_matches(['.', '/']));
    let script = nobody.get(&path);
    assert_eq!(script.kind(), "text/javascript; charset=utf-8");
    assert!(script.header("cache-control").unwrap().contains("immutable"));
    assert_eq!((script.header("content-encoding"), script.header("vary")), (None, Some("accept-encoding")));

    // A browser takes it as gzip.
    let browser = nobody.with("accept-encoding", "gzip, deflate, br, zstd");
    let packed = browser.get(&path);
    assert_eq!((packed.kind(), packed.header("content-encoding")), (script.kind(), Some("gzip")));
    let mut whole = Vec::new();
    flate2::read::GzDecoder::new(&packed.body[..]).read_to_end(&mut whole).unwrap();
    assert!(whole == script.body && packed.body.len() < whole.len() / 2, "{} bytes", packed.body.len());
    let known = browser.with("if-none-match", packed.header("etag").unwrap());
    assert_eq!((known.get(&path).status, nobody.get(&path).status), (304, 200));
    assert_ne!(packed.header("etag"), script.header("etag"));
}

#[test]
fn a_call_is_put_on_hold_for_cases_and_released_again() {
    let server = Server::start();
    let root = server.login("root");
    let id = root.json("/api/v1/calls?limit=1")["calls"][0]["id"].as_str().unwrap().to_owned();
    let holds = format!("/api/v1/calls/{id}/holds");
    for (case, reason) in [("K-17", "a court order".to_owned()), ("K-4", "ä".repeat(1_000))] {
        let held = root.post(&holds, &json!({ "case": case, "reason": reason }));
        assert_eq!(held.status, 204, "{}", held.text());
    }
    assert_eq!(root.json(&format!("/api/v1/calls/{id}"))["holds"], json!(["K-17", "K-4"]));
    let listed = root.json("/api/v1/holds");
    let cases: Vec<_> = listed["holds"].as_array().unwrap().iter().map(|hold| &hold["case"]).collect();
    assert_eq!(cases, ["K-17", "K-4"]);
    assert_eq!(root.json("/api/v1/holds?case=K-4")["holds"][0]["id"], id.as_str());
    assert_eq!(root.delete(&format!("{holds}/K-17")).status, 204);
    assert_eq!(root.delete(&format!("{holds}/K-17")).status, 404);
    assert_eq!(root.json(&format!("/api/v1/calls/{id}"))["holds"], json!(["K-4"]));
    assert!(server.audited().iter().filter(|action| **action == "hold").count() >= 3);

    // A case is the name of a directory.
    for case in ["", "..", ".hidden", "a/b", "a\\b", "x\0", &"k".repeat(65)] {
        assert_eq!(root.post(&holds, &json!({ "case": case })).status, 400, "{case:?}");
        let path = format!("{holds}/{}", client::escaped(case));
        assert!([400, 404, 405].contains(&root.delete(&path).status), "{case:?}");
    }
    let long = root.post(&holds, &json!({ "case": "K-6", "reason": "ä".repeat(1_001) }));
    assert_eq!(long.status, 400, "a reason has 1,000 characters at most");
    assert_eq!(root.json("/api/v1/holds")["holds"].as_array().unwrap().len(), 1);

    // Who may not hold is not told of cases, and who sees only some calls holds none of the others.
    let ana = server.login("ana");
    assert_eq!(ana.post(&holds, &json!({ "case": "K-5" })).status, 403);
    assert_eq!(ana.get("/api/v1/holds").status, 403);
    assert_eq!(ana.json(&format!("/api/v1/calls/{id}"))["holds"], json!([]));
}

#[test]
fn the_latest_calls_in_progress_are_first_and_a_search_looks_at_all() {
    let server = Server::start();
    let ana = server.login("ana");
    let shown = |query: &str| {
        let list = ana.json(&format!("/api/v1/live/calls{query}"));
        let of = |call: &Value| call["id"].as_str().unwrap()[..2].to_owned();
        let calls: Vec<String> = list["calls"].as_array().unwrap().iter().map(of).collect();
        (calls.join(" "), list["listed"].as_u64().unwrap(), list["total"].as_u64().unwrap())
    };
    assert_eq!(shown("?limit=2"), ("ca c9".to_owned(), 2, 3));
    // Of the list that was asked for just now, or of a longer one.
    assert_eq!(shown("?limit=1"), ("ca".to_owned(), 1, 3));
    assert_eq!(shown("?limit=1&q=state:active"), ("ca".to_owned(), 3, 3));
    assert_eq!(shown(""), ("ca c9 c8".to_owned(), 3, 3));
}

#[test]
fn a_call_in_progress_is_seen_and_its_recording_changed() {
    let server = Server::start();
    let root = server.login("root");
    let id = server.id_of_a_call_in_progress();
    let call = format!("/api/v1/calls/{id}");
    let shown = root.json(&call);
    assert_eq!((&shown["in_progress"], &shown["call"]["id"]), (&json!(true), &json!(id)));
    let change = |body| root.send("PATCH", &format!("{call}/recording"), Some(&body));
    assert_eq!(change(json!({ "paused": true })).status, 204);
    assert_eq!(change(json!({})).status, 400);
    assert_eq!(change(json!({ "keep": "everything" })).status, 400);
    let refused = change(json!({ "keep": "full" }));
    assert_eq!(refused.status, 409, "{}", refused.text());
    assert!(refused.text().contains("is kept already"), "{}", refused.text());
    assert_eq!(root.post(&format!("{call}/holds"), &json!({ "case": "K-1" })).status, 204);
    // Of another tenant's nobody is told that it is in progress.
    assert_eq!(server.login("ten").get(&call).status, 404);
    let ended = root.json("/api/v1/calls?limit=1")["calls"][0]["id"].as_str().unwrap().to_owned();
    let path = format!("/api/v1/calls/{ended}/recording");
    assert_eq!(root.send("PATCH", &path, Some(&json!({ "paused": true }))).status, 409);
}
