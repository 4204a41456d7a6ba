//! Posts whatever somebody has to a URL.

use std::fmt;
use std::time::Duration;

use tokio::runtime::Runtime;
use tokio::time::timeout;

use crate::error::NotifyError;
use crate::http::HttpClient;
use crate::sender::{install_crypto, runtime};
use crate::target::Http;

/// Posts bodies to one URL, one after the other, with the rules of webhooks: no redirection is followed, no
/// proxy used, no more of the URL than its host is in an error.
pub struct Poster {
    client: HttpClient,
    runtime: Runtime,
}

impl fmt::Debug for Poster {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Poster")
    }
}

impl Poster {
    /// Reads the certificates that vouch for the server. It connects to nothing yet. `secret` is what
    /// [`Http::header_file`] holds.
    ///
    /// # Errors
    ///
    /// The URL, the header fields or the certificates cannot be used.
    pub fn open(http: &Http, secret: Option<&str>) -> Result<Self, NotifyError> {
        http.check().map_err(|(key, problem)| NotifyError::refused(format!("{key} {problem}")))?;
        install_crypto();
        Ok(Self { client: HttpClient::open(http, secret)?, runtime: runtime()? })
    }

    /// Posts a body of that media type, and waits that long at most.
    ///
    /// # Errors
    ///
    /// What went wrong, and whether it is worth another attempt.
    pub fn post(&self, kind: &str, body: Vec<u8>, patience: Duration) -> Result<(), NotifyError> {
        let late = || NotifyError::later(format!("it does not answer within {} s", patience.as_secs()));
        let post = self.client.post_bytes(kind, body);
        self.runtime.block_on(async { timeout(patience, post).await.unwrap_or_else(|_| Err(late())) })
    }
}
