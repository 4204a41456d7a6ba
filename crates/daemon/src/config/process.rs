//! `[metrics]`, `[log]` and `[process]`: how the program runs and reports.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};

use ringtap_model::Nanos;

use super::key::{Bounds, KeyProblem, SECOND, section};
use super::values::{ListenAddress, LogLevel, Profile, Span};

section! {
    /// Figures for Prometheus.
    #[name = "metrics"]
    pub(crate) struct Metrics {
        /// Where /metrics and /health are served. Empty serves them nowhere. An address that other machines
        /// reach needs `certificate`, `certificate_key` and `token`.
        pub(crate) listen: ListenAddress = ListenAddress(Some(SocketAddr::from((Ipv4Addr::LOCALHOST, 9464)))),
        /// File of the certificate of the server and those that vouch for it, in PEM: they are served by TLS.
        #[accepts = "a path, such as \"/etc/ringtap/metrics.crt\", or \"\" for none"]
        certificate: PathBuf = PathBuf::new(),
        /// File of the certificate's private key, in PEM, readable by its owner alone.
        #[accepts = "a path, such as \"/etc/ringtap-keys/metrics.key\", or \"\" for none"]
        certificate_key: PathBuf = PathBuf::new(),
        /// File of the token that clients show as `Authorization: Bearer`, readable by its owner alone; 16
        /// characters or more. Empty asks for none.
        #[accepts = "a path, such as \"/etc/ringtap-keys/metrics.token\", or \"\" for none"]
        token: PathBuf = PathBuf::new(),
    }
}

/// The files that guard the metrics.
#[derive(Clone, Debug, Default)]
pub(crate) struct MetricsFiles {
    /// Certificate and its key.
    pub(crate) tls: Option<(PathBuf, PathBuf)>,
    pub(crate) token: Option<PathBuf>,
}

impl Metrics {
    /// The files that guard them.
    pub(crate) fn files(&self) -> MetricsFiles {
        let named = |path: &PathBuf| (!path.as_os_str().is_empty()).then(|| path.clone());
        let tls = named(&self.certificate).zip(named(&self.certificate_key));
        MetricsFiles { tls, token: named(&self.token) }
    }

    /// Whoever is on the way sees nothing, and whoever can connect is asked.
    pub(super) fn check(&self) -> Result<(), KeyProblem> {
        let files = self.files();
        let wrong = |key, problem: String| Err(("metrics", key, problem));
        if files.tls.is_none() && self.certificate != self.certificate_key {
            let key =
                if self.certificate_key.as_os_str().is_empty() { "certificate_key" } else { "certificate" };
            return wrong(key, "is empty, but the other of the two files is set: set both".to_owned());
        }
        match self.listen.0 {
            Some(address)
                if !address.ip().is_loopback() && (files.tls.is_none() || files.token.is_none()) =>
            {
                let missing = if files.tls.is_none() { "certificate, certificate_key" } else { "token" };
                let problem = format!(
                    "{address} can be reached by other machines: set {missing} too, or listen on \
                     127.0.0.1:{}",
                    address.port()
                );
                wrong("listen", problem)
            }
            _ => Ok(()),
        }
    }
}

section! {
    /// Log on standard error, or to systemd's journal.
    #[name = "log"]
    pub(crate) struct Log {
        /// The least important level that is logged.
        #[live = true]
        pub(crate) level: LogLevel = LogLevel::Info,
        /// How often the status line is logged. Zero is never.
        #[live = true]
        #[bounds = Bounds::at_least(SECOND).zero("0s is off")]
        pub(crate) status: Span = Span(Nanos::from_secs(10)),
    }
}

section! {
    /// The user that the process runs as, and how it is controlled.
    #[name = "process"]
    pub(crate) struct Process {
        /// The user to become once the interfaces are open, where the program was started as root. Empty does
        /// not change the user. Capabilities are dropped either way.
        #[accepts = "a user's name, such as \"ringtap\""]
        pub(crate) user: String = String::new(),
        /// Memory: `default` for thousands of calls, or `small` for a telephone system of up to 100 calls at
        /// once, with at most 64 MiB. It sets other defaults; a key that the file has keeps its value.
        pub(crate) profile: Profile = Profile::Default,
        /// Socket for `ringtap keep`, `pause`, `resume` and `rules`. Whoever may write to it, the user of the
        /// process and its group, decides what is recorded. Empty is none.
        #[accepts = "a path, such as \"/run/ringtap/control\", or \"\" for none"]
        control: PathBuf = PathBuf::new(),
    }
}

impl Process {
    /// The control socket; None without one.
    pub(crate) fn control(&self) -> Option<&Path> {
        (!self.control.as_os_str().is_empty()).then_some(&*self.control)
    }
}
