//! A call from the wire to every kind of output.

use std::fs;
use std::path::{Path, PathBuf};

use ringtap_capture::Capture;
use serde_json::Value;
use tempfile::TempDir;

use crate::built::{Built, CALL_ID, call, others};
use crate::run::{Run, run};

/// One call, another, a stream without signalling: a folder, the capture in it, and its number of frames of
/// the call.
fn built() -> (TempDir, PathBuf, usize) {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("in.pcap");
    let mut built = Built::default();
    call(&mut built);
    let own = built.count();
    others(&mut built);
    built.write(&path);
    (folder, path, own)
}

fn done(run: Run) -> String {
    assert_eq!((run.status, run.err.as_str()), (0, ""), "{run:?}");
    run.out
}

fn text(path: &Path) -> &str {
    path.to_str().expect("UTF-8")
}

fn records(text: &str) -> Vec<Value> {
    text.lines().map(|line| serde_json::from_str(line).expect("one object a line")).collect()
}

#[test]
fn the_table_tells_it_to_people() {
    let (_folder, path, _) = built();
    let out = done(run(["analyze", text(&path)]));
    let row = out.lines().find(|line| line.contains("4f2a19c0")).expect("the call");
    for field in ["02:00:00", "221", "602", "completed", "200", "10.1 s", "->", "PCMA", "2.00 %"] {
        assert!(row.contains(field), "{field} in {row}");
    }
    assert!(out.contains("Streams without signalling") && out.contains("192.0.2.7:8000"), "{out}");
    assert!(out.contains("Calls          2: 1 completed, 1 failed"), "{out}");
    assert!(
        out.contains("ASR            50.0 %, 1 of 2") && out.contains("NER            100.0 %, 2 of 2"),
        "{out}"
    );
    assert!(!out.contains('\x1b'));
    let coloured = done(run(["analyze", "--color", "always", text(&path)]));
    assert!(coloured.contains("\x1b[32mcompleted"), "{coloured}");
}

#[test]
fn threads_give_the_same_records() {
    let (_folder, path, _) = built();
    let bytes =
        |workers: &str| done(run(["analyze", "--workers", workers, "--format", "jsonl", text(&path)]));
    // Which worker has what depends on a seed that is another each time; what is printed does not.
    let one = bytes("1");
    assert!(one.lines().count() > 4, "{one}");
    for workers in ["2", "2", "3", "5"] {
        assert_eq!(bytes(workers), one, "{workers} workers");
    }
    let table = |workers: &str| done(run(["analyze", "--workers", workers, text(&path)]));
    assert_eq!(table("3"), table("1"));
}

/// Calls that end in all ticks, in batches large and small.
#[test]
fn threads_give_the_same_records_in_the_same_order() {
    let folder = tempfile::tempdir().expect("a directory");
    let path = folder.path().join("many.pcap");
    let generate = ["generate", "--calls", "400", "--rate", "60", "--hold-distribution", "lognormal:3,1"];
    let more = ["--registrations", "50", "--loss", "bernoulli:1%", "--out", text(&path)];
    assert_eq!(run(generate.into_iter().chain(more)).status, 0);
    let all = |workers: &str| done(run(["analyze", "--workers", workers, "--format", "jsonl", text(&path)]));
    let one = all("1");
    assert!(one.lines().count() > 1000, "{}", one.lines().count());
    for workers in ["2", "3", "8"] {
        assert!(all(workers) == one, "{workers} workers print something else than one");
    }
    assert!(
        done(run(["analyze", "--format", "jsonl", text(&path)])) == one,
        "with as many as there are cores"
    );
}

