//! Delivers notices to a target.

use std::fmt;
use std::future::Future;

use tokio::runtime::{Builder, Runtime};
use tokio::time::timeout;

use crate::error::NotifyError;
use crate::http::HttpClient;
use crate::notice::Notice;
use crate::smtp::Mailer;
use crate::snmp::Trapper;
use crate::target::{Protocol, Target};
use crate::timeouts::WHOLE;

/// Delivers notices to one target, one after the other.
pub struct Sender {
    target: Target,
    transport: Transport,
    runtime: Runtime,
}

enum Transport {
    Webhook(HttpClient),
    Alertmanager(HttpClient),
    Smtp(Box<Mailer>),
    Snmp(Trapper),
}

impl fmt::Debug for Sender {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Sender({})", self.target.name)
    }
}

impl Sender {
    /// Reads the certificates that vouch for the target. It connects to nothing yet. `secret` is what the
    /// target's [`secret_file`](Target::secret_file) holds, `host` the name of this machine.
    ///
    /// # Errors
    ///
    /// A value of the target, its secret or its certificates cannot be used.
    pub fn open(target: &Target, secret: Option<&str>, host: &str) -> Result<Self, NotifyError> {
        target.check().map_err(|(key, problem)| NotifyError::refused(format!("{key} {problem}")))?;
        install_crypto();
        let transport = match &target.protocol {
            Protocol::Webhook(http) => Transport::Webhook(HttpClient::open(http, secret)?),
            Protocol::Alertmanager(http) => Transport::Alertmanager(HttpClient::open(http, secret)?),
            Protocol::Smtp(smtp) => Transport::Smtp(Box::new(Mailer::open(smtp, secret, host)?)),
            Protocol::Snmp(snmp) => Transport::Snmp(Trapper::open(snmp)),
        };
        let runtime = runtime()?;
        Ok(Self { target: target.clone(), transport, runtime })
    }

    /// The target.
    pub fn target(&self) -> &Target {
        &self.target
    }

    /// Delivers a notice; waits at most 15 s.
    ///
    /// # Errors
    ///
    /// What went wrong, and whether it is worth another attempt.
    pub fn deliver(&self, notice: &Notice) -> Result<(), NotifyError> {
        match &self.transport {
            Transport::Webhook(http) => self.wait(http.post(&notice.to_json())),
            Transport::Alertmanager(http) => self.wait(http.post_alerts(std::slice::from_ref(notice))),
            Transport::Smtp(mailer) => self.wait(mailer.send(notice)),
            Transport::Snmp(trapper) => self.wait(trapper.send(notice)),
        }
    }

    /// Tells a target that [forgets](Target::forgets) of alarms that stand; nothing for others.
    ///
    /// # Errors
    ///
    /// As [`deliver`](Self::deliver).
    pub fn resend(&self, standing: &[Notice]) -> Result<(), NotifyError> {
        match &self.transport {
            Transport::Alertmanager(http) => self.wait(http.post_alerts(standing)),
            _ => Ok(()),
        }
    }

    fn wait(&self, delivery: impl Future<Output = Result<(), NotifyError>>) -> Result<(), NotifyError> {
        let late = || NotifyError::later(format!("it does not answer within {} s", WHOLE.as_secs()));
        self.runtime.block_on(async { timeout(WHOLE, delivery).await.unwrap_or_else(|_| Err(late())) })
    }
}

/// One is enough for the process, and there may be one already.
pub(crate) fn install_crypto() {
    let _ = rustls::crypto::ring::default_provider().install_default();
}

/// What a delivery runs on.
pub(crate) fn runtime() -> Result<Runtime, NotifyError> {
    // Names are resolved in the threads for what blocks.
    let runtime = Builder::new_current_thread().enable_all().max_blocking_threads(2).build();
    runtime.map_err(|error| NotifyError::refused(format!("cannot be told: {error}")))
}
