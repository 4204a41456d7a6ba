//! A console over records that the tests know, with people of several roles and a daemon that answers.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::sync::{Arc, Condvar, Mutex, OnceLock};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use anyhow::bail;
use ringtap_access::{AuditLog, AuditQuery, NewPerson, PasswordCost, People, Role, Scope};
use ringtap_audio::BuiltIn;
use ringtap_console::{Daemon, Link, Refused, Security, Settings, Sources, Warrants, serve};
use ringtap_kpi::{Fold, Settings as KpiSettings, Zone};
use ringtap_model::{Call, CallState, Id, Nanos, Registration, Stream};
use ringtap_store::{FoldMinute, FoldedMinute, ImportWriter, MakeRollup};
use ringtap_testing::samples;
use serde_json::{Value, json};

use crate::authority;
use crate::client::Client;

/// Calls that are stored.
pub(crate) const CALLS: usize = 40;
/// Everybody's.
pub(crate) const PASSWORD: &str = "correct horse battery staple";

/// The key of the link that logs `ed` in.
pub(crate) const LINK: &str = "5b0c9b7e2f";

/// A console that runs until it is dropped.
pub(crate) struct Server {
    pub(crate) address: SocketAddr,
    dir: tempfile::TempDir,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
    cookie: OnceLock<String>,
}

impl Server {
    pub(crate) fn start() -> Self {
        Self::with(Some(Arc::new(Answering)), None, Rollups::default())
    }

    pub(crate) fn start_without_daemon() -> Self {
        Self::with(None, None, Rollups::default())
    }

    pub(crate) fn start_secured(security: Security) -> Self {
        Self::secured(security, Some(Arc::new(Answering)), None, Rollups::default(), None)
    }

    /// Whether its certificate is right, and what is said of it, by the check of `/health`.
    pub(crate) fn certificate_check(&self) -> (bool, String) {
        let host = format!("Host: {}\r\nConnection: close\r\nX-Ringtap: 1\r\n", self.address);
        let cookie = self.cookie.get_or_init(|| self.cookie_by_tls(&host));
        let request = format!("GET /api/v1/health HTTP/1.1\r\n{host}Cookie: {cookie}\r\n\r\n");
        let answer = authority::ask(self.address, &request);
        let health: Value = serde_json::from_str(answer.split("\r\n\r\n").nth(1).unwrap()).unwrap();
        let checks = health["checks"].as_array().unwrap();
        let found = checks.iter().find(|check| check["name"] == "certificate").unwrap();
        (found["ok"] == true, found["detail"].as_str().unwrap().to_owned())
    }

    /// Somebody logs in who asks for no certificate that can be believed.
    fn cookie_by_tls(&self, host: &str) -> String {
        let body = json!({ "name": "vic", "password": PASSWORD }).to_string();
        let length = body.len();
        let login = format!(
            "POST /api/v1/session HTTP/1.1\r\n{host}Content-Type: application/json\r\nContent-Length: \
             {length}\r\n\r\n{body}"
        );
        let answer = authority::ask(self.address, &login);
        let cookie = answer.lines().find_map(|line| line.strip_prefix("set-cookie: ")).expect(&answer);
        cookie.split(';').next().unwrap().to_owned()
    }

    /// With KPIs that wait at a gate.
    pub(crate) fn start_with_gate() -> (Self, Gate) {
        let gate = Gate::default();
        let rollups = Rollups { gate: Some(gate.clone()) };
        (Self::with(Some(Arc::new(Answering)), None, rollups), gate)
    }

    /// With an identity provider.
    pub(crate) fn start_with_provider(provider: ringtap_oidc::Settings) -> Self {
        Self::with(Some(Arc::new(Answering)), Some(provider), Rollups::default())
    }

    fn with(
        daemon: Option<Arc<dyn Daemon>>,
        provider: Option<ringtap_oidc::Settings>,
        rollups: Rollups,
    ) -> Self {
        Self::secured(Security::Plain, daemon, provider, rollups, None)
    }

    /// With a register of warrants.
    pub(crate) fn start_with_register(warrants: Warrants) -> Self {
        Self::secured_with_register(Security::Plain, warrants)
    }

