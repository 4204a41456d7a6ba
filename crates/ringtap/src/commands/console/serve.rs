//! `ringtap console serve`: serves the page and its API.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use clap::{Args, value_parser};
#[cfg(feature = "network")]
use ringtap_console::AcmeSettings;
use ringtap_console::{Daemon, OpenSpool, Refused, Security, Settings, Sources, serve};
use ringtap_daemon::KpiRollups;
use ringtap_daemon::control::{self, Request, ask};
use ringtap_kpi::Zone;
use serde_json::Value;

use crate::exit::Exit;
use crate::helper::Helpers;
use crate::interrupt;
use crate::kpi_args::KpiArgs;
use crate::people_args::PeopleArgs;
use crate::screen::Screen;
use crate::spool_args::SpoolArgs;
use crate::store_args::StoreArgs;

use crate::commands::console::assistants::RecordAssistants;
use crate::commands::console::warrants;
use crate::commands::control::ControlArgs;

/// Serve the console: a page on which calls are found, seen and heard, and its HTTP API
///
/// Reads the database, and the spool where `--spool` names it; asks the running daemon for what happens now.
/// `ringtap console setup` makes the first account. It runs at a low priority, in a process of its own: what
/// people search never takes time from the capture.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct ServeArgs {
    /// Address and port to listen at
    #[arg(long, value_name = "ADDRESS:PORT", default_value = "127.0.0.1:8443")]
    listen: SocketAddr,
    /// A name under which people ask for the page, beside the address; may be repeated. Requests under other
    /// names are refused
    #[arg(long, value_name = "NAME")]
    host: Vec<String>,
    /// A certificate chain, in PEM; without it, one of its own is made at the first start
    #[arg(long, value_name = "FILE", requires = "tls_key")]
    tls_certificate: Option<PathBuf>,
    /// The key of that certificate, in PEM
    #[arg(long, value_name = "FILE", requires = "tls_certificate")]
    tls_key: Option<PathBuf>,
    /// An ACME server (RFC 8555), by the URL of its directory, that issues and renews the certificate for the
    /// names of `--host`. It reaches this console at port 443 of these names (TLS-ALPN-01). Using it is to
    /// accept its terms
    #[cfg(feature = "network")]
    #[arg(long, value_name = "URL", conflicts_with_all = ["tls_certificate", "plain_http"])]
    acme: Option<String>,
    /// Where the ACME server may write to about certificates, such as noc@example.org; may be repeated
    #[cfg(feature = "network")]
    #[arg(long, value_name = "MAIL", requires = "acme")]
    acme_contact: Vec<String>,
    /// Who may vouch for the ACME server itself, in PEM, in place of the authorities of this machine
    #[cfg(feature = "network")]
    #[arg(long, value_name = "FILE", requires = "acme")]
    acme_ca: Option<PathBuf>,
    /// No TLS: behind a proxy on this machine, or for a look
    #[arg(long, conflicts_with = "tls_certificate")]
    plain_http: bool,
    /// Longest time of a search, in seconds
    #[arg(
        long,
        value_name = "SECONDS",
        default_value_t = 20,
        value_parser = value_parser!(u64).range(1..=600)
    )]
    search_time: u64,
    /// An identity provider by which people log in (OpenID Connect): a file in TOML, which the page on people
    /// of the manual describes
    #[arg(long, value_name = "FILE")]
    oidc: Option<PathBuf>,
    #[command(flatten)]
    people: PeopleArgs,
    #[command(flatten)]
    store: StoreArgs,
    #[command(flatten)]
    spool: SpoolArgs,
    #[command(flatten)]
    at: ControlArgs,
    #[command(flatten)]
    config: KpiArgs,
}

const EXAMPLES: &str = "\
Examples:
  ringtap console setup
  ringtap console serve --spool /var/lib/ringtap/spool
  ringtap console serve --listen 0.0.0.0:8443 --host tap.example.org \\
