//! TLS for the metrics, and the token that their clients show.

use std::fmt::Display;
use std::io::{self, Read, Write};
use std::path::Path;
#[cfg(feature = "tls")]
use std::sync::Arc;

use anyhow::Context;
use subtle::ConstantTimeEq;

use crate::config::MetricsFiles;

/// Who may see the metrics, and how they are sent.
pub(crate) struct Guard {
    tls: Option<Tls>,
    /// What a client has to send as `Authorization: Bearer ...`.
    token: Option<String>,
}

impl Guard {
    /// Reads the files that the configuration names.
    ///
    /// # Errors
    ///
    /// A file cannot be read, or others may read it and must not, or holds something else.
    pub(crate) fn read(files: &MetricsFiles) -> anyhow::Result<Self> {
        let tls = files.tls.as_ref().map(|(certificate, key)| Tls::read(certificate, key)).transpose()?;
        let token = files.token.as_ref().map(|path| read_token(path)).transpose()?;
        Ok(Self { tls, token })
    }

    /// How its pages are addressed.
    pub(crate) fn scheme(&self) -> &'static str {
        if self.tls.is_some() { "https" } else { "http" }
    }

    /// Whether the head of a request has the token, where one is needed.
    pub(crate) fn admits(&self, head: &[u8]) -> bool {
        let Some(token) = &self.token else { return true };
        let shown = head.split(|byte| *byte == b'\n').find_map(|line| {
            let (name, value) = std::str::from_utf8(line).ok()?.split_once(':')?;
            let (scheme, shown) = value.trim().split_once(' ')?;
            let is_bearer =
                name.eq_ignore_ascii_case("authorization") && scheme.eq_ignore_ascii_case("bearer");
            is_bearer.then(|| shown.trim())
        });
        shown.is_some_and(|shown| shown.as_bytes().ct_eq(token.as_bytes()).into())
    }

    /// Serves a connection, behind TLS if there is any.
    pub(crate) fn serve<C: Read + Write>(
        &self,
        connection: &mut C,
        serve: impl Fn(&mut dyn ReadWrite) -> io::Result<()>,
    ) -> io::Result<()> {
        match &self.tls {
            Some(tls) => tls.serve(connection, serve),
            None => serve(connection),
        }
    }
}

/// Both directions of a connection.
pub(crate) trait ReadWrite: Read + Write {}

impl<C: Read + Write> ReadWrite for C {}

fn read_token(path: &Path) -> anyhow::Result<String> {
    let bytes = ringtap_spool::secret(path).context("[metrics] token")?;
    let token = std::str::from_utf8(&bytes).unwrap_or_default().trim();
    let is_usable = token.len() >= SHORTEST && token.bytes().all(|byte| byte.is_ascii_graphic());
    is_usable.then(|| token.to_owned()).ok_or_else(|| {
        let problem = format!(
            "must hold {SHORTEST} letters and digits or more, without spaces; make some with `openssl rand \
             -hex 32`"
        );
        wrong("token", path, problem)
    })
}

fn wrong(key: &str, path: &Path, problem: impl Display) -> anyhow::Error {
    anyhow::anyhow!("[metrics] {key}: `{}` {problem}", path.display())
}

/// Characters of a token.
const SHORTEST: usize = 16;

#[cfg(feature = "tls")]
struct Tls(Arc<rustls::ServerConfig>);

#[cfg(feature = "tls")]
impl Tls {
    fn read(certificate: &Path, key: &Path) -> anyhow::Result<Self> {
        use rustls::pki_types::pem::PemObject;
        use rustls::pki_types::{CertificateDer, PrivateKeyDer};
        let chain: Result<Vec<_>, _> = CertificateDer::pem_file_iter(certificate).and_then(Iterator::collect);
        let chain = chain
            .map_err(|error| wrong("certificate", certificate, format_args!("cannot be read: {error}")))?;
        let pem = ringtap_spool::secret(key).context("[metrics] certificate_key")?;
        let private = PrivateKeyDer::from_pem_slice(&pem)
            .map_err(|error| wrong("certificate_key", key, format_args!("holds no key: {error}")))?;
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = rustls::ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()?
            .with_no_client_auth()
            .with_single_cert(chain, private)
            .map_err(|error| wrong("certificate", certificate, format_args!("cannot be used: {error}")))?;
        Ok(Self(Arc::new(config)))
    }

    fn serve<C: Read + Write>(
        &self,
        connection: &mut C,
        serve: impl Fn(&mut dyn ReadWrite) -> io::Result<()>,
    ) -> io::Result<()> {
        let mut session = rustls::ServerConnection::new(Arc::clone(&self.0)).map_err(io::Error::other)?;
        serve(&mut rustls::Stream::new(&mut session, connection))?;
        session.send_close_notify();
        session.write_tls(connection).map(|_| ())
    }
}

/// This program is built without TLS.
#[cfg(not(feature = "tls"))]
enum Tls {}

#[cfg(not(feature = "tls"))]
impl Tls {
    fn read(certificate: &Path, _: &Path) -> anyhow::Result<Self> {
        Err(wrong("certificate", certificate, "needs a ringtap that is built with TLS: `make build`"))
    }

    fn serve<C: Read + Write>(
        &self,
        _: &mut C,
        _: impl Fn(&mut dyn ReadWrite) -> io::Result<()>,
    ) -> io::Result<()> {
        match *self {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_shown_whole_or_not_at_all() {
        let guard = Guard { tls: None, token: Some("0123456789abcdef".to_owned()) };
        let head = |line: &str| format!("GET /metrics HTTP/1.1\r\nHost: x\r\n{line}\r\n\r\n").into_bytes();
        assert!(guard.admits(&head("Authorization: Bearer 0123456789abcdef")));
        assert!(guard.admits(&head("authorization:bearer  0123456789abcdef ")));
        for line in [
            "",
            "Authorization: Bearer",
            "Authorization: Bearer 0123456789abcde",
            "Authorization: Bearer 0123456789abcdef0",
            "Authorization: Basic 0123456789abcdef",
            "X-Authorization: Bearer 0123456789abcdef",
        ] {
            assert!(!guard.admits(&head(line)), "{line}");
        }
        assert!(Guard { tls: None, token: None }.admits(&head("")));
    }
}
