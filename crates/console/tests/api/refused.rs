//! What is refused, to whom.

use ringtap_model::Nanos;
use ringtap_testing::samples;
use serde_json::{Value, json};

use crate::client::{Client, escaped};
use crate::server::{CALLS, LINK, PASSWORD, Server};

#[test]
fn nothing_is_answered_to_nobody() {
    let server = Server::start();
    let nobody = Client::new(server.address);
    for path in [
        "/api/v1/calls",
        "/api/v1/calls/summary",
        "/api/v1/calls/export",
        "/api/v1/calls/suggest",
        "/api/v1/about",
        "/api/v1/fields",
        "/api/v1/live",
        "/api/v1/live/calls",
        "/api/v1/kpis",
        "/api/v1/users",
        "/api/v1/alarms",
        "/api/v1/availability/outages",
        "/api/v1/availability/failovers",
        "/api/v1/availability/calls",
        "/api/v1/availability/services",
        "/api/v1/metrics",
        "/api/v1/retention",
        "/api/v1/retention/deletions",
        "/api/v1/rules",
        "/api/v1/sensors",
        "/api/v1/searches",
        "/api/v1/session",
        "/api/v1/sites",
        "/api/v1/why",
        "/api/v1/audit",
        "/api/v1/people",
        "/api/v1/tokens",
        "/api/v1/account",
        "/api/v1/account/sessions",
        "/api/v1/account/passkeys",
        "/api/v1/calls/00000000000000000000000000000000",
        "/api/v1/calls/00000000000000000000000000000000/ladder",
        "/api/v1/calls/00000000000000000000000000000000/ladder.svg",
        "/api/v1/calls/00000000000000000000000000000000/packets.pcap",
        "/api/v1/calls/00000000000000000000000000000000/sound.wav",
        "/api/v1/calls/00000000000000000000000000000000/peaks",
    ] {
        let refused = nobody.get(path);
        assert_eq!((refused.status, refused.kind()), (401, "application/problem+json"), "{path}");
    }
    for token in ["", "rt_", "rt_0000", "Bearer"] {
        assert_eq!(nobody.with("authorization", &format!("Bearer {token}")).get("/api/v1/calls").status, 401);
    }
}

/// The search runs while it is recorded, and what it found is dropped where that fails.
#[test]
fn a_search_that_cannot_be_recorded_is_not_answered() {
    let server = Server::start();
    let ana = server.login("ana");
    let found = ana.get("/api/v1/calls?limit=1").text();
    let log = std::fs::read_dir(server.audit_log()).unwrap().map(|entry| entry.unwrap().path());
    let day = log.filter(|path| path.extension().is_some_and(|end| end == "jsonl")).max().unwrap();
    // It lacks now what it once had.
    std::fs::File::options().write(true).open(day).unwrap().set_len(0).unwrap();
    for path in ["/api/v1/calls?limit=1", "/api/v1/calls/summary", "/api/v1/calls/export"] {
        let refused = ana.get(path);
        assert_eq!((refused.status, refused.kind()), (503, "application/problem+json"), "{path}");
        let call: Value = serde_json::from_str(&found).unwrap();
        assert!(!refused.text().contains(call["calls"][0]["id"].as_str().unwrap()), "{path}");
    }
}

#[test]
fn a_link_logs_in_whoever_has_it_and_nobody_else() {
    let server = Server::start();
    let nobody = Client::new(server.address);
    for wrong in ["", "5b0c9b7e2", "5b0c9b7e2f0", "5B0C9B7E2F", "%00"] {
        let refused = nobody.get(&format!("/open/{wrong}"));
        assert_eq!(refused.header("set-cookie"), None, "{wrong}");
        assert_ne!(refused.status, 303, "{wrong}");
    }
    let answer = nobody.get(&format!("/open/{LINK}"));
    assert_eq!((answer.status, answer.header("location")), (303, Some("/calls")));
    let cookie = answer.header("set-cookie").unwrap().split(';').next().unwrap();
    assert_eq!(nobody.with("cookie", cookie).json("/api/v1/session")["user"], "ed");
    // Whoever asks under another name, as a page that rebinds its own would, has no use of it.
    assert_eq!(nobody.with("host", "evil.example").get(&format!("/open/{LINK}")).status, 403);
}

