//! What figures depend on beside the records.

use ringtap_model::Nanos;

/// What figures depend on beside the records. Rollups that were made with other settings are made again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings {
    /// An answered call of at most this length is short.
    pub short_call: Nanos,
    /// Digits of a destination prefix, 1 to 15.
    pub prefix_digits: u8,
}

impl Default for Settings {
    fn default() -> Self {
        Self { short_call: Nanos::from_secs(3), prefix_digits: 4 }
    }
}

impl Settings {
    /// A number that differs where rollups of these settings, or of this version of the program, differ.
    pub fn fingerprint(self) -> u64 {
        (VERSION << 56) ^ (self.short_call.micros() << 8) ^ u64::from(self.prefix_digits)
    }
}

/// Version of what a rollup counts, and of its bytes: higher whenever one of them changes.
const VERSION: u64 = 1;
