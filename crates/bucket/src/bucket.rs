//! A bucket, for threads that wait for the answer.

use std::fmt;
use std::future::Future;
use std::ops::Range;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use object_store::aws::{AmazonS3, AmazonS3Builder, AmazonS3ConfigKey};
use object_store::path::Path;
use object_store::{BackoffConfig, ClientOptions, ObjectStore as _, ObjectStoreExt as _, RetryConfig};
use ringtap_spool::{FarError, FarStorage, Upload};
use tokio::runtime::{Builder, Runtime};

use crate::part::Parts;
use crate::refused::refusal;
use crate::settings::{Error, Settings};

/// A bucket, or a prefix in it.
pub struct Bucket {
    settings: Settings,
    client: OnceLock<Result<Arc<Client>, String>>,
}

/// The client, and the runtime that it runs in.
pub(crate) struct Client {
    pub(crate) store: AmazonS3,
    runtime: Runtime,
    place: String,
}

impl Client {
    /// Waits for an answer. Must not be called from another runtime.
    pub(crate) fn ask<T>(
        &self,
        answer: impl Future<Output = object_store::Result<T>>,
    ) -> Result<T, FarError> {
        self.runtime.block_on(answer).map_err(|error| refusal(&self.place, &error))
    }
}

impl fmt::Debug for Bucket {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Bucket({})", self.settings.describe())
    }
}

impl Bucket {
    /// Opens the bucket with the credentials that exist now. It sends no request yet.
    ///
    /// # Errors
    ///
    /// There are no credentials, they cannot be read, or the endpoint is not valid.
    pub fn open(settings: Settings) -> Result<Self, Error> {
        let bucket = Self::late(settings);
        match bucket.client() {
            Ok(_) => Ok(bucket),
            Err(FarError::Failed(problem) | FarError::NotFound(problem)) => Err(Error::Credentials(problem)),
            Err(other) => Err(Error::Credentials(other.to_string())),
        }
    }

    /// Opens the bucket; looks for credentials at the first request.
    pub fn late(settings: Settings) -> Self {
        Self { settings, client: OnceLock::new() }
    }

    /// Where the bucket is.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    fn client(&self) -> Result<&Arc<Client>, FarError> {
        let client = self.client.get_or_init(|| connect(&self.settings).map(Arc::new));
        client.as_ref().map_err(|problem| FarError::Failed(problem.clone()))
    }

    fn path(&self, name: &str) -> Path {
        Path::from_iter(
            self.settings.prefix.split('/').chain(name.split('/')).filter(|part| !part.is_empty()),
        )
    }
}

fn connect(settings: &Settings) -> Result<Client, String> {
    let place = settings.describe();
    let keys = settings.credentials.keys(&settings.url()).map_err(|error| error.to_string())?;
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
    for (name, value) in &keys {
        let key: AmazonS3ConfigKey = name.parse().map_err(|error| format!("{place}: {name}: {error}"))?;
        builder = builder.with_config(key, value.as_str());
    }
    let store = builder.build().map_err(|error| format!("{place} cannot be used: {error}"))?;
    let runtime = Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|error| format!("{place} cannot be asked: {error}"))?;
    Ok(Client { store, runtime, place })
}

/// Puts the bucket's name into the host, if the settings say so.
fn endpoint(settings: &Settings) -> String {
    let endpoint = settings.endpoint.trim_end_matches('/');
    match endpoint.split_once("://") {
        Some((scheme, host)) if !settings.path_style => format!("{scheme}://{}.{host}", settings.bucket),
        _ => endpoint.to_owned(),
    }
}

impl FarStorage for Bucket {
    fn url(&self) -> String {
        self.settings.url()
    }

    fn upload(&self, name: &str, bytes: u64) -> Result<Box<dyn Upload>, FarError> {
        let client = Arc::clone(self.client()?);
        Ok(Box::new(Parts::begin(client, self.path(name), bytes)?))
    }

    fn read(&self, name: &str, ranges: &[Range<u64>]) -> Result<Vec<Vec<u8>>, FarError> {
        let client = self.client()?;
        let read = client.ask(client.store.get_ranges(&self.path(name), ranges))?;
        let whole = read.len() == ranges.len()
            && read.iter().zip(ranges).all(|(bytes, range)| bytes.len() as u64 == range.end - range.start);
        match whole {
            true => Ok(read.into_iter().map(Vec::from).collect()),
            false => Err(FarError::Failed(format!("{}: {name} is shorter than it was", client.place))),
        }
    }

    fn length(&self, name: &str) -> Result<u64, FarError> {
        let client = self.client()?;
        Ok(client.ask(client.store.head(&self.path(name)))?.size)
    }

    fn delete(&self, names: &[String]) -> Result<(), FarError> {
        let client = self.client()?;
        for name in names {
            match client.ask(client.store.delete(&self.path(name))) {
                Ok(()) | Err(FarError::NotFound(_)) => {}
                Err(refusal) => return Err(refusal),
            }
        }
        Ok(())
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
        settings.prefix = "a/b".into();
        assert_eq!(Bucket::late(settings).path("2026-11-21/x.pcap").as_ref(), "a/b/2026-11-21/x.pcap");
    }
}
