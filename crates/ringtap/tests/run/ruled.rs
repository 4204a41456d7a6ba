//! Recording rules that are changed over the API: checked, kept over a kill and a restart, refused where they
//! are wrong or old, and blind to interception.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on ends")]

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use ringtap_daemon::RuleOutcome;
use ringtap_daemon::control::{Request, ask};
use serde_json::{Map, Value, json};

use crate::console::Console;
use crate::daemon::{Daemon, Place, silence};
use crate::product::{kept_of_product, numbers_of, owners};
use crate::replayed::files;
use crate::rules::ringtap;

const OWN: &str =
    "# what the operator wrote\n[[keep]]\nname = \"never\"\nnumber = [\"112\"]\nkeep = \"nothing\"\n";

/// A daemon's folder with these rules, and a file for those of the console.
fn place(dir: &Path, capture: &str, rules: &str) -> Place {
    let place = Place::new(dir);
    let path = place.configure(capture, "");
    let text = fs::read_to_string(&path).unwrap().replace("linger = \"1s\"\n", "");
    let shown = dir.display();
    let text = format!(
        "{text}[process]\ncontrol = \"{shown}/control\"\n[spool]\ndirectory = \"{shown}/spool\"\nsegment = \
         \"5s\"\nrules = \"{shown}/rules/rules.toml\"\n{rules}"
    );
    fs::write(path, text).unwrap();
    place
}

fn control(dir: &Path) -> PathBuf {
    dir.join("control")
}

fn file(dir: &Path) -> PathBuf {
    dir.join("rules/rules.toml")
}

fn started(place: &mut Place) -> Daemon {
    let mut daemon = place.start();
    let socket = control(&place.dir);
    daemon.until("it answers", |_| ask(&socket, &Request::Decisions).is_ok());
    daemon
}

/// What the daemon tells of its rules, but for when it read them.
fn told(dir: &Path) -> Value {
    let mut told: Value = serde_json::from_str(&ask(&control(dir), &Request::Decisions).unwrap()).unwrap();
    told["since_us"] = Value::Null;
    told["file"] = Value::Null;
    told
}

fn set(dir: &Path, version: &str, rules: &Value) -> anyhow::Result<RuleOutcome> {
    let rules: Vec<Map<String, Value>> = serde_json::from_value(rules.clone()).unwrap();
    let request = Request::SetRules { version: version.to_owned(), rules, trial: false };
    Ok(serde_json::from_str(&ask(&control(dir), &request)?).unwrap())
}

fn body(text: &str) -> Value {
    serde_json::from_str(text.split("\r\n\r\n").nth(1).unwrap()).unwrap()
}

