use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use ringtap_model::{CallState, Recorded};
use ringtap_notify::NotifyError;
use ringtap_search::{Site, TimeSpan};
use ringtap_spool::{Deletion, DeletionLog};
use ringtap_store::ImportWriter;
use ringtap_testing::samples;
use serde_json::Value;

use super::*;
use crate::delivery::Sound;
use crate::queue::HookCounts;
use crate::settings::{HookCommand, HookEvent, HookSound, HookTarget};
use crate::state::figures;

pub(crate) fn hook(name: &str) -> Hook {
    let command = HookCommand { program: vec!["/bin/true".into()], environment: vec![], memory: 0 };
    Hook {
        name: name.into(),
        event: HookEvent::Recorded,
        query: String::new(),
        target: HookTarget::Command(command),
        sound: HookSound::None,
        mask: false,
        delay: Duration::ZERO,
        timeout: Duration::from_secs(60),
        at_once: 2,
        queue: 100,
        tries: 3,
    }
}

/// What was delivered, and what is said to it.
#[derive(Clone, Default)]
struct Told(Arc<Mutex<Vec<(String, u8, u64)>>>, Arc<Mutex<Vec<NotifyError>>>);

impl Transport for Told {
    fn sound(&self, _: &Id) -> Result<Sound, String> {
        Err("no sound here".into())
    }

    fn deliver(&self, hook: &Hook, document: &Value, _: Option<Sound>) -> Result<(), NotifyError> {
        let id: Id = document["call"]["id"].as_str().unwrap().parse().unwrap();
        let attempt = document["attempt"].as_u64().unwrap();
        self.0.lock().unwrap().push((hook.name.clone(), id.0[0], attempt));
        self.1.lock().unwrap().pop().map_or(Ok(()), Err)
    }
}

impl Told {
    fn all(&self) -> Vec<(String, u8, u64)> {
        let mut all = self.0.lock().unwrap().clone();
        all.sort();
        all
    }
}

fn call(number: u8) -> Call {
    let mut id = [0; 16];
    id[0] = number;
    Call { id: Id(id), call_id: format!("{number}@h"), recorded: Recorded::Full, ..samples::call() }
}

fn store(records: &Path, calls: &[Call]) {
    let mut writer = ImportWriter::open(records).unwrap();
    calls.iter().for_each(|call| writer.call(call, &[]).unwrap());
    writer.close().unwrap();
}

fn settings(dir: &Path, hooks: Vec<Hook>) -> ServiceSettings {
    ServiceSettings {
        hooks,
        records: dir.join("records"),
        spool: Some(dir.join("spool")),
        directory: dir.to_owned(),
        tokens: None,
        host: "tap".into(),
        pace: (Duration::ZERO, Duration::ZERO),
    }
}

fn none_named() -> KnownSites {
    Box::new(|| Ok(Vec::new()))
}

/// Runs a service, begun before `meanwhile`, until as many calls as `expected` in all are done with.
fn run(settings: ServiceSettings, told: &Told, expected: u64, meanwhile: impl FnOnce()) -> Vec<HookCounts> {
    let directory = settings.directory.clone();
    let service = Service::open(settings, none_named(), Box::new(told.clone())).unwrap();
    meanwhile();
    let is_done = || {
        let done = |counts: HookCounts| counts.delivered + counts.refused + counts.forgotten;
        figures(&directory).iter().map(|hook| done(hook.counts)).sum::<u64>() >= expected
    };
    service.run(is_done).unwrap();
    let figures = figures(&directory);
    assert!(figures.iter().all(|hook| hook.waiting == 0), "{figures:?}");
    figures.into_iter().map(|hook| hook.counts).collect()
}

#[test]
fn each_hook_gets_the_calls_that_it_asks_for_once() {
    let dir = tempfile::tempdir().unwrap();
    let records = dir.path().join("records");
    store(&records, &[call(9)]);
    let hooks = vec![
        Hook { event: HookEvent::Finished, ..hook("all") },
        Hook { query: "state:failed".into(), ..hook("failed") },
        hook("recorded"),
    ];
    let told = Told::default();
    let counts = run(settings(dir.path(), hooks.clone()), &told, 6, || {
        let unrecorded = Call { recorded: Recorded::None, ..call(2) };
        store(&records, &[call(1), unrecorded, Call { state: CallState::Failed, ..call(3) }]);
    });
    let of = |name: &str, number| (name.to_owned(), number, 1);
    // What was there before the first start is not delivered.
    let expected = [of("all", 1), of("all", 2), of("all", 3), of("failed", 3)];
    assert_eq!(told.all(), [&expected[..], &[of("recorded", 1), of("recorded", 3)]].concat());
    assert_eq!(counts.iter().map(|counts| counts.delivered).sum::<u64>(), 6);

    // What was stored while nothing ran is delivered at the next start, and nothing else.
    store(&records, &[call(4)]);
    run(settings(dir.path(), hooks[2..].to_vec()), &told, 3, || {});
    assert_eq!(told.all().len(), 7);
    assert!(told.all().contains(&of("recorded", 4)));
}

