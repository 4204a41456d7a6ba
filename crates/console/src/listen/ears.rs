//! How many listen to calls in progress.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::problem::Problem;

/// How many listen.
#[derive(Debug, Default)]
pub(crate) struct Ears {
    listening: Arc<AtomicUsize>,
    asking: Mutex<()>,
}

/// A place of somebody who listens, until it is dropped.
#[derive(Debug)]
pub(crate) struct EarPlace(Arc<AtomicUsize>);

impl Ears {
    /// A place, unless so many listen.
    pub(crate) fn place(&self) -> Result<EarPlace, Problem> {
        let place = EarPlace(Arc::clone(&self.listening));
        match self.listening.fetch_add(1, Ordering::AcqRel) < MOST {
            true => Ok(place),
            false => Err(Problem::busy(format!("{MOST} people listen to calls in progress already"), 10)),
        }
    }
}

impl Ears {
    /// The turn to ask the daemon, one at a time: it takes few connections of one user at once.
    pub(crate) fn turn(&self) -> MutexGuard<'_, ()> {
        self.asking.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for EarPlace {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::AcqRel);
    }
}

/// People who listen at once.
const MOST: usize = 64;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_free_again_when_somebody_leaves() {
        let ears = Ears::default();
        let mut places: Vec<EarPlace> = (0..MOST).map(|_| ears.place().expect("a place")).collect();
        assert!(ears.place().is_err() && ears.place().is_err(), "and nobody who was refused has one");
        places.pop();
        assert!(ears.place().is_ok());
    }
}
