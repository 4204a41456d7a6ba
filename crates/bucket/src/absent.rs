//! A bucket in a program that was built without S3: everything that would ask it is refused.

use std::fmt;
use std::ops::Range;
use std::path::PathBuf;

use ringtap_spool::{FarError, FarStorage, Upload};
use serde::{Deserialize, Serialize};

use crate::settings::{Error, Settings};

/// A bucket that cannot be asked.
pub struct Bucket(Settings);

impl fmt::Debug for Bucket {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Bucket({})", self.0.describe())
    }
}

impl Bucket {
    /// The settings alone: there are no keys to open it with.
    ///
    /// # Errors
    ///
    /// None: [`Keys::find`] has failed before.
    pub fn open(settings: Settings, _: &Keys) -> Result<Self, Error> {
        Ok(Self(settings))
    }

    /// The settings alone.
    pub fn late(settings: Settings) -> Self {
        Self(settings)
    }

    /// Does nothing.
    pub fn prepare(&self) {}

    fn refusal(&self) -> FarError {
        FarError::Failed(Error::NotBuilt { place: self.0.describe() }.to_string())
    }
}

/// Keys of a bucket that cannot be asked: none.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Keys(());

impl Keys {
    /// Fails.
    ///
    /// # Errors
    ///
    /// This program was built without S3.
    pub fn find(settings: &Settings, _: impl Fn(&str) -> Option<String>) -> Result<Self, Error> {
        Err(Error::NotBuilt { place: settings.describe() })
    }

    /// No keys.
    pub fn find_late(_: &Settings, _: impl Fn(&str) -> Option<String>) -> Self {
        Self(())
    }

    /// No port.
    pub fn ports(&self, _: &Settings, _: impl Fn(&str) -> Option<String>) -> Vec<u16> {
        Vec::new()
    }

    /// No file.
    pub fn files(&self) -> Vec<PathBuf> {
        Vec::new()
    }
}

impl FarStorage for Bucket {
    fn url(&self) -> String {
        self.0.url()
    }

    fn upload(&self, _: &str, _: u64) -> Result<Box<dyn Upload>, FarError> {
        Err(self.refusal())
    }

    fn read(&self, _: &str, _: &[Range<u64>]) -> Result<Vec<Vec<u8>>, FarError> {
        Err(self.refusal())
    }

    fn length(&self, _: &str) -> Result<u64, FarError> {
        Err(self.refusal())
    }

    fn delete(&self, _: &[String]) -> Result<(), FarError> {
        Err(self.refusal())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_refusal_names_the_remedy() {
        let settings = Settings { bucket: "b".into(), ..Settings::default() };
        let error = Keys::find(&settings, |_| None).expect_err("refused").to_string();
        assert_eq!(
            error,
            "s3://b (us-east-1) cannot be used: this ringtap was built without S3; build it with `make build`"
        );
        let refusal = Bucket::late(settings).length("x").expect_err("refused");
        assert_eq!(refusal.to_string(), error);
    }
}
