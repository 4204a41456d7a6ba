//! Requests to the provider: bounded in time and size, and never led elsewhere.

use std::error::Error as _;
use std::path::Path;
use std::time::Duration;

use reqwest::header::{ACCEPT, CONTENT_TYPE};
use reqwest::redirect::Policy;
use reqwest::{Certificate, Response};

use crate::address::{escaped, origin};
use crate::error::{Error, Failure};

/// Makes requests.
pub(crate) struct Client(reqwest::Client);

impl Client {
    /// Makes the client. `ca` are those who may vouch for the provider's certificate, in place of the
    /// system's.
    pub(crate) fn open(ca: Option<&Path>, patience: Duration) -> Result<Self, Error> {
        // An error is that there is a default already.
        let _ = rustls::crypto::ring::default_provider().install_default();
        // A redirection would send codes and secrets elsewhere, and a proxy is not allowed for.
        let mut client = reqwest::Client::builder()
            .redirect(Policy::none())
            .no_proxy()
            .referer(false)
            .timeout(patience)
            .pool_max_idle_per_host(0)
            .user_agent(concat!("ringtap/", env!("CARGO_PKG_VERSION")));
        if let Some(path) = ca {
            let unusable = |problem: String| Error::Value { path: path.to_owned(), key: "ca", problem };
            let pem = std::fs::read(path).map_err(|error| unusable(error.to_string()))?;
            let roots = Certificate::from_pem_bundle(&pem).unwrap_or_default();
            if roots.is_empty() {
                return Err(unusable("it holds no certificate in PEM".into()));
            }
            client = client.tls_certs_only(roots);
        }
        client.build().map(Self).map_err(|error| Error::Client(root(&error)))
    }

    /// The body of a page that there is.
    pub(crate) async fn get(&self, url: &str) -> Result<Vec<u8>, Failure> {
        let sent = self.0.get(url).header(ACCEPT, "application/json").send().await;
        match read(url, sent).await? {
            (200, body) => Ok(body),
            (status @ 300..=399, _) => Err(Failure::unavailable(format!(
                "the provider at {} answers with status {status}, a redirection, which is not followed",
                origin(url)
            ))),
            (status, _) => Err(Failure::unavailable(format!("{} answers with status {status}", origin(url)))),
        }
    }

    /// Status and body of the answer to a form. `login` are name and secret of this client (RFC 6749 section
    /// 2.3.1).
    pub(crate) async fn post(
        &self,
        url: &str,
        form: String,
        login: Option<(&str, &str)>,
    ) -> Result<(u16, Vec<u8>), Failure> {
        let kind = "application/x-www-form-urlencoded";
        let mut request = self.0.post(url).header(CONTENT_TYPE, kind).header(ACCEPT, "application/json");
        if let Some((name, secret)) = login {
            request = request.basic_auth(escaped(name), Some(escaped(secret)));
        }
        read(url, request.body(form).send().await).await
    }
}

/// Status and body. Errors name where, not what was sent.
async fn read(url: &str, sent: reqwest::Result<Response>) -> Result<(u16, Vec<u8>), Failure> {
    let failed = |error: reqwest::Error| {
        Failure::unavailable(format!("the provider at {} does not answer: {}", origin(url), root(&error)))
    };
    let mut response = sent.map_err(failed)?;
    let status = response.status().as_u16();
    let mut body = Vec::new();
    while let Some(chunk) = response.chunk().await.map_err(failed)? {
        body.extend_from_slice(&chunk);
        if body.len() > LONGEST {
            let said = format!("the provider at {} answers with more than {LONGEST} bytes", origin(url));
            return Err(Failure::unavailable(said));
        }
    }
    Ok((status, body))
}

/// The innermost cause: `Connection refused`.
fn root(error: &reqwest::Error) -> String {
    if error.is_timeout() {
        return "it took too long".into();
    }
    let mut cause = error.source();
    while let Some(deeper) = cause.and_then(|cause| cause.source()) {
        cause = Some(deeper);
    }
    cause.map_or_else(|| "the connection ended".into(), ToString::to_string)
}

/// Bytes of an answer: descriptions, keys and tokens have some thousand.
const LONGEST: usize = 256 << 10;
