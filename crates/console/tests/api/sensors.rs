//! How the daemons are that capture, and to whom it is told.

use serde_json::{Value, json};

use crate::server::Server;

#[test]
fn a_sensor_says_how_it_is_to_who_sees_all_calls() {
    let server = Server::start();
    let list = server.login("vic").json("/api/v1/sensors");
    let [sensor] = &list["sensors"].as_array().unwrap()[..] else { panic!("{list}") };
    assert_eq!((&sensor["name"], &sensor["answers"]), (&json!("sensor-1"), &json!(true)));
    assert!(sensor["seen_us"].as_u64() <= list["now_us"].as_u64(), "{list}");
    // The disk is that of the machine that runs the test.
    let faults = sensor["faults"].as_array().unwrap().iter();
    assert_eq!(faults.filter(|fault| fault["code"] != "disk").collect::<Vec<_>>(), [] as [&Value; 0]);
    assert_eq!((&sensor["state"]["calls"]["active"], &sensor["state"]["now_us"]), (&json!(3), &json!(1)));
    assert_eq!(sensor["state"]["packets_per_s"], Value::Null, "there was no time before");
    let disks = sensor["disks"].as_array().unwrap();
    assert_eq!(disks.iter().map(|disk| &disk["name"]).collect::<Vec<_>>(), ["records", "spool"]);
    for disk in disks {
        assert!(disk["total_bytes"].as_u64() >= disk["free_bytes"].as_u64(), "{disk}");
    }
    assert_eq!(server.login("ten").get("/api/v1/sensors").status, 403, "it is counted over all calls");
    assert_eq!(server.audited().iter().filter(|action| **action == "view").count(), 1);
}

#[test]
fn a_sensor_that_does_not_answer_is_listed_with_why_and_a_remedy() {
    let server = Server::start_without_daemon();
    let list = server.login("vic").json("/api/v1/sensors");
    let sensor = &list["sensors"][0];
    assert_eq!((&sensor["answers"], &sensor["seen_us"]), (&json!(false), &Value::Null));
    let fault = &sensor["faults"][0];
    assert_eq!(fault["code"], "silent");
    assert!(fault["remedy"].as_str().unwrap().contains("ringtap run"), "{fault}");
    assert_eq!(fault["detail"], sensor["state"]["lacking"]);
    assert_eq!(sensor["state"]["version"], Value::Null);
}
