//! Requests for retained data, from their entry to the figures of a year, as officers and auditors use them;
//! and answers of captures that others made, held against tshark.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on ends")]

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use ringtap_model::{Call, Identity};
use ringtap_store::ImportWriter;
use ringtap_testing::samples;
use serde_json::Value;

use crate::run::{file, run};
use crate::warrant::{Files, OWN};

const REQUEST: &str = "\
case = 'C-18'
authority = 'Police of A'
legal_basis = 'Act 2, order 17'
received = '2026-11-22 09:30'
from = '2026-11-21'
until = '2026-11-22'
category = ['telephony', 'internet-access']
subject = ['number:+420221111111', 'user~:bob']
";

type Row = HashMap<String, String>;

fn csv(path: &Path) -> Vec<Row> {
    let mut reader = csv::Reader::from_path(path).unwrap();
    reader.deserialize().map(|row| row.unwrap()).collect()
}

/// A database with a call of 2026-11-21, bob's session at the caller's address, and a failed call.
fn database(folder: &Path) -> PathBuf {
    let dir = folder.join("records");
    let mut writer = ImportWriter::open(&dir).unwrap();
    writer.call(&samples::call(), &[samples::stream()]).unwrap();
    writer.stream(&samples::stream()).unwrap();
    writer.call(&samples::hostile_call(), &[]).unwrap();
    let mut bob = samples::identity();
    bob.addresses[0].network = "192.0.2.1".into();
    writer.identity(&bob).unwrap();
    writer.close().unwrap();
    dir
}

/// Enters a request and has it approved; returns its number.
fn approved(files: &Files, text: &str) -> u32 {
    let path = file(files.folder.path(), "request.toml", text.as_bytes());
    let entered = files.disclosed("ana", &format!("enter {}", path.display()));
    let number: u32 = entered.err.split(' ').nth(2).unwrap().parse().unwrap();
    let shown = files.disclosed("ben", &format!("show {number} --why approval")).out;
    let hash = shown.trim().rsplit(' ').next().unwrap().to_owned();
    files.disclosed("ben", &format!("approve {number} --hash {}", &hash[..16]));
    number
}

