//! Where a mediation function is, and how it is reached.

use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;

use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::{ClientConfig, RootCertStore};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;

use super::error::HandoverError;

/// One handover interface of a mediation function.
#[derive(Clone, Debug)]
pub struct Peer {
    /// Where it listens.
    pub address: SocketAddr,
    /// TLS; None for TCP alone, which belongs in a network that nobody else is in.
    pub tls: Option<Tls>,
}

/// TLS with a certificate of ours (TS 102 232-1 clause 7.2.2).
#[derive(Clone, Debug)]
pub struct Tls {
    config: Arc<ClientConfig>,
    name: ServerName<'static>,
}

impl Tls {
    /// From PEM: certificates of those who vouch for the mediation function, our certificate with those
    /// up to its authority, and its key. `name` is the name or the address that the mediation function's
    /// certificate has.
    ///
    /// # Errors
    /// What of them cannot be used.
    pub fn from_pem(
        authorities: &[u8],
        certificates: &[u8],
        key: &[u8],
        name: &str,
    ) -> Result<Self, HandoverError> {
        let mut roots = RootCertStore::empty();
        for certificate in read_certificates(authorities, "the authorities' certificates")? {
            let unusable = |_| {
                HandoverError::Tls("the authorities' certificates hold one that vouches for nobody".into())
            };
            roots.add(certificate).map_err(unusable)?;
        }
        let chain = read_certificates(certificates, "our certificate")?;
        let key = PrivateKeyDer::from_pem_slice(key).map_err(|_| {
            HandoverError::Tls("the key of our certificate is not a private key in PEM".into())
        })?;
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .and_then(|builder| builder.with_root_certificates(roots).with_client_auth_cert(chain, key))
            .map_err(|error| {
                HandoverError::Tls(format!("our certificate and its key cannot be used: {error}"))
            })?;
        let name = ServerName::try_from(name.to_owned())
            .map_err(|_| HandoverError::Tls(format!("{name} is neither a host name nor an address")))?;
        Ok(Self { config: Arc::new(config), name })
    }
}

fn read_certificates(pem: &[u8], what: &str) -> Result<Vec<CertificateDer<'static>>, HandoverError> {
    let certificates: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(pem).collect();
    match certificates {
        Ok(certificates) if !certificates.is_empty() => Ok(certificates),
        _ => Err(HandoverError::Tls(format!("{what}: there is no certificate in PEM"))),
    }
}

pub(crate) trait Octets: AsyncRead + AsyncWrite + Send + Unpin {}

impl<T: AsyncRead + AsyncWrite + Send + Unpin> Octets for T {}

pub(crate) type Stream = Box<dyn Octets>;

pub(crate) type Connecting = Pin<Box<dyn Future<Output = io::Result<Stream>> + Send>>;

pub(crate) fn connect(peer: &Peer) -> Connecting {
    let Peer { address, tls } = peer.clone();
    Box::pin(async move {
        let tcp = TcpStream::connect(address).await?;
        tcp.set_nodelay(true)?;
        match tls {
            None => Ok(Box::new(tcp) as Stream),
            Some(tls) => {
                let stream = TlsConnector::from(tls.config).connect(tls.name, tcp).await?;
                Ok(Box::new(stream) as Stream)
            }
        }
    })
}
