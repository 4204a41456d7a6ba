//! What every request shares.

use std::io::Write;
use std::sync::Arc;
use std::time::Instant;

use axum::body::Bytes;
use axum::http::HeaderValue;
use flate2::Compression;
use flate2::write::GzEncoder;
use ringtap_access::{AuditLog, People};
use ringtap_anonymise::Tokens;
use ringtap_oidc::Provider;
use ringtap_store::{OpenFiles, Reader};
use serde_json::Value;
use sha2::{Digest, Sha256};

use crate::checks::Health;
use crate::hosts::Hosts;
use crate::listen::{Ears, Tail};
use crate::live_calls::LiveCalls;
use crate::mask;
use crate::meter::Meter;
use crate::problem::Problem;
use crate::recent::Recent;
use crate::server::{Certificate, Security};
use crate::settings::{Link, Settings};
use crate::sites::Sites;
use crate::sound_cache::SoundCache;
use crate::sources::Sources;
use crate::views::Views;
use crate::warrants::WarrantPages;
use crate::work::{Stop, Work};

/// What every request shares.
#[derive(Clone)]
pub(crate) struct App(Arc<Shared>);

/// The same, behind one pointer.
pub(crate) struct Shared {
    pub(crate) sources: Sources,
    pub(crate) people: People,
    pub(crate) audit: AuditLog,
    pub(crate) hosts: Hosts,
    /// Networks that have names.
    pub(crate) sites: Sites,
    pub(crate) tokens: Tokens,
    pub(crate) work: Work,
    pub(crate) sounds: SoundCache,
    /// Calls in progress, as the daemon listed them last.
    pub(crate) live_calls: LiveCalls,
    /// Follows the spool for those who listen to calls in progress.
    pub(crate) tail: Tail,
    /// Who listens to calls in progress.
    pub(crate) ears: Ears,
    /// The description of the API, as it is sent, and what tells it from another one.
    pub(crate) document: Document,
    /// What was looked at lately.
    pub(crate) views: Views,
    /// The daemon's state, and when it was asked.
    pub(crate) status: tokio::sync::Mutex<Option<(Instant, DaemonState)>>,
    /// What it said in the last minutes.
    pub(crate) recent: tokio::sync::Mutex<Recent>,
    /// Whether everything was right, and when that was looked at.
    pub(crate) health: tokio::sync::Mutex<Option<(Instant, Health)>>,
    /// What was asked so far.
    pub(crate) meter: Arc<Meter>,
    /// Day files that stay open between requests.
    pub(crate) open_files: Arc<OpenFiles>,
    /// What connections are secured by, if by anything.
    pub(crate) certificate: Option<Arc<Certificate>>,
    /// What logs in without a question.
    pub(crate) link: Option<Link>,
    /// The register of warrants, and who is logged in to it.
    pub(crate) warrants: WarrantPages,
    /// Who vouches for people, if anybody does.
    pub(crate) provider: Option<Provider>,
    is_plain: bool,
}

/// The state of the daemon, or why it is not known.
pub(crate) type DaemonState = Result<Arc<Value>, String>;

impl App {
    /// Opens people, keys and the audit log.
    pub(crate) fn open(
        settings: &Settings,
        mut sources: Sources,
        document: &str,
        certificate: Option<Arc<Certificate>>,
    ) -> anyhow::Result<Self> {
        let local_logins = settings.provider.as_ref().map(|provider| provider.local_logins);
        let limits = ringtap_access::Settings {
            local_logins: local_logins.unwrap_or_default(),
            ..ringtap_access::Settings::default()
        };
        let people = People::open(&settings.people, limits)?;
        let audit = AuditLog::open(&settings.people)?;
        let secret = mask::key(&settings.people)?;
        let warrants = WarrantPages::new(sources.warrants.take());
        Ok(Self(Arc::new(Shared {
            sources,
            warrants,
            people,
            audit,
            hosts: Hosts::new(settings.listen, &settings.hosts),
            sites: Sites::open(&settings.people)?,
            tokens: Tokens::new(secret),
            work: Work::new(settings.search_time),
            sounds: SoundCache::default(),
            live_calls: LiveCalls::default(),
            tail: Tail::default(),
            ears: Ears::default(),
            document: Document::of(document)?,
            views: Views::default(),
            status: tokio::sync::Mutex::default(),
            recent: tokio::sync::Mutex::default(),
            health: tokio::sync::Mutex::default(),
            meter: Arc::default(),
            open_files: Arc::default(),
            certificate,
            link: settings.link.clone(),
            provider: settings.provider.clone().map(Provider::open).transpose()?,
            is_plain: matches!(settings.security, Security::Plain),
        })))
    }
}

