//! A time in which packets of a stream in progress were lost, for who does not wait for its record.

use ringtap_model::Nanos;

use super::StreamTable;
use crate::update::{CallNumber, LostTime, Side};

/// Shorter times are not told: nobody notices them.
const NOTICED: Nanos = Nanos::from_millis(100);

impl StreamTable {
    /// What the packet just handled tells of packets that were lost for a while, if it does.
    #[inline]
    pub(crate) fn take_lost_time(&mut self) -> Option<LostTime> {
        self.lost_time.take()
    }

    /// Keeps for [`StreamTable::take_lost_time`] that numbers are missing between the packets of `from` and
    /// `until`. `pace`: nanoseconds from packet to packet.
    pub(super) fn note_lost_time(
        &mut self,
        slot: u32,
        (from, until): (Nanos, Nanos),
        missing: u32,
        pace: u64,
    ) {
        if until.since(from) < NOTICED || !fills(missing, pace, until.since(from)) {
            return;
        }
        let details = self.flows.details(slot);
        let call = details.call().and_then(|call| self.replicas.get(call));
        self.lost_time = Some(LostTime {
            serial: details.serial,
            from,
            until,
            missing,
            call: call.map(|call| CallNumber(call.call)),
            direction: call.and(details.side).map(Side::direction),
        });
    }
}

/// Whether the missing numbers fill at least half of that time. A stream that is silent sends nothing, and
/// counts on afterwards (RFC 3389, RFC 3551 section 4.1): one packet lost there is no gap. Many more than fit
/// into it are a new numbering.
fn fills(missing: u32, pace: u64, waited: Nanos) -> bool {
    let sent = (u64::from(missing) + 1).saturating_mul(pace);
    sent.saturating_mul(2) >= waited.0 && sent / 4 <= waited.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_missing_has_to_fill_the_time() {
        let is_lost = |missing, pace_ms: u64, waited_ms| {
            fills(missing, pace_ms * 1_000_000, Nanos::from_millis(waited_ms))
        };
        // 50 packets of 20 ms; half of it; a little less.
        assert!(is_lost(49, 20, 1_000) && is_lost(24, 20, 1_000) && !is_lost(23, 20, 1_000));
        // Packets of 60 ms; four times as much as fits, and more.
        assert!(is_lost(9, 60, 1_200) && is_lost(199, 20, 1_000) && !is_lost(200, 20, 1_000));
    }
}
