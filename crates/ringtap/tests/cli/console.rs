//! The people of the console and its audit log, from the command line.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on ends")]

use std::fs::{self, File};
use std::io::{Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use rustix::pty::{OpenptFlags, grantpt, ioctl_tiocgptpeer, openpt, unlockpt};
use serde_json::Value;

use crate::run::{Run, ringtap, run};

const PASSWORD: &str = "correct horse battery staple";

/// A directory for a console, and a file with a password.
struct Console {
    folder: tempfile::TempDir,
}

impl Console {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let secret = folder.path().join("password");
        fs::write(&secret, format!("{PASSWORD}\nsomething else\n")).unwrap();
        fs::set_permissions(&secret, PermissionsExt::from_mode(0o600)).unwrap();
        Self { folder }
    }

    fn dir(&self) -> PathBuf {
        self.folder.path().join("console")
    }

    /// `@` stands for the file with the password.
    fn command(&self, line: &str) -> Command {
        let mut command = ringtap();
        let secret = self.folder.path().join("password");
        let words = line.split(' ').map(|word| if word == "@" { secret.as_os_str() } else { word.as_ref() });
        command.args(words).arg("--people").arg(self.dir());
        command.env("USER", "ana").env_remove("SUDO_USER");
        command
    }

    fn run(&self, line: &str) -> Run {
        self.command(line).output().unwrap().into()
    }

    /// Runs it to a good end.
    fn done(&self, line: &str) -> Run {
        let run = self.run(line);
        assert_eq!(run.status, 0, "{line}: {run:?}");
        run
    }

    /// Runs it in a terminal; returns all that is printed. The answer is typed once the question is there.
    fn typed(&self, line: &str, answer: impl FnOnce(&str) -> String) -> String {
        let (ours, theirs) = terminal();
        let stdio = || Stdio::from(theirs.try_clone().unwrap());
        let mut command = self.command(line);
        let mut child = command.stdin(stdio()).stdout(stdio()).stderr(stdio()).spawn().unwrap();
        drop((command, theirs));
        let (mut ours, mut text, mut chunk) = (ours, String::new(), [0; 4096]);
        let mut answer = Some(answer);
        // The end of a terminal that nobody else has open is an error.
        while let Ok(length @ 1..) = ours.read(&mut chunk) {
            text.push_str(&String::from_utf8_lossy(&chunk[..length]));
            if text.trim_end().ends_with("now:")
                && let Some(answer) = answer.take()
            {
                writeln!(ours, "{}", answer(&text)).unwrap();
            }
        }
        child.wait().unwrap();
        text
    }

    fn audited(&self) -> Vec<(String, String)> {
        let jsonl = self.done("audit --format jsonl").out;
        let entries = jsonl.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        entries.map(|entry| (text(&entry["action"]), text(&entry["what"]))).collect()
    }
}

fn terminal() -> (File, OwnedFd) {
    let flags = OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC;
    let ours = openpt(flags).unwrap();
    grantpt(&ours).and_then(|()| unlockpt(&ours)).unwrap();
    let theirs = ioctl_tiocgptpeer(&ours, flags).unwrap();
    (ours.into(), theirs)
}

#[test]
fn the_first_password_is_printed_on_a_terminal_alone() {
    let console = Console::new();
    let piped = console.run("console setup");
    assert_eq!((piped.status, piped.out.as_str()), (2, ""));
    assert!(piped.err.contains("--password-file") && !console.dir().exists(), "{piped:?}");
    let shown = console.typed("console setup", |_| unreachable!("nothing is asked"));
    let password = shown.split("Password of admin: ").nth(1).unwrap().lines().next().unwrap();
    assert_eq!(password.len(), 23, "{shown}");
    assert!(shown.contains("another one has to be chosen"), "{shown}");
    for path in files(&console.dir()) {
        let bytes = fs::read(&path).unwrap();
        assert!(!bytes.windows(23).any(|window| window == password.as_bytes()), "it is in {path:?}");
    }
    let again = console.typed("console setup --name other", |_| unreachable!("nothing is asked"));
    assert!(again.contains("has an administrator, admin") && !again.contains("Password of"), "{again}");
    let listed: Value =
        serde_json::from_str(&console.done("console people list --format jsonl").out).unwrap();
    assert_eq!(listed["role"], "administrator");
    assert_eq!((&listed["must_change"], &listed["disabled"]), (&true.into(), &false.into()));
}

