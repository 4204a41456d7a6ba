//! Captures that nobody here made: no outage is invented, and its times are those that tshark shows.

use std::path::{Path, PathBuf};
use std::process::Command;

use ringtap_availability::{Findings, Outage, OutageKind, Settings};
use ringtap_capture::{Capture, Merge};
use ringtap_model::Nanos;
use ringtap_testing::{program, shared};

use crate::wire::tracked;

#[test]
fn outages_of_other_captures_are_what_tshark_shows() {
    let Some(folder) = shared() else { return };
    if !program("tshark") {
        return;
    }
    let mut services = 0;
    for path in captures(&folder.join("captures")) {
        let Some(findings) = read(&path) else { continue };
        for outage in findings.outages.iter().filter(|outage| outage.kind == OutageKind::Unanswered) {
            check(&path, outage);
        }
        services += findings.services.iter().filter(|service| service.answered > 0).count();
    }
    // Or the captures were not read.
    assert!(services > 200, "{services}");
}

fn captures(folder: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for entry in std::fs::read_dir(folder).expect("a folder").flatten() {
        let path = entry.path();
        let is_capture =
            path.extension().is_some_and(|kind| ["pcap", "pcapng", "cap"].iter().any(|k| kind == *k));
        if path.is_dir() {
            files.extend(captures(&path));
        } else if is_capture {
            files.push(path);
        }
    }
    files.sort();
    files
}

/// None for what is no capture, on purpose.
fn read(path: &Path) -> Option<Findings> {
    let captures = [Capture::open(path, None).ok()?];
    let mut merge = Merge::new(&captures);
    Some(tracked(Settings::default(), |engine, sink| {
        loop {
            let batch = merge.batch(64);
            if batch.is_empty() {
                break;
            }
            engine.batch(&batch, sink);
        }
    }))
}

/// Times of requests to the service and of its answers, by tshark.
fn messages(path: &Path, outage: &Outage) -> (Vec<Nanos>, Vec<Nanos>) {
    let family = if outage.service.ip.is_ipv4() { "ip" } else { "ipv6" };
    let transport = if outage.transport.name() == "udp" { "udp" } else { "tcp" };
    let filter = |end: &str| {
        format!(
            "sip && {family}.{end}=={} && {transport}.{end}port=={}",
            outage.service.ip, outage.service.port
        )
    };
    let ask = |filter: String, kind: &str| -> Vec<Nanos> {
        let output = Command::new("tshark")
            .args(["-n", "-r"])
            .arg(path)
            .args(["-Y", &format!("{filter} && {kind}"), "-T", "fields", "-e", "frame.time_epoch"])
            .output()
            .expect("tshark runs");
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        text.lines()
            .filter_map(|line| line.trim().parse::<f64>().ok())
            .map(|s| Nanos((s * 1e9) as u64))
            .collect()
    };
    (ask(filter("dst"), "sip.Method"), ask(filter("src"), "sip.Status-Code"))
}

/// A request was sent when the outage says so, and the service sent no answer from then on.
fn check(path: &Path, outage: &Outage) {
    let (requests, answers) = messages(path, outage);
    let name = format!("{}: {outage:?}", path.display());
    let near = |times: &[Nanos], time: Nanos| {
        times.iter().any(|at| at.since(time).max(time.since(*at)) < Nanos::from_micros(5))
    };
    assert!(near(&requests, outage.first_unanswered), "{name}");
    assert!(outage.last_answer.is_none_or(|time| near(&answers, time)), "{name}");
    assert!(outage.first_answer.is_none_or(|time| near(&answers, time)), "{name}");
    let little = Nanos::from_micros(5);
    let (from, to) = (outage.from() + little, outage.first_answer.unwrap_or(Nanos::MAX).since(little));
    let between: Vec<_> = answers.iter().filter(|at| from < **at && **at < to).collect();
    assert!(between.is_empty(), "{name}: {between:?}");
}
