//! The calls in progress, asked for once however many people open one: the daemon takes few connections of
//! one user at once, and each list takes its workers a moment.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use ringtap_model::{Call, Stream};

use crate::problem::Problem;

/// Calls with their streams.
pub(crate) type ListedCalls = Arc<Vec<(Call, Vec<Stream>)>>;

/// The latest list, and when it was asked for.
#[derive(Debug, Default)]
pub(crate) struct LiveCalls(Mutex<Option<(Instant, ListedCalls)>>);

impl LiveCalls {
    /// The list, by `ask` unless it was asked for within that time. Who asks meanwhile waits for that answer.
    pub(crate) fn get(
        &self,
        fresh: Duration,
        ask: impl FnOnce() -> Result<Vec<(Call, Vec<Stream>)>, Problem>,
    ) -> Result<ListedCalls, Problem> {
        let mut latest = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((at, calls)) = &*latest
            && at.elapsed() < fresh
        {
            return Ok(Arc::clone(calls));
        }
        let calls = Arc::new(ask()?);
        *latest = Some((Instant::now(), Arc::clone(&calls)));
        Ok(calls)
    }
}
