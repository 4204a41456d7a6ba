//! Listens, over TLS or not, and hands connections to the routes.

use std::fs;
use std::io;
use std::net::SocketAddr;
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, bail};
use axum::Router;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto::Builder;
use hyper_util::service::TowerToHyperService;
use ringtap_model::Nanos;
use ringtap_report::time;
use rustls::ServerConfig;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::ResolvesServerCert;
use rustls::sign::{CertifiedKey, SingleCertAndKey};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;
use tower::Service;

#[cfg(feature = "acme")]
use crate::acme::{AcmeSettings, CHALLENGE_PROTOCOL, Renewal};
use crate::validity;

/// How connections are secured.
#[derive(Clone, Debug)]
pub enum Security {
    /// Not at all: for this machine alone, or behind a proxy on it.
    Plain,
    /// By the certificate chain and the key in these PEM files.
    Files {
        /// The chain, the server's own certificate first.
        certificate: PathBuf,
        /// Its private key.
        key: PathBuf,
    },
    /// By a certificate of its own, made at the first start in this directory.
    Own(PathBuf),
    /// By certificates that an ACME server issues; until the first, as [`Own`](Self::Own).
    #[cfg(feature = "acme")]
    Acme(AcmeSettings),
}

/// The certificate that connections are secured by.
pub(crate) enum Certificate {
    /// It stays as it is until the next start, and ends then.
    Fixed(Nanos),
    /// It is renewed.
    #[cfg(feature = "acme")]
    Renewed(Arc<Renewal>),
}

impl Certificate {
    /// Whether it is valid at `now`, for people.
    pub(crate) fn check(&self, now: Nanos) -> Result<String, String> {
        match self {
            Self::Fixed(end) => match end.0.checked_sub(now.0) {
                Some(left) => Ok(format!("it is valid for {} days", left / DAY)),
                None => Err(format!("it ended at {}", time::full(*end))),
            },
            #[cfg(feature = "acme")]
            Self::Renewed(renewal) => renewal.check(now),
        }
    }
}

/// A socket that listens, with what secures it.
pub(crate) struct Listener {
    socket: TcpListener,
    tls: Option<TlsAcceptor>,
    certificate: Option<Arc<Certificate>>,
}

impl Listener {
    /// Listens.
    ///
    /// # Errors
    ///
    /// The address is in use, or the certificate cannot be read.
    pub(crate) async fn bind(
        listen: SocketAddr,
        security: &Security,
        names: &[String],
    ) -> anyhow::Result<Self> {
        if matches!(security, Security::Plain) && !listen.ip().is_loopback() {
            bail!(
                "the console listens at {listen} without TLS, where others can read along: listen at \
                 127.0.0.1, or leave out `--plain-http`"
            );
        }
        let (tls, certificate) = match security {
            Security::Plain => (None, None),
            Security::Files { certificate, key } => fixed(&certified(certificate, key)?)?,
            Security::Own(dir) => {
                let (certificate, key) = own_certificate(dir, listen, names)?;
                fixed(&certified(&certificate, &key)?)?
            }
            #[cfg(feature = "acme")]
            Security::Acme(settings) => {
                let (certificate, key) = own_certificate(&settings.directory_of_files, listen, names)?;
                let renewal = Renewal::open(settings, certified(&certificate, &key)?)?;
                let tls = acceptor(renewal.resolver(), &[CHALLENGE_PROTOCOL])?;
                (Some(tls), Some(Certificate::Renewed(renewal)))
            }
        };
        let socket = TcpListener::bind(listen).await.with_context(|| {
            format!(
                "the console cannot listen at {listen}: is another program there? choose one with `--listen`"
            )
        })?;
        Ok(Self { socket, tls, certificate: certificate.map(Arc::new) })
    }

    /// Its certificate, if it has one.
    pub(crate) fn certificate(&self) -> Option<Arc<Certificate>> {
        self.certificate.clone()
    }

    /// Where it listens: the port may have been chosen by the system.
    pub(crate) fn address(&self) -> io::Result<SocketAddr> {
        self.socket.local_addr()
    }

    /// Serves connections until `stop` ends, then gives those that are open a moment.
    pub(crate) async fn serve(self, routes: Router, stop: impl Future<Output = ()>) {
        let places = Arc::new(Semaphore::new(CONNECTIONS));
        #[cfg(feature = "acme")]
        if let Some(Certificate::Renewed(renewal)) = self.certificate.as_deref() {
            tokio::spawn(Arc::clone(renewal).run());
        }
        let mut service = routes.into_make_service_with_connect_info::<SocketAddr>();
        tokio::pin!(stop);
        loop {
            let accepted = tokio::select! {
                accepted = self.socket.accept() => accepted,
                () = &mut stop => break,
            };
            let (stream, peer) = match accepted {
                Ok(accepted) => accepted,
                Err(error) => {
                    // Out of file descriptors: others end.
                    log::warn!(target: "console", "cannot accept a connection: {error}");
                    tokio::time::sleep(Duration::from_millis(100)).await;
                    continue;
                }
            };
            let Ok(place) = Arc::clone(&places).try_acquire_owned() else {
                log::warn!(target: "console", "refused a connection from {peer}: {CONNECTIONS} are open");
                continue;
            };
            let Ok(routes) = service.call(peer).await;
            let tls = self.tls.clone();
            tokio::spawn(async move {
                let _place = place;
                // Best effort: an answer in many small pieces waits for no acknowledgement.
                let _ = stream.set_nodelay(true);
                match tls {
                    None => connection(stream, routes).await,
                    Some(tls) => match tokio::time::timeout(HANDSHAKE, tls.accept(stream)).await {
                        Ok(Ok(stream)) if carries_requests(&stream) => connection(stream, routes).await,
                        Ok(Ok(_)) => {}
                        Ok(Err(error)) => log::debug!(target: "console", "TLS with {peer} failed: {error}"),
                        Err(_) => log::debug!(target: "console", "TLS with {peer} took too long"),
                    },
                }
            });
        }
    }
}

