//! Targets in a program that was built without the network: each is refused.

use crate::error::NotifyError;
use crate::notice::Notice;
use crate::target::Target;

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
        let problem = "cannot be told: this ringtap was built without network; build it with `make build`";
        Err(NotifyError::refused(problem))
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
