//! What a console says of the register of warrants that its configuration names.

use std::fs;
use std::io::{BufRead, BufReader};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Stdio};

use crate::run::{Run, file, ringtap};

/// `ringtap console serve` with this section of warrants.
fn console(dir: &Path, section: &str) -> Command {
    let text = format!("[capture]\ninterfaces = [\"lo\"]\n[warrants]\n{section}\n");
    let config = file(dir, "ringtap.toml", text.as_bytes());
    let mut command = ringtap();
    command.args(["console", "serve", "--plain-http", "--listen", "127.0.0.1:0", "--people"]);
    command.arg(dir.join("console")).arg("--store").arg(dir.join("records")).arg("--config").arg(config);
    command
}

#[test]
fn a_console_says_which_key_of_its_register_is_wrong_and_what_is_right() {
    let folder = tempfile::tempdir().unwrap();
    let dir = folder.path();
    let shown = dir.display();
    let key = file(dir, "key", "0f".repeat(32).as_bytes());
    fs::set_permissions(&key, PermissionsExt::from_mode(0o644)).unwrap();
    let register = format!("register = \"{shown}/register\"");
    for (keys, problems) in [
        (format!("key = \"{shown}/none\""), ["[warrants] key", "none` cannot be read"]),
        (format!("key = \"{shown}/key\""), ["[warrants] key", "chmod 600"]),
        ("key_command = \"echo no key\"".to_owned(), ["[warrants] key_command", "neither 32 bytes nor 64"]),
        ("keey = \"x\"".to_owned(), ["[warrants] keey", "did you mean `key`"]),
    ] {
        let run: Run = console(dir, &format!("{register}\n{keys}")).output().unwrap().into();
        assert_ne!(run.status, 0, "{run:?}");
        for problem in problems {
            assert!(run.err.contains(problem), "{run:?}");
        }
    }

    // A register may come later: the console serves everything else.
    fs::set_permissions(&key, PermissionsExt::from_mode(0o600)).unwrap();
    let mut command = console(dir, &format!("{register}\nkey = \"{shown}/key\""));
    let mut child = command.stderr(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(child.stderr.take().unwrap()).lines().map(Result::unwrap);
    let told = lines.find(|line| line.contains("[warrants] register")).unwrap();
    assert!(told.contains("no officer can log in") && told.contains("ringtap warrant setup"), "{told}");
    assert!(lines.any(|line| line.contains("the console is at http://")), "it serves");
    child.kill().unwrap();
    child.wait().unwrap();
}