    pub(crate) fn secured_with_register(security: Security, warrants: Warrants) -> Self {
        Self::secured(security, Some(Arc::new(Answering)), None, Rollups::default(), Some(warrants))
    }

    fn secured(
        security: Security,
        daemon: Option<Arc<dyn Daemon>>,
        provider: Option<ringtap_oidc::Settings>,
        rollups: Rollups,
        warrants: Option<Warrants>,
    ) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let (records, people) = (dir.path().join("records"), dir.path().join("people"));
        let spool = dir.path().join("spool");
        std::fs::create_dir(&records).unwrap();
        std::fs::create_dir(&spool).unwrap();
        fill(&records);
        add_people(&people);
        let settings = Settings {
            listen: "127.0.0.1:0".parse().unwrap(),
            hosts: Vec::new(),
            security,
            people,
            search_time: Duration::from_secs(20),
            link: Some(Link { key: LINK.into(), name: "ed".into(), password: PASSWORD.into() }),
            provider,
        };
        let sources = Sources {
            records,
            spool: None,
            spool_directory: Some(spool),
            daemon,
            assistants: None,
            decoders: Arc::new(BuiltIn),
            kpis: Arc::new(rollups),
            zone: Zone::UTC,
            sensor: "sensor-1".into(),
            warrants,
        };
        let stop = Arc::new(AtomicBool::new(false));
        let asked = Arc::clone(&stop);
        let (ready, address) = mpsc::channel();
        let thread = thread::spawn(move || {
            let tell = |address| ready.send(address).unwrap();
            serve(settings, sources, tell, || asked.load(Ordering::Relaxed)).unwrap();
        });
        let address = address.recv_timeout(Duration::from_secs(30)).unwrap();
        Self { address, dir, stop, thread: Some(thread), cookie: OnceLock::new() }
    }

    /// Somebody logs in.
    pub(crate) fn login(&self, name: &str) -> Client {
        let client = Client::new(self.address);
        let answer = client.post("/api/v1/session", &json!({ "name": name, "password": PASSWORD }));
        assert_eq!(answer.status, 200, "{}", answer.text());
        let cookie = answer.header("set-cookie").unwrap().split(';').next().unwrap().to_owned();
        client.with("cookie", &cookie)
    }

    /// The id of a call that the daemon tells of.
    pub(crate) fn id_of_a_call_in_progress(&self) -> String {
        in_progress(0).id.to_string()
    }

    /// A call that is newer than all others.
    pub(crate) fn add_a_call_of_now(&self) {
        let mut writer = ImportWriter::open(&self.dir.path().join("records")).unwrap();
        writer.call(&call(1_000), &[]).unwrap();
        writer.close().unwrap();
    }

    /// A call of `carrier-b` beside one of `carrier-a`.
    pub(crate) fn add_a_call_of_carrier_b(&self) {
        let mut writer = ImportWriter::open(&self.dir.path().join("records")).unwrap();
        let added = Call { id: Id([0xbb; 16]), invite: call(2).invite, ..call(3) };
        writer.call(&added, &[]).unwrap();
        writer.close().unwrap();
    }

    /// So many calls with a very long name, newer than all others.
    pub(crate) fn add_long_calls(&self, count: usize) {
        let mut writer = ImportWriter::open(&self.dir.path().join("records")).unwrap();
        for number in 0..count {
            let mut id = [0xee; 16];
            id[..8].copy_from_slice(&number.to_be_bytes());
            let from_display = Some("x".repeat(64 << 10));
            writer.call(&Call { id: Id(id), from_display, ..call(1_000) }, &[]).unwrap();
        }
        writer.close().unwrap();
    }

    /// The directory of the records.
    pub(crate) fn records(&self) -> PathBuf {
        self.dir.path().join("records")
    }

    /// The directory of the audit log.
    pub(crate) fn audit_log(&self) -> PathBuf {
        self.dir.path().join("people").join("audit")
    }

    /// The directory of people, keys and the audit log.
    pub(crate) fn people(&self) -> PathBuf {
        self.dir.path().join("people")
    }

    /// The directory of the spool.
    pub(crate) fn spool(&self) -> PathBuf {
        self.dir.path().join("spool")
    }

    /// What is in the audit log, by kind, the oldest first.
    pub(crate) fn audited(&self) -> Vec<&'static str> {
        self.audit().into_iter().map(|(action, _)| action).collect()
    }

    /// The same, each with what was done.
    pub(crate) fn audit(&self) -> Vec<(&'static str, String)> {
        let log = AuditLog::open(&self.dir.path().join("people")).unwrap();
        let page = log.reader().read(&AuditQuery::default()).unwrap();
        let told = |entry: &ringtap_access::Entry| (entry.action.name(), entry.what.to_string());
        page.entries.iter().rev().map(told).collect()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take()
            && thread.join().is_err()
            && !thread::panicking()
        {
            panic!("the console failed");
        }
    }
}

