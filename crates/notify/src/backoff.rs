//! How long whoever failed waits before the next attempt.

use std::time::Duration;

/// Waits that double with each failure, and end with a success. Time comes with each call.
#[derive(Clone, Copy, Debug)]
pub struct Backoff {
    first: Duration,
    longest: Duration,
    /// Failures in a row.
    failures: u32,
    /// Nothing is tried before.
    not_before: Duration,
}

impl Backoff {
    /// Waits so long after the first failure, and so long at most.
    pub fn new(first: Duration, longest: Duration) -> Self {
        Self { first, longest, failures: 0, not_before: Duration::ZERO }
    }

    /// How long until the next attempt; zero where it can be made now.
    pub fn wait(&self, now: Duration) -> Duration {
        self.not_before.saturating_sub(now)
    }

    /// An attempt failed.
    pub fn failed(&mut self, now: Duration) {
        let doubled = self.first.saturating_mul(1 << self.failures.min(16));
        self.not_before = now + doubled.min(self.longest);
        self.failures += 1;
    }

    /// An attempt succeeded.
    pub fn succeeded(&mut self) {
        self.failures = 0;
    }

    /// Whether the last attempt failed.
    pub fn is_failing(&self) -> bool {
        self.failures > 0
    }
}
