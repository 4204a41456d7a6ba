//! What `make install` copies, and what `make uninstall` leaves.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::run::{Run, run};

#[test]
fn it_is_installed_below_a_directory_and_removed_without_its_configuration() {
    let folder = tempfile::tempdir().unwrap();
    let to = folder.path().join("to");
    let program = built(folder.path());
    install(&program, &to);
    assert_eq!(fs::metadata(to.join("opt/rt/bin/ringtap")).unwrap().permissions().mode() & 0o777, 0o755);
    for file in [
        "man/man1/ringtap-call.1",
        "bash-completion/completions/ringtap",
        "zsh/vendor-completions/_ringtap",
        "fish/vendor_completions.d/ringtap.fish",
        "ringtap/calls.pcap",
        "doc/ringtap/NOTICES",
        "doc/ringtap/manual/install.md",
    ] {
        assert!(to.join("opt/rt/share").join(file).is_file(), "{file}");
    }
    let unit = fs::read_to_string(to.join("opt/rt/lib/systemd/system/ringtap.service")).unwrap();
    assert!(unit.contains("ExecStart=/opt/rt/bin/ringtap run -c /etc/ringtap/ringtap.toml\n"), "{unit}");
    assert!(!unit.contains("=/usr/bin/ringtap") && !unit.contains("file:///usr/share/"), "{unit}");
    for (unit, group, command) in [("console", "console", "serve"), ("x1", "warrant", "x1")] {
        let path = to.join(format!("opt/rt/lib/systemd/system/ringtap-{unit}.service"));
        let unit = fs::read_to_string(path).unwrap();
        let line = unit.lines().find_map(|line| line.strip_prefix("ExecStart=")).expect("a command");
        let words: Vec<&str> = line.split(' ').collect();
        assert_eq!(words[..3], ["/opt/rt/bin/ringtap", group, command]);
        let help = run([group, command, "--help"]).out;
        for option in words.iter().filter(|word| word.starts_with("--")) {
            assert!(help.contains(option), "{option} of the unit is none of the command");
        }
    }

    // Whoever changed the configuration keeps it.
    let config = to.join("etc/ringtap/ringtap.toml");
    let mine = fs::read_to_string(&config).unwrap().replace("interfaces = []", "interfaces = [\"lo\"]");
    fs::write(&config, &mine).unwrap();
    install(&program, &to);
    assert_eq!(fs::read_to_string(&config).unwrap(), mine);

    script("install", &["--uninstall", "PREFIX=/opt/rt", &destination(&to)]);
    assert_eq!(files(&to), [config]);
}

#[test]
fn the_configuration_that_is_installed_lacks_nothing_but_an_interface() {
    let folder = tempfile::tempdir().unwrap();
    let text = fs::read_to_string(root().join("packaging/site.toml")).unwrap();
    let check = |text: &str| {
        let path = crate::run::file(folder.path(), "ringtap.toml", text.as_bytes());
        run(["run".as_ref(), "--check".as_ref(), "-c".as_ref(), path.as_os_str()])
    };
    let line = 1 + text.lines().position(|line| line == "interfaces = []").expect("the key to fill in");
    let refused = check(&text);
    assert_eq!(refused.status, 2, "{refused:?}");
    assert!(refused.err.contains(&format!("ringtap.toml:{line}: [capture] interfaces:")), "{refused:?}");
    let uncommented = text.replace("# directory =", "directory =").replace("[]", "[\"lo\"]");
    assert!(uncommented.contains("user = \"ringtap\""), "the check tries its rights");
    // Without the package there are neither its user nor its directories.
    let data = folder.path().join("data");
    let here = |name: &str| format!("\"{}/{name}\"", data.display());
    let mut alone = uncommented.replace("user = \"ringtap\"", "user = \"\"");
    alone = alone.replace("\"/var/lib/ringtap/spool\"", &here("spool"));
    alone = alone.replace("\"/run/ringtap/control\"", &here("control"));
    alone += &format!(
        "\n[store]\ndirectory = {}\noutbox = {}\n[journal]\npath = {}\n",
        here("records"),
        here("outbox"),
        here("journal")
    );
    assert_eq!(check(&alone).status, 0, "{:?}", check(&alone));
}

/// Debian 12's systemd has no @sandbox, and ignores a group of calls that it does not know.
#[test]
fn the_units_name_the_calls_by_which_ringtap_confines_itself() {
    for unit in ["ringtap", "ringtap-console", "ringtap-hooks"] {
        let unit = fs::read_to_string(root().join(format!("packaging/{unit}.service"))).unwrap();
        let filter = unit.lines().find_map(|line| line.strip_prefix("SystemCallFilter=")).expect("a filter");
        let named: Vec<&str> = filter.split(' ').collect();
        for call in ["seccomp", "landlock_create_ruleset", "landlock_add_rule", "landlock_restrict_self"] {
            assert!(named.contains(&call), "{call} is not in {filter}");
        }
        let groups: Vec<_> = named.iter().filter(|name| name.starts_with('@')).collect();
        assert_eq!(groups, [&"@system-service"], "a group that not every systemd has");
    }
}

#[test]
fn installing_builds_nothing_and_says_what_to_do_first() {
    let folder = tempfile::tempdir().unwrap();
    let missing = folder.path().join("ringtap");
    let output = Command::new(root().join("packaging/installed")).arg(&missing).output().unwrap();
    let refused = Run::from(output);
    assert_ne!(refused.status, 0);
    assert!(refused.err.contains("run `make build` first"), "{refused:?}");
    // What `make install` would run: one script, and neither cargo nor apt.
    let recipe = Command::new("make").args(["-n", "install"]).current_dir(root()).output().unwrap();
    let recipe = Run::from(recipe).out;
    assert!(recipe.contains("packaging/installed"), "{recipe}");
    assert!(!recipe.contains("cargo") && !recipe.contains("apt"), "{recipe}");
}

/// The program that is tested, laid as `make build` does.
fn built(folder: &Path) -> PathBuf {
    let program = folder.join("ringtap");
    symlink(env!("CARGO_BIN_EXE_ringtap"), &program).expect("a link");
    fs::write(folder.join("NOTICES"), "licences\n").expect("a temporary file");
    program
}

fn install(program: &Path, to: &Path) {
    script("installed", &[&program.display().to_string(), "PREFIX=/opt/rt", &destination(to)]);
}

fn destination(to: &Path) -> String {
    format!("DESTDIR={}", to.display())
}

fn script(name: &str, arguments: &[&str]) {
    let script = root().join("packaging").join(name);
    let done = Run::from(Command::new(script).args(arguments).output().expect("the script starts"));
    assert_eq!(done.status, 0, "{done:?}");
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).expect("a directory").map(|entry| entry.expect("an entry").path());
    entries.flat_map(|path| if path.is_dir() { files(&path) } else { vec![path] }).collect()
}

fn root() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
}
