//! Samples to train the dictionaries with which records are compressed.
//!
//! ```text
//! ringtap generate --impair all --calls 600 --out - | ringtap analyze --format jsonl - > records.jsonl
//! cargo run --release -p ringtap-store --example samples -- DIR < records.jsonl
//! zstd --train DIR/call/* --maxdict=8192 -o crates/store/src/format/call.dictionary
//! zstd --train DIR/stream/* --maxdict=16384 -o crates/store/src/format/stream.dictionary
//! ```
//!
//! A file that has records keeps the dictionary that they were compressed with.

use std::fs;
use std::io::{self, BufRead};
use std::path::{Path, PathBuf};

use ringtap_model::{Call, Record, Stream};
use ringtap_store::format::Encoder;
use serde::de::DeserializeOwned;

fn main() -> io::Result<()> {
    let dir = std::env::args_os().nth(1).map(PathBuf::from).ok_or(io::ErrorKind::InvalidInput)?;
    let columns = ["id", "src", "dst", "conversation"];
    // Most files have them whole in their table of texts.
    let texts = &["final_reason", "user_agent_caller", "user_agent_callee"];
    let mut calls = Samples::<Call>::new(&dir.join("call"), &columns, texts)?;
    let mut streams = Samples::<Stream>::new(&dir.join("stream"), &["id", "call", "src", "dst"], &[])?;
    for line in io::stdin().lock().lines() {
        let line = line?;
        calls.add(&line, |call| call.start().unwrap_or_default().micros())?;
        streams.add(&line, |stream| stream.first.micros())?;
    }
    Ok(())
}

/// The samples of a type of record, a file each.
struct Samples<R> {
    dir: PathBuf,
    encoder: Encoder<R>,
    /// Fields that are left out.
    known: &'static [&'static str],
    count: u64,
}

impl<R: Record + DeserializeOwned> Samples<R> {
    fn new(dir: &Path, columns: &[&str], known: &'static [&'static str]) -> io::Result<Self> {
        fs::create_dir_all(dir)?;
        let encoder = Encoder::new(columns, &[]).ok_or(io::ErrorKind::OutOfMemory)?;
        Ok(Self { dir: dir.to_owned(), encoder, known, count: 0 })
    }

    /// Adds a line, where it is a record of the type.
    fn add(&mut self, line: &str, start: impl Fn(&R) -> u64) -> io::Result<()> {
        let Ok(record) = serde_json::from_str::<R>(line) else { return Ok(()) };
        self.count += 1;
        let body = self.encoder.body(&record, start(&record), self.known);
        fs::write(self.dir.join(self.count.to_string()), body)
    }
}