#[test]
fn json_lines_are_the_records() {
    let (_folder, path, _) = built();
    let records = records(&done(run(["analyze", "--format", "jsonl", text(&path)])));
    let kinds: Vec<_> = records.iter().map(|record| record["type"].as_str().expect("a type")).collect();
    assert_eq!(kinds.iter().filter(|kind| **kind == "call").count(), 2);
    assert_eq!(kinds.iter().filter(|kind| **kind == "stream").count(), 3);
    let place = records.iter().position(|record| record["call_id"] == CALL_ID && record["type"] == "call");
    let [call, first, second] = &records[place.expect("the call")..][..3] else { panic!("{kinds:?}") };
    assert_eq!((&call["state"], &call["released_by"]), (&"completed".into(), &"caller".into()));
    assert_eq!((&call["messages"], &call["retransmissions"]), (&8.into(), &1.into()));
    assert_eq!((&call["pdd_ms"], &call["duration_ms"]), (&900.0.into(), &10_100.0.into()));
    assert_eq!(call["streams"], Value::from(vec![first["id"].clone(), second["id"].clone()]));
    assert_eq!((&first["direction"], &first["lost"]), (&"caller_to_callee".into(), &10.into()));
    assert_eq!((&second["direction"], &second["lost"]), (&"callee_to_caller".into(), &0.into()));
}

#[test]
fn csv_has_the_same_figures() {
    let (_folder, path, _) = built();
    let rows = |kind: &str| {
        let out = done(run(["analyze", "--csv", kind, text(&path)]));
        let mut reader = csv::Reader::from_reader(out.as_bytes());
        let headers = reader.headers().expect("a header").clone();
        (headers, reader.records().collect::<Result<Vec<_>, _>>().expect("rows"))
    };
    let (headers, calls) = rows("calls");
    assert_eq!((&headers[1], calls.len()), ("call_id", 2));
    let state = headers.iter().position(|name| name == "state").expect("a column for the state");
    assert!(calls.iter().any(|row| &row[1] == CALL_ID && &row[state] == "completed"));
    let (_, streams) = rows("streams");
    assert_eq!(streams.len(), 3);
    let (_, intervals) = rows("intervals");
    assert_eq!(intervals.len(), 3, "no stream is longer than 10 s");
    assert_eq!(rows("registrations").1.len(), 0);
}

/// What a sender chooses for a cell is text in every CSV, of files and of the store.
#[test]
fn no_cell_of_a_csv_is_a_formula() {
    let folder = tempfile::tempdir().expect("a folder");
    let (path, store) = (folder.path().join("in.pcap"), folder.path().join("store"));
    let mut built = Built::default();
    let call_ids = ["=cmd|'/C calc'!A0", "@SUM(1)", "-2+3", "+4930123", "plain"];
    for (index, call_id) in call_ids.iter().enumerate() {
        let at = 100 * index as u64;
        let message = |start: &str| {
            format!(
                "{start}\r\nVia: SIP/2.0/UDP 192.0.2.1;branch=z9hG4bK{index}\r\n\
                 From: <sip:+4930@192.0.2.1>;tag=a\r\nTo: <sip:=1+1@192.0.2.2>\r\nCall-ID: {call_id}\r\n\
                 CSeq: 1 INVITE\r\nUser-Agent: =HYPERLINK(\"http://192.0.2.9\")\r\nContent-Length: 0\r\n\r\n"
            )
        };
        built.sip(at, true, &message("INVITE sip:=1+1@192.0.2.2 SIP/2.0"));
        built.sip(at + 10, false, &message("SIP/2.0 486 =2+2"));
    }
    built.write(&path);
    done(run(["analyze", "--store", text(&store), text(&path)]));
    for arguments in [
        vec!["analyze", "--csv", "calls", text(&path)],
        vec!["calls", "--store", text(&store), "--format", "csv"],
    ] {
        let out = done(run(arguments));
        let mut reader = csv::Reader::from_reader(out.as_bytes());
        let rows: Vec<_> = reader.records().collect::<Result<_, _>>().expect("rows");
        let mut found: Vec<&str> = rows.iter().map(|row| &row[1]).collect();
        found.sort_unstable();
        assert_eq!(found, ["'-2+3", "'=cmd|'/C calc'!A0", "'@SUM(1)", "+4930123", "plain"], "{out}");
        let cells = || rows.iter().flatten();
        let live = |cell: &&str| cell.starts_with(['=', '@', '-', '+']) && cell.parse::<f64>().is_err();
        assert_eq!(cells().find(live), None, "{out}");
        for harmless in ["'=1+1", "'=2+2", "+4930", "'=HYPERLINK(\"http://192.0.2.9\")"] {
            assert!(cells().any(|cell| cell == harmless), "{harmless}: {out}");
        }
    }
}

