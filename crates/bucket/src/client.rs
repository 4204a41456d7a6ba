//! The client of the storage, and the runtime that it runs in.

use std::future::Future;
use std::time::Duration;

use object_store::aws::{AmazonS3, AmazonS3Builder, AmazonS3ConfigKey};
use object_store::{BackoffConfig, ClientOptions, RetryConfig};
use ringtap_spool::FarError;
use tokio::runtime::{Builder, Runtime};

use crate::keys::Keys;
use crate::refused::refusal;
use crate::settings::Settings;

/// The client, and the runtime that it runs in.
pub(crate) struct Client {
    pub(crate) store: AmazonS3,
    runtime: Runtime,
    pub(crate) place: String,
}

impl Client {
    /// Makes the client. It sends no request yet.
    pub(crate) fn connect(settings: &Settings, keys: &Keys) -> Result<Self, String> {
        let place = settings.describe();
        let keys = keys.values()?;
        // One is enough for the process, and there may be one already.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let options = ClientOptions::new()
            .with_allow_http(settings.http)
            .with_connect_timeout(CONNECT)
            .with_timeout(ANSWER)
            .with_pool_idle_timeout(IDLE);
        let retry = RetryConfig {
            backoff: BackoffConfig { init_backoff: FIRST, ..BackoffConfig::default() },
            max_retries: RETRIES,
            retry_timeout: ANSWER,
        };
        let mut builder = AmazonS3Builder::new()
            .with_bucket_name(&settings.bucket)
            .with_region(&settings.region)
            .with_virtual_hosted_style_request(!settings.path_style)
            .with_client_options(options)
            .with_retry(retry);
        if !settings.endpoint.is_empty() {
            builder = builder.with_endpoint(endpoint(settings));
        }
        for (name, value) in keys {
            let key: AmazonS3ConfigKey = name.parse().map_err(|error| format!("{place}: {name}: {error}"))?;
            builder = builder.with_config(key, value.as_str());
        }
        let store = builder.build().map_err(|error| format!("{place} cannot be used: {error}"))?;
        let runtime = Builder::new_current_thread().enable_all().build();
        let runtime = runtime.map_err(|error| format!("{place} cannot be asked: {error}"))?;
        Ok(Self { store, runtime, place })
    }

    /// Waits for an answer. Must not be called from another runtime.
    pub(crate) fn ask<T>(
        &self,
        answer: impl Future<Output = object_store::Result<T>>,
    ) -> Result<T, FarError> {
        self.runtime.block_on(answer).map_err(|error| refusal(&self.place, &error))
    }
}

/// Puts the bucket's name into the host, if the settings say so.
fn endpoint(settings: &Settings) -> String {
    let endpoint = settings.endpoint.trim_end_matches('/');
    match endpoint.split_once("://") {
        Some((scheme, host)) if !settings.path_style => format!("{scheme}://{}.{host}", settings.bucket),
        _ => endpoint.to_owned(),
    }
}

/// How long connecting may take.
const CONNECT: Duration = Duration::from_secs(5);
/// How long a request may take: a part of 8 MiB over 1 Mbit/s.
const ANSWER: Duration = Duration::from_secs(100);
/// Unused connections are closed after this long.
const IDLE: Duration = Duration::from_secs(20);
/// How often, and how soon, a request is repeated.
const RETRIES: usize = 2;
const FIRST: Duration = Duration::from_millis(200);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bucket_stands_in_the_path_or_in_the_host() {
        let mut settings = Settings {
            bucket: "b".into(),
            endpoint: "https://s3.example.org:9000/".into(),
            ..Settings::default()
        };
        assert_eq!(endpoint(&settings), "https://s3.example.org:9000");
        settings.path_style = false;
        assert_eq!(endpoint(&settings), "https://b.s3.example.org:9000");
    }
}
