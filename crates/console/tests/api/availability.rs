//! Outages, failovers and services of the database.

use std::time::Duration;

use ringtap_model::{Id, Nanos};
use ringtap_store::settings::{Retain, StoreSettings};
use ringtap_store::{AvailabilityRecord, StoreWriter};
use ringtap_testing::samples;
use serde_json::json;

use crate::server::Server;

/// Stores three outages an hour apart, a failover and the hour of a service, as the daemon does.
fn fill(server: &Server) {
    let dir = tempfile::tempdir().unwrap();
    let settings = StoreSettings {
        directory: server.records(),
        queue: 100,
        cache: 1 << 20,
        outbox: dir.path().join("outbox"),
        outbox_size: 1 << 20,
        journal: None,
        retain: Retain::default(),
    };
    let (writer, _) = StoreWriter::open(&settings, |_| ()).unwrap();
    let sender = writer.sender().unwrap();
    for number in 0..3 {
        let mut outage = samples::outage();
        (outage.id, outage.from) =
            (Id([number; 16]), outage.from + Nanos::from_secs(3_600 * u64::from(number)));
        // As it began, and as it ended: one record.
        let began = ringtap_model::Outage { first_answer: None, ..outage.clone() };
        for record in [began, outage] {
            sender.availability(AvailabilityRecord::Outage(Box::new(record))).unwrap();
        }
    }
    sender.availability(AvailabilityRecord::Failover(Box::new(samples::failover()))).unwrap();
    for (number, effect) in [(0, Some("delayed")), (1, Some("failed")), (2, None), (3, Some("failed"))] {
        let mut call = samples::affected_call();
        call.effect = effect.map(str::to_owned);
        call.call_id = number.to_string();
        // Ids do not tell the order.
        (call.id, call.invite) = (Id([30 - number; 16]), call.invite + Nanos::from_secs(u64::from(number)));
        if number == 3 {
            (call.failover, call.failover_from) = (Id([7; 16]), call.failover_from + Nanos::from_secs(3_600));
        }
        sender.availability(AvailabilityRecord::AffectedCall(Box::new(call))).unwrap();
    }
    sender.availability(AvailabilityRecord::Hour(Box::new(samples::service_hour()))).unwrap();
    drop(sender);
    assert_eq!(writer.close(Duration::from_secs(60)).written.outages, 12);
}

#[test]
fn outages_failovers_and_services_by_time_and_service() {
    let server = Server::start();
    let ana = server.login("ana");
    let empty = ana.json("/api/v1/availability/outages");
    assert_eq!(empty, json!({"outages": [], "complete": true}));
    fill(&server);
    let list = ana.json("/api/v1/availability/outages");
    let outages = list["outages"].as_array().unwrap();
    let from: Vec<u64> = outages.iter().map(|outage| outage["from_us"].as_u64().unwrap()).collect();
    let start = samples::START.micros();
    assert_eq!(from, [2, 1, 0].map(|hour| start + hour * 3_600_000_000), "the newest first");
    assert!(outages.iter().all(|outage| outage["first_answer_us"].is_u64()), "{list}");
    assert_eq!((&outages[0]["service"], &list["complete"]), (&json!("192.0.2.10:5060"), &json!(true)));

    let of =
        |what: &str, query: &str| ana.json(&format!("/api/v1/availability/{what}?{query}"))[what].clone();
    let count = |what: &str, query: &str| of(what, query).as_array().unwrap().len();
    assert_eq!(count("outages", &format!("from_us={}", start + 1)), 2);
    assert_eq!(count("outages", &format!("until_us={}", start + 1)), 1);
    for (service, expected) in [
        ("192.0.2.10", 3),
        ("192.0.2.10:5060", 3),
        ("192.0.2.10:5060/udp", 3),
        ("192.0.2.1", 0),
        ("192.0.2.10:5060/tcp", 0),
    ] {
        assert_eq!(count("outages", &format!("service={service}")), expected, "{service}");
    }
    let failovers = of("failovers", "service=192.0.2.10");
    assert_eq!(
        (&failovers[0]["causes"], &failovers[0]["outages"][0]),
        (&json!(["proxy_lost"]), &json!("08".repeat(16)))
    );
    assert_eq!(failovers[0]["evidence"][0]["kind"], "arp_moved");
    let services = of("services", &format!("from_us={}", start + 1));
    assert_eq!((&services[0]["availability_pct"], &services[0]["requests"]), (&json!(97.5), &json!(600)));
    assert_eq!(count("services", "service=192.0.2.1"), 0);
    let wrong = ana.get("/api/v1/availability/outages?servcie=x");
    assert_eq!(wrong.status, 400);
}

#[test]
fn calls_of_failovers_page_by_page() {
    let server = Server::start();
    let ana = server.login("ana");
    assert_eq!(ana.json("/api/v1/availability/calls"), json!({"calls": [], "complete": true}));
    fill(&server);
    let page = |query: &str| {
        let list = ana.json(&format!("/api/v1/availability/calls?{query}"));
        let calls = list["calls"].as_array().unwrap();
        let ids = calls.iter().map(|call| call["call_id"].as_str().unwrap().to_owned());
        (ids.collect::<Vec<_>>().join(" "), list["complete"].as_bool().unwrap())
    };
    let expect = |ids: &str, complete| (ids.to_owned(), complete);
    assert_eq!(page(""), expect("0 1 2 3", true));
    assert_eq!(page("limit=2"), expect("0 1", false));
    assert_eq!(page("limit=2&skip=2"), expect("2 3", true));
    assert_eq!(page("skip=9"), expect("", true));
    assert_eq!(page(&format!("failover={}", "09".repeat(16))), expect("0 1 2", true));
    assert_eq!(page("effect=failed"), expect("1 3", true));
    assert_eq!(page("effect=failed&limit=1"), expect("1", false));
    assert_eq!(page(&format!("from_us={}", samples::START.micros() + 1)), expect("3", true));
    let call = &ana.json("/api/v1/availability/calls?limit=1")["calls"][0];
    assert_eq!((&call["effect"], &call["delay_ms"]), (&json!("delayed"), &json!(1_510.5)));
    let from_us = samples::START.micros() + 900_000;
    let gap = json!({"direction": "caller_to_callee", "from_us": from_us, "gap_ms": 640.0});
    assert_eq!(call["gaps"], json!([gap]));
    for wrong in ["limit=0", "limit=1001", "limit=x", "skip=-1"] {
        assert_eq!(ana.get(&format!("/api/v1/availability/calls?{wrong}")).status, 400, "{wrong}");
    }
    let failover = &ana.json("/api/v1/availability/failovers")["failovers"][0];
    let figures = ["delayed", "failed", "users", "lost_per_million"].map(|figure| failover[figure].clone());
    assert_eq!(figures, [json!(3), json!(1), json!(9), json!(25_000.0)]);
}

#[test]
fn whoever_sees_some_calls_only_sees_no_outages() {
    let server = Server::start();
    fill(&server);
    for what in ["outages", "failovers", "services", "calls"] {
        let path = format!("/api/v1/availability/{what}");
        assert_eq!(server.login("ten").get(&path).status, 403, "{what}");
        assert_eq!(server.login("nat").get(&path).status, 403, "{what}");
    }
}