#[test]
fn rights_are_looked_at_before_anything_else() {
    let server = Server::start();
    let id = server.login("ana").json("/api/v1/calls?limit=1")["calls"][0]["id"].as_str().unwrap().to_owned();
    let vic = server.login("vic");
    for (path, right) in [
        (format!("/api/v1/calls/{id}/ladder"), "signalling"),
        (format!("/api/v1/calls/{id}/ladder.svg"), "signalling"),
        (format!("/api/v1/calls/{id}/packets.pcap"), "export"),
        (format!("/api/v1/calls/{id}/sound.wav"), "listen"),
        (format!("/api/v1/calls/{id}/peaks"), "listen"),
        ("/api/v1/calls/export".to_owned(), "export"),
    ] {
        let refused = vic.get(&path);
        assert_eq!((refused.status, &refused.json()["right"]), (403, &json!(right)), "{path}");
    }
    let silenced = json!({ "rule": "*", "subject": "*", "seconds": 60 });
    assert_eq!(vic.post("/api/v1/alarms/silence", &silenced).status, 403);
}

#[test]
fn another_tenants_calls_are_not_there_by_search_by_count_nor_by_id() {
    let server = Server::start();
    let (ana, ten) = (server.login("ana"), server.login("ten"));
    let own = ten.json("/api/v1/calls?limit=1000");
    let own = own["calls"].as_array().unwrap();
    assert_eq!(own.len(), CALLS / 2);
    assert!(own.iter().all(|call| call["trunk_to"] == "carrier-a"));
    assert_eq!(ten.json("/api/v1/calls/summary")["calls"], CALLS / 2);
    assert_eq!(ten.json("/api/v1/calls?q=trunk:carrier-b")["calls"], json!([]));
    assert_eq!(ten.get("/api/v1/calls/export?format=jsonl").text().lines().count(), CALLS / 2);
    let all = ana.json("/api/v1/calls?limit=1000&q=trunk:carrier-b");
    let other = all["calls"][0]["id"].as_str().unwrap();
    assert_eq!(ana.get(&format!("/api/v1/calls/{other}")).status, 200);
    assert_eq!(ten.get(&format!("/api/v1/calls/{other}")).status, 404);
    assert_eq!(ten.get(&format!("/api/v1/calls/{other}/ladder")).status, 404);
}

#[test]
fn another_tenants_calls_are_in_no_count_and_in_no_event() {
    let server = Server::start();
    let (ana, ten) = (server.login("ana"), server.login("ten"));
    let looked_at =
        |client: &Client| client.json("/api/v1/calls?limit=1000")["coverage"]["looked_at"].clone();
    assert_eq!((looked_at(&ana), looked_at(&ten)), (json!(CALLS), json!(CALLS / 2)));
    let found = ten.json("/api/v1/calls?limit=1000&q=trunk:carrier-b");
    assert_eq!(found["coverage"]["looked_at"], 0);
    assert_eq!(found["coverage"], ten.json("/api/v1/calls?limit=1000&q=trunk:carrier-x")["coverage"]);
    let under_way = |client: &Client| {
        let list = client.json("/api/v1/live/calls");
        (list["calls"].as_array().unwrap().len(), list["total"].clone(), list["listed"].clone())
    };
    assert_eq!(under_way(&ana), (3, json!(3), json!(3)));
    assert_eq!(under_way(&ten), (0, Value::Null, json!(0)), "the daemon's calls are of another trunk");
    let event = ten.first_event("/api/v1/live");
    assert!(event["lacking"].as_str().unwrap().contains("some trunks"), "{event}");
    for (name, value) in event.as_object().unwrap() {
        assert!(value.is_null() || ["now_us", "lacking"].contains(&&**name), "{name}: {value}");
    }
}

#[test]
fn a_tenant_has_the_figures_of_its_trunks_and_of_no_others() {
    let server = Server::start();
    let (ana, ten, nat) = (server.login("ana"), server.login("ten"), server.login("nat"));
    let trunks = |client: &Client| -> Vec<(String, u64)> {
        let list = client.json("/api/v1/trunks?from_us=0");
        let of =
            |trunk: &Value| (trunk["name"].as_str().unwrap().into(), trunk["attempts"].as_u64().unwrap());
        list["trunks"].as_array().unwrap().iter().map(of).collect()
    };
    let half = CALLS as u64 / 2;
    assert!(trunks(&ana).contains(&("carrier-b".to_owned(), half)), "{:?}", trunks(&ana));
    assert_eq!(trunks(&ten), [("carrier-a".to_owned(), half)]);
    for by in ["trunk", "trunk_out", "trunk_in"] {
        // Of a time that is given: else it is that of the calls which somebody may see.
        let (from, until) =
            (samples::START - Nanos::from_secs(7_200), samples::START + Nanos::from_secs(86_400));
        let (from, until) = (from.micros(), until.micros());
        let path = format!("/api/v1/kpis?by={by}&every=hour&from_us={from}&until_us={until}");
        let all = ana.json(&path);
        let own = ten.json(&path);
        let is_own = |group: &&Value| group["name"] == "carrier-a";
        let expected: Vec<&Value> = all["groups"].as_array().unwrap().iter().filter(is_own).collect();
        assert_eq!(own["groups"].as_array().unwrap().iter().collect::<Vec<_>>(), expected, "{by}");
        assert_eq!(expected.len(), usize::from(by != "trunk_in"), "{by}");
    }
    // Of a trunk whose calls may be seen in part, these are counted.
    let seen = nat.json("/api/v1/calls?limit=1000")["calls"].as_array().unwrap().len() as u64;
    assert!(seen > 0 && seen < half);
    assert_eq!(trunks(&nat), [("192.0.2.1".to_owned(), seen), ("carrier-a".to_owned(), seen)]);
}

