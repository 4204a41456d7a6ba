//! What is asked of the provider from time to time, and not more often.

use ringtap_model::Nanos;

use crate::error::Failure;

/// A value that was fetched, and when.
#[derive(Debug)]
pub(crate) struct Cached<T> {
    value: Option<(T, Nanos)>,
    /// When it was last tried, and what went wrong if something did.
    tried: Option<(Nanos, Option<Failure>)>,
}

impl<T> Default for Cached<T> {
    fn default() -> Self {
        Self { value: None, tried: None }
    }
}

impl<T> Cached<T> {
    /// The value, while it is not too old.
    pub(crate) fn fresh(&self, now: Nanos) -> Option<&T> {
        let (value, fetched) = self.value.as_ref()?;
        // A clock that was put back makes nothing younger.
        (now >= *fetched && now - *fetched < LIFE).then_some(value)
    }

    /// Whether it may be fetched now, `least` after the last time. An error is what went wrong then.
    pub(crate) fn may_fetch(&self, least: Nanos, now: Nanos) -> Result<bool, Failure> {
        let Some((tried, failure)) = &self.tried else { return Ok(true) };
        if now < *tried || now - *tried >= least {
            return Ok(true);
        }
        match failure {
            Some(failure) => Err(failure.clone()),
            None => Ok(false),
        }
    }

    /// It was fetched, or was not.
    pub(crate) fn set(&mut self, fetched: Result<T, Failure>, now: Nanos) -> Result<(), Failure> {
        self.tried = Some((now, fetched.as_ref().err().cloned()));
        self.value = Some((fetched?, now));
        Ok(())
    }
}

/// After this it is asked anew: a key that the provider has withdrawn is not believed for longer.
const LIFE: Nanos = Nanos::from_secs(3_600);
/// A provider that does not answer is asked again after this.
pub(crate) const AGAIN: Nanos = Nanos::from_secs(5);
/// Keys are asked for again after this, where a token names one that is not known.
pub(crate) const KEYS_AGAIN: Nanos = Nanos::from_secs(60);
