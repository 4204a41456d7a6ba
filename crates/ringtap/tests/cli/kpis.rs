//! KPIs of generated traffic, against a second implementation in Python.

use std::path::Path;
use std::process::Command;

use crate::run::{Run, file, run};

/// Two trunks among the generator's addresses, one inside the other; half of the addresses are in neither.
const CONFIG: &str = "\
[capture]
interfaces = [\"eth0\"]
[kpi]
timezone = \"Europe/Berlin\"
[[trunk]]
name = \"carrier\"
addresses = [\"192.0.2.0/25\", \"2001:db8::/32\"]
[[trunk]]
name = \"gateway\"
addresses = [\"192.0.2.0/28\"]
";

fn second(records: &Path, kpis: &Path, more: &[&str]) -> Run {
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/../kpi/tests/second.py");
    let mut command = Command::new("python3");
    command.args(["-B", script]).args([records, kpis]).args(more);
    command.output().expect("python3 starts").into()
}

/// Calls with every outcome, codecs, phones that call again, and registrations, over a change of the hour.
#[test]
fn every_figure_equals_a_second_implementation() {
    if !ringtap_testing::program("python3") {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let path = |name: &str| dir.path().join(name).display().to_string();
    let (capture, records) = (path("calls.pcap"), path("records"));
    let options = "--calls 600 --rate 1.5 --hold-distribution exponential:4 --impair all --failed 30% \
        --cancelled 10% --rtcp 30% --ipv6 10% --registrations 100 --codec PCMA=50,G729=30,opus=20 \
        --start 2026-10-24T21:55:00Z";
    let generated = run(["generate", "--out", &capture].into_iter().chain(options.split_whitespace()));
    assert_eq!(generated.status, 0, "{}", generated.err);
    let config = file(dir.path(), "ringtap.toml", CONFIG.as_bytes()).display().to_string();
    let analyzed = run(["analyze", "--format", "jsonl", "--config", &config, &capture]);
    assert_eq!(analyzed.status, 0, "{}", analyzed.err);
    file(dir.path(), "records", analyzed.out.as_bytes());
    for options in [
        "",
        "--by trunk",
        "--by direction --per hour",
        "--by codec",
        "--by device --per day",
        "--by prefix --per minute",
        "--by code --legs",
    ] {
        let common = ["kpis", &capture, "--format", "jsonl", "--config", &config];
        let kpis = run(common.into_iter().chain(options.split_whitespace()));
        assert_eq!(kpis.status, 0, "{options}: {}", kpis.err);
        let found = file(dir.path(), "kpis", kpis.out.as_bytes());
        let own: Vec<&str> =
            options.split_whitespace().skip_while(|word| !word.starts_with("--per")).collect();
        let legs = if options.contains("--legs") { &["--legs"][..] } else { &[] };
        let more: Vec<&str> =
            ["--zone", "Europe/Berlin"].into_iter().chain(own).chain(legs.iter().copied()).collect();
        let compared = second(Path::new(&records), &found, &more);
        assert_eq!(compared.status, 0, "{options}: {}{}", compared.out, compared.err);
        assert!(compared.out.contains(" 0 wrong"), "{}", compared.out);
    }
    stored(dir.path(), &capture, &config);
    // It can tell right from wrong.
    let kpis = run(["kpis", &capture, "--format", "jsonl", "--config", &config]);
    let changed = kpis.out.replacen("\"answered\":{", "\"answered\":{\"of\":1,\"value\":1},\"x\":{", 1);
    let wrong = second(Path::new(&records), &file(dir.path(), "kpis", changed.as_bytes()), &[]);
    assert_eq!(wrong.status, 1, "{}", wrong.out);
}

/// The same figures from the database: at once after an import, from stored rollups, and after a late import.
fn stored(dir: &Path, capture: &str, config: &str) {
    let store = dir.join("store").display().to_string();
    let import = |more: &[&str]| {
        let common = ["analyze", "--store", &store, "--format", "jsonl", "--config", config, capture];
        let imported = run(common.iter().chain(more));
        assert_eq!(imported.status, 0, "{}", imported.err);
    };
    for by in ["trunk", "device"] {
        let options = ["--by", by, "--per", "hour", "--format", "jsonl", "--config", config];
        let of_file = run(["kpis", capture].iter().chain(&options)).out;
        // First a part of the calls, so that rollups of that part are stored.
        if by == "trunk" {
            import(&["--state", "failed"]);
            let part = run(["kpis", "--store", &store].iter().chain(&options));
            assert_eq!(part.status, 0, "{}", part.err);
            assert_ne!(part.out, of_file);
            import(&[]);
        }
        for _ in 0..2 {
            let of_store = run(["kpis", "--store", &store].iter().chain(&options));
            assert_eq!(of_store.out, of_file, "{}", of_store.err);
        }
    }
}

#[test]
fn tables_say_what_they_count() {
    let dir = tempfile::tempdir().unwrap();
    let capture = dir.path().join("calls.pcap").display().to_string();
    let generate = ["generate", "--calls", "40", "--rate", "4", "--hold", "2", "--out", &capture];
    assert_eq!(run(generate).status, 0);
    let shown = run(["kpis", &capture, "--by", "code"]);
    assert_eq!(shown.status, 0, "{}", shown.err);
    for part in
        ["conversations; 1 capture file read", "all calls", "ATTEMPTS", "200", "E.425: (answered, 480"]
    {
        assert!(shown.out.contains(part), "{part} is not in\n{}", shown.out);
    }
    let csv = run(["kpis", &capture, "--per", "minute", "--format", "csv"]);
    let lines: Vec<&str> = csv.out.lines().collect();
    assert!(lines[0].starts_with("by,name,from,from_us,to_us,capture_loss_marked,attempts,attempts_of,"));
    assert!(lines.len() >= 2 && lines[1].starts_with("total,all calls,2026-01-01 08:00,"), "{}", csv.out);
    let none = run(["kpis", &capture, "--until", "2026-01-01"]);
    assert!(none.status == 0 && none.out.contains("no call began in that time"), "{}", none.out);
}