/// A call a minute, over two days: every fourth has failed, every second is of `carrier-a`.
fn call(number: usize) -> Call {
    let failed = number.is_multiple_of(4);
    let trunk = if number.is_multiple_of(2) { "carrier-a" } else { "carrier-b" };
    Call {
        id: Id([number as u8; 16]),
        call_id: format!("call-{number}"),
        invite: Some(samples::START - Nanos::from_secs(30 * 60) + Nanos::from_secs(1_800 * number as u64)),
        from_user: Some(format!("4420794601{:02}", number % 10 + 30)),
        from_display: failed.then(|| "=HYPERLINK(\"https://evil.example\")".to_owned()),
        trunk_to: Some(trunk.to_owned()),
        state: if failed { CallState::Failed } else { CallState::Completed },
        final_code: if failed { 503 } else { 200 },
        mos: Some(2.0 + (number % 20) as f64 / 10.0),
        conversation: None,
        streams: Vec::new(),
        ..samples::call()
    }
}

/// One of `carrier-b` that has no record yet.
fn in_progress(number: usize) -> Call {
    Call { id: Id([200 + number as u8; 16]), end: None, state: CallState::Active, ..call(2 * number + 1) }
}

fn fill(records: &Path) {
    let mut writer = ImportWriter::open(records).unwrap();
    for number in 0..CALLS {
        writer.call(&call(number), &[]).unwrap();
    }
    writer.registration(&samples::registration()).unwrap();
    writer.close().unwrap();
}

fn add_people(dir: &Path) {
    // Hashed cheaply: what is tried here is not the hash.
    let password = PasswordCost { memory: 64, passes: 1, ..PasswordCost::default() };
    let people = People::open(dir, ringtap_access::Settings { password, ..Default::default() }).unwrap();
    let tenant = Scope::parse(&["carrier-a".to_owned()], &[]).unwrap();
    let narrow = Scope::parse(&["carrier-a".to_owned()], &["442079460132".to_owned()]).unwrap();
    for (name, role, scope) in [
        ("root", Role::Administrator, Scope::everything()),
        ("ana", Role::Engineer, Scope::everything()),
        ("vic", Role::Viewer, Scope::everything()),
        ("eve", Role::Quality, Scope::everything()),
        ("aud", Role::Auditor, Scope::everything()),
        ("ed", Role::Engineer, Scope::everything()),
        ("ten", Role::Engineer, tenant),
        ("nat", Role::Engineer, narrow),
    ] {
        let new = NewPerson { name, role, scope, password: PASSWORD, must_change: false };
        people.add(&new, samples::START).unwrap();
    }
}

/// A daemon with three calls in progress, all of `carrier-b`.
struct Answering;

impl Daemon for Answering {
    fn status(&self) -> anyhow::Result<Value> {
        Ok(json!({ "now_us": 1, "calls": 3, "calls_begun": 10, "lost": [], "workers": [] }))
    }

    fn retention(&self) -> anyhow::Result<Value> {
        Ok(json!({
            "now_us": 1, "records_age_ms": null, "age_suspended": false,
            "spool": {
                "recording": true, "disk_bytes": 1_000, "free_bytes": 400, "low_bytes": 50, "high_bytes": 70,
                "short_at_us": 9, "has_tier": false, "tier_after_ms": null, "tier_lost": false,
                "categories": [{
                    "category": "media", "bytes": 10, "segments": 2, "oldest_us": 1, "age_ms": 5,
                    "size_bytes": null, "bytes_per_day": 1, "next_us": 6, "next_by": "age",
                }],
            },
        }))
    }

