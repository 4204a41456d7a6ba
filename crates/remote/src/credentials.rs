//! Certificates of both ends: TLS 1.3, and each end shows who it is.

use std::io;
use std::sync::Arc;

use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::WebPkiClientVerifier;
use rustls::{ClientConfig, RootCertStore, ServerConfig};

/// Who this end is, and who vouches for the other.
#[derive(Clone, Debug)]
pub struct Credentials {
    pub(crate) server: Arc<ServerConfig>,
    pub(crate) client: Arc<ClientConfig>,
}

/// What of them cannot be used.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct CredentialsError(String);

impl Credentials {
    /// From PEM: certificates of those who vouch for the other end, our certificate with those up to its
    /// authority, and its key.
    ///
    /// # Errors
    ///
    /// What of them cannot be used.
    pub fn from_pem(authorities: &[u8], certificates: &[u8], key: &[u8]) -> Result<Self, CredentialsError> {
        let mut roots = RootCertStore::empty();
        for certificate in read(authorities, "the authorities")? {
            let unusable = |_| CredentialsError("the authorities: one vouches for nobody".to_owned());
            roots.add(certificate).map_err(unusable)?;
        }
        let roots = Arc::new(roots);
        let chain = read(certificates, "the certificate")?;
        let key = PrivateKeyDer::from_pem_slice(key).map_err(|_| {
            CredentialsError("the key of the certificate is no private key in PEM".to_owned())
        })?;
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let unusable = |error: &dyn std::fmt::Display| {
            CredentialsError(format!("the certificate and its key cannot be used: {error}"))
        };
        let verifier = WebPkiClientVerifier::builder_with_provider(Arc::clone(&roots), Arc::clone(&provider))
            .build()
            .map_err(|error| unusable(&error))?;
        let server = ServerConfig::builder_with_provider(Arc::clone(&provider))
            .with_protocol_versions(&[&rustls::version::TLS13])
            .map_err(|error| unusable(&error))?
            .with_client_cert_verifier(verifier)
            .with_single_cert(chain.clone(), key.clone_key())
            .map_err(|error| unusable(&error))?;
        let client = ClientConfig::builder_with_provider(provider)
            .with_protocol_versions(&[&rustls::version::TLS13])
            .map_err(|error| unusable(&error))?
            .with_root_certificates(roots)
            .with_client_auth_cert(chain, key)
            .map_err(|error| unusable(&error))?;
        Ok(Self { server: Arc::new(server), client: Arc::new(client) })
    }
}

fn read(pem: &[u8], what: &str) -> Result<Vec<CertificateDer<'static>>, CredentialsError> {
    match CertificateDer::pem_slice_iter(pem).collect::<Result<Vec<_>, _>>() {
        Ok(certificates) if !certificates.is_empty() => Ok(certificates),
        _ => Err(CredentialsError(format!("{what}: there is no certificate in PEM"))),
    }
}

/// Which of these names a verified certificate has.
pub(crate) fn name_among<'a>(
    certificates: Option<&[CertificateDer<'_>]>,
    names: &'a [String],
) -> io::Result<&'a String> {
    let denied = || io::Error::from(io::ErrorKind::PermissionDenied);
    let own = certificates.and_then(|chain| chain.first()).ok_or_else(denied)?;
    let own = webpki::EndEntityCert::try_from(own).map_err(io::Error::other)?;
    let mut has = own.valid_dns_names();
    has.find_map(|has| names.iter().find(|name| name.eq_ignore_ascii_case(has))).ok_or_else(denied)
}