fn lines(text: &str) -> Vec<Value> {
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn a_request_from_its_entry_to_the_figures_of_the_year() {
    let files = Files::with_people();
    let folder = files.folder.path().to_owned();
    let store = database(&folder);
    let path = file(&folder, "request.toml", REQUEST.as_bytes());
    let (path, store, out) = (path.display(), store.display(), folder.join("answer"));
    files.not_disclosed("dora", &format!("enter {path}"), "only an officer");
    let entered = files.disclosed("ana", &format!("enter {path}"));
    assert!(entered.err.contains("request 1 waits: another officer approves it"), "{entered:?}");
    let answer = format!("answer 1 --store {store} --out {}", out.display());
    files.not_disclosed("ana", &answer, "has to be approved first");
    assert!(!out.exists(), "where nothing was given, nothing stays");
    let shown = files.disclosed("ben", "show 1 --why approval").out;
    assert!(shown.contains("number:420221111111") && shown.contains("user~:bob"), "{shown}");
    let hash = shown.trim().rsplit(' ').next().unwrap().to_owned();
    files.not_disclosed("ana", &format!("approve 1 --hash {hash}"), "another officer has to approve this");
    files.not_disclosed("ben", "approve 1 --hash 0123456789abcdef", "nothing was approved");
    files.disclosed("ben", &format!("approve 1 --hash {}", &hash[..16]));
    files.not_disclosed("dora", &answer, "only an officer");
    files.not_disclosed("ana", &format!("{answer} --most 0"), "there are more than 0 sessions");
    assert!(!out.exists());

    let answered = files.disclosed("ana", &format!("{answer} --tz Europe/Berlin"));
    assert!(answered.out.contains("2 calls, 1 session"), "{answered:?}");
    assert_eq!(fs::metadata(&out).unwrap().permissions().mode() & 0o777, 0o700);
    for line in answered.out.lines().take(3) {
        let (hash, path) = line.split_once("  ").unwrap();
        assert_eq!(fs::metadata(path).unwrap().permissions().mode() & 0o777, 0o600);
        let sum = Command::new("sha256sum").arg(path).output().unwrap().stdout;
        assert_eq!(&sum[..64], hash.as_bytes(), "{path}");
        let shown = files.disclosed("dora", "show 1 --why audit").out;
        assert!(shown.contains(hash), "{shown}");
    }
    let calls = csv(&out.join("calls.csv"));
    let call = calls.iter().find(|row| row["outcome"] == "completed").unwrap();
    let told = [
        ("found_by", "calling session"),
        ("calling_user", "+420221111111"),
        ("dialled_user", "+420602222222"),
        ("routed_to", "voicemail"),
        ("begin", "2026-11-21T03:00:00.000000+01:00"),
        ("end", "2026-11-21T03:01:05.500000+01:00"),
        ("service", "sip"),
        ("media", "PCMA"),
        ("caller_address", "192.0.2.1:5060"),
        ("caller_media", "192.0.2.1:4000"),
        ("caller_subscriber", "bob"),
        ("caller_station", "02-00-5E-10-00-01"),
        ("caller_line", "192.0.2.1 port 7"),
        ("caller_held", "192.0.2.1 from 2026-11-21T03:00:00.000000+01:00"),
        ("callee_subscriber", ""),
    ];
    for (column, text) in told {
        assert_eq!(call[column], text, "{column}");
    }
    // An attempt that failed, found by where bob was.
    let attempt = calls.iter().find(|row| row["outcome"] == "failed").unwrap();
    assert_eq!((attempt["found_by"].as_str(), attempt["final_code"].as_str()), ("session", "486"));
    assert_eq!(csv(&out.join("accesses.csv"))[0]["user"], "bob");
    files.not_disclosed("ana", &answer, "exists: name a directory that does not");
    files.not_disclosed("ana", "refuse 1 --reason deleted gone", "was answered or refused");

    let acts = files.done("dora", "acts --why audit --request 1 --format jsonl", &[OWN]).out;
    let kinds: Vec<Value> = lines(&acts).iter().map(|act| act["act"].clone()).collect();
    let done: Vec<&Value> = kinds.iter().filter(|kind| **kind != "look").collect();
    // The search that found too much is an act as well.
    assert_eq!(
        done,
        ["request-enter", "request-approve", "request-search", "request-search", "request-answer"]
    );
    assert!(!acts.contains("420221111111") && !acts.contains("bob"), "{acts}");
    let verified = files.done("dora", "verify --why audit", &[OWN]);
    assert!(verified.out.contains("none changed, none missing"), "{verified:?}");
}

#[test]
fn figures_of_answers_refusals_and_what_waits() {
    let files = Files::with_people();
    let store = database(files.folder.path());
    let out = files.folder.path().join("answer");
    let answer =
        |number: u32| format!("answer {number} --store {} --out {}-{number}", store.display(), out.display());
    approved(&files, REQUEST);
    files.disclosed("ana", &answer(1));
    let nobody = REQUEST.replace("['number:+420221111111', 'user~:bob']", "['number:+441600000000']");
    approved(&files, &nobody);
    let none = files.disclosed("ben", &answer(2));
    assert!(none.out.contains("0 calls, 0 sessions"), "{none:?}");
    assert_eq!(
        fs::read_to_string(files.folder.path().join("answer-2/calls.csv")).unwrap().lines().count(),
        1
    );
    let path = file(files.folder.path(), "request.toml", REQUEST.as_bytes());
    files.disclosed("ana", &format!("enter {}", path.display()));
    files.not_disclosed("ana", "refuse 3 --reason nonsense x", "a reason is one of");
    files.disclosed("ana", "refuse 3 --reason no-legal-basis 'names another operator'");
    files.disclosed("ana", "note 3 'by letter'");
    let old = REQUEST.replace("2026-11-22 09:30", "2025-12-31 12:00").replace("2026-11-2", "2025-11-2");
    file(files.folder.path(), "request.toml", old.as_bytes());
    files.disclosed("ben", &format!("enter {}", path.display()));

    let listed = lines(&files.disclosed("dora", "list --why audit --format jsonl").out);
    let statuses: Vec<&Value> = listed.iter().map(|request| &request["status"]).collect();
    assert_eq!(statuses, ["answered", "no-data", "refused", "received"]);
    let open = files.disclosed("dora", "list --why audit --open").out;
    assert!(open.contains("1 request\n"), "{open}");

    let figures = lines(&files.disclosed("dora", "statistics --why report --format jsonl").out);
    let periods: Vec<&Value> = figures.iter().map(|period| &period["period"]).collect();
    assert_eq!(periods, ["2025", "2026"]);
    assert_eq!((&figures[0]["received"], &figures[0]["waiting"]), (&1.into(), &1.into()));
    let year = &figures[1];
    for (name, count) in [("received", 3), ("answered", 1), ("no_data", 1), ("waiting", 0), ("calls", 2)] {
        assert_eq!(year[name], count, "{name}");
    }
    assert_eq!(year["refused"], serde_json::json!({ "no-legal-basis": 1 }));
    // From 02:00 to 09:30 of the next day.
    assert_eq!(year["age"]["median_us"], 31_u64 * 3_600_000_000 + 1_800_000_000);
    let whole = files.disclosed("ana", "statistics --why report --whole --format csv").out;
    let mut reader = csv::Reader::from_reader(whole.as_bytes());
    let rows: Vec<Row> = reader.deserialize().map(|row| row.unwrap()).collect();
    assert_eq!((rows.len(), rows[0]["period"].as_str(), rows[0]["received"].as_str()), (1, "all", "4"));
    assert_eq!((rows[0]["age_most_days"].as_str(), rows[0]["requests_month_0"].as_str()), ("1.312", "1"));
    assert_eq!(rows[0]["refused_no_legal_basis"], "1");
    let some = files.disclosed("dora", "statistics --why report --from 2026-01-01 --to 2026-12-01").out;
    assert!(some.contains("no-legal-basis 1") && some.contains("1.3 to 1.3 days"), "{some}");
    let text = [whole, some, figures[1].to_string()].concat();
    for hidden in ["C-18", "Police", "420221111111", "bob", "another operator"] {
        assert!(!text.contains(hidden), "{hidden}");
    }
    let empty = files.disclosed("dora", "statistics --why report --to 2020-01-01").out;
    assert!(empty.contains("no request was received in that time"), "{empty}");
    let acts = files.done("dora", "acts --why audit --format jsonl", &[OWN]).out;
    let looks = lines(&acts).iter().filter(|act| act["detail"] == "statistics: report").count();
    assert_eq!(looks, 4);
}

#[test]
fn what_is_refused_says_what_is_right_and_names_no_subject() {
    let files = Files::with_people();
    for (from, to, problem) in [
        ("'user~:bob'", "'bobzebra'", "begin with what it is about"),
        ("'user~:bob'", "'address:203.0.113.7:0'", "1 to 65535"),
        ("case =", "casse =", "unknown field `casse`"),
        ("until = '2026-11-22'", "", "`until` is missing"),
        ("until = '2026-11-22'", "until = '2026-11-20'", "ends after it begins"),
        ("until = '2026-11-22'", "until = '2100-01-01'", "only what is past is retained"),
        ("until = '2026-11-22'", "until = 'zebra'", "`until`: write it as"),
        ("'telephony'", "'mail'", "`telephony` or `internet-access`"),
        ("['telephony', 'internet-access']", "[]", "`telephony`, `internet-access`, or both"),
        ("['number", "'number', [", "request.toml:8: write each key once"),
        ("received = '2026-11-22 09:30'", "received = '2100-01-01'", "not later than now"),
    ] {
        let text = REQUEST.replace(from, to);
        assert_ne!(text, REQUEST);
        let path = file(files.folder.path(), "request.toml", text.as_bytes());
        let refused = files.not_disclosed("ana", &format!("enter {}", path.display()), problem);
        assert!(!refused.err.contains("bob") && !refused.err.contains("420221111111"), "{refused:?}");
    }
    files.not_disclosed("ana", "enter request.toml --case C-1", "a file or options, not both");
    files.not_disclosed("ana", "show 7 --why look", "no request of that number");
    let number = approved(&files, REQUEST);
    let out = files.folder.path().join("answer");
    let nowhere = format!("answer {number} --store /nonexistent --out {}", out.display());
    files.not_disclosed("ana", &nowhere, "/nonexistent");
    assert!(!out.exists());
}

/// Files of a directory by their names, with their hashes.
fn hashes(dir: &Path) -> BTreeMap<String, String> {
    let Ok(entries) = fs::read_dir(dir) else { return BTreeMap::new() };
    let hash = |path: &Path| {
        let sum = Command::new("sha256sum").arg(path).output().unwrap().stdout;
        String::from_utf8(sum).unwrap()[..64].to_owned()
    };
    let paths = entries.map(|entry| entry.unwrap().path());
    paths.map(|path| (path.file_name().unwrap().to_str().unwrap().to_owned(), hash(&path))).collect()
}

#[test]
fn a_kill_at_any_time_leaves_no_file_without_an_act_and_no_act_without_its_files() {
    let files = Files::with_people();
    let store = database(files.folder.path());
    let number = approved(&files, REQUEST);
    let answer = |place: usize| {
        let out = files.folder.path().join(format!("answer-{place}"));
        (format!("answer {number} --store {} --out {}", store.display(), out.display()), out)
    };
    let begin = Instant::now();
    files.disclosed("ana", &answer(0).0);
    let (whole, steps) = (begin.elapsed(), 24_u32);
    let (mut killed, mut count) = (0, 1);
    for step in 1..=steps {
        let (command, out) = answer(step as usize);
        let mut child = files.started("disclosure", "ana", &command, &[OWN]);
        std::thread::sleep(whole * step / steps);
        child.kill().unwrap();
        killed += usize::from(child.wait().unwrap().code().is_none());
        let shown = files.disclosed("dora", &format!("show {number} --why audit --format jsonl")).out;
        let answers = lines(&shown)[0]["answers"].as_array().unwrap().clone();
        let left = hashes(&out);
        let recorded: BTreeMap<String, String> = answers
            .iter()
            .flat_map(|given| given["answer"]["files"].as_array().unwrap())
            .map(|file| {
                (file["name"].as_str().unwrap().to_owned(), file["sha256"].as_str().unwrap().to_owned())
            })
            .collect();
        // All answers are of the same data, so they have the same hashes.
        assert_eq!(recorded.len(), 3);
        if answers.len() == count {
            // Nothing was recorded, so nothing has a name.
            assert!(left.keys().all(|name| name.ends_with(".part")), "{left:?} at {step}");
            continue;
        }
        count = answers.len();
        for (name, hash) in &recorded {
            let found = left.get(name).or_else(|| left.get(&format!("{name}.part")));
            assert_eq!(found, Some(hash), "{name} at {step}");
        }
    }
    assert!(killed >= 2, "{killed} of {steps} were killed on their way");
    let verified = files.done("dora", "verify --why audit", &[OWN]);
    assert!(verified.out.contains("none changed, none missing"), "{verified:?}");
    files.disclosed("ana", &answer(steps as usize + 1).0);
}

/// What tshark knows of the first INVITE of a call.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Invite {
    micros: u64,
    users: [String; 3],
    ends: [String; 2],
}

