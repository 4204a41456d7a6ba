//! Times as text.

use jiff::Timestamp;
use ringtap_model::Nanos;

/// As RFC 3339 writes it, to the millisecond.
pub(crate) fn utc(at: Nanos) -> String {
    let at = Timestamp::from_millisecond((at.0 / 1_000_000) as i64).unwrap_or(Timestamp::UNIX_EPOCH);
    format!("{at:.3}")
}
