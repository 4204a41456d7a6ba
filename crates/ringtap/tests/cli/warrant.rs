//! The register of lawful interception, from set-up to audit, as officers and auditors use it.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on ends")]

use std::fs;
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::{Child, Stdio};

use crate::run::{Run, file, ringtap};

const FIRST: &str = "first horse battery";
pub(crate) const OWN: &str = "correct horse battery";

/// A register in a directory of its own.
pub(crate) struct Files {
    pub(crate) folder: tempfile::TempDir,
}

impl Files {
    fn new() -> Self {
        Self { folder: tempfile::tempdir().unwrap() }
    }

    fn register(&self) -> PathBuf {
        self.folder.path().join("register")
    }

    /// Runs a command as somebody, with lines of passphrases on standard input.
    fn run(&self, who: &str, command: &str, passphrases: &[&str]) -> Run {
        self.run_of("warrant", who, command, passphrases)
    }

    /// Runs a command about requests for retained data.
    pub(crate) fn disclosed(&self, who: &str, command: &str) -> Run {
        let run = self.run_of("disclosure", who, command, &[OWN]);
        assert_eq!(run.status, 0, "{command}: {run:?}");
        run
    }

    pub(crate) fn not_disclosed(&self, who: &str, command: &str, why: &str) -> Run {
        let run = self.run_of("disclosure", who, command, &[OWN]);
        assert!(run.status != 0 && run.err.contains(why), "{command}: {run:?}");
        run
    }

    fn run_of(&self, group: &str, who: &str, command: &str, passphrases: &[&str]) -> Run {
        self.started(group, who, command, passphrases).wait_with_output().unwrap().into()
    }

    /// Starts a command, which has its passphrases.
    pub(crate) fn started(&self, group: &str, who: &str, command: &str, passphrases: &[&str]) -> Child {
        let mut program = ringtap();
        program.arg(group).args(words(command)).args(["--as", who, "--passphrase-fd", "0"]);
        program.arg("--register").arg(self.register());
        program.arg("--master-key").arg(self.folder.path().join("key"));
        let piped = || Stdio::piped();
        let mut child = program.stdin(piped()).stdout(piped()).stderr(piped()).spawn().unwrap();
        let lines: String = passphrases.iter().map(|line| format!("{line}\n")).collect();
        // A command that is refused before it asks reads none.
        let _ = child.stdin.take().unwrap().write_all(lines.as_bytes());
        child
    }

    pub(crate) fn done(&self, who: &str, command: &str, passphrases: &[&str]) -> Run {
        let run = self.run(who, command, passphrases);
        assert_eq!(run.status, 0, "{command}: {run:?}");
        run
    }

    pub(crate) fn refused(&self, who: &str, command: &str, why: &str) {
        let run = self.run(who, command, &[OWN]);
        assert!(run.status != 0 && run.err.contains(why), "{command}: {run:?}");
    }

    /// With the officers ana and ben and the auditor dora.
    pub(crate) fn with_people() -> Self {
        let files = Self::new();
        files.done("ana", "setup", &[OWN]);
        files.done("ana", "people add ben --role officer", &[OWN, FIRST]);
        files.done("ben", "people passphrase", &[FIRST, OWN]);
        let added = files.done("ana", "people add dora --role auditor", &[OWN, FIRST]);
        let number = added.err.trim().rsplit(' ').next().unwrap().to_owned();
        files.refused("ana", &format!("people confirm {number}"), "another officer has to confirm it");
        files.done("ben", &format!("people confirm {number}"), &[OWN]);
        files.done("dora", "people passphrase", &[FIRST, OWN]);
        files
    }
}

/// Words of a command; what stands between apostrophes is one.
fn words(command: &str) -> Vec<String> {
    let pieces = command.split('\'').enumerate();
    pieces
        .flat_map(|(at, piece)| match at % 2 {
            0 => piece.split_whitespace().map(str::to_owned).collect(),
            _ => vec![piece.to_owned()],
        })
        .collect()
}

const WARRANT: &str = "\
liid = 'LI-ZEBRA'
case = 'C-17'
authority = 'District Court'
legal_basis = 'Act 1'
requester = 'Agency A'
authorisation_country = 'GB'
agency = 'agency-a'
operator = 'operator'
ends = '2100-01-01'
delivers = 'both'
target = ['user~:zebra', 'number:+441601234567']
";

