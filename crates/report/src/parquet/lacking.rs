//! What stands in where Parquet was left out.

use std::io::{self, Write};
use std::marker::PhantomData;

use ringtap_model::Record;

/// A file that cannot be begun.
#[derive(Debug)]
pub struct Parquet<R> {
    never: std::convert::Infallible,
    records: PhantomData<R>,
}

impl<R: Record> Parquet<R> {
    /// Refuses.
    ///
    /// # Errors
    ///
    /// Always: this program was built without Parquet.
    pub fn begin(_: &mut dyn Write) -> io::Result<Self> {
        Err(io::Error::new(io::ErrorKind::Unsupported, super::LACKING))
    }

    /// There is none to add to.
    ///
    /// # Errors
    ///
    /// None.
    pub fn record(&mut self, _: &mut dyn Write, _: &R) -> io::Result<()> {
        match self.never {}
    }

    /// There is none to end.
    ///
    /// # Errors
    ///
    /// None.
    pub fn end(self, _: &mut dyn Write) -> io::Result<()> {
        match self.never {}
    }
}