--tls-certificate tap.pem --tls-key tap.key
  ringtap console serve --listen 0.0.0.0:443 --host tap.example.org \
--acme https://acme-v02.api.letsencrypt.org/directory --acme-contact noc@example.org
  ringtap console serve --host tap.example.org --oidc /etc/ringtap/oidc.toml
  ringtap console serve --plain-http --listen 127.0.0.1:8080 --store records --people ./console";

impl ServeArgs {
    /// Runs it.
    pub(crate) fn run(self, screen: &mut Screen) -> anyhow::Result<Exit> {
        let security = self.security();
        let scheme = if matches!(security, Security::Plain) { "http" } else { "https" };
        let settings = Settings {
            listen: self.listen,
            hosts: self.host.clone(),
            security,
            people: self.people.dir().to_owned(),
            search_time: Duration::from_secs(self.search_time),
            link: None,
            provider: self.provider()?,
        };
        let sources = self.sources(screen)?;
        ringtap_daemon::log_to_stderr();
        // Threads inherit it: capturing always comes first.
        ringtap_cpu::give_way(NICE);
        ringtap_cpu::short_slices();
        ringtap_cpu::keep_free_memory();
        let name = self.host.first().cloned();
        let stop = interrupt::asked;
        let ready = |address: SocketAddr| {
            let host = name.unwrap_or_else(|| address.ip().to_string());
            screen.remark(format!("the console is at {scheme}://{host}:{}/", address.port()));
        };
        serve(settings, sources, ready, stop)?;
        Ok(Exit::Done)
    }

    fn security(&self) -> Security {
        #[cfg(feature = "network")]
        if let Some(directory) = &self.acme {
            return Security::Acme(AcmeSettings {
                directory: directory.clone(),
                contact: self.acme_contact.clone(),
                domains: self.host.clone(),
                ca: self.acme_ca.clone(),
                directory_of_files: self.people.dir().to_owned(),
                patience: Duration::from_secs(120),
            });
        }
        match (&self.tls_certificate, &self.tls_key, self.plain_http) {
            (Some(certificate), Some(key), _) => {
                Security::Files { certificate: certificate.clone(), key: key.clone() }
            }
            (_, _, true) => Security::Plain,
            _ => Security::Own(self.people.dir().to_owned()),
        }
    }

    fn provider(&self) -> anyhow::Result<Option<ringtap_oidc::Settings>> {
        let secret = |path: &Path| ringtap_spool::secret(path).map_err(|error| error.to_string());
        let read = |path: &PathBuf| ringtap_oidc::Settings::read(path, secret);
        self.oidc.as_ref().map(read).transpose().context("the identity provider cannot be used")
    }

    fn sources(&self, screen: &mut Screen) -> anyhow::Result<Sources> {
        let config = self.config.read(screen)?;
        let zone = config.as_ref().map_or(Zone::UTC, |config| config.zone.clone());
        let kpis = KpiRollups(config.unwrap_or_default().settings);
        let longest = Duration::from_secs(self.search_time);
        let assistants = RecordAssistants::of(&self.store, &self.spool, &kpis, longest);
        let spool: Option<OpenSpool> = if self.spool.spool.is_empty() {
            None
        } else {
            // What is wrong with it is said now, not to the first who listens. It may be one to come.
            if let Err(error) = self.spool.open(screen) {
                screen.remark(format!("until this is mended, no packets are shown: {error:#}"));
            }
            let spool = self.spool.clone();
            Some(Arc::new(move || spool.open_quietly()))
        };
        let sensor = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
        if !self.store.directory().is_dir() {
            screen.remark(format!(
                "the database `{}` does not exist yet: it is that of `ringtap run` that `--store` names",
                self.store.directory().display()
            ));
        }
        Ok(Sources {
            records: self.store.directory().to_owned(),
            spool,
            spool_directory: self.spool.spool.first().cloned(),
            daemon: Some(Arc::new(ControlSocket(self.at.control.clone()))),
            assistants: Some(Arc::new(assistants)),
            decoders: Arc::new(Helpers),
            kpis: Arc::new(kpis),
            zone,
            sensor: sensor.trim().to_owned(),
            warrants: self.config.warrants()?.map(|config| warrants::of(config, screen)).transpose()?,
        })
    }
}