fn files(dir: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path());
    entries.flat_map(|path| if path.is_dir() { files(&path) } else { vec![path] }).collect()
}

#[test]
fn a_password_file_that_others_may_read_or_that_is_weak_is_refused() {
    let console = Console::new();
    let secret = console.folder.path().join("password");
    fs::set_permissions(&secret, PermissionsExt::from_mode(0o644)).unwrap();
    let open = console.run("console setup --password-file @");
    assert!(open.status == 1 && open.err.contains("chmod 600"), "{open:?}");
    fs::set_permissions(&secret, PermissionsExt::from_mode(0o600)).unwrap();
    fs::write(&secret, "short\n").unwrap();
    let weak = console.run("console setup --password-file @");
    assert!(weak.status == 1 && weak.err.contains("12 characters"), "{weak:?}");
    assert!(console.done("console people list").out.contains("0 accounts"));
}

#[test]
fn people_are_added_changed_and_disabled_and_all_of_it_is_recorded() {
    let console = Console::new();
    console.done("console setup --name root --password-file @");
    console.done("console people add ana --role engineer --password-file @");
    console.done("console people add bob --role viewer --trunk a* --number +4930* --password-file @");
    console.done("console people change ana --role officer --number *77");
    console.done("console people disable bob");
    let table = console.done("console people list").out;
    let row = |name: &str| {
        let line = table.lines().find(|line| line.starts_with(name)).unwrap();
        line.split_whitespace().collect::<Vec<_>>().join(" ")
    };
    assert_eq!(row("root"), "root administrator active no - all calls");
    assert_eq!(row("ana"), "ana officer has to choose a password no - number *77");
    assert_eq!(row("bob"), "bob viewer disabled no - trunk a*, and number +4930*");
    for (line, status, told) in [
        ("console people disable root", 1, "only administrator"),
        ("console people change root --role viewer", 1, "only administrator"),
        ("console people disable nobody", 1, "nobody is called `nobody`"),
        ("console people change ana", 1, "nothing to change"),
        ("console people add ANA --role viewer --password-file @", 1, "exists already"),
        ("console people add x --role king --password-file @", 2, "viewer, engineer"),
        ("console people password ana", 2, "on a terminal alone"),
        ("console people totp ana", 2, "on a terminal alone"),
    ] {
        let refused = console.run(line);
        assert!(refused.status == status && refused.err.contains(told), "{line}: {refused:?}");
    }
    console.done("console people enable bob");
    console.done("console people password ana --password-file @");
    console.done("console people change ana --everything");
    let own = |text: &str| ("people".to_owned(), text.to_owned());
    let refused = |text: &str| ("refused".to_owned(), text.to_owned());
    let exists = "`ana` exists already: choose another name, or change that one";
    let only = "`root` is the only administrator who can log in: make another one first";
    assert_eq!(
        console.audited(),
        [
            own("set up with root as administrator"),
            own("add ana as engineer, not limited"),
            own("add bob as viewer, limited to trunk a* number +4930*"),
            own("make ana officer"),
            own("calls of ana, limited to number *77"),
            own("disable bob"),
            own("disable root"),
            refused(&format!("disable root: {only}")),
            own("make root viewer"),
            refused(&format!("make root viewer: {only}")),
            own("add ANA as viewer, not limited"),
            refused(&format!("add ANA as viewer, not limited: {exists}")),
            own("enable bob"),
            own("another password for ana"),
            own("calls of ana, not limited"),
        ]
    );
    let by = console.done("audit --limit 1").out;
    assert!(by.contains("ana (command line)") && by.contains("1 entry found"), "{by}");
}