#[test]
fn rules_of_the_console_are_checked_written_noted_and_there_after_a_restart() {
    let dir = tempfile::tempdir().unwrap();
    let mut place = place(dir.path(), &silence(dir.path()), OWN);
    let mut daemon = started(&mut place);
    let configuration = fs::read(dir.path().join("ringtap.toml")).unwrap();
    let console = Console::start(dir.path(), control(dir.path()).to_str().unwrap());
    let root = console.login("root");
    let path = "/api/v1/rules";
    let (_, text) = console.ask("GET", path, &root, "");
    let before = body(&text);
    let version = before["version"].as_str().unwrap().to_owned();
    assert_eq!(
        (&before["rules"][0]["written"]["number"], &before["may_change"]),
        (&json!(["112"]), &json!(true))
    );
    let list = json!([
        { "name": "ours", "trunk": ["192.0.2.0/24"], "keep": "full" },
        { "name": "never", "number": ["112", "0900113113"], "keep": "nothing" },
    ]);
    let put = |who: &str, version: &str, rules: &Value| {
        console.ask("PUT", path, who, &json!({ "version": version, "rules": rules }).to_string())
    };
    for name in ["vic", "ana", "ten"] {
        assert_eq!(put(&console.login(name), &version, &list).0, 403, "{name}");
    }
    // A list that `run --check` would refuse is refused in the same words.
    let wrong = json!([{ "name": "all", "keep": "full" }, { "mos_below": 7, "keep": "full" }]);
    let (status, text) = put(&root, &version, &wrong);
    assert_eq!(status, 400, "{text}");
    assert!(text.contains("rule 2: mos_below: must be from 1 to 5, for example 3.6"), "{text}");
    let shadow = json!([{ "caller": ["@/etc/shadow"], "keep": "full" }]);
    let (status, text) = put(&root, &version, &shadow);
    assert!(status == 400 && text.contains("which no rule names now"), "{text}");
    assert!(!file(dir.path()).exists());

    // Of two who change the same rules, one does.
    let (status, text) = put(&root, &version, &list);
    assert_eq!(status, 200, "{text}");
    let other = json!([{ "keep": "headers" }]);
    let (status, late) = put(&root, &version, &other);
    assert!(status == 409 && late.contains("meanwhile"), "{late}");
    let now = body(&text);
    assert_eq!(now["rules"][1]["written"]["number"], json!(["112", "0900113113"]));
    let (_, shown, _) = ringtap(&["rules", "--control", control(dir.path()).to_str().unwrap()]);
    let names: Vec<&str> = shown.lines().skip(1).filter_map(|line| line.split("  ").last()).collect();
    assert_eq!(names, ["ours", "never", "no rule"], "{shown}");
    let log = daemon.log();
    assert!(log.contains("set 2 recording rules by user ") && !log.contains("0900113113"), "{log}");
    let (_, audit) = console.ask("GET", "/api/v1/audit", &root, "");
    assert!(audit.contains("1 recording rules [never] become 2 [ours, never]"), "{audit}");
    assert!(audit.contains("as it was before") && audit.contains("as it is to be"), "{audit}");

    // Nobody else's file is touched, and what was changed by hand is not overwritten.
    assert_eq!(fs::read(dir.path().join("ringtap.toml")).unwrap(), configuration);
    let version = now["version"].as_str().unwrap().to_owned();
    let by_hand = format!("{}# by hand\n", fs::read_to_string(file(dir.path())).unwrap());
    fs::write(file(dir.path()), &by_hand).unwrap();
    let (status, text) = put(&root, &version, &other);
    assert!(status == 409 && text.contains("was changed by hand and is not in effect yet"), "{text}");
    assert_eq!(fs::read_to_string(file(dir.path())).unwrap(), by_hand);
    fs::write(file(dir.path()), by_hand.replace("ours", "theirs")).unwrap();
    daemon.signal("HUP");
    daemon.says("SIGHUP: in effect: [[keep]] name");
    assert_eq!(told(dir.path())["rules"][0]["name"], "theirs");

    daemon.signal("KILL");
    daemon.ends();
    let daemon = started(&mut place);
    assert_eq!(told(dir.path())["rules"][0]["name"], "theirs");
    assert!(daemon.log().contains("[[keep]] rules of the configuration have no effect"), "{}", daemon.log());
}

