//! `ringtap open`: captures in the browser.

use std::collections::VecDeque;
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use clap::{Args, value_parser};
use ringtap_access::{NewPerson, People, Role, Scope, Settings as PeopleSettings};
use ringtap_console::{Link, OpenSpool, Security, Settings, Sources, serve};
use ringtap_daemon::{KpiConfig, KpiRollups};
use ringtap_kpi::Zone;
use ringtap_report::text::counted;
use ringtap_report::time;
use tempfile::TempDir;
use toml::{Table, Value};

use crate::exit::{Exit, Misuse};
use crate::helper::Helpers;
use crate::interrupt;
use crate::screen::Screen;

/// Open captures in the browser: their calls, ladders, sound and figures
///
/// Follows the calls of the files as `ringtap run` does, into a directory that is removed at the end, and
/// serves the console to this machine alone until Ctrl-C. The address that is printed logs in whoever has
/// it, with every right.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Open {
    /// Capture files, merged by time
    #[arg(value_name = "FILE", required_unless_present = "dir")]
    files: Vec<PathBuf>,
    /// Keep records and packets in this directory; without files, open what is there
    #[arg(long, value_name = "DIR")]
    dir: Option<PathBuf>,
    /// Address and port to listen at, on this machine; port 0 is a free one
    #[arg(long, value_name = "ADDRESS:PORT", default_value = "127.0.0.1:0")]
    listen: SocketAddr,
    /// Print the address, and start no browser
    #[arg(long)]
    no_browser: bool,
    /// End after so many minutes, without Ctrl-C
    #[arg(long, value_name = "MINUTES", value_parser = value_parser!(u64).range(1..=1_440))]
    minutes: Option<u64>,
}

const EXAMPLES: &str = "\
Examples:
  ringtap open trunk.pcap
  ringtap open monday-*.pcap --dir monday      # keeps what it made
  ringtap open --dir monday                    # and opens it again, at once
  ringtap open trunk.pcap --no-browser --listen 127.0.0.1:8080";

/// Where everything is.
struct Folder {
    path: PathBuf,
    /// Removed when dropped.
    _temporary: Option<TempDir>,
}

impl Open {
    /// Runs it.
    pub(crate) fn run(self, screen: &mut Screen) -> anyhow::Result<Exit> {
        if !self.listen.ip().is_loopback() {
            return Err(Misuse(format!(
                "`--listen {}` is not of this machine alone, and the address logs in whoever has it: use \
                 `ringtap console serve`, with people and TLS",
                self.listen
            ))
            .into());
        }
        let folder = self.folder()?;
        if !self.files.is_empty() {
            self.follow(&folder.path, screen)?;
        }
        if interrupt::asked() {
            return Ok(Exit::Interrupted);
        }
        self.serve(&folder, screen)?;
        Ok(Exit::Done)
    }

    fn folder(&self) -> anyhow::Result<Folder> {
        let Some(path) = &self.dir else {
            let made = tempfile::Builder::new().prefix("ringtap-open-").tempdir();
            let made = made.context("cannot make a directory for what the captures have: use `--dir`")?;
            return Ok(Folder { path: made.path().to_owned(), _temporary: Some(made) });
        };
        let is_there = path.join(RECORDS).is_dir();
        if is_there && !self.files.is_empty() {
            return Err(Misuse(format!(
                "`{0}` has records already: open them with `ringtap open --dir {0}`, or name another \
                 directory",
                path.display()
            ))
            .into());
        }
        if !is_there && self.files.is_empty() {
            return Err(Misuse(format!(
                "`{}` is not what `ringtap open` kept: it has no directory `{RECORDS}`",
                path.display()
            ))
            .into());
        }
        fs::create_dir_all(path)
            .with_context(|| format!("cannot make the directory `{}`", path.display()))?;
        Ok(Folder { path: path.clone(), _temporary: None })
    }