/// Serves one connection to its end.
async fn connection<S>(stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static, routes: S)
where
    S: Service<
            axum::extract::Request<hyper::body::Incoming>,
            Response = axum::response::Response,
            Error = std::convert::Infallible,
        > + Clone
        + Send
        + 'static,
    S::Future: Send,
{
    let mut builder = Builder::new(TokioExecutor::new());
    // Who sends its request slowly keeps nobody else waiting, and no connection for ever.
    builder.http1().timer(TokioTimer::new()).header_read_timeout(SLOWEST).max_buf_size(64 << 10);
    builder.http2().timer(TokioTimer::new()).max_concurrent_streams(64).keep_alive_interval(Some(SLOWEST));
    if let Err(error) = builder.serve_connection(TokioIo::new(stream), TowerToHyperService::new(routes)).await
    {
        log::debug!(target: "console", "a connection ended: {error}");
    }
}

/// A certificate chain and its key, from files in PEM.
fn certified(certificate: &Path, key: &Path) -> anyhow::Result<Arc<CertifiedKey>> {
    let name = || format!("the certificate in {}", certificate.display());
    let chain: Vec<CertificateDer<'static>> = CertificateDer::pem_file_iter(certificate)
        .and_then(Iterator::collect)
        .with_context(|| format!("{} cannot be read: it must be PEM", name()))?;
    let private = PrivateKeyDer::from_pem_file(key)
        .with_context(|| format!("the key in {} cannot be read: it must be PEM", key.display()))?;
    let certified = CertifiedKey::from_der(chain, private, &rustls::crypto::ring::default_provider())
        .with_context(|| format!("{} does not belong to the key in {}", name(), key.display()))?;
    Ok(Arc::new(certified))
}

/// What accepts connections with a certificate that does not change, and that.
fn fixed(certified: &Arc<CertifiedKey>) -> anyhow::Result<(Option<TlsAcceptor>, Option<Certificate>)> {
    let ends = certified.cert.first().and_then(|own| validity::not_after(own));
    let resolver = Arc::new(SingleCertAndKey::from(Arc::clone(certified)));
    Ok((Some(acceptor(resolver, &[])?), ends.map(Certificate::Fixed)))
}

/// What accepts connections, with the protocols of the page and more of them.
fn acceptor(resolver: Arc<dyn ResolvesServerCert>, more: &[&[u8]]) -> anyhow::Result<TlsAcceptor> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()?
        .with_no_client_auth()
        .with_cert_resolver(resolver);
    config.alpn_protocols = PROTOCOLS.iter().chain(more).map(|name| name.to_vec()).collect();
    Ok(TlsAcceptor::from(Arc::new(config)))
}

/// Whether requests follow: not where a connection was made only to prove a name to an ACME server.
fn carries_requests(stream: &TlsStream<TcpStream>) -> bool {
    stream.get_ref().1.alpn_protocol().is_none_or(|name| PROTOCOLS.contains(&name))
}

/// A certificate that nobody else vouches for, for a first start: a browser asks whether to trust it.
fn own_certificate(dir: &Path, listen: SocketAddr, names: &[String]) -> anyhow::Result<(PathBuf, PathBuf)> {
    let (certificate, key) = (dir.join("certificate.pem"), dir.join("certificate.key"));
    if certificate.exists() && key.exists() {
        return Ok((certificate, key));
    }
    let mut of: Vec<String> = names.to_vec();
    of.extend(["localhost".to_owned(), "127.0.0.1".to_owned(), "::1".to_owned()]);
    if !listen.ip().is_unspecified() {
        of.push(listen.ip().to_string());
    }
    of.sort();
    of.dedup();
    let made = rcgen::generate_simple_self_signed(of).context("a certificate cannot be made")?;
    fs::create_dir_all(dir).with_context(|| format!("{} cannot be created", dir.display()))?;
    let failed = |path: &Path| format!("{} cannot be written", path.display());
    let mut private = fs::OpenOptions::new();
    private.write(true).create(true).truncate(true).mode(0o600);
    let mut file = private.open(&key).with_context(|| failed(&key))?;
    file.set_permissions(fs::Permissions::from_mode(0o600)).with_context(|| failed(&key))?;
    io::Write::write_all(&mut file, made.signing_key.serialize_pem().as_bytes())
        .with_context(|| failed(&key))?;
    fs::write(&certificate, made.cert.pem()).with_context(|| failed(&certificate))?;
    log::info!(target: "console", "made a certificate of its own in {}", certificate.display());
    Ok((certificate, key))
}

/// Protocols that requests come in.
const PROTOCOLS: [&[u8]; 2] = [b"h2", b"http/1.1"];
/// Connections at once.
const CONNECTIONS: usize = 1_024;
const HANDSHAKE: Duration = Duration::from_secs(10);
/// Longest time in which a request's head arrives.
const SLOWEST: Duration = Duration::from_secs(20);
/// Nanoseconds of a day.
const DAY: u64 = 86_400_000_000_000;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_certificate_is_right_until_it_ends() {
        let end = Nanos(1_795_219_261_000_000_000);
        let certificate = Certificate::Fixed(end);
        assert_eq!(certificate.check(Nanos(end.0 - 90 * DAY)), Ok("it is valid for 90 days".to_owned()));
        assert_eq!(certificate.check(end), Ok("it is valid for 0 days".to_owned()));
        let ended = certificate.check(Nanos(end.0 + 1)).unwrap_err();
        assert!(ended.contains("2026-11-21"), "{ended}");
    }
}
