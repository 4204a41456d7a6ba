//! Targets in a program that was built without the network: each is refused.

use std::time::Duration;

use crate::error::NotifyError;
use crate::notice::Notice;
use crate::target::{Http, Target};

/// A target that cannot be told.
#[derive(Debug)]
pub struct Sender(Target);

impl Sender {
    /// Fails.
    ///
    /// # Errors
    ///
    /// This program was built without the network.
    pub fn open(_: &Target, _: Option<&str>, _: &str) -> Result<Self, NotifyError> {
        Err(refused())
    }

    /// The target.
    pub fn target(&self) -> &Target {
        &self.0
    }

    /// Fails as [`Sender::open`] does.
    ///
    /// # Errors
    ///
    /// Always.
    pub fn deliver(&self, _: &Notice) -> Result<(), NotifyError> {
        Self::open(&self.0, None, "").map(drop)
    }

    /// Fails as [`Sender::open`] does.
    ///
    /// # Errors
    ///
    /// Always.
    pub fn resend(&self, _: &[Notice]) -> Result<(), NotifyError> {
        Self::open(&self.0, None, "").map(drop)
    }
}

/// A URL that nothing can be posted to.
#[derive(Debug)]
pub struct Poster(());

impl Poster {
    /// Fails as [`Sender::open`] does.
    ///
    /// # Errors
    ///
    /// Always.
    pub fn open(_: &Http, _: Option<&str>) -> Result<Self, NotifyError> {
        Err(refused())
    }

    /// Fails as [`Sender::open`] does.
    ///
    /// # Errors
    ///
    /// Always.
    pub fn post(&self, _: &str, _: Vec<u8>, _: Duration) -> Result<(), NotifyError> {
        Err(refused())
    }
}

fn refused() -> NotifyError {
    let problem = "cannot be told: this ringtap was built without network; build it with `make build`";
    NotifyError::refused(problem)
}
