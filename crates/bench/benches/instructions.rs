//! Instructions that the engine needs for a media packet, a SIP message and a whole call, counted under
//! valgrind: unlike times they are the same on a busy machine, so a change for the worse shows at once.
//!
//! `cargo bench -p ringtap-bench --bench instructions` compares them with `bench/instructions.json` and fails
//! where one is off by more than 3 %, in either direction: improvements must be recorded too, or they can get
//! lost. `RINGTAP_BLESS=1` writes the file anew. It also fails where a byte of input that somebody made to be
//! expensive costs more than twenty times an ordinary one.

#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a program that is run by hand and by `make test`"
)]

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};

use ringtap_bench::{HOSTILE_INPUTS, Headers, HostileInput, Load, Probe, Workload};

/// How far a count may be off.
const TOLERANCE: f64 = 0.03;
/// How many times as much as an ordinary byte a hostile one may cost.
const WORST: f64 = 20.0;
/// Where the counts are recorded, seen from this package.
const RECORDED: &str = "../../bench/instructions.json";

/// What is counted: a name, and how much of what.
fn cases() -> [(&'static str, Workload, Load); 4] {
    let load = |calls, packets| Load { calls, packets: Some(packets), rounds: 1, ..Load::default() };
    [
        ("media packet", Workload::Media, load(500, 20_000)),
        ("IPv6 media packet", Workload::Media, Load { headers: Headers::Ipv6, ..load(500, 20_000) }),
        ("SIP message", Workload::Sip, load(200, 3_500)),
        ("call", Workload::Calls, load(200, 4_500)),
    ]
}

fn main() -> ExitCode {
    let mut arguments = std::env::args().skip(1).filter(|argument| argument != "--bench");
    let result = match arguments.next().as_deref() {
        Some("--hostile") => {
            arguments.next().map_or_else(|| Err("count what?".to_owned()), |name| run_hostile(&name))
        }
        Some("--count") => arguments.next().map_or_else(|| Err("count what?".to_owned()), |name| run(&name)),
        _ => compare().and_then(|()| compare_hostile()),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("instructions: {error}");
            ExitCode::FAILURE
        }
    }
}

/// The inner process: one case, watched.
fn run(name: &str) -> Result<(), String> {
    let case = cases().into_iter().find(|(other, ..)| *other == name);
    let (_, workload, load) = case.ok_or_else(|| format!("there is no `{name}`"))?;
    let mut probe = Probe::prepare(workload, &load).map_err(|error| error.to_string())?;
    let count = counted_from_here(&mut probe, workload);
    probe.verify().map_err(|error| error.to_string())?;
    println!("{count}");
    Ok(())
}

/// The inner process: one hostile input, watched.
fn run_hostile(name: &str) -> Result<(), String> {
    let mut input = HostileInput::prepare(name).ok_or_else(|| format!("there is no `{name}`"))?;
    println!("{}", hostile_counted_from_here(&mut input));
    Ok(())
}

#[inline(never)]
fn hostile_counted_from_here(input: &mut HostileInput) -> u64 {
    input.pass()
}

/// Fails where a byte of a hostile input costs more than [`WORST`] times an ordinary one.
fn compare_hostile() -> Result<(), String> {
    let mut ordinary = None;
    let mut worse = Vec::new();
    for name in HOSTILE_INPUTS {
        let each = count("--hostile", name)?;
        let ratio = each / *ordinary.get_or_insert(each);
        println!("{name}: {each:.1} instructions a byte, {ratio:.1} times an ordinary one");
        if ratio > WORST {
            worse.push(format!("`{name}` {ratio:.1} times"));
        }
    }
    if worse.is_empty() {
        Ok(())
    } else {
        Err(format!("more than {WORST} times an ordinary byte: {}", worse.join(", ")))
    }
}

/// Where valgrind begins and ends to count, by this name.
#[inline(never)]
fn counted_from_here(probe: &mut Probe, workload: Workload) -> u64 {
    probe.pass(workload)
}