#[test]
fn filters_choose_calls() {
    let (_folder, path, _) = built();
    let chosen = |filter: &[&str]| {
        let out = done(run([&["analyze", "--format", "jsonl"], filter, &[text(&path)]].concat()));
        let records = records(&out);
        let calls = records.iter().filter(|record| record["type"] == "call");
        let loose =
            records.iter().filter(|record| record["type"] == "stream" && record["call"].is_null()).count();
        (calls.map(|call| call["from_user"].as_str().expect("a user").to_string()).collect::<Vec<_>>(), loose)
    };
    assert_eq!(chosen(&["--from", "221"]), (vec!["221".to_string()], 0));
    assert_eq!(chosen(&["--number", "22*"]), (vec!["221".to_string()], 0));
    assert_eq!(chosen(&["--state", "failed,timeout"]), (vec!["999".to_string()], 0));
    assert_eq!(chosen(&["--number", "*21", "--code", "2xx"]), (vec!["221".to_string()], 0));
    // A stream without a call has a time, and no number.
    assert_eq!(chosen(&["--since", "2026-11-21 02:00:01"]), (vec!["999".to_string()], 1));
    assert_eq!(chosen(&["--until", "2026-11-21T02:00:01Z"]), (vec!["221".to_string()], 0));
    assert_eq!(chosen(&["--mos-below", "1.1"]), (vec![], 0));
    let out = done(run(["analyze", "--to", "602*", "--state", "failed", text(&path)]));
    assert!(out.contains("Calls          1: 1 failed (1 left out by the filters)"), "{out}");
}

#[test]
fn one_call_is_shown_with_its_ladder() {
    let (_folder, path, _) = built();
    let whole = done(run(["call", CALL_ID, text(&path)]));
    for line in [
        "Outcome       completed, 200 OK, released by the caller",
        "Post-dial     900 ms",
        "R: retransmission",
    ] {
        assert!(whole.contains(line), "{line}\n{whole}");
    }
    let ladder: Vec<_> =
        whole.lines().filter(|line| line.starts_with('+') || line.starts_with(" +")).collect();
    assert_eq!(ladder.len(), 8, "{whole}");
    assert!(ladder[1].contains("R") && ladder[1].contains("┄ INVITE (SDP) ┄"), "{whole}");
    assert!(ladder[6].contains("─ BYE ─") && ladder[7].contains("─ 200 OK (BYE) ─"), "{whole}");
    assert!(whole.contains("Lost          10 (2.00 %) in 10 runs"), "{whole}");

    assert_eq!(done(run(["call", "4f2a", text(&path)])), whole, "by the beginning of its Call-ID");
    let id = whole.lines().find_map(|line| line.strip_prefix("  Record        ")).expect("its record");
    assert_eq!(done(run(["call", id, text(&path)])), whole, "by its record");
    assert!(done(run(["call", "4f2a", "--ascii", text(&path)])).is_ascii());
    assert!(!done(run(["call", "other", text(&path)])).contains('\x1b'), "hostile phrase");
}

#[test]
fn an_unknown_call_suggests_its_neighbour() {
    let (_folder, path, _) = built();
    let run = run(["call", "4f2b19c0@192.0.2.1", text(&path)]);
    assert_eq!((run.status, run.out.as_str()), (1, ""));
    let sentence =
        "ringtap: no call has the Call-ID `4f2b19c0@192.0.2.1`; the input has 2 calls, the nearest: ";
    assert!(run.err.starts_with(&format!("{sentence}`{CALL_ID}`")), "{run:?}");
}

