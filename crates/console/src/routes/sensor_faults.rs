//! What is wrong with a sensor and its disks, and what helps.

use std::sync::Arc;

use serde::Serialize;
use serde_json::Value;
use utoipa::ToSchema;

/// A file system.
#[derive(Serialize, ToSchema)]
pub(super) struct SensorDisk {
    /// What is on it: `records` or `spool`.
    pub(super) name: &'static str,
    pub(super) total_bytes: u64,
    pub(super) free_bytes: u64,
}

/// Something that is wrong with a sensor at this moment.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
pub(super) struct SensorFault {
    /// `silent`: the daemon does not answer. `version`: it is not of the version of this console. `clock`:
    /// its clock has stepped. `lost`: packets were lost in the time that rates are of. `worker`: a worker has
    /// ended, or does not report. `records`: the database cannot be written. `spool`: nothing is recorded.
    /// `bucket`: the bucket of older segments does not answer. `disk`: a file system is full.
    code: &'static str,
    /// Of what: the place where packets were lost, the interface of a worker, a disk, a version.
    subject: Option<String>,
    /// How much: packets that were lost, seconds by which the clock has stepped.
    count: Option<i64>,
    /// In words.
    detail: String,
    /// What to do.
    remedy: &'static str,
}

/// What is wrong, by what the daemon says now and said before.
pub(super) fn faults(
    status: &Result<Arc<Value>, String>,
    before: Option<&Value>,
    disks: &[SensorDisk],
) -> Vec<SensorFault> {
    let mut faults = match status {
        Ok(status) => [of_program(status), losses(status, before), workers(status), storage(status)].concat(),
        Err(why) => vec![fault("silent", None, None, why.clone(), START)],
    };
    let full = disks.iter().filter(|disk| disk.free_bytes < disk.total_bytes / 100);
    faults.extend(full.map(|disk| {
        let (name, percent) = (disk.name, disk.free_bytes as f64 * 100.0 / disk.total_bytes as f64);
        fault("disk", Some(name), None, format!("the disk of {name} is full: {percent:.1} % is free"), FREE)
    }));
    faults
}

/// Its version and its clock.
fn of_program(status: &Value) -> Vec<SensorFault> {
    let mut faults = Vec::new();
    if let Some(version) = status["version"].as_str().filter(|version| *version != OWN_VERSION) {
        let detail = format!("the daemon is of version {version}, this console of {OWN_VERSION}");
        faults.push(fault("version", Some(version), None, detail, RESTART));
    }
    if let Some(step) = status["clock_step_s"].as_i64().filter(|step| *step != 0) {
        let detail = format!("the clock has stepped by {step} s: nothing is deleted by age");
        faults.push(fault("clock", None, Some(step), detail, CLOCK));
    }
    faults
}

/// Packets and records that were lost since `before`.
fn losses(status: &Value, before: Option<&Value>) -> Vec<SensorFault> {
    let Some(before) = before else { return Vec::new() };
    let count = |of: &Value, place: &str| {
        let pairs = of["lost"].as_array().into_iter().flatten();
        let of_place = |pair: &&Value| pair[0].as_str() == Some(place);
        pairs.into_iter().find(of_place).and_then(|pair| pair[1].as_u64()).unwrap_or(0)
    };
    let places = status["lost"].as_array().into_iter().flatten().filter_map(|pair| pair[0].as_str());
    let lost = places.map(|place| (place, count(status, place).saturating_sub(count(before, place))));
    lost.filter(|(_, lost)| *lost > 0)
        .map(|(place, lost)| {
            let remedy = REMEDIES.iter().find(|(of, _)| *of == place).map_or(DOCTOR, |(_, remedy)| *remedy);
            let count = i64::try_from(lost).unwrap_or(i64::MAX);
            fault("lost", Some(place), Some(count), format!("{lost} lost at {place} just now"), remedy)
        })
        .collect()
}

/// Workers that have ended or do not report.
fn workers(status: &Value) -> Vec<SensorFault> {
    let stuck = |worker: &&Value| worker["ended"] == true || worker["silent_ms"].as_u64() > Some(SILENT_MS);
    let workers = status["workers"].as_array().into_iter().flatten().filter(stuck);
    let named = workers.filter_map(|worker| worker["source"].as_str());
    named
        .map(|source| {
            let detail = format!("a worker on {source} has ended or does not report");
            fault("worker", Some(source), None, detail, LOG)
        })
        .collect()
}

