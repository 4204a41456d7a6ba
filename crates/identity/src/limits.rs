//! How much is followed, and for how long.

use ringtap_model::Nanos;

use crate::known::Field;
use crate::session::Session;

/// How much is followed, and for how long.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Sessions at once.
    pub sessions: usize,
    /// Bytes that they may take, about: what a session has to remember is up to who sends the packets.
    pub memory: usize,
    /// Requests of RADIUS that wait for an answer at once, as many exchanges of DHCP, and as many sessions of
    /// PPPoE that have no address yet.
    pub requests: usize,
    /// How long a session of RADIUS or PPPoE may be silent. One whose interim interval is known may be silent
    /// for three of them.
    pub idle: Nanos,
}

impl Default for Limits {
    fn default() -> Self {
        Self { sessions: 1_000_000, memory: 4 << 30, requests: 65_536, idle: Nanos::from_secs(48 * 3_600) }
    }
}

impl Limits {
    /// When a session ends unless it is heard of: it was silent for too long, or its lease is over.
    pub(crate) fn deadline_of(&self, session: &Session) -> Nanos {
        if session.source.is_lease() {
            return session.known.count(Field::Expires).map_or(NEVER, Nanos);
        }
        let idle = match session.interim {
            // Two reports may be lost.
            Some(seconds @ 1..) => (Nanos::from_secs(3 * u64::from(seconds)) + GRACE).min(self.idle),
            _ => self.idle,
        };
        session.last + idle
    }
}

/// Of a lease without end.
const NEVER: Nanos = Nanos(u64::MAX);
/// How late a report may be.
const GRACE: Nanos = Nanos::from_secs(300);