/// A second implementation of RFC 6238 in Python: the app.
const APP: &str = "import base64, hmac, struct, sys, time
key = base64.b32decode(sys.argv[1])
digest = hmac.new(key, struct.pack('>Q', int(time.time()) // 30), 'sha1').digest()
at = digest[19] & 15
print('%06d' % ((struct.unpack('>I', digest[at:at + 4])[0] & 0x7fffffff) % 1000000), end='')";

#[test]
fn a_secret_for_codes_holds_once_an_app_has_shown_one() {
    let console = Console::new();
    console.done("console setup --password-file @");
    let has = || {
        let listed = console.done("console people list --format jsonl").out;
        serde_json::from_str::<Value>(&listed).unwrap()["totp"].as_bool().unwrap()
    };
    let wrong = console.typed("console people totp admin", |_| "000000".to_owned());
    assert!(wrong.contains("this code is wrong") && !has(), "{wrong}");
    let right = console.typed("console people totp admin", |shown| {
        let secret = shown.split("authenticator app: ").nth(1).unwrap().lines().next().unwrap();
        assert!(shown.contains(&format!("otpauth://totp/ringtap:admin?secret={secret}&issuer=ringtap")));
        let app = Command::new("python3").args(["-c", APP, secret]).output().unwrap();
        String::from_utf8(app.stdout).unwrap()
    });
    assert!(right.contains("asked for a code at each login") && has(), "{right}");
    let codes = right.split("Recovery codes:").nth(1).unwrap().lines().skip(1);
    assert_eq!(codes.take_while(|line| line.starts_with("  ")).count(), 10, "{right}");
    console.done("console people totp admin --remove");
    assert!(!has());
}

#[test]
fn the_audit_log_is_filtered_verified_and_forgotten() {
    let console = Console::new();
    console.done("console setup --password-file @");
    console.done("console people add bob --role viewer --number +4930123 --password-file @");
    assert!(console.done("audit --text 30123").out.contains("1 entry found"));
    assert!(console.done("audit --who ana* --action people").out.contains("2 entries found"));
    assert!(console.done("audit --action login --since 2026-01-01").out.contains("0 entries found"));
    assert!(console.run("audit --action logins").err.contains("login_failed"));
    let key = fs::read_to_string(console.dir().join("audit/sign.pub")).unwrap();
    let elsewhere = console.folder.path().join("noted.pub");
    fs::write(&elsewhere, key).unwrap();
    let verified = console.done("audit --verify");
    assert!(verified.out.starts_with("2 entries in 1 file, none changed, none missing\n  head 1:"));
    let head = verified.out.trim_end().rsplit(' ').next().unwrap();
    let key = format!("audit --verify --key {} --head {head}", elsewhere.display());
    assert_eq!(console.done(&key).err, "");

    let refused = console.run("audit --forget-before 2026-01-02");
    assert!(refused.status == 2 && refused.err.contains("--yes"), "{refused:?}");
    let refused = console.run("audit --forget-before 2999-01-01 --yes");
    assert!(refused.status == 1 && refused.err.contains("the present day"), "{refused:?}");
    // The key of the day becomes one of an earlier day: its numbers do not open any more.
    let keys = console.dir().join("audit/keys");
    let today = fs::read_dir(&keys).unwrap().next().unwrap().unwrap().path();
    fs::rename(today, keys.join("2026-01-01.key")).unwrap();
    assert!(console.done("audit").out.contains("number (forgotten)"));
    let forgotten = console.done("audit --forget-before 2026-01-02 --reason over --yes");
    assert!(forgotten.err.contains("of 1 day were forgotten"), "{forgotten:?}");
    assert_eq!(fs::read_dir(&keys).unwrap().count(), 0);
    assert!(console.done("audit --limit 1").out.contains("before 2026-01-02 (over)"));
    console.done("audit --verify");

    let log =
        files(&console.dir()).into_iter().find(|path| path.extension().is_some_and(|end| end == "jsonl"));
    let log = log.unwrap();
    let text = fs::read_to_string(&log).unwrap();
    fs::write(&log, text.replace("viewer", "admin!")).unwrap();
    let damaged = console.run("audit --verify");
    assert_eq!(damaged.status, 3);
    assert!(damaged.out.contains("line 2: entry 1 was changed") && damaged.out.contains("1 entry before"));
    let listed = console.run("audit");
    assert!(listed.status == 3 && listed.err.contains("audit --verify"), "{listed:?}");
    let change = console.run("console people enable bob");
    assert!(change.status == 1 && change.err.contains("nothing is done"), "{change:?}");
    assert_eq!(run(["audit", "--people", "/no/such"]).status, 1);
}