    /// Follows the calls of the files, in a daemon that ends with them.
    fn follow(&self, folder: &Path, screen: &mut Screen) -> anyhow::Result<()> {
        let files = self.files.iter().map(|file| {
            let of = || format!("cannot read the capture `{}`", file.display());
            fs::File::open(file).with_context(of)?;
            fs::canonicalize(file).with_context(of)
        });
        let files = files.collect::<anyhow::Result<Vec<PathBuf>>>()?;
        let config = folder.join("ringtap.toml");
        let written = fs::write(&config, configuration(folder, &files)?);
        written.with_context(|| format!("cannot write `{}`", config.display()))?;
        screen.remark(format!("following the calls of {}", counted(files.len() as u64, "file")));
        let program = std::env::current_exe().context("cannot find this program to start it again")?;
        let mut command = Command::new(program);
        command.args(["run", "--status", PROGRESS, "--config"]).arg(&config);
        let mut child = command
            .stdin(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .context("cannot start this program again")?;
        let log = child.stderr.take().context("the log cannot be read")?;
        let mut last = VecDeque::new();
        for line in BufReader::new(log).lines() {
            let line = line.context("the log cannot be read")?;
            tell(&line, screen);
            if last.len() == SHOWN {
                last.pop_front();
            }
            last.push_back(line);
        }
        let ended = child.wait().context("cannot wait for it")?;
        if !ended.success() && !interrupt::asked() {
            // It says why in its last line, unless it was killed or crashed.
            let why = last.back().and_then(|line| line.strip_prefix("ringtap: ")).map(ToOwned::to_owned);
            let why = why.unwrap_or_else(|| format!("{ended}: {}", Vec::from(last).join(" | ")));
            bail!("the captures could not be followed: {why}");
        }
        Ok(())
    }

    fn serve(&self, folder: &Folder, screen: &mut Screen) -> anyhow::Result<()> {
        let (link, people) = login(&folder.path)?;
        let key = link.key.clone();
        let settings = Settings {
            listen: self.listen,
            hosts: Vec::new(),
            security: Security::Plain,
            people,
            search_time: Duration::from_secs(60),
            link: Some(link),
            provider: None,
        };
        let end = self.minutes.map(|minutes| Instant::now() + Duration::from_secs(60 * minutes));
        let stop = || interrupt::asked() || end.is_some_and(|end| Instant::now() >= end);
        let ready = |address: SocketAddr| {
            let address = format!("http://{address}/open/{key}");
            // To standard output, where a script finds it; whoever reads no further has read it.
            let _ = writeln!(screen.out, "{address}").and_then(|()| screen.out.flush());
            screen.remark("the page is open until Ctrl-C");
            if !self.no_browser && screen.terminal {
                browse(&address);
            }
        };
        serve(settings, sources(&folder.path), ready, stop)
    }
}

/// What the daemon is told.
fn configuration(folder: &Path, files: &[PathBuf]) -> anyhow::Result<String> {
    let text = |path: &Path| -> anyhow::Result<Value> {
        let text = path.to_str().with_context(|| format!("`{}` is not UTF-8", path.display()))?;
        Ok(Value::String(text.to_owned()))
    };
    let section = |pairs: Vec<(&str, Value)>| -> Value {
        Value::Table(pairs.into_iter().map(|(key, value)| (key.to_owned(), value)).collect())
    };
    let files = files.iter().map(|file| text(file)).collect::<anyhow::Result<Vec<Value>>>()?;
    let transactions = ["OPTIONS", "SUBSCRIBE", "NOTIFY", "PUBLISH"].map(Value::from).to_vec();
    let mut whole = Table::new();
    for (name, pairs) in [
        ("capture", vec![("files", Value::Array(files)), ("speed", "max".into())]),
        ("engine", vec![("transactions", Value::Array(transactions))]),
        (
            "store",
            vec![("directory", text(&folder.join(RECORDS))?), ("outbox", text(&folder.join("outbox"))?)],
        ),
        ("spool", vec![("directory", text(&folder.join(SPOOL))?)]),
        // A ladder shows the outages of the services that a call went through.
        ("availability", vec![("follow", true.into())]),
        // What is beside it is this run's alone: the machine may have a sensor, and others may open captures.
        ("journal", vec![("enabled", false.into()), ("path", text(&folder.join("journal"))?)]),
        // Whoever opens a capture wants all of it, however full the disk is.
        ("retention", vec![("free", "0%".into()), ("free_again", "0%".into())]),
        ("metrics", vec![("listen", "".into())]),
    ] {
        whole.insert(name.to_owned(), section(pairs));
    }
    Ok(toml::to_string(&whole)?)
}

/// Passes on what the daemon says that the one who waits has to know.
fn tell(line: &str, screen: &mut Screen) {
    let Some((_, said)) = line.split_once(' ') else { return };
    let (level, said) = said.trim_start().split_once(' ').unwrap_or((said, ""));
    let said = said.trim_start();
    match level {
        "warn" | "error" => screen.remark(said),
        _ if said.starts_with("status: ") && screen.watched => {
            let figure = |name: &str| said.split(' ').find_map(|word| word.strip_prefix(name));
            let calls = figure("calls=").unwrap_or_default();
            screen.remark(format!("{calls} calls (under way/begun)"));
        }
        _ if said.starts_with("run: stopped: ") => screen.remark(said.trim_start_matches("run: stopped: ")),
        _ => {}
    }
}

/// Somebody with every right, and the link that logs in as them.
fn login(folder: &Path) -> anyhow::Result<(Link, PathBuf)> {
    let dir = folder.join("console");
    // Those of an earlier time had another password, which is kept nowhere.
    if dir.exists() {
        fs::remove_dir_all(&dir).with_context(|| format!("cannot remove `{}`", dir.display()))?;
    }
    let people = People::open(&dir, PeopleSettings::default())?;
    let (key, password) = (People::generate_password()?, People::generate_password()?);
    let (role, scope) = (Role::Administrator, Scope::everything());
    let new = NewPerson { name: NAME, role, scope, password: &password, must_change: false };
    people.add(&new, time::now())?;
    let link = Link { key: key.to_string(), name: NAME.to_owned(), password: password.to_string() };
    Ok((link, dir))
}

fn sources(folder: &Path) -> Sources {
    let spool = folder.join(SPOOL);
    let open: OpenSpool = Arc::new(move || Ok(ringtap_spool::Reader::open(&spool)?));
    let KpiConfig { settings, .. } = KpiConfig::default();
    Sources {
        records: folder.join(RECORDS),
        spool: Some(open),
        spool_directory: Some(folder.join(SPOOL)),
        daemon: None,
        assistants: None,
        decoders: Arc::new(Helpers),
        kpis: Arc::new(KpiRollups(settings)),
        zone: Zone::UTC,
        sensor: String::new(),
        warrants: None,
    }
}

/// Starts the browser of a desktop; whoever has none has the address.
fn browse(address: &str) {
    let has_desktop = ["DISPLAY", "WAYLAND_DISPLAY"].into_iter().any(|name| std::env::var_os(name).is_some());
    if has_desktop {
        let mut command = Command::new("xdg-open");
        command.arg(address).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        // It ends by itself once the browser has the address.
        let _ = command.spawn();
    }
}

const RECORDS: &str = "records";
const SPOOL: &str = "spool";
const NAME: &str = "me";
/// Seconds between two lines of progress.
const PROGRESS: &str = "5";
/// Lines of the log that an error shows where the last one does not say why.
const SHOWN: usize = 8;
