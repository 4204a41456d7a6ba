//! `[metrics]`, `[log]` and `[process]`: how the program runs and reports.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};

use ringtap_model::Nanos;

use super::key::{Bounds, SECOND, section};
use super::values::{ListenAddress, LogLevel, Span};

section! {
    /// Figures for Prometheus.
    #[name = "metrics"]
    pub(crate) struct Metrics {
        /// Where /metrics and /health are served, to anybody who can connect. Empty serves them nowhere.
        pub(crate) listen: ListenAddress = ListenAddress(Some(SocketAddr::from((Ipv4Addr::LOCALHOST, 9464)))),
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
