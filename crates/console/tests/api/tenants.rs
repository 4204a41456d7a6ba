//! Figures, users and alarms of whoever may see some calls only: those of these calls, and nothing of others.

use std::collections::BTreeSet;

use ringtap_model::{Alarm, Id, Nanos};
use ringtap_store::ImportWriter;
use ringtap_testing::samples;
use serde_json::{Value, json};

use crate::client::{Client, escaped};
use crate::server::{CALLS, Server};

#[test]
fn another_tenants_calls_are_in_no_figure_whatever_the_group() {
    let server = Server::start();
    let (ana, ten, nat) = (server.login("ana"), server.login("ten"), server.login("nat"));
    let groups = |client: &Client, by: &str| -> Vec<Value> {
        let table = client.json(&format!("/api/v1/kpis?by={by}&every=hour&from_us=0"));
        table["groups"].as_array().unwrap().clone()
    };
    let attempts =
        |groups: &[Value]| groups.iter().map(|group| group["attempts"].as_u64().unwrap()).sum::<u64>();
    // The whole of one trunk has the figures that are stored of this trunk, over time as well.
    let of_trunk = groups(&ana, "trunk_out").into_iter().find(|group| group["name"] == "carrier-a").unwrap();
    let is_scoped = |client: &Client| client.json("/api/v1/kpis")["scoped"].clone();
    assert_eq!((is_scoped(&ana), is_scoped(&ten)), (json!(false), json!(true)));
    let [own] = &groups(&ten, "total")[..] else { panic!("one group") };
    assert_eq!(own["attempts"], of_trunk["attempts"]);
    let figures = |of: &Value| -> Value {
        let mut figures = of["figures"].clone();
        // Its time is from the first to the last call that was counted.
        figures.as_object_mut().unwrap().remove("concurrent_mean");
        figures
    };
    assert_eq!(figures(own), figures(&of_trunk));
    let series = |of: &Value| -> Vec<Value> {
        let points = of["series"].as_array().unwrap().iter();
        points
            .filter(|point| point["attempts"] != 0)
            .map(|point| json!([point["at_us"], figures(point)]))
            .collect()
    };
    assert_eq!(series(own), series(&of_trunk));
    assert!(series(own).len() > 5);
    for by in ["total", "direction", "codec", "device", "prefix", "code", "trunk"] {
        for (client, name) in [(&ten, "ten"), (&nat, "nat")] {
            let seen = client.json("/api/v1/calls?limit=1000")["calls"].as_array().unwrap().len() as u64;
            let groups = groups(client, by);
            assert!(groups.iter().all(|group| group["attempts"].as_u64().unwrap() <= seen), "{name} {by}");
            assert!(!Value::from(groups).to_string().contains("carrier-b"), "{name} {by}");
        }
    }
    assert_eq!(attempts(&groups(&ten, "code")), CALLS as u64 / 2);
    // Over a time that is given, the mean number of calls in progress is that of the time, whoever asks.
    let of_time = |client: &Client| -> Value {
        let (from, until) =
            (samples::START - Nanos::from_secs(7_200), samples::START + Nanos::from_secs(86_400));
        let (from, until) = (from.micros(), until.micros());
        let path = format!("/api/v1/kpis?by=trunk_out&from_us={from}&until_us={until}");
        let groups = client.json(&path)["groups"].as_array().unwrap().clone();
        groups.into_iter().find(|group| group["name"] == "carrier-a").unwrap()["figures"].clone()
    };
    assert_eq!(of_time(&ten), of_time(&ana));
    assert!(of_time(&ten)["concurrent_mean"]["value"].as_f64().unwrap() > 0.0);
    // What others do meanwhile changes nothing.
    let before = (groups(&nat, "code"), groups(&ten, "trunk"), of_time(&ten));
    server.add_a_call_of_carrier_b();
    assert_eq!((groups(&nat, "code"), groups(&ten, "trunk"), of_time(&ten)), before);
}

#[test]
fn another_tenants_users_are_not_there() {
    let server = Server::start();
    let (ana, ten) = (server.login("ana"), server.login("ten"));
    let users = |client: &Client| client.json("/api/v1/users");
    let (all, own) = (users(&ana), users(&ten));
    assert_eq!((&all["scoped"], &own["scoped"]), (&json!(false), &json!(true)));
    let names = |list: &Value| -> BTreeSet<String> {
        let users = list["users"].as_array().unwrap().iter();
        users.map(|user| user["aor"].as_str().unwrap().to_owned()).collect()
    };
    let parties = |client: &Client| -> BTreeSet<String> {
        let calls = client.json("/api/v1/calls?limit=1000");
        let party = |call: &Value| {
            ["from", "to"].map(|side| {
                let part = |what| call[format!("{side}_{what}")].as_str().unwrap_or_default().to_owned();
                format!("{}@{}", part("user"), part("host"))
            })
        };
        calls["calls"].as_array().unwrap().iter().flat_map(party).collect()
    };
    assert_eq!(names(&own), parties(&ten));
    assert_eq!(own["total"], names(&own).len());
    let others: Vec<String> = names(&all).difference(&names(&own)).cloned().collect();
    assert!(!others.is_empty());
    for aor in &others {
        let path = format!("/api/v1/users/{}", escaped(aor));
        assert_eq!((ana.get(&path).status, ten.get(&path).status), (200, 404), "{aor}");
    }
    let made = |list: &Value| -> u64 {
        list["users"].as_array().unwrap().iter().map(|user| user["calls_made"].as_u64().unwrap()).sum()
    };
    assert_eq!((made(&all), made(&own)), (CALLS as u64, CALLS as u64 / 2));
    let registered =
        |list: &Value| list["users"].as_array().unwrap().iter().any(|user| user["registrations"] != 0);
    assert_eq!((registered(&all), registered(&own)), (true, false), "no trunk is known of a registration");
}

#[test]
fn a_tenant_has_the_alarms_of_its_trunks() {
    let server = Server::start();
    let alarm = |number: u8, per: &str, subject: &str| Alarm {
        id: Id([number; 16]),
        per: per.into(),
        subject: subject.into(),
        ..samples::alarm()
    };
    let mut writer = ImportWriter::open(&server.records()).unwrap();
    for (number, per, subject) in [
        (1, "trunk", "carrier-a"),
        (2, "trunk_out", "carrier-b"),
        (3, "total", ""),
        (4, "prefix", "carrier-a"),
        (5, "trunk", ""),
    ] {
        writer.alarm(&alarm(number, per, subject)).unwrap();
    }
    writer.close().unwrap();
    let seen = |name: &str| {
        let list = server.login(name).json("/api/v1/alarms");
        (list["alarms"].as_array().unwrap().len(), list["standing"].clone(), list["scoped"].clone())
    };
    let stand = |all: usize| if samples::alarm().cleared.is_none() { json!(all) } else { json!(0) };
    assert_eq!(seen("ana"), (5, stand(5), json!(false)));
    assert_eq!(seen("ten"), (1, stand(1), json!(true)));
    let refused = server.login("nat").get("/api/v1/alarms");
    assert_eq!((refused.status, refused.json()["type"].clone()), (403, json!("/problems/scope")));
}
