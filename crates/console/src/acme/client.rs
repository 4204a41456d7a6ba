//! Requests to the ACME server: bounded in time and size, and never led elsewhere.

use std::error::Error as _;
use std::path::Path;
use std::pin::Pin;
use std::time::Duration;

use anyhow::{Context, bail};
use axum::body::{Body, Bytes, to_bytes};
use axum::http::{Request, Response};
use instant_acme::{BodyWrapper, BytesResponse, Error, HttpClient};
use reqwest::Certificate;
use reqwest::redirect::Policy;

/// Makes requests.
#[derive(Clone, Debug)]
pub(super) struct Client(reqwest::Client);

impl Client {
    /// Makes the client. `ca` are those who may vouch for the server's certificate, in place of the system's.
    ///
    /// # Errors
    ///
    /// That file has no certificate.
    pub(super) fn open(ca: Option<&Path>) -> anyhow::Result<Self> {
        // An error is that there is a default already.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let mut client = reqwest::Client::builder()
            .https_only(true)
            .redirect(Policy::none())
            .no_proxy()
            .referer(false)
            .timeout(PATIENCE)
            .pool_max_idle_per_host(0);
        if let Some(path) = ca {
            let shown = path.display();
            let pem = std::fs::read(path).with_context(|| format!("--acme-ca {shown} cannot be read"))?;
            let roots = Certificate::from_pem_bundle(&pem).unwrap_or_default();
            if roots.is_empty() {
                bail!(
                    "--acme-ca {shown} holds no certificate in PEM: name the file of the server's authority"
                );
            }
            client = client.tls_certs_only(roots);
        }
        client.build().map(Self).context("requests to the ACME server are not possible")
    }
}

impl HttpClient for Client {
    fn request(
        &self,
        request: Request<BodyWrapper<Bytes>>,
    ) -> Pin<Box<dyn Future<Output = Result<BytesResponse, Error>> + Send>> {
        let client = self.0.clone();
        Box::pin(async move {
            let (parts, body) = request.into_parts();
            let host = parts.uri.host().unwrap_or_default().to_owned();
            let bytes = to_bytes(Body::new(body), LONGEST).await;
            let bytes = bytes.map_err(|error| Error::Other(error.into()))?;
            let failed = |error: reqwest::Error| Error::Other(said(&host, &error).into());
            let request = reqwest::Request::try_from(Request::from_parts(parts, bytes)).map_err(failed)?;
            let mut sent = client.execute(request).await.map_err(failed)?;
            let mut answer = Response::builder().status(sent.status());
            if let Some(headers) = answer.headers_mut() {
                *headers = sent.headers().clone();
            }
            let mut bytes = Vec::new();
            while let Some(chunk) = sent.chunk().await.map_err(failed)? {
                bytes.extend_from_slice(&chunk);
                if bytes.len() > LONGEST {
                    return Err(Error::Other(
                        format!("{host} answers with more than {LONGEST} bytes").into(),
                    ));
                }
            }
            Ok(BytesResponse::from(answer.body(BodyWrapper::from(bytes))?))
        })
    }
}

/// Where, and the innermost cause: `acme.example.org does not answer: Connection refused`.
fn said(host: &str, error: &reqwest::Error) -> String {
    let mut cause = error.source();
    while let Some(deeper) = cause.and_then(|cause| cause.source()) {
        cause = Some(deeper);
    }
    match cause {
        _ if error.is_timeout() => format!("{host} does not answer within {} s", PATIENCE.as_secs()),
        Some(cause) => format!("{host} does not answer: {cause}"),
        None => format!("{host} does not answer: {error}"),
    }
}

/// Longest time of a request.
const PATIENCE: Duration = Duration::from_secs(30);
/// Bytes of an answer: chains of certificates have some thousand.
const LONGEST: usize = 256 << 10;