    fn rules(&self) -> anyhow::Result<Value> {
        let rule = json!({
            "name": "bad calls", "keep": "full", "conditions": [["mos_below", "3.1"]], "mask_dtmf": false,
            "may_pause": true, "calls": 7,
            "written": { "name": "bad calls", "number": ["112"], "mos_below": 3.1, "keep": "full" },
        });
        Ok(json!({
            "since_us": 1, "rules": [rule], "unmatched": 3, "file": "/nowhere/rules.toml", "version": "v1",
        }))
    }

    /// As if somebody else changed the rules where the first is of that name, after they were read.
    fn set_rules(&self, version: &str, rules: Vec<Value>, is_trial: bool) -> anyhow::Result<Value> {
        Ok(match rules[0]["name"].as_str() {
            Some("wrong") => json!({ "wrong": [{ "rule": 0, "key": "keep", "problem": "is missing" }] }),
            Some("late") if !is_trial => json!({ "changed": "v2" }),
            _ => json!({ "done": version }),
        })
    }

    fn calls(&self, most: usize) -> anyhow::Result<Value> {
        let calls: Vec<(Call, Vec<Stream>)> =
            (0..3).map(|number| (in_progress(number), Vec::new())).skip(3 - most.min(3)).collect();
        Ok(json!({ "calls": calls, "total": 3 }))
    }

    fn keep(&self, call_id: &str, what: &str) -> anyhow::Result<()> {
        bail!(Refused(format!("{call_id} is kept already: {what}")))
    }

    fn pause(&self, _: &str, _: bool) -> anyhow::Result<()> {
        Ok(())
    }

    fn listen(&self, call_ids: &[String]) -> anyhow::Result<Value> {
        let answer = |call_id: &String| match &**call_id {
            "call-1" => json!({ "refused": "its rule keeps only its signalling" }),
            _ => json!({ "heard": { "state": "paused", "streams": [] } }),
        };
        Ok(call_ids.iter().map(answer).collect())
    }

    fn hold(&self, _: &str, _: &str) -> anyhow::Result<()> {
        Ok(())
    }

    fn alarms(&self) -> anyhow::Result<String> {
        bail!("no alarms are configured")
    }

    fn acknowledge(&self, id: &str, by: &str, _: &str) -> anyhow::Result<String> {
        Ok(format!("{id} is known to {by}"))
    }

    fn silence(&self, rule: &str, _: &str, _: u64, _: &str, _: &str) -> anyhow::Result<String> {
        Ok(format!("{rule} is silent"))
    }
}

/// KPIs as they are without a configuration.
#[derive(Default)]
struct Rollups {
    gate: Option<Gate>,
}

/// Where the first minute that is computed waits.
#[derive(Clone, Default)]
pub(crate) struct Gate(Arc<(Mutex<(bool, usize)>, Condvar)>);

impl Gate {
    /// Minutes that were begun.
    pub(crate) fn begun(&self) -> usize {
        self.0.0.lock().unwrap().1
    }

    pub(crate) fn open(&self) {
        self.0.0.lock().unwrap().0 = true;
        self.0.1.notify_all();
    }

    fn pass(&self) {
        let mut state = self.0.0.lock().unwrap();
        state.1 += 1;
        // A test that has failed does not wait for ever.
        drop(self.0.1.wait_timeout_while(state, Duration::from_secs(120), |state| !state.0).unwrap());
    }
}

struct Minute {
    fold: Fold,
    begin: Nanos,
}

impl MakeRollup for Rollups {
    fn settings(&self) -> u64 {
        KpiSettings::default().fingerprint()
    }

    fn begin(&self, begin: Nanos, _: &[Vec<u8>]) -> Box<dyn FoldMinute + '_> {
        if let Some(gate) = &self.gate {
            gate.pass();
        }
        Box::new(Minute { fold: Fold::new(KpiSettings::default()), begin })
    }
}

impl FoldMinute for Minute {
    fn call(&mut self, call: &Call, streams: &[Stream]) {
        self.fold.call(call, streams);
    }

    fn registration(&mut self, registration: &Registration) {
        self.fold.registration(registration);
    }

    fn finish(self: Box<Self>) -> FoldedMinute {
        let rollup = self.fold.finish().remove(&self.begin).unwrap_or_default();
        FoldedMinute { pairs: Vec::new(), rollup: rollup.to_bytes() }
    }
}