/// The database and the spool.
fn storage(status: &Value) -> Vec<SensorFault> {
    let mut faults = Vec::new();
    if status["store"]["ok"] == false {
        let detail = "the database cannot be written: records wait in the outbox";
        faults.push(fault("records", None, None, detail.to_owned(), LOG));
    }
    if status["spool"]["ok"] == false {
        let detail = "nothing is recorded: the disk of the spool is full";
        faults.push(fault("spool", None, None, detail.to_owned(), SPOOL));
    }
    if status["spool"]["far_lost"] == true {
        let detail = "the bucket of older segments does not answer, or refuses";
        faults.push(fault("bucket", None, None, detail.to_owned(), LOG));
    }
    faults
}

fn fault(
    code: &'static str,
    subject: Option<&str>,
    count: Option<i64>,
    detail: String,
    remedy: &'static str,
) -> SensorFault {
    SensorFault { code, subject: subject.map(str::to_owned), count, detail, remedy }
}

/// Of this console.
const OWN_VERSION: &str = env!("CARGO_PKG_VERSION");
/// A worker reports five times a second; `ringtap status` has the same limit.
const SILENT_MS: u64 = 3_000;

const START: &str = "start `ringtap run` on that machine, and look at its log";
const RESTART: &str = "restart the one that is older";
const CLOCK: &str = "set the clock right, then run `ringtap clock --confirm`";
const DOCTOR: &str = "run `ringtap doctor` on that machine";
const LOG: &str = "look at the log of `ringtap run`, which says why";
const SPOOL: &str = "free some space, shorten `[retention]`, or release calls on hold";
const FREE: &str = "free some space on it";

/// What helps against losses, by place (docs/manual/run.md).
const REMEDIES: &[(&str, &str)] = &[
    ("nic", DOCTOR),
    ("ring", "set a larger `[capture] ring` or more `workers`, and pin them with `cpus`"),
    ("worker", "set fewer `workers`, or give them more processors"),
    ("tables", "raise the ceiling of `[engine]` that `ringtap_engine_drops_total` names, or `memory`"),
    ("reassembly", "raise `max_fragmented` and `max_stream_bytes`"),
    ("store", "put the records on a faster disk"),
    ("spool", "look at `ringtap_spool_lost_packets_total`, which has the reason"),
];

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn codes(faults: &[SensorFault]) -> Vec<(&str, Option<&str>, Option<i64>)> {
        faults.iter().map(|fault| (fault.code, fault.subject.as_deref(), fault.count)).collect()
    }

    fn well() -> Value {
        json!({
            "version": OWN_VERSION, "clock_step_s": 0, "lost": [["nic", 4], ["ring", 7]],
            "workers": [{ "source": "eth0", "ended": false, "silent_ms": 3_000 }],
            "store": { "ok": true }, "spool": { "ok": true, "far_lost": false },
        })
    }

    #[test]
    fn what_was_lost_long_ago_and_what_is_well_are_no_faults() {
        let half = [SensorDisk { name: "records", total_bytes: 1_000, free_bytes: 10 }];
        assert_eq!(faults(&Ok(Arc::new(well())), Some(&well()), &half), []);
        assert_eq!(faults(&Ok(Arc::new(json!({}))), None, &[]), [], "what is not told is not wrong");
        let no_spool = json!({ "spool": null });
        assert_eq!(faults(&Ok(Arc::new(no_spool)), None, &[]), [], "nothing is to be recorded");
    }

    #[test]
    fn every_fault_is_named_with_its_subject_and_a_remedy() {
        let broken = json!({
            "version": "0.0.9", "clock_step_s": -40, "lost": [["nic", 4], ["ring", 9], ["new", 1]],
            "workers": [
                { "source": "eth0", "ended": true, "silent_ms": 0 },
                { "source": "eth1", "ended": false, "silent_ms": 3_001 },
            ],
            "store": { "ok": false }, "spool": { "ok": false, "far_lost": true },
        });
        let full = [SensorDisk { name: "spool", total_bytes: 1_000, free_bytes: 9 }];
        let found = faults(&Ok(Arc::new(broken)), Some(&well()), &full);
        let expected = [
            ("version", Some("0.0.9"), None),
            ("clock", None, Some(-40)),
            ("lost", Some("ring"), Some(2)),
            ("lost", Some("new"), Some(1)),
            ("worker", Some("eth0"), None),
            ("worker", Some("eth1"), None),
            ("records", None, None),
            ("spool", None, None),
            ("bucket", None, None),
            ("disk", Some("spool"), None),
        ];
        assert_eq!(codes(&found), expected);
        assert_eq!(found[3].remedy, DOCTOR, "of a place that is not known here");
        assert!(found[9].detail.contains("0.9 %"), "{}", found[9].detail);
        let silent = faults(&Err("connection refused".to_owned()), None, &[]);
        assert_eq!(
            (codes(&silent), &*silent[0].detail),
            (vec![("silent", None, None)], "connection refused")
        );
    }
}
