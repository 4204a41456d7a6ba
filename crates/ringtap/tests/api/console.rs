//! A real console: over what was recorded of generated calls and of the demo, with a daemon that replays
//! others.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

/// Programs that run until this is dropped.
pub(crate) struct Console {
    folder: tempfile::TempDir,
    daemon: Child,
    serving: Child,
    address: String,
}

/// An answer.
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) head: String,
    pub(crate) body: Vec<u8>,
}

impl Answer {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_default()
    }
}

impl Console {
    pub(crate) fn start() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let dir = folder.path();
        for name in ["records", "outbox", "spool"] {
            fs::create_dir(dir.join(name)).unwrap();
        }
        let demo = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../demo/calls.pcap");
        let (past, live) = (dir.join("past.pcap"), dir.join("live.pcap"));
        generate(
            &past,
            "--calls 40 --rate 2 --hold 5 --codec PCMU --failed 20% --registrations 10 --dtmf 20%",
        );
        generate(&live, "--calls 12 --rate 4 --hold 900 --codec G729 --failed 0% --cancelled 0% --dtmf 0%");
        configure(dir, "past.toml", &[&demo, &past], "\"max\"");
        configure(dir, "live.toml", &[&live], "1.0");
        run(&["run", "-c", &dir.join("past.toml").to_string_lossy()]);
        let mut daemon = ringtap();
        daemon.args(["run", "-c"]).arg(dir.join("live.toml"));
        let daemon = daemon.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        add_people(dir);
        let (serving, address) = serve(dir);
        let console = Self { daemon, serving, address, folder };
        let root = console.log_in("root");
        let begun = Instant::now();
        // The daemon and its calls.
        while console.get("/api/v1/live/calls", &root).json()["total"].as_u64() < Some(10) {
            assert!(begun.elapsed() < Duration::from_secs(60), "the daemon has no calls");
            std::thread::sleep(Duration::from_millis(200));
        }
        console
    }

    /// `http://127.0.0.1:PORT`.
    pub(crate) fn base(&self) -> String {
        format!("http://{}", self.address)
    }

    pub(crate) fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// The cookie of a session.
    pub(crate) fn log_in(&self, name: &str) -> String {
        for password in [PASSWORD, FIRST_PASSWORD] {
            let mut login = json!({ "name": name, "password": password });
            if password == FIRST_PASSWORD {
                login["new_password"] = json!(PASSWORD);
            }
            let answer = self.ask("POST", "/api/v1/session", "", &login.to_string());
            if answer.status == 200 {
                let cookie = answer.head.lines().find_map(|line| line.strip_prefix("set-cookie: "));
                return cookie.unwrap().split(';').next().unwrap().to_owned();
            }
        }
        panic!("{name} cannot log in")
    }

    /// A token of whoever has that cookie.
    pub(crate) fn make_token(&self, cookie: &str) -> String {
        let wanted = json!({ "name": "first", "rights": ["search", "signalling", "export"], "days": 1 });
        let made = self.ask("POST", "/api/v1/tokens", cookie, &wanted.to_string());
        made.json()["token"].as_str().unwrap().to_owned()
    }

    pub(crate) fn get(&self, path: &str, cookie: &str) -> Answer {
        self.ask("GET", path, cookie, "")
    }

    fn ask(&self, method: &str, path: &str, cookie: &str, body: &str) -> Answer {
        let mut stream = TcpStream::connect(&self.address).unwrap();
        write!(
            stream,
            "{method} {path} HTTP/1.1\r\nhost: {}\r\nconnection: close\r\nx-ringtap: 1\r\n\
             cookie: {cookie}\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
            self.address,
            body.len()
        )
        .unwrap();
        let mut all = Vec::new();
        stream.read_to_end(&mut all).unwrap();
        let end = all.windows(4).position(|four| four == b"\r\n\r\n").unwrap();
        let head = String::from_utf8_lossy(&all[..end]).into_owned();
        let status = head.split(' ').nth(1).unwrap().parse().unwrap();
        Answer { status, head, body: all[end + 4..].to_vec() }
    }

    /// Nothing that was asked ended it, nor the daemon.
    pub(crate) fn assert_alive(mut self) {
        assert!(self.serving.try_wait().unwrap().is_none(), "the console has ended");
        assert!(self.daemon.try_wait().unwrap().is_none(), "the daemon has ended");
    }
}

impl Drop for Console {
    fn drop(&mut self) {
        for child in [&mut self.serving, &mut self.daemon] {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

fn ringtap() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_ringtap"));
    command.env_remove("NO_COLOR").stdin(Stdio::null());
    command
}

fn run(arguments: &[&str]) {
    let output = ringtap().args(arguments).output().unwrap();
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
}

fn generate(to: &Path, options: &str) {
    let path = to.to_string_lossy();
    let mut arguments = vec!["generate", "--out", &path, "--seed", "7"];
    arguments.extend(options.split(' '));
    run(&arguments);
}

fn configure(dir: &Path, name: &str, files: &[&PathBuf], speed: &str) {
    let at = |name: &str| dir.join(name).display().to_string();
    let files: Vec<String> = files.iter().map(|file| format!("{:?}", file.display().to_string())).collect();
    let text = format!(
        "[capture]\nfiles = [{}]\nspeed = {speed}\n[store]\ndirectory = {:?}\noutbox = {:?}\n[journal]\n\
         path = {:?}\n[metrics]\nlisten = \"\"\n[spool]\ndirectory = {:?}\nage = \"1s\"\n[retention]\n\
         free = \"0%\"\n[process]\ncontrol = {:?}\n[[trunk]]\nname = \"carrier-a\"\n\
         addresses = [\"198.51.100.0/24\"]\n[[alarm]]\nname = \"busy\"\nfigure = \"in_progress\"\n\
         above = 5\n",
        files.join(", "),
        at("records"),
        at("outbox"),
        at("journal"),
        at("spool"),
        at("control"),
    );
    fs::write(dir.join(name), text).unwrap();
}

fn add_people(dir: &Path) {
    let secret = dir.join("password");
    fs::write(&secret, format!("{FIRST_PASSWORD}\n")).unwrap();
    fs::set_permissions(&secret, PermissionsExt::from_mode(0o600)).unwrap();
    let (secret, people) = (secret.display().to_string(), dir.join("people").display().to_string());
    let common = ["--password-file", &secret, "--people", &people];
    run(&[&["console", "setup", "--name", "root"][..], &common].concat());
    for (name, role) in [("ana", "engineer"), ("vic", "viewer")] {
        run(&[&["console", "people", "add", name, "--role", role][..], &common].concat());
    }
}

/// Serves it; returns once it says where.
fn serve(dir: &Path) -> (Child, String) {
    let mut command = ringtap();
    command.args(["console", "serve", "--plain-http", "--listen", "127.0.0.1:0"]);
    for (option, name) in [
        ("--people", "people"),
        ("--store", "records"),
        ("--spool", "spool"),
        ("--control", "control"),
        ("--config", "past.toml"),
    ] {
        command.arg(option).arg(dir.join(name));
    }
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(child.stderr.take().unwrap()).lines().map_while(Result::ok);
    let said = lines.by_ref().find(|line| line.contains("http://")).expect("it says where it is");
    // What it says later is read, so that it can go on saying it.
    std::thread::spawn(move || lines.for_each(drop));
    let address = said.split("http://").nth(1).unwrap().trim_end_matches('/').to_owned();
    (child, address)
}

const FIRST_PASSWORD: &str = "correct horse battery staple";
pub(crate) const PASSWORD: &str = "another horse, another staple";
