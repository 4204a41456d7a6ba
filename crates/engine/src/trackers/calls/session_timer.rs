//! The session timer of a call, RFC 4028.

use ringtap_model::Nanos;

use crate::update::Side;

/// No session timer runs.
pub(super) const NEVER: Nanos = Nanos::MAX;

/// The session timer that the newest refresh set.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct SessionTimer {
    pub(super) seconds: u32,
    pub(super) refresher: Option<Side>,
    /// Min-SE of a 422 to a refresh, 0 if it had none.
    pub(super) refused: Option<u32>,
}
