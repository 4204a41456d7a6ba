//! HTTPS: requests of clients with a certificate of the configured authorities.

use std::io;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use anyhow::{Context, bail};
use axum::Router;
use axum::body::{Body, to_bytes};
use axum::extract::State;
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE};
use axum::http::{Request, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto::Builder;
use hyper_util::service::TowerToHyperService;
use ringtap_model::Nanos;
use ringtap_report::time;
use ringtap_warrant::{Register, RegisterKey};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::{NoServerSessionStorage, WebPkiClientVerifier};
use rustls::{RootCertStore, ServerConfig};
use sha2::{Digest, Sha256};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;

use crate::network_element::NetworkElement;
use crate::xml::MOST_BYTES;

/// Who we are, and who vouches for clients. Read once, so that it may be done before privileges are dropped.
pub struct Credentials(TlsAcceptor);

impl Credentials {
    /// Reads files in PEM: our certificate chain, our own first; its private key; the authorities that vouch
    /// for clients.
    ///
    /// # Errors
    ///
    /// They cannot be read, or do not fit.
    pub fn read(certificate: &Path, key: &Path, authorities: &Path) -> anyhow::Result<Self> {
        acceptor(certificate, key, authorities).map(Self)
    }
}

/// SHA-256 of the first certificate in a file in PEM, as hex digits: by it, an administration function is
/// known.
///
/// # Errors
///
/// It cannot be read.
pub fn certificate_hash(path: &Path) -> anyhow::Result<String> {
    let certificates = certificates(path)?;
    let first = certificates.first().with_context(|| format!("`{}` has no certificate", path.display()))?;
    Ok(sha256(first))
}

fn sha256(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// What answers requests.
struct Service {
    element: NetworkElement,
    directory: PathBuf,
    key: RegisterKey,
    /// None before it is first used, and after it could not be used: it is opened again.
    register: Mutex<Option<Register>>,
    /// Requests that are answered or wait.
    places: Semaphore,
}

/// Of one connection.
#[derive(Clone)]
struct Connection {
    service: Arc<Service>,
    /// SHA-256 of the client's certificate, as hex digits.
    certificate: Arc<str>,
}

/// Answers requests at `/X1/NE` until `stop` says so, which is asked several times a second. `ready` is told
/// the address once connections are accepted.
///
/// # Errors
///
/// The address cannot be used.
pub fn serve(
    listen: SocketAddr,
    Credentials(tls): Credentials,
    element: NetworkElement,
    (directory, key): (PathBuf, RegisterKey),
    ready: impl FnOnce(SocketAddr),
    stop: impl Fn() -> bool,
) -> anyhow::Result<()> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(THREADS)
        .thread_name("x1")
        .enable_all()
        .build()
        .context("the X1 service cannot start its threads")?;
    let places = Semaphore::new(REQUESTS);
    let service = Arc::new(Service { element, directory, key, register: Mutex::default(), places });
    runtime.block_on(async {
        let socket = TcpListener::bind(listen).await.with_context(|| {
            format!("X1 cannot listen at {listen}: is another program there? choose one with `--listen`")
        })?;
        ready(socket.local_addr()?);
        let stopped = async {
            while !stop() {
                tokio::time::sleep(ASK).await;
            }
        };
        tokio::select! {
            () = accept(&socket, &tls, &service) => {}
            () = stopped => {}
        }
        anyhow::Ok(())
    })?;
    // An act that began is done whole.
    runtime.shutdown_timeout(Duration::from_secs(5));
    Ok(())
}

async fn accept(socket: &TcpListener, tls: &TlsAcceptor, service: &Arc<Service>) {
    // Who shows no certificate takes no place of those who do.
    let (handshakes, places) = (Semaphore::new(HANDSHAKES), Semaphore::new(CONNECTIONS));
    let (handshakes, places) = (Arc::new(handshakes), Arc::new(places));
    loop {
        let (stream, peer) = match socket.accept().await {
            Ok(accepted) => accepted,
            Err(error) => {
                // Out of file descriptors: others end.
                log::warn!(target: "x1", "cannot accept a connection: {error}");
                tokio::time::sleep(Duration::from_millis(100)).await;
                continue;
            }
        };
        let Ok(handshake) = Arc::clone(&handshakes).try_acquire_owned() else {
            log::warn!(target: "x1", "refused a connection from {peer}: {HANDSHAKES} show no certificate");
            continue;
        };
        let (tls, service, places) = (tls.clone(), Arc::clone(service), Arc::clone(&places));
        tokio::spawn(async move {
            // Best effort: an answer waits for no acknowledgement.
            let _ = stream.set_nodelay(true);
            let Ok(Ok(stream)) = tokio::time::timeout(HANDSHAKE, tls.accept(stream)).await else { return };
            drop(handshake);
            let Ok(_place) = places.try_acquire() else {
                log::warn!(target: "x1", "refused a connection from {peer}: {CONNECTIONS} are open");
                return;
            };
            // Whoever asks is nobody to be told of: who the ADMF is and when it asks is the register's.
            if let Ok(Err(error)) = tokio::time::timeout(LONGEST, connection(stream, service)).await {
                log::debug!(target: "x1", "a connection ended: {error}");
            }
        });
    }
}

/// Serves one connection to its end.
async fn connection(stream: TlsStream<TcpStream>, service: Arc<Service>) -> io::Result<()> {
    let certificates = stream.get_ref().1.peer_certificates().unwrap_or_default();
    let Some(own) = certificates.first() else { return Ok(()) };
    let connection = Connection { service, certificate: sha256(own).into() };
    let routes = Router::new().route("/X1/NE", post(answer)).with_state(connection);
    let mut builder = Builder::new(TokioExecutor::new());
    // Who sends its request slowly keeps nobody else waiting, and no connection for ever.
    builder.http1().timer(TokioTimer::new()).header_read_timeout(SLOWEST).max_buf_size(64 << 10);
    builder.http2().timer(TokioTimer::new()).max_concurrent_streams(8).keep_alive_interval(Some(SLOWEST));
    let served = builder.serve_connection(TokioIo::new(stream), TowerToHyperService::new(routes)).await;
    served.map_err(io::Error::other)
}

async fn answer(State(connection): State<Connection>, request: Request<Body>) -> Response {
    let Ok(Ok(body)) = tokio::time::timeout(SLOWEST, to_bytes(request.into_body(), MOST_BYTES)).await else {
        return StatusCode::PAYLOAD_TOO_LARGE.into_response();
    };
    let Ok(_place) = connection.service.places.try_acquire() else {
        return StatusCode::SERVICE_UNAVAILABLE.into_response();
    };
    let Connection { service, certificate } = connection.clone();
    // Outside of the threads that serve connections. What began goes on when its connection closes.
    let done = tokio::task::spawn_blocking(move || service.answer(&certificate, &body, time::now())).await;
    match done {
        Ok(Some(body)) => ([(CONTENT_TYPE, "text/xml"), (CACHE_CONTROL, "no-store")], body).into_response(),
        _ => StatusCode::SERVICE_UNAVAILABLE.into_response(),
    }
}

impl Service {
    /// None if the register cannot be used.
    fn answer(&self, certificate: &str, body: &[u8], clock: Nanos) -> Option<String> {
        let mut register = self.register.lock().unwrap_or_else(PoisonError::into_inner);
        let open = match &mut *register {
            Some(open) => open,
            none => none.insert(Register::open(&self.directory, &self.key).ok()?),
        };
        let answer = self.element.answer(open, certificate, body, clock);
        if answer.has_register_failed {
            *register = None;
        }
        Some(answer.body)
    }
}

fn acceptor(certificate: &Path, key: &Path, authorities: &Path) -> anyhow::Result<TlsAcceptor> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut roots = RootCertStore::empty();
    for authority in certificates(authorities)? {
        let wrong = || format!("`{}` has a certificate that is none of an authority", authorities.display());
        roots.add(authority).with_context(wrong)?;
    }
    if roots.is_empty() {
        bail!("`{}` has no certificate of an authority: nobody could connect", authorities.display());
    }
    let verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), Arc::clone(&provider));
    let verifier = verifier.build().context("the authorities cannot be used")?;
    let private = PrivateKeyDer::from_pem_file(key)
        .with_context(|| format!("the key in `{}` cannot be read: it must be PEM", key.display()))?;
    let wrong = || {
        format!(
            "the certificate in `{}` does not belong to the key in `{}`",
            certificate.display(),
            key.display()
        )
    };
    let mut config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()?
        .with_client_cert_verifier(verifier)
        .with_single_cert(certificates(certificate)?, private)
        .with_context(wrong)?;
    // Each connection shows its certificate anew.
    config.session_storage = Arc::new(NoServerSessionStorage {});
    config.send_tls13_tickets = 0;
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    Ok(TlsAcceptor::from(Arc::new(config)))
}

fn certificates(path: &Path) -> anyhow::Result<Vec<CertificateDer<'static>>> {
    let read = CertificateDer::pem_file_iter(path).and_then(Iterator::collect);
    read.with_context(|| format!("the certificates in `{}` cannot be read: they must be PEM", path.display()))
}

/// How often the program is asked whether to stop.
const ASK: Duration = Duration::from_millis(200);
/// Threads that serve connections.
const THREADS: usize = 2;
/// Connections at once that have shown no certificate yet.
const HANDSHAKES: usize = 256;
/// Connections at once.
const CONNECTIONS: usize = 64;
/// Requests that are answered or wait at once.
const REQUESTS: usize = 32;
const HANDSHAKE: Duration = Duration::from_secs(10);
/// Longest time in which a request's head arrives, or its body.
const SLOWEST: Duration = Duration::from_secs(20);
/// Longest time of a connection: then it shows its certificate anew.
const LONGEST: Duration = Duration::from_secs(3_600);