/// Gap 11: one person alone could intercept, and nothing told who had looked.
#[test]
fn gap_11_two_officers_for_each_warrant_and_an_auditor_who_sees_every_look() {
    let files = Files::with_people();
    let path = file(files.folder.path(), "warrant.toml", WARRANT.as_bytes());
    files.refused("dora", &format!("enter {}", path.display()), "only an officer");
    let entered = files.done("ana", &format!("enter {}", path.display()), &[OWN]);
    assert!(entered.err.contains("warrant 1 is a draft"), "{entered:?}");
    let shown = files.done("ben", "show 1 --why approval", &[OWN]).out;
    assert!(shown.contains("user~:zebra") && shown.contains("LI-ZEBRA"), "{shown}");
    let hash = shown.trim().rsplit(' ').next().unwrap().to_owned();
    files.refused("ana", &format!("approve 1 --hash {hash}"), "another officer has to approve this");
    files.refused("ben", "approve 1 --hash 0123456789abcdef", "nothing was approved");
    files.refused("ben", "approve 1", "--hash");
    files.done("ben", &format!("approve 1 --hash {}", &hash[..16]), &[OWN]);
    files.done("ben", "extend 1 --ends 2101-01-01 --reference O-2 --authority Court", &[OWN]);
    let listed = files.done("dora", "list --why audit --format jsonl", &[OWN]).out;
    let listed: serde_json::Value = serde_json::from_str(&listed).unwrap();
    assert_eq!((&listed["status"], &listed["approved_by"]), (&"active".into(), &"ben".into()));
    assert_eq!(listed["entered"]["payload_key"], "not encrypted");
    files.done("ana", "note 1 'as agreed'", &[OWN]);
    files.refused("dora", "withdraw 1 --reason x", "only an officer");
    files.done("ana", "withdraw 1 --reason 'lifted by order 2'", &[OWN]);
    files.refused("ana", "extend 1 --ends 2102-01-01 --reference O-3 --authority Court", "has ended");
    let acts = files.done("dora", "acts --why audit --warrant 1 --format jsonl", &[OWN]).out;
    let kinds: Vec<String> = acts
        .lines()
        .map(|line| {
            serde_json::from_str::<serde_json::Value>(line).unwrap()["act"].as_str().unwrap().to_owned()
        })
        .collect();
    // Looks: show, and what each attempt to approve has shown.
    let looks = kinds.iter().filter(|kind| *kind == "look").count();
    assert_eq!(looks, 4 + 1, "{kinds:?}");
    let others: Vec<&String> = kinds.iter().filter(|kind| *kind != "look").collect();
    assert_eq!(others, ["enter", "approve", "extend", "note", "withdraw"]);
    assert!(!acts.contains("zebra") && !acts.contains("ZEBRA"), "targets are with the warrant alone");
    let verified = files.done("dora", "verify --why audit", &[OWN]);
    assert!(verified.out.contains("none changed, none missing"), "{verified:?}");
    let head = verified.out.lines().last().unwrap().trim().strip_prefix("head ").unwrap().to_owned();
    files.done("dora", &format!("verify --why audit --head {head}"), &[OWN]);
    let register = files.register();
    assert_eq!(fs::metadata(&register).unwrap().permissions().mode() & 0o777, 0o700);
    let acts = register.join("acts");
    let text = fs::read_to_string(&acts).unwrap();
    fs::write(&acts, text.split_inclusive('\n').skip(1).collect::<String>()).unwrap();
    let damaged = files.run("dora", "verify --why audit", &[OWN]);
    assert!(damaged.status == 3 && damaged.out.contains("act 0 is missing"), "{damaged:?}");
    files.refused("ana", "list --why look", "is not as it was written");
}

#[test]
fn what_is_refused_says_what_is_right_and_names_no_subject() {
    let files = Files::with_people();
    for (from, to, problem) in [
        ("'user~:zebra'", "'zebra'", "begin with what it is about"),
        ("'user~:zebra'", "'sip:zebra'", "name a host"),
        ("'LI-ZEBRA'", "'LI ZEBRA'", "1 to 25 printable"),
        ("case =", "casse =", "unknown field `casse`"),
        ("ends = '2100-01-01'", "", "`ends` is missing"),
        ("ends = '2100-01-01'", "ends = '2020-01-01'", "later than now"),
        ("['user~:zebra', ", "'user~:zebra', [", "warrant.toml:11"),
        ("'both'", "'everything'", "`iri`, `content` or `both`"),
    ] {
        let text = WARRANT.replace(from, to);
        assert_ne!(text, WARRANT);
        let path = file(files.folder.path(), "warrant.toml", text.as_bytes());
        let run = files.run("ana", &format!("enter {}", path.display()), &[OWN]);
        assert!(run.status != 0 && run.err.contains(problem), "{run:?}");
        assert!(!run.err.to_lowercase().contains("zebra"), "{run:?}");
    }
    files.refused("ana", "enter warrant.toml --case C-1", "a file or options, not both");
    files.refused("ana", "show 7 --why look", "no warrant of that number");
    let wrong = files.run("ana", "list --why look", &[FIRST]);
    assert!(wrong.status == 1 && wrong.err.contains("name or the passphrase is wrong"), "{wrong:?}");
    let nobody = files.run("eve", "list --why look", &[OWN]);
    assert_eq!((nobody.status, nobody.err), (1, wrong.err), "neither tells which of the two it is");
    let again = files.run("ana", "setup", &[OWN]);
    assert!(again.status == 1 && again.err.contains("a register is there already"), "{again:?}");
    let key = files.folder.path().join("key");
    fs::set_permissions(&key, PermissionsExt::from_mode(0o644)).unwrap();
    files.refused("ana", "list --why look", "chmod 600");
}