#[test]
fn a_session_is_new_at_each_login_and_ends_at_logout() {
    let server = Server::start();
    // Fixation: an id that somebody else chose is not taken over.
    let chosen = Client::new(server.address).with("cookie", "ringtap=0123456789abcdef");
    let body = json!({ "name": "ana", "password": PASSWORD });
    let login = chosen.post("/api/v1/session", &body);
    let cookie = login.header("set-cookie").unwrap();
    assert!(!cookie.contains("0123456789abcdef"), "{cookie}");
    assert!(cookie.contains("HttpOnly") && cookie.contains("SameSite=Strict"), "{cookie}");
    let ana = server.login("ana");
    assert_eq!(ana.get("/api/v1/session").status, 200);
    assert_eq!(ana.delete("/api/v1/session").status, 204);
    assert_eq!(ana.get("/api/v1/session").status, 401);
}

#[test]
fn requests_of_other_pages_and_under_other_names_are_refused() {
    let server = Server::start();
    let ana = server.login("ana");
    assert_eq!(ana.with("host", "evil.example").get("/api/v1/calls").status, 403);
    let body = json!({ "rule": "*", "subject": "*", "seconds": 60 });
    let foreign = server.login("root").with("origin", "https://evil.example");
    assert_eq!(foreign.post("/api/v1/alarms/silence", &body).status, 403);
    let plain = server.login("root").without_own_header();
    assert_eq!(plain.post("/api/v1/alarms/silence", &body).status, 403);
    assert_eq!(server.login("root").post("/api/v1/alarms/silence", &body).status, 200);
}

#[test]
fn guessing_is_slowed_down() {
    let server = Server::start();
    let guesser = Client::new(server.address);
    let guess = |number: usize| {
        guesser
            .post("/api/v1/session", &json!({ "name": "ana", "password": format!("guess number {number}") }))
    };
    let refused: Vec<u16> = (0..12).map(|number| guess(number).status).collect();
    assert!(refused.iter().all(|status| matches!(status, 401 | 429)), "{refused:?}");
    assert_eq!(refused.last(), Some(&429), "{refused:?}");
    assert!(guess(99).header("retry-after").is_some());
}

#[test]
fn what_a_request_may_contain_never_breaks_an_answer() {
    let server = Server::start();
    let ana = server.login("ana");
    let long = "a".repeat(5_000);
    for q in [
        "((((",
        "\u{202e}",
        "%00",
        "stream(",
        "began:",
        "' or 1=1 --",
        &long,
        "\\\"",
        "$nobody",
        "from:*a*b*",
    ] {
        for path in ["calls", "calls/summary", "calls/suggest", "live/calls"] {
            let status = ana.get(&format!("/api/v1/{path}?q={}", escaped(q))).status;
            assert!(matches!(status, 200 | 400), "{path} {q}: {status}");
        }
    }
    for path in [
        "/api/v1/calls?limit=x",
        "/api/v1/calls?cursor=x",
        "/api/v1/calls?sort=x",
        "/api/v1/kpis?by=x",
        "/api/v1/kpis?every=x",
        "/api/v1/kpis?figures=x",
        "/api/v1/calls/summary?facets=x",
        "/api/v1/kpis?from_us=-1",
    ] {
        assert_eq!(ana.get(path).status, 400, "{path}");
    }
    for path in ["/api/v1/nothing", "/api/v1/calls/../../etc/passwd", "/assets/../../../../etc/passwd"] {
        assert_eq!(ana.get(path).status, 404, "{path}");
    }
}
