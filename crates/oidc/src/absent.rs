//! The client of a program that was built without the network: there is none.

use std::convert::Infallible;
use std::path::Path;
use std::time::Duration;

use crate::error::{Error, Failure};

/// Never made.
pub(crate) struct Client(Infallible);

impl Client {
    /// Fails.
    pub(crate) fn open(_: Option<&Path>, _: Duration) -> Result<Self, Error> {
        Err(Error::Client("this program was built without the network".into()))
    }

    /// Never asked.
    pub(crate) async fn get(&self, _: &str) -> Result<Vec<u8>, Failure> {
        match self.0 {}
    }

    /// Never asked.
    pub(crate) async fn post(
        &self,
        _: &str,
        _: String,
        _: Option<(&str, &str)>,
    ) -> Result<(u16, Vec<u8>), Failure> {
        match self.0 {}
    }
}