fn tshark(path: &Path, filter: &str, fields: &[&str]) -> Vec<Vec<String>> {
    let mut program = Command::new("tshark");
    program.arg("-r").arg(path).args(["-Y", filter, "-T", "fields", "-E", "occurrence=f"]);
    program.args(fields.iter().flat_map(|field| ["-e", field]));
    let output = program.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).unwrap();
    text.lines().map(|line| line.split('\t').map(str::to_owned).collect()).collect()
}

/// The first INVITE of each Call-ID.
fn invites(path: &Path) -> BTreeMap<String, Invite> {
    let fields = [
        "sip.Call-ID",
        "frame.time_epoch",
        "sip.from.user",
        "sip.to.user",
        "sip.r-uri.user",
        "ip.src",
        "ip.dst",
        "udp.srcport",
        "udp.dstport",
        "tcp.srcport",
        "tcp.dstport",
    ];
    let mut first = BTreeMap::new();
    for line in tshark(path, "sip.Method == \"INVITE\"", &fields) {
        let [id, time, from, to, ruri, src, dst, ports @ ..] = &line[..] else { panic!("{line:?}") };
        let (seconds, fraction) = time.split_once('.').unwrap();
        let micros = seconds.parse::<u64>().unwrap() * 1_000_000 + fraction[..6].parse::<u64>().unwrap();
        let end = |address: &str, place: usize| {
            let port = if ports[place].is_empty() { &ports[place + 2] } else { &ports[place] };
            format!("{address}:{port}")
        };
        let (users, ends) = ([from.clone(), to.clone(), ruri.clone()], [end(src, 0), end(dst, 1)]);
        first.entry(id.clone()).or_insert(Invite { micros, users, ends });
    }
    first
}

