//! The search language on the command line: of a file, of the database made of it, and mistakes in it.

use crate::found::{done, lines, stored, text};
use crate::run::{ringtap, run};

#[test]
fn a_search_finds_the_same_calls_in_a_file_and_in_its_database() {
    let (_folder, path, store) = stored();
    let cases: [(&str, &[&str], usize); 12] = [
        ("", &[], 2),
        ("0138", &[], 1),
        ("number:+44*", &[], 2),
        ("code:4xx or stream(codec:PCMA loss>1)", &[], 2),
        ("-state:failed", &[], 1),
        ("dur:10s..1m codec:G.711 net:192.0.2.0/24", &[], 1),
        ("at:\"2026-11-21 02:01:05\"", &[], 1),
        ("ua:yealink", &["--code", "4xx"], 1),
        ("loss>1", &["--number", "*0139"], 1),
        ("loss>3", &[], 0),
        ("(to:+442079460139)", &["--until", "2026-11-21 02:00:30"], 0),
        ("number:*", &["--newest", "1"], 1),
    ];
    for (query, filters, count) in cases {
        let found = |format: &str, of_file: bool| {
            let mut options = [&["calls", "--format", format], filters].concat();
            if !of_file {
                options.extend(["--store", text(&store)]);
            }
            // What begins with `-` would be an option otherwise.
            options.extend(["--", query]);
            if of_file {
                options.push(text(&path));
            }
            done(run(options))
        };
        let of_file = found("jsonl", true);
        assert_eq!(lines(&of_file).len(), count, "{query} {filters:?}: {of_file}");
        assert_eq!(of_file, found("jsonl", false), "{query} {filters:?}");
        assert_eq!(found("csv", true), found("csv", false), "{query} {filters:?}");
        let (of_file, of_store) = (found("table", true), found("table", false));
        let of_file = of_file.replace("2 calls searched", "1 day searched");
        // The times of this search leave out the day.
        let of_store = of_store.replace("0 days searched", "1 day searched");
        assert_eq!(of_file, of_store, "{query} {filters:?}");
    }
    let newest = done(run(["calls", "number:*", "--newest", "1", "--store", text(&store)]));
    assert!(newest.contains("02:01:00") && !newest.contains("02:00:00"), "{newest}");
}

#[test]
fn more_calls_than_the_limit_are_told_of_and_so_is_a_time_without_records() {
    let (_folder, path, store) = stored();
    for rest in [&["--store", text(&store)][..], &[text(&path)]] {
        let cut = run([&["calls", "ua:yealink", "--limit", "1", "--format", "csv"], rest].concat());
        assert_eq!((cut.status, cut.out.lines().count()), (0, 2), "{cut:?}");
        assert!(cut.err.contains("more calls match than the 1 call shown"), "{cut:?}");
    }
    let nothing = run(["calls", "at:\"2020-01-01 15:00\"", "--store", text(&store)]);
    assert!(nothing.status == 0 && nothing.err.contains("no day was searched"), "{nothing:?}");
}

/// The same calls from the database and from captures; what is in a file is tested where it is written.
#[test]
fn lists_are_written_as_parquet() {
    let (_folder, path, store) = stored();
    for command in ["calls", "streams"] {
        let [of_file, of_store] = [&[text(&path)][..], &["--store", text(&store)]].map(|rest| {
            let done = ringtap().args([command, "--format", "parquet"]).args(rest).output().unwrap();
            assert!(done.status.success(), "{done:?}");
            done.stdout
        });
        assert!(of_file.starts_with(b"PAR1") && of_file.ends_with(b"PAR1"), "{command}");
        assert!(of_store.starts_with(b"PAR1") && of_store.ends_with(b"PAR1"), "{command}");
        // A file has streams as they end, the database as they began.
        assert!(command == "streams" || of_file == of_store, "{command}");
    }
    let order = run(["calls", "--format", "parquet", "--sort", "mos", "--store", text(&store)]);
    assert!(order.status == 2 && order.err.contains("table alone"), "{order:?}");
}

#[test]
fn a_mistake_is_pointed_at() {
    let (_folder, path, store) = stored();
    for rest in [&["--store", text(&store)][..], &[text(&path)]] {
        for command in ["calls", "why"] {
            let wrong = run([&[command, "mos<3 state:failled"], rest].concat());
            assert_eq!((wrong.status, wrong.out.as_str()), (2, ""), "{wrong:?}");
            let lines: Vec<&str> = wrong.err.lines().collect();
            assert_eq!(lines[1], "  mos<3 state:failled", "{wrong:?}");
            assert_eq!(lines[2], "              ^^^^^^^", "{wrong:?}");
            assert!(lines[0].starts_with("ringtap: the search cannot be read: "), "{wrong:?}");
            assert!(lines[3].contains("failed"), "{wrong:?}");
        }
    }
    let torn = run(["calls", "mos<3", "state:failed"]);
    assert!(torn.status == 2 && torn.err.contains("'mos<3 state:failed'"), "{torn:?}");
    let live = run(["calls", "--live", "mos<3", text(&path)]);
    assert!(live.status == 2 && live.err.contains("--live"), "{live:?}");
}

/// Calls are marked by a search as they are by filters.
#[test]
fn why_takes_the_search_language() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).display().to_string();
    let generate = |name: &str, options: &str| {
        let out = path(name);
        let common = ["generate", "--hold-distribution", "exponential:4", "--out", &out];
        let generated = run(common.into_iter().chain(options.split_whitespace()));
        assert_eq!(generated.status, 0, "{}", generated.err);
        out
    };
    let good = generate("good.pcap", "--calls 100 --rate 5 --codec PCMA=70,opus=25,G729=5 --seed 1");
    let bad = generate("bad.pcap", "--calls 30 --rate 1 --codec G729 --loss bernoulli:6% --seed 2");
    let by_filter = done(run(["why", "--loss-above", "3", "--format", "jsonl", &good, &bad]));
    let by_search = done(run(["why", "loss>3", "--format", "jsonl", &good, &bad]));
    assert_eq!(by_search, by_filter);
    assert!(by_search.contains("\"q\":\"codec:G729\""), "{by_search}");
    let store = path("store");
    done(run(["analyze", "--store", &store, &good, &bad]));
    assert_eq!(done(run(["why", "loss>3", "--format", "jsonl", "--store", &store])), by_search);
    let unmarked = run(["why", "began:yesterday", "--store", &store]);
    assert!(unmarked.status == 2 && unmarked.err.contains("say which calls are marked"), "{unmarked:?}");
}
