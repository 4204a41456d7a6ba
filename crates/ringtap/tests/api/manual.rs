//! The commands of `docs/manual/api.md` do what it says.

use std::path::Path;
use std::process::Command;

use serde_json::Value;

use crate::console::Console;

/// Each command of the page is carried out in order, by a shell, with the console that it names being ours.
#[test]
fn the_commands_of_the_manual_are_answered() {
    if !ringtap_testing::program("curl") {
        return;
    }
    let console = Console::start();
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/manual/api.md");
    let page = std::fs::read_to_string(page).unwrap();
    let commands = page.lines().filter_map(|line| line.strip_prefix("    curl "));
    let cookie = console.log_in("ana");
    let made = console.make_token(&cookie);
    let calls = console.get("/api/v1/calls?limit=1", &cookie).json();
    let call = calls["calls"][0]["id"].as_str().unwrap().to_owned();
    let mut asked = 0;
    for command in commands {
        // It is answered here without TLS, and the person of the page has the password of ours.
        let command = command
            .replace("--cacert /var/lib/ringtap/console/certificate.pem ", "")
            .replace("correct horse battery staple", crate::console::PASSWORD);
        let shell = Command::new("sh")
            .args(["-c", &format!("curl --write-out '\n%{{http_code}}' {command}")])
            .current_dir(console.folder())
            .env("RINGTAP", console.base())
            .env("TOKEN", &made)
            .env("CALL", &call)
            .output()
            .unwrap();
        let told = String::from_utf8(shell.stdout).unwrap();
        let (body, status) = told.rsplit_once('\n').unwrap();
        let expected = if command.contains("failled") { "400" } else { "20" };
        assert!(status.starts_with(expected), "{command}: {told}");
        if command.contains("failled") {
            let problem: Value = serde_json::from_str(body).unwrap();
            assert_eq!((&problem["column"], &problem["length"]), (&Value::from(7), &Value::from(7)));
        }
        asked += 1;
    }
    assert!(asked > 8, "the page has lost its commands");
}