/// Numbers that REFERs of a call name, by tshark.
fn referred_to(path: &Path) -> BTreeMap<String, BTreeSet<String>> {
    let mut referred: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for line in tshark(path, "sip.Method == \"REFER\" and sip.Refer-To", &["sip.Call-ID", "sip.Refer-To"]) {
        let uri = line[1].split("sip:").nth(1).unwrap();
        referred.entry(line[0].clone()).or_default().insert(uri.split('@').next().unwrap().to_owned());
    }
    referred
}

#[test]
fn calls_of_captures_that_others_made_are_those_that_tshark_sees() {
    let Some(shared) = ringtap_testing::shared() else { return };
    if !ringtap_testing::program("tshark") {
        return;
    }
    let files = Files::with_people();
    let (mut transfers, mut failures, mut answered) = (0, 0, 0);
    for (number, name) in [
        "sip-outcomes/david-Presmerovanie.pcapng",
        "sip-outcomes/marek-hovor-presmerovanie.pcapng",
        "sip-outcomes/kesuera-invite_486_busy.pcap",
        "sip-outcomes/marek-hovor-nedostupny.pcapng",
        "sip-transfer/kesuera-redirect_call.pcap",
        "sip-transfer/russo-sip_refer_transfer.pcapng",
        "sip-basic/wiki-g711-SIP_CALL_RTP_G711.pcap",
    ]
    .into_iter()
    .enumerate()
    {
        let path = shared.join("captures").join(name);
        let store = files.folder.path().join(format!("records-{number}"));
        let analyzed = run(["analyze", "--store", store.to_str().unwrap(), path.to_str().unwrap()]);
        assert!(matches!(analyzed.status, 0 | 3), "{name}: {analyzed:?}");
        let records = run(["calls", "--store", store.to_str().unwrap(), "--format", "jsonl"]).out;
        let records: Vec<Call> = records.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        let invites = invites(&path);
        let referred = referred_to(&path);
        // Everything from and to the address that sent the first INVITE.
        let host = invites.values().min().unwrap().ends[0].rsplit_once(':').unwrap().0.to_owned();
        let expected: BTreeSet<&Invite> = invites
            .values()
            .filter(|invite| invite.ends.iter().any(|end| end.starts_with(&format!("{host}:"))))
            .collect();
        let request = REQUEST
            .replace("2026-11-21", "2000-01-01")
            .replace("['telephony', 'internet-access']", "['telephony']")
            .replace("['number:+420221111111', 'user~:bob']", &format!("['address:{host}']"));
        let request_number = approved(&files, &request);
        let out = files.folder.path().join(format!("out-{number}"));
        let answer = format!("answer {request_number} --store {} --out {}", store.display(), out.display());
        files.disclosed("ana", &answer);
        let rows = csv(&out.join("calls.csv"));
        let of_row = |row: &Row| {
            let moment: ringtap_report::time::Moment = row["begin"].parse().unwrap();
            Invite {
                micros: moment.instant().micros(),
                users: ["calling_user", "called_user", "dialled_user"].map(|name| row[name].clone()),
                ends: ["caller_address", "callee_address"].map(|name| row[name].clone()),
            }
        };
        let own: Vec<Invite> = rows.iter().map(of_row).collect();
        assert_eq!(own.iter().collect::<BTreeSet<_>>(), expected, "{name}");
        assert_eq!(own.len(), expected.len(), "{name}: each once");
        for row in &rows {
            let record = records.iter().find(|call| call.id.to_string() == row["id"]).unwrap();
            assert_eq!(row["final_code"], record.final_code.to_string(), "{name}");
            assert_eq!(row["routed_to"], record.diverted_to.join(" "), "{name}");
            for number in referred.get(&record.call_id).into_iter().flatten() {
                assert!(row["routed_to"].split(' ').any(|to| to == number), "{name}: {number} in {row:?}");
                transfers += 1;
            }
            failures += usize::from(row["outcome"] == "failed");
            answered += usize::from(!row["answer"].is_empty());
        }
    }
    assert!(transfers >= 4 && failures >= 2 && answered >= 4, "{transfers} {failures} {answered}");
}

