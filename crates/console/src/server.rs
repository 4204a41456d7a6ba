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
use rustls::ServerConfig;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpListener;
use tokio::sync::Semaphore;
use tokio_rustls::TlsAcceptor;
use tower::Service;

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
}

/// A socket that listens, with what secures it.
pub(crate) struct Listener {
    socket: TcpListener,
    tls: Option<TlsAcceptor>,
    certificate_ends: Option<Nanos>,
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
        let (tls, certificate_ends) = match security {
            Security::Plain => (None, None),
            Security::Files { certificate, key } => acceptor(certificate, key)?,
            Security::Own(dir) => {
                let (certificate, key) = own_certificate(dir, listen, names)?;
                acceptor(&certificate, &key)?
            }
        };
        let socket = TcpListener::bind(listen).await.with_context(|| {
            format!(
                "the console cannot listen at {listen}: is another program there? choose one with `--listen`"
            )
        })?;
        Ok(Self { socket, tls, certificate_ends })
    }

    /// When its certificate ends, if it has one.
    pub(crate) fn certificate_ends(&self) -> Option<Nanos> {
        self.certificate_ends
    }

    /// Where it listens: the port may have been chosen by the system.
    pub(crate) fn address(&self) -> io::Result<SocketAddr> {
        self.socket.local_addr()
    }

    /// Serves connections until `stop` ends, then gives those that are open a moment.
    pub(crate) async fn serve(self, routes: Router, stop: impl Future<Output = ()>) {
        let places = Arc::new(Semaphore::new(CONNECTIONS));
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
                        Ok(Ok(stream)) => connection(stream, routes).await,
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

/// What accepts connections with a certificate, and when that ends.
fn acceptor(certificate: &Path, key: &Path) -> anyhow::Result<(Option<TlsAcceptor>, Option<Nanos>)> {
    let name = || format!("the certificate in {}", certificate.display());
    let chain: Vec<CertificateDer<'static>> = CertificateDer::pem_file_iter(certificate)
        .and_then(Iterator::collect)
        .with_context(|| format!("{} cannot be read: it must be PEM", name()))?;
    let private = PrivateKeyDer::from_pem_file(key)
        .with_context(|| format!("the key in {} cannot be read: it must be PEM", key.display()))?;
    let ends = chain.first().and_then(|own| validity::not_after(own));
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()?
        .with_no_client_auth()
        .with_single_cert(chain, private)
        .with_context(|| format!("{} does not belong to the key in {}", name(), key.display()))?;
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    Ok((Some(TlsAcceptor::from(Arc::new(config))), ends))
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

/// Connections at once.
const CONNECTIONS: usize = 1_024;
const HANDSHAKE: Duration = Duration::from_secs(10);
/// Longest time in which a request's head arrives.
const SLOWEST: Duration = Duration::from_secs(20);
