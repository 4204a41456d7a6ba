//! What becomes of work whose connection is closed: it ends, its place is free, and it is counted and noted.

use std::time::{Duration, Instant};

use crate::client::Client;
use crate::server::Server;

/// The value of a metric of the console.
fn metric(client: &Client, name: &str) -> u64 {
    let page = client.get("/api/v1/metrics").text();
    let line = page.lines().find_map(|line| line.strip_prefix(name));
    line.unwrap_or_else(|| panic!("no {name} in {page}")).trim().parse().unwrap()
}

/// Waits for a state; that it is reached, not how soon, is what a test says.
fn wait_for(what: &str, mut is_reached: impl FnMut() -> bool) {
    let since = Instant::now();
    while !is_reached() {
        assert!(since.elapsed() < Duration::from_secs(60), "{what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn exports_whose_connection_closes_end_and_are_noted() {
    let server = Server::start();
    // More than the buffers of a connection hold: whoever reads nothing keeps the export waiting.
    server.add_long_calls(400);
    let (ana, vic) = (server.login("ana"), server.login("vic"));
    let running = |of: &str| metric(&vic, &format!("ringtap_console_work_{of}{{kind=\"file\"}} "));
    let ask = || ana.begin("/api/v1/calls/export?format=jsonl");
    let reading = [ask(), ask()];
    wait_for("two exports run", || running("running") == 2);
    let queued = ask();
    wait_for("the third one waits", || running("waiting") == 1);

    drop(queued);
    wait_for("nobody waits any more", || running("waiting") == 0);
    wait_for("it was counted", || metric(&vic, "ringtap_console_work_cancelled_total ") == 1);
    assert_eq!(running("running"), 2);
    drop(reading);
    wait_for("both places are free", || running("running") == 0);
    wait_for("all were counted", || metric(&vic, "ringtap_console_work_cancelled_total ") == 3);

    let given_up = || {
        let audit = server.audit().into_iter().filter(|(action, _)| *action == "export");
        audit.map(|(_, what)| what).filter(|what| what.starts_with("given up after ")).collect::<Vec<_>>()
    };
    wait_for("all were noted", || given_up().len() == 3);
    let noted = given_up();
    assert!(noted.iter().all(|what| what.ends_with(" calls: jsonl of calls: all calls")), "{noted:?}");
    assert_eq!(noted[0], "given up after 0 calls: jsonl of calls: all calls");

    // One that is read is none of these.
    let whole = ana.get("/api/v1/calls/export?format=jsonl&q=state:failed");
    assert_eq!(whole.status, 200);
    wait_for("its place is free", || running("running") == 0);
    assert_eq!((metric(&vic, "ringtap_console_work_cancelled_total "), given_up().len()), (3, 3));
}

#[test]
fn figures_that_nobody_waits_for_are_not_computed_to_their_end() {
    let (server, gate) = Server::start_with_gate();
    let vic = server.login("vic");
    let scans = || metric(&vic, "ringtap_console_work_running{kind=\"scan\"} ");
    let asked = server.login("ana").begin("/api/v1/kpis?by=trunk");
    wait_for("the first minute is computed", || gate.begun() == 1);
    assert_eq!(scans(), 1);
    drop(asked);
    wait_for("it was counted", || metric(&vic, "ringtap_console_work_cancelled_total ") == 1);
    gate.open();
    wait_for("its place is free", || scans() == 0);
    assert_eq!(gate.begun(), 1, "one of {} minutes", crate::server::CALLS);
}
