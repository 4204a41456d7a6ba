//! The commands of `docs/manual/complaints.md` print what it shows. With `RINGTAP_BLESS=1` in the
//! environment, their output is written there.

use std::path::Path;
use std::process::Command;

/// Where the package puts the captures, and where they are here.
const INSTALLED: &str = "/usr/share/ringtap/complaints/";
const CASES: &str = "cases/complaint-";

/// What a line of the shell prints, in the folder of the sources.
fn printed(root: &Path, line: &str) -> String {
    let program = Path::new(env!("CARGO_BIN_EXE_ringtap"));
    let folder = program.parent().expect("the program is in a folder").display();
    let path = format!("{folder}:{}", std::env::var("PATH").expect("there is a PATH"));
    let line = line.replace(INSTALLED, CASES).replace(".pcap", "/in.pcap");
    let run = Command::new("sh")
        .args(["-c", &line])
        .current_dir(root)
        .env("PATH", path)
        .env_remove("COLUMNS")
        .output()
        .expect("the shell starts");
    assert!(
        run.status.success() && run.stderr.is_empty(),
        "{line}: {}",
        String::from_utf8_lossy(&run.stderr)
    );
    String::from_utf8(run.stdout).expect("results are UTF-8")
}

#[test]
fn the_guide_to_complaints_shows_what_its_commands_print() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let path = root.join("docs/manual/complaints.md");
    let guide = std::fs::read_to_string(&path).expect("the guide is there");
    let is_output = |line: &str| line.starts_with("    ") && !line.starts_with("    $ ");
    let (mut made, mut commands) = (Vec::new(), 0);
    let mut lines = guide.lines().peekable();
    while let Some(line) = lines.next() {
        made.push(line.to_owned());
        let Some(command) = line.strip_prefix("    $ ") else { continue };
        commands += 1;
        made.extend(printed(&root, command).lines().map(|line| format!("    {line}").trim_end().to_owned()));
        made.push(String::new());
        while lines.next_if(|line| line.is_empty() || is_output(line)).is_some() {}
    }
    let made = made.join("\n") + "\n";
    if std::env::var_os("RINGTAP_BLESS").is_some() {
        std::fs::write(&path, &made).expect("the guide can be written");
    }
    assert_eq!(made, std::fs::read_to_string(&path).expect("the guide is there"));
    assert!(commands >= 8, "{commands} commands");
}
