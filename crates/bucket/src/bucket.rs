//! A bucket, for threads that wait for the answer.

use std::fmt;
use std::ops::Range;
use std::sync::{Arc, OnceLock};

use object_store::path::Path;
use object_store::{ObjectStore as _, ObjectStoreExt as _};
use ringtap_spool::{FarError, FarStorage, Upload};

use crate::client::Client;
use crate::keys::Keys;
use crate::part::Parts;
use crate::settings::{Error, Settings};

/// A bucket, or a prefix in it.
pub struct Bucket {
    settings: Settings,
    client: OnceLock<Result<Arc<Client>, String>>,
}

impl fmt::Debug for Bucket {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Bucket({})", self.settings.describe())
    }
}

impl Bucket {
    /// Opens the bucket with these keys. It sends no request yet.
    ///
    /// # Errors
    ///
    /// The keys or the endpoint are not valid.
    pub fn open(settings: Settings, keys: &Keys) -> Result<Self, Error> {
        let client = Client::connect(&settings, keys);
        if let (Err(problem), Ok(_)) = (&client, keys.values()) {
            return Err(Error::Credentials(problem.clone()));
        }
        Ok(Self { settings, client: client.map(Arc::new).into() })
    }

    /// Opens the bucket; looks for credentials at the first request.
    pub fn late(settings: Settings) -> Self {
        Self { settings, client: OnceLock::new() }
    }

    /// Looks for credentials now, before rights to read them are dropped. If there are none, the first
    /// request says so.
    pub fn prepare(&self) {
        let _ = self.client();
    }

    fn client(&self) -> Result<&Arc<Client>, FarError> {
        let client = self.client.get_or_init(|| {
            let keys = Keys::find_late(&self.settings, |name| std::env::var(name).ok());
            Client::connect(&self.settings, &keys).map(Arc::new)
        });
        client.as_ref().map_err(|problem| FarError::Failed(problem.clone()))
    }

    fn path(&self, name: &str) -> Path {
        Path::from_iter(
            self.settings.prefix.split('/').chain(name.split('/')).filter(|part| !part.is_empty()),
        )
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn objects_lie_below_the_prefix() {
        let settings = Settings { bucket: "b".into(), prefix: "a/b".into(), ..Settings::default() };
        assert_eq!(Bucket::late(settings).path("2026-11-21/x.pcap").as_ref(), "a/b/2026-11-21/x.pcap");
    }
}
