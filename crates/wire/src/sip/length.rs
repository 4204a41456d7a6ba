//! Content-Length, RFC 3261 section 20.14, as it occurs in practice.

use super::text::number;

/// The Content-Length headers of one message combined.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Length {
    /// The smallest valid value.
    pub(crate) least: Option<usize>,
    /// A value is not a number, or two differ (RFC 4475 sections 3.1.2.3 and 3.3.9).
    pub(crate) doubtful: bool,
}

impl Length {
    /// Adds the value of one header. A number too large for memory is valid: that many bytes are missing.
    pub(crate) fn add(&mut self, value: &[u8]) {
        // Fast path: a single short number.
        if let (1..=4, Self { least: None, doubtful: false }) = (value.len(), &self)
            && value.iter().all(u8::is_ascii_digit)
        {
            self.least = Some(value.iter().fold(0, |length, digit| length * 10 + usize::from(digit - b'0')));
            return;
        }
        let value = match number::<u64>(value) {
            Some(n) => usize::try_from(n).unwrap_or(usize::MAX),
            None if !value.is_empty() && value.iter().all(u8::is_ascii_digit) => usize::MAX,
            None => {
                self.doubtful = true;
                return;
            }
        };
        self.doubtful |= self.least.is_some_and(|least| least != value);
        self.least = Some(self.least.map_or(value, |least| least.min(value)));
    }
}