#[test]
fn a_call_is_taken_out() {
    let (folder, path, own) = built();
    let (pcap, wav) = (folder.path().join("out.pcap"), folder.path().join("out.wav"));
    let arguments = ["extract", text(&path), "--call", "4f2a", "--pcap", text(&pcap), "--wav", text(&wav)];
    let run = run(arguments.into_iter().chain(["--loss", "silence"]));
    assert_eq!((run.status, run.out.as_str()), (0, ""), "{run:?}");

    let frames = |path: &Path| Capture::open(path, None).expect("a capture").frames().owned();
    let (all, taken) = (frames(&path), frames(&pcap));
    assert_eq!(taken.len(), own, "signalling, media and RTCP of the call, nothing else");
    let mut rest = all.iter();
    for frame in taken.iter() {
        let found = rest.any(|original| (original.time, original.data) == (frame.time, frame.data));
        assert!(found, "frames keep their order, times and bytes");
    }
    let again = records(&done(crate::run::run(["analyze", "--format", "jsonl", text(&pcap)])));
    let before =
        records(&done(crate::run::run(["analyze", "--format", "jsonl", "--call-id", CALL_ID, text(&path)])));
    assert_eq!(again, before, "the same call seen twice is the same record");

    let mut reader = hound::WavReader::open(&wav).expect("a WAV");
    assert_eq!((reader.spec().channels, reader.spec().sample_rate), (2, 8000));
    let samples: Vec<i16> = reader.samples().collect::<Result<_, _>>().expect("samples");
    // A-law 0xd5 is 8, 0xaa full scale (G.711 table 1a); the callee begins 7 ms after the caller.
    let side = |side: usize| samples.iter().skip(side).step_by(2).copied();
    assert!(
        side(0).all(|sample| sample == 8 || sample == 0)
            && side(1).all(|sample| sample == 32_256 || sample == 0)
    );
    assert_eq!(side(0).filter(|sample| *sample == 8).count(), 490 * 160, "lost packets are silence");
    assert_eq!(side(1).filter(|sample| *sample == 32_256).count(), 500 * 160);
    assert_eq!(side(1).take_while(|sample| *sample == 0).count(), 56);
}

#[test]
fn sound_as_it_is_asked_for() {
    let (folder, path, _) = built();
    let wav = folder.path().join("out.wav");
    let heard = |options: &[&str]| {
        let arguments = ["extract", text(&path), "--call", "4f2a", "--wav", text(&wav)];
        let run = run(arguments.iter().chain(options));
        assert_eq!(run.status, 0, "{run:?}");
        let mut reader = hound::WavReader::open(&wav).expect("a WAV");
        let samples: Vec<i16> = reader.samples().collect::<Result<_, _>>().expect("samples");
        (reader.spec().channels, reader.spec().sample_rate, samples, run.err)
    };
    let (channels, rate, samples, err) = heard(&["--mix", "caller"]);
    assert_eq!((channels, rate), (1, 8_000));
    // Ten packets of 20 ms, of which the first and the last sample of each are as loud as what is beside
    // them.
    assert!(samples.iter().filter(|sample| **sample > 0).count() > 499 * 160, "loss is concealed");
    assert!(err.contains("the caller: 200 ms of loss concealed"), "{err}");
    let (channels, rate, twice, _) = heard(&["--mix", "callee", "--rate", "16000"]);
    assert_eq!((channels, rate), (1, 16_000));
    assert_eq!(twice.len(), 2 * 500 * 160);
    let (channels, _, mono, err) = heard(&["--mix", "mono", "--buffer-ms", "60", "--tones"]);
    assert!(channels == 1 && mono.contains(&(32_256 + 8)), "{err}");
    let (flac, peaks) = (folder.path().join("out.flac"), folder.path().join("out.json"));
    let (_, _, stereo, err) = heard(&["--flac", text(&flac), "--peaks", text(&peaks), "--peaks-ms", "100"]);
    assert!(err.contains("out.flac: 10.0 s, left the caller") && err.contains("out.json: "), "{err}");
    let outline: Value = serde_json::from_slice(&fs::read(&peaks).expect("the outline")).expect("JSON");
    assert_eq!((&outline["channels"], &outline["samples_per_peak"]), (&2.into(), &800.into()));
    let callee = outline["peaks"][1].as_array().expect("a list");
    assert_eq!(callee[11].as_f64(), Some(0.9844), "full scale of A-law");
    same_samples(&flac, &stereo);
    let refused = run(["extract", text(&path), "--call", "4f2a", "--wav", text(&wav), "--rate", "1"]);
    assert_eq!(refused.status, 2, "{refused:?}");
}