fn compare() -> Result<(), String> {
    let bless = std::env::var_os("RINGTAP_BLESS").is_some();
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join(RECORDED);
    let recorded = if bless { BTreeMap::new() } else { read(&file)? };
    let mut counts = BTreeMap::new();
    let mut wrong = Vec::new();
    for (name, ..) in cases() {
        let each = count("--count", name)?;
        counts.insert(name, (each * 10.0).round() / 10.0);
        if bless {
            println!("{name}: {each:.1} instructions");
            continue;
        }
        let before = *recorded.get(name).ok_or_else(|| format!("`{name}` is not in {}", file.display()))?;
        let change = each / before - 1.0;
        println!("{name}: {each:.1} instructions, {before:.1} recorded, {:+.1} %", change * 100.0);
        if change.abs() > TOLERANCE {
            wrong.push(format!("{name} {:+.1} %", change * 100.0));
        }
    }
    if bless {
        let text = serde_json::to_string_pretty(&counts).map_err(|error| error.to_string())?;
        return std::fs::write(&file, text + "\n").map_err(|error| format!("{}: {error}", file.display()));
    }
    if wrong.is_empty() {
        return Ok(());
    }
    Err(format!(
        "{}: more than {:.0} % off. Where that is meant, record it: make bless-instructions",
        wrong.join(", "),
        TOLERANCE * 100.0
    ))
}

fn read(file: &Path) -> Result<BTreeMap<String, f64>, String> {
    let text = std::fs::read_to_string(file)
        .map_err(|error| format!("{}: {error}; write it: make bless-instructions", file.display()))?;
    serde_json::from_str(&text).map_err(|error| format!("{}: {error}", file.display()))
}

/// Runs this program for one case under callgrind. Gives instructions for one of what is counted.
fn count(what: &str, name: &str) -> Result<f64, String> {
    let own = std::env::current_exe().map_err(|error| error.to_string())?;
    let out = Scratch::new();
    let output = Command::new("valgrind")
        .args(["--tool=callgrind", "--toggle-collect=*counted_from_here*", "--quiet"])
        .arg(format!("--callgrind-out-file={}", out.0.display()))
        .arg(own)
        .args([what, name])
        .stderr(Stdio::inherit())
        .output()
        .map_err(|error| {
            format!("cannot run valgrind, which counts: {error}; install it (Debian: valgrind)")
        })?;
    if !output.status.success() {
        return Err(format!("{name}: {}", output.status));
    }
    let text = String::from_utf8_lossy(&output.stdout);
    let each: f64 = text.trim().parse().map_err(|_| format!("{name}: `{}` is no count", text.trim()))?;
    let profile = std::fs::read_to_string(&out.0).map_err(|error| format!("{}: {error}", out.0.display()))?;
    let total = profile.lines().find_map(|line| line.strip_prefix("summary: ")).unwrap_or_default();
    let total: f64 = total.trim().parse().map_err(|_| format!("{name}: callgrind told no total"))?;
    if total < each {
        return Err(format!("{name}: only {total} instructions for {each}: nothing was counted"));
    }
    Ok(total / each)
}

/// A temporary file, unless `RINGTAP_PROFILES` names a folder in which to leave it for callgrind_annotate.
struct Scratch(PathBuf, bool);

impl Scratch {
    fn new() -> Self {
        let kept = std::env::var_os("RINGTAP_PROFILES").map(PathBuf::from);
        let keep = kept.is_some();
        let folder = kept.unwrap_or_else(std::env::temp_dir);
        let unique = std::time::UNIX_EPOCH.elapsed().map_or(0, |since| since.as_nanos());
        Self(folder.join(format!("ringtap-instructions-{}-{unique}", std::process::id())), keep)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        if !self.1 {
            // It is in the folder for temporary files.
            let _ = std::fs::remove_file(&self.0);
        }
    }
}