/// A document as it is sent, without the spaces and lines that are for people.
pub(crate) struct Document {
    pub(crate) whole: Form,
    /// A fifth of that, for whoever takes it.
    pub(crate) gzip: Form,
}

/// A form of a document, and its tag.
pub(crate) struct Form {
    pub(crate) bytes: Bytes,
    pub(crate) tag: HeaderValue,
}

impl Document {
    fn of(document: &str) -> anyhow::Result<Self> {
        let document: Value = serde_json::from_str(document)?;
        let text = document.to_string().into_bytes();
        let mut gzip = GzEncoder::new(Vec::new(), Compression::best());
        gzip.write_all(&text)?;
        Ok(Self { gzip: Form::of(gzip.finish()?)?, whole: Form::of(text)? })
    }
}

impl Form {
    fn of(bytes: Vec<u8>) -> anyhow::Result<Self> {
        let hash = Sha256::digest(&bytes);
        let tag: String = hash.iter().take(16).map(|byte| format!("{byte:02x}")).collect();
        Ok(Self { bytes: bytes.into(), tag: HeaderValue::try_from(format!("\"{tag}\""))? })
    }
}

impl std::ops::Deref for App {
    type Target = Shared;

    fn deref(&self) -> &Shared {
        &self.0
    }
}

impl Shared {
    /// Opens the records; none if nothing has been recorded yet. Reading ends soon after `stop` is over.
    pub(crate) fn records(&self, stop: &Stop) -> Result<Option<Reader>, Problem> {
        match Reader::open(&self.sources.records) {
            Ok(reader) => Ok(Some(reader.stopped_by(Stop::clone(stop)).sharing(self.open_files.clone()))),
            Err(ringtap_store::Error::NoDays { .. }) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// Whether it is served without TLS of its own.
    pub(crate) fn is_plain(&self) -> bool {
        self.is_plain
    }

    /// The name of the session's cookie. Browsers take `__Host-` from a secure origin alone, and send it
    /// nowhere else.
    pub(crate) fn cookie_name(&self) -> &'static str {
        if self.is_plain { "ringtap" } else { "__Host-ringtap" }
    }

    /// The header that sets it; `age` 0 removes it.
    pub(crate) fn cookie(&self, secret: &str, age: Option<u32>) -> String {
        let (name, secure) = (self.cookie_name(), if self.is_plain { "" } else { "; Secure" });
        let age = age.map(|age| format!("; Max-Age={age}")).unwrap_or_default();
        format!("{name}={secret}; Path=/; HttpOnly; SameSite=Strict{secure}{age}")
    }

    /// The name of the cookie of officers and auditors, who are no people of the console.
    pub(crate) fn officer_cookie_name(&self) -> &'static str {
        if self.is_plain { "ringtap-warrants" } else { "__Host-ringtap-warrants" }
    }

    /// The header that sets it until the browser is closed; an empty value removes it.
    pub(crate) fn officer_cookie(&self, secret: &str) -> String {
        let (name, secure) = (self.officer_cookie_name(), if self.is_plain { "" } else { "; Secure" });
        let age = if secret.is_empty() { "; Max-Age=0" } else { "" };
        format!("{name}={secret}; Path=/; HttpOnly; SameSite=Strict{secure}{age}")
    }

    /// The name of the cookie by which a browser is known that comes back from the identity provider.
    pub(crate) fn login_cookie_name(&self) -> &'static str {
        if self.is_plain { "ringtap-login" } else { "__Host-ringtap-login" }
    }

    /// The header that sets it for some seconds; 0 removes it. It comes with a link from another site, as
    /// which browsers see the way back.
    pub(crate) fn login_cookie(&self, value: &str, seconds: u64) -> String {
        let (name, secure) = (self.login_cookie_name(), if self.is_plain { "" } else { "; Secure" });
        format!("{name}={value}; Path=/; HttpOnly; SameSite=Lax{secure}; Max-Age={seconds}")
    }
}
