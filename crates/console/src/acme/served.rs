//! The certificate that connections are served with, and those of handshakes that prove a name.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError, RwLock};

use anyhow::Context;
use rcgen::{CertificateParams, CustomExtension, KeyPair};
use rustls::crypto::ring::sign::any_supported_type;
use rustls::pki_types::PrivateKeyDer;
use rustls::server::{ClientHello, ResolvesServerCert};
use rustls::sign::CertifiedKey;

/// Chooses the certificate of each handshake.
#[derive(Debug)]
pub(super) struct ServedCertificate {
    current: RwLock<Arc<CertifiedKey>>,
    /// By name: what the ACME server is shown while it looks (RFC 8737 section 3).
    challenges: Mutex<HashMap<String, Arc<CertifiedKey>>>,
}

impl ServedCertificate {
    pub(super) fn of(current: Arc<CertifiedKey>) -> Self {
        Self { current: RwLock::new(current), challenges: Mutex::default() }
    }

    /// The one that the next connection gets.
    pub(super) fn current(&self) -> Arc<CertifiedKey> {
        Arc::clone(&self.current.read().unwrap_or_else(PoisonError::into_inner))
    }

    pub(super) fn replace(&self, by: Arc<CertifiedKey>) {
        *self.current.write().unwrap_or_else(PoisonError::into_inner) = by;
    }

    /// Shows whoever asks for `name` with `acme-tls/1` that this console knows `digest`, until
    /// [`forget`](Self::forget).
    pub(super) fn prove(&self, name: &str, digest: &[u8]) -> anyhow::Result<()> {
        let failed = "the certificate of a challenge cannot be made";
        let mut params = CertificateParams::new(vec![name.to_owned()]).context(failed)?;
        params.custom_extensions = vec![CustomExtension::new_acme_identifier(digest)];
        let key = KeyPair::generate().context(failed)?;
        let certificate = params.self_signed(&key).context(failed)?;
        let private = PrivateKeyDer::try_from(key.serialize_der()).map_err(anyhow::Error::msg)?;
        let signing = any_supported_type(&private).context(failed)?;
        let shown = Arc::new(CertifiedKey::new(vec![certificate.der().clone()], signing));
        self.challenges().insert(name.to_ascii_lowercase(), shown);
        Ok(())
    }

    /// No longer proves any name.
    pub(super) fn forget(&self) {
        self.challenges().clear();
    }

    fn challenges(&self) -> std::sync::MutexGuard<'_, HashMap<String, Arc<CertifiedKey>>> {
        self.challenges.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl ResolvesServerCert for ServedCertificate {
    fn resolve(&self, hello: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        match hello.alpn().is_some_and(|mut names| names.any(|name| name == CHALLENGE_PROTOCOL)) {
            true => self.challenges().get(&hello.server_name()?.to_ascii_lowercase()).cloned(),
            false => Some(self.current()),
        }
    }
}

/// The protocol of a handshake that proves a name, and carries nothing.
pub(crate) const CHALLENGE_PROTOCOL: &[u8] = b"acme-tls/1";
