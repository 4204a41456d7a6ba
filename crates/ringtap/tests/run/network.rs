//! The process that speaks to the bucket: what it and the process that captures have, and what happens when
//! it ends.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on ends")]

use std::fs;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use ringtap_testing::skip;
use rustix::process::geteuid;

use crate::daemon::Daemon;
use crate::far::{Sensor, end};
use crate::moto::Moto;
use crate::processes::{children, copies, status};

const SECRET: &str = "wJalrXUtnFEMI-K7MDENG-bPxRfiCYEXAMPLEKEY";

/// The process that starts the one for the network, and that.
fn network(daemon: &Daemon) -> (u32, u32) {
    let starters = children(daemon.id());
    assert_eq!(starters.len(), 1, "{}", daemon.log());
    let clients = children(starters[0]);
    assert_eq!(clients.len(), 1, "{}", daemon.log());
    (starters[0], clients[0])
}

/// Also where nobody has asked for its exit status.
fn has_ended(process: u32) -> bool {
    let status = fs::read_to_string(format!("/proc/{process}/status"));
    status.map_or(true, |status| status.contains("State:\tZ"))
}

fn environment(process: u32) -> String {
    String::from_utf8_lossy(&fs::read(format!("/proc/{process}/environ")).unwrap()).into_owned()
}

#[test]
fn the_process_that_captures_has_no_credentials_and_connects_to_nobody() {
    let Some(moto) = Moto::start() else { return };
    let mut sensor = Sensor::new(moto.port, |_| String::new());
    sensor.place.environment = vec![("AWS_ACCESS_KEY_ID", "somebody"), ("AWS_SECRET_ACCESS_KEY", SECRET)];
    let all = sensor.segments();
    let lines = sensor
        .moves()
        .lines()
        .filter(|line| !line.starts_with("tier_credentials"))
        .fold(String::new(), |lines, line| lines + line + "\n");
    let mut daemon = sensor.tend(&lines);
    daemon.counts("ringtap_spool_moved_segments_total", |moved| moved == all);
    let log = daemon.log();
    for process in ["capture", "the network client", "starting the network client"] {
        // It has tried what must be refused: connections to others, all of them here.
        assert!(log.contains(&format!("run: the process for {process} is confined\n")), "{process}\n{log}");
    }
    let (starter, client) = network(&daemon);
    for process in [daemon.id(), starter, client] {
        let status = status(process);
        for line in ["Seccomp:\t2\n", "NoNewPrivs:\t1\n", "CapEff:\t0000000000000000\n"] {
            assert!(status.contains(line), "{line}{status}");
        }
    }
    match geteuid().is_root() {
        true => {
            let environment = environment(daemon.id());
            assert!(environment.contains("PATH=") && !environment.contains(SECRET), "{environment}");
            assert_eq!(copies(daemon.id(), SECRET.as_bytes()), 0);
            assert!(copies(client, SECRET.as_bytes()) > 0);
            let open = |process| fs::read_dir(format!("/proc/{process}/fd")).unwrap();
            let targets = |process| open(process).filter_map(|fd| fs::read_link(fd.unwrap().path()).ok());
            let spool = sensor.at("spool");
            for process in [starter, client] {
                assert!(targets(process).all(|target| !target.starts_with(&spool)), "{process}");
            }
        }
        false => skip("root", "the memory of other processes cannot be read"),
    }
    end(daemon);
    for process in [starter, client] {
        assert!(has_ended(process), "it ends with the daemon");
    }
    assert_eq!(sensor.segments(), 0);
}

#[test]
fn a_process_for_the_network_that_is_killed_is_started_again_and_no_segment_is_lost() {
    let Some(moto) = Moto::start() else { return };
    let mut sensor = Sensor::new(moto.port, |_| String::new());
    let (one, _) = sensor.calls();
    let (status, whole) = sensor.export(&one);
    assert_eq!(status, Some(0), "{whole}");
    let packets = fs::read(sensor.at("call.pcap")).unwrap();
    let all = sensor.segments();
    // Slow enough that it is killed between the first segment and the last.
    let lines = format!("{}tier_rate = \"256KiB\"\n", sensor.moves());
    let mut daemon = sensor.tend(&lines);
    daemon.counts("ringtap_spool_moved_segments_total", |moved| moved > 0);
    let (starter, client) = network(&daemon);
    kill(Pid::from_raw(client.cast_signed()), Signal::SIGKILL).unwrap();
    daemon.says("the network client has ended: it is started again");
    daemon.counts("ringtap_spool_moved_segments_total", |moved| moved == all);
    daemon.counts("ringtap_spool_far_loose", |loose| loose == 0);
    let (same, other) = network(&daemon);
    assert!(same == starter && other != client);
    end(daemon);
    assert_eq!(sensor.segments(), 0);
    assert_eq!(sensor.export(&one), (Some(0), whole));
    assert!(fs::read(sensor.at("call.pcap")).unwrap() == packets);
}

#[test]
fn without_its_processes_for_the_network_a_daemon_goes_on_and_says_what_to_do() {
    let Some(moto) = Moto::start() else { return };
    let mut sensor = Sensor::new(moto.port, |_| String::new());
    let lines = sensor.moves().replace("tier_after = \"1m\"\n", "");
    let all = sensor.segments();
    let mut daemon = sensor.tend(&lines);
    daemon.says("/metrics and /health");
    let (starter, client) = network(&daemon);
    kill(Pid::from_raw(starter.cast_signed()), Signal::SIGKILL).unwrap();
    daemon.says("error spool: the network client has ended: segments stay in the spool");
    daemon.says("until ringtap is restarted");
    // Age says that they should move now; nobody moves them, and nothing else changes.
    sensor.configure(&crate::daemon::silence(sensor.dir.path()), &sensor.moves());
    daemon.signal("HUP");
    daemon.counts("ringtap_spool_far_failures_total", |failures| failures > 0);
    daemon.says("spool_far=AWAY");
    assert!(has_ended(client), "it ends with the one that started it");
    end(daemon);
    assert_eq!((sensor.segments(), moto.objects().len()), (all, 0));
    sensor.moved();
}

#[test]
fn another_bucket_needs_a_restart_and_the_rest_of_retention_does_not() {
    let Some(moto) = Moto::start() else { return };
    let mut sensor = Sensor::new(moto.port, |_| String::new());
    let all = sensor.segments();
    let waiting = sensor.moves().replace("tier_after = \"1m\"\n", "");
    let mut daemon = sensor.tend(&waiting);
    daemon.says("/metrics and /health");
    let silence = crate::daemon::silence(sensor.dir.path());
    sensor.configure(&silence, &waiting.replace("sensor-1", "sensor-2"));
    daemon.signal("HUP");
    daemon.says("s3://recordings/sensor-2");
    daemon.says("restart ringtap; segments move as before the reload");
    sensor.configure(&silence, &sensor.moves());
    daemon.signal("HUP");
    daemon.counts("ringtap_spool_moved_segments_total", |moved| moved == all);
    end(daemon);
    assert!(moto.objects().iter().all(|name| name.starts_with("sensor-1/")));
}
