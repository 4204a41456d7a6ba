//! Fills a directory with generated calls, and searches it with nothing in the page cache.
//!
//! ```text
//! cargo run --release -p ringtap-store --example fill -- DIR [--calls N] [--days N] [--no-search]
//! ```
//!
//! Prints one JSON object. Calls last 180 s on average and have two streams; rates and bytes are of these,
//! beside which 3 % of calls fail.
#![expect(clippy::print_stdout, reason = "the result")]

mod records;
mod search;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use records::Records;
use ringtap_store::{Error, ImportWriter};

/// As in the program itself.
#[cfg(all(target_arch = "x86_64", target_os = "linux", target_env = "gnu"))]
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

fn main() -> ExitCode {
    let Some(options) = Options::of(std::env::args().skip(1)) else {
        eprintln_usage();
        return ExitCode::from(2);
    };
    match run(&options) {
        Ok(result) => {
            println!("{result}");
            ExitCode::SUCCESS
        }
        Err(error) => {
            println!("{}", serde_json::json!({ "error": error.to_string() }));
            ExitCode::FAILURE
        }
    }
}

#[expect(clippy::print_stderr, reason = "for the person at the terminal")]
fn eprintln_usage() {
    eprintln!("usage: fill DIR [--calls N] [--days N] [--no-search]");
}

struct Options {
    dir: PathBuf,
    calls: u64,
    days: u64,
    search: bool,
}

impl Options {
    fn of(mut arguments: impl Iterator<Item = String>) -> Option<Self> {
        let mut options = Self { dir: PathBuf::new(), calls: 200_000, days: 10, search: true };
        while let Some(argument) = arguments.next() {
            match argument.as_str() {
                "--calls" => options.calls = arguments.next()?.parse().ok()?,
                "--days" => options.days = arguments.next()?.parse().ok().filter(|days| *days > 0)?,
                "--no-search" => options.search = false,
                dir if !dir.starts_with('-') && options.dir.as_os_str().is_empty() => {
                    options.dir = dir.into();
                }
                _ => return None,
            }
        }
        (!options.dir.as_os_str().is_empty()).then_some(options)
    }
}

fn run(options: &Options) -> Result<serde_json::Value, Error> {
    let mut writer = ImportWriter::open(&options.dir)?;
    let began = Instant::now();
    let mut answered = 0;
    for (call, streams) in Records::new(options.calls, options.days) {
        answered += u64::from(!streams.is_empty());
        writer.call(&call, &streams)?;
    }
    writer.flush()?;
    let wall = began.elapsed();
    let (own, encoder) = (thread_time("store"), thread_time("encode"));
    writer.close()?;
    let bytes = size(&options.dir);
    let mut result = serde_json::json!({
        "calls": answered,
        "days": options.days,
        "wall_s": wall.as_secs_f64(),
        "writer_s": own.as_secs_f64(),
        "encoder_s": encoder.as_secs_f64(),
        "calls_per_s": answered as f64 / wall.as_secs_f64(),
        "calls_per_writer_s": answered as f64 / own.as_secs_f64(),
        "bytes_per_call": bytes as f64 / answered as f64,
    });
    if options.search {
        result["search_ms"] = search::all(&options.dir)?;
    }
    Ok(result)
}

/// Processor time of the threads of that name.
fn thread_time(name: &str) -> Duration {
    let tasks = fs::read_dir("/proc/self/task").into_iter().flatten().flatten();
    let ticks = tasks.filter_map(|task| {
        let stat = fs::read_to_string(task.path().join("stat")).ok()?;
        let (head, tail) = stat.rsplit_once(") ")?;
        // Fields 14 and 15 of proc_pid_stat(5): user and system time.
        let mut times = tail.split(' ').skip(11).filter_map(|field| field.parse::<u64>().ok());
        head.ends_with(&format!("({name}")).then_some(times.next()? + times.next()?)
    });
    // A tick is a hundredth of a second on every Linux.
    Duration::from_millis(10 * ticks.sum::<u64>())
}

/// Bytes of the files in a directory.
fn size(dir: &Path) -> u64 {
    let files = fs::read_dir(dir).into_iter().flatten().flatten();
    files.filter_map(|file| file.metadata().ok()).map(|file| file.len()).sum()
}
