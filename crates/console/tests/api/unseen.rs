//! What the console's own people get, with an empty register and with warrants in force: the same.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use crate::client::Client;
use crate::officers::Officers;
use crate::server::Server;

/// What somebody gets from every request of the document that only looks.
fn seen(server: &Server, who: &str) -> BTreeMap<String, (u16, Value)> {
    let client = server.login(who);
    let document = client.json("/api/v1/openapi.json");
    let id = client.json("/api/v1/calls?limit=1")["calls"][0]["id"].as_str().unwrap().to_owned();
    let mut all = BTreeMap::new();
    for (path, item) in document["paths"].as_object().unwrap() {
        // Those go on until somebody ends them.
        let goes_on = path.ends_with("/live") || path.ends_with("/sound.wav") && path.contains("live");
        if item.get("get").is_none() || goes_on {
            continue;
        }
        let address = path.replace("{id}", &id).replace("{aor}", "alice");
        let answer = client.get(&address);
        let body = serde_json::from_slice(&answer.body).map_or_else(|_| Value::Null, still);
        all.insert(path.clone(), (answer.status, body));
    }
    all
}

/// An answer without what is of the moment.
fn still(mut value: Value) -> Value {
    hide(&mut value);
    value
}

fn hide(value: &mut Value) {
    let now = ringtap_report::time::now().micros();
    match value {
        Value::Object(fields) => {
            for (name, value) in fields {
                let is_of_now = value.as_u64().is_some_and(|us| us.abs_diff(now) < NEAR_US);
                // Room on a disk that everything on this machine shares.
                let is_room = name == "free_bytes";
                // Each console has a directory of its own.
                let is_place =
                    value.as_str().is_some_and(|text| Path::new(text).starts_with(std::env::temp_dir()));
                let is_time = name.ends_with("_us") && is_of_now || name.ends_with("_ms");
                match is_time || is_room || is_place {
                    true => *value = Value::Null,
                    false => hide(value),
                }
            }
        }
        Value::Array(values) => values.iter_mut().for_each(hide),
        // Numbers are masked under a key of each console.
        Value::String(text) => {
            let mut pieces = text.split('~');
            let first = pieces.next().unwrap_or_default().to_owned();
            let rest = pieces.map(|piece| piece.get(TOKEN..).unwrap_or_default());
            *text = rest.fold(first, |text, rest| text + "~" + rest);
        }
        _ => {}
    }
}

/// The metrics, without how long anything took.
fn counted(client: &Client) -> String {
    let page = client.get("/api/v1/metrics").text();
    let of_time =
        |line: &&str| !line.contains("request_seconds_bucket") && !line.contains("request_seconds_sum");
    page.lines().filter(of_time).collect::<Vec<_>>().join("\n")
}

/// Names and sizes of the console's own files; those of the database as far as they are no journal of it.
fn files(dir: &Path) -> BTreeMap<String, u64> {
    let mut all = BTreeMap::new();
    for entry in fs::read_dir(dir).unwrap() {
        let entry = entry.unwrap();
        let name = entry.file_name().into_string().unwrap();
        match entry.path().is_dir() {
            true => all.extend(
                files(&entry.path()).into_iter().map(|(inner, size)| (format!("{name}/{inner}"), size)),
            ),
            false if name.contains(".sqlite") => {}
            false => _ = all.insert(name, entry.metadata().unwrap().len()),
        }
    }
    all
}

/// What the console tells its own people, and what it writes.
struct Told {
    /// By person, in the same order.
    answers: Vec<BTreeMap<String, (u16, Value)>>,
    metrics: String,
    files: BTreeMap<String, u64>,
    audit: Vec<String>,
}

impl Told {
    fn by(officers: &Officers) -> Self {
        let server = &officers.server;
        let answers = ["root", "vic", "aud"].map(|who| seen(server, who)).to_vec();
        let metrics = counted(&server.login("vic"));
        let audit = server.audit().into_iter().map(|(action, what)| format!("{action} {what}")).collect();
        Self { answers, metrics, files: files(&server.people()), audit }
    }
}

#[test]
fn an_administrator_sees_the_same_with_warrants_in_the_register_as_without() {
    let (empty, full) = (Officers::start(), Officers::start());
    let (ana, ben) = (full.login("ana"), full.login("ben"));
    for number in 0..12 {
        let warrant = full.enter(&ana, &format!("LI-{number}"), "user~:zebra");
        assert_eq!(full.approve(&ben, warrant).status, 204);
    }
    full.try_login("ana", "wrong horse battery");
    for path in ["/warrants", "/warrants/3", "/warrants/acts"] {
        full.nobody().get(path);
    }
    let (before, after) = (Told::by(&empty), Told::by(&full));
    for (one, other) in before.answers.iter().zip(&after.answers) {
        assert!(one.len() > 20, "{:?}", one.keys());
        assert_eq!(one.keys().collect::<Vec<_>>(), other.keys().collect::<Vec<_>>());
        let differ = one.iter().filter(|(path, answer)| *answer != &other[*path]);
        let differ: Vec<_> = differ.map(|(path, answer)| (path, answer, &other[path])).collect();
        assert!(differ.is_empty(), "{differ:#?}");
    }
    assert_eq!(before.metrics, after.metrics);
    let metrics = after.metrics;
    assert!(metrics.contains("/api/v1/calls") && !metrics.contains("warrant"), "{metrics}");
    assert_eq!(before.files, after.files, "files of the console");
    assert_eq!(before.audit, after.audit);

    // Nor is anything told by how a login fails.
    let fails = |officers: &Officers| {
        let answer = officers.try_login("nobody", "wrong horse battery");
        (answer.status, answer.text().len(), answer.json())
    };
    assert_eq!(fails(&empty), fails(&full));
    let look = json!({ "why": "a look" });
    for path in ["/list", "/1/show", "/99/show", "/acts", "/people/list", "/verify"] {
        let asked = |officers: &Officers| {
            let answer = officers.server.login("root").post(&format!("/api/v1/warrants{path}"), &look);
            (answer.status, answer.json())
        };
        assert_eq!(asked(&empty), asked(&full), "{path}");
    }
}

/// What is nearer to now is of this test.
const NEAR_US: u64 = 2 * 86_400_000_000;
/// Characters of a masked number after its `~`.
const TOKEN: usize = 10;
