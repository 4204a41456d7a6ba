//! Session timers: RFC 4028 sections 7 to 10, seen from the side.

use ringtap_model::Nanos;
use ringtap_quality::notes::Expiry;
use ringtap_wire::sip::{Message, Refresher};

use super::super::session_timer::{NEVER, SessionTimer};
use super::CallEntry;
use crate::update::Side;

/// RFC 4028 section 4: no session interval is shorter.
const SHORTEST: u32 = 90;
/// The side that waits for a refresh sends its BYE up to 32 s before the session runs out (section 10), the
/// other when its refresh fails; repeats of either come for 32 s (RFC 3261 section 17.1.2.2, timer F).
const GRACE: Nanos = Nanos::from_secs(32);
/// Media that are heard this long after the end of the session were not the last on their way.
const LAST_MEDIA: Nanos = Nanos::from_secs(5);

impl CallEntry {
    /// An answer to an INVITE or UPDATE of `requester` within the answered call. A 2xx says how long the
    /// session lasts from now on; without Session-Expires, for ever (section 10).
    pub(super) fn refresh(&mut self, message: &Message<'_>, code: u16, requester: Side, time: Nanos) {
        let timer = &mut self.parties.timer;
        match (code, message.session_expires()) {
            (200..=299, Some(expires)) => {
                let seconds = expires.seconds.max(SHORTEST);
                let refresher = expires.refresher.map(|side| match side {
                    Refresher::Uac => requester,
                    Refresher::Uas => requester.other(),
                });
                *timer = SessionTimer { seconds, refresher, refused: None };
                self.session_end = time + Nanos::from_secs(u64::from(seconds));
            }
            (200..=299, None) => self.session_end = NEVER,
            (422, _) => timer.refused = Some(message.min_se().unwrap_or(0)),
            _ => {}
        }
    }

    /// When it has to be looked at since its session has run out; [`NEVER`] without a session timer.
    pub(crate) fn session_deadline(&self) -> Nanos {
        self.session_end + GRACE
    }

    /// When an answered call ended, though no BYE was seen: when its session ran out, or with its last packet
    /// where media then fell silent for `silence_limit`; None if it goes on. Media were last `heard` then,
    /// zero if never.
    ///
    /// Media that go on after the end of the session say that a refresh was not seen here, as where it takes
    /// another way: then there is no session timer until another refresh is seen.
    pub(crate) fn ended_unseen(&mut self, heard: Nanos, now: Nanos, silence_limit: Nanos) -> Option<Nanos> {
        if heard > self.session_end + LAST_MEDIA {
            self.session_end = NEVER;
            self.has_expired = false;
        }
        if self.has_expired {
            return self.lost_since;
        }
        let last = self.last.max(heard);
        if heard > Nanos::ZERO && self.may_end_in_silence() && last + silence_limit <= now {
            return Some(last);
        }
        self.has_expired = self.session_deadline() <= now;
        self.has_expired.then_some(self.session_end)
    }

    /// The session that ran out, where that is what ended the call.
    pub(super) fn expiry(&self, timer: SessionTimer) -> Option<Expiry> {
        let SessionTimer { seconds, refresher, refused } = timer;
        let refresher = refresher.map(Side::party);
        self.has_expired.then_some(Expiry { at: self.session_end, seconds, refresher, refused })
    }
}