/// What sox and ffmpeg read from a FLAC file, where they are installed.
fn same_samples(flac: &Path, stereo: &[i16]) {
    let readers: [(&str, &[&str]); 2] = [
        ("sox", &[text(flac), "-t", "s16", "-L", "-"]),
        ("ffmpeg", &["-v", "error", "-xerror", "-i", text(flac), "-f", "s16le", "-"]),
    ];
    for (program, arguments) in readers {
        if !ringtap_testing::program(program) {
            continue;
        }
        let output = std::process::Command::new(program).args(arguments).output().expect("it runs");
        assert!(output.status.success(), "{program}: {}", String::from_utf8_lossy(&output.stderr));
        let samples: Vec<u8> = stereo.iter().flat_map(|sample| sample.to_le_bytes()).collect();
        assert!(output.stdout == samples, "{program} reads other samples");
    }
}

#[test]
fn what_cannot_be_taken_out_leaves_no_file() {
    let (folder, path, _) = built();
    let (pcap, wav) = (folder.path().join("out.pcap"), folder.path().join("out.wav"));
    let unknown =
        run(["extract", text(&path), "--call", "nobody", "--pcap", text(&pcap), "--wav", text(&wav)]);
    assert_eq!(unknown.status, 1, "{unknown:?}");
    let silent = run(["extract", text(&path), "--call", "other", "--pcap", text(&pcap), "--wav", text(&wav)]);
    assert_eq!(silent.status, 1, "{silent:?}");
    assert!(
        silent.err.contains("there is no sound") && silent.err.contains("out.pcap: 2 packets"),
        "{silent:?}"
    );
    assert!(pcap.exists() && !wav.exists());
    let full = run(["extract", text(&path), "--call", "4f2a", "--pcap", "/dev/full"]);
    assert_eq!(full.status, 1, "{full:?}");
    assert!(full.err.contains("cannot write /dev/full") && full.err.contains("free some space"), "{full:?}");
    let same = run(["extract", text(&path), "--call", "4f2a", "--pcap", text(&wav), "--wav", text(&wav)]);
    assert_eq!(same.status, 1);
    assert_eq!(run(["extract", text(&path), "--call", "4f2a"]).status, 2);
    let names: Vec<_> = fs::read_dir(&folder)
        .expect("the folder")
        .map(|entry| entry.expect("an entry").file_name())
        .collect();
    assert_eq!(names.len(), 2, "{names:?}");
}

#[test]
fn many_files_are_one_capture() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let (one, two) = (folder.path().join("1.pcap"), folder.path().join("2.pcap"));
    let (mut calls, mut rest) = (Built::default(), Built::default());
    call(&mut calls);
    others(&mut rest);
    calls.write(&one);
    rest.write(&two);
    let (_folder, whole, _) = built();
    let of = |files: &[&Path]| {
        let files = files.iter().map(|file| text(file));
        done(run(["analyze", "--format", "jsonl"].into_iter().chain(files)))
    };
    assert_eq!(of(&[&two, &one]), of(&[&whole]));
}