#[test]
fn a_site_in_a_query_has_the_networks_that_it_has_then() {
    let dir = tempfile::tempdir().unwrap();
    let told = Told::default();
    let networks = ["198.51.100.0/24", "", "192.0.2.0/24"];
    let asked = Arc::new(AtomicUsize::new(0));
    let asking = Arc::clone(&asked);
    let sites: KnownSites = Box::new(move || {
        let time = asking.fetch_add(1, Ordering::Relaxed).min(networks.len() - 1);
        let network = networks[time].parse().map_err(|_| "the list is gone".to_owned())?;
        Ok(vec![Site { name: "Lyon".into(), networks: vec![network], span: TimeSpan::ALL }])
    });
    let hooks = vec![Hook { query: "site:lyon".into(), ..hook("lyon") }];
    let service = Service::open(settings(dir.path(), hooks), sites, Box::new(told.clone())).unwrap();
    store(&dir.path().join("records"), &[call(1)]);
    // When the call is looked at first, the list cannot be read: it waits, and is not left out.
    service.run(|| !told.all().is_empty()).unwrap();
    assert_eq!(told.all(), [("lyon".into(), 1, 1)]);
    assert!(asked.load(Ordering::Relaxed) > 2);
}

#[test]
fn failures_are_tried_again_and_refusals_are_not() {
    let dir = tempfile::tempdir().unwrap();
    let records = dir.path().join("records");
    let told = Told::default();
    let later = || NotifyError::later("busy");
    *told.1.lock().unwrap() = vec![NotifyError::refused("never"), later()];
    let counts = run(settings(dir.path(), vec![Hook { at_once: 1, ..hook("one") }]), &told, 2, || {
        store(&records, &[call(1), call(2)]);
    });
    let [counts] = counts[..] else { panic!("one hook") };
    assert_eq!((counts.delivered, counts.refused, counts.retried), (1, 1, 1));
    assert_eq!(told.all(), [("one".into(), 1, 1), ("one".into(), 1, 2), ("one".into(), 2, 1)]);

    *told.1.lock().unwrap() = vec![later(), later(), later(), later()];
    let other = settings(dir.path(), vec![hook("other")]);
    let counts = run(other, &told, 1, || store(&records, &[call(3)]));
    assert_eq!((counts[0].delivered, counts[0].refused, counts[0].retried), (0, 1, 2));
}

#[test]
fn what_waits_for_a_call_is_gone_once_the_call_is_forgotten() {
    let dir = tempfile::tempdir().unwrap();
    let (records, spool) = (dir.path().join("records"), dir.path().join("spool"));
    std::fs::create_dir(&spool).unwrap();
    let told = Told::default();
    let counts = run(settings(dir.path(), vec![hook("one")]), &told, 2, || {
        store(&records, &[call(1), call(2)]);
        let segment = "2026-11-21/000101.250-w3-m-1.pcap".parse().unwrap();
        let at = Nanos::from_secs(1_795_219_261);
        let entry = Deletion::segment(Path::new("/nowhere"), &segment, at, "request 7").unwrap();
        let owner = ringtap_spool::of_call(b"1@h");
        let forgotten = Deletion { owners: vec![format!("{owner:016x}")], ..entry };
        DeletionLog::of(&spool, None).append(&[forgotten]).unwrap();
    });
    assert_eq!((counts[0].delivered, counts[0].forgotten), (1, 1));
    assert_eq!(told.all(), [("one".into(), 2, 1)]);
}

#[test]
fn a_wrong_query_names_its_hook_and_what_would_be_right() {
    let dir = tempfile::tempdir().unwrap();
    let wrong = Hook { query: "state:failled".into(), ..hook("one") };
    let settings = settings(dir.path(), vec![wrong]);
    let error = Service::open(settings, none_named(), Box::new(Told::default())).unwrap_err();
    let told = error.to_string();
    assert!(told.starts_with("[[hook]] one: query: ") && told.contains("failed"), "{told}");
}
