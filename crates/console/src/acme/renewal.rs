//! When a certificate is ordered, and what is said where none is issued.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use anyhow::Context;
use ringtap_model::Nanos;
use ringtap_report::time;
use rustls::server::ResolvesServerCert;
use rustls::sign::CertifiedKey;

use super::client::Client;
use super::files::{Files, Issued};
use super::issue::issue;
use super::served::ServedCertificate;
use super::settings::AcmeSettings;

/// The certificate of a console, renewed in time.
#[derive(Debug)]
pub(crate) struct Renewal {
    settings: AcmeSettings,
    client: Client,
    files: Files,
    served: Arc<ServedCertificate>,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    /// What is served; `None` is the certificate that the console made for itself.
    issued: Option<Issued>,
    /// Why the last attempt failed, and how many have failed since one succeeded.
    failed: Option<(String, u32)>,
}

impl Renewal {
    /// With the certificate that was issued last, else with `own`.
    ///
    /// # Errors
    ///
    /// The settings cannot be right. Whether the server answers is not asked.
    pub(crate) fn open(settings: &AcmeSettings, own: Arc<CertifiedKey>) -> anyhow::Result<Arc<Self>> {
        settings.check()?;
        let client = Client::open(settings.ca.as_deref())?;
        let files = Files::of(&settings.directory_of_files);
        let found = files.certificate(&settings.domains).unwrap_or_else(|error| {
            log::warn!(target: "console", "the certificate is ordered anew: {error:#}");
            None
        });
        let issued = found.filter(|issued| time::now() < issued.end);
        if issued.is_none() {
            log::warn!(
                target: "console",
                "no certificate was issued yet: one that the console made for itself is served until {} \
                 gives one",
                settings.directory
            );
        }
        let current = issued.as_ref().map_or(own, |issued| Arc::clone(&issued.key));
        Ok(Arc::new(Self {
            settings: settings.clone(),
            client,
            files,
            served: Arc::new(ServedCertificate::of(current)),
            state: Mutex::new(State { issued, failed: None }),
        }))
    }

    /// What chooses the certificate of each handshake.
    pub(crate) fn resolver(&self) -> Arc<dyn ResolvesServerCert> {
        let served: Arc<ServedCertificate> = Arc::clone(&self.served);
        served
    }

    /// Renews for as long as the console is served.
    pub(crate) async fn run(self: Arc<Self>) {
        loop {
            let (due, wait) = self.next(time::now());
            if !due {
                tokio::time::sleep(wait).await;
                continue;
            }
            let renewed = tokio::time::timeout(LONGEST, self.renew()).await;
            self.served.forget();
            match renewed.unwrap_or_else(|_| Err(anyhow::anyhow!("the server takes too long"))) {
                Ok(end) => {
                    log::info!(
                        target: "console",
                        "certificate issued for {}, valid until {}",
                        self.settings.domains.join(", "),
                        time::full(end)
                    );
                    // One that has ended already is not ordered again and again.
                    tokio::time::sleep(self.settings.patience).await;
                }
                Err(error) => tokio::time::sleep(self.failed(&format!("{error:#}"))).await,
            }
        }
    }

    /// Whether one is to be ordered now, else how long to wait until that is asked again: the clock may step.
    fn next(&self, now: Nanos) -> (bool, Duration) {
        let due = self.state().issued.as_ref().map_or(Nanos::ZERO, Issued::due);
        let left = Duration::from_nanos(due.since(now).0);
        (now >= due, left.min(OFTEN))
    }

    /// Orders one, keeps it and serves it; when it ends.
    async fn renew(&self) -> anyhow::Result<Nanos> {
        let pem = issue(&self.settings, &self.client, &self.files, &self.served).await?;
        let issued =
            Issued::of(pem.as_bytes(), &self.settings.domains).context("what was issued cannot be used")?;
        self.files.save_certificate(pem.as_bytes())?;
        self.served.replace(Arc::clone(&issued.key));
        let end = issued.end;
        *self.state() = State { issued: Some(issued), failed: None };
        Ok(end)
    }

    /// Says that an attempt has failed; how long the next one waits.
    fn failed(&self, why: &str) -> Duration {
        let mut state = self.state();
        let failures = state.failed.as_ref().map_or(0, |(_, failures)| *failures) + 1;
        state.failed = Some((why.to_owned(), failures));
        let wait = self.settings.patience.saturating_mul(3u32.saturating_pow(failures - 1)).min(SELDOM);
        let until = state.issued.as_ref().map_or_else(
            || "the one that the console made for itself".to_owned(),
            |issued| format!("the one that is valid until {}", time::full(issued.end)),
        );
        log::warn!(
            target: "console",
            "certificate not issued by {}: {why}; {until} is served on, and the next attempt is in {} s",
            self.settings.directory,
            wait.as_secs()
        );
        wait
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether what is served is what was ordered, for people.
    pub(crate) fn check(&self, now: Nanos) -> Result<String, String> {
        let state = self.state();
        let why = state.failed.as_ref().map(|(why, failures)| {
            format!(
                "the last of {failures} attempts at {} failed: {why}. Is the server reached from here, and \
                 port 443 of {} from there? The log says when the next attempt is",
                self.settings.directory,
                self.settings.domains.join(", ")
            )
        });
        match (&state.issued, why) {
            (Some(issued), why) if now < issued.end => {
                let days = issued.end.since(now).0 / DAY;
                let why = why.map(|why| format!(", but cannot be renewed: {why}")).unwrap_or_default();
                Ok(format!("it is valid for {days} days{why}"))
            }
            (Some(issued), why) => {
                let why = why.unwrap_or_else(|| "it is being renewed".to_owned());
                Err(format!("it ended at {}: {why}", time::full(issued.end)))
            }
            (None, why) => {
                let why = why.unwrap_or_else(|| "the first is being ordered".to_owned());
                Err(format!("browsers do not trust the one that the console made for itself: {why}"))
            }
        }
    }
}

/// Longest time of an order.
const LONGEST: Duration = Duration::from_secs(600);
/// How often it is asked whether one is due.
const OFTEN: Duration = Duration::from_secs(3_600);
/// Longest time between two attempts.
const SELDOM: Duration = Duration::from_secs(43_200);
/// Nanoseconds of a day.
const DAY: u64 = 86_400_000_000_000;
