//! The API of the console against its own description: a real console, over what a real daemon recorded and
//! one that runs, is asked by schemathesis, which makes requests of `/api/v1/openapi.json` and looks at the
//! answers. `RINGTAP_API_SECONDS=600` asks for longer, with other requests each time; with
//! `RINGTAP_API_REPORT=DIR` what schemathesis says is kept there.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on ends")]

mod console;
mod manual;

use std::path::PathBuf;
use std::process::{Command, Stdio};

use console::Console;

/// Who asks, and how: an administrator for what stands at the edge of each schema too.
const ASKERS: [(Option<&str>, &str); 3] =
    [(Some("root"), "coverage,fuzzing"), (Some("vic"), "fuzzing"), (None, "fuzzing")];

#[test]
#[ignore = "it takes minutes: `make api-test` runs it"]
fn every_answer_is_one_that_the_document_describes() {
    let Some(schemathesis) = schemathesis() else { return };
    let console = Console::start();
    let seconds = std::env::var("RINGTAP_API_SECONDS").ok().and_then(|text| text.parse::<u64>().ok());
    let mut wrong = Vec::new();
    // All log in before anything is asked: what one of them asks may lock others out.
    let askers = ASKERS.map(|(who, phases)| (who, who.map(|who| console.log_in(who)), phases));
    for (who, cookie, phases) in askers {
        let mut command = Command::new(&schemathesis);
        command.args(["run", "--no-color", "--checks", "all", "--continue-on-failure", "--warnings", "off"]);
        command.args(["--request-timeout", "30"]);
        match seconds {
            // The same requests each time.
            None => {
                command.args(["--generation-deterministic", "--phases", phases, "--max-examples", EXAMPLES])
            }
            Some(seconds) => {
                let time = (seconds / ASKERS.len() as u64).max(1).to_string();
                command.args(["--generation-database", "none", "--max-time", &time])
            }
        };
        for operation in WITHOUT {
            command.args(["--exclude-operation-id", operation]);
        }
        // With every request: it is not the description that is tested for it.
        command.args(["--header", "X-Ringtap: 1"]);
        // A text may be one that is no search: 400, which `positive_data_acceptance` takes for a fault.
        if let Some(cookie) = cookie {
            command.arg("--header").arg(format!("Cookie: {cookie}"));
            // It sends wrong proofs beside the right one, which is a header of every request here.
            command.args(["--exclude-checks", "positive_data_acceptance,ignored_auth"]);
        } else {
            command.args(["--exclude-checks", "positive_data_acceptance"]);
        }
        command.arg(format!("{}/api/v1/openapi.json", console.base()));
        let output = command.stdin(Stdio::null()).output().unwrap();
        let told = String::from_utf8_lossy(&output.stdout).into_owned();
        let name = who.unwrap_or("nobody");
        if let Some(dir) = std::env::var_os("RINGTAP_API_REPORT") {
            std::fs::create_dir_all(&dir).unwrap();
            std::fs::write(PathBuf::from(dir).join(format!("{name}.txt")), &told).unwrap();
        }
        if !output.status.success() {
            wrong.push(format!("asked by {name}:\n{told}{}", String::from_utf8_lossy(&output.stderr)));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
    console.assert_alive();
}

/// The program, where `make packages-test` could install it.
fn schemathesis() -> Option<PathBuf> {
    let program = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("../schemathesis/bin/schemathesis");
    if !program.is_file() {
        let reason = "it is not installed; `make packages-test` installs it, from PyPI";
        ringtap_testing::skip("schemathesis", reason);
        return None;
    }
    Some(program)
}

/// Requests of each kind that are made by chance.
const EXAMPLES: &str = "3";
/// Not asked: the first two go on, the third ends the session that asks.
const WITHOUT: [&str; 3] = ["watch_live", "listen_live", "log_out"];