#[test]
fn what_was_stored_is_found_again() {
    let (folder, path, _) = built();
    let store = folder.path().join("store");
    let summary = done(run(["analyze", "--store", text(&store), text(&path)]));
    assert!(summary.contains("Stored         2 calls, 3 streams; 1 day file"), "{summary}");
    let again = done(run(["analyze", "--store", text(&store), "--format", "jsonl", text(&path)]));
    let fresh: Vec<Value> = records(&again).into_iter().filter(|record| record["type"] == "call").collect();

    let search = |filters: &[&str]| {
        let arguments = [&["calls", "--format", "jsonl", "--store", text(&store)], filters].concat();
        records(&done(run(arguments)))
    };
    let stored = search(&[]);
    assert_eq!(stored.len(), 2, "the same call stored twice is one");
    assert!(fresh.iter().all(|call| stored.contains(call)));
    assert_eq!(search(&["--from", "22*"])[0]["call_id"], CALL_ID);
    assert_eq!(search(&["--call-id", "4f2a*"])[0]["call_id"], CALL_ID);
    assert_eq!(search(&["--call-id", "4f2a"]).len(), 0);
    assert_eq!(search(&["--state", "failed,completed"]), stored);
    assert_eq!(search(&["--since", "2026-11-21 02:00:01", "--until", "2026-11-21 03:00"]).len(), 1);

    // The database finds what the filters of `analyze` let pass.
    let filters = [
        "--from=221",
        "--from=22*",
        "--from=*",
        "--to=602",
        "--to=6*",
        "--to=221",
        "--number=999",
        "--number=60*",
        "--number=1",
        "--state=failed",
        "--state=failed,timeout",
        "--call-id=4f2a*",
        "--call-id=other@192.0.2.1",
        "--mos-below=4.3",
        "--mos-below=1",
        "--since=2026-11-21 02:00:03",
        "--until=2026-11-21 02:00:03",
        "--until=2026-11-21 02:00:00.000001",
    ];
    for filter in filters {
        let analyze = done(run(["analyze", "--format", "jsonl", filter, text(&path)]));
        let mut passed: Vec<_> =
            records(&analyze).into_iter().filter(|record| record["type"] == "call").collect();
        passed.sort_by_key(|call| call["invite_us"].as_u64());
        let calls = run(["calls", "--format", "jsonl", "--store", text(&store), filter]);
        assert_eq!(records(&calls.out), passed, "{filter}");
    }

    let table = done(run(["calls", "--store", text(&store), "--number", "602"]));
    assert!(table.contains("2 calls found; 1 day searched") && table.contains("completed"), "{table}");
    let csv = done(run(["calls", "--store", text(&store), "--format", "csv", "--state", "failed"]));
    assert_eq!(csv.lines().count(), 2, "{csv}");
    let first = run(["calls", "--store", text(&store), "--limit", "1", "--format", "jsonl"]);
    assert_eq!((first.status, first.out.lines().count()), (0, 1));
    assert!(first.err.contains("more calls match than the 1 call shown"), "{first:?}");
    let call_ids = |output: &str| -> Vec<Value> {
        records(output).iter().map(|record| record["call_id"].clone()).collect()
    };
    let all = call_ids(&done(run(["calls", "--store", text(&store), "--format", "jsonl"])));
    let newest = run(["calls", "--store", text(&store), "--newest", "1", "--format", "jsonl"]);
    assert_eq!((newest.status, newest.err.as_str()), (0, ""));
    assert!(all.len() > 1 && call_ids(&newest.out) == all[all.len() - 1..], "{newest:?}");
    let never = run(["calls", "--store", text(&store), "--since", "2027-01-01"]);
    assert_eq!((never.status, never.out.as_str()), (0, "0 calls found; 0 days searched\n"));
    assert!(never.err.contains("no records are stored for that time"), "{never:?}");
}