#[test]
fn sessions_of_a_capture_that_others_made_are_those_of_its_packets() {
    let Some(shared) = ringtap_testing::shared() else { return };
    if !ringtap_testing::program("tshark") {
        return;
    }
    let files = Files::with_people();
    let mut seen = 0;
    for (number, name) in
        ["radius/arkime-radius.pcap", "radius/russo-eth_pppoe_bng.pcapng"].into_iter().enumerate()
    {
        let path = shared.join("captures").join(name);
        let filter = "radius.code == 4 and radius.Framed-IP-Address and radius.User_Name";
        let fields = ["radius.User_Name", "radius.Framed-IP-Address", "radius.Calling_Station_Id"];
        let packets: BTreeSet<Vec<String>> = tshark(&path, filter, &fields).into_iter().collect();
        let found = run(["identity", path.to_str().unwrap(), "--format", "jsonl"]).out;
        let sessions: Vec<Identity> = found.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        let store = files.folder.path().join(format!("records-{number}"));
        let mut writer = ImportWriter::open(&store).unwrap();
        sessions.iter().for_each(|session| writer.identity(session).unwrap());
        writer.close().unwrap();
        for packet in packets {
            let [user, address, station] = &packet[..] else { panic!("{packet:?}") };
            let request = REQUEST
                .replace("2026-11-21", "2000-01-01")
                .replace("['telephony', 'internet-access']", "['internet-access']")
                .replace("['number:+420221111111', 'user~:bob']", &format!("['address:{address}']"));
            let request_number = approved(&files, &request);
            let out = files.folder.path().join(format!("out-{request_number}"));
            let answer =
                format!("answer {request_number} --store {} --out {}", store.display(), out.display());
            files.disclosed("ana", &answer);
            let rows = csv(&out.join("accesses.csv"));
            let is_there =
                |row: &Row| row["user"] == *user && row["address"] == *address && row["station"] == *station;
            assert!(rows.iter().any(is_there), "{name}: {packet:?} in {rows:?}");
            assert!(rows.iter().all(|row| row["address"] == *address || row["found_by"] == "address"));
            seen += 1;
        }
    }
    assert!(seen >= 1, "the captures have a session with an address");
}
