//! `make figures`: prints the figures of the source tree, and writes them to `docs/figures.md`.
//!
//! With `--builds` it first clones the last commit into a temporary folder, and measures the time of `make
//! demo` and `make test` there.
#![expect(clippy::print_stdout, reason = "a program that prints")]
#![forbid(unsafe_code)]

use std::error::Error;
use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::Instant;

use ringtap_figures::{report, root, source};

fn main() -> Result<(), Box<dyn Error>> {
    let root = root();
    match std::env::args().nth(1).as_deref() {
        None => {}
        Some("--builds") => builds(&root)?,
        Some(other) => return Err(format!("unknown argument `{other}`: only --builds is known").into()),
    }
    let page = report::page(&root, &source::files(&root));
    print!("{page}");
    let path = root.join("docs/figures.md");
    fs::write(&path, page).map_err(|error| format!("{} cannot be written: {error}", path.display()).into())
}

/// Measures both commands in a fresh clone, and stores the result for later pages.
fn builds(root: &Path) -> Result<(), Box<dyn Error>> {
    let clone = std::env::temp_dir().join(format!("ringtap-builds-{}", std::process::id()));
    run(Command::new("git").args(["clone", "--quiet"]).arg(root).arg(&clone))?;
    let make = |target: &str| -> Result<f64, Box<dyn Error>> {
        let begun = Instant::now();
        // The reference captures are not beside the clone.
        let shared = root.join("../shared");
        run(Command::new("make")
            .arg(target)
            .current_dir(&clone)
            .env_remove("CARGO_TARGET_DIR")
            .env("RINGTAP_SHARED", shared))?;
        Ok(begun.elapsed().as_secs_f64() / 60.0)
    };
    let demo = make("demo")?;
    let test = make("test")?;
    run(Command::new("make").arg("build").current_dir(&clone).env_remove("CARGO_TARGET_DIR"))?;
    let megabytes = |name: &str| -> Result<f64, Box<dyn Error>> {
        Ok(fs::metadata(clone.join("target").join(name))?.len() as f64 / 1e6)
    };
    let cores = std::thread::available_parallelism()?;
    let text = format!(
        "From a clean checkout on {cores} cores:\n\n| | |\n|---|---|\n| `make demo` | {demo:.1} minutes |\n\
         | `make test` | {test:.1} minutes |\n| program, stripped | {:.1} MB |\n\
         | its debug information | {:.1} MB |\n",
        megabytes("shipped/ringtap")?,
        megabytes("shipped/ringtap.debug")?,
    );
    fs::write(root.join("bench/results/builds.md"), text)?;
    fs::remove_dir_all(&clone)?;
    Ok(())
}

fn run(command: &mut Command) -> Result<(), Box<dyn Error>> {
    let status = command.status()?;
    if status.success() { Ok(()) } else { Err(format!("{command:?} ended with {status}").into()) }
}
