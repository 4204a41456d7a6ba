//! A writer that is killed loses nothing that it acknowledged.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on ends")]

#[expect(dead_code, reason = "shared with the other tests")]
mod common;

use std::collections::BTreeSet;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Command, Stdio};

use common::{call, stream};
use ringtap_store::{ImportWriter, Query, Reader};
use rusqlite::Connection;

const CHILD: &str = "RINGTAP_STORE_CHILD";

/// The child: writes calls without end and says after each flush how many are durable.
#[test]
#[ignore = "started by `nothing_acknowledged_is_lost`"]
fn child() {
    let dir = std::env::var_os(CHILD).expect("a directory from `nothing_acknowledged_is_lost`");
    let mut writer = ImportWriter::open(Path::new(&dir)).unwrap();
    for number in 0_u64.. {
        writer.call(&call(number), &[stream(number)]).unwrap();
        if number % 37 == 36 {
            writer.flush().unwrap();
            println!("durable {}", number + 1);
            std::io::stdout().flush().unwrap();
        }
    }
}

/// Kills the child with SIGKILL after it acknowledged `flushes` times; returns how many calls it had
/// acknowledged.
fn kill_after(dir: &Path, flushes: usize) -> u64 {
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "child", "--ignored", "--nocapture", "--test-threads=1"])
        .env(CHILD, dir)
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let lines = BufReader::new(child.stdout.take().unwrap()).lines().map_while(Result::ok);
    let mut durable = lines.filter_map(|line| line.split_once("durable ")?.1.trim().parse::<u64>().ok());
    let last = durable.nth(flushes - 1);
    child.kill().unwrap();
    child.wait().unwrap();
    // What it said before the signal reached it counts too.
    durable.last().or(last).unwrap()
}

#[test]
fn nothing_acknowledged_is_lost() {
    for flushes in [1, 2, 5, 13, 40] {
        let dir = tempfile::tempdir().unwrap();
        let durable = kill_after(dir.path(), flushes);
        assert!(durable >= 37 * flushes as u64);

        let reader = Reader::open(dir.path()).unwrap();
        let found = reader.calls(&Query::default()).unwrap();
        let ids: BTreeSet<_> = found.records.iter().map(|row| row.id).collect();
        for number in 0..durable {
            assert!(ids.contains(&call(number).id), "call {number} of {durable} is lost");
        }
        let last = reader.streams_of(&call(durable - 1).id).unwrap();
        assert_eq!(last, [stream(durable - 1)]);
        for day in reader.days().unwrap() {
            let connection = Connection::open(dir.path().join(day.file_name())).unwrap();
            let sound: String = connection.query_row("PRAGMA integrity_check", [], |row| row.get(0)).unwrap();
            assert_eq!(sound, "ok");
        }

        // The next writer goes on where the killed one stopped; the records again double nothing.
        let mut writer = ImportWriter::open(dir.path()).unwrap();
        (0..durable).for_each(|number| writer.call(&call(number), &[stream(number)]).unwrap());
        writer.close().unwrap();
        assert_eq!(reader.calls(&Query::default()).unwrap().records.len(), found.records.len());
    }
}
