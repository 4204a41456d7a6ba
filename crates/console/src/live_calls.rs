//! The calls in progress, asked for once however many people open one: the daemon takes few connections of
//! one user at once, and each list takes its workers a moment.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use ringtap_model::{Call, Stream};

use crate::problem::Problem;

/// Calls in progress with their streams.
#[derive(Debug, Default)]
pub(crate) struct ListedCalls {
    /// The earliest first.
    pub(crate) calls: Vec<(Call, Vec<Stream>)>,
    /// How many there are, listed or not.
    pub(crate) total: Option<u64>,
}

/// The latest list, and when and for how many calls the daemon was asked.
#[derive(Debug, Default)]
pub(crate) struct LiveCalls(Mutex<Option<(Instant, usize, Arc<ListedCalls>)>>);

impl LiveCalls {
    /// The latest `most` calls or more, by `ask` unless as many were asked for within that time. Who asks
    /// meanwhile waits for that answer.
    pub(crate) fn get(
        &self,
        most: usize,
        fresh: Duration,
        ask: impl FnOnce(usize) -> Result<ListedCalls, Problem>,
    ) -> Result<Arc<ListedCalls>, Problem> {
        let mut latest = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((at, asked, calls)) = &*latest
            && *asked >= most
            && at.elapsed() < fresh
        {
            return Ok(Arc::clone(calls));
        }
        let calls = Arc::new(ask(most)?);
        *latest = Some((Instant::now(), most, Arc::clone(&calls)));
        Ok(calls)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_serves_whoever_wants_no_more_of_it_while_it_is_fresh() {
        let live = LiveCalls::default();
        let hour = Duration::from_secs(3_600);
        let asked = |most, fresh| {
            let mut asked = None;
            live.get(most, fresh, |most| {
                asked = Some(most);
                Ok(ListedCalls::default())
            })
            .unwrap();
            asked
        };
        assert_eq!(asked(50, hour), Some(50));
        assert_eq!(asked(20, hour), None);
        assert_eq!(asked(1_000, hour), Some(1_000), "more than the list can have");
        assert_eq!(asked(50, hour), None);
        assert_eq!(asked(50, Duration::ZERO), Some(50), "too old");
    }
}