/// The daemon behind its control socket.
struct ControlSocket(PathBuf);

impl ControlSocket {
    /// Asks it; what it refuses is told apart from not being reached.
    fn ask(&self, request: &Request) -> anyhow::Result<String> {
        ask(&self.0, request).map_err(|error| match error.downcast::<control::Refused>() {
            Ok(control::Refused(why)) => Refused(why).into(),
            Err(error) => error,
        })
    }
}

impl Daemon for ControlSocket {
    fn status(&self) -> anyhow::Result<Value> {
        let told = self.ask(&Request::Status)?;
        serde_json::from_str(&told).context("the daemon is of another version: its state cannot be read")
    }

    fn retention(&self) -> anyhow::Result<Value> {
        let told = self.ask(&Request::Retention)?;
        serde_json::from_str(&told).context("the daemon is of another version: what it keeps cannot be read")
    }

    fn rules(&self) -> anyhow::Result<Value> {
        let told = self.ask(&Request::Decisions)?;
        serde_json::from_str(&told).context("the daemon is of another version: its rules cannot be read")
    }

    fn set_rules(&self, version: &str, rules: Vec<Value>, is_trial: bool) -> anyhow::Result<Value> {
        let rules = serde_json::from_value(Value::Array(rules)).context("the rules cannot be sent")?;
        let told = self.ask(&Request::SetRules { version: version.to_owned(), rules, trial: is_trial })?;
        serde_json::from_str(&told).context("the daemon is of another version: its answer cannot be read")
    }

    fn calls(&self, most: usize) -> anyhow::Result<Value> {
        let told = self.ask(&Request::Calls { most })?;
        serde_json::from_str(&told).context("the daemon is of another version: its calls cannot be read")
    }

    fn keep(&self, call_id: &str, what: &str) -> anyhow::Result<()> {
        self.ask(&Request::Keep { call: call_id.to_owned(), what: what.to_owned() }).map(drop)
    }

    fn pause(&self, call_id: &str, paused: bool) -> anyhow::Result<()> {
        let call = call_id.to_owned();
        self.ask(&if paused { Request::Pause { call } } else { Request::Resume { call } }).map(drop)
    }

    fn listen(&self, call_ids: &[String]) -> anyhow::Result<Value> {
        let told = self.ask(&Request::Listen { calls: call_ids.to_vec() })?;
        serde_json::from_str(&told).context("the daemon is of another version: its answer cannot be read")
    }

    fn hold(&self, call_id: &str, case: &str) -> anyhow::Result<()> {
        let (call, case) = (call_id.to_owned(), case.to_owned());
        self.ask(&Request::Hold { call, case, product: false }).map(drop)
    }

    fn alarms(&self) -> anyhow::Result<String> {
        self.ask(&Request::Alarms)
    }

    fn acknowledge(&self, id: &str, by: &str, comment: &str) -> anyhow::Result<String> {
        let (id, by, comment) = (id.to_owned(), by.to_owned(), comment.to_owned());
        self.ask(&Request::Acknowledge { id, by, comment })
    }

    fn silence(
        &self,
        rule: &str,
        subject: &str,
        seconds: u64,
        by: &str,
        comment: &str,
    ) -> anyhow::Result<String> {
        let (rule, subject) = (rule.to_owned(), subject.to_owned());
        if seconds == 0 {
            return self.ask(&Request::Unsilence { rule, subject });
        }
        let (by, comment) = (by.to_owned(), comment.to_owned());
        self.ask(&Request::Silence { rule, subject, seconds, by, comment })
    }
}

/// Below whatever captures. What takes longer than a moment gives way further: `Work` of the console.
const NICE: i32 = 5;