/// One of the lists is there whole, whenever the daemon is killed.
#[test]
fn a_kill_while_rules_are_written_leaves_the_old_or_the_new() {
    let dir = tempfile::tempdir().unwrap();
    let mut place = place(dir.path(), &silence(dir.path()), OWN);
    let many = |name: &str| {
        let rule = |number: usize| {
            let (name, number) = (format!("{name} {number}"), format!("+4930{number}"));
            json!({ "name": name, "number": [number], "keep": "full" })
        };
        Value::Array((0..400).map(rule).collect())
    };
    let lists = [many("one"), many("other")];
    for kill in 0..4 {
        let mut daemon = started(&mut place);
        let names: Vec<Value> =
            told(dir.path())["rules"].as_array().unwrap().iter().map(|rule| rule["name"].clone()).collect();
        let of = |list: &Value| {
            list.as_array().unwrap().iter().map(|rule| rule["name"].clone()).collect::<Vec<_>>()
        };
        let is_whole = kill == 0 || lists.iter().any(|list| of(list) == names);
        assert!(is_whole, "after {kill} kills: {} rules, {:?} first", names.len(), names.first());
        let (socket, written) = (dir.path().to_owned(), AtomicBool::new(false));
        thread::scope(|scope| {
            scope.spawn(|| {
                for list in lists.iter().cycle() {
                    let Ok(told) = ask(&control(&socket), &Request::Decisions) else { return };
                    let told: Value = serde_json::from_str(&told).unwrap();
                    if set(&socket, told["version"].as_str().unwrap(), list).is_err() {
                        return;
                    }
                    written.store(true, Ordering::Relaxed);
                }
            });
            daemon.until("rules are changed", |_| written.load(Ordering::Relaxed));
            daemon.signal("KILL");
            daemon.ends();
        });
        // As a kill before the rename leaves it.
        fs::write(dir.path().join("rules/rules.toml.new"), "[[keep]]\nname = \"to").unwrap();
    }
}

#[test]
fn rules_that_intercept_are_unseen_and_intercept_on() {
    let learnt = tempfile::tempdir().unwrap();
    let mut first = place(learnt.path(), &files("\"max\""), "[[keep]]\nkeep = \"nothing\"\n");
    assert_eq!(first.start().end().0, Some(0));
    let calls = first.calls();
    let target = "0d6d8cadbfcfc2aa0000000b@192.0.2.76";
    let product = format!("[[keep]]\nproduct = \"LI-9\"\n{}keep = \"full\"\n", numbers_of(&calls, target));
    let more = "[[keep]]\nproduct = \"LI-8\"\ncaller = [\"1\"]\nkeep = \"full\"\n".repeat(5);
    let rules = [OWN.to_owned(), format!("{product}{OWN}{more}")];
    // The most that there may be beside those that intercept: none of them takes a place.
    let most = Value::Array(vec![json!({ "answered": true, "keep": "headers" }); 1000]);
    let [plain, tapped] = rules.map(|rules| {
        let dir = tempfile::tempdir().unwrap();
        let mut place = place(dir.path(), &files("1.0"), &rules);
        let mut daemon = started(&mut place);
        let mut seen = Vec::new();
        let own = || {
            let mut told = told(dir.path());
            told["unmatched"] = Value::Null;
            told["rules"].as_array_mut().unwrap().iter_mut().for_each(|rule| rule["calls"] = Value::Null);
            told
        };
        seen.push(own());
        for list in [json!([{ "keep": "nothing" }]), json!([]), most.clone(), json!([{ "keep": "nothing" }])]
        {
            let version = own()["version"].as_str().unwrap().to_owned();
            seen.push(json!(set(dir.path(), &version, &list).unwrap()));
            seen.push(own());
        }
        let (_, shown, _) = ringtap(&["rules", "--control", control(dir.path()).to_str().unwrap()]);
        seen.push(json!(shown.lines().map(|line| line[line.len().min(20)..].to_owned()).collect::<Vec<_>>()));
        daemon.says(&format!("rules: call {target}: "));
        let version = own()["version"].as_str().unwrap().to_owned();
        seen.push(json!(set(dir.path(), &version, &json!([{ "name": "late", "keep": "nothing" }])).unwrap()));
        let (status, log) = daemon.end();
        assert_eq!(status, Some(0), "{log}");
        assert!(!log.contains("LI-9"), "{log}");
        (dir, seen)
    });
    assert_eq!(tapped.1, plain.1);
    // From its first packet to its last, whatever the ordinary rules were meanwhile.
    let of = |dir: &Path| kept_of_product(dir, &owners(&calls, target)[..1]) as u64;
    assert_eq!((of(plain.0.path()), Some(of(tapped.0.path()))), (0, calls[target].0["messages"].as_u64()));
    let text = fs::read_to_string(file(tapped.0.path())).unwrap();
    assert!(text.contains("\"late\"") && !text.contains("product"), "{text}");
}
